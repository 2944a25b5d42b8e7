package query

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/store"
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
	before  event.ID // the earliest event that was not shown, 0 for none
	folded  int64    // calls in folds
	limit   int      // bytes
	asked   *asked   // nil: all values are shown
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
		w.line(0, fmt.Sprintf("thread %d%s, pid %d%s: %s", t.TID, name, t.PID, w.madeIn(b.madeIn), plural(s.calls, "call")))
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

// madeIn says in which call a thread was made.
func (w *treeWriter) madeIn(id event.ID) string {
	if id == 0 {
		return ""
	}
	rows, err := w.a.sn.Rows(w.a.ctx, []event.ID{id})
	if err != nil || len(rows) != 1 {
		return ""
	}
	return fmt.Sprintf(", made in #%d %s of thread %d", id, event.ShortName(w.a.fn(rows[0].Func).Name, 100),
		w.a.thread(rows[0].Thread).TID)
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

// stop ends the writing before n, so that the cursor stays before it.
func (w *treeWriter) stop(n event.ID) bool {
	w.stopped = true
	w.unseen(n)
	return false
}

// unseen keeps the cursor before an event that was not shown: folds show later events before earlier ones.
func (w *treeWriter) unseen(n event.ID) {
	if w.before == 0 || n < w.before {
		w.before = n
	}
}

// full reports whether there is no room for another line.
func (w *treeWriter) full() bool { return w.left <= 0 || w.b.Len() > w.limit }

// kids writes what is below n and reports whether that was all.
func (w *treeWriter) kids(n *node, depth int) bool {
	for i, k := range n.kids {
		if w.full() {
			if w.deepest == 0 && n.fn != nil && i == 0 {
				w.deepest = n.id
			}
			return w.stop(k.id)
		}
		if !w.fold(k, n, depth) {
			if i+1 < len(n.kids) {
				w.unseen(n.kids[i+1].id)
			}
			return false
		}
		w.last = max(w.last, k.last)
	}
	return true
}

// fold writes a node with its subtree, what repeats it, and its variants; up is the call that they are in.
func (w *treeWriter) fold(k, up *node, depth int) bool {
	if !w.one(k, up, depth) {
		return false
	}
	for _, v := range k.variants {
		if w.full() {
			return w.stop(v.id)
		}
		if !w.one(v, up, depth) {
			return false
		}
	}
	return w.repeated(&k.rest, k, up, depth, " that end otherwise, in themselves or below")
}

// one writes a node, its subtree and what repeats it.
func (w *treeWriter) one(k, up *node, depth int) bool {
	w.line(depth, w.text(k, up, depth))
	switch {
	case k.made != nil && k.made.only == nil:
		w.shown += k.made.calls
		w.folded += k.made.calls
	case k.made != nil, k.fn != nil && !k.orphan:
		w.shown++
	}
	w.last = max(w.last, k.id)
	if !w.kids(k, depth+1) {
		return false
	}
	w.last = max(w.last, k.end)
	like := " like this"
	if k.of != nil || len(k.variants) > 0 {
		like = fmt.Sprintf(" like #%d", k.id)
	}
	return w.repeated(&k.repeats, k, up, depth, like)
}

// repeated writes the line of what was folded.
func (w *treeWriter) repeated(r *repeats, k, up *node, depth int, like string) bool {
	if r.n == 0 {
		return true
	}
	if w.full() {
		return w.stop(r.first)
	}
	if r.only != nil { // a fold of one is longer than the call
		w.line(depth, w.text(r.only, up, depth))
	} else {
		w.line(depth, r.line(k.fn != nil, like))
		w.folded += r.n
	}
	w.shown += r.calls
	return true
}

// text is one call's line: name(a=1) → 42  1.2ms #17. The id is there where it leads further: at roots, at calls
// with something below, and where a call did not end as usual.
func (w *treeWriter) text(n, up *node, depth int) string {
	switch {
	case n.made != nil && n.made.only != nil:
		n = n.made.only
	case n.made != nil:
		return n.made.line()
	case n.fn == nil:
		return n.text
	}
	var b strings.Builder
	if n.orphan {
		b.WriteString("end of ")
	}
	b.WriteString(event.ShortName(n.fn.Name, 100))
	var asked string
	switch {
	case n.orphan:
	case n.rows != nil:
		var exit *store.Row
		if n.rows.ended {
			exit = &n.rows.exit
		}
		before, after := w.asked.of(&n.rows.enter, exit)
		asked = w.asked.text(after)
		b.WriteString("(" + before.Short(w.asked.width) + ")")
	default:
		b.WriteByte('(')
		if n.fn.Known() {
			b.WriteString(n.arguments().ShortAfter(argsWidth, up.arguments()))
		}
		b.WriteByte(')')
		writeExtra(&b, " [", n.fn.Watches(n.row()))
	}
	odd := true
	switch {
	case n.end == 0:
		b.WriteString(" …running")
	case n.flags&event.Lost != 0:
		b.WriteString(" → ? (its end was lost)")
	case n.flags&event.AtEnd != 0:
		b.WriteString(" ■ ended in it")
	case n.flags&event.Unwound != 0:
		b.WriteString(" ✗ " + cmp.Or(cut(n.thrown, resultWidth), "unwound"))
	case n.has && n.rows == nil:
		b.WriteString(" → " + n.result.Short(resultWidth))
		odd = false
	default:
		odd = false
	}
	if b.WriteString(asked); n.rows == nil {
		writeExtra(&b, " out [", n.out)
		writeExtra(&b, " [", n.watched)
	}
	if n.flags&event.TailCall != 0 && n.end != 0 {
		b.WriteString(" (tail call)")
	}
	if n.end != 0 {
		b.WriteString("  " + duration(n.ns))
	}
	if odd || depth == 0 || len(n.kids) > 0 || n.of != nil || len(n.variants) > 0 {
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
	notes := w.asked.notes()
	if w.folded > 0 {
		notes = append(notes, "Lines with × fold calls that ended alike; unfold with under, afterEventId or function "+
			"shows each.")
	}
	if !res.HasMore {
		return notes
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
	return append(notes, out+"; go on with "+strings.Join(how, ", ")+".")
}
