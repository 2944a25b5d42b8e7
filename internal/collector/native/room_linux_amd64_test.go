package native

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/strobetest"
)

const roomProgram = `#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
__attribute__((noinline)) long called(long n) { __asm__ volatile(""); return n + 1; }
int main(int argc, char **argv) {
	char b;
	struct sched_param p = {1};
	long n = 0;
	if (read(0, &b, 1) != 1) return 1;
	if (!strcmp(argv[1], "fifo") && sched_setscheduler(0, SCHED_FIFO, &p)) return 2;
	for (int i = 0; i < 300000; i++) n = called(n);
	struct sched_param none = {0};
	sched_setscheduler(0, SCHED_OTHER, &none);
	printf("done %ld\n", n);
	fflush(stdout);
	if (!fopen(argv[2], "w")) return 4;
	if (read(0, &b, 1) != 1) return 3;
	return 0;
}
`

// TestNoRoom keeps the rings from being emptied while a program fills one. An ordinary thread waits, gives up, and is
// not kept again as long as nothing changes; one of a real-time policy does not wait at all. What is lost is counted,
// and the program ends as it would.
func TestNoRoom(t *testing.T) {
	strobetest.NeedPtrace(t)
	prog := build(t, "room.c", roomProgram, "gcc", "-g", "-O2")
	for _, test := range []struct {
		policy string
		full   collector.OnFull
		waits  bool
	}{{"other", collector.OnFullWait, true}, {"fifo", collector.OnFullWait, false},
		{"other", collector.OnFullDrop, false}} {
		t.Run(fmt.Sprint(test.policy, " ", test.full), func(t *testing.T) {
			sink, done := newSink(t), filepath.Join(t.TempDir(), "done")
			sink.keep, sink.full = false, test.full
			s := startTracing(t, testRuntime(t), sink, prog,
				collector.Tracing{Probes: []collector.Probe{{Pattern: "called", Depth: 1}}}, test.policy, done)
			if err := s.Flush(context.Background()); err != nil {
				t.Fatal(err)
			}
			m := s.mover
			m.mu.Lock()
			s.stdin.Write([]byte{1}) //nolint:errcheck // then there is no output
			waitFor(t, "end of the calls", func() bool { _, err := os.Stat(done); return err == nil })
			times := uint64(0)
			for _, p := range s.processes() {
				for i := range p.region.Rings() {
					times += p.region.Header(i).Waits
				}
			}
			m.mu.Unlock()
			s.stdin.Write([]byte{1}) //nolint:errcheck // it would not end
			s.wait(t)
			if (times > 0) != test.waits || times > 10 {
				t.Errorf("%d waits", times)
			}
			if got := int64(sink.enters["called"]) + sink.lost["called"][0]; got != 300000 || sink.lost["called"][0] == 0 {
				t.Errorf("%d calls are recorded and %d lost, want 300000 together", sink.enters["called"], sink.lost["called"][0])
			}
			if out := s.stdout.String(); out != "done 300000\n" || s.Exit().Code != 0 {
				t.Errorf("%q, %+v", out, s.Exit())
			}
			checkBalance(t, sink)
		})
	}
}
