package native

import (
	"slices"

	"github.com/strobe-debug/strobe/internal/hook"
	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/symbol"
)

// A function that runs without a frame of ours leaves by its returns, and by jumps: to another function, which returns
// to its caller, or to a part of its own (foo.cold), which leaves in the same ways. Each of them gets a trap.

// part is code that a function without a frame runs in: the function's own first, then what was split off it.
type part struct {
	code     []byte
	analysis hook.Analysis
	tails    []int // offsets of branches that leave the function
}

// maxParts bounds the pieces of one function that are looked at.
const maxParts = 8

// partsOf finds the places where a function is left.
func partsOf(mod *symbol.Module, code []byte, an hook.Analysis) []part {
	list := []part{{code: code, analysis: an}}
	known := []symbol.Addr{symbol.Addr(an.Addr)}
	for i := 0; i < len(list); i++ {
		for _, t := range list[i].analysis.Tails {
			if t.To == 0 || mod.FunctionAt(symbol.Addr(t.To)) != nil {
				list[i].tails = append(list[i].tails, t.Off)
				continue
			}
			f, _, ok := mod.Lookup(symbol.Addr(t.To))
			switch {
			case !ok: // a stub of the linkage table, or code without a name
				list[i].tails = append(list[i].tails, t.Off)
			case f.Fragment && len(list) < maxParts && !slices.Contains(known, f.Low):
				known = append(known, f.Low)
				if code, err := mod.Code(f); err == nil {
					list = append(list, part{code: code, analysis: hook.Analyze(code, hook.Addr(f.Low), 0, hook.Options{})})
				}
			}
		}
	}
	return list
}

// leaves writes the stubs of the traps at the places where a function without a frame is left. k is the number of its
// part.
func (w *stubWriter) leaves(spec hook.Spec, part *part, k int, bias uint64) ([]*site, error) {
	an := part.analysis
	an.Addr += hook.Addr(bias)
	spec.Code, spec.Analysis, spec.ExitSlot = part.code, &an, w.a.slot(slotExitTrap)
	var out []*site
	trap := func(kind hook.Kind, off int) error {
		if k == 0 && off < an.Off+an.PatchLen {
			return nil // the stub itself records this one
		}
		spec.Kind, spec.Ret = kind, off
		stub, err := w.add(spec)
		if err == nil {
			out = append(out, &site{addr: uint64(an.Addr) + uint64(off), orig: make([]byte, 1), patch: []byte{int3},
				to: uint64(stub.Entry)})
		}
		return err
	}
	for _, off := range an.Rets {
		if err := trap(hook.RetTrap, off); err != nil {
			return nil, err
		}
	}
	for _, off := range part.tails {
		if err := trap(hook.TailTrap, off); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// leaving are the sites that the parts of a function need beside its entry.
func (fn *function) leaving() (n int) {
	for i := range fn.parts {
		n += len(fn.parts[i].analysis.Rets) + len(fn.parts[i].tails)
	}
	return n
}

// tailID is what a stub gives the agent where the function with this hook ID leaves by a tail call.
func tailID(id uint32) uint32 { return id | ring.TailID }
