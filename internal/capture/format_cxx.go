package capture

import (
	"math"

	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/symbol"
	"github.com/strobe-debug/strobe/internal/value"
)

// What the forms of both C++ libraries are made of.

// path is a way to a member: names of members, one inside the other.
type path []string

// any finds the first of several paths that is there: names that versions of a library have for one member.
func (f *form) any(paths ...path) (off int64, t *symbol.Type, ok bool) {
	for _, p := range paths {
		if off, t, ok = f.Field(p...); ok {
			return off, t.Strip(), true
		}
	}
	return 0, nil, false
}

// load sets a register to the word of a member. It returns the member's type.
func (f *form) load(to reg, paths ...path) (*symbol.Type, bool) {
	off, t, ok := f.any(paths...)
	size := sizeOf(t)
	if !ok || size != 1 && size != 2 && size != 4 && size != 8 {
		return nil, false
	}
	f.P.Load(to, off, size)
	return t, true
}

// loadPointer is load of a pointer. It returns the pointee's type.
func (f *form) loadPointer(to reg, paths ...path) (*symbol.Type, bool) {
	t, ok := f.load(to, paths...)
	if !ok || t.Kind != symbol.KindPointer {
		return nil, false
	}
	return t.Elem(), true
}

// typeArg returns the i-th template argument of a class, if it is a type.
func typeArg(t *symbol.Type, i int) (*symbol.Type, bool) {
	ps := t.Strip().TemplateParams()
	if i >= len(ps) || ps[i].Const || ps[i].Type == nil {
		return nil, false
	}
	return ps[i].Type, true
}

// numberArg returns the i-th template argument of a class, if it is a number.
func numberArg(t *symbol.Type, i int) (int64, bool) {
	ps := t.Strip().TemplateParams()
	if i >= len(ps) || !ps[i].Const {
		return 0, false
	}
	return ps[i].Value, true
}

// aligned is the first offset from off on that a member of type t may have.
func aligned(off int64, t *symbol.Type) int64 {
	a := max(alignOf(t), 1)
	return (off + a - 1) / a * a
}

// Tuple shows the object as an array of its parts.
func (f *form) Tuple(parts ...part) bool {
	f.V.Class = value.ClassTuple
	if len(parts) == 1 && parts[0].off == 0 && sizeOf(parts[0].t) > 0 {
		f.V.Class, f.V.Elem, f.V.Count = value.ClassArray, f.Elem(parts[0].t), 1 // a tuple of one would show as that
		f.Part(parts[0].t, 0)
		return true
	}
	for _, p := range parts {
		f.V.Fields = append(f.V.Fields, value.TypeField{Type: f.Elem(p.t), Off: uint32(p.off)})
		f.Part(p.t, p.off)
	}
	return true
}

// part is one member without a name.
type part struct {
	t   *symbol.Type
	off int64
}

// BitSpan shows bits as an array of bools: n of them at the address in register at.
func (f *form) BitSpan(at, n reg) bool {
	f.V.Class, f.V.Walk = value.ClassBitSpan, f.Words()
	f.P.Open(f.V.Walk)
	f.P.Push(n)
	f.P.Push(at)
	f.P.Close()
	f.P.ALUImm(ring.ALUAdd, r7, n, 7)
	f.P.ALUImm(ring.ALUShr, r7, r7, 3)
	f.P.Node(value.WalkBytes, at, r7, (limit+7)/8, false)
	return true
}

// words shows the object by words alone.
func (f *form) words(class value.Class, words ...reg) bool {
	f.V.Class, f.V.Walk = class, f.Words()
	f.P.Open(f.V.Walk)
	for _, w := range words {
		f.P.Push(w)
	}
	f.P.Close()
	return true
}

// shown sets k to how many of n elements are shown.
func (f *form) shown(k, n, tmp reg) {
	few := f.P.Label()
	f.P.ALU(ring.ALUOr, k, n, n)
	f.P.Const(tmp, limit)
	f.P.ALU(ring.ALUULe, tmp, n, tmp)
	f.P.JumpNot(tmp, few)
	f.P.Const(k, limit)
	f.P.Bind(few)
}

// repeat runs body as often as register k says, and leaves 0 in it.
func (f *form) repeat(k reg, body func()) {
	top, done := f.P.Here(), f.P.Label()
	f.P.JumpZero(k, done)
	body()
	f.P.ALUImm(ring.ALUSub, k, k, 1)
	f.P.Jump(top)
	f.P.Bind(done)
}

// chain shows the nodes of a list whose first one is at the address in r0, n of them (in r4): the next one's address is
// at next in each, its element at off.
func (f *form) chain(elem *symbol.Type, next, off int64) func() {
	return func() {
		f.shown(r5, r4, r7)
		f.repeat(r5, func() {
			f.P.ALUImm(ring.ALUAdd, r1, r0, off)
			f.P.Push(r1)
			f.P.LoadMem(r0, r0, next, 8)
		})
	}
}

// maxCounted is how long a list without a count is followed to count it: more would leave few of an event's steps.
const maxCounted = 2000

// countChain sets r4 to the number of nodes from r0 on to the one whose address is in end. It uses r1 and r2.
func (f *form) countChain(next int64, end reg) {
	top, done := f.P.Label(), f.P.Label()
	f.P.Const(r4, 0)
	f.P.ALU(ring.ALUOr, r1, r0, r0)
	f.P.Bind(top)
	f.P.ALU(ring.ALUEq, r2, r1, end)
	f.P.JumpNot(r2, done)
	f.P.ALUImm(ring.ALUAdd, r4, r4, 1)
	f.P.LoadMem(r1, r1, next, 8)
	f.P.ALUImm(ring.ALUULt, r2, r4, maxCounted)
	f.P.JumpNot(r2, top)
	f.P.Bind(done)
}

// divide sets a to a number of bytes b divided by an element's size.
func (f *form) divide(a, b reg, size int64) {
	if size > 1 {
		f.P.ALUImm(ring.ALUUDiv, a, b, size)
	} else if a != b {
		f.P.ALU(ring.ALUOr, a, b, b)
	}
}

// between shows the elements from one pointer to another.
func (f *form) between(first, last []path) bool {
	from, t, ok := f.any(first...)
	to, u, ok2 := f.any(last...)
	if !ok || !ok2 || !isPointer(t) || !isPointer(u) {
		return false
	}
	size := sizeOf(t.Elem())
	if size <= 0 || size > math.MaxInt32 {
		return false
	}
	f.P.Between(r0, r1, from, to, size)
	return f.Span(t.Elem(), r0, r1)
}

// isPointer reports a pointer of the size that programs load.
func isPointer(t *symbol.Type) bool {
	return t != nil && t.Kind == symbol.KindPointer && sizeOf(t) == 8
}

// ratio returns the period of a std::chrono::duration.
func ratio(duration *symbol.Type) (num, den int64, ok bool) {
	period, ok := typeArg(duration, 1)
	if !ok {
		return 0, 0, false
	}
	num, ok1 := numberArg(period, 0)
	den, ok2 := numberArg(period, 1)
	return num, den, ok1 && ok2 && num > 0 && den > 0
}

// duration shows a std::chrono::duration by its count.
func (f *form) duration(class value.Class, duration *symbol.Type, paths ...path) bool {
	off, rep, ok := f.any(paths...)
	num, den, ok2 := ratio(duration)
	if !ok || !ok2 {
		return false
	}
	f.V.Class, f.V.Num, f.V.Den = class, num, den
	f.V.Fields = []value.TypeField{{Type: f.Elem(rep), Off: uint32(off)}}
	return true
}

// complexOf shows a real and an imaginary part.
func (f *form) complexOf(re, im path) bool {
	a, t, ok := f.any(re)
	b, _, ok2 := f.any(im)
	return ok && ok2 && f.Tuple(part{t, a}, part{t, b})
}

// counted shows what a shared or weak pointer leads to, with its count: word r0 the pointer, r1 the address of the
// control block, whose count has size bytes at off, and is one less than the number of owners if fromZero. A weak
// pointer without owners is null.
func (f *form) counted(elem *symbol.Type, off, size int64, fromZero, weak bool) bool {
	none := f.P.Label()
	f.P.Const(r2, 0)
	f.P.JumpZero(r1, none)
	f.P.LoadMem(r2, r1, off, size)
	if size == 4 {
		f.P.ALUImm(ring.ALUShl, r2, r2, 32)
		f.P.ALUImm(ring.ALUSar, r2, r2, 32)
	}
	if fromZero {
		f.P.ALUImm(ring.ALUAdd, r2, r2, 1)
	}
	f.P.Bind(none)
	if weak {
		alive := f.P.Label()
		f.P.JumpNot(r2, alive)
		f.P.Const(r0, 0)
		f.P.Bind(alive)
	}
	return f.Box(elem, r0, extraWord{"useCount", r2})
}

// single is what a smart pointer's raw pointer leads to: of an array, whose length is not known, nothing is shown.
func (f *form) single(elem *symbol.Type) *symbol.Type {
	if of, ok := typeArg(f.T, 0); ok && of.Strip().Kind == symbol.KindArray {
		return untold
	}
	return elem
}

// untold is the pointee's type of pointers that are shown as addresses.
var untold = &symbol.Type{Kind: symbol.KindVoid}

// alias shows the object as one of its members.
func alias(paths ...path) func(f *form) bool {
	return func(f *form) bool {
		off, t, ok := f.any(paths...)
		return ok && f.Alias(t, off)
	}
}

// pair shows a std::pair of either library.
func pair(f *form) bool {
	a, at, ok := f.Field("first")
	b, bt, ok2 := f.Field("second")
	return ok && ok2 && f.Tuple(part{at, a}, part{bt, b})
}
