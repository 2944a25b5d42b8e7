package query

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/store"
)

// The session of TestMillionsIntoASmallSession.
const (
	fifoLimit   = 200_000
	fifoBlock   = 8192 // the store drops whole blocks
	fifoThreads = 12
	fifoLine    = 500 // calls between lines of output
	fifoRows    = 40  // bytes that one call event may take in the file
	fifoPace    = 500 // calls per millisecond in the second half: 1,000,000 events per second
	fifoWAL     = 3 * 64 << 20
)

// fifoCalls is how many calls are put, of two events each: 2,000,000 events, or the 10,000,000.
func fifoCalls() int64 {
	if os.Getenv("STROBE_BENCH_LARGE") != "" {
		return 5_000_000
	}
	return 1_000_000
}

// fifoPut puts numbered calls: call i of function i mod numFuncs on thread i mod fifoThreads returns i. With pace it
// puts no more than fifoPace per millisecond.
func fifoPut(t *testing.T, st *store.Store, from, to int64, pace bool) {
	t.Helper()
	batch := make([]event.Event, 0, 2100)
	rnd := rand.New(rand.NewPCG(uint64(from), 1))
	start := time.Now()
	for i := from; i < to; i++ {
		fn, th, ts := event.FuncID(i%numFuncs), event.ThreadID(i%fifoThreads), i*1000
		// one word that compresses and one that does not
		batch = append(batch, event.Event{TS: ts, Kind: event.FunctionEnter, Func: fn, Thread: th,
			Payload: le(uint64(i), rnd.Uint64())},
			event.Event{TS: ts + 400, Kind: event.FunctionExit, Func: fn, Thread: th, Ret: i, Flags: event.HasRet})
		if i%fifoLine == 0 {
			batch = append(batch, event.Event{TS: ts + 500, Kind: event.Stdout, Thread: th,
				Payload: fmt.Appendf(nil, "line %d\n", i/fifoLine)})
		}
		if len(batch) >= 2000 || i == to-1 {
			if ahead := time.Duration((i-from)/fifoPace)*time.Millisecond - time.Since(start); pace && ahead > 0 {
				<-time.After(ahead)
			}
			if err := st.Put(batch); err != nil {
				t.Fatal(err)
			}
			batch = batch[:0]
		}
	}
	if err := st.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// 10,000,000 events into a session limited to 200,000: the newest calls and all output are there, the file stays small,
// and questions are answered meanwhile.
func TestMillionsIntoASmallSession(t *testing.T) {
	st := newStore(t, store.Options{MaxEvents: fifoLimit})
	for i := range numFuncs {
		st.Function(event.Function{Name: modelNames[i], File: modelFiles[i]})
	}
	for i := range fifoThreads {
		st.Thread(event.Thread{PID: 100, TID: int32(100 + i), Name: fmt.Sprintf("worker-%d", i)})
	}
	calls := fifoCalls()
	lines := (calls + fifoLine - 1) / fifoLine
	var largest, largestLog int64
	for half, pace := range []bool{false, true} { // as fast as the store takes them, then as fast as programs make them
		from, to := calls/2*int64(half), calls/2*int64(half+1)
		ctx, cancel := context.WithCancel(context.Background())
		var asking sync.WaitGroup
		times := map[string][]time.Duration{}
		asking.Go(func() { fifoAsk(ctx, t, st, times, &largest, &largestLog) })
		start := time.Now()
		fifoPut(t, st, from, to, pace)
		took := time.Since(start)
		cancel()
		asking.Wait()
		t.Logf("%d calls in %v, %.2f million events per second", to-from, took.Round(time.Millisecond),
			float64(2*(to-from))/took.Seconds()/1e6)
		for what, d := range times {
			slices.Sort(d)
			t.Logf("beside it, %s: %d answers, median %v, 99 %% %v, longest %v", what, len(d), d[len(d)/2], d[len(d)*99/100],
				d[len(d)-1])
		}
		if len(times) == 0 {
			t.Error("no question was answered")
		}
	}
	fifoMeasure(st, &largest, &largestLog)
	bound := int64(fifoLimit+2*fifoBlock)*fifoRows + lines*400 + 4<<20
	t.Logf("the file had at most %d bytes, its log %d", largest, largestLog)
	if largest > bound || largestLog > fifoWAL {
		t.Errorf("the file grew to %d bytes, its log to %d; bounds are %d and %d", largest, largestLog, bound, fifoWAL)
	}
	fifoCheck(t, st, calls, lines)
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	if n := store.FileSize(st.Path()); n > bound {
		t.Errorf("the closed file has %d bytes, bound %d", n, bound)
	} else {
		t.Logf("the closed file has %d bytes", n)
	}
}

// fifoMeasure notes how large the file and its log are.
func fifoMeasure(st *store.Store, largest, largestLog *int64) {
	for suffix, most := range map[string]*int64{"": largest, "-wal": largestLog} {
		if info, err := os.Stat(st.Path() + suffix); err == nil {
			*most = max(*most, info.Size())
		}
	}
}

// fifoAsk asks until ctx ends, as a client would that watches.
func fifoAsk(ctx context.Context, t *testing.T, st *store.Store, times map[string][]time.Duration, largest,
	largestLog *int64) {
	questions := map[string]Request{
		"newest":   {TimeFrom: "-1ms", Limit: 50},
		"function": {Function: &NameFilter{Equals: "app::add"}, EventType: Kinds{"function_exit"}, Limit: 50},
		"stats":    {View: "stats"},
		"output":   {EventType: Kinds{"stdout"}, Limit: 50},
	}
	for ctx.Err() == nil {
		for what, r := range questions {
			start := time.Now()
			_, err := Run(ctx, st, r, Env{})
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				t.Errorf("%s: %v", what, err)
				return
			}
			times[what] = append(times[what], time.Since(start))
		}
		fifoMeasure(st, largest, largestLog)
	}
}

// fifoCheck reads back what must be there.
func fifoCheck(t *testing.T, st *store.Store, calls, lines int64) {
	t.Helper()
	s := st.Stats()
	if s.Kept < fifoLimit || s.Kept >= fifoLimit+fifoBlock || s.Kept+s.Evicted != 2*calls {
		t.Errorf("%d call events are kept and %d dropped of %d, the limit is %d", s.Kept, s.Evicted, 2*calls, fifoLimit)
	}
	sn, err := st.Snapshot(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer sn.Close()
	next, line := calls-1, int64(0) // exits newest first
	err = sn.Scan(context.Background(), store.Filter{Kinds: 1 << event.FunctionExit}, store.ScanOptions{Reverse: true},
		func(r *store.Row) bool {
			if r.Ret != next || r.Func != event.FuncID(next%numFuncs) || r.Thread != event.ThreadID(next%fifoThreads) ||
				r.TS != next*1000+400 {
				t.Errorf("event %d is %+v, want the exit of call %d", r.ID, r, next)
				return false
			}
			next--
			return true
		})
	if err != nil || calls-1-next < fifoLimit/2 {
		t.Errorf("the newest %d calls are there, want %d (%v)", calls-1-next, fifoLimit/2, err)
	}
	err = sn.Scan(context.Background(), store.Filter{Kinds: 1 << event.Stdout}, store.ScanOptions{Cold: true},
		func(r *store.Row) bool {
			if want := fmt.Sprintf("line %d\n", line); string(r.Payload) != want || r.TS != line*fifoLine*1000+500 {
				t.Errorf("output %d is %q at %d, want %q", r.ID, r.Payload, r.TS, want)
				return false
			}
			line++
			return true
		})
	if err != nil || line != lines {
		t.Errorf("%d lines of output are there, want %d (%v)", line, lines, err)
	}
	res := ask1(t, st, Request{View: "stats"})
	var all int64
	for _, r := range res.Rows {
		all += r.Calls
	}
	if all != calls { // counts are of all calls, dropped ones too
		t.Errorf("view stats counts %d calls, want %d", all, calls)
	}
}
