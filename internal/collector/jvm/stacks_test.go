package jvm

import (
	"strings"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/strobetest"
)

// TestThreads: threads have their names, frames and lines, and say who keeps them out.
func TestThreads(t *testing.T) {
	for _, in := range strobetest.Javas(t) {
		t.Run(in.Name, func(t *testing.T) {
			b := under(t, in, "", []string{"Locked.one"}, "-cp", compiled(t, in, "Locked"), "Locked")
			stdin, err := b.cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := b.cmd.Start(); err != nil {
				t.Fatal(err)
			}
			want := map[string][2]string{
				"first":  {"Locked.one Locked.java:1", `waits for the monitor of java.lang.StringBuilder, which thread "second" has`},
				"second": {"Locked.two Locked.java:", `waits for the monitor of java.lang.Object, which thread "first" has`},
			}
			var rows []collector.ThreadRow
			defer func() {
				if t.Failed() {
					t.Logf("%+v", rows)
				}
			}()
			strobetest.Eventually(t, 20*time.Second, "both wait", func() bool {
				rows, err = b.member.Threads(t.Context())
				if err != nil {
					return false
				}
				found := 0
				for _, row := range rows {
					if w, ok := want[row.Name]; ok && row.ThreadID > 0 && row.Note == w[1] && len(row.Backtrace) > 1 &&
						strings.HasPrefix(row.Backtrace[0], w[0]) && strings.HasPrefix(row.Backtrace[1], "Locked.start.lambda") {
						found++
					}
				}
				return found == 2
			})
			stdin.Close()
			if err := b.cmd.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
}
