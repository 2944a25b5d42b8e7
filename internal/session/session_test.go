//go:build unix

package session

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/iochan"
	"github.com/strobe-debug/strobe/internal/store"
)

type fixture struct {
	*Manager
	t    *testing.T
	rt   *plainRuntime
	home string
	root string
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{t: t, rt: &plainRuntime{}, home: t.TempDir(), root: t.TempDir()}
	f.reopen()
	t.Cleanup(func() {
		if err := f.Close(context.Background()); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return f
}

// reopen is the next daemon.
func (f *fixture) reopen() {
	f.t.Helper()
	m, err := NewManager(Config{Home: f.home, Runtimes: []collector.Runtime{f.rt}, Version: "test"})
	if err != nil {
		f.t.Fatal(err)
	}
	f.Manager = m
}

func (f *fixture) launch(command string, args ...string) *Session {
	f.t.Helper()
	return f.request(LaunchRequest{Command: command, Args: args})
}

func (f *fixture) sh(script string) *Session { f.t.Helper(); return f.launch("/bin/sh", "-c", script) }

func (f *fixture) request(r LaunchRequest) *Session {
	f.t.Helper()
	r.ProjectRoot = f.root
	s, err := f.Launch(context.Background(), r)
	if err != nil {
		f.t.Fatal(err)
	}
	return s
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); {
		if time.Now().After(end) {
			t.Fatalf("not within 20 s: %s", what)
		}
		<-time.After(2 * time.Millisecond)
	}
}

func ended(t *testing.T, s *Session) *State {
	t.Helper()
	eventually(t, "end of "+s.ID, func() bool { return !s.Live() })
	return state(t, s)
}

func state(t *testing.T, s *Session) *State {
	t.Helper()
	st, err := s.State(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// events reads kinds in order; text is the payload.
func events(t *testing.T, s *Session, kinds ...event.Kind) (rows []store.Row) {
	t.Helper()
	st, use, release, err := s.Use(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if err := s.Flush(use); err != nil {
		t.Fatal(err)
	}
	sn, err := st.Snapshot(use)
	if err != nil {
		t.Fatal(err)
	}
	defer sn.Close()
	var f store.Filter
	for _, k := range kinds {
		f.Kinds |= 1 << k
	}
	err = sn.Scan(use, f, store.ScanOptions{Cold: true}, func(r *store.Row) bool {
		row := *r
		row.Payload = append([]byte(nil), r.Payload...)
		rows = append(rows, row)
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func text(t *testing.T, s *Session, kind event.Kind) string {
	t.Helper()
	var b strings.Builder
	for _, r := range events(t, s, kind) {
		b.Write(r.Payload)
	}
	return b.String()
}

// Keeps out: a status that said exited with the counts of the moment before the last calls.
func TestStateOfAProgramThatEndsMeanwhile(t *testing.T) {
	f := newFixture(t)
	s := f.request(LaunchRequest{Command: "/bin/cat", KeepStdin: true})
	c := f.rt.last()
	c.onStatus = func() {
		c.calls("late", 5)
		if _, err := s.Input(context.Background(), "", true); err != nil {
			t.Error(err)
		}
		eventually(t, "end of the program", func() bool { return !s.Live() })
	}
	if st := state(t, s); st.Status != Running && st.Events["function_exit"] != 5 || c.onStatus != nil {
		t.Errorf("status %s with %v", st.Status, st.Events)
	}
	if st := state(t, s); st.Status != Exited || st.Events["function_exit"] != 5 || st.ExitCode == nil {
		t.Errorf("then status %s with %v", st.Status, st.Events)
	}
}

func TestOutputAndExitCode(t *testing.T) {
	f := newFixture(t)
	s := f.sh(`printf 'a\000b\377\n'; echo err >&2; exit 7`)
	st := ended(t, s)
	if pid := s.st.Meta().PID; pid == 0 || pid != s.PID() {
		t.Errorf("the store says pid %d of process %d", pid, s.PID())
	}
	if st.Status != Exited || st.ExitCode == nil || *st.ExitCode != 7 || st.Signal != "" {
		t.Errorf("state = %s, %v, %q", st.Status, st.ExitCode, st.Signal)
	}
	eventually(t, "both lines", func() bool {
		st = state(t, s)
		return st.Events["stdout"] > 0 && st.Events["stderr"] > 0
	})
	if got := text(t, s, event.Stdout); got != "a\x00b\xff\n" {
		t.Errorf("stdout = %q", got)
	}
	if got := text(t, s, event.Stderr); got != "err\n" {
		t.Errorf("stderr = %q", got)
	}
	if !strings.HasPrefix(s.ID, filepath.Base(st.Command)+"-20") {
		t.Errorf("id = %q of %q", s.ID, st.Command)
	}
}

func TestSignals(t *testing.T) {
	f := newFixture(t)
	for _, tc := range []struct {
		script, signal string
		want           Status
	}{
		{"kill -SEGV $$", "SIGSEGV", Crashed},
		{"kill -ABRT $$", "SIGABRT", Crashed},
		{"kill -TERM $$", "SIGTERM", Exited},
		{"kill -KILL $$", "SIGKILL", Exited},
	} {
		st := ended(t, f.sh(tc.script))
		if st.Status != tc.want || st.Signal != tc.signal || st.ExitCode != nil {
			t.Errorf("%s: %s %q %v, want %s", tc.script, st.Status, st.Signal, st.ExitCode, tc.want)
		}
		if (tc.signal == "SIGSEGV") != (st.Crash != nil && st.Crash.Signal == tc.signal && st.Crash.Fatal) {
			t.Errorf("%s: crash = %+v", tc.script, st.Crash)
		}
	}
}

// One gigabyte scaled to 200 MB: nothing lost, whatever the store does meanwhile.
func TestMuchOutput(t *testing.T) {
	f := newFixture(t)
	s := f.launch("head", "-c", "200000000", "/dev/zero")
	eventually(t, "end", func() bool { return s.Ended() })
	var n int64
	for _, r := range events(t, s, event.Stdout) {
		n += int64(len(r.Payload))
		for _, b := range r.Payload {
			if b != 0 {
				t.Fatalf("byte %d", b)
			}
		}
	}
	if n != 200_000_000 {
		t.Errorf("%d bytes", n)
	}
}

func TestHugeLineWithEnd(t *testing.T) {
	f := newFixture(t)
	s := f.sh(`head -c 100000000 /dev/zero; echo; echo after`)
	eventually(t, "end", func() bool { return s.Ended() })
	got := text(t, s, event.Stdout)
	if len(got) != 100_000_007 || !strings.HasSuffix(got, "\x00\nafter\n") {
		t.Errorf("%d bytes, end %q", len(got), got[max(0, len(got)-9):])
	}
}

func TestOutputStandsBetweenCalls(t *testing.T) {
	f := newFixture(t)
	s := f.request(LaunchRequest{Command: "cat", KeepStdin: true})
	c := f.rt.last()
	for i := range 5 {
		c.calls("before", 1)
		n := len(events(t, s, event.Stdout))
		if _, err := s.Input(context.Background(), fmt.Sprintf("line %d\n", i), false); err != nil {
			t.Fatal(err)
		}
		eventually(t, "echo", func() bool { return len(events(t, s, event.Stdout)) > n })
		c.calls("after", 1)
	}
	s.Input(context.Background(), "", true)
	ended(t, s)
	last := int64(-1)
	for _, r := range events(t, s) {
		if r.TS < last {
			t.Errorf("event %d (%v) is before its predecessor in time", r.ID, r.Kind)
		}
		last = r.TS
	}
}

// Calls reach the sink after output that came later than they did; they must be stored first.
func TestSinkMergesByTime(t *testing.T) {
	f := newFixture(t)
	s := f.request(LaunchRequest{Command: "cat", KeepStdin: true})
	k := s.sink
	now := iochan.Monotonic()
	k.output(iochan.Stdout, now+int64(time.Second), []byte("third")) // in the future, so that no timer interferes
	k.output(iochan.Stderr, now+int64(time.Second)-10, []byte("first"))
	th := k.Thread(event.Thread{PID: 1, TID: 1})
	fn := k.Function(event.Function{Name: "second"})
	base := now - k.startMono + int64(time.Second)
	k.Events([]event.Event{{TS: base - 5, Kind: event.FunctionEnter, Thread: th, Func: fn},
		{TS: base - 4, Kind: event.FunctionExit, Thread: th, Func: fn}})
	k.flushHeld()
	var order []string
	for _, r := range events(t, s) {
		order = append(order, r.Kind.String()+string(r.Payload))
	}
	if got := strings.Join(order, " "); got != "stderrfirst function_enter function_exit stdoutthird" {
		t.Errorf("order = %s", got)
	}
}

// TestDataOfAChannelStandBetweenCalls: what comes out of a stream that is no standard one has its place on the
// timeline, and its name.
func TestDataOfAChannelStandBetweenCalls(t *testing.T) {
	f := newFixture(t)
	s := f.request(LaunchRequest{Command: "cat", KeepStdin: true})
	k := s.sink
	notes := event.Stream{Channel: "midi", Name: "notes", Media: "midi", Direction: event.Out}
	into, err := k.intake(append([]event.Stream{notes}, event.Stdio()...))
	if err != nil {
		t.Fatal(err)
	}
	base := k.startMono + int64(time.Second) // in the future, so that no timer interferes
	buf := []byte{0x90, 60, 100}
	into(0, base+20, buf)
	clear(buf) // it is the channel's again
	into(1, base+30, []byte("out"))
	th, fn := k.Thread(event.Thread{PID: 1, TID: 1}), k.Function(event.Function{Name: "play"})
	k.Events([]event.Event{{TS: int64(time.Second) + 10, Kind: event.FunctionEnter, Thread: th, Func: fn},
		{TS: int64(time.Second) + 25, Kind: event.FunctionExit, Thread: th, Func: fn}})
	k.flushHeld()
	sn, err := k.st.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer sn.Close()
	var order []string
	for _, r := range events(t, s) {
		order = append(order, fmt.Sprintf("%v%q", r.Kind, r.Payload))
		if r.Kind == event.Data && sn.Streams()[r.Stream] != notes {
			t.Errorf("the data are of %+v", sn.Streams()[r.Stream])
		}
	}
	if got, want := strings.Join(order, " "), `function_enter"" data"\x90<d" function_exit"" stdout"out"`; got != want {
		t.Errorf("order = %s, want %s", got, want)
	}
}

// TestCallsWaitForWrittenBytes has the bytes of two streams read late, one stream behind the other, as on a busy
// machine: each line stands in its call nevertheless.
func TestCallsWaitForWrittenBytes(t *testing.T) {
	f := newFixture(t)
	s := f.request(LaunchRequest{Command: "cat", KeepStdin: true})
	k := s.sink
	k.Wrote(nil)
	th, fn := k.Thread(event.Thread{PID: 1, TID: 1}), k.Function(event.Function{Name: "say"})
	const began = int64(1000)
	eventually(t, "time to pass", func() bool { return k.Now() > 2*int64(holdFor) })
	var writes []collector.Write
	var calls []event.Event
	var lines [2]strings.Builder
	for i := range 20 {
		ts, line := began+int64(i)*10_000, fmt.Sprintf("line %d of all\n", i)
		calls = append(calls, event.Event{TS: ts, Kind: event.FunctionEnter, Thread: th, Func: fn},
			event.Event{TS: ts + 2, Kind: event.FunctionExit, Thread: th, Func: fn})
		writes = append(writes, collector.Write{TS: ts + 1, Thread: th, Stream: event.Stdout + event.Kind(i%2),
			N: int64(len(line)), Head: []byte(line), Tail: []byte(line)})
		lines[i%2].WriteString(line)
	}
	put := make(chan struct{})
	go func() {
		k.Wrote(writes)
		k.Events(calls)
		close(put)
	}()
	for i, stream := range []iochan.Stream{iochan.Stdout, iochan.Stderr} {
		eventually(t, "calls to wait for bytes", func() bool {
			k.mu.Lock()
			defer k.mu.Unlock()
			return k.due
		})
		k.output(stream, iochan.Monotonic(), []byte(lines[i].String()))
		k.expire()
	}
	<-put
	k.flushHeld()
	got := events(t, s)
	for i := range 20 {
		want := fmt.Sprintf("line %d of all\n", i)
		if len(got) < 3*i+3 || string(got[3*i+1].Payload) != want || got[3*i].Kind != event.FunctionEnter ||
			got[3*i+2].Kind != event.FunctionExit {
			t.Fatalf("%d events; %q is not in its call", len(got), want)
		}
	}
}

func TestGrandchildHoldsPipe(t *testing.T) {
	f := newFixture(t)
	seen := filepath.Join(t.TempDir(), "seen")
	s := f.sh(`(until [ -e ` + seen + ` ]; do sleep 0.02; done; echo late) & echo early; exit 3`)
	if st := ended(t, s); *st.ExitCode != 3 {
		t.Errorf("ended with %d", *st.ExitCode)
	}
	if s.Ended() {
		t.Error("streams ended before the grandchild")
	}
	if err := os.WriteFile(seen, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, "late line", func() bool { return text(t, s, event.Stdout) == "early\nlate\n" })
	eventually(t, "end of streams", s.Ended)
	// A stop does not wait for one that never ends, and ends it.
	s = f.sh(`sleep 300 & exit 0`)
	ended(t, s)
	start := time.Now()
	if _, err := f.Stop(context.Background(), s.ID, StopOptions{Kill: true}); err != nil {
		t.Error(err)
	}
	if d := time.Since(start); d > 200*time.Second {
		t.Errorf("stop took %v", d)
	}
}

func TestTerminal(t *testing.T) {
	f := newFixture(t)
	s := f.request(LaunchRequest{Command: "sh", Args: []string{"-c", `test -t 1 && stty size && echo $TERM`},
		Terminal: true, Env: map[string]string{"TERM": "vt100"}})
	ended(t, s)
	eventually(t, "output", func() bool { return text(t, s, event.Stdout) == "24 80\r\nvt100\r\n" })
}

func TestLaunchEnvironment(t *testing.T) {
	f := newFixture(t)
	sub := filepath.Join(f.root, "sub")
	os.Mkdir(sub, 0o755)
	script := filepath.Join(sub, "prog")
	os.WriteFile(script, []byte("#!/bin/sh\npwd; echo $PWD; echo \"$0 $1 $FOO\"\n"), 0o755)
	for _, tc := range []struct {
		r    LaunchRequest
		want string
	}{
		{LaunchRequest{Command: script, Args: []string{"x"}, Env: map[string]string{"FOO": "bar"}}, sub + "\n" + sub + "\n" +
			script + " x bar\n"},
		{LaunchRequest{Command: "sub/prog", Cwd: f.root, Env: map[string]string{"FOO": ""}}, f.root + "\n" + f.root + "\n"},
		{LaunchRequest{Command: "prog", Env: map[string]string{"PATH": sub + ":/bin:/usr/bin"}}, f.root + "\n" + f.root +
			"\n"},
		{LaunchRequest{Command: "./prog", Cwd: "sub"}, sub + "\n" + sub + "\n"},
	} {
		s := f.request(tc.r)
		ended(t, s)
		eventually(t, fmt.Sprintf("output %q of %+v, have %q", tc.want, tc.r, text(t, s, event.Stdout)),
			func() bool { return strings.HasPrefix(text(t, s, event.Stdout), tc.want) })
	}
}

func TestIDsAreUnique(t *testing.T) {
	f := newFixture(t)
	seen := map[string]bool{}
	for range 3 {
		s := f.launch("true")
		if seen[s.ID] {
			t.Fatalf("id %s twice", s.ID)
		}
		seen[s.ID] = true
	}
	f.Close(context.Background())
	f.reopen()
	if s := f.launch("true"); seen[s.ID] {
		t.Errorf("id %s of a retained session is given again", s.ID)
	}
}

func TestTrace(t *testing.T) {
	f := newFixture(t)
	ctx := context.Background()
	s := f.request(LaunchRequest{Command: "sleep", Args: []string{"100"},
		Tracing: Tracing{Probes: []collector.Probe{{Pattern: "a::*", Depth: 3}}}})
	got, err := s.Trace(ctx, TraceChange{Add: []string{"b", "b", "a::*"}, Remove: []string{"zzz"}})
	if err != nil {
		t.Fatal(err)
	}
	if p := strings.Join(Patterns(got.Tracing.Probes), " "); p != "a::* b" || got.Hooked != 2 {
		t.Errorf("patterns = %s, hooked %d", p, got.Hooked)
	}
	if len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], "zzz") || !strings.Contains(got.Warnings[0], "a::*") {
		t.Errorf("warnings = %q", got.Warnings)
	}
	if _, err := s.Trace(ctx, TraceChange{Add: []string{"bad["}, Remove: []string{"b"}}); fault.CodeOf(
		err) != fault.InvalidPattern {
		t.Errorf("bad pattern = %v", err)
	}
	got, _ = s.Trace(ctx, TraceChange{})
	if p := strings.Join(Patterns(got.Tracing.Probes), " "); p != "a::* b" {
		t.Errorf("a refused change left %s", p)
	}
	got, _ = s.Trace(ctx, TraceChange{Add: []string{"c"}, Remove: []string{"a::*", "b"}, Depth: 5})
	if p := got.Tracing.Probes; len(p) != 1 || p[0] != (collector.Probe{Pattern: "c", Depth: 5, Given: true}) {
		t.Errorf("after add and remove: %+v", p)
	}
	syscall.Kill(s.PID(), syscall.SIGKILL)
	ended(t, s)
	if _, err := s.Trace(ctx, TraceChange{Add: []string{"d"}}); fault.CodeOf(err) != fault.ProcessExited {
		t.Errorf("Trace after the end = %v", err)
	}
	if _, err := s.Trace(ctx, TraceChange{}); err != nil {
		t.Errorf("state after the end = %v", err)
	}
}

func TestInput(t *testing.T) {
	f := newFixture(t)
	ctx := context.Background()
	s := f.launch("sleep", "100")
	if _, err := s.Input(ctx, "x", false); fault.CodeOf(err) != fault.ValidationError {
		t.Errorf("Input without a pipe = %v", err)
	}
	s = f.request(LaunchRequest{Command: "sleep", Args: []string{"100"}, KeepStdin: true})
	short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	if _, err := s.Input(short, strings.Repeat("x", 4<<20), false); fault.CodeOf(err) != fault.WriteFailed {
		t.Errorf("Input to a program that does not read = %v", err)
	}
	s = f.request(LaunchRequest{Command: "cat", Stdin: "given"})
	ended(t, s)
	eventually(t, "text", func() bool { return text(t, s, event.Stdout) == "given" })
	if _, err := s.Input(ctx, "x", false); fault.CodeOf(err) != fault.ProcessExited {
		t.Errorf("Input after the end = %v", err)
	}
}
