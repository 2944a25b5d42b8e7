package tracediff

import (
	"bytes"
	"context"
	"regexp"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/store"
)

// line is a line of output.
type line struct {
	key  uint64
	text string
	id   event.ID
}

// Bounds of the output that is compared.
const (
	maxLines    = 100_000
	maxLineText = 4096
)

// took finds how long something took, which every harness writes.
var took = regexp.MustCompile(`\b\d+(?:\.\d+)? ?(?:ns|us|µs|ms|s|sec|seconds)\b`)

// readOutput splits what the side's programs wrote into lines.
func (s *side) readOutput(ctx context.Context) error {
	var open [2][]byte
	put := func(k int, text []byte, id event.ID) {
		t := string(bytes.ToValidUTF8(text[:min(len(text), maxLineText)], []byte("?")))
		s.lines = append(s.lines, line{mixText(uint64(k), took.ReplaceAllString(s.canon.text(t), "#")), t, id})
	}
	err := s.sn.Scan(ctx, store.Filter{Kinds: 1<<event.Stdout | 1<<event.Stderr}, store.ScanOptions{Cold: true},
		func(r *store.Row) bool {
			k := int(r.Kind - event.Stdout)
			data := r.Payload
			for {
				i := bytes.IndexByte(data, '\n')
				if i < 0 {
					if len(open[k]) < maxLineText {
						open[k] = append(open[k], data...)
					}
					return len(s.lines) < maxLines
				}
				put(k, append(open[k], data[:i]...), r.ID)
				open[k], data = open[k][:0], data[i+1:]
			}
		})
	for k := range open {
		if len(open[k]) > 0 {
			put(k, open[k], 0)
		}
	}
	return err
}

// outputs finds the first lines that only one side wrote, in whatever order threads wrote them; nil: none.
func outputs(a, b *side) (onlyA, onlyB *line) {
	n := map[uint64]int{}
	for _, l := range b.lines {
		n[l.key]++
	}
	for i, l := range a.lines {
		if n[l.key]--; n[l.key] < 0 && onlyA == nil {
			onlyA = &a.lines[i]
		}
	}
	for i := len(b.lines) - 1; i >= 0; i-- { // what is left of a key are its last lines
		if l := b.lines[i]; n[l.key] > 0 {
			n[l.key]--
			onlyB = &b.lines[i]
		}
	}
	return onlyA, onlyB
}
