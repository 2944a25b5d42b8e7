package query

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/store"
)

// question is a request and, independently, what it means.
type question struct {
	req  Request
	want []func(m *model, e *modelEvent) bool
}

func (q *question) add(f func(m *model, e *modelEvent) bool) { q.want = append(q.want, f) }

func pick[T any](rng *rand.Rand, s ...T) T { return s[rng.IntN(len(s))] }

// randomQuestion combines a few filters.
func randomQuestion(m *model) *question {
	rng, q := m.rng, &question{}
	filters := []func(*rand.Rand, *model, *question){
		askKinds, askFunction, askFunction, askFile, askThread, askTime, askDuration, askResult, askResult, askArgument,
		askText, askUnder,
	}
	for range 1 + rng.IntN(3) {
		pick(rng, filters...)(rng, m, q)
	}
	q.req.Limit = pick(rng, 0, 1, 7, 500)
	switch rng.IntN(4) {
	case 0:
		q.req.Offset = rng.IntN(60)
	case 1:
		after := rng.Int64N(int64(len(m.events)))
		q.req.AfterEventID = &after
		q.add(func(_ *model, e *modelEvent) bool { return e.id > after })
	case 2:
		q.req.Order = "thread"
		q.req.Offset = rng.IntN(60)
	}
	q.req.Verbose = rng.IntN(3) == 0
	return q
}

func askKinds(rng *rand.Rand, _ *model, q *question) {
	if q.req.EventType != nil {
		return
	}
	q.req.EventType = pick(rng, Kinds{"function_enter"}, Kinds{"function_exit"}, Kinds{"stdout", "stderr"},
		Kinds{"function_exit", "logpoint"}, Kinds{"crash"})
	kinds := q.req.EventType
	q.add(func(_ *model, e *modelEvent) bool { return slices.Contains(kinds, e.Kind.String()) })
}

func askFunction(rng *rand.Rand, _ *model, q *question) {
	if q.req.Function == nil {
		q.req.Function = &NameFilter{}
		q.add(func(_ *model, e *modelEvent) bool { return e.Kind.IsCall() })
	}
	f := q.req.Function
	switch n := rng.IntN(4); {
	case n == 0 && f.Equals == "":
		f.Equals = pick(rng, "app::add", "app::hash", "app::hash<unsigned long>", "geo::move::run", "_ZN3app3addEii", "add")
		want := map[string]int{"app::add": fnAdd, "_ZN3app3addEii": fnAdd, "app::hash": fnHash,
			"app::hash<unsigned long>": fnHash, "geo::move::run": fnMove}
		id, ok := want[f.Equals]
		q.add(func(_ *model, e *modelEvent) bool { return ok && int(e.Func) == id })
	case n == 1 && f.Contains == "":
		s := pick(rng, "app", "::", "nothing", "zzz")
		f.Contains = s
		q.add(func(_ *model, e *modelEvent) bool { return strings.Contains(modelNames[e.Func], s) })
	case f.Matches == "":
		s := pick(rng, "^app::", "(add|ok)$", "^[a-z]+::n", "hash<.*>")
		f.Matches = s
		re := regexp.MustCompile(s)
		q.add(func(_ *model, e *modelEvent) bool { return re.MatchString(modelNames[e.Func]) })
	}
}

func askFile(rng *rand.Rand, _ *model, q *question) {
	if q.req.SourceFile != nil {
		return
	}
	if rng.IntN(2) == 0 {
		s := pick(rng, "add.cc", "app/add.cc", "/src/app/add.cc", "dd.cc", "./add.cc")
		q.req.SourceFile = &FileFilter{Equals: s}
		ok := s != "dd.cc"
		q.add(func(_ *model, e *modelEvent) bool {
			return e.Kind.IsCall() && ok && modelFiles[e.Func] == "/src/app/add.cc"
		})
		return
	}
	s := pick(rng, "/app/", ".rs", "src")
	q.req.SourceFile = &FileFilter{Contains: s}
	q.add(func(_ *model, e *modelEvent) bool { return e.Kind.IsCall() && strings.Contains(modelFiles[e.Func], s) })
}

func (m *model) thread(e *modelEvent) (event.Thread, bool) {
	if e.Thread == event.NoThread {
		return event.Thread{PID: 100}, false
	}
	return modelThreads[e.Thread], true
}

func askThread(rng *rand.Rand, _ *model, q *question) {
	switch rng.IntN(3) {
	case 0:
		n := pick(rng, int64(100), 102, 200, 999)
		if q.req.ThreadID != nil {
			return
		}
		q.req.ThreadID = &n
		q.add(func(m *model, e *modelEvent) bool { t, ok := m.thread(e); return ok && int64(t.TID) == n })
	case 1:
		if q.req.ThreadName != nil {
			return
		}
		s := pick(rng, "worker", "in", "child")
		q.req.ThreadName = &ThreadFilter{Contains: s}
		q.add(func(m *model, e *modelEvent) bool { t, ok := m.thread(e); return ok && strings.Contains(t.Name, s) })
	default:
		if q.req.PID != nil {
			return
		}
		n := pick(rng, int64(100), 200)
		q.req.PID = &n
		q.add(func(m *model, e *modelEvent) bool { t, _ := m.thread(e); return int64(t.PID) == n })
	}
}

func askTime(rng *rand.Rand, m *model, q *question) {
	if q.req.TimeFrom != "" || q.req.TimeTo != "" {
		return
	}
	from, to := rng.Int64N(m.ts+1), int64(-1)
	if rng.IntN(2) == 0 {
		back := m.ts - from
		q.req.TimeFrom = Moment(fmt.Sprintf("-%dns", back))
	} else {
		q.req.TimeFrom = Moment(fmt.Sprint(from))
	}
	if rng.IntN(2) == 0 {
		to = from + rng.Int64N(m.ts-from+1)
		q.req.TimeTo = Moment(fmt.Sprint(to))
	}
	q.add(func(_ *model, e *modelEvent) bool { return e.TS >= from && (to < 0 || e.TS <= to) })
}

func askDuration(rng *rand.Rand, _ *model, q *question) {
	lo, hi := rng.Int64N(5000), int64(0)
	if q.req.MinDurationNs+q.req.MaxDurationNs > 0 {
		return
	}
	if rng.IntN(2) == 0 {
		hi = lo + 1 + rng.Int64N(20000)
	}
	if lo+hi == 0 {
		lo = 1
	}
	q.req.MinDurationNs, q.req.MaxDurationNs = lo, hi
	q.add(func(_ *model, e *modelEvent) bool {
		return e.Kind == event.FunctionExit && e.ns >= lo && (hi == 0 || e.ns <= hi)
	})
}

// equalsModel is what equals means for a model value.
func equalsModel(v, lit any) bool {
	switch l := lit.(type) {
	case int64:
		if u, ok := v.(uint64); ok {
			return l >= 0 && u == uint64(l)
		}
		c, ok := compareModel(v, float64(l))
		return ok && c == 0
	case uint64:
		u, ok := v.(uint64)
		return ok && u == l
	}
	return v == lit
}

// randomCondition returns a filter and its meaning for a known value.
func randomCondition(rng *rand.Rand) (ValueFilter, func(v any) bool) {
	lit := pick[any](rng, int64(-1), int64(0), int64(2), uint64(1<<64-2), "red", "alpha", true, false, 1.5, nil)
	raw, _ := json.Marshal(lit)
	n := pick(rng, -1.0, 0, 1, 2, 1.5)
	num, _ := json.Marshal(n)
	switch rng.IntN(6) {
	case 0:
		return ValueFilter{Equals: Literal(raw)}, func(v any) bool { return equalsModel(v, lit) }
	case 1:
		return ValueFilter{NotEquals: Literal(raw)}, func(v any) bool { return !equalsModel(v, lit) }
	case 2:
		null := rng.IntN(2) == 0
		return ValueFilter{IsNull: &null}, func(v any) bool { return (v == nil) == null }
	case 3:
		return ValueFilter{GreaterThan: Literal(num)}, func(v any) bool { c, ok := compareModel(v, n); return ok && c > 0 }
	case 4:
		return ValueFilter{LessThan: Literal(num)}, func(v any) bool { c, ok := compareModel(v, n); return ok && c < 0 }
	}
	return ValueFilter{GreaterThan: Literal(num), LessThan: "3"}, func(v any) bool {
		c, ok := compareModel(v, n)
		d, _ := compareModel(v, 3)
		return ok && c > 0 && d < 0
	}
}

func askResult(rng *rand.Rand, _ *model, q *question) {
	if q.req.ReturnValue != nil {
		return
	}
	f, match := randomCondition(rng)
	q.req.ReturnValue = &f
	q.add(func(_ *model, e *modelEvent) bool {
		return e.Kind == event.FunctionExit && e.hasRet && match(e.ret)
	})
}

func askArgument(rng *rand.Rand, _ *model, q *question) {
	if q.req.Argument != nil {
		return
	}
	name := pick(rng, "a", "a", "b", "n", "s", "p", "p.x", "p.v[1]", "zz")
	f, match := randomCondition(rng)
	if name == "p" { // an object, which equals nothing, or null
		null := true
		f = ValueFilter{IsNull: &null}
		match = func(v any) bool { return v == nil }
	}
	q.req.Argument = &ArgumentFilter{Name: name, ValueFilter: f}
	q.add(func(m *model, e *modelEvent) bool {
		exits := q.req.ReturnValue != nil || q.req.MinDurationNs+q.req.MaxDurationNs > 0 ||
			slices.Contains(q.req.EventType, "function_exit") && !slices.Contains(q.req.EventType, "function_enter")
		in := e
		if exits {
			if e.Kind != event.FunctionExit {
				return false
			}
			in = &m.events[e.enter-1]
		} else if e.Kind != event.FunctionEnter {
			return false
		}
		v, ok := in.args[name]
		return ok && match(v)
	})
}

func askText(rng *rand.Rand, _ *model, q *question) {
	if q.req.Text != nil {
		return
	}
	if rng.IntN(2) == 0 {
		s := pick(rng, "line 1", "step", "\x00", "zz")
		q.req.Text = &TextFilter{Contains: s}
		q.add(func(_ *model, e *modelEvent) bool { return !e.Kind.IsCall() && strings.Contains(e.text, s) })
		return
	}
	q.req.Text = &TextFilter{Matches: `[12]\d? of`}
	re := regexp.MustCompile(`[12]\d? of`)
	q.add(func(_ *model, e *modelEvent) bool { return !e.Kind.IsCall() && re.MatchString(e.text) })
}

func askUnder(rng *rand.Rand, m *model, q *question) {
	if q.req.Under != 0 {
		return
	}
	for range 50 {
		e := &m.events[rng.IntN(len(m.events))]
		if e.Kind != event.FunctionEnter {
			continue
		}
		last := int64(len(m.events))
		for i := range m.events {
			if m.events[i].enter == e.id {
				last = m.events[i].id - 1
			}
		}
		q.req.Under = e.id
		q.add(func(_ *model, x *modelEvent) bool { return x.id > e.id && x.id <= last && x.Thread == e.Thread })
		return
	}
}

// answer is the brute-force answer.
func (q *question) answer(m *model) (ids []int64, total int) {
	var hits []*modelEvent
next:
	for i := range m.events {
		for _, f := range q.want {
			if !f(m, &m.events[i]) {
				continue next
			}
		}
		hits = append(hits, &m.events[i])
	}
	if q.req.Order == "thread" {
		slices.SortStableFunc(hits, func(x, y *modelEvent) int { return cmp.Compare(x.Thread, y.Thread) })
	}
	limit := q.req.Limit
	if limit == 0 {
		limit = DefaultLimit
	}
	for _, e := range hits[min(q.req.Offset, len(hits)):] {
		if len(ids) < limit {
			ids = append(ids, e.id)
		}
	}
	return ids, len(hits)
}

func TestFiltersAgainstBruteForce(t *testing.T) {
	asked, answered := 0, 0
	seeds := uint64(4)
	if testing.Short() {
		seeds = 1
	}
	for seed := range seeds {
		m := newModel(t, seed, store.Options{MaxEvents: 1 << 40})
		for round := range 3 {
			m.grow([]int{200, 3000, 20000}[round])
			m.store(t)
			for range 250 {
				asked++
				if checkAnswer(t, m, randomQuestion(m)) > 0 {
					answered++
				}
			}
		}
	}
	if answered < asked/3 {
		t.Errorf("%d of %d questions had an answer: the test asks the wrong ones", answered, asked)
	}
}

// checkAnswer compares an answer with brute force and returns how many events match.
func checkAnswer(t *testing.T, m *model, q *question) int {
	t.Helper()
	res := ask1(t, m.st, q.req)
	want, total := q.answer(m)
	var got []int64
	for i := range res.Events {
		got = append(got, res.Events[i].ID)
	}
	raw, _ := json.Marshal(q.req)
	if cut := len(got) < len(want) && strings.Contains(res.Hint, "Cut to"); cut {
		want = want[:len(got)]
	}
	if !slices.Equal(got, want) || res.TotalCount != int64(total) {
		t.Fatalf("%s = %d events %v, total %d;\nwant %d events %v, total %d", raw, len(got), got, res.TotalCount, len(want),
			want, total)
	}
	if more := total > q.req.Offset+len(got); res.HasMore != more {
		t.Fatalf("%s: hasMore = %v, want %v", raw, res.HasMore, more)
	}
	if total == 0 && res.Hint == "" {
		t.Fatalf("%s: an empty answer without a hint", raw)
	}
	for i := range res.Events {
		m.checkEvent(t, &res.Events[i], q.req.Verbose)
	}
	again, err := json.Marshal(res)
	if err != nil || !json.Valid(again) {
		t.Fatalf("%s: marshal: %v", raw, err)
	}
	return total
}

// checkEvent compares a rendered event with what the model knows.
func (m *model) checkEvent(t *testing.T, e *Event, verbose bool) {
	t.Helper()
	w := &m.events[e.ID-1]
	bad := func(what string, got, want any) {
		t.Fatalf("event %d (%s %s): %s = %v, want %v", e.ID, e.EventType, e.Function, what, got, want)
	}
	if e.TimestampNs != w.TS || e.EventType != w.Kind.String() {
		bad("timestampNs, eventType", e.TimestampNs, w.TS)
	}
	if !w.Kind.IsCall() {
		if w.Kind == event.Stdout && (e.Text == nil || *e.Text != w.text) {
			bad("text", e.Text, w.text)
		}
		return
	}
	if e.Function != modelNames[w.Func] || e.SourceFile != modelFiles[w.Func] {
		bad("function", e.Function, modelNames[w.Func])
	}
	if verbose && e.ParentID != w.parent {
		bad("parentEventId", e.ParentID, w.parent)
	}
	if w.Kind == event.FunctionEnter {
		if a := e.Arguments; verbose && w.args["a"] != nil {
			if v, ok := a.Get("a"); !ok || v.String() != fmt.Sprint(w.args["a"]) {
				bad("arguments.a", v, w.args["a"])
			}
		}
		return
	}
	if e.DurationNs == nil || *e.DurationNs != w.ns {
		bad("durationNs", e.DurationNs, w.ns)
	}
	wantType := ""
	switch {
	case w.hasRet:
		switch w.ret.(type) {
		case bool:
			wantType = "bool"
		case string:
			wantType = "string"
		default:
			wantType = "number"
		}
	case w.Func == fnVoid:
		wantType = "void"
	case w.Func == fnGone && w.Flags == 0:
		wantType = "string" // <optimized out>
	}
	if e.ReturnType != wantType {
		bad("returnType", e.ReturnType, wantType)
	}
	if verbose && w.hasRet {
		if got := fmt.Sprintf("%v", e.ReturnValue); strings.Trim(got, `"`) != fmt.Sprint(w.ret) {
			bad("returnValue", got, w.ret)
		}
	}
}

func TestEventJSON(t *testing.T) {
	m := newModel(t, 1, store.Options{})
	m.enter(0, fnAdd)
	m.exit(0)
	m.add(modelEvent{Event: event.Event{Kind: event.Stdout, Thread: event.NoThread, Payload: []byte("a\xff")}})
	m.add(modelEvent{Event: event.Event{Kind: event.Crash, Thread: 1,
		Payload: []byte(`{"signal":"SIGSEGV", "id":7,"fatal":true,"backtrace":[{"function":"x"}]}`)}})
	m.add(modelEvent{Event: event.Event{Kind: event.Stdout, Thread: 0, Payload: bytes.Repeat([]byte("é"), 5000)}})
	for i := range m.events {
		m.events[i].TS = int64(i) * 100
	}
	m.events[1].Ret, m.events[1].Flags = -1, event.HasRet
	m.events[0].Payload = le(5, 7)
	m.store(t)
	for _, verbose := range []bool{false, true} {
		res := ask1(t, m.st, Request{Verbose: verbose})
		var b bytes.Buffer
		for i := range res.Events {
			line, err := res.Events[i].MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			b.WriteString(regexp.MustCompile("é{20,}").ReplaceAllString(string(line), "é*"))
			b.WriteByte('\n')
		}
		golden(t, fmt.Sprintf("events_verbose_%v.golden", verbose), b.String())
	}
}

var update = flag.Bool("update", false, "write the golden files")

// golden compares with testdata/name, or writes it with -update.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := "testdata/" + name
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s:\ngot\n%s\nwant\n%s", name, got, want)
	}
}
