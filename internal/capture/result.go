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
	if t == nil || sig.Noreturn || isVoid(t) || f.CoroutinePart() != "" {
		return resultHome{void: true}
	}
	if sizeOf(t) < 0 {
		return noResult
	}
	sysv := sysvResult(t)
	if lostResult(sig.Clone) {
		return cloneResult(sysv, sig, code, use)
	}
	if sig.Language == symbol.LangRust {
		return rustChoice(rustResult(t), sysv, f, sig, code, use)
	}
	if t := t.Strip(); sig.Language == symbol.LangCPP &&
		(t.MayBeNonTrivial() || !strings.HasPrefix(sig.Producer, "GNU ")) && t.Passing == symbol.PassUnknown &&
		sizeOf(t) <= 16 && !sysv.memory &&
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

// cloneResult is the result of a clone of gcc's which may have lost it: callers that read it show that it has not.
func cloneResult(sysv resultHome, sig *symbol.Signature, code []byte, use *usage) resultHome {
	switch {
	case sysv.missing || sysv.x87 > 0 || sig.Language == symbol.LangRust || sig.Return.MayBeNonTrivial():
		return noResult
	case sysv.memory:
		if yes, no := returnsFirst(code); yes && !no && !paramIn(sig, code, rdi) && fillsFirst(code) {
			return sysv
		}
		return noResult
	case within(sysv.needs(), use.read):
		return sysv
	}
	return noResult
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
