package capture

import (
	"strings"

	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/symbol"
	"github.com/strobe-debug/strobe/internal/value"
)

// rustRc is Rc<T> and Arc<T>: the value and how many share it.
var rustRc = &formatter{
	name:  "rust Rc",
	match: rustType("Rc", "Arc"),
	form:  func(f *form) bool { return rustShared(f, false) },
}

// rustWeak is Weak<T>: the same, or null when the value is gone or there was none.
var rustWeak = &formatter{
	name:  "rust Weak",
	match: rustType("Weak"),
	form:  func(f *form) bool { return rustShared(f, true) },
}

// walkFat is the words of the value of a shared pointer that has a length or a vtable.
const walkFat walkWhat = 40

func rustShared(f *form, weak bool) bool {
	ptr, inner, ok := rustPointer(f.T)
	if !ok {
		return false
	}
	strong, ok := rustWord(inner, "strong")
	weaks, ok1 := rustWord(inner, "weak")
	at, t, ok2 := rustContents(inner)
	if !ok || !ok1 || !ok2 {
		return false
	}
	p, dead := f.P, f.P.Label()
	p.Load(r0, ptr, 8)
	p.Const(r3, 0)
	if weak { // of none: all bits set, and no memory behind it
		p.ALUImm(ring.ALUEq, r1, r0, -1)
		p.JumpNot(r1, dead)
	}
	p.LoadMem(r1, r0, strong, 8)
	p.LoadMem(r2, r0, weaks, 8)
	p.ALUImm(ring.ALUSub, r2, r2, 1) // all strong ones are one weak one
	p.JumpZero(r1, dead)
	p.ALUImm(ring.ALUAdd, r3, r0, at)
	p.Bind(dead)
	if sizeOf(f.T) == 8 {
		return f.Box(t, r3, extraWord{"strong", r1}, extraWord{"weak", r2})
	}
	return rustSharedFat(f, t)
}

// rustContents finds the value in what shared pointers share.
func rustContents(inner *symbol.Type) (off int64, t *symbol.Type, ok bool) {
	if off, t, ok = field(inner, "value"); !ok {
		off, t, ok = field(inner, "data")
	}
	return off, t.Strip(), ok
}

// rustSharedFat is a shared pointer to text, a slice or a trait object, whose address is in r3, and the counts in r1
// and r2.
func rustSharedFat(f *form, t *symbol.Type) bool {
	name := strings.TrimSuffix(f.T.Name[strings.IndexByte(f.T.Name, '<')+1:], ">")
	n, _, sliced := rustMember(f.T, "length")
	table, _, dynamic := rustMember(f.T, "vtable")
	if !sliced && !dynamic {
		return false
	}
	f.V.Class, f.V.Walk, f.V.Elem = value.ClassBox, f.Words(), -1
	f.V.Fields = []value.TypeField{{Name: "strong", Type: -1}, {Name: "weak", Type: -1}}
	p, none := f.P, f.P.Label()
	p.Open(f.V.Walk)
	p.Push(r3)
	p.Push(r1)
	p.Push(r2)
	p.Close()
	p.JumpZero(r3, none)
	p.ALUImm(ring.ALUAdd, r0, r3, 0)
	g := *f
	g.V, g.what = &value.Type{Name: f.T.Name, Size: size32(f.T), Elem: -1, Discr: value.TypeField{Type: -1}}, walkFat
	if !f.dry && f.index >= 0 {
		g.index = f.tt.add(*g.V)
		f.V.Elem = g.index
	}
	ok := true
	switch {
	case dynamic:
		p.Load(r1, table, 8)
		p.LoadMem(r4, r1, 16, 8) // the value's alignment, which may move it
		p.ALUImm(ring.ALUSub, r4, r4, 1)
		p.ALUImm(ring.ALUXor, r5, r4, -1)
		p.ALU(ring.ALUAdd, r0, r0, r4)
		p.ALU(ring.ALUAnd, r0, r0, r5)
		g.traitObject(rustTrait(name), r0, r1)
	default:
		p.Load(r1, n, 8)
		if t = rustUnit(t); rustTexts[strings.TrimSuffix(name, ", alloc::alloc::Global")] {
			ok = g.Text(t, r0, r1)
		} else {
			ok = g.Span(t, r0, r1)
		}
	}
	p.Bind(none)
	if !f.dry && f.index >= 0 {
		f.tt.types[g.index] = *g.V
	}
	return ok
}
