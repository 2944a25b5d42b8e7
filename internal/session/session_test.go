//go:build unix

package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
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

func TestOutputAndExitCode(t *testing.T) {
	f := newFixture(t)
	s := f.sh(`printf 'a\000b\377\n'; echo err >&2; exit 7`)
	st := ended(t, s)
	if st.Status != Exited || st.ExitCode == nil || *st.ExitCode != 7 || st.Signal != "" {
		t.Errorf("state = %s, %v, %q", st.Status, st.ExitCode, st.Signal)
	}
	eventually(t, "both lines", func() bool { st = state(t, s); return st.Events["stdout"] > 0 && st.Events["stderr"] > 0 })
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
		if (tc.signal == "SIGSEGV") != (string(st.Crash) == `{"signal":"SIGSEGV"}`) {
			t.Errorf("%s: crash = %s", tc.script, st.Crash)
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
	k.Events([]event.Event{{TS: base - 5, Kind: event.FunctionEnter, Thread: th, Func: fn}, {TS: base - 4, Kind: event.FunctionExit, Thread: th, Func: fn}})
	k.flushHeld()
	var order []string
	for _, r := range events(t, s) {
		order = append(order, r.Kind.String()+string(r.Payload))
	}
	if got := strings.Join(order, " "); got != "stderrfirst function_enter function_exit stdoutthird" {
		t.Errorf("order = %s", got)
	}
}

func TestGrandchildHoldsPipe(t *testing.T) {
	f := newFixture(t)
	s := f.sh(`(sleep 1; echo late) & echo early; exit 3`)
	start := time.Now()
	st := ended(t, s)
	if d := time.Since(start); d > 900*time.Millisecond || *st.ExitCode != 3 {
		t.Errorf("ended after %v with %d", d, *st.ExitCode)
	}
	if s.Ended() {
		t.Error("streams ended before the grandchild")
	}
	eventually(t, "late line", func() bool { return text(t, s, event.Stdout) == "early\nlate\n" })
	eventually(t, "end of streams", s.Ended)
	// A stop does not wait for one that never ends, and ends it.
	s = f.sh(`sleep 300 & exit 0`)
	ended(t, s)
	start = time.Now()
	if _, err := f.Stop(context.Background(), s.ID, StopOptions{Kill: true}); err != nil {
		t.Error(err)
	}
	if d := time.Since(start); d > 3*time.Second {
		t.Errorf("stop took %v", d)
	}
}

func TestTerminal(t *testing.T) {
	f := newFixture(t)
	s := f.request(LaunchRequest{Command: "sh", Args: []string{"-c", `test -t 1 && stty size && echo $TERM`}, Terminal: true, Env: map[string]string{"TERM": "vt100"}})
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
		{LaunchRequest{Command: script, Args: []string{"x"}, Env: map[string]string{"FOO": "bar"}}, sub + "\n" + sub + "\n" + script + " x bar\n"},
		{LaunchRequest{Command: "sub/prog", Cwd: f.root, Env: map[string]string{"FOO": ""}}, f.root + "\n" + f.root + "\n"},
		{LaunchRequest{Command: "prog", Env: map[string]string{"PATH": sub + ":/bin:/usr/bin"}}, f.root + "\n" + f.root + "\n"},
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

func TestTwentyAtOnce(t *testing.T) {
	f := newFixture(t)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			s, err := f.Launch(context.Background(), LaunchRequest{Command: "sh", Args: []string{"-c", fmt.Sprintf("seq 1 1000; echo end %d", i)}, ProjectRoot: f.root})
			if err != nil {
				t.Error(err)
				return
			}
			eventually(t, "end", s.Ended)
			if got := text(t, s, event.Stdout); !strings.HasSuffix(got, fmt.Sprintf("\n1000\nend %d\n", i)) {
				t.Errorf("session %d: %d bytes", i, len(got))
			}
			res, err := f.Stop(context.Background(), s.ID, StopOptions{Kill: true, Retain: i%2 == 0})
			if err != nil || res.Events == 0 {
				t.Errorf("Stop = %+v, %v", res, err)
			}
		})
	}
	wg.Wait()
	list, err := f.List(context.Background())
	if err != nil || len(list) != 10 {
		t.Errorf("%d sessions are kept, want 10 (%v)", len(list), err)
	}
}

func TestStopWhileRunning(t *testing.T) {
	f := newFixture(t)
	s := f.launch("yes")
	eventually(t, "output", func() bool { return s.conn.Received() > 1<<20 })
	var wg sync.WaitGroup
	for range 3 { // several clients at once share one stop
		wg.Go(func() {
			res, err := f.Stop(context.Background(), s.ID, StopOptions{Kill: true, Retain: true})
			if err != nil && fault.CodeOf(err) != fault.SessionNotFound {
				t.Errorf("Stop: %v", err)
			} else if err == nil && (res.Signal != "SIGKILL" || res.Status != Exited || res.Events == 0) {
				t.Errorf("Stop = %+v", res)
			}
		})
	}
	wg.Wait()
	if n := len(children()); n != 0 {
		t.Errorf("%d children are left", n)
	}
	again, err := f.Get(context.Background(), s.ID)
	if err != nil {
		t.Fatal(err)
	}
	if again.Live() || len(text(t, again, event.Stdout)) < 1<<20 {
		t.Error("a retained session does not read")
	}
	st := state(t, again)
	if st.Status != Exited || st.Signal != "SIGKILL" || !st.Retained {
		t.Errorf("retained state = %+v", st)
	}
	if err := f.Delete(context.Background(), s.ID); err != nil {
		t.Error(err)
	}
	if _, err := f.Get(context.Background(), s.ID); fault.CodeOf(err) != fault.SessionNotFound {
		t.Errorf("Get after Delete = %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(f.home, "sessions", "*")); len(left) > 0 {
		t.Errorf("files left: %v", left)
	}
}

func TestDeleteOfRunningIsRefused(t *testing.T) {
	f := newFixture(t)
	s := f.launch("sleep", "100")
	if err := f.Delete(context.Background(), s.ID); fault.CodeOf(err) != fault.ValidationError {
		t.Errorf("Delete = %v", err)
	}
	if !f.Busy() {
		t.Error("not busy while a program runs")
	}
	if _, err := f.Stop(context.Background(), s.ID, StopOptions{Kill: true}); err != nil {
		t.Error(err)
	}
	if f.Busy() {
		t.Error("busy after the stop")
	}
}

func TestSessionLimit(t *testing.T) {
	f := newFixture(t)
	os.WriteFile(filepath.Join(f.home, "settings.json"), []byte(`{"sessions.max": 2, "nonsense": 1}`), 0o600)
	f.launch("sleep", "100")
	s := f.launch("sleep", "100")
	if w := state(t, s).Warnings; len(w) != 1 || !strings.Contains(w[0], "nonsense") {
		t.Errorf("warnings = %q", w)
	}
	ended(t, f2true(f, t, s))
	_, err := f.Launch(context.Background(), LaunchRequest{Command: "sleep", Args: []string{"1"}, ProjectRoot: f.root})
	if err != nil {
		t.Errorf("ended sessions count for the limit: %v", err)
	}
	_, err = f.Launch(context.Background(), LaunchRequest{Command: "true", ProjectRoot: f.root})
	if fault.CodeOf(err) != fault.SessionLimit {
		t.Errorf("third launch = %v", err)
	}
}

// f2true ends one of the sleeping programs by a signal of its own.
func f2true(f *fixture, t *testing.T, s *Session) *Session {
	t.Helper()
	if err := syscall.Kill(s.PID(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	return s
}

// R6: whatever fails, nothing is left.
func TestFailedLaunchLeavesNothing(t *testing.T) {
	f := newFixture(t)
	f.launch("true")
	eventually(t, "end", func() bool { return !f.Busy() })
	files, before := openFiles(), filesIn(t, f.home)
	f.rt.launchIn = make(chan struct{})
	for range 5 {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		if _, err := f.Launch(ctx, LaunchRequest{Command: "sleep", Args: []string{"100"}, ProjectRoot: f.root}); fault.CodeOf(err) != fault.LaunchFailed {
			t.Errorf("cancelled launch = %v", err)
		}
		cancel()
	}
	f.rt.launchIn = nil
	if _, err := f.Launch(context.Background(), LaunchRequest{Command: "true", Args: []string{strings.Repeat("x", 1<<20)}, ProjectRoot: f.root}); fault.CodeOf(err) != fault.LaunchFailed {
		t.Errorf("launch with too long arguments = %v", err)
	}
	if f.Busy() {
		t.Error("busy after failed launches")
	}
	if after := filesIn(t, f.home); after != before {
		t.Errorf("files: %s, were %s", after, before)
	}
	eventually(t, "files to be closed", func() bool { return openFiles() <= files })
	if n := children(); len(n) > 0 {
		t.Errorf("children left: %v", n)
	}
}

func filesIn(t *testing.T, home string) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(home, "sessions", "*.db"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(names, " ")
}

func TestCloseDuringLaunch(t *testing.T) {
	f := newFixture(t)
	f.rt.launchIn = make(chan struct{})
	done := make(chan error, 1)
	go func() {
		_, err := f.Launch(context.Background(), LaunchRequest{Command: "sleep", Args: []string{"100"}, ProjectRoot: f.root})
		done <- err
	}()
	eventually(t, "launch", f.Busy)
	if err := f.Close(context.Background()); err != nil {
		t.Error(err)
	}
	if err := <-done; err == nil {
		t.Error("launch succeeded while the daemon ended")
	}
	if _, err := f.Launch(context.Background(), LaunchRequest{Command: "true", ProjectRoot: f.root}); err == nil {
		t.Error("launch after Close succeeded")
	}
}

func TestTrace(t *testing.T) {
	f := newFixture(t)
	ctx := context.Background()
	s := f.request(LaunchRequest{Command: "sleep", Args: []string{"100"}, Probes: []collector.Probe{{Pattern: "a::*", Depth: 3}}})
	got, err := s.Trace(ctx, []string{"b", "b", "a::*"}, []string{"zzz"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if p := strings.Join(Patterns(got.Patterns), " "); p != "a::* b" || got.Hooked != 2 {
		t.Errorf("patterns = %s, hooked %d", p, got.Hooked)
	}
	if len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], "zzz") || !strings.Contains(got.Warnings[0], "a::*") {
		t.Errorf("warnings = %q", got.Warnings)
	}
	if _, err := s.Trace(ctx, []string{"bad["}, []string{"b"}, 0); fault.CodeOf(err) != fault.InvalidPattern {
		t.Errorf("bad pattern = %v", err)
	}
	got, _ = s.Trace(ctx, nil, nil, 0)
	if p := strings.Join(Patterns(got.Patterns), " "); p != "a::* b" {
		t.Errorf("a refused change left %s", p)
	}
	got, _ = s.Trace(ctx, []string{"c"}, []string{"a::*", "b"}, 5)
	if p := got.Patterns; len(p) != 1 || p[0] != (collector.Probe{Pattern: "c", Depth: 5}) {
		t.Errorf("after add and remove: %+v", p)
	}
	syscall.Kill(s.PID(), syscall.SIGKILL)
	ended(t, s)
	if _, err := s.Trace(ctx, []string{"d"}, nil, 0); fault.CodeOf(err) != fault.ProcessExited {
		t.Errorf("Trace after the end = %v", err)
	}
	if _, err := s.Trace(ctx, nil, nil, 0); err != nil {
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

func TestStopEndsQueries(t *testing.T) {
	f := newFixture(t)
	s := f.launch("sleep", "100")
	_, use, release, err := s.Use(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		<-use.Done()
		release()
	}()
	start := time.Now()
	if _, err := f.Stop(context.Background(), s.ID, StopOptions{Kill: true}); err != nil {
		t.Fatal(err)
	}
	if d := time.Since(start); d > 2*time.Second {
		t.Errorf("stop took %v", d)
	}
	if cause := context.Cause(use); fault.CodeOf(cause) != fault.SessionNotFound {
		t.Errorf("cause = %v", cause)
	}
	if _, _, _, err := s.Use(context.Background()); err == nil {
		t.Error("Use after stop succeeded")
	}
}

func TestNextDaemonFindsSessions(t *testing.T) {
	f := newFixture(t)
	ctx := context.Background()
	done := f.sh("echo done; exit 4")
	ended(t, done)
	eventually(t, "streams", done.Ended)
	live := f.sh("echo live; sleep 100")
	eventually(t, "line", func() bool { return text(t, live, event.Stdout) == "live\n" })
	if err := f.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if n := children(); len(n) > 0 {
		t.Errorf("children left: %v", n)
	}
	f.reopen()
	for id, want := range map[string]string{done.ID: "done\n", live.ID: "live\n"} {
		s, err := f.Get(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		if got := text(t, s, event.Stdout); got != want {
			t.Errorf("%s: %q", id, got)
		}
	}
	s, _ := f.Get(ctx, done.ID)
	if st := state(t, s); st.ExitCode == nil || *st.ExitCode != 4 || st.Status != Exited {
		t.Errorf("state = %+v", st)
	}
}

func TestOrphanFileIsTakenIn(t *testing.T) {
	f := newFixture(t)
	ctx := context.Background()
	s := f.sh("echo kept")
	eventually(t, "end", s.Ended)
	f.Close(ctx)
	for _, name := range []string{"strobe.db", "strobe.db-wal", "strobe.db-shm"} {
		os.Remove(filepath.Join(f.home, name))
	}
	os.WriteFile(filepath.Join(f.home, "sessions", "garbage.db"), []byte("no database"), 0o600)
	f.reopen()
	again, err := f.Get(ctx, s.ID)
	if err != nil {
		t.Fatal(err)
	}
	if got := text(t, again, event.Stdout); got != "kept\n" {
		t.Errorf("output = %q", got)
	}
	if _, err := f.Get(ctx, "garbage"); fault.CodeOf(err) != fault.SessionNotFound {
		t.Errorf("Get(garbage) = %v", err)
	}
}

func TestSweep(t *testing.T) {
	f := newFixture(t)
	ctx := context.Background()
	var ids []string
	for range 3 {
		s := f.sh("echo x")
		eventually(t, "end", s.Ended)
		ids = append(ids, s.ID)
		if _, err := f.Stop(ctx, s.ID, StopOptions{Kill: true, Retain: true}); err != nil {
			t.Fatal(err)
		}
	}
	set, _ := f.cfg.Settings.Load("")
	if err := f.sweepNow(ctx, set, time.Now()); err != nil {
		t.Fatal(err)
	}
	if l, _ := f.List(ctx); len(l) != 3 {
		t.Fatalf("%d sessions left, want 3", len(l))
	}
	infos, _ := f.List(ctx)
	set.StorageMaxBytes = infos[0].SizeBytes + infos[0].SizeBytes/2
	if err := f.sweepNow(ctx, set, time.Now()); err != nil {
		t.Fatal(err)
	}
	if l, _ := f.List(ctx); len(l) != 1 || l[0].ID != ids[2] {
		t.Errorf("left: %+v", l)
	}
	if err := f.sweepNow(ctx, set, time.Now().AddDate(1, 0, 0)); err != nil {
		t.Fatal(err)
	}
	if l, _ := f.List(ctx); len(l) != 0 {
		t.Errorf("left after a year: %+v", l)
	}
}

func TestManyEndedSessionsStayReadable(t *testing.T) {
	f := newFixture(t)
	var ids []string
	for i := range maxOpenEnded + 4 {
		s := f.sh(fmt.Sprintf("echo %d", i))
		eventually(t, "end", s.Ended)
		ids = append(ids, s.ID)
		f.closeIdle()
	}
	f.mu.Lock()
	open := len(f.sessions)
	f.mu.Unlock()
	if open > maxOpenEnded {
		t.Errorf("%d stores are open", open)
	}
	for i, id := range ids {
		s, err := f.Get(context.Background(), id)
		if err != nil {
			t.Fatal(err)
		}
		if got := text(t, s, event.Stdout); got != fmt.Sprintf("%d\n", i) {
			t.Errorf("%s: %q", id, got)
		}
	}
}

func TestNothingLeaks(t *testing.T) {
	f := newFixture(t)
	ctx := context.Background()
	round := func() {
		s := f.sh("echo x; exit 1")
		ended(t, s)
		if _, err := f.Stop(ctx, s.ID, StopOptions{Kill: true}); err != nil {
			t.Fatal(err)
		}
	}
	round()
	files, routines := openFiles(), runtime.NumGoroutine()
	for range 10 {
		round()
	}
	eventually(t, fmt.Sprintf("files back to %d, are %d", files, openFiles()), func() bool { return openFiles() <= files })
	eventually(t, "goroutines", func() bool { return runtime.NumGoroutine() <= routines+2 })
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.sessions)+len(f.reserved)+len(f.opening) > 0 {
		t.Errorf("left: %d sessions, %d reserved, %d opening", len(f.sessions), len(f.reserved), len(f.opening))
	}
}

func TestNotFoundExplains(t *testing.T) {
	f := newFixture(t)
	s := f.launch("true")
	_, err := f.Get(context.Background(), s.ID+"x")
	var fe *fault.Error
	if !errors.As(err, &fe) || fe.Code != fault.SessionNotFound || !strings.Contains(fe.Hint, s.ID) {
		t.Errorf("Get = %v", err)
	}
}
