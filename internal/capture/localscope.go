package capture

import (
	"slices"

	"github.com/strobe-debug/strobe/internal/expr"
	"github.com/strobe-debug/strobe/internal/symbol"
)

// LocalScope is what names mean at a place inside a function: its variables in scope there, the innermost block first,
// then statics of the function, then the modules' variables.
type LocalScope struct {
	Code    symbol.Code
	Locals  []symbol.Local // as symbol.Module.LocalsAt gives them: parameters first, then by block from the outside
	Place   func(*symbol.Local) expr.Place
	Modules []*symbol.Module
}

var _ expr.Scope = (*LocalScope)(nil)

// Lookup implements expr.Scope.
func (s *LocalScope) Lookup(name string) (expr.Place, bool) {
	best := -1
	for i := range s.Locals {
		if s.Locals[i].Name == name && (best < 0 || s.Locals[i].Depth >= s.Locals[best].Depth) {
			best = i
		}
	}
	if best >= 0 {
		return s.Place(&s.Locals[best]), true
	}
	if reg := slices.Index(registerNames[:], name); reg >= 0 {
		return expr.Place{Kind: expr.PlaceRegister, Reg: reg}, true
	}
	if name == "$return" {
		return expr.Place{}, false
	}
	return meant(&s.Code, s.Modules, name)
}

// registerNames are general registers by DWARF number, as expressions name them.
var registerNames = [...]string{"$rax", "$rdx", "$rcx", "$rbx", "$rsi", "$rdi", "$rbp", "$rsp", "$r8", "$r9", "$r10",
	"$r11", "$r12", "$r13", "$r14", "$r15", "$rip"}

// Arg implements expr.Scope.
func (s *LocalScope) Arg(i int) (expr.Place, bool) {
	for k := range s.Locals {
		l := &s.Locals[k]
		if !l.Param || l.Artificial || l.Name == "this" || l.Name == "self" {
			continue
		}
		if i--; i < 0 {
			return s.Place(l), true
		}
	}
	return expr.Place{}, false
}

// TypeNamed implements expr.Scope.
func (s *LocalScope) TypeNamed(name string) (*symbol.Type, bool) {
	return (&scope{modules: s.Modules}).TypeNamed(name)
}

// Near implements expr.Scope.
func (s *LocalScope) Near(name string) []string {
	var names []string
	for i := range s.Locals {
		if s.Locals[i].Name != "" {
			names = append(names, s.Locals[i].Name)
		}
	}
	return (&scope{names: names, modules: s.Modules}).Near(name)
}
