//go:build unix

package session

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/fault"
)

// kept returns the ids that are listed, oldest first.
func (f *fixture) kept() string {
	f.t.Helper()
	list, err := f.List(context.Background())
	if err != nil {
		f.t.Fatal(err)
	}
	var ids []string
	for i := range list {
		ids = append(ids, list[len(list)-1-i].ID)
	}
	return strings.Join(ids, " ")
}

// retained runs a program that writes so many bytes and keeps its session.
func (f *fixture) retained(bytes int) string {
	f.t.Helper()
	s := f.sh(fmt.Sprintf("head -c %d /dev/zero", bytes))
	eventually(f.t, "end", s.Ended)
	if _, err := f.Stop(context.Background(), s.ID, StopOptions{Kill: true, Retain: true}); err != nil {
		f.t.Fatal(err)
	}
	return s.ID
}

func (f *fixture) set(text string) {
	f.t.Helper()
	if err := os.WriteFile(filepath.Join(f.home, "settings.json"), []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

// syncBuffer is a log that is read while it is written.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// reconfigured is the next daemon, with another configuration.
func (f *fixture) reconfigured(change func(*Config)) {
	f.t.Helper()
	if err := f.Close(context.Background()); err != nil {
		f.t.Fatal(err)
	}
	cfg := Config{Home: f.home, Runtimes: []collector.Runtime{f.rt}, Version: "test"}
	change(&cfg)
	m, err := NewManager(cfg)
	if err != nil {
		f.t.Fatal(err)
	}
	f.Manager = m
}

// Every way to end counts from the end; who asks for what is gone is told why.
func TestSessionsGoAWeekAfterTheirEnd(t *testing.T) {
	f := newFixture(t)
	var log syncBuffer
	f.reconfigured(func(c *Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	ctx := context.Background()
	stopped := f.retained(10)
	open := f.sh("exit 0") // ended, never stopped, its store still open
	eventually(t, "end", open.Ended)
	asked := f.sh("exit 0")
	eventually(t, "end", asked.Ended)
	_, _, release, err := asked.Use(ctx)
	if err != nil {
		t.Fatal(err)
	}
	live := f.sh("sleep 100")
	set, _ := f.cfg.Settings.Load("")
	all := strings.Join([]string{stopped, open.ID, asked.ID, live.ID}, " ")
	if err := f.sweepNow(ctx, set, time.Now().Add(7*24*time.Hour-time.Minute)); err != nil || f.kept() != all {
		t.Errorf("before a week, left: %s, want %s (%v)", f.kept(), all, err)
	}
	if err := f.sweepNow(ctx, set, time.Now().Add(7*24*time.Hour+time.Minute)); err != nil ||
		f.kept() != asked.ID+" "+live.ID {
		t.Errorf("after a week, left: %s, want those in use: %s and %s (%v)", f.kept(), asked.ID, live.ID, err)
	}
	release()
	if err := f.sweepNow(ctx, set, time.Now().Add(8*24*time.Hour)); err != nil || f.kept() != live.ID {
		t.Errorf("after a week, left: %s, want %s (%v)", f.kept(), live.ID, err)
	}
	_, err = f.Get(ctx, open.ID)
	if fault.CodeOf(err) != fault.SessionNotFound || !strings.Contains(err.Error(), "storage.retainDays is 7") {
		t.Errorf("Get of a deleted session = %v", err)
	}
	purges, err := f.Purges(ctx)
	if err != nil || len(purges) != 3 || purges[0].ID != asked.ID || purges[0].SizeBytes == 0 {
		t.Errorf("Purges() = %+v, %v", purges, err)
	}
	if n := strings.Count(log.String(), "old session is deleted"); n != 3 {
		t.Errorf("%d deletions in the log:\n%s", n, log.String())
	}
	if again := f.sh("exit 0"); again.ID == stopped || again.ID == open.ID || again.ID == asked.ID {
		t.Errorf("the id of a deleted session is used again: %s", again.ID)
	} else if _, err := f.Stop(ctx, again.ID, StopOptions{Kill: true}); err != nil {
		t.Error(err)
	}
	set.StorageRetainDays = 0
	if err := f.sweepNow(ctx, set, time.Now().AddDate(50, 0, 0)); err != nil || f.kept() != live.ID {
		t.Errorf("left: %s (%v)", f.kept(), err)
	}
	files, _ := filepath.Glob(filepath.Join(f.home, "sessions", "*.db"))
	if len(files) != 1 {
		t.Errorf("files: %v", files)
	}
}

// An interrupted session is as good as a retained one, from its last event on.
func TestInterruptedSessionsGoToo(t *testing.T) {
	f := newFixture(t)
	ctx := context.Background()
	s := f.sh("exit 0")
	eventually(t, "end", s.Ended)
	f.retained(10)
	if err := f.Close(ctx); err != nil {
		t.Fatal(err)
	}
	f.reopen()
	info, _, err := f.index.Get(ctx, s.ID)
	if err != nil {
		t.Fatal(err)
	}
	info.Status, info.Retained, info.EndedAt = string(Interrupted), true, time.Now().AddDate(0, 0, -8).UnixNano()
	info.StartedAt = info.EndedAt
	if err := f.index.Update(ctx, info); err != nil {
		t.Fatal(err)
	}
	f.reconfigured(func(*Config) {}) // a daemon looks at its start
	eventually(t, "the interrupted session to go",
		func() bool { return !strings.Contains(f.kept(), s.ID+" ") && f.kept() != "" })
}

// The one that ended first goes first, whatever was started first, and while the daemon runs.
func TestTheOldestGoesWhenSpaceIsShort(t *testing.T) {
	f := newFixture(t)
	late := f.launch("sleep", "100")
	first, second := f.retained(6_000_000), f.retained(6_000_000)
	eventually(t, "end", terminated(t, late).Ended)
	live := f.request(LaunchRequest{Command: "cat", KeepStdin: true})
	limit := f.diskUse() + 2_500_000
	f.set(fmt.Sprintf(`{"storage.maxBytes": %d}`, limit))
	// at most twice that, with its log
	if _, err := live.Input(context.Background(), strings.Repeat("x", 3_000_000), false); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the first to go", func() bool {
		return f.kept() == strings.Join([]string{late.ID, second, live.ID}, " ")
	})
	if err := f.sweepNow(context.Background(), must1(f.cfg.Settings.Load("")), time.Now()); err != nil ||
		!strings.Contains(f.kept(), second) {
		t.Errorf("within the limit, left: %s (%v)", f.kept(), err)
	}
	_, err := f.Get(context.Background(), first)
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("storage.maxBytes is %d", limit)) {
		t.Errorf("Get = %v", err)
	}
	if st := state(t, live); st.StoreError != nil || st.Status != Running {
		t.Errorf("the running one: %+v", st)
	}
}

func must1[T any](v T, _ []string) T { return v }

// Where only running sessions are left, recording stops, said with its code, and goes on when there is room.
func TestRunningSessionsOverTheLimit(t *testing.T) {
	f := newFixture(t)
	f.set(`{"storage.maxBytes": 2000000}`)
	s := f.request(LaunchRequest{Command: "cat", KeepStdin: true})
	input := func(text string) {
		t.Helper()
		if _, err := s.Input(context.Background(), text, false); err != nil {
			t.Fatal(err)
		}
	}
	input(strings.Repeat("x", 3<<20))
	eventually(t, "the limit to be noticed", func() bool { return f.storage.over.Load() != nil })
	eventually(t, "STORAGE_FULL", func() bool {
		input("more\n")
		st := state(t, s) // at first what comes waits for room
		return fault.CodeOf(st.StoreError) == fault.StorageFull && st.Dropped > 0
	})
	if st := state(t, s); st.Dropped == 0 || !strings.Contains(strings.Join(st.Warnings, " "), "STORAGE_FULL") &&
		st.StoreError == nil {
		t.Errorf("state = %+v", st)
	}
	_, err := f.Launch(context.Background(), LaunchRequest{Command: "true", ProjectRoot: f.root})
	if fault.CodeOf(err) != fault.StorageFull || fault.From(err).Hint == "" {
		t.Errorf("launch over the limit = %v", err)
	}
	f.set(`{"storage.maxBytes": 200000000}`)
	eventually(t, "recording to go on", func() bool {
		input("again\n")
		return state(t, s).StoreError == nil && strings.HasSuffix(text(t, s, event.Stdout), "again\n")
	})
	if _, err := f.Stop(context.Background(), s.ID, StopOptions{Kill: true}); err != nil {
		t.Error(err)
	}
}

// STORAGE_FULL comes before the disk is full, the end of a recording is still written, and what was there is read.
func TestTheDiskKeepsAReserve(t *testing.T) {
	f := newFixture(t)
	var free atomic.Int64
	free.Store(1 << 40)
	f.reconfigured(func(c *Config) {
		c.Space = func(string) (int64, int64, error) { return free.Load(), 1 << 40, nil }
	})
	s := f.request(LaunchRequest{Command: "/bin/sh", Args: []string{"-c", `while read x; do echo "$x"; done; exit 7`},
		KeepStdin: true})
	send := func(text string) {
		t.Helper()
		if _, err := s.Input(context.Background(), text, false); err != nil {
			t.Fatal(err)
		}
	}
	send("first\n")
	eventually(t, "a line", func() bool { return text(t, s, event.Stdout) == "first\n" })
	free.Store(reserveMax - 1)
	eventually(t, "STORAGE_FULL", func() bool {
		send("lost\n")
		st := state(t, s) // at first what comes waits for room
		return fault.CodeOf(st.StoreError) == fault.StorageFull && st.Dropped > 0
	})
	if _, err := f.Launch(context.Background(), LaunchRequest{Command: "true", ProjectRoot: f.root}); fault.CodeOf(
		err) != fault.StorageFull {
		t.Errorf("launch = %v", err)
	}
	if _, err := s.Input(context.Background(), "", true); err != nil {
		t.Error(err)
	}
	st := ended(t, s)
	if st.ExitCode == nil || *st.ExitCode != 7 || fault.CodeOf(st.StoreError) != fault.StorageFull {
		t.Errorf("at the end: %+v", st)
	}
	if res, err := f.Stop(context.Background(), s.ID, StopOptions{Kill: true, Retain: true}); err != nil ||
		len(res.Warnings) > 0 {
		t.Errorf("Stop = %+v, %v", res, err)
	}
	again, err := f.Get(context.Background(), s.ID)
	if err != nil {
		t.Fatal(err)
	}
	if st := state(t, again); st.Status != Exited || !strings.HasPrefix(text(t, again, event.Stdout), "first\n") {
		t.Errorf("retained: %+v", st)
	}
	free.Store(reserveMax)
	f.retained(10)
	// Who cannot measure the disk relies on its own word.
	f.reconfigured(func(c *Config) {
		c.Space = func(string) (int64, int64, error) { return 0, 0, os.ErrInvalid }
	})
	f.retained(10)
}

// A limit that is changed while the program runs holds from the next call on, and output is not part of it.
func TestEventLimitIsReadAnew(t *testing.T) {
	f := newFixture(t)
	f.set(`{"events.maxPerSession": 20000}`)
	s := f.request(LaunchRequest{Command: "cat", KeepStdin: true})
	c := f.rt.last()
	if _, err := s.Input(context.Background(), "kept\n", false); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a line", func() bool { return text(t, s, event.Stdout) == "kept\n" })
	const block = 8192
	for _, limit := range []int64{20_000, 40_000, 1} {
		f.set(fmt.Sprintf(`{"events.maxPerSession": %d}`, limit))
		state(t, s)
		c.calls("f", 40_000)
		state(t, s)
		c.calls("f", 1) // a limit takes effect with the next commit
		state(t, s)
		if kept := s.st.Stats().Kept; kept < limit || kept > limit+2*block {
			t.Errorf("limit %d: %d call events kept", limit, kept)
		}
		if got := text(t, s, event.Stdout); got != "kept\n" {
			t.Errorf("limit %d: output %q", limit, got)
		}
	}
}

func TestSinkCountsSampledCalls(t *testing.T) {
	f := newFixture(t)
	s := f.sh("read x")
	c := f.rt.last()
	c.calls("hot", 3)
	var sampled interface {
		Sampled(fn event.FuncID, skipped int64)
	} = c.sink.(*sink)
	sampled.Sampled(0, 97)
	if err := s.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
	if st := s.st.FuncStats(); len(st) != 1 || st[0].Calls != 3 || st[0].Sampled != 97 {
		t.Errorf("FuncStats() = %+v", st)
	}
}

// Nobody waits while old sessions are deleted: calls go in and questions are answered meanwhile.
func TestNobodyWaitsForTheCleaning(t *testing.T) {
	f := newFixture(t)
	for range 8 {
		f.retained(300_000)
	}
	s := f.launch("sleep", "60") // runs: what has ended could be cleaned away itself
	c := f.rt.last()
	set, _ := f.cfg.Settings.Load("")
	set.StorageRetainDays = 1
	done := make(chan error, 1)
	go func() { done <- f.sweepNow(context.Background(), set, time.Now().Add(48*time.Hour)) }()
	var longest time.Duration
	for swept := false; !swept; {
		start := time.Now()
		c.calls("f", 100)
		if got := len(events(t, s, event.FunctionExit)); got == 0 {
			t.Fatal("no calls")
		}
		longest = max(longest, time.Since(start))
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
			swept = true
		default:
		}
	}
	t.Logf("the longest round of 100 calls and a question beside the cleaning took %v", longest)
	if f.kept() != s.ID {
		t.Errorf("left: %s", f.kept())
	}
}
