package capture

import (
	"strings"

	"github.com/strobe-debug/strobe/internal/symbol"
)

// mangledRust reports a name that rustc made: such a function has Rust's ABI, unless it is one of the rare
// `extern "C"` functions that are not exported.
func mangledRust(f *symbol.Function) bool {
	return f.Raw != f.Name || strings.Contains(f.Raw, "::")
}

// rustAssign places parameters as rustc 1.95 does: scalars and the halves of pairs each in the next
// register of their kind, other things of up to 8 bytes in a general register, the rest by pointer.
func rustAssign(params []symbol.Param, hidden bool) assignment {
	a := assignment{sure: true}
	gpr, sse := 0, 0
	if hidden {
		gpr = 1
	}
	word := func(n uint32) place { // the next general register, or stack word
		if gpr < 6 {
			gpr++
			return place{source: source{kind: srcGPR, reg: argGPRs[gpr-1]}, size: n}
		}
		a.stack += 8
		return place{source: source{kind: srcStack, off: int32(a.stack - 8)}, size: n}
	}
	scalar := func(h *home, p prim) {
		switch {
		case p.float && p.size <= 8 && sse < 8:
			h.add(place{source: source{kind: srcXMM, reg: uint8(sse)}, size: uint32(p.size)})
			sse++
		case p.float && p.size <= 8:
			h.add(place{source: source{kind: srcStack, off: int32(a.stack)}, size: uint32(p.size)})
			a.stack += 8
		case p.size <= 8:
			h.add(word(uint32(p.size)))
		case !p.float && gpr <= 4:
			h.add(word(8))
			h.add(word(8))
		default:
			a.sure = false
		}
	}
	for i := range params {
		if !a.sure {
			a.homes = append(a.homes, nowhere)
			continue
		}
		t := params[i].Type
		size := sizeOf(t)
		h := home{}
		switch r := reprOf(t, 0); {
		case r.kind == reprUnsure:
			a.sure = false
		case r.kind == reprNone:
		case r.kind == reprScalar:
			scalar(&h, r.a)
		case r.kind == reprPair:
			scalar(&h, r.a)
			if gap := r.b.off - r.a.size; gap > 0 {
				h.add(place{size: uint32(gap)})
			}
			scalar(&h, r.b)
			if tail := size - r.b.off - r.b.size; tail > 0 {
				h.add(place{size: uint32(tail)})
			}
		case size <= 8:
			h.add(word(uint32(size)))
		default:
			h.indirect = true
			h.add(word(8))
		}
		if !a.sure {
			h = nowhere
		}
		a.homes = append(a.homes, h)
	}
	return a
}

// fillRust finds the parameters of unoptimised Rust code that neither the locations nor the prologue tell: what
// is passed by pointer and never used has no location. Rust's ABI and the C ABI are both tried; one
// that contradicts what is known is out.
func fillRust(sig *symbol.Signature, f *symbol.Function, homes []home, result resultHome) {
	if result.missing {
		return
	}
	own := rustAssign(sig.Params, result.memory)
	c := assign(sig.Params, result.memory)
	ownFits, ownSeen := fits(sig, &own, homes)
	cFits, _ := fits(sig, &c, homes)
	for i := range homes {
		if homes[i].complete() || sizeOf(sig.Params[i].Type) == 0 {
			continue
		}
		size := uint32(min(max(sizeOf(sig.Params[i].Type), 0), 1<<20))
		o, s := own.homes[i], c.homes[i]
		switch {
		case !ownFits || o.missing:
			if cFits && c.sure && !mangledRust(f) && agreesOrUnknown(&homes[i], &s, size) {
				homes[i] = s
			}
		case !agreesOrUnknown(&homes[i], &o, size):
		case o.agrees(&s, size), mangledRust(f), !cFits, ownSeen && size <= 16:
			homes[i] = o
		}
	}
}

func agreesOrUnknown(h, guess *home, size uint32) bool { return h.missing || h.agrees(guess, size) }

// fits reports whether an assignment contradicts no parameter that is known, and whether it was
// confirmed by one.
func fits(sig *symbol.Signature, a *assignment, homes []home) (ok, confirmed bool) {
	for i := range homes {
		size := sizeOf(sig.Params[i].Type)
		if size <= 0 || homes[i].missing || a.homes[i].missing || len(homes[i].places) == 0 {
			continue
		}
		if homes[i].places[0].kind == srcConst {
			continue
		}
		if !homes[i].agrees(&a.homes[i], uint32(min(size, 64))) {
			return false, false
		}
		confirmed = true
	}
	return true, confirmed
}

// rustStack bounds the stack arguments of a Rust function under either ABI: all parameters but those that
// certainly fit the six general registers, with the hidden result and the caller's location.
func rustStack(sig *symbol.Signature) int {
	words, bytes := int64(2), int64(0)
	for i := range sig.Params {
		size := max(sizeOf(sig.Params[i].Type), 0)
		words += min((size+7)/8, 4)
		if size > 16 {
			bytes += min((size+15)&^15, 1<<16)
		} else {
			bytes += 16
		}
	}
	if words <= 6 && bytes <= 16*int64(len(sig.Params)) {
		return 0
	}
	return int(min(bytes+16, 1<<16))
}
