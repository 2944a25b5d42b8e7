package native

import (
	"context"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/strobetest"
)

// TestPatternsComeAndGo changes patterns while eight threads are in the very functions. Of one function, which stays
// hooked, every call is there, and enters and exits balance.
func TestPatternsComeAndGo(t *testing.T) {
	changes := 40
	if strobetest.Soaks(t, "160 of 200 changes") {
		changes = 200
	}
	if n, err := strconv.Atoi(os.Getenv("STROBE_CHANGES")); err == nil {
		changes = n
	}
	for _, variant := range []string{"gcc-O0", "gcc-O2", "clang-O2"} {
		t.Run(variant, func(t *testing.T) {
			rt := testRuntime(t)
			sink := newSink(t)
			sink.keep, sink.block = false, true
			s := startProgram(t, rt, sink, strobetest.TargetsDir(t), []string{"milestone"},
				strobetest.Build(t, "threads", variant), "0")
			for i := range changes {
				probes := []collector.Probe{{Pattern: "milestone"}}
				if i%2 == 0 {
					probes = append(probes, collector.Probe{Pattern: "step"}, collector.Probe{Pattern: "twice"})
				}
				if _, err := s.SetTracing(context.Background(), collector.Tracing{Probes: probes}); err != nil {
					t.Fatalf("change %d: %v; the program ended with %+v after\n%s", i, err, s.Exit(), s.stdout)
				}
			}
			s.stdin.WriteString("\n")
			s.wait(t)
			if out := s.stdout.String(); s.Exit() != (collector.ExitInfo{}) || !strings.Contains(out, "ok=1") {
				t.Errorf("the program ended with %+v and wrote %q", s.Exit(), out)
			}
			checkBalance(t, sink)
			if want := number(s.stdout.String(), "milestone"); int64(sink.enters["milestone"]) != want || sink.dropped != 0 {
				t.Errorf("%d calls of milestone and %d dropped, want %d", sink.enters["milestone"], sink.dropped, want)
			}
			t.Logf("%d calls, %d dropped", sink.total/2, sink.dropped)
		})
	}
}

func checkBalance(t *testing.T, sink *memorySink) {
	t.Helper()
	if sink.bad != "" {
		t.Error(sink.bad)
	}
	for name, n := range sink.enters {
		if sink.exits[name] != n {
			t.Errorf("%s: %d enters, %d exits", name, n, sink.exits[name])
		}
	}
}

// number reads name=N out of what a program printed.
func number(out, name string) int64 {
	for _, word := range strings.Fields(out) {
		if v, ok := strings.CutPrefix(word, name+"="); ok {
			n, _ := strconv.ParseInt(v, 10, 64)
			return n
		}
	}
	return -1
}
