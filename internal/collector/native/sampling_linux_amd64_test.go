package native

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/event"
)

// burstProgram calls hot from n threads as fast as it can, so often in all, and cold after each thousand.
const burstProgram = `
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) int hot(int a) { __asm__ volatile(""); return a + 1; }
__attribute__((noinline)) int cold(int a) { __asm__ volatile(""); return a; }
static long calls;
static void *run(void *p) { int x = 0; for (long i = 0; i < calls; i++) { x = hot(x); if (i % 1000 == 999) cold(x); } return 0; }
int main(int argc, char **argv) {
	pthread_t t[64];
	int n = atoi(argv[1]);
	calls = atol(argv[2]) / n;
	for (int i = 0; i < n; i++) pthread_create(&t[i], 0, run, 0);
	for (int i = 0; i < n; i++) pthread_join(t[i], 0);
	printf("hot=%ld cold=%ld\n", calls * n, calls / 1000 * n);
	return 0;
}
`

// What a full ring cannot take is counted: records kept and records lost make up all calls.
func TestLossIsCounted(t *testing.T) {
	prog := build(t, "burst.c", burstProgram, "gcc", "-g", "-O2", "-pthread")
	for _, threads := range []string{"1", "4"} {
		rt := New(Config{RingBytes: 1 << 16, Logger: testRuntime(t).log})
		sink := newSink(t)
		sink.keep = false
		s := startProgram(t, rt, sink, filepath.Dir(prog), []string{"hot", "cold"}, prog, threads, "3000000")
		s.wait(t)
		hot, cold := number(s.stdout.String(), "hot"), number(s.stdout.String(), "cold")
		want := 2 * (hot + cold)
		closed := int64(0) // made by the daemon for enters whose exit was lost
		for flags, n := range sink.flags {
			if flags&event.Lost != 0 {
				closed += int64(n)
			}
		}
		got := int64(sink.enters["hot"]+sink.enters["cold"]+sink.exits["hot"]+sink.exits["cold"]) - closed
		if got+sink.dropped != want || sink.dropped == 0 || sink.bad != "" {
			t.Errorf("%s threads: %d records and %d lost, want %d in all and some lost; %s", threads, got, sink.dropped, want,
				sink.bad)
		}
		for name, calls := range map[string]int64{"hot": hot, "cold": cold} {
			if n := int64(sink.enters[name]) + sink.lost[name][0]; n != calls {
				t.Errorf("%s threads: %d enters of %s and %d lost, want %d", threads, sink.enters[name], name, sink.lost[name][0],
					calls)
			}
		}
		t.Logf("%s threads: %d records, %d lost", threads, got, sink.dropped)
	}
}

// Every call of a function that is sampled is counted, in every thread, recorded or not.
func TestSampledCallsAreCounted(t *testing.T) {
	prog := build(t, "burst.c", burstProgram, "gcc", "-g", "-O2", "-pthread")
	for _, threads := range []string{"1", "4"} {
		sink := newSink(t)
		sink.keep, sink.block = false, true
		s := startTracing(t, testRuntime(t), sink, prog, collector.Tracing{
			Probes:   []collector.Probe{{Pattern: "hot", Depth: 3}, {Pattern: "cold", Depth: 3}},
			Sampling: collector.Sampling{Threshold: 100_000, Rate: 0.01},
		}, threads, "20000000")
		s.wait(t)
		hot, cold := number(s.stdout.String(), "hot"), number(s.stdout.String(), "cold")
		if int64(sink.enters["hot"])+sink.skipped != hot || int64(sink.enters["cold"]) != cold {
			t.Errorf("%s threads: hot %d recorded and %d not, cold %d; want %d and %d", threads, sink.enters["hot"],
				sink.skipped, sink.enters["cold"], hot, cold)
		}
		if sink.skipped < hot/2 || !strings.Contains(strings.Join(sink.notes, " "), `"state":"on"`) {
			t.Errorf("%s threads: hot was not sampled: %d of %d calls not recorded; %v", threads, sink.skipped, hot, sink.notes)
		}
		checkBalance(t, sink)
		t.Logf("%s threads: %d recorded, %d not", threads, sink.enters["hot"], sink.skipped)
	}
}

// Sampling ends when it is switched off, while the function is called.
func TestSamplingEnds(t *testing.T) {
	prog := build(t, "burst.c", burstProgram, "gcc", "-g", "-O2", "-pthread")
	sink := newSink(t)
	sink.keep, sink.block = false, true
	on := collector.Tracing{Probes: []collector.Probe{{Pattern: "hot", Depth: 3}},
		Sampling: collector.Sampling{Threshold: 100_000, Rate: 0.001}}
	s := startTracing(t, testRuntime(t), sink, prog, on, "1", "200000000")
	waitFor(t, "sampling", func() bool { return len(s.Status().Sampled) == 1 })
	on.Sampling = collector.Sampling{}
	if _, err := s.SetTracing(context.Background(), on); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the end of sampling", func() bool { return len(s.Status().Sampled) == 0 })
	sink.mu.Lock()
	notes := strings.Join(sink.notes, " ")
	sink.mu.Unlock()
	if !strings.Contains(notes, `"state":"off"`) {
		t.Errorf("the timeline has %s", notes)
	}
}

func startTracing(t testing.TB, rt *Runtime, sink *memorySink, prog string, tracing collector.Tracing,
	args ...string) *started {
	t.Helper()
	sink.tracing = &tracing
	return startProgram(t, rt, sink, filepath.Dir(prog), nil, append([]string{prog}, args...)...)
}

func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); {
		if time.Now().After(end) {
			t.Fatalf("no %s", what)
		}
		<-time.After(time.Millisecond)
	}
}

// Of a function of which enough was recorded a tenth of the share is, and the count stays exact.
func TestEnoughIsSampledLess(t *testing.T) {
	prog := build(t, "burst.c", burstProgram, "gcc", "-g", "-O2", "-pthread")
	sink := newSink(t)
	sink.keep, sink.block = false, true
	s := startTracing(t, testRuntime(t), sink, prog, collector.Tracing{
		Probes:   []collector.Probe{{Pattern: "hot", Depth: 3}},
		Sampling: collector.Sampling{Threshold: 100_000, Rate: 0.01, After: 10_000, Plenty: 1_000_000},
	}, "1", "200000000")
	waitFor(t, "a tenth of the share", func() bool {
		list := s.Status().Sampled
		return len(list) == 1 && list[0].Rate == 0.001
	})
	s.wait(t)
	hot := number(s.stdout.String(), "hot")
	if int64(sink.enters["hot"])+sink.skipped != hot {
		t.Errorf("%d recorded and %d not, of %d", sink.enters["hot"], sink.skipped, hot)
	}
}
