package capture

import "github.com/strobe-debug/strobe/internal/symbol"

// Rust's own ABI is not written down. What follows was read off rustc 1.95: a scalar in rax or
// xmm0, a pair of scalars in the next two registers of their kinds, other things of up to 8 bytes
// packed in rax, the rest in memory. Where that differs from the C ABI, which `extern "C"` functions
// have without a sign in DWARF, the code decides.

type rustRepr uint8

const (
	reprNone   rustRepr = iota // no bytes
	reprScalar                 // one scalar
	reprPair                   // two scalars
	reprMemory
	reprUnsure
)

// prim is one scalar of a Rust layout.
type prim struct {
	off, size int64
	float     bool
}

type repr struct {
	kind rustRepr
	a, b prim
}

func rustResult(t *symbol.Type) resultHome {
	size := sizeOf(t)
	r := reprOf(t, 0)
	var h home
	g, s := 0, 0
	add := func(p prim) {
		switch {
		case p.float && p.size <= 8:
			h.add(place{source: source{kind: srcXMM, reg: uint8(s)}, size: uint32(p.size)})
			s++
		case p.size <= 8:
			h.add(place{source: source{kind: srcGPR, reg: [2]uint8{rax, rdx}[min(g, 1)]}, size: uint32(p.size)})
			g++
		}
	}
	switch {
	case r.kind == reprNone:
		return resultHome{}
	case r.kind == reprUnsure:
		return noResult
	case r.kind == reprScalar && r.a.size == 16 && !r.a.float:
		h.add(place{source: source{kind: srcGPR, reg: rax}, size: 8})
		h.add(place{source: source{kind: srcGPR, reg: rdx}, size: 8})
	case r.kind == reprScalar && r.a.size <= 8:
		add(r.a)
	case r.kind == reprScalar:
		return noResult
	case r.kind == reprPair && size <= 16:
		add(r.a)
		if gap := r.b.off - r.a.size; gap > 0 {
			h.add(place{size: uint32(gap)})
		}
		add(r.b)
	case size <= 8:
		h.add(place{source: source{kind: srcGPR, reg: rax}, size: uint32(size)})
	default:
		return resultHome{memory: true}
	}
	return resultHome{places: h.places}
}

// reprOf says how rustc represents t.
func reprOf(t *symbol.Type, depth int) repr {
	t = t.Strip()
	size := sizeOf(t)
	switch {
	case t == nil || size == 0:
		return repr{}
	case size < 0 || depth > 16:
		return repr{kind: reprUnsure}
	}
	switch t.Kind {
	case symbol.KindBase:
		return repr{kind: reprScalar, a: prim{size: size, float: t.Encoding == symbol.EncFloat}}
	case symbol.KindPointer, symbol.KindReference, symbol.KindEnum:
		return repr{kind: reprScalar, a: prim{size: size}}
	case symbol.KindUnion:
		return unionRepr(t, depth)
	case symbol.KindArray:
		return repr{kind: reprMemory}
	case symbol.KindStruct:
		if v := t.Variants(); v != nil {
			return asAligned(enumRepr(v, size, depth), t.Align)
		}
		return asAligned(structRepr(t.Fields(), size, depth), t.Align)
	}
	return repr{kind: reprUnsure}
}

// asAligned is r, or memory where a type is aligned to other bytes than its scalars, as repr(packed) has it: rustc does
// not take it for scalars then. 0 is an alignment that is not known.
func asAligned(r repr, to int64) repr {
	if own := max(scalarAlign(r.a.size), scalarAlign(r.b.size)); to > 0 && to != own &&
		(r.kind == reprScalar || r.kind == reprPair) {
		return repr{kind: reprMemory}
	}
	return r
}

// scalarAlign is the alignment of a scalar.
func scalarAlign(size int64) int64 { return min(max(size, 1), 16) }

func structRepr(fields []symbol.Field, size int64, depth int) repr {
	var parts []prim
	for i := range fields {
		f := &fields[i]
		if f.Static || sizeOf(f.Type) == 0 {
			continue
		}
		r := reprOf(f.Type, depth+1)
		if r.kind == reprUnsure {
			return r
		}
		if sizeOf(f.Type) == size { // the only field with bytes
			return r
		}
		if r.kind != reprScalar || len(parts) == 2 {
			return repr{kind: reprMemory}
		}
		r.a.off = f.Off
		parts = append(parts, r.a)
	}
	if len(parts) != 2 {
		return repr{kind: reprMemory}
	}
	if parts[0].off > parts[1].off {
		parts[0], parts[1] = parts[1], parts[0]
	}
	return pairRepr(parts[0], parts[1], size)
}

// pairRepr is a pair where the two lie as rustc lays out a pair, else memory.
func pairRepr(a, b prim, size int64) repr {
	up := func(n, to int64) int64 { return (n + to - 1) / to * to }
	if a.off != 0 || b.off != up(a.size, scalarAlign(b.size)) ||
		size != up(b.off+b.size, max(scalarAlign(a.size), scalarAlign(b.size))) {
		return repr{kind: reprMemory}
	}
	return repr{kind: reprPair, a: a, b: b}
}

func unionRepr(t *symbol.Type, depth int) repr {
	out := repr{}
	for _, f := range t.Fields() {
		if f.Static || sizeOf(f.Type) == 0 {
			continue
		}
		r := reprOf(f.Type, depth+1)
		switch {
		case r.kind == reprUnsure:
			return r
		case sizeOf(f.Type) != sizeOf(t):
			return repr{kind: reprMemory}
		case out.kind == reprNone:
			out = r
		case out != r:
			return repr{kind: reprMemory}
		}
	}
	return out
}

// enumRepr is the representation of an enum with data.
func enumRepr(v *symbol.VariantPart, size int64, depth int) repr {
	niche := false
	var filled []symbol.Field // the variants with bytes
	for i := range v.Variants {
		niche = niche || v.Variants[i].Default
		for _, f := range v.Variants[i].Fields {
			if payloadBytes(f.Type) {
				filled = append(filled, f)
			}
		}
	}
	if v.Discr == nil || niche {
		switch {
		case len(filled) == 1:
			return structRepr(filled[0].Type.Strip().Fields(), size, depth+1)
		case len(filled) == 0 && v.Discr == nil:
			return repr{}
		}
		return repr{kind: reprMemory}
	}
	tag := prim{off: v.Discr.Off, size: sizeOf(v.Discr.Type)}
	if len(filled) == 0 {
		if tag.size == size {
			return repr{kind: reprScalar, a: tag}
		}
		return repr{kind: reprMemory}
	}
	var common prim
	for _, f := range filled {
		p, ok, unsure := onlyScalar(f, depth)
		switch {
		case unsure:
			return repr{kind: reprUnsure}
		case !ok || common.size != 0 && common != p:
			return repr{kind: reprMemory}
		}
		common = p
	}
	return pairRepr(tag, common, size)
}

// payloadBytes reports whether a variant's struct has a field with bytes.
func payloadBytes(t *symbol.Type) bool {
	for _, f := range t.Strip().Fields() {
		if !f.Static && sizeOf(f.Type) != 0 {
			return true
		}
	}
	return false
}

// onlyScalar returns the one scalar of a variant's struct.
func onlyScalar(v symbol.Field, depth int) (p prim, ok, unsure bool) {
	n := 0
	for _, f := range v.Type.Strip().Fields() {
		if f.Static || sizeOf(f.Type) == 0 {
			continue
		}
		r := reprOf(f.Type, depth+1)
		if r.kind == reprUnsure {
			return p, false, true
		}
		if r.kind != reprScalar {
			return p, false, false
		}
		n++
		p = r.a
		p.off = v.Off + f.Off
	}
	return p, n == 1, false
}

// packed is a value of up to 16 bytes in general registers, as it lies in memory.
func packed(size int64) resultHome {
	var h home
	switch {
	case size > 16:
		return noResult
	case size > 8:
		h.add(place{source: source{kind: srcGPR, reg: rax}, size: 8})
		h.add(place{source: source{kind: srcGPR, reg: rdx}, size: uint32(size - 8)})
	default:
		h.add(place{source: source{kind: srcGPR, reg: rax}, size: uint32(size)})
	}
	return resultHome{places: h.places}
}

// bare reports a type that is one scalar without a struct around it: no representation attribute changes how it is
// returned.
func bare(t *symbol.Type) bool {
	t = t.Strip()
	return t != nil && (t.Kind == symbol.KindBase || t.Kind == symbol.KindPointer || t.Kind == symbol.KindReference)
}

// handedThrough reports that a register of a result, which the function is not seen to write, had a parameter at the
// entry or is left by a call.
func handedThrough(need [4]bool, seen *results, sig *symbol.Signature, code []byte) bool {
	sure := &seen.sure
	left := leftByCalls(code)
	for i := range need {
		if need[i] && !sure[i] && left[i] {
			return true
		}
	}
	return need[resRDX] && !sure[resRDX] && paramIn(sig, code, rdx) ||
		need[resXMM0] && !sure[resXMM0] && paramAt(sig, code, srcXMM, 0) ||
		need[resXMM1] && !sure[resXMM1] && paramAt(sig, code, srcXMM, 1)
}

// loadsWhole reports unoptimised code that loads more into the one register of c than own has in it: the whole of a
// pair.
func loadsWhole(own, c resultHome, loads *[4]int) bool {
	need := c.needs()
	if c.missing || c.memory || len(c.places) != 1 {
		return false
	}
	for _, p := range own.places {
		part := resultHome{places: []place{p}}
		if p.kind != srcNone && part.needs() == need && p.size < c.places[0].size {
			for i := range need {
				if need[i] && loads[i] > int(p.size) {
					return true
				}
			}
		}
	}
	return false
}

// loadsPacked reports unoptimised code that loads as many bytes as the result has into rax last, and none into the
// register of floats that the result would be in by itself.
func loadsPacked(own resultHome, size int64, loads *[4]int) bool {
	need := own.needs()
	return len(own.places) == 1 && need[resXMM0] && !need[resRAX] && loads[resRAX] == int(size) && loads[resXMM0] == 0
}

// leavesNothing reports code that writes no register of a result for sure.
func leavesNothing(code []byte) bool { return readResults(code).sure == [4]bool{} }

// rustChoice decides between what rustc does with a type as far as DWARF shows it, the C ABI, and the forms that
// repr(C) and rustc's thresholds lead to: packed in registers, or in memory. The code tells them apart by
// what it writes before it returns.
func rustChoice(own, c resultHome, f *symbol.Function, sig *symbol.Signature, code []byte, use *usage) resultHome {
	size := sizeOf(sig.Return)
	if own.missing || len(own.places) == 0 && !own.memory {
		return own
	}
	if size > 16 && own.memory && c.memory && !sig.Optimized {
		return own // LLVM returns the address of what it was given a place for
	}
	yes, no := returnsFirst(code)
	odd := size&(size-1) != 0 && reprOf(sig.Return, 0).kind == reprMemory // in memory at times, however small
	if (size > 8 || odd) && yes && !no && !paramIn(sig, code, rdi) &&
		(own.memory || fillsFirst(code) && !readResults(code).sure[resRDX]) {
		return resultHome{memory: true}
	}
	if size > 8 && own.memory && sig.Optimized && (size > 16 && c.memory || size <= 16 && leavesNothing(code)) {
		return keptPlace(sig, code)
	}
	candidates := []resultHome{own, c, packed(size)}
	if !mangledRust(f) {
		candidates[0], candidates[1] = c, own
	}
	if (size > 8 || bare(sig.Return)) && !own.memory && !c.memory && own.needs() == c.needs() &&
		(use.external || !sig.Optimized) {
		return own // whoever calls has it there, whatever the code shows: a part may only be handed through
	}
	if !sig.Optimized && size <= 8 {
		// LLVM puts together what is handed out whole in memory, and loads it in front of the return
		loads, latest := lastLoads(code)
		switch {
		case loadsWhole(own, c, &loads):
			return c
		case !bare(sig.Return) && loadsPacked(own, size, &loads):
			return packed(size) // repr(C), which no debug information tells
		case !mangledRust(f) || own.memory:
		case own.needs()[resRAX] && c.needs() == [4]bool{resXMM0: true} && latest == resXMM0 && loads[resXMM0] == int(size):
			return c
		default:
			return own
		}
	}
	seen := readResults(code)
	wide := true
	if needsProof(sig) {
		wide = use.wide || use.external
		for i, read := range use.read {
			seen.sure[i] = read || use.external && seen.sure[i]
		}
	}
	best, count := noResult, -1
	for _, k := range candidates {
		if k.missing || k.memory || k.x87 > 0 {
			continue
		}
		n := 0
		need := k.needs()
		for _, b := range need {
			if b {
				n++
			}
		}
		switch {
		case !within(need, seen.sure):
		case need != own.needs() && handedThrough(own.needs(), &seen, sig, code):
			// the function may leave its own result where a parameter was, and write other registers for other reasons
		case !wide && len(own.places) > len(k.places) && !own.missing:
			// one of a pair may be left when callers do not use the other, in the register of the first
		case n > count:
			best, count = k, n
		case n == count && !best.missing && need != best.needs():
			best = noResult // both fit: nothing settles it
		}
	}
	if count > 0 || sig.Optimized {
		return best
	}
	var either [4]bool
	for i := range either {
		either[i] = seen.sure[i] || seen.maybe[i]
	}
	for _, k := range candidates {
		switch {
		case k.missing:
		case k.memory && !no:
			return k
		case !k.memory && k.x87 == 0 && within(k.needs(), either):
			return k
		}
	}
	return noResult
}
