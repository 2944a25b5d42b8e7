package query

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/record"
	"github.com/strobe-debug/strobe/internal/store"
)

// Bounds of view tree.
const (
	maxTreeEvents = 500_000 // read for one answer: folding can make few lines of many events
	minTreeEvents = 20_000  // of which each section may read so many at least
	maxTreeRoots  = 1000    // selected calls that are looked up one by one
	treeSlack     = 4       // lines kept before folding, as a multiple of those wanted
	maxIndent     = 32      // deeper lines say their depth instead
	argsWidth     = 120     // bytes of a call's arguments
	resultWidth   = 80
	lineText      = 160 // bytes of output in a line
)

// tree is view tree: one tree per thread, folded where it repeats, in limit lines.
func (a *asker) tree(parts []part, res *Result) (notes []string, err error) {
	if len(parts) == 0 {
		return nil, nil
	}
	roots, beyond, err := a.selected(parts)
	if err != nil {
		return nil, err
	}
	sections, others, err := a.sections(parts, roots)
	if err != nil {
		return nil, err
	}
	w := &treeWriter{a: a, hidden: beyond, stopped: beyond > 0, limit: a.budget()}
	if w.asked, err = a.askedFields(); err != nil {
		return nil, err
	}
	byLines := len(sections) > 1 || roots != nil || a.req.Offset > 0 // else the cursor goes on
	if byLines {
		w.limit = maxAnswer
	}
	res.TotalCount = beyond
	var unplaced []string
	left, home, unread := a.req.Limit, -1, maxTreeEvents
	if !others {
		home = a.outputHome(sections)
	}
	for i, s := range sections {
		res.TotalCount += s.calls
		budget := left / (len(sections) - i)
		if left < minSection && i > 0 {
			w.unshown++
			w.hidden += s.calls
			continue
		}
		b := &builder{a: a, thread: s.thread, limit: max(budget, min(left, minSection)), orphans: i == home,
			compare: maxComparedCalls,
			most:    max(unread/(len(sections)-i), minTreeEvents)}
		b.each = s.roots != nil && 2*len(s.roots) <= b.limit
		if err := b.build(s); err != nil {
			return nil, err
		}
		unread -= b.events
		left -= w.section(s, b, len(sections) > 1)
	}
	res.Tree, res.HasMore = w.b.String(), w.hidden > 0 || w.unshown > 0 || w.stopped
	if res.HasMore && len(sections) == 1 && roots == nil {
		if res.LastEventID = w.last; w.before > 0 {
			res.LastEventID = min(w.last, w.before-1)
		}
	}
	if len(sections) > 1 && !others && home < 0 {
		if unplaced, err = a.unplaced(sections); err != nil {
			return nil, err
		}
	}
	if more := w.notes(res, sections, roots != nil, a.req.Limit); byLines {
		res.Tree, notes = a.linesOf(res, res.Tree, a.budget())
		notes = append(notes, more...)
	} else {
		notes = more
	}
	notes = append(notes, unplaced...)
	odd, err := a.oddRest(parts, res)
	return append(notes, odd...), err
}

// outputHome returns the section that shows output of unknown threads: the only one, or, where there is but one
// process, its main thread's; -1 for none.
func (a *asker) outputHome(sections []section) int {
	if len(sections) == 1 {
		return 0
	}
	home := -1
	for _, t := range a.threads {
		if t.PID != a.threads[0].PID {
			return -1
		}
	}
	for i, s := range sections {
		if t := a.thread(s.thread); t.TID == t.PID {
			home = i
		}
	}
	return home
}

// unplaced says that there is output which no tree can show, because its thread is not known.
func (a *asker) unplaced(sections []section) ([]string, error) {
	f := sections[0].filter
	f.Threads = nil
	if f.Kinds &= otherKinds; f.Kinds == 0 {
		return nil, nil
	}
	n, err := a.count([]part{{filter: f, pred: func(row *store.Row) bool { return a.thread(row.Thread).TID == 0 }}})
	if err != nil || n == 0 {
		return nil, err
	}
	return []string{fmt.Sprintf("%d events such as output belong to no known thread and are not in the trees: view "+
		"events shows them.", n)}, nil
}

// minSection is the least that a thread's tree gets, so that many threads do not leave one line each.
const minSection = 6

// section is one thread's part of the tree.
type section struct {
	thread event.ThreadID
	lanes  []event.ThreadID // of calls that the thread leaves and comes back to, in its tree
	filter store.Filter     // what to read, but of this thread with its lanes: see of
	roots  []store.Row      // selected calls, if calls are selected; else everything in filter
	calls  int64            // in the filter, or selected
}

// selected returns the enters of the calls that filters select, nil when everything is shown, and how many more
// there are beyond the bound.
func (a *asker) selected(parts []part) (rows []store.Row, beyond int64, err error) {
	r := &a.req
	if r.Function == nil && r.SourceFile == nil && a.ret == nil && a.arg == nil && r.MinDurationNs == 0 &&
		r.MaxDurationNs == 0 {
		return nil, 0, nil
	}
	ids := []event.ID{}
	for _, p := range parts {
		if p.filter.Kinds&(1<<event.FunctionEnter) != 0 {
			p.filter.Kinds = 1 << event.FunctionEnter
			p = p.leanly()
		} else {
			p.filter.Kinds, p.cold = 1<<event.FunctionExit, true
		}
		n := 0
		err := a.scan(p, func(row *store.Row) bool {
			id := row.ID
			if row.Kind == event.FunctionExit {
				id = row.Enter
			}
			if id != 0 {
				ids = append(ids, id)
				n++
			}
			return n < maxTreeEvents
		})
		if err != nil {
			return nil, 0, err
		}
	}
	slices.Sort(ids)
	first := ids[:min(len(ids), maxTreeRoots)]
	if rows, err = a.sn.Rows(a.ctx, first); err != nil {
		return nil, 0, fmt.Errorf("read selected calls: %w", err)
	}
	if rows == nil {
		rows = []store.Row{}
	}
	return rows, int64(len(ids) - len(first)), nil
}

// builder makes one section's nodes.
type builder struct {
	a        *asker
	limit    int
	orphans  bool // output of unknown threads is shown here too
	root     node
	thread   event.ThreadID
	open     record.Stack[*node]                     // calls of the thread itself
	lanes    map[event.ThreadID]*record.Stack[*node] // calls of its lanes; nil: there are none
	calls    map[event.ID]*node                      // with lanes: all that are open
	selected event.ID                                // with begun: the call that is read
	begun    map[event.ID]bool                       // with lanes and selected calls: those that are in the tree
	lines    int
	events   int
	most     int  // events to read
	stopped  bool // there is more than was read
	skipped  int64
	each     bool     // calls that were selected are not folded: there are few
	madeIn   event.ID // call of another thread in which this one was made
	compare  int      // folded calls whose arguments may still be read
}

func (b *builder) build(s section) error {
	s.filter = s.of()
	if s.lanes != nil {
		b.lanes, b.calls = map[event.ThreadID]*record.Stack[*node]{}, map[event.ID]*node{}
		if s.roots != nil {
			b.begun = map[event.ID]bool{}
		}
		for _, id := range s.lanes {
			b.lanes[id] = &record.Stack[*node]{}
		}
	}
	if s.roots == nil {
		if err := b.read(s.filter); err != nil {
			return err
		}
		return b.finish(b.stopped || s.filter.ToID != 0 || s.filter.ToTS != 0)
	}
	var end event.ID
	for i := range s.roots {
		r := &s.roots[i]
		if s.lanes == nil && r.ID <= end || b.begun[r.ID] { // below a selected call already
			continue
		}
		b.selected = r.ID
		if b.lines > b.limit || b.stopped {
			b.stopped = true
			b.skipped = int64(len(s.roots) - i)
			return nil
		}
		f := s.filter
		f.FromTS, f.ToTS, f.FromID, f.ToID = 0, 0, r.ID, 0
		exit, err := b.a.exitOf(r)
		if err != nil {
			return err
		}
		if exit != nil {
			f.ToID = exit.ID
			end = exit.ID
		} else {
			end = b.a.sn.LastID()
		}
		if err := b.read(f); err != nil {
			return err
		}
		if err := b.finish(b.stopped); err != nil {
			return err
		}
	}
	return nil
}

// read adds the events of one thread in f.
func (b *builder) read(f store.Filter) error {
	mine := f.Threads
	p := part{filter: f, cold: true}
	if b.orphans && f.Kinds&otherKinds != 0 {
		p.filter.Threads = nil
		p.pred = func(row *store.Row) bool {
			return row.Thread == event.NoThread || mine.Has(uint32(row.Thread)) ||
				!row.Kind.IsCall() && b.a.thread(row.Thread).TID == 0
		}
	}
	return b.a.scan(p, func(row *store.Row) bool {
		if b.events++; b.events > b.most || b.lines > treeSlack*b.limit {
			b.stopped = true
			return false
		}
		b.event(row)
		return true
	})
}

func (b *builder) event(row *store.Row) {
	open := &b.open
	if lane := b.lanes[row.Thread]; lane != nil {
		open = lane
	}
	switch row.Kind {
	case event.FunctionEnter:
		n := &node{id: row.ID, last: row.ID, fn: b.a.fn(row.Func), flags: row.Flags, enter: slices.Clone(row.Payload)}
		if len(b.a.req.Fields) > 0 {
			n.rows = &callRows{enter: keepRow(row)}
		}
		if b.lanes != nil && !b.begins(n, open, row) {
			return
		}
		if row.Depth == 0 && b.lanes == nil {
			b.madeIn = row.Parent
		}
		b.lines++
		open.Begin(row.ID, n)
	case event.FunctionExit:
		left := func(n *node) { b.place(n, open) }
		if n := open.End(row.Enter, left); n != nil {
			b.leave(*n, row)
			b.place(*n, open)
			return
		}
		if b.begun != nil {
			return // of a call that runs beside
		}
		b.lines++
		end := &node{id: row.ID, orphan: true, fn: b.a.fn(row.Func)}
		b.leave(end, row)
		b.place(end, open)
	default:
		if b.begun != nil && b.calls[row.Parent] == nil && row.Parent != 0 {
			return
		}
		b.lines++
		b.place(&node{id: row.ID, last: row.ID, text: b.a.other(row), up: b.calls[row.Parent]}, open)
	}
}

// leave records how a call ended.
func (b *builder) leave(n *node, row *store.Row) {
	n.end, n.last, n.ns = row.ID, row.ID, row.Duration
	n.flags |= row.Flags
	n.result, n.has = n.fn.Result(row)
	n.thrown, _ = n.fn.Thrown(row)
	n.out, n.watched = n.fn.Out(row), n.fn.Watches(row)
	if n.rows != nil {
		n.rows.exit = keepRow(row)
		n.rows.ended = true
	}
}

// callRows are a call's events, for what is asked of it.
type callRows struct {
	enter, exit store.Row
	ended       bool
}

// place puts a finished node below the innermost open one of its stack, or below the call that it is a lane of.
func (b *builder) place(n *node, open *record.Stack[*node]) {
	if b.lanes != nil {
		b.flush(n)
		delete(b.calls, n.id)
	}
	n.seal()
	parent := &b.root
	switch up := open.Top(); {
	case up != nil:
		parent = *up
	case n.up != nil && !n.up.over:
		parent = n.up
	}
	n.over = true
	if b.lanes == nil {
		b.put(parent, n)
		return
	}
	b.inOrder(parent, n)
}

// put is the end of place.
func (b *builder) put(parent, n *node) {
	parent.last = max(parent.last, n.last)
	if b.a.req.Unfold || parent == &b.root && b.each {
		parent.kids = append(parent.kids, n)
		return
	}
	if !b.made(parent, n) {
		b.lines += parent.add(n, &b.compare)
	}
}

// finish closes what is open. Where reading ended early, how those calls ended is looked up.
func (b *builder) finish(lookUp bool) error {
	stacks := []*record.Stack[*node]{&b.open}
	for _, s := range b.lanes {
		stacks = append(stacks, s)
	}
	var exits map[event.ID]*store.Row
	if lookUp {
		var ids []event.ID
		for _, s := range stacks {
			for _, n := range s.Open() {
				ids = append(ids, n.id)
			}
		}
		slices.Sort(ids)
		rows, err := b.a.sn.Rows(b.a.ctx, ids)
		if err != nil {
			return fmt.Errorf("read %d calls that had not ended: %w", len(ids), err)
		}
		if exits, err = b.a.calls.Exits(b.a.ctx, rows); err != nil {
			return err
		}
	}
	for {
		var open *record.Stack[*node]
		for _, s := range stacks { // those that began last first: a lane's before whoever it is below
			if top := s.Top(); top != nil && (open == nil || (*top).id > (*open.Top()).id) {
				open = s
			}
		}
		if open == nil {
			b.flush(&b.root)
			return nil
		}
		n := *open.Pop()
		if exit := exits[n.id]; exit != nil {
			last := n.last
			b.leave(n, exit)
			n.last = last
		}
		b.place(n, open)
	}
}

// other is the line of an event that is no call.
func (a *asker) other(row *store.Row) string {
	e := a.render(row)
	kind := row.Kind.String()
	if e.Channel != "" {
		if line := goLine(e.Channel, row.Payload); line != "" {
			return line
		}
		kind = e.Channel + " " + e.Stream
	}
	switch {
	case e.Text != nil && e.Encoding == "":
		return kind + ": " + quote(*e.Text)
	case e.Encoding != "":
		return fmt.Sprintf("%s: %d bytes, not text", kind, len(row.Payload))
	case row.Kind == event.Exception:
		if line := exceptionLine(row.Payload); line != "" {
			return line
		}
	case row.Kind == event.Dropped:
		var loss struct {
			Count int64 `json:"count"`
		}
		if json.Unmarshal(row.Payload, &loss) == nil {
			return fmt.Sprintf("dropped: %d events lost here", loss.Count)
		}
	}
	var parts []string
	for _, m := range e.Data {
		v := string(m.Value)
		if len(v) > 60 {
			continue
		}
		parts = append(parts, m.Name+"="+v)
	}
	return kind + ": " + cut(strings.Join(parts, " "), lineText)
}

// quote shows text in one line.
func quote(s string) string {
	b, err := encode(cut(s, lineText))
	if err != nil {
		return "…"
	}
	return string(b)
}
