package capture

import (
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/symbol"
)

// mangledRust reports a name that rustc made: such a function has Rust's ABI, unless it is one of the rare
// `extern "C"` functions that are not exported.
func mangledRust(f *symbol.Function) bool {
	return f.Raw != f.Name || strings.Contains(f.Raw, "::")
}

// fillRust finds the parameters of unoptimised Rust code that have no location: what is passed by pointer
// and never used. They are in the general registers, or stack words, between those of their
// neighbours; where the neighbours do not confirm the count, as around large C structs on the
// stack, they stay missing.
func fillRust(f *symbol.Function, sig *symbol.Signature, homes []home, result resultHome) {
	if result.missing {
		return
	}
	next := 0
	if result.memory {
		next = 1
	}
	if !isClosure(f.Name) {
		fillBetween(sig, homes, next)
		return
	}
	// What it has of its function comes first, in none to two registers, and is no parameter. Neighbours tell.
	best := homes
	for env := range 3 {
		tried := slices.Clone(homes)
		for _, k := range fillBetween(sig, tried, next+env) {
			tried[k] = nowhere
		}
		if missing(tried) < missing(best) {
			best = tried
		}
	}
	copy(homes, best)
}

func isClosure(name string) bool {
	return strings.HasSuffix(name, "}") && strings.Contains(name[strings.LastIndexByte(name, ':')+1:], "{closure")
}

func missing(homes []home) (n int) {
	for i := range homes {
		if homes[i].missing {
			n++
		}
	}
	return n
}

// fillBetween fills homes from the general register next on, and returns those that it filled if no parameter's
// register was known, so that nothing confirms where it began.
func fillBetween(sig *symbol.Signature, homes []home, next int) (pending []int) {
	stack, known := int32(0), false
	for i := range homes {
		size := sizeOf(sig.Params[i].Type)
		if size == 0 {
			continue
		}
		h := &homes[i]
		if !h.missing {
			first, last, words := span(h)
			known = known || first >= 0
			if r := reprOf(sig.Params[i].Type, 0); words && next == 5 && size == 16 && r.kind == reprScalar {
				// the halves of a u128 stay together; the register that is left goes to what follows
				end := h.places[len(h.places)-1]
				stack, pending = end.off+int32(end.size+7)&^7, nil
				continue
			}
			switch {
			case first >= 0 && first != next, words && max(next, last+1) < 6: // on the stack is what finds no register
				for _, k := range pending {
					homes[k] = nowhere
				}
			}
			pending = nil
			if last >= 0 {
				next = last + 1
			}
			if words {
				next = 6
				end := h.places[len(h.places)-1]
				stack = end.off + int32(end.size+7)&^7
			}
			continue
		}
		if sig.Params[i].Loc.Kind != symbol.LocNone && sig.Params[i].Loc.Kind != symbol.LocMissing {
			break
		}
		*h = home{indirect: true}
		if next < 6 {
			h.add(place{source: source{kind: srcGPR, reg: argGPRs[next]}, size: 8})
			next++
		} else {
			h.add(place{source: source{kind: srcStack, off: stack}, size: 8})
			stack += 8
		}
		pending = append(pending, i)
	}
	if known {
		return nil
	}
	return pending
}

// span returns the first and last argument register of a home, -1 for none, and whether it has stack words.
func span(h *home) (first, last int, words bool) {
	first, last = -1, -1
	for _, p := range h.places {
		switch p.kind {
		case srcGPR:
			if k := gprIndex(p.reg); k >= 0 {
				if first < 0 {
					first = k
				}
				last = k
			}
		case srcStack:
			words = true
		}
	}
	return first, last, words
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
