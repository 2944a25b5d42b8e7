//go:build linux

package acceptance

import (
	"fmt"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// TestThreadsOfPython pauses all threads for one's sake, steps it with the others running, which pause again with its
// end, and runs to a line with all.
func TestThreadsOfPython(t *testing.T) {
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	const source = `import threading
done = [0, 0, 0]
stop = False
def turn(k):
    while not stop:
        done[k] += 1
def tick(n):
    m = n + 1
    m = m * 2
    return m  # end
threads = [threading.Thread(target=turn, args=(k,), name="turner-%d" % k) for k in (1, 2)]
for t in threads:
    t.start()
input()
tick(3)
tick(4)
stop = True
for t in threads:
    t.join()
print("total", all(done[1:]))
`
	for _, in := range strobetest.Pythons(t) {
		t.Run(in.Name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "turns.py", source, 0o644)
			l := s.Launch(t, in.Path, dir, []string{"turns.py"}, args{"cwd": dir, "stdin": "pipe"})
			t.Cleanup(func() { s.Stop(t, l.SessionID) })
			d := &debugged{t, s, l.SessionID}
			strobetest.Eventually(t, endLimit, "its code", func() bool {
				return d.points(args{"add": []any{args{"function": "tick", "allThreads": true}}}).Breakpoints[0].Locations > 0 ||
					len(d.points(args{"remove": []string{"all"}}).Breakpoints) > 0
			})
			d.input("go\n")
			// stand waits for all three and returns the one that the others stand for.
			stand := func(what string) pausedThread {
				t.Helper()
				all := d.paused(3)
				var first []pausedThread
				for _, p := range all {
					if !strings.HasPrefix(p.Reason, "with thread ") {
						first = append(first, p)
					}
				}
				if len(all) != 3 || len(first) != 1 {
					t.Fatalf("%s: %+v", what, all)
				}
				for _, p := range all {
					if p.ThreadID != first[0].ThreadID && (p.Reason != fmt.Sprintf("with thread %d", first[0].ThreadID) ||
						!strings.Contains(fmt.Sprint(p.Backtrace), "turns.turn ")) {
						t.Errorf("%s: beside it stands %+v", what, p)
					}
				}
				return first[0]
			}
			p := stand("a breakpoint")
			if p.Function != "turns.tick" || p.Reason != "breakpoint" {
				t.Errorf("the breakpoint: %+v", p)
			}
			d.next(args{"action": "step-over", "threadId": p.ThreadID, "allThreads": true})
			if step := stand("a step with all"); step.Line != p.Line+1 || step.Reason != "step" {
				t.Errorf("the step: %+v", step)
			}
			if r := d.next(args{"action": "step-over", "threadId": p.ThreadID}); len(r.PausedThreads) != 3 {
				t.Errorf("a step of one alone: %+v", r)
			}
			d.next(args{"until": fmt.Sprintf("turns.py:%d", lineOf(source, "# end")), "waitMs": 1000})
			d.paused(1) // the others may run
			d.points(args{"remove": []string{"all"}})
			for range 5 { // each that was told goes on
				if r := d.next(args{"waitMs": 200}); r.Status != "paused" {
					break
				}
			}
			if out := d.output(); out != "total True\n" {
				t.Errorf("it wrote %q", out)
			}
		})
	}
}
