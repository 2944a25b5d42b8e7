package query

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/store"
)

// deadline bounds every wait of these tests.
const deadline = 20 * time.Second

// put stores n calls of fnAdd on thread 0, whose results count up from first, with a line of output every
// ten, and returns the time it got to.
func put(t testing.TB, st *store.Store, ts, first int64, n int) int64 {
	var batch []event.Event
	for i := range int64(n) {
		batch = append(batch,
			event.Event{TS: ts, Kind: event.FunctionEnter, Func: fnAdd, Payload: le(uint64(i), 1)},
			event.Event{TS: ts + 10, Kind: event.FunctionExit, Func: fnAdd, Ret: first + i, Flags: event.HasRet})
		if i%10 == 0 {
			batch = append(batch, event.Event{TS: ts + 15, Kind: event.Stdout, Thread: event.NoThread,
				Payload: []byte("tick\n")})
		}
		ts += 20
	}
	if err := st.Put(batch); err != nil {
		t.Error(err)
	}
	return ts
}

// TestCursorUnderIngest pages with the cursor while events arrive: nothing is skipped, nothing comes twice.
func TestCursorUnderIngest(t *testing.T) {
	m := newModel(t, 1, store.Options{MaxEvents: 1 << 40})
	const batches, perBatch = 300, 50
	var done atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		defer done.Store(true)
		ts := int64(1)
		for i := range int64(batches) {
			ts = put(t, m.st, ts, i*perBatch, perBatch)
		}
	})
	defer wg.Wait()
	for name, c := range map[string]struct {
		req  Request
		want int
	}{
		"all": {Request{}, batches * (perBatch*2 + 5)},
		"exits": {Request{EventType: Kinds{"function_exit"}, ReturnValue: &ValueFilter{GreaterThan: "-1"}},
			batches * perBatch},
		"output": {Request{Text: &TextFilter{Contains: "tick"}}, batches * 5},
	} {
		t.Run(name, func(t *testing.T) {
			after, got := int64(0), 0
			ended := done.Load()
			for {
				req := c.req
				req.AfterEventID, req.Limit = &after, 100
				res := ask1(t, m.st, req)
				last := after
				for i := range res.Events {
					e := &res.Events[i]
					if e.ID <= last {
						t.Fatalf("event %d again, after %d", e.ID, last)
					}
					if name == "all" && e.ID != last+1 {
						t.Fatalf("event %d after %d", e.ID, last)
					}
					last = e.ID
				}
				if res.LastEventID < last || res.HasMore && res.LastEventID != last {
					t.Fatalf("lastEventId %d, want %d", res.LastEventID, last)
				}
				after = max(after, res.LastEventID)
				if res.EventsDropped != 0 {
					t.Fatalf("eventsDropped %d", res.EventsDropped)
				}
				got += len(res.Events)
				if !res.HasMore && ended {
					break
				}
				ended = done.Load()
			}
			if got != c.want {
				t.Errorf("%d events, want %d", got, c.want)
			}
		})
	}
}

// TestEvictionDuringPaging: what is read and what is said to be dropped make up everything, exactly.
func TestEvictionDuringPaging(t *testing.T) {
	m := newModel(t, 1, store.Options{MaxEvents: 20000})
	ts := put(t, m.st, 1, 0, 9000)
	after, seen, dropped := int64(0), int64(0), int64(0)
	read := func(pages int) {
		for range pages {
			res := ask1(t, m.st, Request{AfterEventID: &after, Limit: 500})
			dropped += res.EventsDropped
			seen += int64(len(res.Events))
			after = res.LastEventID
		}
	}
	read(5)
	if dropped != 0 {
		t.Fatalf("%d dropped before anything was", dropped)
	}
	ts = put(t, m.st, ts, 0, 60000)
	read(3)
	put(t, m.st, ts, 0, 60000)
	for {
		before := after
		read(1)
		if after == before {
			break
		}
	}
	total := m.st.Stats()
	if n := total.Total(); seen+dropped != n || dropped == 0 {
		t.Errorf("%d read + %d dropped, want %d", seen, dropped, n)
	}
	if total.Evicted == 0 {
		t.Error("nothing was evicted")
	}
	if res := ask1(t, m.st, Request{}); !strings.Contains(res.Hint, "dropped its") {
		t.Errorf("hint %q", res.Hint)
	}
	if _, err := Run(t.Context(), m.st, Request{Under: 1}, Env{}); err == nil ||
		!strings.Contains(err.Error(), "was dropped by the session's limit") {
		t.Errorf("under an evicted call: %v", err)
	}
}

// waiter runs a request that waits and returns when it is really waiting: after its first look.
func waiter(ctx context.Context, st *store.Store, req Request, env Env) (<-chan *Result, <-chan error,
	<-chan struct{}) {
	res, errs, looked := make(chan *Result, 1), make(chan error, 1), make(chan struct{})
	var looks atomic.Int32
	env.Flush = func(ctx context.Context) error {
		if looks.Add(1) == 2 {
			close(looked)
		}
		return st.Flush(ctx)
	}
	go func() {
		r, err := Run(ctx, st, req, env)
		res <- r
		errs <- err
	}()
	return res, errs, looked
}

func within[T any](t *testing.T, c <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(deadline):
		t.Fatalf("%s: nothing after %v", what, deadline)
		panic("unreachable")
	}
}

func TestWaitReturnsWhenSomethingMatches(t *testing.T) {
	m := newModel(t, 1, store.Options{})
	ts := put(t, m.st, 1, 0, 100)
	req := Request{ReturnValue: &ValueFilter{Equals: "777"}, WaitMs: MaxWaitMs}
	res, errs, looked := waiter(t.Context(), m.st, req, Env{})
	within(t, looked, "first look")
	ts = put(t, m.st, ts, 0, 100) // not what it waits for
	start := time.Now()
	put(t, m.st, ts, 777, 1)
	r := within(t, res, "wait")
	if err := <-errs; err != nil {
		t.Fatal(err)
	}
	if len(r.Events) != 1 || r.TotalCount != 1 || r.Events[0].Function != "app::add" {
		t.Errorf("%+v", r)
	}
	if d := time.Since(start); d > MaxWaitMs*time.Millisecond*2/3 {
		t.Errorf("returned %v after the event", d)
	}
}

func TestWaitEndsInTime(t *testing.T) {
	m := newModel(t, 1, store.Options{})
	put(t, m.st, 1, 0, 10)
	for _, view := range Views {
		start := time.Now()
		req := Request{Function: &NameFilter{Contains: "zz"}, View: view, WaitMs: 60}
		if view == "object" {
			req.Object = "0x1234"
		}
		if view == "summary" || view == "why" || view == "coverage" || view == "missing" {
			continue // something is there always
		}
		if view == "request" || view == "threads" {
			continue // who asks several sessions waits; of threads something is said always
		}
		if view == "check" || view == "diff" {
			req.Claim = "a > 0"
		}
		res := ask1(t, m.st, req)
		if d := time.Since(start); d < 60*time.Millisecond || res.TotalCount != 0 || res.Hint == "" {
			t.Errorf("%s: %v, %+v", view, d, res)
		}
	}
	start := time.Now()
	res, err := Run(t.Context(), m.st, Request{EventType: Kinds{"crash"}, WaitMs: MaxWaitMs},
		Env{Ended: func() bool { return true }})
	if err != nil || res.TotalCount != 0 || time.Since(start) > MaxWaitMs*time.Millisecond*2/3 {
		t.Errorf("waiting for an ended session: %v, %v, %+v", time.Since(start), err, res)
	}
}

func TestCancel(t *testing.T) {
	m := newModel(t, 1, store.Options{})
	put(t, m.st, 1, 0, 10)
	ctx, cancel := context.WithCancel(t.Context())
	_, errs, looked := waiter(ctx, m.st, Request{EventType: Kinds{"crash"}, WaitMs: MaxWaitMs}, Env{})
	within(t, looked, "first look")
	cancel()
	if err := within(t, errs, "cancel"); !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v, want canceled", err)
	}
	for _, req := range []Request{{}, {View: "tree"}, {View: "stats"}, {Text: &TextFilter{Contains: "x"}}} {
		if _, err := Run(ctx, m.st, req, Env{}); !errors.Is(err, context.Canceled) {
			t.Errorf("Run(%+v) = %v, want canceled", req, err)
		}
	}
}

// TestConcurrentQuestions is for the race detector: caches are shared.
func TestConcurrentQuestions(t *testing.T) {
	m := newModel(t, 9, store.Options{})
	m.grow(800)
	m.store(t)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for j := range 12 {
				req := Request{Function: &NameFilter{Matches: fmt.Sprintf("a|%d", j)}, View: Views[(i+j)%3],
					ReturnValue: &ValueFilter{NotEquals: "0"}}
				if _, err := Run(t.Context(), m.st, req, Env{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Go(func() { put(t, m.st, m.ts+1, 0, 5000) })
	wg.Wait()
}

// TestRetained reads a session whose recording has ended: everything is answered from the file alone.
func TestRetained(t *testing.T) {
	m := newModel(t, 6, store.Options{MaxEvents: 1 << 40})
	m.grow(5000)
	m.store(t)
	live := map[string]*Result{}
	requests := map[string]Request{
		"verbose": {Verbose: true, Limit: 500}, "tree": {View: "tree", ThreadID: new(int64(101))}, "stats": {View: "stats"},
		"argument": {Argument: &ArgumentFilter{Name: "s", ValueFilter: ValueFilter{Equals: `"beta"`}}},
	}
	for name, req := range requests {
		live[name] = ask1(t, m.st, req)
	}
	path := m.st.Path()
	if err := m.st.Close(); err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	for name, req := range requests {
		got, want := ask1(t, st, req), live[name]
		a, b := fmt.Sprint(got.Tree, got.Stats, got.TotalCount), fmt.Sprint(want.Tree, want.Stats, want.TotalCount)
		if name != "tree" && a != b { // the calls that were open are closed as lost now
			t.Errorf("%s: %s, want %s", name, a, b)
		}
		if name == "verbose" {
			for i := range want.Events {
				x, _ := encode(got.Events[i])
				y, _ := encode(want.Events[i])
				if string(x) != string(y) {
					t.Fatalf("%s, want %s", x, y)
				}
			}
		}
	}
}

func TestCrashAndLossesAreSaid(t *testing.T) {
	m := newModel(t, 1, store.Options{})
	for i := range 3 {
		m.add(modelEvent{Event: event.Event{Kind: event.Crash,
			Payload: fmt.Appendf(nil, `{"signal":"SIG%d","registers":{"rip":"0x1"},"faultAddress":"0x0","fatal":true}`, i)}})
		m.add(modelEvent{Event: event.Event{Kind: event.Dropped, Payload: []byte(`{"count":412}`)}})
	}
	m.store(t)
	res := ask1(t, m.st, Request{EventType: Kinds{"crash"}})
	if res.Crash != nil || len(res.Events) != 3 {
		t.Errorf("%+v", res)
	}
	res = ask1(t, m.st, Request{EventType: Kinds{"stdout"}})
	b, err := encode(res.Crash)
	if want := `"eventType":"crash","pid":100,"threadId":100,"threadName":"main","signal":"SIG2","faultAddress":"0x0","fatal":true}`; err != nil || !strings.HasSuffix(string(b), want) {
		t.Errorf("crash = %s, want …%s", b, want)
	}
	if !strings.Contains(res.Hint, "1236 call events in the session were lost") {
		t.Errorf("hint %q", res.Hint)
	}
	if len(res.PIDs) != 2 {
		t.Errorf("pids = %v", res.PIDs)
	}
}

// TestAnswersStaySmall: a page of long output is cut, said so, and its cursor goes on where it ended.
func TestAnswersStaySmall(t *testing.T) {
	m := newModel(t, 1, store.Options{})
	for i := range 60 {
		m.add(modelEvent{Event: event.Event{Kind: event.Stdout, Thread: event.NoThread,
			Payload: fmt.Appendf(nil, "%d %s", i, strings.Repeat("x", 3900))}})
	}
	m.store(t)
	got, after := 0, int64(0)
	for {
		res := ask1(t, m.st, Request{AfterEventID: &after})
		b, err := encode(res)
		if err != nil || len(b) > 64<<10 {
			t.Fatalf("%d bytes, %v", len(b), err)
		}
		got += len(res.Events)
		after = res.LastEventID
		if !res.HasMore {
			break
		}
		if !strings.Contains(res.Hint, "60 KB") {
			t.Errorf("hint %q", res.Hint)
		}
	}
	if got != 60 {
		t.Errorf("%d events, want 60", got)
	}
	if res := ask1(t, m.st, Request{Verbose: true, Limit: 500}); len(res.Events) != 60 {
		t.Errorf("verbose: %d events, want 60", len(res.Events))
	}
}

// TestVerboseAnswersAreBounded: so is a page of whole texts, at 4 MB, and JSON gives the same bytes as the standard
// encoder.
func TestVerboseAnswersAreBounded(t *testing.T) {
	m := newModel(t, 1, store.Options{})
	m.enter(0, fnAdd)
	texts := []string{strings.Repeat("line <&> \"é\"\n", 5000), strings.Repeat("\x00\x01", 30000),
		strings.Repeat("\x1b[1mx\x1b[0m\t", 6000), "a\xff"}
	for i := range 200 {
		m.add(modelEvent{Event: event.Event{Kind: event.Stdout, Thread: event.NoThread,
			Payload: []byte(texts[i%len(texts)])}})
	}
	m.add(modelEvent{Event: event.Event{Kind: event.Crash, Thread: 0, Payload: []byte(`{"signal":"SIGSEGV","n":1}`)}})
	m.store(t)
	seen, after := 0, int64(0)
	for pages := 1; ; pages++ {
		res := ask1(t, m.st, Request{AfterEventID: &after, Limit: 500, Verbose: true})
		want, err := encode(res)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := res.JSON(); err != nil || string(got) != string(want) {
			t.Fatalf("JSON = %.300s…, %v\nwant   %.300s…", got, err, want)
		}
		size := 0
		for _, e := range res.Events {
			if e.EventType != "stdout" {
				continue
			}
			want := texts[(e.ID-2)%int64(len(texts))]
			if size += len(want); isBinary(want) != (e.Text == nil) || e.Text != nil && *e.Text != want {
				t.Fatalf("event %d: text %v, bytes %.20s", e.ID, e.Text != nil, e.Bytes)
			}
		}
		if size > maxVerbose {
			t.Errorf("a page of %d bytes", size)
		}
		seen += len(res.Events)
		after = res.LastEventID
		if !res.HasMore {
			if pages < 3 || seen != len(m.events) {
				t.Errorf("%d events in %d pages, want %d", seen, pages, len(m.events))
			}
			break
		}
		if !strings.Contains(res.Hint, "4 MB") || !strings.Contains(res.Hint, fmt.Sprint("afterEventId ", after)) {
			t.Errorf("hint %q", res.Hint)
		}
	}
}

func isBinary(s string) bool { return strings.ContainsAny(s, "\x00") || strings.HasSuffix(s, "\xff") }

// TestBusyTargetIsLeftAlone: a question that waits for what is no call has a busy target's records decoded seldom, since
// that takes a CPU from it, also where that begins while the question rests; one that may be answered by a call does as
// always.
func TestBusyTargetIsLeftAlone(t *testing.T) {
	m := newModel(t, 1, store.Options{})
	put(t, m.st, 1, 0, 10)
	for _, test := range []struct {
		kind  string
		busy  bool
		after time.Duration
		few   bool
	}{{"crash", true, 0, true}, {"crash", true, pollMax / 2, true}, {"crash", false, 0, false},
		{"function_enter", true, 0, false}} {
		flushed, began := 0, time.Now()
		env := Env{Busy: func() bool { return test.busy && time.Since(began) >= test.after },
			Flush: func(ctx context.Context) error { flushed++; return m.st.Flush(ctx) }}
		req := Request{EventType: Kinds{test.kind}, Function: &NameFilter{Contains: "zz"}, WaitMs: 700}
		if test.kind == "crash" {
			req.Function = nil
		}
		if _, err := Run(t.Context(), m.st, req, env); err != nil {
			t.Fatal(err)
		}
		if (flushed <= 2) != test.few {
			t.Errorf("%s, busy %v after %v: asked for records %d times in 700 ms", test.kind, test.busy, test.after, flushed)
		}
	}
}
