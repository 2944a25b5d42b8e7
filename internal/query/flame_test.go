package query

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/store"
)

// flamePath is what the model says of one path.
type flamePath struct{ calls, total, self, weight int64 }

// flames merges the model's stacks by itself: by path of names, of one lane or all, in a stretch of time.
func (m *model) flames(from, to int64, lane int, root string, count bool) map[string]flamePath {
	type open struct {
		path       string
		in         int
		took, down int64
	}
	exits := map[int64]*modelEvent{}
	for i := range m.events {
		if e := &m.events[i]; e.Kind == event.FunctionExit {
			exits[e.enter] = e
		}
	}
	out, stacks := map[string]flamePath{}, map[event.ThreadID][]open{}
	add := func(o *open, calls, total, self int64) {
		if o.path == "" {
			return
		}
		p := out[o.path]
		out[o.path] = flamePath{p.calls + calls, p.total + total, p.self + self, p.weight}
		w := self
		if count {
			w = calls
		}
		for at := o.path; at != ""; at = at[:max(0, strings.LastIndex(at, ";"))] {
			p := out[at]
			p.weight += w
			out[at] = p
		}
	}
	for i := range m.events {
		e := &m.events[i]
		if !e.Kind.IsCall() || lane >= 0 && e.Thread != event.ThreadID(lane) {
			continue
		}
		stack := stacks[e.Thread]
		if e.Kind == event.FunctionEnter {
			o := open{in: i}
			if n := len(stack); n > 0 && stack[n-1].path != "" {
				o.path = stack[n-1].path + ";" + modelNames[e.Func]
			} else if root == "" || root == modelNames[e.Func] {
				o.path = modelNames[e.Func]
			}
			if x := exits[e.id]; x != nil {
				o.took = max(0, min(x.TS, to)-max(e.TS, from))
			}
			stacks[e.Thread] = append(stack, o)
			if e.TS > to || exits[e.id] != nil && exits[e.id].TS < from {
				continue
			}
			calls := int64(0)
			if x := exits[e.id]; e.TS >= from || x != nil && x.TS <= to {
				calls = 1
			}
			add(&o, calls, 0, 0)
			continue
		}
		o := stack[len(stack)-1]
		stacks[e.Thread] = stack[:len(stack)-1]
		if n := len(stack) - 1; n > 0 {
			stack[n-1].down += o.took
		}
		if m.events[o.in].TS <= to && e.TS >= from {
			add(&o, 0, o.took, max(0, o.took-o.down))
		}
	}
	return out
}

// paths are a graph's nodes by their paths.
func (f *Flame) paths(s *FlameSide) map[string]flamePath {
	at, out := make([]string, len(f.Parent)), map[string]flamePath{}
	for i := range f.Parent {
		if f.Name[i] < 0 {
			continue
		}
		if at[i] = f.Names[f.Name[i]]; f.Parent[i] > 0 {
			at[i] = at[f.Parent[i]] + ";" + at[i]
		}
		out[at[i]] = flamePath{s.Calls[i], s.Total[i], s.Self[i], s.Weight[i]}
	}
	return out
}

// TestFlame compares flame graphs with what the model knows of every path, and with what view stats says of every
// function.
func TestFlame(t *testing.T) {
	m := newModel(t, 31, store.Options{})
	m.grow(10_000)
	m.store(t)
	if err := m.st.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
	rng, nodes := rand.New(rand.NewPCG(8, 9)), 0
	for n := range 30 {
		req := FlameRequest{By: []string{"time", "count"}[n%2], Nodes: MaxFlameNodes}
		from, to, lane, root := int64(0), m.ts, -1, ""
		if n > 3 {
			from = rng.Int64N(m.ts)
			to = from + 1 + rng.Int64N(1+(m.ts-from)>>rng.IntN(8))
			req.Filter.TimeFrom, req.Filter.TimeTo = Moment(fmt.Sprint(from)), Moment(fmt.Sprint(to))
		}
		if n%3 == 1 {
			lane = rng.IntN(len(modelThreads))
			tid := int64(modelThreads[lane].TID)
			req.Filter.ThreadID = &tid
		}
		if n%5 == 2 {
			root = modelNames[rng.IntN(numFuncs)]
			req.Filter.Function = &NameFilter{Equals: root}
		}
		got, err := DrawFlame(context.Background(), m.st, req)
		if err != nil {
			t.Fatal(err)
		}
		if got.Nodes != len(got.Parent) {
			t.Fatalf("%d nodes of %d; the model is too large for this test", len(got.Parent), got.Nodes)
		}
		want, have := m.flames(from, min(to, m.ts), lane, root, n%2 == 1), got.paths(&got.A)
		for path, w := range want {
			if have[path] != w {
				t.Fatalf("request %d, %d to %d, lane %d: %s is %+v, want %+v", n, from, to, lane, path, have[path], w)
			}
		}
		if len(want) != len(have) {
			t.Errorf("request %d: %d paths, want %d", n, len(have), len(want))
		}
		nodes += len(want)
		m.compareStats(t, n, &req, got, n <= 3)
	}
	if nodes < 5_000 {
		t.Errorf("%d paths: the test shows too little", nodes)
	}
}

// compareStats compares what a graph says of functions with view stats: calls always, times of the whole session alone,
// for stats takes a call's whole time to its end.
func (m *model) compareStats(t *testing.T, n int, req *FlameRequest, got *Flame, times bool) {
	t.Helper()
	q := req.Filter
	q.View, q.Limit = "stats", MaxLimit
	if q.Function != nil {
		q.Function = nil
		if req.Filter.ThreadID != nil || !times { // what is below it is of others, too
			return
		}
	}
	stats := map[string]Stat{}
	for _, s := range ask1(t, m.st, q).Rows {
		stats[s.Function] = s
	}
	for _, f := range got.Functions {
		s := stats[f.Function]
		if req.Filter.Function != nil && f.Function != req.Filter.Function.Equals {
			continue
		}
		if f.Calls != s.Calls || times && (f.TotalNs != s.TotalNs || f.SelfNs != s.SelfNs) {
			t.Errorf("request %d: %+v, stats have %+v", n, f, s)
		}
		delete(stats, f.Function)
	}
	if req.Filter.Function == nil && len(stats) > 0 {
		t.Errorf("request %d: lacks %v", n, stats)
	}
}

// TestFlameBounded: a graph of few nodes has the largest ones, says how many there are, keeps its sums, and goes on from
// one that is zoomed to.
func TestFlameBounded(t *testing.T) {
	m := newModel(t, 37, store.Options{})
	m.grow(20_000)
	m.store(t)
	if err := m.st.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	whole, err := DrawFlame(ctx, m.st, FlameRequest{By: "count", Nodes: MaxFlameNodes})
	if err != nil {
		t.Fatal(err)
	}
	few, err := DrawFlame(ctx, m.st, FlameRequest{By: "count", Nodes: 50})
	if err != nil {
		t.Fatal(err)
	}
	if len(few.Parent) != 50 || few.Nodes != whole.Nodes || few.A.All != whole.A.All {
		t.Errorf("50 nodes are %d, of %d: want them of %d", len(few.Parent), few.Nodes, whole.Nodes)
	}
	sorted := slices.Sorted(slices.Values(whole.A.Weight))
	if least := slices.Min(few.A.Weight); least != sorted[len(sorted)-50] {
		t.Errorf("the smallest of 50 weighs %d, want %d", least, sorted[len(sorted)-50])
	}
	all := whole.paths(&whole.A)
	for path, p := range few.paths(&few.A) {
		if all[path] != p {
			t.Errorf("%s is %+v among few, %+v among all", path, p, all[path])
		}
		zoomed, err := DrawFlame(ctx, m.st, FlameRequest{By: "count", Nodes: 50, Path: strings.Split(path, ";")})
		if err != nil || zoomed.A.Weight[0] != p.weight || zoomed.A.All != whole.A.All {
			t.Errorf("zoomed to %s: %+v, %v", path, zoomed, err)
		}
	}
	_, err = DrawFlame(ctx, m.st, FlameRequest{By: "count", Nodes: 50, Path: []string{"app::add", "none"}})
	if fault.CodeOf(err) != fault.ValidationError {
		t.Errorf("a path that is not there: %v", err)
	}
	_, err = DrawFlame(ctx, m.st, FlameRequest{By: "time", Nodes: 50, Filter: Request{Channel: "stdout"}})
	if fault.CodeOf(err) != fault.ValidationError {
		t.Errorf("a filter that selects no threads: %v", err)
	}
}

// TestFlameOfTwo: what two sessions did stands side by side, with what only one of them did.
func TestFlameOfTwo(t *testing.T) {
	var models [2]*model
	for i := range models {
		models[i] = newModel(t, uint64(41+i), store.Options{})
		models[i].grow(6000)
		models[i].store(t)
		if err := models[i].st.Flush(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	req := FlameRequest{By: "time", Nodes: MaxFlameNodes, Against: models[1].st}
	got, err := DrawFlame(context.Background(), models[0].st, req)
	if err != nil {
		t.Fatal(err)
	}
	alone := 0
	for i, side := range []*FlameSide{&got.A, got.B} {
		want, have := models[i].flames(0, models[i].ts, -1, "", false), got.paths(side)
		for path, p := range have {
			if want[path] != p {
				t.Fatalf("session %d: %s is %+v, want %+v", i, path, p, want[path])
			}
			if p == (flamePath{}) {
				alone++
			}
			delete(want, path)
		}
		if len(want) > 0 {
			t.Errorf("session %d lacks %d paths", i, len(want))
		}
	}
	if alone == 0 {
		t.Error("no path is of one session alone: the test shows too little")
	}
	apart := func(f FlameSum) int64 { return max(f.SelfNs-f.SelfNsB, f.SelfNsB-f.SelfNs) }
	if !slices.IsSortedFunc(got.Functions, func(x, y FlameSum) int { return int(apart(y) - apart(x)) }) {
		t.Errorf("the list is not sorted by what differs: %+v", got.Functions)
	}
}
