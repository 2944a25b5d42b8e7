package jvm

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/strobetest"
	"github.com/strobe-debug/strobe/internal/waits"
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
			want := map[string][3]string{
				"first":  {"Locked.one Locked.java:1", "mutex java.lang.StringBuilder", "Locked.start.lambda"},
				"second": {"Locked.two Locked.java:", "mutex java.lang.Object", "java.lang.reflect.Method.invoke"},
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
					if w, ok := want[row.Name]; ok && row.ThreadID > 0 && row.WaitingFor != nil && row.WaitingFor.What() == w[1] &&
						row.WaitingFor.Owner > 0 && row.WaitingFor.Owner != row.ThreadID && len(row.Backtrace) > 1 &&
						strings.HasPrefix(row.Backtrace[0], w[0]) && slices.ContainsFunc(row.Backtrace[1:], begins(w[2])) {
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

func begins(with string) func(string) bool {
	return func(s string) bool { return strings.HasPrefix(s, with) }
}

// TestWaits: what virtual threads and others wait for is told with who has it, those that do the same share a row, and
// a circle that goes through both kinds is a deadlock.
func TestWaits(t *testing.T) {
	for _, in := range strobetest.JavasFrom(t, 21) {
		t.Run(in.Name, func(t *testing.T) {
			b := under(t, in, "", []string{"Waits.none"}, "-cp", compiled(t, in, "Waits"), "Waits")
			stdin, err := b.cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := b.cmd.Start(); err != nil {
				t.Fatal(err)
			}
			var rows []collector.ThreadRow
			defer func() {
				if t.Failed() {
					t.Logf("%+v", rows)
				}
			}()
			row := func(name string) collector.ThreadRow {
				i := slices.IndexFunc(rows, func(r collector.ThreadRow) bool { return strings.Contains(r.Name+" ", name+" ") })
				if i < 0 || rows[i].WaitingFor == nil {
					return collector.ThreadRow{WaitingFor: &collector.ThreadWait{}}
				}
				return rows[i]
			}
			var found []collector.Deadlock
			strobetest.Eventually(t, 20*time.Second, "they wait", func() bool {
				rows, err = b.member.Threads(t.Context())
				found = waits.Circles(rows)
				return err == nil && len(found) == 1 && row("w-0").Count == 300 && row("joiner").WaitingFor.Kind == "join"
			})
			right, many := row("right"), row("w-0")
			if w := row("joiner").WaitingFor; w.Owner != right.ThreadID && in.Feature() == "21" || right.ThreadID == 0 {
				t.Errorf("joiner waits for %+v, right is thread %d", w, right.ThreadID)
			}
			if many.WaitingFor.What() != "latch java.util.concurrent.CountDownLatch" || !strings.HasPrefix(many.At, "Waits.await ") {
				t.Errorf("w-0 waits for %q at %s", many.WaitingFor.What(), many.At)
			}
			text := found[0].Text
			for _, says := range []string{"left waits in Waits.both Waits.java:14 for mutex java.util.concurrent.locks.ReentrantLock",
				fmt.Sprintf("thread %d (right)", right.ThreadID)} {
				if !strings.Contains(text, says) {
					t.Errorf("%s\ndoes not say %s", text, says)
				}
			}
			stdin.Close()
			if err := b.cmd.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
}
