//go:build unix

package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/fault"
)

func TestTwentyAtOnce(t *testing.T) {
	f := newFixture(t)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			s, err := f.Launch(context.Background(),
				LaunchRequest{Command: "sh", Args: []string{"-c", fmt.Sprintf("seq 1 1000; echo end %d", i)}, ProjectRoot: f.root})
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
	ended(t, terminated(t, s))
	_, err := f.Launch(context.Background(), LaunchRequest{Command: "sleep", Args: []string{"1"}, ProjectRoot: f.root})
	if err != nil {
		t.Errorf("ended sessions count for the limit: %v", err)
	}
	_, err = f.Launch(context.Background(), LaunchRequest{Command: "true", ProjectRoot: f.root})
	if fault.CodeOf(err) != fault.SessionLimit {
		t.Errorf("third launch = %v", err)
	}
}

// terminated ends a program by a signal that is not ours.
func terminated(t *testing.T, s *Session) *Session {
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
		if _, err := f.Launch(ctx, LaunchRequest{Command: "sleep", Args: []string{"100"}, ProjectRoot: f.root}); fault.CodeOf(
			err) != fault.LaunchFailed {
			t.Errorf("cancelled launch = %v", err)
		}
		cancel()
	}
	f.rt.launchIn = nil
	many := slices.Repeat([]string{strings.Repeat("x", 100<<10)}, 80)
	if _, err := f.Launch(context.Background(),
		LaunchRequest{Command: "true", Args: many, ProjectRoot: f.root}); fault.CodeOf(err) != fault.LaunchFailed {
		t.Errorf("launch with too long arguments = %v", err)
	}
	if f.Busy() {
		t.Error("busy after failed launches")
	}
	if after := filesIn(t, f.home); after != before {
		t.Errorf("files: %s, were %s", after, before)
	}
	// Slack for connections of the list's pool; a leak would be five or more.
	eventually(t, "files to be closed", func() bool { return openFiles() <= files+4 })
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
	if _, err := f.Stop(context.Background(), s.ID, StopOptions{Kill: true}); err != nil {
		t.Fatal(err)
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
	f.mu.Lock()
	f.idleAfter = 100 * time.Millisecond
	f.mu.Unlock()
	var ids []string
	for i := range maxOpenEnded + 4 {
		s := f.sh(fmt.Sprintf("echo %d", i))
		eventually(t, "end", s.Ended)
		ids = append(ids, s.ID)
	}
	eventually(t, "the oldest to be closed", func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return len(f.sessions) <= maxOpenEnded
	})
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
	// Slack for connections of the list's pool; a leak would be ten or more.
	eventually(t, fmt.Sprintf("files back to %d, are %d", files, openFiles()),
		func() bool { return openFiles() <= files+4 })
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
