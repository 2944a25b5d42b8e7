package query

import (
	"fmt"
	"strings"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/value"
)

// treeWriter writes sections as text.
type treeWriter struct {
	a       *asker
	b       strings.Builder
	left    int   // lines of the section at hand
	shown   int64 // calls in the lines written of it
	hidden  int64 // calls not shown, over all sections
	unshown int   // threads not shown at all
	stopped bool
	last    event.ID // newest event that was shown whole
	deepest event.ID // a call whose inside was cut
}

// section writes one thread's tree and returns how many lines that took.
func (w *treeWriter) section(s section, b *builder, header bool) int {
	w.left, w.shown = b.limit, 0
	if header || len(w.a.threads) > 1 {
		t := w.a.thread(s.thread)
		name := ""
		if t.Name != "" {
			name = " " + quote(t.Name)
		}
		if had := w.a.names[s.thread]; len(had) > 1 {
			name += " (before: " + quote(had[len(had)-2].Name) + ")"
		}
		w.line(0, fmt.Sprintf("thread %d%s, pid %d: %s", t.TID, name, t.PID, plural(s.calls, "call")))
	}
	w.kids(&b.root, 0)
	w.stopped = w.stopped || b.stopped
	if s.roots == nil {
		w.hidden += max(0, s.calls-w.shown)
	} else {
		w.hidden += b.skipped
	}
	return b.limit - w.left
}

func (w *treeWriter) line(depth int, s string) {
	w.left--
	for range min(depth, maxIndent) {
		w.b.WriteString("  ")
	}
	if depth > maxIndent {
		fmt.Fprintf(&w.b, "(depth %d) ", depth)
	}
	w.b.WriteString(s + "\n")
}

// kids writes what is below n and reports whether that was all.
func (w *treeWriter) kids(n *node, depth int) bool {
	for i, k := range n.kids {
		if w.left <= 0 || w.b.Len() > maxAnswer {
			w.stopped = true
			if w.deepest == 0 && n.fn != nil && i == 0 {
				w.deepest = n.id
			}
			return false
		}
		w.line(depth, w.text(k, depth))
		if k.fn != nil && !k.orphan {
			w.shown++
		}
		w.last = max(w.last, k.id)
		if !w.kids(k, depth+1) {
			return false
		}
		w.last = max(w.last, k.end)
		if k.repeats.n == 0 {
			continue
		}
		if w.left <= 0 {
			w.stopped = true
			return false
		}
		w.line(depth, k.repeats.line(k.fn != nil))
		w.shown += k.repeats.calls
		w.last = max(w.last, k.last)
	}
	return true
}

// text is one call's line: name(a=1) → 42  1.2ms #17. The id is there where it leads further: at roots, at calls
// with something below, and where a call did not end as usual.
func (w *treeWriter) text(n *node, depth int) string {
	if n.fn == nil {
		return n.text
	}
	var b strings.Builder
	if n.orphan {
		b.WriteString("end of ")
	}
	b.WriteString(shortName(n.fn.Name, 100))
	if !n.orphan {
		b.WriteByte('(')
		if n.fn.layout != nil {
			b.WriteString(n.fn.layout.Enter(n.enter).Short(argsWidth))
		}
		b.WriteByte(')')
		if n.fn.layout != nil {
			writeExtra(&b, " [", n.fn.layout.WatchValues(n.enter, false))
		}
	}
	odd := true
	switch {
	case n.end == 0:
		b.WriteString(" …running")
	case n.flags&event.Lost != 0:
		b.WriteString(" → ? (its end was lost)")
	case n.flags&event.Unwound != 0:
		b.WriteString(" ✗ unwound")
	case n.has:
		b.WriteString(" → " + n.result.Short(resultWidth))
		odd = false
	default:
		odd = false
	}
	writeExtra(&b, " out [", n.out)
	writeExtra(&b, " [", n.watched)
	if n.flags&event.TailCall != 0 && n.end != 0 {
		b.WriteString(" (tail call)")
	}
	if n.end != 0 {
		b.WriteString("  " + duration(n.ns))
	}
	if odd || depth == 0 || len(n.kids) > 0 {
		fmt.Fprintf(&b, " #%d", n.id)
	}
	return b.String()
}

// writeExtra adds values beside arguments and result.
func writeExtra(b *strings.Builder, before string, o value.Object) {
	if len(o) > 0 {
		b.WriteString(before + o.Short(argsWidth) + "]")
	}
}

// notes says what is not shown and how to see it.
func (w *treeWriter) notes(res *Result, sections []section, selected bool, limit int) []string {
	if !res.HasMore {
		return nil
	}
	out := fmt.Sprintf("%d of %d calls are not shown", w.hidden, res.TotalCount)
	if w.hidden == 0 {
		out = "The tree was cut"
	}
	if w.unshown > 0 {
		out += fmt.Sprintf(", among them those of %d threads (threadId shows one)", w.unshown)
	}
	var how []string
	if res.LastEventID != 0 {
		how = append(how, fmt.Sprintf("afterEventId %d", res.LastEventID))
	}
	if w.deepest != 0 {
		how = append(how, fmt.Sprintf("under %d", w.deepest))
	} else {
		how = append(how, "under with a #id")
	}
	if limit < MaxLimit {
		how = append(how, fmt.Sprintf("limit up to %d", MaxLimit))
	}
	if selected {
		how = append(how, "narrower filters")
	} else if len(sections) > 1 && w.unshown == 0 {
		how = append(how, "threadId")
	}
	return []string{out + "; go on with " + strings.Join(how, ", ") + "."}
}
