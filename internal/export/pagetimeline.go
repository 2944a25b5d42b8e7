package export

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/sorting"
	"github.com/strobe-debug/strobe/internal/store"
)

// Bounds and measures of a timeline. Times are in parts of its width, so that what is drawn is bounded whatever the
// session's length.
const (
	timelineWidth   = 1200
	timelineThreads = 40
	timelineDepth   = 12
	timelineRow     = 14
	timelineTop     = 16
	timelineRects   = 60_000 // of all threads together: with many of them the parts are wider
	timelineTicks   = 4
)

// timeline is a picture of all calls: a band for each thread, a row of it for each depth.
type timeline struct {
	Width, Height int
	Threads       []*band
	More          int // threads that have no band
	Deeper        int64
	Marks         []mark // times below

	from, to int64
	part     float64 // width of the narrowest call that is drawn alone
	byThread map[event.ThreadID]*band
}

type mark struct {
	X    float64
	Text string
}

// band is one thread.
type band struct {
	Name    string
	Y       int
	Height  int
	Rects   []rect
	Outputs []tick
	Crashes []float64

	rows  int
	run   [timelineDepth]rect // narrow calls that are one rectangle, by depth; Calls 0: none
	ticks map[[2]int]bool
}

type tick struct {
	X      float64
	Stderr bool
}

// rect is a call, or several that are too short to be drawn alone.
type rect struct {
	X, W   float64
	Y      int
	Title  string
	Label  string
	Colour int // of 8, by the function's name; 8: several calls
	Error  bool
	Calls  int64
}

// newTimeline chooses the threads that did most.
//
// It begins with the first call, if there is one: a program that starts slowly is not drawn until then.
func newTimeline(s *session, lanes []store.Lane, firstCall int64) *timeline {
	t := &timeline{Width: timelineWidth, to: s.lastTS, from: s.lastTS, byThread: map[event.ThreadID]*band{}}
	sorting.By(lanes, func(a, b store.Lane) int {
		return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(b.Events, a.Events))
	})
	t.More = max(len(lanes)-timelineThreads, 0)
	lanes = lanes[:min(len(lanes), timelineThreads)]
	sorting.By(lanes, func(a, b store.Lane) int { return cmp.Compare(a.Thread, b.Thread) })
	for _, l := range lanes {
		tr, ok := s.track(l.Thread)
		if !ok {
			continue
		}
		b := &band{Name: fmt.Sprintf("%s (thread %d of process %d)", tr.name, tr.TID, tr.PID), ticks: map[[2]int]bool{}}
		t.byThread[l.Thread] = b
		t.Threads = append(t.Threads, b)
		t.from = min(t.from, l.From)
	}
	t.from = max(t.from, firstCall)
	t.part = max(1, float64(len(t.Threads)*timelineDepth*timelineWidth)/timelineRects)
	return t
}

func (t *timeline) x(ts int64) float64 {
	if t.to <= t.from {
		return 0
	}
	x := float64(timelineWidth) * float64(ts-t.from) / float64(t.to-t.from)
	return min(max(x, 0), timelineWidth)
}

// call draws a call. Of one thread and depth they come in the order of time.
func (t *timeline) call(id event.ThreadID, depth int, start, end int64, name string, flags event.Flags) {
	b := t.byThread[id]
	if b == nil {
		return
	}
	if depth >= timelineDepth {
		t.Deeper++
		return
	}
	b.rows = max(b.rows, depth+1)
	failed := flags&event.Unwound != 0 && flags&event.AtEnd == 0
	x, w := t.x(start), t.x(end)-t.x(start)
	run := &b.run[depth]
	if w >= t.part {
		b.flush(depth)
		r := rect{X: x, W: w, Y: depth, Colour: colour(name), Error: failed, Calls: 1}
		r.Title = fmt.Sprintf("%s: %s at %s", valid(name), span(end-start), at(start))
		if fit := int(w / 7); fit >= 3 {
			r.Label = event.ShortName(valid(name), fit)
		}
		b.Rects = append(b.Rects, r)
		return
	}
	if run.Calls > 0 && x-(run.X+run.W) > t.part/2 {
		b.flush(depth)
	}
	if run.Calls == 0 {
		*run = rect{X: x, Y: depth}
		run.Title = valid(name)
	}
	run.W = max(run.W, x+w-run.X)
	run.Error = run.Error || failed
	run.Calls++
}

// flush draws the narrow calls that are one rectangle.
func (b *band) flush(depth int) {
	run := &b.run[depth]
	if run.Calls == 0 {
		return
	}
	r := *run
	r.Colour, r.Title = colour(r.Title), r.Title+", too short to be drawn to scale"
	if r.Calls > 1 {
		r.Colour, r.Title = colours, fmt.Sprintf("%d calls", r.Calls)
	}
	r.W = max(r.W, 0.5)
	b.Rects = append(b.Rects, r)
	run.Calls = 0
}

// colours are those of single calls.
const colours = 8

func colour(name string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name)) // a hash never fails
	return int(h.Sum32() % colours)
}

// output marks where something was written, once in each part.
func (t *timeline) output(r *store.Row) {
	b := t.byThread[r.Thread]
	if b == nil {
		return
	}
	x := t.x(r.TS)
	key := [2]int{int(x), 0}
	if r.Kind == event.Stderr {
		key[1] = 1
	}
	if !b.ticks[key] {
		b.ticks[key] = true
		b.Outputs = append(b.Outputs, tick{x, r.Kind == event.Stderr})
	}
}

func (t *timeline) crash(r *store.Row) {
	if b := t.byThread[r.Thread]; b != nil && len(b.Crashes) < pageCrashes {
		b.Crashes = append(b.Crashes, t.x(r.TS))
	}
}

// finish gives everything its place.
func (t *timeline) finish() {
	for _, b := range t.Threads {
		for depth := range b.run {
			b.flush(depth)
		}
	}
	t.More += len(t.Threads)
	t.Threads = slices.DeleteFunc(t.Threads, func(b *band) bool {
		return len(b.Rects)+len(b.Outputs)+len(b.Crashes) == 0
	})
	t.More -= len(t.Threads)
	y := 0
	for _, b := range t.Threads {
		b.Y, b.Height = y+timelineTop, max(b.rows, 1)*timelineRow
		for i := range b.Rects {
			b.Rects[i].Y = b.Y + b.Rects[i].Y*timelineRow
		}
		y = b.Y + b.Height + timelineRow/2
	}
	t.Height = y + timelineTop
	for i := range timelineTicks + 1 {
		ts := t.from + (t.to-t.from)*int64(i)/timelineTicks
		t.Marks = append(t.Marks, mark{t.x(ts), at(ts)})
	}
}
