package native

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/strobetest"
	"github.com/strobe-debug/strobe/internal/value"
)

// memorySink keeps events and checks that calls nest.
type memorySink struct {
	skipped int64
	tracing *collector.Tracing // instead of patterns
	t       testing.TB
	start   int64
	keep    bool
	block   bool // the program waits for room in its rings
	full    collector.OnFull
	stall   time.Duration // of each batch: a busy machine

	mu      sync.Mutex
	funcs   []event.Function
	layouts []*value.Layout
	threads []event.Thread
	events  []event.Event
	open    map[event.ThreadID][]event.FuncID
	enters  map[string]int
	exits   map[string]int
	flags   map[event.Flags]int
	dropped int64
	lost    map[string][2]int64 // enters and exits, by function
	total   int64
	notes   []string
	bad     string
	crashes []collector.Crash
	code    map[uint64]string
}

func newSink(t testing.TB) *memorySink {
	return &memorySink{t: t, start: ring.Monotonic(), keep: true, open: map[event.ThreadID][]event.FuncID{},
		enters: map[string]int{}, exits: map[string]int{}, flags: map[event.Flags]int{}, lost: map[string][2]int64{}}
}

func (s *memorySink) Function(f event.Function) event.FuncID {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, err := value.Unmarshal(f.Layout)
	if err != nil {
		s.bad = fmt.Sprintf("layout of %s: %v", f.Name, err)
	}
	s.funcs = append(s.funcs, f)
	s.layouts = append(s.layouts, l)
	return event.FuncID(len(s.funcs) - 1)
}

// Crash keeps what is told of a dying process.
func (s *memorySink) Crash(c collector.Crash) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.crashes = append(s.crashes, c)
}

// Ended is seen through the collector.
func (s *memorySink) Ended(int, collector.ExitInfo) {}

// Sampled counts what was not recorded.
func (s *memorySink) Sampled(_ event.FuncID, skipped int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.skipped += skipped
}

// CodeName keeps the name of a function that values point to.
func (s *memorySink) CodeName(_ int32, addr uint64, _ int64, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.code == nil {
		s.code = map[uint64]string{}
	}
	s.code[addr] = name
}

func (s *memorySink) Thread(th event.Thread) event.ThreadID {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, have := range s.threads {
		if have.PID == th.PID && have.TID == th.TID && have.Name == th.Name {
			return event.ThreadID(i)
		}
	}
	s.threads = append(s.threads, th)
	return event.ThreadID(len(s.threads) - 1)
}

func (s *memorySink) Events(batch []event.Event) {
	if s.stall > 0 {
		<-time.After(s.stall)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range batch {
		s.total++
		switch e.Kind {
		case event.FunctionEnter:
			s.open[e.Thread] = append(s.open[e.Thread], e.Func)
			s.enters[s.funcs[e.Func].Name]++
		case event.FunctionExit:
			st := s.open[e.Thread]
			if n := len(st); n == 0 || st[n-1] != e.Func {
				s.bad = fmt.Sprintf("exit of %s does not nest", s.funcs[e.Func].Name)
			} else {
				s.open[e.Thread] = st[:n-1]
			}
			s.exits[s.funcs[e.Func].Name]++
			s.flags[e.Flags&^event.HasRet]++
		case event.Process, event.Dropped:
			s.notes = append(s.notes, string(e.Payload))
		}
		if s.keep {
			e.Payload = bytes.Clone(e.Payload)
			if e.Kind.IsCall() && s.layouts[e.Func] != nil {
				e.Payload = s.layouts[e.Func].Annotate(e.Payload, func(a uint64) string { return s.code[a] })
			}
			s.events = append(s.events, e)
		}
	}
}

func (s *memorySink) Dropped(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropped += n
}

// Lost counts dropped calls by function.
func (s *memorySink) Lost(fn event.FuncID, enters, exits int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropped += enters + exits
	l := s.lost[s.funcs[fn].Name]
	s.lost[s.funcs[fn].Name] = [2]int64{l[0] + enters, l[1] + exits}
}
func (s *memorySink) Now() int64       { return ring.Monotonic() - s.start }
func (s *memorySink) StartMono() int64 { return s.start }

// text renders the calls one per line.
func (s *memorySink) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	depth := map[event.ThreadID]int{}
	for _, e := range s.events {
		switch e.Kind {
		case event.FunctionEnter:
			fmt.Fprintf(&b, "%s> %s%v\n", strings.Repeat("  ", depth[e.Thread]), s.funcs[e.Func].Name,
				s.layouts[e.Func].Enter(e.Payload))
			depth[e.Thread]++
		case event.FunctionExit:
			depth[e.Thread]--
			v, ok := s.layouts[e.Func].Exit(e.Payload, e.Ret, e.Flags&event.HasRet != 0)
			fmt.Fprintf(&b, "%s< %s", strings.Repeat("  ", depth[e.Thread]), s.funcs[e.Func].Name)
			if ok {
				fmt.Fprintf(&b, " = %v", v)
			}
			if f := e.Flags &^ event.HasRet; f != 0 {
				fmt.Fprintf(&b, " flags %d", f)
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// started is a launched program.
type started struct {
	*target
	sink   *memorySink
	stdout *bytes.Buffer
	read   chan struct{}
	stdin  *os.File
}

func startProgram(t testing.TB, rt *Runtime, sink *memorySink, root string, patterns []string,
	command ...string) *started {
	t.Helper()
	inR, inW, _ := os.Pipe()
	outR, outW, _ := os.Pipe()
	cmd := &collector.Command{Path: command[0], Args: command, Env: os.Environ(), Dir: root, ProjectRoot: root, Stdin: inR,
		Stdout: outW, Stderr: outW}
	if cmd.OnFull = sink.full; sink.block {
		cmd.OnFull = collector.OnFullBlock
	}
	for _, p := range patterns {
		cmd.Tracing.Probes = append(cmd.Tracing.Probes, collector.Probe{Pattern: p})
	}
	if sink.tracing != nil {
		cmd.Tracing = *sink.tracing
	}
	c, err := rt.Launch(context.Background(), cmd, sink)
	inR.Close()
	outW.Close()
	if err != nil {
		t.Fatalf("launch %v: %v", command, err)
	}
	s := &started{target: c.(*target), sink: sink, stdout: &bytes.Buffer{}, read: make(chan struct{}), stdin: inW}
	go func() {
		io.Copy(s.stdout, outR)
		outR.Close()
		close(s.read)
	}()
	t.Cleanup(func() { c.Stop(context.Background(), true); inW.Close() })
	return s
}

func (s *started) wait(t testing.TB) {
	t.Helper()
	select {
	case <-s.Exited():
	case <-time.After(60 * time.Second):
		t.Fatalf("did not end; output so far:\n%s", s.stdout)
	}
	select {
	case <-s.read:
	case <-time.After(10 * time.Second):
		t.Fatalf("output stays open; so far:\n%s", s.stdout)
	}
}

func testRuntime(t testing.TB) *Runtime {
	level := slog.LevelWarn
	return New(Config{Logger: slog.New(slog.NewTextHandler(testWriter{t}, &slog.HandlerOptions{Level: level}))})
}

type testWriter struct{ t testing.TB }

func (w testWriter) Write(b []byte) (int, error) {
	fmt.Fprintf(os.Stderr, "%s", b)
	return len(b), nil
}

func build(t testing.TB, name, source string, command ...string) string {
	t.Helper()
	strobetest.NeedTime(t)
	dir := t.TempDir()
	src, out := filepath.Join(dir, name), filepath.Join(dir, "prog")
	if err := os.WriteFile(src, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	args := append(command[1:len(command):len(command)], src, "-o", out)
	if b, err := exec.Command(command[0], args...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, b)
	}
	return out
}

const firstProgram = `
#include <stdio.h>
#include <string.h>
int add(int a, int b) { return a + b; }
double half(double x) { return x / 2; }
int length(const char *s) { return (int)strlen(s); }
int main(int argc, char **argv) {
	int sum = 0;
	for (int i = 0; i < 3; i++) sum = add(sum, i);
	printf("%d %.2f %d\n", sum, half(5), length("hello"));
	return 7;
}
`

func TestFirstProgram(t *testing.T) {
	for _, flags := range [][]string{{"-O0"}, {"-O1", "-fno-inline", "-fno-ipa-pure-const"}, {"-O0", "-static"},
		{"-O0", "-no-pie"}} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			prog := build(t, "first.c", firstProgram, append([]string{"gcc", "-g"}, flags...)...)
			sink := newSink(t)
			s := startProgram(t, testRuntime(t), sink, filepath.Dir(prog), []string{"@usercode"}, prog)
			s.wait(t)
			if got := s.stdout.String(); got != "3 2.50 5\n" {
				t.Errorf("output %q", got)
			}
			if s.Exit().Code != 7 {
				t.Errorf("exit %+v", s.Exit())
			}
			t.Logf("%+v\n%s%v", s.Status(), sink.text(), sink.notes)
			if sink.bad != "" {
				t.Error(sink.bad)
			}
			if sink.enters["add"] != 3 || sink.exits["add"] != 3 {
				t.Errorf("add: %d enters, %d exits, want 3", sink.enters["add"], sink.exits["add"])
			}
		})
	}
}

const deepProgram = `
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
__attribute__((noinline)) long deep(long n, long a, long b, long c) { return n ? deep(n - 1, b, c, a) + 1 : a; }
int main(int argc, char **argv) {
	struct rlimit r;
	long v = deep(atol(argv[1]), 1, 2, 3);
	getrlimit(RLIMIT_STACK, &r);
	printf("%ld limit %ld\n", v, (long)r.rlim_cur);
	return 0;
}
`

// A recursion that only just fits the stack must fit it when it is traced, and one without end must still end.
func TestDeepRecursionFits(t *testing.T) {
	prog := build(t, "deep.c", deepProgram, "gcc", "-g", "-O0")
	for _, depth := range []string{"128000", "100000000"} {
		want, _ := exec.Command(prog, depth).CombinedOutput()
		sink := newSink(t)
		sink.keep = false
		s := startProgram(t, testRuntime(t), sink, filepath.Dir(prog), []string{"@usercode"}, prog, depth)
		s.wait(t)
		if got := s.stdout.String(); got != string(want) {
			t.Errorf("depth %s: output %q, untraced %q, exit %+v", depth, got, want, s.Exit())
		}
		if (len(want) == 0) != (s.Exit().Signal == "SIGSEGV") {
			t.Errorf("depth %s: exit %+v", depth, s.Exit())
		}
	}
}
