package python

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/strobe-debug/strobe/internal/agentlink"
	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/strobetest"
)

// below is a program of testdata that an agent is to record.
type below struct {
	cmd  *exec.Cmd
	link *agentlink.Link
	book *strobetest.Book
}

// under prepares a program below an agent. sink stands before the book, where it is not nil.
func under(t *testing.T, in strobetest.Interpreter, onFull collector.OnFull, rules []agentlink.Rule,
	sink func(*strobetest.Book) collector.Sink, args ...string) below {
	t.Helper()
	b := below{book: strobetest.NewBook()}
	to := collector.Sink(b.book)
	if sink != nil {
		to = sink(b.book)
	}
	link, err := agentlink.Listen(agentlink.Options{Sink: to, Depth: 3})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(link.Close)
	b.link = link
	if err := link.Apply(t.Context(), agentlink.Set{OnFull: onFull, Rules: rules}); err != nil {
		t.Fatal(err)
	}
	agent, err := filepath.Abs("agent")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	b.cmd = exec.CommandContext(ctx, in.Path, args...)
	b.cmd.Env = append(os.Environ(), "PYTHONPATH="+agent, "PYTHONPYCACHEPREFIX="+t.TempDir(), agentlink.EnvFolder+"="+
		link.Dir())
	return b
}

func only(glob string) []agentlink.Rule {
	return []agentlink.Rule{{ID: 1, On: "name", Glob: glob, Depth: 3}}
}

// TestCrash: an exception that ends the program has what led to it, one that ends a thread ends nothing more, and the
// program's own report and exit code are those that it has without an agent.
func TestCrash(t *testing.T) {
	for _, in := range strobetest.Pythons(t) {
		t.Run(in.Name, func(t *testing.T) {
			var want, got bytes.Buffer
			plain := exec.Command(in.Path, "testdata/crash.py")
			plain.Stderr = &want
			var exit *exec.ExitError
			if err := plain.Run(); !errors.As(err, &exit) || exit.ExitCode() != 1 {
				t.Fatalf("without an agent: %v", err)
			}
			b := under(t, in, "wait", only("crash.**"), nil, "testdata/crash.py")
			b.cmd.Stderr = &got
			if err := b.cmd.Run(); !errors.As(err, &exit) || exit.ExitCode() != 1 {
				t.Errorf("with an agent: %v", err)
			}
			b.link.Close()
			if diff := cmp.Diff(want.String(), got.String()); diff != "" {
				t.Errorf("stderr without an agent (-) and with it (+):\n%s", diff)
			}
			var said []string
			for _, c := range b.book.Crashes {
				line := fmt.Sprintf("%s: %s at %s:%d, fatal %t, thread %s", c.ExceptionType, c.ExceptionMessage, c.Function, c.Line,
					c.Fatal, b.book.Threads[c.Thread].Name)
				for _, cause := range c.Causes {
					line += fmt.Sprintf("\n%s %s: %s", cause.Relation, cause.Type, cause.Message)
				}
				said = append(said, line)
			}
			diff := cmp.Diff([]string{
				"OSError: thread 7 at crash.failing:26, fatal false, thread worker",
				"RuntimeError: no bill of 2 at crash.bill:22, fatal true, thread MainThread\ncontext ValueError: no price for " +
					"pear\ncause KeyError: 'pear'",
			}, said)
			if diff != "" {
				t.Errorf("crashes:\n%s", diff)
			}
		})
	}
}

// TestForks: children of fork tell their own calls, and nobody tells those of before again.
func TestForks(t *testing.T) {
	for _, in := range strobetest.Pythons(t) {
		t.Run(in.Name, func(t *testing.T) {
			b := under(t, in, "wait", only("forks.work"), nil, "testdata/forks.py")
			if out, err := b.cmd.CombinedOutput(); err != nil || len(out) > 0 {
				t.Errorf("%v: %s", err, out)
			}
			b.link.Close()
			calls := map[string]int{}
			processes := map[int]map[int32]bool{} // of each hundred of calls
			for _, e := range b.book.Told {
				if e.Kind != event.FunctionEnter {
					continue
				}
				var n int
				if _, err := fmt.Sscanf(string(e.Payload), `{"n":%d}`, &n); err != nil {
					t.Fatalf("%s: %v", e.Payload, err)
				}
				if processes[n/100] == nil {
					processes[n/100] = map[int32]bool{}
				}
				processes[n/100][b.book.Threads[e.Thread].PID] = true
				calls[string(e.Payload)]++
			}
			for n := range 1200 {
				want := 0
				if n < 100 || n >= 1000 {
					want = 1
				}
				if got := calls[fmt.Sprintf(`{"n":%d}`, n)]; got != want {
					t.Errorf("work(%d) was told %d times, want %d", n, got, want)
				}
			}
			if exits := b.book.Count(event.FunctionExit, "forks.work"); exits != 300 {
				t.Errorf("%d exits", exits)
			}
			all := map[int32]bool{}
			for _, of := range processes {
				maps.Copy(all, of)
			}
			if len(processes) != 3 || len(all) != 3 || len(processes[0])+len(processes[10])+len(processes[11]) != 3 {
				t.Errorf("calls in processes %v", processes)
			}
		})
	}
}

// standing is a sink that takes nothing until it may.
type standing struct {
	collector.Sink
	may chan struct{}
}

func (s standing) Events(batch []event.Event) {
	<-s.may
	s.Sink.Events(batch)
}

// TestLossIsCounted: where the reader stands and nobody waits for it, what was written and what was lost are what was
// called.
func TestLossIsCounted(t *testing.T) {
	const n = 150_000
	for _, in := range strobetest.Pythons(t) {
		t.Run(in.Name, func(t *testing.T) {
			may := make(chan struct{})
			open := sync.OnceFunc(func() { close(may) })
			t.Cleanup(open)
			b := under(t, in, "drop", only("burst.take"), func(b *strobetest.Book) collector.Sink { return standing{b, may} },
				"testdata/burst.py", fmt.Sprint(n))
			if out, err := b.cmd.CombinedOutput(); err != nil || len(out) > 0 {
				t.Errorf("%v: %s", err, out)
			}
			open()
			b.link.Close()
			enters, exits := b.book.Count(event.FunctionEnter, "burst.take"), b.book.Count(event.FunctionExit, "burst.take")
			lost := b.book.LostOf("burst.take")
			if int64(enters)+lost[0] != n || int64(exits)+lost[1] != n || lost[0] == 0 || enters == 0 {
				t.Errorf("%d enters and %d exits are there, %v are lost, of %d calls", enters, exits, lost, n)
			}
		})
	}
}

// TestBusy: a pattern takes effect while the main thread spins in a function that began before, and its removal does.
func TestBusy(t *testing.T) {
	for _, in := range strobetest.Pythons(t) {
		t.Run(in.Name, func(t *testing.T) {
			b := under(t, in, "wait", nil, nil, "testdata/spin.py")
			stdin, err := b.cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			stdout, err := b.cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := b.cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil || line != "spins\n" {
				t.Errorf("it wrote %q: %v", line, err)
			}
			apply := func(rules []agentlink.Rule) {
				t.Helper()
				if err := b.link.Apply(t.Context(), agentlink.Set{OnFull: "wait", Rules: rules}); err != nil {
					t.Fatal(err)
				}
			}
			count := func() int { return b.book.Count(event.FunctionEnter, "spin.step") }
			if n := count(); n != 0 {
				t.Errorf("%d calls before anything was traced", n)
			}
			began := time.Now()
			apply(only("spin.step"))
			strobetest.Eventually(t, 10*time.Second, "a call", func() bool { return count() > 0 })
			t.Logf("first call after %v", time.Since(began))
			apply(nil)
			var behind int
			strobetest.Eventually(t, 10*time.Second, "the calls of before the removal", func() bool {
				before := behind
				behind = count()
				return before == behind
			})
			if err := stdin.Close(); err != nil {
				t.Error(err)
			}
			if err := b.cmd.Wait(); err != nil {
				t.Error(err)
			}
			b.link.Close()
			if text := b.book.Calls(); strings.Count(text, "function_enter") != strings.Count(text, "function_exit") {
				t.Error("calls are not paired")
			}
		})
	}
}
