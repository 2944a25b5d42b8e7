package capture

import (
	"golang.org/x/arch/x86/x86asm"

	"github.com/strobe-debug/strobe/internal/symbol"
)

// Without variable tracking (-O0, and -fno-var-tracking or a pragma at any level) gcc names one register for a
// parameter's whole life: the one into which the prologue moves it. At the first instruction something else may be
// there. LLVM does the like where it loads the parameter from the caller's argument area.

// fromRegister settles a parameter that the debug information puts into registers for the whole function.
func fromRegister(l *located, sig *symbol.Signature, guess *home, size uint32, trusted bool, code []byte,
	pro *prologue) home {
	switch {
	case needsProof(sig): // LLVM moves parameters only when it says so, or from the stack
		if pro.untouched(&l.home) {
			return l.home
		}
		return nowhere
	case sig.Optimized && pro.untouched(&l.home) && inArguments(&l.home):
		return l.home
	}
	seen := passedThrough(code, l.places, size)
	found, many := nowhere, false
	for i := range seen {
		switch {
		case trusted && seen[i].agrees(guess, size):
			return *guess
		case found.missing:
			found = seen[i]
		case !found.agrees(&seen[i], size):
			many = true
		}
	}
	switch {
	case trusted && found.missing:
		return *guess
	case trusted || many:
		return nowhere
	}
	return found
}

// inArguments reports a home that callers fill.
func inArguments(h *home) bool {
	for _, p := range h.places {
		if p.kind == srcGPR && gprIndex(p.reg) < 0 || p.kind == srcXMM && p.reg > 7 {
			return false
		}
	}
	return true
}

// passedThrough lists the arguments, or parts of them, that the registers of places hold, one after the other, in the
// first straight run of code. What they hold at the entry comes first, where a caller puts arguments there.
func passedThrough(code []byte, places []place, size uint32) []home {
	p := newPrologue()
	var out []home
	note := func() {
		h := home{}
		for _, pl := range places {
			var c *content
			switch pl.kind {
			case srcGPR:
				c = &p.gpr[pl.reg&15]
			case srcXMM:
				c = &p.xmm[pl.reg&15]
			default:
				return
			}
			for i := range min(pl.size, 16) {
				k := pl.off + int32(i)
				if k < 0 || k > 15 || c.frame {
					return
				}
				h.add(place{source: c.b[k], size: 1})
			}
		}
		if h.complete() && inArguments(&h) && (len(out) == 0 || !out[len(out)-1].agrees(&h, size)) {
			out = append(out, h)
		}
	}
	note()
	p.follow(code, func(*x86asm.Inst) { note() })
	return out
}

// promotedFloat is a float parameter of a C function without a prototype: callers pass a double, and the function
// rounds it before the debug information speaks of it.
var promotedFloat = &symbol.Type{Kind: symbol.KindBase, Encoding: symbol.EncFloat, Name: "float", Size: 8}

// promote gives the parameters of a function without a prototype the types that callers pass. sig is the caller's
// alone.
func promote(sig *symbol.Signature) {
	if sig.Language != symbol.LangC || sig.Prototyped {
		return
	}
	for i := range sig.Params {
		if t := sig.Params[i].Type.Strip(); t != nil && t.Kind == symbol.KindBase && t.Encoding == symbol.EncFloat &&
			t.Size == 4 {
			sig.Params[i].Type = promotedFloat
		}
	}
}

// fromLater finds the pointer to what unoptimised code is passed by pointer and describes only from some instruction of
// the prologue on: LLVM begins with it behind the store of that pointer. It is what the register, or the slot, that is
// named there holds of the caller's.
func fromLater(p *symbol.Param, sig *symbol.Signature, f *symbol.Function, code []byte) home {
	n := int64(p.Loc.Lo) - int64(f.Low)
	if p.Loc.Kind != symbol.LocMissing || sig.Optimized || sig.Clone != "" || n <= 0 || n > int64(len(code)) {
		return nowhere
	}
	pro := newPrologue()
	if pro.follow(code[:n], func(*x86asm.Inst) {}); int64(pro.length) != n {
		return nowhere
	}
	l := evaluate(p.Loc.Expr, uint32(min(max(sizeOf(p.Type), 0), 1<<30)), pro.frame(sig.FrameBase))
	h := home{}
	switch {
	case l.missing || !l.indirect:
		return nowhere
	case l.inFrame:
		h = pro.stored(l.slot, 8)
	case len(l.places) == 1 && l.places[0].kind == srcGPR:
		for _, s := range pro.gpr[l.places[0].reg&15].b[:8] {
			h.add(place{source: s, size: 1})
		}
	}
	if len(h.places) != 1 || h.places[0].size != 8 || h.places[0].kind != srcStack &&
		(h.places[0].kind != srcGPR || gprIndex(h.places[0].reg) < 0) {
		return nowhere
	}
	h.indirect, h.off = true, l.off
	return h
}
