package inspect

import (
	"github.com/strobe-debug/strobe/internal/expr"
	"github.com/strobe-debug/strobe/internal/symbol"
	"github.com/strobe-debug/strobe/internal/unwind"
)

var _ expr.Scope = (*scene)(nil)

// registerNames are the DWARF numbers of general registers.
var registerNames = map[string]int{
	"$rax": 0, "$rdx": 1, "$rcx": 2, "$rbx": 3, "$rsi": 4, "$rdi": 5, "$rbp": 6, "$rsp": 7, "$r8": 8, "$r9": 9, "$r10": 10,
	"$r11": 11, "$r12": 12, "$r13": 13, "$r14": 14, "$r15": 15, "$rip": 16, "$pc": 16, "$sp": 7, "$fp": 6,
}

// Lookup implements expr.Scope: locals, the innermost first, then variables of the function, of the namespaces around
// it, and of all modules.
func (s *scene) Lookup(name string) (expr.Place, bool) {
	if n, ok := registerNames[name]; ok {
		return expr.Place{Kind: expr.PlaceRegister, Reg: n}, s.th != nil
	}
	best := -1
	for i := range s.locals {
		l := &s.locals[i]
		if l.Name != name || l.Type == nil {
			continue
		}
		if best >= 0 {
			if b := &s.locals[best]; l.Depth < b.Depth || l.Depth == b.Depth &&
				(b.Place.Kind != unwind.PlaceNone || l.Place.Kind == unwind.PlaceNone) {
				continue
			}
		}
		best = i
	}
	if best >= 0 {
		return s.local(&s.locals[best]), true
	}
	code := s.code()
	for _, v := range code.Meanings(s.modules(), name) {
		if v.Gone {
			return expr.Place{Kind: expr.PlaceMissing, Type: v.Type}, true
		}
		if p, ok := s.variable(v.Module, &v.Variable); ok {
			return p, true
		}
	}
	return expr.Place{}, false
}

// code is where the frame stands.
func (s *scene) code() symbol.Code {
	if s.frame == nil {
		return symbol.Code{}
	}
	c := symbol.Code{Function: s.frame.Function}
	for i := range s.pic.Modules {
		if m := &s.pic.Modules[i]; s.frame.PC >= m.Lo && s.frame.PC < m.Hi {
			c.Module, c.At = m.Mod, symbol.Addr(s.frame.PC-m.Bias)
		}
	}
	return c
}

// modules are the process's, that of the frame first.
func (s *scene) modules() []*symbol.Module {
	var mods []*symbol.Module
	for i := range s.pic.Modules {
		m := &s.pic.Modules[i]
		if s.frame != nil && s.frame.PC >= m.Lo && s.frame.PC < m.Hi {
			mods = append([]*symbol.Module{m.Mod}, mods...)
			continue
		}
		mods = append(mods, m.Mod)
	}
	return mods
}

func (s *scene) variable(m *symbol.Module, v *symbol.Variable) (expr.Place, bool) {
	switch {
	case v.Const != nil:
		return expr.Place{Kind: expr.PlaceAddress, Addr: s.lay(v.Const), Type: v.Type}, len(v.Const) <= maxValue
	case v.TLS:
		off, ok := m.TLSOffset()
		return expr.Place{Kind: expr.PlaceFSOffset, Off: off + int64(v.Addr), Type: v.Type}, ok
	}
	return expr.Place{Kind: expr.PlaceAddress, Addr: uint64(v.Addr), Module: m, Type: v.Type}, true
}

// maxValue bounds values that are in registers, in pieces or nowhere.
const maxValue = 4096

// local is where a local variable is: what is not in memory is put where expressions read it as if it were.
func (s *scene) local(l *unwind.Local) expr.Place {
	missing := expr.Place{Kind: expr.PlaceMissing, Type: l.Type}
	switch l.Place.Kind {
	case unwind.PlaceNone:
		return missing
	case unwind.PlaceMemory:
		return expr.Place{Kind: expr.PlaceAddress, Addr: l.Place.Addr, Type: l.Type}
	}
	st := l.Type.Strip()
	if st == nil || st.Size <= 0 || st.Size > maxValue {
		return missing
	}
	b, complete := s.u.Value(l.Place, int(st.Size))
	if !complete && l.Place.Kind != unwind.PlacePieces {
		return missing
	}
	at := s.lay(b)
	if !complete && !s.leaveOut(l, at, st.Size) {
		return missing
	}
	s.laid = append(s.laid, laid{at, l.Place})
	return expr.Place{Kind: expr.PlaceAddress, Addr: at, Type: l.Type}
}

// leaveOut notes which parts of a value in pieces are optimized out, and reports whether any is left. What no member is
// in is padding.
func (s *scene) leaveOut(l *unwind.Local, at uint64, size int64) (any bool) {
	bit := int64(0)
	out := func(lo, hi int64) {
		if hi = min(hi, size); lo < hi && covers(l.Type, lo, hi) {
			s.holes = append(s.holes, hole{at + uint64(lo), at + uint64(hi)})
		}
	}
	for i := range l.Place.Pieces {
		p := &l.Place.Pieces[i]
		if _, ok := s.u.Value(p.Place, int((p.BitOff+p.Bits+7)/8)); ok {
			any = true
		} else {
			out(bit/8, (bit+p.Bits+7)/8)
		}
		bit += p.Bits
	}
	out((bit+7)/8, size)
	return any
}

// covers reports whether a member of a type lies in a part of it.
func covers(t *symbol.Type, lo, hi int64) bool {
	st := t.Strip()
	if st == nil || lo >= st.Size || hi <= 0 {
		return false
	}
	fields := st.Fields()
	for _, f := range fields {
		if !f.Static && f.Type != nil && covers(f.Type, lo-f.Off, hi-f.Off) {
			return true
		}
	}
	return len(fields) == 0
}

// hole is a part of a laid value that is optimized out.
type hole struct{ lo, hi uint64 }

// Arg implements expr.Scope.
func (s *scene) Arg(i int) (expr.Place, bool) {
	for k := range s.locals {
		l := &s.locals[k]
		if !l.Param || l.Artificial || l.Name == "this" || l.Name == "self" {
			continue
		}
		if i--; i < 0 {
			return s.local(l), true
		}
	}
	return expr.Place{}, false
}

// TypeNamed implements expr.Scope.
func (s *scene) TypeNamed(name string) (*symbol.Type, bool) {
	for _, m := range s.modules() {
		if ts := m.TypesNamed(name); len(ts) > 0 {
			return ts[0], true
		}
	}
	return nil, false
}

// maxNear is how many names a "did you mean" has.
const maxNear = 5

// Near implements expr.Scope.
func (s *scene) Near(name string) []string {
	var names []string
	for i := range s.locals {
		names = append(names, s.locals[i].Name)
	}
	for i, m := range s.modules() {
		if i == 0 || !m.InstalledApart() {
			names = append(names, m.VariableNames()...)
		}
	}
	near := symbol.Suggest(names, name)
	return near[:min(len(near), maxNear)]
}
