package capture

import "github.com/strobe-debug/strobe/internal/symbol"

// class is a class of an eightbyte (System V psABI 3.2.3).
type class uint8

const (
	classNone class = iota
	classInteger
	classSSE
	classSSEUp
	classX87
	classX87Up
	classComplexX87
	classMemory
	classUnsure // depends on what DWARF does not say, e.g. whether AVX was on
)

// maxLeaves bounds the classification of one aggregate; one of 16 bytes has at most 16 real leaves.
const maxLeaves = 256

// sizeOf returns a type's size in bytes, -1 when it is not known. References count as their pointer.
func sizeOf(t *symbol.Type) int64 {
	if t = t.Strip(); t == nil {
		return 0
	}
	switch t.Kind {
	case symbol.KindPointer, symbol.KindReference, symbol.KindRValueReference:
		return 8
	case symbol.KindVoid:
		if t.Name == "decltype(nullptr)" {
			return 8
		}
		return 0
	case symbol.KindMemberPointer:
		if isMethodPointer(t) {
			return 16
		}
		return 8
	case symbol.KindArray:
		if t.Vector && t.Size >= 0 {
			return t.Size
		}
		if t.Size >= 0 {
			return t.Size
		}
		n := sizeOf(t.Elem())
		if t.Count < 0 || n < 0 || n > 0 && t.Count > (1<<40)/n {
			return -1
		}
		return t.Count * n
	case symbol.KindEnum:
		if t.Size <= 0 {
			return sizeOf(t.Elem())
		}
	}
	return t.Size
}

func isMethodPointer(t *symbol.Type) bool {
	e := t.Elem()
	return e != nil && e.Strip().Kind == symbol.KindFunction
}

// alignOf returns the natural alignment of a type as the psABI has it.
func alignOf(t *symbol.Type) int64 { return alignDepth(t, 0) }

func alignDepth(t *symbol.Type, depth int) int64 {
	over := int64(0)
	for n := 0; t != nil && n < 64; n++ { // alignas stands on the typedef or on the type
		over = max(over, t.Align)
		switch t.Kind {
		case symbol.KindTypedef, symbol.KindConst, symbol.KindVolatile, symbol.KindOther:
			t = t.Elem()
			continue
		}
		break
	}
	if t == nil || depth > 16 {
		return max(over, 1)
	}
	a := int64(1)
	switch t.Kind {
	case symbol.KindBase:
		a = max(t.Size, 1)
		if t.Encoding == symbol.EncComplex {
			a = max(t.Size/2, 1)
		}
		if a > 16 {
			a = 16
		}
	case symbol.KindArray:
		a = alignDepth(t.Elem(), depth+1)
		if t.Vector {
			a = max(sizeOf(t), 1)
		}
	case symbol.KindStruct, symbol.KindUnion:
		a = aggregateAlign(t, depth)
	case symbol.KindEnum:
		a = max(sizeOf(t), 1)
	default:
		a = 8
	}
	return max(a, over)
}

// aggregateAlign is the largest alignment of a member; 1 for a packed type, which shows by a size or an
// offset that is no multiple of it.
func aggregateAlign(t *symbol.Type, depth int) int64 {
	a := int64(1)
	for _, f := range t.Fields() {
		if f.Static {
			continue
		}
		fa := alignDepth(f.Type, depth+1)
		if f.BitSize == 0 && f.Off%fa != 0 {
			return 1
		}
		a = max(a, fa)
	}
	if t.Size > 0 && t.Size%a != 0 {
		return 1
	}
	return a
}

// classify returns the classes of a type's eightbytes; one classMemory for what is passed in memory.
// A nil result means that nothing is passed: an empty type.
func classify(t *symbol.Type) []class {
	t = t.Strip()
	size := sizeOf(t)
	switch {
	case size < 0:
		return []class{classUnsure}
	case size == 0:
		return nil
	case t.Kind == symbol.KindArray && t.Vector && size > 16:
		return []class{classUnsure}
	case size > 16:
		if t.Kind == symbol.KindBase && t.Encoding == symbol.EncComplex {
			if isQuad(t) {
				return []class{classMemory}
			}
			return []class{classComplexX87}
		}
		if hasWideVector(t, 0) {
			return []class{classUnsure}
		}
		return []class{classMemory}
	}
	c := classifier{}
	c.walk(t, 0, 0)
	return c.result(size)
}

func isQuad(t *symbol.Type) bool {
	switch t.Name {
	case "_Float128", "__float128", "f128", "complex _Float128", "_Complex _Float128", "__complex128",
		"complex __float128":
		return true
	}
	return false
}

// hasWideVector reports an aggregate that is one 32 or 64 byte vector, which goes in a register where
// the target has AVX.
func hasWideVector(t *symbol.Type, depth int) bool {
	t = t.Strip()
	if t.Kind == symbol.KindArray && t.Vector {
		return sizeOf(t) > 16
	}
	if t.Kind == symbol.KindArray && t.Count == 1 && t.Elem() != nil && depth < 8 {
		return hasWideVector(t.Elem(), depth+1)
	}
	if depth > 8 || t.Kind != symbol.KindStruct && t.Kind != symbol.KindUnion || sizeOf(t) > 64 {
		return false
	}
	for _, f := range t.Fields() {
		if !f.Static && hasWideVector(f.Type, depth+1) {
			return true
		}
	}
	return false
}

// hasQuad reports an aggregate with a 128-bit IEEE float, which clang passes in memory against the psABI.
func hasQuad(t *symbol.Type, depth int) bool {
	t = t.Strip()
	switch t.Kind {
	case symbol.KindBase:
		return depth > 0 && isQuad(t)
	case symbol.KindArray:
		return depth < 8 && t.Elem() != nil && hasQuad(t.Elem(), depth+1)
	case symbol.KindStruct, symbol.KindUnion:
		for _, f := range t.Fields() {
			if depth < 8 && !f.Static && sizeOf(t) <= 16 && hasQuad(f.Type, depth+1) {
				return true
			}
		}
	}
	return false
}

type classifier struct {
	words  [2]class
	leaves int
}

func (c *classifier) merge(word int64, k class) {
	if word < 0 || word > 1 {
		k, word = classMemory, 0
	}
	w := &c.words[word]
	switch {
	case *w == k || k == classNone:
	case *w == classNone:
		*w = k
	case *w == classUnsure || k == classUnsure:
		*w = classUnsure
	case *w == classMemory || k == classMemory:
		*w = classMemory
	case *w == classInteger || k == classInteger:
		*w = classInteger
	case *w >= classX87 || k >= classX87:
		*w = classMemory
	default:
		*w = classSSE
	}
}

// walk classifies the leaves of t at byte offset off.
func (c *classifier) walk(t *symbol.Type, off int64, depth int) {
	t = t.Strip()
	if c.leaves++; c.leaves > maxLeaves || depth > 16 {
		c.merge(0, classUnsure)
		return
	}
	switch t.Kind {
	case symbol.KindStruct, symbol.KindUnion:
		c.aggregate(t, off, depth)
		return
	case symbol.KindArray:
		if t.Vector {
			c.merge(off/8, classSSE)
			if sizeOf(t) > 8 {
				c.merge(off/8+1, classSSEUp)
			}
			return
		}
		n := sizeOf(t.Elem())
		if n <= 0 || t.Count < 0 {
			return
		}
		for i := int64(0); i < min(t.Count, 17); i++ {
			c.walk(t.Elem(), off+i*n, depth+1)
		}
		return
	case symbol.KindUnknown, symbol.KindFunction:
		c.merge(0, classUnsure)
		return
	}
	if size := sizeOf(t); size > 0 {
		if off%min(alignOf(t), 16) != 0 {
			c.merge(0, classMemory) // unaligned members: in memory
			return
		}
		c.scalar(t, off, size)
	}
}

func (c *classifier) scalar(t *symbol.Type, off, size int64) {
	w := off / 8
	if t.Kind != symbol.KindBase {
		for i := int64(0); i < size; i += 8 {
			c.merge(w+i/8, classInteger)
		}
		return
	}
	switch t.Encoding {
	case symbol.EncFloat:
		switch {
		case size == 16 && !isQuad(t):
			c.merge(w, classX87)
			c.merge(w+1, classX87Up)
		case size == 16:
			c.merge(w, classSSE)
			c.merge(w+1, classSSEUp)
		default:
			c.merge(w, classSSE)
		}
	case symbol.EncComplex:
		c.merge(w, classSSE)
		c.merge((off+size-1)/8, classSSE)
	case symbol.EncDecimalFloat:
		c.merge(w, classSSE)
		if size > 8 {
			c.merge(w+1, classSSEUp)
		}
	default:
		for i := int64(0); i < size; i += 8 {
			c.merge(w+i/8, classInteger)
		}
	}
}

func (c *classifier) aggregate(t *symbol.Type, off int64, depth int) {
	if t.Declared {
		c.merge(0, classUnsure)
		return
	}
	if v := t.Variants(); v != nil { // a Rust enum: its variants overlap as in a union
		if v.Discr != nil {
			c.walk(v.Discr.Type, off+v.Discr.Off, depth+1)
		}
		for i := range v.Variants {
			for _, f := range v.Variants[i].Fields {
				c.walk(f.Type, off+f.Off, depth+1)
			}
		}
		return
	}
	for _, f := range t.Fields() {
		switch {
		case f.Static:
		case f.Virtual:
			c.merge(0, classMemory)
		case f.BitSize > 0:
			first := (off*8 + f.BitOff) / 64
			last := (off*8 + f.BitOff + f.BitSize - 1) / 64
			for w := first; w <= last; w++ {
				c.merge(w, classInteger)
			}
		case f.Base && len(f.Type.Strip().Fields()) == 0 && f.Type.Strip().Variants() == nil:
			// an empty base takes no room
		default:
			c.walk(f.Type, off+f.Off, depth+1)
		}
	}
}

// result does the clean-up after merging (psABI 3.2.3, step 5).
func (c *classifier) result(size int64) []class {
	a, b := c.words[0], c.words[1]
	switch {
	case a == classUnsure || b == classUnsure:
		return []class{classUnsure}
	case a == classMemory || b == classMemory:
		return []class{classMemory}
	case b == classX87Up && a != classX87:
		return []class{classMemory}
	case b == classSSEUp && a != classSSE && a != classSSEUp:
		b = classSSE
	}
	if size <= 8 {
		if a == classNone {
			return nil
		}
		return []class{a}
	}
	if a == classNone && b == classNone {
		return nil
	}
	return []class{a, b}
}

// byReference reports whether C++ passes and returns t through a hidden pointer, because copying or
// destroying it runs code.
func byReference(t *symbol.Type) bool {
	t = t.Strip()
	return (t.Kind == symbol.KindStruct || t.Kind == symbol.KindUnion) && t.NonTrivial()
}

// assignment is where the psABI puts all parameters of a call.
type assignment struct {
	homes []home
	stack int64 // bytes of stack arguments
	sure  bool  // false: from some parameter on, only guesses
}

// assign places the parameters of a call in order. hidden: the first integer register holds the
// address where the result goes.
func assign(params []symbol.Param, hidden bool) assignment {
	a := assignment{sure: true}
	gpr, sse := 0, 0
	if hidden {
		gpr = 1
	}
	for i := range params {
		t := params[i].Type
		size := sizeOf(t)
		if !a.sure {
			a.homes = append(a.homes, nowhere)
			continue
		}
		if byReference(t) {
			a.homes = append(a.homes, a.pointer(&gpr))
			continue
		}
		cl := classify(t)
		switch {
		case len(cl) == 0:
			a.homes = append(a.homes, home{})
			continue
		case cl[0] == classUnsure, t.MayBeNonTrivial():
			a.sure = false
			a.homes = append(a.homes, nowhere)
			continue
		}
		if h, ok := inRegisters(cl, size, &gpr, &sse); ok {
			a.homes = append(a.homes, h)
			continue
		}
		if al := alignOf(t); al >= 16 {
			al = min(al, 64)
			a.stack = (a.stack + al - 1) / al * al
		}
		h := home{}
		h.add(place{source: source{kind: srcStack, off: int32(min(a.stack, 1<<20))}, size: uint32(min(size, 1<<30))})
		a.homes = append(a.homes, h)
		if a.stack += (size + 7) &^ 7; a.stack > 1<<20 {
			a.sure = false
		}
	}
	return a
}

func (a *assignment) pointer(gpr *int) home {
	h := home{indirect: true}
	if *gpr < 6 {
		h.add(place{source: source{kind: srcGPR, reg: argGPRs[*gpr]}, size: 8})
		*gpr++
		return h
	}
	h.add(place{source: source{kind: srcStack, off: int32(a.stack)}, size: 8})
	a.stack += 8
	return h
}

// inRegisters takes the registers that cl needs, all or none.
func inRegisters(cl []class, size int64, gpr, sse *int) (home, bool) {
	g, s := 0, 0
	for _, k := range cl {
		switch k {
		case classInteger:
			g++
		case classSSE:
			s++
		case classNone, classSSEUp:
		default:
			return home{}, false
		}
	}
	if *gpr+g > 6 || *sse+s > 8 {
		return home{}, false
	}
	h := home{}
	for i, k := range cl {
		n := uint32(min(size-int64(i)*8, 8))
		switch k {
		case classInteger:
			h.add(place{source: source{kind: srcGPR, reg: argGPRs[*gpr]}, size: n})
			*gpr++
		case classSSE:
			h.add(place{source: source{kind: srcXMM, reg: uint8(*sse)}, size: n})
			*sse++
		case classSSEUp:
			h.add(place{source: source{kind: srcXMM, reg: uint8(*sse - 1), off: 8}, size: n})
		case classNone:
			h.add(place{size: n})
		}
	}
	return h, true
}
