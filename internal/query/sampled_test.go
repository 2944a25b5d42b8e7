package query

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/event"
)

func TestCountsOfSampledFunctions(t *testing.T) {
	s := newScript(t)
	for i := range 10 {
		s.call(fnAdd, uint64(i), 1)
		s.at(modelEvent{Event: event.Event{Kind: event.FunctionExit, Func: fnAdd, Flags: event.HasRet | event.Sampled}})
		s.call(fnOK, 1)
		s.ret(fnOK, 1)
	}
	s.store(t)
	if res := ask1(t, s.st, Request{View: "stats"}); res.Sampled != nil || strings.Contains(res.Stats, "recorded") ||
		res.Rows[0].Recorded != nil {
		t.Errorf("nothing is sampled: %+v, %s", res.Sampled, res.Stats)
	}
	s.st.AddCalls(fnAdd, 990)
	s.st.AddCalls(fnRaw, 3)

	res := ask1(t, s.st, Request{View: "stats"})
	byName := map[string]Stat{}
	for _, r := range res.Rows {
		byName[r.Function] = r
	}
	add, ok, raw := byName[modelNames[fnAdd]], byName[modelNames[fnOK]], byName[modelNames[fnRaw]]
	if add.Calls != 1000 || add.Recorded == nil || *add.Recorded != 10 {
		t.Errorf("sampled function: %+v", add)
	}
	if ok.Calls != 10 || ok.Recorded != nil {
		t.Errorf("function of which all is recorded: %+v", ok)
	}
	if raw.Calls != 3 || raw.Recorded == nil || *raw.Recorded != 0 {
		t.Errorf("function of which nothing is recorded: %+v", raw)
	}
	b, err := json.Marshal(raw)
	if err != nil || !strings.Contains(string(b), `"recorded":0`) {
		t.Errorf("row as JSON: %s, %v", b, err)
	}
	head, rest, _ := strings.Cut(res.Stats, "\n")
	if !strings.Contains(head, "calls  recorded  errors") || !strings.Contains(rest, " 1000        10 ") {
		t.Errorf("table:\n%s", res.Stats)
	}
	if !strings.Contains(res.Hint, "calls in the table are all") || !strings.Contains(res.Hint, "993 were not recorded") {
		t.Errorf("hint %q", res.Hint)
	}

	res = ask1(t, s.st, Request{Function: &NameFilter{Equals: "app::add"}, Verbose: true})
	if g := res.Sampled; g == nil || len(g.Functions) != 1 ||
		g.Functions[0] != (SampledFunction{"app::add", 1000, 10, 0.01}) || g.Rate != 0.01 || g.NotRecorded != 990 {
		t.Errorf("sampled = %+v", g)
	}
	for _, e := range res.Events {
		if want := e.EventType == "function_exit"; e.Sampled != want || want && e.SampleRate != 0.01 {
			t.Errorf("%s: sampled %v, rate %v", e.EventType, e.Sampled, e.SampleRate)
		}
	}
	// A selection in time has no counts of what was not recorded.
	if res = ask1(t, s.st, Request{View: "stats", TimeFrom: "1"}); !strings.Contains(res.Hint,
		"without other filters counts all") {
		t.Errorf("hint of a time range: %q", res.Hint)
	}
	for _, r := range []Request{{Function: &NameFilter{Equals: "app::ok"}}, {EventType: Kinds{"stdout"}}} {
		if res := ask1(t, s.st, r); res.Sampled != nil {
			t.Errorf("%+v is not concerned: %+v", r, res.Sampled)
		}
	}
	if res := ask1(t, s.st, Request{Function: &NameFilter{Equals: "raw_fn"}}); strings.Contains(res.Hint,
		"none was called") {
		t.Errorf("a function of which nothing was recorded: %q", res.Hint)
	}
}

// namesOf lists the thread names of an answer, one per event.
func namesOf(res *Result) string {
	var names []string
	for _, e := range res.Events {
		names = append(names, e.ThreadName)
	}
	return strings.Join(names, " ")
}

func TestThreadsNamedLater(t *testing.T) {
	s := newScript(t)
	both := func() { // an enter on each of two threads, 1 µs apart
		s.th = 1
		s.call(fnVoid)
		s.th = 2
		s.call(fnVoid)
	}
	both()
	s.store(t)
	s.st.SetThreadName(1, "loader", s.ts+1) // worker-1 until here
	s.st.SetThreadName(2, "saver", 0)       // never was worker-2
	both()
	s.store(t)
	s.st.SetThreadName(1, "late", s.ts+1)
	both()
	s.print("done") // on thread 2
	s.store(t)
	by := func(name string) Request {
		return Request{ThreadName: &ThreadFilter{Contains: name}, Verbose: true}
	}
	for name, want := range map[string]string{
		"worker": "worker-1", "loader": "loader", "late": "late", "saver": "saver saver saver saver", "worker-2": "",
		"er": "worker-1 saver loader saver saver saver", "": "worker-1 saver loader saver late saver saver",
	} {
		r := by(name)
		res := ask1(t, s.st, r)
		if got := namesOf(res); got != want || res.TotalCount != int64(len(strings.Fields(want))) {
			t.Errorf("threadName contains %q: %d events, %q, want %q", name, res.TotalCount, got, want)
		}
		r.Order = "thread"
		if res := ask1(t, s.st, r); res.TotalCount != int64(len(strings.Fields(want))) ||
			len(res.Events) != int(res.TotalCount) {
			t.Errorf("threadName contains %q by thread: %d events", name, res.TotalCount)
		}
	}
	tid := int64(modelThreads[1].TID)
	if got := namesOf(ask1(t, s.st, Request{ThreadID: &tid, Verbose: true})); got != "worker-1 loader late" {
		t.Errorf("threadId %d: %q", tid, got)
	}
	if got := namesOf(ask1(t, s.st, Request{Order: "thread", Verbose: true})); got != "worker-1 loader late saver "+
		"saver saver saver" {
		t.Errorf("by thread: %q", got)
	}
	r := by("loader") // what the first call of that thread caused, while it was called so
	r.Under = 1
	if got := namesOf(ask1(t, s.st, r)); got != "loader" {
		t.Errorf("under 1 as loader: %q", got)
	}
	r = by("loader")
	r.View = "tree"
	res := ask1(t, s.st, r)
	if res.TotalCount != 3 || strings.Count(res.Tree, "thread ") != 1 ||
		!strings.Contains(res.Tree, `thread 101 "late" (before: "loader"), pid 100: 3 calls`) {
		t.Errorf("tree of %d calls:\n%s", res.TotalCount, res.Tree)
	}
	r.View = "stats"
	if res := ask1(t, s.st, r); res.Rows[0].Calls != 1 {
		t.Errorf("stats as loader:\n%s", res.Stats)
	}
	if res := ask1(t, s.st, Request{View: "tree"}); strings.Count(res.Tree, "thread ") != 2 {
		t.Errorf("trees per thread:\n%s", res.Tree)
	}
	if res := ask1(t, s.st, by("nobody")); !strings.Contains(res.Hint, "late") {
		t.Errorf("hint %q", res.Hint)
	}
}
