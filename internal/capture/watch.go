package capture

import (
	"errors"
	"fmt"
	"slices"

	"github.com/strobe-debug/strobe/internal/expr"
	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/symbol"
	"github.com/strobe-debug/strobe/internal/value"
)

// Watch is an expression that is read at each call.
type Watch struct {
	Label string
	Expr  string
}

// watches adds the watches of a function. One that means something at one end of a call only is read there. It returns
// why others are not read.
func (b *builder) watches(f *symbol.Function, sig *symbol.Signature, names []string, homes []home, result resultHome,
	o Options) map[string]error {
	failed := map[string]error{}
	for _, w := range o.Watches {
		sc := &scope{f: f, sig: sig, names: names, homes: homes, modules: o.Modules}
		errEnter := b.watch(&b.enter, &b.lay.EnterWatches, w, sc)
		after := *sc
		after.exit, after.result = true, result
		errExit := b.watch(&b.exit, &b.lay.ExitWatches, w, &after)
		switch {
		case errEnter == nil || errExit == nil:
		case usesResult(w.Expr):
			failed[w.Label] = errExit
		default:
			failed[w.Label] = errEnter
		}
	}
	return failed
}

// usesResult reports an expression that means nothing at the enter.
func usesResult(src string) bool {
	s, err := expr.Parse(src, symbol.LangC)
	return err == nil && slices.Contains(s.Names(), "$return")
}

// bareWatches adds the watches of a function of which nothing but its name is known: registers, globals, addresses.
func bareWatches(out *Function, f *symbol.Function, sig *symbol.Signature, o Options) {
	if len(o.Watches) == 0 {
		return
	}
	b := newBuilder(sig, o)
	b.emitEnter()
	b.exit.begin(0)
	out.WatchErrors = b.watches(f, sig, nil, nil, noResult, o)
	out.Finish = b.finish
	out.Plan, out.Layout = b.close()
}

// Registers that a call records, by DWARF number: those that may have arguments, rax, r10 and r11 at its entry, the
// result's at its exit.
var (
	enterRegisters = []int{0, 1, 2, 4, 5, 8, 9, 10, 11}
	exitRegisters  = []int{0, 1}
)

// watchedRegister returns where a register is at one end of a call; false for one that is not recorded there.
func (s *scope) watchedRegister(name string) (expr.Place, bool) {
	reg := slices.Index(registerNames[:], name)
	if s.exit && slices.Contains(exitRegisters, reg) || !s.exit && slices.Contains(enterRegisters, reg) {
		return expr.Place{Kind: expr.PlaceRegister, Reg: reg}, true
	}
	return expr.Place{}, false
}

// registerError says of an expression why a register in it cannot be watched, nil if none is the reason.
func (s *scope) registerError(src string) error {
	parsed, err := expr.Parse(src, s.sig.Language)
	if err != nil {
		return nil
	}
	for _, name := range parsed.Names() {
		if _, ok := s.watchedRegister(name); !ok && slices.Contains(registerNames[:], name) {
			return fmt.Errorf("%s is not recorded with calls: at entries $rdi, $rsi, $rdx, $rcx, $r8 to $r11 and $rax are, at "+
				"exits $rax and $rdx; others where a breakpoint pauses", name)
		}
	}
	return nil
}

// watch adds one watch at one end of a call.
func (b *builder) watch(s *side, to *[]value.Field, w Watch, sc *scope) error {
	if NamesSecret(b.types.walks.secrets, w.Expr, sc.sig.Language) {
		b.secretWatch(to, w.Label)
		return nil
	}
	if err := sc.registerError(w.Expr); err != nil {
		return err
	}
	e, err := expr.New(w.Expr, sc.sig.Language, sc)
	if err != nil {
		return err
	}
	return b.read(s, to, w.Label, e, sc.exit)
}

// read adds an expression's value, under a label.
func (b *builder) read(s *side, to *[]value.Field, label string, e *expr.Expr, exit bool) (err error) {
	t := e.Type().Symbol()
	field := value.Field{Name: label}
	p, ok := e.Compile()
	if !ok {
		if field.Pieces, err = b.finished(s, e, exit); err != nil {
			return err
		}
		if e.Type().Kind() == expr.KindPointer { // nobody can follow it: it is known only when the call is over
			t = nil
		}
	} else {
		if p.Object && (t == nil || sizeOf(t.Strip()) <= 0) {
			return fmt.Errorf("%s has no size", e.Type())
		}
		if err := s.room(1); err != nil {
			return err
		}
		field.Pieces = evaluated(s.eval(b.program(p)))
	}
	switch {
	case ok && p.Object:
		field.Type, field.Indirect, field.Walk = b.types.of(t, b.depth), true, b.types.walk(t)
		field.Missing = !s.root(field.Pieces, rootObject, field.Walk, min(size32(t.Strip()), maxObject), 0)
	case t != nil:
		field.Type = b.types.of(t, b.depth)
		field.Pieces[0].Size = min(max(b.types.types[field.Type].Size, 1), 8)
		if ok {
			b.lead(s, &field, t)
		}
	default:
		v := madeType(e.Type())
		field.Type, field.Pieces[0].Size = b.types.add(v), v.Size
	}
	*to = append(*to, field)
	return nil
}

func evaluated(chunk int32) []value.Piece { return []value.Piece{{Chunk: chunk, Size: 8}} }

// Bounds on what watches add to one end of a call; the agent does at most 512 operations.
const (
	maxEvals     = 256
	maxEvalBytes = ring.MaxPayload / 2
)

// room reports whether n more evaluations fit.
func (s *side) room(n int) error {
	if len(s.ops)+n > maxEvals || int(s.fixed)+16*n > maxEvalBytes {
		return errors.New("with the other watches it reads more values than fit one call")
	}
	return nil
}

// program adds a program to the plan and returns its number.
func (b *builder) program(p *expr.Program) int {
	out := ring.Program{Ops: p.Ops}
	if len(p.Relocs) > 0 {
		out.Relocate = func(bias func(any) (uint64, bool)) ([]ring.Op, error) {
			return p.Relocated(func(m *symbol.Module) (uint64, bool) { return bias(m) })
		}
	}
	b.plan.Programs = append(b.plan.Programs, out)
	return len(b.plan.Programs) - 1
}

// madeType is the form of a type that the language made.
func madeType(t *expr.Type) value.Type {
	v := value.Type{Name: t.String(), Size: uint32(min(max(t.Size(), 1), 8)), Elem: -1, Discr: value.TypeField{Type: -1}}
	switch t.Kind() {
	case expr.KindBool:
		v.Class = value.ClassBool
	case expr.KindChar:
		v.Class = value.ClassChar
	case expr.KindFloat:
		v.Class = value.ClassFloat
	case expr.KindPointer:
		v.Class, v.Size = value.ClassPointer, 8
	default:
		v.Class = value.ClassUint
		if t.Signed() {
			v.Class = value.ClassInt
		}
	}
	return v
}

// eval adds an evaluation and returns its chunk.
func (s *side) eval(program int) int32 {
	s.ops = append(s.ops, ring.Op{Code: ring.OpEval, SrcOff: uint32(program), Size: 8})
	s.parts = append(s.parts, value.Part{Eval: true, Size: 8})
	s.starts = append(s.starts, s.fixed+8)
	s.fixed += 16
	s.size = int(s.fixed)
	return int32(len(s.parts))
}
