package native

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/symbol"
)

// laterProgram calls hot 40,000 times, then for each byte that it gets has another process do so
// 20,000 times: a forked one, then one with an image of its own, which waits for a byte before it
// ends.
const laterProgram = `
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) int hot(int a) { __asm__ volatile(""); return a + 1; }
static void many(int n) { for (int i = 0; i < n; i++) hot(i); }
static void next(void) { char c; if (read(0, &c, 1) != 1) _exit(3); }
int main(int argc, char **argv) {
	if (argc > 1) { many(20000); next(); return 0; }
	many(40000);
	next();
	if (fork() == 0) { many(20000); _exit(0); }
	wait(0);
	next();
	if (fork() == 0) { execl(argv[0], argv[0], "again", (char *)0); _exit(4); }
	wait(0);
	return 0;
}
`

// What was recorded of a function in the session counts for the processes that come later: a process
// that calls it less often than it takes begins with it sampled, but for its first calls, and every
// call is counted. It was decided for each process alone, so that a suite of short programs was
// recorded whole, at fifty times its time.
func TestSampledInLaterProcesses(t *testing.T) {
	prog := build(t, "later.c", laterProgram, "gcc", "-g", "-O2")
	sink := newSink(t)
	on := collector.Tracing{Probes: []collector.Probe{{Pattern: "hot", Depth: 3}},
		Sampling: collector.Sampling{Threshold: 1, After: 30_000, Rate: 0.01}}
	s := startTracing(t, testRuntime(t), sink, prog, on)
	waitFor(t, "sampling", func() bool { return len(s.Status().Sampled) == 1 })
	s.stdin.WriteString("f")
	waitFor(t, "the forked process", func() bool { return len(sink.begun()) == 1 })
	s.stdin.WriteString("e")
	waitFor(t, "the last process", func() bool {
		pids := sink.begun()
		return len(pids) == 2 && len(sink.callsOf(pids[1])) >= 2*ring.WholeCalls
	})
	waitFor(t, "all its calls", func() bool {
		if err := s.Flush(context.Background()); err != nil {
			t.Fatal(err)
		}
		sink.mu.Lock()
		defer sink.mu.Unlock()
		return int64(sink.enters["hot"])+sink.skipped == 80_000 // while it waits
	})
	for _, pid := range sink.begun() {
		calls := sink.callsOf(pid)
		if len(calls) > 2_000 || len(calls) < ring.WholeCalls {
			t.Errorf("of the 20000 calls of process %d %d are recorded, want some 300", pid, len(calls))
			continue
		}
		for i, args := range calls[:ring.WholeCalls] {
			if args != fmt.Sprintf("[{a %d}]", i) {
				t.Fatalf("call %d of process %d is hot%s: the first are to be whole", i, pid, args)
			}
		}
	}
	on.Sampling.Threshold = 1 << 40 // the function is rare now
	if _, err := s.SetTracing(context.Background(), on); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		sink.mu.Lock()
		defer sink.mu.Unlock()
		if t.Failed() {
			t.Logf("threads %+v\nnotes %s", sink.threads, strings.Join(sink.notes, "\n"))
		}
	})
	waitFor(t, "the end of sampling", func() bool {
		sink.mu.Lock()
		defer sink.mu.Unlock()
		last := ""
		for _, th := range sink.threads {
			if th.Name != "" { // else it has ended
				last = fmt.Sprintf(`"pid":%d,"state":"off"`, th.PID)
			}
		}
		return slices.ContainsFunc(sink.notes, func(n string) bool { return strings.Contains(n, last) })
	})
	waitFor(t, "a status without sampling", func() bool { return len(s.Status().Sampled) == 0 })
	s.stdin.WriteString("x")
	s.wait(t)
	if n := int64(sink.enters["hot"]) + sink.skipped; n != 80_000 || sink.bad != "" {
		t.Errorf("%d calls recorded and %d not, want 80000 in all; %s", sink.enters["hot"], sink.skipped, sink.bad)
	}
	checkBalance(t, sink)
}

// begun lists the processes that began with something sampled.
func (s *memorySink) begun() (pids []int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.notes {
		var pid int32
		if at := strings.Index(n, `"pid":`); strings.Contains(n, `"because"`) && at >= 0 {
			fmt.Sscanf(n[at:], `"pid":%d`, &pid)
			pids = append(pids, pid)
		}
	}
	return slices.Compact(pids) // one that is forked begins with it, and again with another image
}

// callsOf lists the arguments of a process's calls.
func (s *memorySink) callsOf(pid int32) (calls []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.events {
		if e.Kind == event.FunctionEnter && s.threads[e.Thread].PID == pid {
			calls = append(calls, fmt.Sprint(s.layouts[e.Func].Enter(e.Payload)))
		}
	}
	return calls
}

// Many functions that are each called a little less often than it takes held a program up as one does that is
// called very often,
// and the more they did the less often they seemed to be called.
func TestCrowdOfFunctionsIsSampled(t *testing.T) {
	fs := &fames{all: map[functionKey]*fame{}}
	s := &collector.Sampling{Threshold: 100_000, After: 1_000_000, Rate: 0.01}
	d := &drainer{t: &target{}}
	for low := range 60 {
		fs.of(functionKey{low: symbol.Addr(low)}).recorded(9_000)
	}
	if got := fs.limit(s); got != 10_000 {
		t.Errorf("at 540000 recorded calls a second the limit is %d, want 10000", got)
	}
	asked := *s
	asked.After = 0
	if got := fs.limit(&asked); got != s.Threshold {
		t.Errorf("of who asked for sampling the limit is %d, want %d", got, s.Threshold)
	}
	d.t.fames.now, d.t.fames.all = fs.now, fs.all
	for i := range heatTicks + 1 { // a second without a call
		d.tickFame(s, time.Unix(0, 0).Add(time.Duration(i+1)*heatTick))
	}
	if got := d.t.fames.limit(s); got != s.Threshold {
		t.Errorf("of few calls the limit is %d, want %d", got, s.Threshold)
	}
	f := &fame{of: fs, crowded: true}
	if got := f.least(s); got != 9_000 {
		t.Errorf("one of many is recorded whole again below %d calls a second, want 9000", got)
	}
}

// What a session does not keep need not be recorded: then a tenth is enough of each function.
func TestPlentyIsRecorded(t *testing.T) {
	fs := &fames{all: map[functionKey]*fame{}}
	s := &collector.Sampling{Threshold: 100_000, After: 1_000_000, Plenty: 10_000_000, Rate: 0.01}
	for low := range 11 {
		if got := fs.after(s); got != 1_000_000 {
			t.Errorf("with %d calls recorded, one is sampled after %d", low*1_000_000, got)
		}
		fs.of(functionKey{low: symbol.Addr(low)}).recorded(1_000_000)
	}
	if got := fs.after(s); got != 100_000 {
		t.Errorf("with 11,000,000 calls recorded, one is sampled after %d, want 100000", got)
	}
	f := fs.of(functionKey{})
	if f.keeps(250_000, s); f.rate(s) != 0.01 {
		t.Errorf("rate %v", f.rate(s))
	}
	if f.keeps(1, s); f.rate(s) != 0.001 || f.rate(&collector.Sampling{Rate: 0.01}) != 0.01 {
		t.Errorf("rates %v, and %v of who asked for one", f.rate(s), f.rate(&collector.Sampling{Rate: 0.01}))
	}
	if s.Rate = 1; f.rate(s) != 1 {
		t.Errorf("rate %v of who wants all", f.rate(s))
	}
}
