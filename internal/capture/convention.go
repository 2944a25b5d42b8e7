package capture

import (
	"strings"

	"golang.org/x/arch/x86/x86asm"

	"github.com/strobe-debug/strobe/internal/symbol"
)

// gcc keeps to the calling convention wherever it does not say otherwise by a clone's name: what no caller passes as
// declared is renamed (.isra, .constprop, .part). So a parameter is where the convention puts it also where the debug
// information begins to speak of it only behind the entry, or not at all, as of one that is never used.

// keepsConvention reports a function whose callers pass all that is declared, in the System V way.
func keepsConvention(sig *symbol.Signature) bool {
	return sig.Clone == "" && strings.HasPrefix(sig.Producer, "GNU ") &&
		(sig.Language == symbol.LangC || sig.Language == symbol.LangCPP)
}

// fillConvention finds the parameters of optimised code of gcc that nothing else settled. A parameter that is known to
// be elsewhere than the convention puts it, or a prologue that saves what callers need not keep, says that the function
// has another convention.
func fillConvention(sig *symbol.Signature, homes []home, abi *assignment, code []byte) {
	if !keepsConvention(sig) || abi.homes == nil || !abi.sure || savesArguments(code) {
		return
	}
	for i := range homes {
		if p := &sig.Params[i]; p.Artificial && p.Name != "this" {
			return // of a constructor, which has it in one of its forms only
		}
		size := sizeOf(sig.Params[i].Type)
		if h := &homes[i]; h.missing || size <= 0 || len(h.places) == 0 || h.places[0].kind == srcConst {
			continue
		}
		if !overlaps(&homes[i], &abi.homes[i], uint32(min(size, 1<<30))) {
			return
		}
	}
	for i := range homes {
		if h := &homes[i]; (h.missing || !h.complete()) && !abi.homes[i].indirect {
			*h = abi.homes[i]
		}
	}
}

// overlaps reports that no byte which both know is elsewhere in the other.
func overlaps(h, o *home, size uint32) bool {
	if h.indirect != o.indirect {
		return false
	}
	for i := range min(size, 64) {
		a, b := h.byteAt(i), o.byteAt(i)
		if a.kind != srcNone && b.kind != srcNone && a.kind != srcConst && a != b {
			return false
		}
	}
	return true
}

// savesArguments reports a prologue that saves rdi or rsi for its caller, as Microsoft's convention has it.
func savesArguments(code []byte) bool {
	p, found := newPrologue(), false
	p.follow(code, func(in *x86asm.Inst) {
		found = found || in.Op == x86asm.PUSH && (in.Args[0] == x86asm.RDI || in.Args[0] == x86asm.RSI)
	})
	return found
}
