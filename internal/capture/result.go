package capture

import (
	"strings"

	"github.com/strobe-debug/strobe/internal/symbol"
)

// resultHome says where a result is when the function has returned.
type resultHome struct {
	void    bool
	missing bool
	places  []place // srcGPR rax, rdx; srcXMM 0, 1
	x87     int     // number of values on the x87 stack, 16 bytes each
	memory  bool    // rax holds the address of the result
	saved   bool    // memory: not rax, but the entry's rdi
}

// needs returns the registers of h as indexes of results.
func (h *resultHome) needs() [4]bool {
	var n [4]bool
	if h.memory && !h.saved {
		n[resRAX] = true
	}
	for _, p := range h.places {
		switch {
		case p.kind == srcGPR && p.reg == rax:
			n[resRAX] = true
		case p.kind == srcGPR:
			n[resRDX] = true
		case p.kind == srcXMM && p.reg < 2:
			n[resXMM0+int(p.reg)] = true
		}
	}
	return n
}

// within reports whether every register of need is in have.
func within(need, have [4]bool) bool {
	for i := range need {
		if need[i] && !have[i] {
			return false
		}
	}
	return true
}

var noResult = resultHome{missing: true}

// locateResult says where the result of a function is.
func locateResult(sig *symbol.Signature, f *symbol.Function, code []byte, use *usage) resultHome {
	t := sig.Return
	if t == nil || sig.Noreturn || isVoid(t) {
		return resultHome{void: true}
	}
	if sizeOf(t) < 0 {
		return noResult
	}
	if lostResult(sig.Clone) {
		return noResult
	}
	sysv := sysvResult(t)
	if sig.Language == symbol.LangRust {
		return rustChoice(rustResult(t), sysv, f, sig, code, use)
	}
	if t := t.Strip(); sig.Language == symbol.LangCPP && t.Passing == symbol.PassUnknown && sizeOf(t) <= 16 && !sysv.memory &&
		(t.Kind == symbol.KindStruct || t.Kind == symbol.KindUnion) {
		return hiddenChoice(sysv, sig, code)
	}
	if hasQuad(t, 0) && !strings.HasPrefix(sig.Producer, "GNU ") && !sysv.memory {
		sysv = hiddenChoice(sysv, sig, code)
	}
	if sysv.missing || !needsProof(sig) || use.external {
		return sysv
	}
	if sysv.memory {
		if yes, no := returnsFirst(code); yes && !no {
			return sysv
		}
		return keptPlace(sig, code)
	}
	if sysv.x87 > 0 || !within(sysv.needs(), use.read) {
		return noResult
	}
	return sysv
}

// lostResult reports a gcc clone from which the result may have been removed.
func lostResult(clone string) bool {
	return strings.Contains(clone, "isra") || strings.Contains(clone, "part")
}

// needsProof reports an optimising compiler that takes dead results away from functions without
// renaming them: LLVM's, and those that are not known.
func needsProof(sig *symbol.Signature) bool {
	return sig.Optimized && !strings.HasPrefix(sig.Producer, "GNU ")
}

func isVoid(t *symbol.Type) bool {
	s := t.Strip()
	return s == nil || s.Kind == symbol.KindVoid && sizeOf(s) == 0 ||
		sizeOf(s) == 0 && (s.Name == "()" || s.Name == "!")
}

// sysvResult is where the psABI puts a result of type t.
func sysvResult(t *symbol.Type) resultHome {
	size := sizeOf(t)
	if byReference(t) {
		return resultHome{memory: true}
	}
	cl := classify(t)
	switch {
	case len(cl) == 0:
		return resultHome{} // an empty object: nothing is returned, and it has no bytes that matter
	case cl[0] == classUnsure:
		return noResult
	case cl[0] == classMemory:
		return resultHome{memory: true}
	case cl[0] == classX87:
		return resultHome{x87: 1}
	case cl[0] == classComplexX87:
		return resultHome{x87: 2}
	}
	var h home
	gprs := [2]uint8{rax, rdx}
	g, s := 0, 0
	for i, k := range cl {
		n := uint32(min(size-int64(i)*8, 8))
		switch k {
		case classInteger:
			h.add(place{source: source{kind: srcGPR, reg: gprs[g]}, size: n})
			g++
		case classSSE:
			h.add(place{source: source{kind: srcXMM, reg: uint8(s)}, size: n})
			s++
		case classSSEUp:
			h.add(place{source: source{kind: srcXMM, reg: uint8(max(s-1, 0)), off: 8}, size: n})
		case classNone:
			h.add(place{size: n})
		default:
			return noResult
		}
	}
	return resultHome{places: h.places}
}

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
			return enumRepr(v, size, depth)
		}
		return structRepr(t.Fields(), size, depth)
	}
	return repr{kind: reprUnsure}
}

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
	align := func(n int64) int64 { return min(max(n, 1), 16) }
	up := func(n, to int64) int64 { return (n + to - 1) / to * to }
	if a.off != 0 || b.off != up(a.size, align(b.size)) ||
		size != up(b.off+b.size, max(align(a.size), align(b.size))) {
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

// rustChoice decides between what rustc does with a type as far as DWARF shows it, the C ABI, and the forms that
// repr(C) and rustc's thresholds lead to: packed in registers, or in memory. The code tells them apart by
// what it writes before it returns.
func rustChoice(own, c resultHome, f *symbol.Function, sig *symbol.Signature, code []byte, use *usage) resultHome {
	size := sizeOf(sig.Return)
	if own.missing || len(own.places) == 0 && !own.memory {
		return own
	}
	yes, no := returnsFirst(code)
	if size > 8 && yes && !no && !paramIn(sig, code, rdi) {
		return resultHome{memory: true}
	}
	if size > 16 && own.memory && c.memory && sig.Optimized {
		return keptPlace(sig, code)
	}
	candidates := []resultHome{own, c, packed(size)}
	if !mangledRust(f) {
		candidates[0], candidates[1] = c, own
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
