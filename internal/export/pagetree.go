package export

import (
	"fmt"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/store"
)

const (
	// argumentRoom is for the arguments of a call, and for its result, in bytes.
	argumentRoom = 400
	// nested levels are elements within each other. Browsers stop at some five hundred, and lines get narrow before.
	nested = 80
	// openLevels are unfolded when the page is opened.
	openLevels = 3
)

// pageTree is what one thread called.
type pageTree struct {
	Thread string
	Calls  []*pageCall
}

// pageCall is a call, or a line of output in one.
type pageCall struct {
	ID                      event.ID
	At                      int64
	Name, Arguments, Result string
	Ended, Place            string
	Span                    int64
	Error, Unfolded         bool
	Notes                   []string
	Level                   int // of what is deeper than nested levels: how deep it is
	Output                  string
	Stderr                  bool
	Calls                   []*pageCall

	open bool      // it has not ended
	up   *pageCall // nil: none
	deep int
}

// Known reports whether the call's time is known.
func (c *pageCall) Known() bool { return !c.open }

// treeMaker puts calls below each other, by their parents.
type treeMaker struct {
	all      []*pageTree
	byThread map[event.ThreadID]*pageTree
	byID     map[event.ID]*pageCall
}

func (t *treeMaker) add(s *session, r *store.Row, c *pageCall) {
	if t.byID == nil {
		t.byID = map[event.ID]*pageCall{}
	}
	t.byID[r.ID] = c
	if up := t.byID[r.Parent]; r.Parent != 0 && up != nil {
		t.below(up, c)
		return
	}
	c.Unfolded = true
	tree := t.byThread[r.Thread]
	if tree == nil {
		tree = &pageTree{Thread: "no thread"}
		if tr, ok := s.track(r.Thread); ok {
			tree.Thread = fmt.Sprintf("%s (thread %d of process %d)", tr.name, tr.TID, tr.PID)
		}
		t.byThread[r.Thread] = tree
		t.all = append(t.all, tree)
	}
	tree.Calls = append(tree.Calls, c)
}

// below puts a call below another; what is deeper than can be nested stands beside that with its level.
func (t *treeMaker) below(up, c *pageCall) {
	c.up, c.deep = up, up.deep+1
	c.Unfolded = c.deep < openLevels
	for up.deep >= nested {
		up = up.up
	}
	if c.deep > nested {
		c.Level = c.deep
	}
	up.Calls = append(up.Calls, c)
}

// output puts a line of output below the call that wrote it, where the tree has that.
func (t *treeMaker) output(r *store.Row) {
	up := t.byID[r.Parent]
	if up == nil {
		return
	}
	text := valid(string(r.Payload[:min(len(r.Payload), argumentRoom)]))
	t.below(up, &pageCall{ID: r.ID, Output: text, Stderr: r.Kind == event.Stderr})
}

// pageOutputLine is a piece of output, as it was written at once.
type pageOutputLine struct {
	At     int64
	ID     event.ID
	Stderr bool
	Text   string
	Gap    string // instead: what is left out here
}

// outputMaker keeps the first and the newest output.
type outputMaker struct {
	first, last          []pageOutputLine
	firstBytes, lastSize int
	events, bytes        int64 // left out between them
}

func (o *outputMaker) add(s *session, r *store.Row) {
	line := pageOutputLine{At: r.TS, ID: r.ID, Stderr: r.Kind == event.Stderr, Text: s.text(r, pageLine)}
	if len(o.last) == 0 && o.firstBytes < pageOutput {
		o.first, o.firstBytes = append(o.first, line), o.firstBytes+len(line.Text)
		return
	}
	o.last, o.lastSize = append(o.last, line), o.lastSize+len(line.Text)
	n := 0
	for n < len(o.last)-1 && (o.lastSize > pageOutput || len(o.last)-n > pageOutput/8) {
		o.lastSize -= len(o.last[n].Text)
		o.bytes += int64(len(o.last[n].Text))
		n++
	}
	o.events += int64(n)
	o.last = o.last[n:]
}

// finish puts both together and returns how many events are shown.
func (o *outputMaker) finish(p *page, r *Report) int64 {
	p.Output = o.first
	if o.events > 0 {
		p.Output = append(p.Output, pageOutputLine{Gap: fmt.Sprintf("… %d outputs of %d bytes …", o.events, o.bytes)})
		note(&r.LeftOut, "outputs", fmt.Sprintf("the page has the first and the last %d KB", pageOutput>>10), o.events)
	}
	p.Output = append(p.Output, o.last...)
	return int64(len(o.first) + len(o.last))
}
