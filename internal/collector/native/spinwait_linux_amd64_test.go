package native

import (
	_ "embed"
	"testing"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/strobetest"
	"github.com/strobe-debug/strobe/internal/waits"
)

//go:embed testdata/spins.cpp
var spins string

// TestSpins: of a thread that spins it is said on what, and whose that is where anything says so; of one that computes,
// or waits for what does change, never.
func TestSpins(t *testing.T) {
	prog := strobetest.BuildSource(t, "cpp", "gcc-O2", "spins", spins)
	for _, one := range []struct{ how, on, known string }{
		{"pthread", "g_pthread", "lock"}, {"exchange", "g_gate.word", ""}, {"testfirst", "g_gate.word", ""},
		{"compare", "g_gate.word", ""}, {"ticket", "g_serving", ""}, {"queue", "me.locked", ""}, {"flag", "g_flag", ""},
		{"backoff", "g_gate.word", ""}, {"yield", "g_gate.word", ""}, {"ready", "g_ready", ""},
		{"owned", "g_gate.word", "lock"},
		{"random", "", ""}, {"clock", "", ""}, {"memory", "", ""}, {"progress", "", ""}, {"long", "", ""},
	} {
		t.Run(one.how, func(t *testing.T) {
			t.Parallel()
			var probes []collector.Probe
			if one.how == "pthread" {
				probes = []collector.Probe{{Pattern: "@locks"}}
			}
			s := startTracing(t, testRuntime(t), newSink(t), prog, collector.Tracing{Probes: probes}, one.how)
			second := func(r *waits.Report) *waits.Row {
				for i := range r.Threads {
					if r.Threads[i].ThreadID != s.PID() {
						return &r.Threads[i]
					}
				}
				return &waits.Row{}
			}
			if one.on == "" {
				for range 4 {
					r := threadsOf(t, s, func(r *waits.Report) bool { return second(r).State == waits.Running })
					if row := second(r); row.WaitingFor != nil && row.WaitingFor.Kind == "spin" {
						t.Fatalf("it spins on %+v", row.WaitingFor)
					}
				}
				return
			}
			threadsOf(t, s, func(r *waits.Report) bool {
				w := second(r).WaitingFor
				return w != nil && w.Kind == "spin" && w.Name == one.on && w.OwnerKnownBy == one.known &&
					(one.known == "" || w.Owner == s.PID())
			})
		})
	}
}
