package native

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/strobetest"
)

// running is a program that nobody traces yet.
type running struct {
	*exec.Cmd
	stdin interface{ Close() error }

	mu     sync.Mutex
	out    strings.Builder
	errs   strings.Builder
	lines  chan string
	closed chan struct{}
}

// runProgram starts a program and waits for its first line.
func runProgram(t testing.TB, command ...string) *running {
	t.Helper()
	r := &running{Cmd: exec.Command(command[0], command[1:]...), lines: make(chan string, 1), closed: make(chan struct{})}
	r.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := r.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	r.stdin = in
	out, err := r.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Stderr = &r.errs
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(r.closed)
		sc := bufio.NewScanner(out)
		for sc.Scan() {
			r.mu.Lock()
			r.out.WriteString(sc.Text() + "\n")
			r.mu.Unlock()
			select {
			case r.lines <- sc.Text():
			default:
			}
		}
	}()
	t.Cleanup(func() {
		r.Process.Kill()
		<-r.closed
		r.Wait()
	})
	select {
	case <-r.lines:
	case <-time.After(10 * time.Second):
		t.Fatal("the program says nothing")
	}
	return r
}

// end lets the program end and returns what it wrote.
func (r *running) end(t testing.TB) string {
	t.Helper()
	r.stdin.Close()
	select {
	case <-r.closed:
	case <-time.After(30 * time.Second):
		t.Fatalf("the program does not end: %s", r.errs.String())
	}
	err := r.Wait()
	if err != nil {
		t.Errorf("the program ended with %v: %s", err, r.errs.String())
	}
	return r.out.String()
}

func attachTo(t testing.TB, rt *Runtime, sink *memorySink, pid int, patterns ...string) *target {
	t.Helper()
	cmd, err := rt.Find(pid)
	if err != nil {
		t.Fatal(err)
	}
	cmd.ProjectRoot = filepath.Dir(cmd.Path)
	for _, p := range patterns {
		cmd.Tracing.Probes = append(cmd.Tracing.Probes, collector.Probe{Pattern: p})
	}
	c, err := rt.Launch(context.Background(), cmd, sink)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Stop(context.Background(), false) })
	return c.(*target)
}

// TestAttachUnderLoad attaches to a program under load and detaches, again and again: it never notices.
func TestAttachUnderLoad(t *testing.T) {
	strobetest.NeedPtrace(t)
	times := 16
	if strobetest.Soaks(t, "184 of 200 turns") {
		times = 200
	}
	if n, err := strconv.Atoi(os.Getenv("STROBE_ATTACHES")); err == nil {
		times = n
	}
	prog := runProgram(t, strobetest.Build(t, "loaded", "gcc-O1"))
	rt := testRuntime(t)
	var attach, first, detach time.Duration
	for i := range times {
		sink := newSink(t)
		sink.keep = false
		from := time.Now()
		var patterns []string
		if i%4 != 0 {
			patterns = []string{"mix", "tally"}
		}
		c := attachTo(t, rt, sink, prog.Process.Pid, patterns...)
		attach += time.Since(from)
		if i%4 != 0 {
			if st := c.Status(); st.Hooked != 2 {
				t.Fatalf("attach %d: %+v", i, st)
			}
			await(t, "calls", func() bool {
				c.Flush(context.Background())
				sink.mu.Lock()
				defer sink.mu.Unlock()
				return sink.enters["tally"] > 0 && sink.enters["mix"] > 0
			})
		}
		first += time.Since(from)
		from = time.Now()
		if err := c.Stop(context.Background(), false); err != nil {
			t.Fatalf("detach %d: %v", i, err)
		}
		detach += time.Since(from)
		if sink.bad != "" {
			t.Errorf("attach %d: %s", i, sink.bad)
		}
	}
	// A region stays where a thread waits for a CPU in it for longer than a detach waits: seldom, on a machine that does
	// nothing else.
	if maps, err := readMaps(prog.Process.Pid); err != nil || regions(maps) > times/4+1 {
		t.Errorf("%d of our regions are left of %d attaches, %v", regions(maps), times, err)
	}
	out := prog.end(t)
	if !strings.HasSuffix(out, "\nwrong=0\n") {
		t.Errorf("it noticed: %s\n%s", out[max(0, len(out)-500):], prog.errs.String())
	}
	t.Logf("attach %v, with the first events %v, detach %v; %s", attach/time.Duration(times), first/time.Duration(times),
		detach/time.Duration(times), out[max(0, len(out)-300):])
}

func await(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for tick := time.NewTicker(2 * time.Millisecond); !ok(); <-tick.C {
		if time.Now().After(deadline) {
			tick.Stop()
			t.Fatalf("no %s", what)
		}
	}
}

// TestAttachRecordsOutput: what the program writes while it is attached to is recorded as it was written, in order, and
// nothing else.
func TestAttachRecordsOutput(t *testing.T) {
	strobetest.NeedPtrace(t)
	prog := runProgram(t, strobetest.Build(t, "loaded", "gcc-O1"))
	sink := newSink(t)
	c := attachTo(t, testRuntime(t), sink, prog.Process.Pid, "tally")
	ticks := func() string {
		sink.mu.Lock()
		defer sink.mu.Unlock()
		var b strings.Builder
		for _, e := range sink.events {
			if e.Kind == event.Stdout {
				b.Write(e.Payload)
			}
		}
		return b.String()
	}
	await(t, "output", func() bool {
		c.Flush(context.Background())
		return strings.Count(ticks(), "\n") > 50
	})
	if err := c.Stop(context.Background(), false); err != nil {
		t.Fatal(err)
	}
	out, got := prog.end(t), ticks()
	if !strings.Contains(out, got) || !strings.HasSuffix(out, "\nwrong=0\n") {
		t.Errorf("recorded %q; it wrote %q", got[:min(300, len(got))], out[max(0, len(out)-300):])
	}
	// Each line follows the call that computed it.
	last := ""
	for _, e := range sink.events {
		switch e.Kind {
		case event.FunctionEnter:
			last = fmt.Sprint(sink.layouts[e.Func].Enter(e.Payload))
		case event.Stdout:
			if n := strings.Fields(string(e.Payload)); len(n) == 3 && last != "" && !strings.Contains(last, n[1]) &&
				sink.threads[e.Thread].PID == int32(prog.Process.Pid) {
				t.Logf("line %q after call %s", e.Payload, last)
			}
		}
	}
	if caps := c.Capabilities(); caps.OutputCapture != "partial" {
		t.Errorf("capabilities %+v", caps)
	}
}

// regions counts the shared regions that are mapped.
func regions(maps []mapping) int {
	n := 0
	for _, m := range maps {
		if m.exec && strings.HasPrefix(m.path, "/memfd:") {
			n++
		}
	}
	return n
}
