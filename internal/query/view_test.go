package query

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/store"
	"github.com/strobe-debug/strobe/internal/value"
)

// script is a session written by hand: one call per line.
type script struct {
	*model
	th event.ThreadID
}

func newScript(t testing.TB) *script {
	m := newModel(t, 7, store.Options{})
	return &script{model: m}
}

// at appends an event 1 µs after the last.
func (s *script) at(e modelEvent) {
	s.ts += 1000
	e.TS, e.Thread, e.id = s.ts, s.th, int64(len(s.events)+1)
	s.events = append(s.events, e)
}

func (s *script) call(fn event.FuncID, args ...uint64) {
	s.at(modelEvent{Event: event.Event{Kind: event.FunctionEnter, Func: fn, Payload: le(args...)}})
}

func (s *script) ret(fn event.FuncID, ret int64) {
	s.at(modelEvent{Event: event.Event{Kind: event.FunctionExit, Func: fn, Ret: ret, Flags: event.HasRet}})
}

func (s *script) end(fn event.FuncID, flags event.Flags) {
	s.at(modelEvent{Event: event.Event{Kind: event.FunctionExit, Func: fn, Flags: flags}})
}

func (s *script) print(text string) {
	s.at(modelEvent{Event: event.Event{Kind: event.Stdout, Payload: []byte(text)}})
}

// orders is a session with loops, an odd result among many, an exception, output and a call that still runs.
func orders(t testing.TB) *script {
	s := newScript(t)
	s.call(fnVoid)
	for i := range 40 {
		s.call(fnAdd, uint64(i), 1)
		s.call(fnOK, uint64(i))
		s.ret(fnOK, 1)
		if i == 30 {
			s.ret(fnAdd, -1)
		} else {
			s.ret(fnAdd, 0)
		}
	}
	s.print("total: 39\n")
	for i := range 3 {
		s.call(fnHash, uint64(i))
		s.ret(fnHash, int64(i+1))
	}
	s.call(fnName, 0x8000, 0x8000, 3|value.WalkText<<32|1<<48, 0x636261)
	s.call(fnColour, 2)
	s.end(fnColour, event.Unwound)
	s.at(modelEvent{Event: event.Event{Kind: event.Exception,
		Payload: []byte(`{"exceptionType":"std::runtime_error","message":"bad"}`)}})
	s.end(fnName, event.Unwound)
	s.call(fnColour, 2)
	s.ret(fnColour, 2)
	s.call(fnGone)
	s.end(fnGone, 0)
	s.call(fnMove, 0x7f00, 0x7f00, 16|walkOfPoint<<32|1<<48, 1|7<<32, 8|9<<32)
	s.th = 1
	s.call(fnRaw)
	s.ret(fnRaw, 3)
	s.store(t)
	return s
}

// TestFieldsOfEvents: where fields are asked for, events have those values and no others.
func TestFieldsOfEvents(t *testing.T) {
	s := sums(t)
	for name, c := range map[string]struct {
		req  Request
		want string // of the first two events
	}{
		"paths":    {Request{Fields: []string{"b", "result"}}, `{"b":1} {"result":0}`},
		"computed": {Request{Fields: []string{"a * 10 + b"}}, `{"a * 10 + b":1} null`},
		"verbose":  {Request{Fields: []string{"b"}, Verbose: true}, `{"b":1} null`},
	} {
		res := ask1(t, s.st, c.req)
		var got []string
		for _, e := range res.Events[:2] {
			if e.Arguments != nil || e.ReturnValue != nil || e.WatchValues != nil {
				t.Errorf("%s: event %d has more than was asked for: %+v", name, e.ID, e)
			}
			if b := e.Fields.AppendJSON(nil); len(e.Fields) > 0 {
				got = append(got, string(b))
			} else {
				got = append(got, "null")
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %v, want %s", name, got, c.want)
		}
	}
	if res := ask1(t, s.st, Request{Fields: []string{"b.c"}, Limit: 5}); !strings.Contains(res.Hint, "No call that is shown has b.c") {
		t.Errorf("nothing is said of a field that no call has: %q", res.Hint)
	}
	if _, err := compile(Request{View: "stats", Fields: []string{"b"}}); err == nil {
		t.Error("fields of a view that has none are ignored")
	}
}

func TestTree(t *testing.T) {
	s := orders(t)
	for name, req := range map[string]Request{
		"all":        {},
		"one":        {ThreadID: new(int64(100))},
		"short":      {ThreadID: new(int64(100)), Limit: 4},
		"under":      {Under: 1, Limit: 6},
		"under_leaf": {Under: 3},
		"function":   {Function: &NameFilter{Equals: "app::add"}},
		"result":     {ReturnValue: &ValueFilter{Equals: "-1"}},
		"argument":   {Argument: &ArgumentFilter{Name: "s", ValueFilter: ValueFilter{Equals: `"abc"`}}},
		"calls":      {EventType: Kinds{"function_enter"}, ThreadID: new(int64(100))},
		"cursor":     {AfterEventID: new(int64(150)), ThreadID: new(int64(100))},
		"nothing":    {Function: &NameFilter{Contains: "ad_d"}},
		"fields":     {ThreadID: new(int64(100)), Fields: []string{"s", "a + b", "result", "result - a", "x.y"}},
	} {
		t.Run(name, func(t *testing.T) {
			req.View = "tree"
			res := ask1(t, s.st, req)
			golden(t, "tree_"+name+".golden", fmt.Sprintf("%stotal %d, more %v, last %d\nhint: %s\n", res.Tree, res.TotalCount,
				res.HasMore, res.LastEventID, res.Hint))
		})
	}
}

func TestStats(t *testing.T) {
	s := orders(t)
	for name, req := range map[string]Request{
		"all":      {},
		"function": {Function: &NameFilter{Contains: "app::"}},
		"thread":   {ThreadID: new(int64(100))},
		"limit":    {Limit: 2},
		"result":   {ReturnValue: &ValueFilter{GreaterThan: "0"}},
		"time":     {TimeFrom: "-20us"},
	} {
		t.Run(name, func(t *testing.T) {
			req.View = "stats"
			res := ask1(t, s.st, req)
			golden(t, "stats_"+name+".golden", fmt.Sprintf("%stotal %d, more %v\nhint: %s\n", res.Stats, res.TotalCount,
				res.HasMore, res.Hint))
		})
	}
}

// TestStatsAgainstBruteForce compares both ways of counting with the model.
func TestStatsAgainstBruteForce(t *testing.T) {
	m := newModel(t, 3, store.Options{MaxEvents: 1 << 40})
	m.grow(30000)
	m.store(t)
	for _, scan := range []bool{false, true} {
		req := Request{View: "stats"}
		if scan {
			req.TimeTo = Moment(fmt.Sprint(m.ts + 1))
		}
		res := ask1(t, m.st, req)
		want := map[string]*Stat{}
		below := map[int64]int64{}
		for i := range m.events {
			e := &m.events[i]
			if !e.Kind.IsCall() {
				continue
			}
			s := want[modelNames[e.Func]]
			if s == nil {
				s = &Stat{}
				want[modelNames[e.Func]] = s
			}
			if e.Kind == event.FunctionEnter {
				s.Calls++
				continue
			}
			s.TotalNs += e.ns
			s.SelfNs += e.ns - below[e.enter]
			below[e.parent] += e.ns
			if e.Flags&event.Unwound != 0 {
				s.Errors++
			}
		}
		if len(res.Rows) != len(want) {
			t.Fatalf("scan %v: %d rows, want %d", scan, len(res.Rows), len(want))
		}
		for _, r := range res.Rows {
			w := want[r.Function]
			if r.Calls != w.Calls || r.TotalNs != w.TotalNs || r.SelfNs != w.SelfNs || r.Errors != w.Errors {
				t.Errorf("scan %v: %+v, want %+v", scan, r, *w)
			}
		}
	}
}

// TestTreePages: a tree never has more lines than asked for, and its cursor leads through the whole thread.
func TestTreePages(t *testing.T) {
	m := newModel(t, 5, store.Options{MaxEvents: 1 << 40})
	m.grow(4000)
	m.store(t)
	for _, th := range modelThreads {
		tid, after := int64(th.TID), int64(0)
		for {
			res := ask1(t, m.st, Request{View: "tree", ThreadID: &tid, Limit: 100, AfterEventID: &after})
			if lines := strings.Count(res.Tree, "\n"); lines > 101 {
				t.Fatalf("%d lines, want 100", lines)
			}
			if !res.HasMore {
				break
			}
			if res.LastEventID <= after {
				t.Fatalf("the cursor does not move: %d after %d", res.LastEventID, after)
			}
			after = res.LastEventID
		}
	}
}

func TestFoldSurvivesMillions(t *testing.T) {
	s := newScript(t)
	s.call(fnVoid)
	for i := range 50000 {
		s.call(fnAdd, uint64(i), 1)
		s.ret(fnAdd, int64(i))
	}
	s.end(fnVoid, 0)
	s.store(t)
	res := ask1(t, s.st, Request{View: "tree"})
	if !regexp.MustCompile(`×49998 more like #4 \(total 50ms, a=2\.\.49999, results 2\.\.49999\)`).MatchString(res.Tree) ||
		strings.Count(res.Tree, "\n") > 5 {
		t.Errorf("tree:\n%s\n%s", res.Tree, res.Hint)
	}
}

func TestDuration(t *testing.T) {
	for ns, want := range map[int64]string{
		0: "0ns", 999: "999ns", 1000: "1µs", 1234: "1.23µs", 12345: "12.3µs", 123456: "123µs", 999_499: "999µs",
		999_999: "1ms", 1_500_000: "1.5ms", 61_000_000_000: "61s",
	} {
		if got := duration(ns); got != want {
			t.Errorf("duration(%d) = %q, want %q", ns, got, want)
		}
	}
}

func TestHistogram(t *testing.T) {
	var h histogram
	for i := range int64(100000) {
		h.add(i * 17)
	}
	for _, q := range []float64{0.01, 0.5, 0.99} {
		want := q * 1_700_000
		if got := float64(h.quantile(q)); got < want*0.96 || got > want*1.04 {
			t.Errorf("quantile(%v) = %v, want %v within 4 %%", q, got, want)
		}
	}
}

func TestBareName(t *testing.T) {
	for in, want := range map[string]string{
		"a::b<c, d<e>>::f":              "a::b::f",
		"std::vector<int>::operator[]":  "std::vector::operator[]",
		"a::operator<":                  "a::operator<",
		"a<int>::operator<<":            "a::operator<<",
		"operator<=><int>":              "operator<=>",
		"<alloc::Vec<T> as Drop>::drop": "<alloc::Vec as Drop>::drop",
		"core::iter::sum::<u32>":        "core::iter::sum",
		"f<int (*)()->void>":            "f",
		"broken<":                       "broken<",
		"operators::x<y>":               "operators::x",
		"plain":                         "plain",
	} {
		if got := event.BareName(in); got != want {
			t.Errorf("event.BareName(%q) = %q, want %q", in, got, want)
		}
	}
}

// TestTreeCountsEveryCall: folding loses no call, in any thread of a random session.
func TestTreeCountsEveryCall(t *testing.T) {
	m := newModel(t, 11, store.Options{MaxEvents: 1 << 40})
	m.grow(20000)
	m.store(t)
	if err := m.st.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	sn, err := m.st.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer sn.Close()
	f, err := compile(Request{View: "tree"})
	if err != nil {
		t.Fatal(err)
	}
	a := newAsker(t.Context(), m.st, sn, f)
	parts, err := a.plan()
	if err != nil {
		t.Fatal(err)
	}
	sections, _, err := a.sections(parts, nil)
	if err != nil || len(sections) != len(modelThreads) {
		t.Fatalf("%d sections, %v", len(sections), err)
	}
	for _, s := range sections {
		b := &builder{a: a, limit: 1 << 20, compare: maxComparedCalls, most: maxTreeEvents}
		if err := b.build(s); err != nil {
			t.Fatal(err)
		}
		var want, got, lines int64
		for i := range m.events {
			if m.events[i].Thread == s.thread && m.events[i].Kind == event.FunctionEnter {
				want++
			}
		}
		for _, k := range b.root.kids {
			got += k.allCalls()
			lines += int64(k.lines)
		}
		if got != want || s.calls != want {
			t.Errorf("thread %d: %d calls in the tree, section has %d, want %d", s.thread, got, s.calls, want)
		}
		if lines != int64(b.lines) {
			t.Errorf("thread %d: %d lines counted, the tree has %d", s.thread, b.lines, lines)
		}
	}
}

// Output has no thread: it comes through a pipe. In a program of one process it stands in the main thread's tree, and
// is said to be that process's.
func TestTreeOfOutput(t *testing.T) {
	for processes, want := range map[int]string{
		1: "thread 7, pid 7: 1 call\nf()  30ns #1\n  stdout: \"in f\\n\"\nthread 8, pid 7: 1 call\ng()  5ns #3\n",
		2: "thread 7, pid 7: 1 call\nf()  30ns #1\nthread 8, pid 8: 1 call\ng()  5ns #3\n",
	} {
		st := newStore(t, store.Options{})
		st.SetPID(7)
		main := st.Thread(event.Thread{PID: 7, TID: 7})
		other := st.Thread(event.Thread{PID: int32(6 + processes), TID: 8})
		f, g := st.Function(event.Function{Name: "f"}), st.Function(event.Function{Name: "g"})
		err := st.Put([]event.Event{
			{TS: 10, Kind: event.FunctionEnter, Func: f, Thread: main},
			{TS: 20, Kind: event.Stdout, Thread: event.NoThread, Payload: []byte("in f\n")},
			{TS: 25, Kind: event.FunctionEnter, Func: g, Thread: other},
			{TS: 30, Kind: event.FunctionExit, Func: g, Thread: other},
			{TS: 40, Kind: event.FunctionExit, Func: f, Thread: main},
		})
		if err != nil {
			t.Fatal(err)
		}
		res := ask1(t, st, Request{View: "tree"})
		if got := res.Tree; got != want || processes == 2 != strings.Contains(res.Hint, "1 events such as output") {
			t.Errorf("%d processes: %s%s", processes, res.Tree, res.Hint)
		}
		if e := ask1(t, st, Request{EventType: Kinds{"stdout"}}).Events; len(e) != 1 || e[0].PID != 7 {
			t.Errorf("%d processes: output is %+v", processes, e)
		}
	}
}
