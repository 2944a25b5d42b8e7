package query

import (
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/store"
)

// span is one of a picture, as a page reads it.
type span struct {
	from, to, id    int64
	count, fn, lane uint32
	depth, busy     uint16
}

func unpack(t *testing.T, p *Picture) []span {
	t.Helper()
	if len(p.Spans) != p.Count*spanBytes {
		t.Fatalf("%d spans are %d bytes", p.Count, len(p.Spans))
	}
	all, b := make([]span, p.Count), p.Spans
	float := func() int64 {
		v := math.Float64frombits(binary.LittleEndian.Uint64(b))
		b = b[8:]
		return int64(v)
	}
	long := func() uint32 { v := binary.LittleEndian.Uint32(b); b = b[4:]; return v }
	short := func() uint16 { v := binary.LittleEndian.Uint16(b); b = b[2:]; return v }
	for _, read := range []func(s *span){
		func(s *span) { s.from = float() }, func(s *span) { s.to = float() }, func(s *span) { s.id = float() },
		func(s *span) { s.count = long() }, func(s *span) { s.fn = long() }, func(s *span) { s.lane = long() },
		func(s *span) { s.depth = short() }, func(s *span) { s.busy = short() },
	} {
		for i := range all {
			read(&all[i])
		}
	}
	return all
}

// modelCall is a call of the model with its place.
type modelCall struct {
	enter, exit int // exit -1: open
	depth       int
}

func (m *model) calls() (calls []modelCall) {
	open := map[event.ThreadID][]int{}
	for i, e := range m.events {
		switch e.Kind {
		case event.FunctionEnter:
			open[e.Thread] = append(open[e.Thread], len(calls))
			calls = append(calls, modelCall{i, -1, len(open[e.Thread]) - 1})
		case event.FunctionExit:
			stack := open[e.Thread]
			calls[stack[len(stack)-1]].exit = i
			open[e.Thread] = stack[:len(stack)-1]
		}
	}
	return calls
}

// TestPictures compares pictures of random stretches with what the model knows: every call that is in one is there once,
// by itself at its depth where it is wide enough.
func TestPictures(t *testing.T) {
	m := newModel(t, 17, store.Options{})
	m.grow(40_000)
	m.store(t)
	if err := m.st.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
	calls, rng := m.calls(), rand.New(rand.NewPCG(3, 4))
	wide, added := 0, 0
	for n := range 60 {
		from := rng.Int64N(m.ts)
		req := PictureRequest{From: from, To: from + rng.Int64N(1+(m.ts-from)>>rng.IntN(14)), Buckets: 1 + rng.IntN(2000),
			Levels: 1 + rng.IntN(16)}
		if n%4 == 0 { // drawn from one that is finer
			req.From, req.To = 0, m.ts+rng.Int64N(m.ts)
		}
		if rng.IntN(2) == 0 {
			req.Lanes = []event.ThreadID{event.ThreadID(rng.IntN(4))}
		}
		p, err := DrawPicture(context.Background(), m.st, req)
		if err != nil {
			t.Fatal(err)
		}
		w, a := m.compare(t, calls, req, p)
		wide, added = wide+w, added+a
	}
	if wide < 1000 || added < 1000 {
		t.Errorf("%d calls by themselves and %d added up: the test shows too little", wide, added)
	}
}

// compare compares a picture with the calls of the model, and returns how many are by themselves and added up.
func (m *model) compare(t *testing.T, calls []modelCall, req PictureRequest, p *Picture) (wide, added int) {
	t.Helper()
	type place struct {
		lane  uint32
		depth uint16
	}
	want, got := map[place]int{}, map[place]int{}
	exact := map[int64]span{}
	for _, s := range unpack(t, p) {
		got[place{s.lane, s.depth}] += max(1, int(s.count))
		if s.count < 2 {
			exact[s.id] = s
		} else {
			added++
		}
	}
	width := max(1, float64(req.To-req.From)/float64(req.Buckets))
	for _, c := range calls {
		in := &m.events[c.enter]
		if in.TS > req.To || c.exit >= 0 && m.events[c.exit].TS < req.From || c.depth >= req.Levels ||
			req.Lanes != nil && in.Thread != req.Lanes[0] {
			continue
		}
		want[place{uint32(in.Thread), uint16(c.depth)}]++
		end, id, count := m.ts, in.id, uint32(0)
		if c.exit >= 0 {
			end, id, count = m.events[c.exit].TS, m.events[c.exit].id, 1
		}
		if count == 1 && float64(end-in.TS) < width {
			continue
		}
		wide++
		need := span{in.TS, end, id, count, uint32(in.Func), uint32(in.Thread), uint16(c.depth), math.MaxUint16}
		if exact[id] != need {
			t.Fatalf("picture %+v has %+v, want %+v", req, exact[id], need)
		}
	}
	for at, n := range want {
		if got[at] != n {
			t.Errorf("picture %+v has %d calls on lane %d at depth %d, want %d", req, got[at], at.lane, at.depth, n)
		}
	}
	if len(got) != len(want) {
		t.Errorf("picture %+v has rows %v, want %v", req, got, want)
	}
	var marks, others int64
	for _, mk := range p.Marks {
		marks += mk.Count
	}
	for _, e := range m.events {
		if !e.Kind.IsCall() && e.TS >= req.From && e.TS <= req.To &&
			(req.Lanes == nil || e.Thread == event.NoThread || e.Thread == req.Lanes[0]) {
			others++
		}
	}
	if marks != others {
		t.Errorf("picture %+v has %d marks, want %d", req, marks, others)
	}
	return wide, added
}

// TestLookAt: either end of a call gives both, with the callers, and what it called.
func TestLookAt(t *testing.T) {
	m := newModel(t, 23, store.Options{})
	m.grow(3000)
	m.store(t)
	if err := m.st.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
	for _, c := range m.calls() {
		in := &m.events[c.enter]
		ids := []int64{in.id}
		if c.exit >= 0 {
			ids = append(ids, m.events[c.exit].id)
		}
		for _, id := range ids {
			one, err := LookAt(context.Background(), m.st, id)
			if err != nil {
				t.Fatal(err)
			}
			if one.Enter == nil || one.Enter.ID != in.id || (one.Exit != nil) != (c.exit >= 0) || len(one.Callers) != c.depth {
				t.Fatalf("event %d: %+v, want the call %d at depth %d", id, one, in.id, c.depth)
			}
			below := int64(0)
			for _, e := range m.events {
				if e.Kind == event.FunctionExit && e.parent == in.id {
					below++
				}
			}
			for _, callee := range one.Callees {
				below -= callee.Calls
			}
			if below != 0 {
				t.Fatalf("event %d: %d calls are missing in %+v", id, below, one.Callees)
			}
		}
	}
	if _, err := LookAt(context.Background(), m.st, 1<<40); fault.CodeOf(err) != fault.ValidationError {
		t.Errorf("an event that does not exist: %v", err)
	}
	lanes, err := ListLanes(context.Background(), m.st)
	if err != nil || len(lanes.Lanes) != len(modelThreads) ||
		!slices.IsSortedFunc(lanes.Lanes, func(a, b LaneRow) int { return int(a.PID - b.PID) }) {
		t.Errorf("lanes: %+v, %v", lanes, err)
	}
}

// TestWholeOnce: of those who ask at once for a picture of all, one walks over the events; one that gives up does not
// keep the others.
func TestWholeOnce(t *testing.T) {
	c, ctx := &cache{}, context.Background()
	w, painted, err := c.turn(ctx, 7)
	if w != nil || painted == nil || err != nil {
		t.Fatalf("the first asker: %v, %v", w, err)
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if _, _, err := c.turn(gone, 7); err == nil {
		t.Error("who gives up waits")
	}
	second := make(chan *whole)
	go func() {
		w, done, _ := c.turn(ctx, 7) //nolint:errcheck // it never gives up
		if done != nil {
			done(nil)
		}
		second <- w
	}()
	painted(&whole{lastID: 7})
	if w := <-second; w == nil || w.lastID != 7 {
		t.Errorf("the second asker has %v", w)
	}
	if _, painted, err = c.turn(ctx, 8); painted == nil || err != nil {
		t.Errorf("a newer whole is not made: %v", err)
	}
	painted(nil)
	if _, painted, err = c.turn(ctx, 8); painted == nil || err != nil {
		t.Errorf("where one failed, the next does not try: %v", err)
	}
}
