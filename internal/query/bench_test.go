package query

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/store"
	"github.com/strobe-debug/strobe/internal/value"
)

// benchStore is a session of n call events: nested calls on 12 threads, 5,000 functions of skewed frequency.
func benchStore(b *testing.B, n int) *store.Store {
	b.Helper()
	st := newStore(b, store.Options{MaxEvents: 1 << 40})
	layout := (&value.Layout{
		OnEnter: value.Shape{GPRs: 2}, OnExit: value.Shape{GPRs: 1},
		Args:  []value.Field{{Name: "a", Type: 0, Pieces: word(0, 4)}, {Name: "b", Type: 0, Pieces: word(8, 4)}},
		Ret:   &value.Field{Type: 0, Pieces: word(0, 4)},
		Types: []value.Type{typeInt},
	}).Marshal()
	const funcs, threads = 5000, 12
	for i := range funcs {
		st.Function(event.Function{Name: fmt.Sprintf("ns%d::Class%d::method%d", i%40, i%400, i),
			File: fmt.Sprintf("/src/d%d/f%d.cc", i%10, i%200), Line: i, Layout: layout})
	}
	for i := range threads {
		st.Thread(event.Thread{PID: 100, TID: int32(100 + i), Name: fmt.Sprintf("worker-%d", i)})
	}
	rng := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(rng, 1.2, 8, funcs-1)
	var stacks [threads][]event.FuncID
	ts, payload := int64(0), le(1, 2)
	batch := make([]event.Event, 0, 4096)
	for i := range n {
		ts += 100 + rng.Int64N(200)
		th := rng.IntN(threads)
		e := event.Event{TS: ts, Thread: event.ThreadID(th)}
		if s := stacks[th]; len(s) == 0 || len(s) < 20 && rng.IntN(2) == 0 {
			e.Kind, e.Func = event.FunctionEnter, event.FuncID(zipf.Uint64())
			payload = le(uint64(i&0xff), uint64(rng.IntN(50)))
			e.Payload = payload
			stacks[th] = append(s, e.Func)
		} else {
			e.Kind, e.Func, e.Ret, e.Flags = event.FunctionExit, s[len(s)-1], rng.Int64N(1000), event.HasRet
			stacks[th] = s[:len(s)-1]
		}
		if batch = append(batch, e); len(batch) == cap(batch) || i == n-1 {
			if err := st.Put(batch); err != nil {
				b.Fatal(err)
			}
			batch = batch[:0]
		}
	}
	if err := st.Flush(b.Context()); err != nil {
		b.Fatal(err)
	}
	return st
}

// BenchmarkQuery asks what the design promises a time for, over 1,000,000 events, or 10,000,000 with
// STROBE_BENCH_LARGE set.
func BenchmarkQuery(b *testing.B) {
	n := 1_000_000
	if os.Getenv("STROBE_BENCH_LARGE") != "" {
		n = 10_000_000
	}
	st := benchStore(b, n)
	after := int64(n / 2)
	hot, rare := "ns0::Class0::method0", "ns39::Class199::method4999"
	for _, q := range []struct {
		name string
		req  Request
	}{
		{"tableAll", Request{View: "table"}},
		{"tableHot", Request{View: "table", Function: &NameFilter{Equals: hot}}},
		{"invariantsAll", Request{View: "invariants"}},
		{"invariantsHot", Request{View: "invariants", Function: &NameFilter{Equals: hot}}},
		{"checkAll", Request{View: "check", Claim: "result >= 0 whenever a < b"}},
		{"checkHot", Request{View: "check", Claim: "a > b || result < 500", Function: &NameFilter{Equals: hot}}},
		{"summary", Request{View: "summary"}},
		{"why", Request{View: "why", Under: int64(n / 2)}},
		{"first50", Request{}},
		{"newest50", Request{TimeFrom: "-8us"}},
		{"functionHot", Request{Function: &NameFilter{Equals: hot}}},
		{"functionRare", Request{Function: &NameFilter{Equals: rare}}},
		{"functionContains", Request{Function: &NameFilter{Contains: "Class7::"}}},
		{"functionVerbose", Request{Function: &NameFilter{Equals: rare}, Verbose: true}},
		{"timeRange", Request{TimeFrom: "-10ms", TimeTo: "-5ms"}},
		{"thread", Request{ThreadName: &ThreadFilter{Contains: "worker-7"}}},
		{"cursor", Request{AfterEventID: &after}},
		{"resultEquals", Request{ReturnValue: &ValueFilter{Equals: "-1"}}},
		{"resultOfHot", Request{Function: &NameFilter{Equals: hot}, ReturnValue: &ValueFilter{GreaterThan: "998"}}},
		{"durationOver", Request{MinDurationNs: 5_000_000}},
		{"regexTimeByThread", Request{Function: &NameFilter{Matches: `method\d*7$`}, TimeFrom: "-50ms", Order: "thread"}},
		{"argumentOfHot", Request{Function: &NameFilter{Equals: hot},
			Argument: &ArgumentFilter{Name: "b", ValueFilter: ValueFilter{Equals: "7"}}}},
		{"argument", Request{Argument: &ArgumentFilter{Name: "b", ValueFilter: ValueFilter{Equals: "51"}}}},
		{"nothing", Request{Function: &NameFilter{Contains: "nosuch"}}},
		{"stats", Request{View: "stats"}},
		{"statsThread", Request{View: "stats", ThreadID: new(int64(103))}},
		{"statsScan", Request{View: "stats", TimeFrom: "1000"}},
		{"tree", Request{View: "tree"}},
		{"treeOfRare", Request{View: "tree", Function: &NameFilter{Equals: rare}}},
	} {
		b.Run(q.name, func(b *testing.B) {
			b.ReportAllocs()
			var total int64
			for b.Loop() {
				total = ask1b(b, st, q.req).TotalCount
			}
			b.ReportMetric(float64(total), "matches")
		})
	}
}

func ask1b(b *testing.B, st *store.Store, req Request) *Result {
	res, err := Run(b.Context(), st, req, Env{})
	if err != nil {
		b.Fatal(err)
	}
	return res
}

// BenchmarkOneFunction asks the views of calls of 1,000,000 events of one function, native and of an interpreter.
func BenchmarkOneFunction(b *testing.B) {
	for _, tree := range []bool{false, true} {
		st := newStore(b, store.Options{MaxEvents: 1 << 40})
		l := modelLayouts()[fnAdd]
		if tree {
			l = value.NewTree([]string{"a", "o"}, 3)
		}
		fn := st.Function(event.Function{Name: "f", Layout: l.Marshal()})
		st.Thread(event.Thread{PID: 100, TID: 100})
		batch := make([]event.Event, 0, 4096)
		for i := range 500_000 {
			enter := le(uint64(i%1000), uint64(i))
			exit := []byte(nil)
			if tree {
				enter = fmt.Appendf(nil, `{"a":%d,"o":{"id":%d,"state":"open","size":%d}}`, i%1000, i, i%7)
				exit = fmt.Appendf(nil, "%d", i%5)
			}
			ts := int64(i) * 1000
			batch = append(batch, event.Event{TS: ts, Kind: event.FunctionEnter, Func: fn, Payload: enter},
				event.Event{TS: ts + 500, Kind: event.FunctionExit, Func: fn, Payload: exit, Ret: int64(i % 5), Flags: event.HasRet})
			if len(batch) == cap(batch) || i == 499_999 {
				if err := st.Put(batch); err != nil {
					b.Fatal(err)
				}
				batch = batch[:0]
			}
		}
		claim := "a >= 0 whenever result == 1"
		for _, req := range []Request{{View: "table"}, {View: "invariants"}, {View: "check", Claim: claim},
			{View: "diff", Claim: "result == 1"}, {View: "summary"}} {
			b.Run(fmt.Sprintf("%s/tree=%v", req.View, tree), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					ask1b(b, st, req)
				}
			})
		}
	}
}
