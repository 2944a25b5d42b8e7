package capture

import (
	"slices"

	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/sorting"
)

// textBytes is as what a text counts, which may be short.
const textBytes = 64

// smallFirst are the operations that begin walks, those of small objects first: where a call's values are cut, a
// receiver with fifty fields would leave no room for the text that it is asked for.
func (s *side) smallFirst() []ring.Op {
	type root struct {
		ops   []ring.Op
		bytes int
	}
	var roots []root
	for i, o := range s.roots {
		switch {
		case o.Code == ring.OpGather && o.Src != 0:
			last := &roots[len(roots)-1]
			last.ops, last.bytes = append(last.ops, o), last.bytes+int(o.Size)
		case o.Code == ring.OpRoot && o.Src == 1:
			roots = append(roots, root{s.roots[i : i+1 : i+1], textBytes})
		default:
			roots = append(roots, root{s.roots[i : i+1 : i+1], int(o.Size)})
		}
	}
	sorting.By(roots, func(a, b root) int { return a.bytes - b.bytes })
	ops := make([]ring.Op, 0, len(s.roots))
	for _, r := range roots {
		ops = append(ops, r.ops...)
	}
	return slices.Clip(ops)
}
