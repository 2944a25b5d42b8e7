package store

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/strobetest"
)

// putUntilFull puts batches until one is refused; it returns how many events were accepted.
func putUntilFull(t *testing.T, st *Store, src *source, m *model) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for time.Now().Before(deadline) {
		b := src.batch(500)
		err := st.Put(b)
		if err == nil {
			m.put(b)
			err = st.Flush(context.Background())
		}
		if err != nil {
			if fault.CodeOf(err) != fault.StorageFull {
				t.Fatalf("on a full disk: %v, want %s", err, fault.StorageFull)
			}
			return
		}
	}
	t.Fatal("the disk never became full")
}

func TestFullDisk(t *testing.T) {
	st, path := testStore(t, Options{})
	src := newSource(7, 30, 2)
	src.register(st)
	var m model
	fillDisk(t, st, 100)
	putUntilFull(t, st, src, &m)
	if err := st.SetResult(Result{Status: "exited"}); fault.CodeOf(err) != fault.StorageFull {
		t.Errorf("SetResult() = %v, want %s", err, fault.StorageFull)
	}

	// What was written stays readable.
	visible := int(st.Stats().LastID)
	if visible == 0 || visible > len(m.rows) {
		t.Fatalf("%d events visible of %d", visible, len(m.rows))
	}
	sn, err := st.Snapshot(context.Background())
	must(t, err)
	got := collect(t, sn, Filter{}, ScanOptions{Cold: true})
	sn.Close()
	for i := range got {
		if !sameRow(&got[i], &m.rows[i], true) {
			t.Fatalf("row %d = %+v, want %+v", i, got[i], m.rows[i])
		}
	}

	// When there is room again, what was accepted is written.
	fillDisk(t, st, 100_000)
	deadline := time.Now().Add(20 * time.Second)
	for st.Flush(context.Background()) != nil {
		if time.Now().After(deadline) {
			t.Fatal("Flush() still refused after the disk has room")
		}
	}
	check(t, st, src, &m, 5)
	b := src.batch(1) // its calls continue those that were refused: only outputs are comparable
	if b[0].Kind.IsCall() {
		b[0] = event.Event{Kind: event.Stdout, Thread: event.NoThread, TS: b[0].TS, Payload: []byte("again")}
	}
	must(t, st.Put(b))
	must(t, st.Close())
	if problems, err := Check(context.Background(), path); err != nil || len(problems) > 0 {
		t.Errorf("Check() = %q, %v", problems, err)
	}
}

// TestFullDiskForReal fills a file system of 4 MB.
func TestFullDiskForReal(t *testing.T) {
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", dir).CombinedOutput(); err != nil {
		strobetest.Lack(t, "mounting a small file system needs root: %v: %s", err, out)
	}
	defer func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
		}
	}()
	path := filepath.Join(dir, "s.db")
	st, err := Create(path, Meta{SessionID: "s"}, Options{})
	must(t, err)
	src := newSource(8, 30, 2)
	src.register(st)
	var m model
	putUntilFull(t, st, src, &m)
	sn, err := st.Snapshot(context.Background())
	must(t, err)
	got := collect(t, sn, Filter{}, ScanOptions{Cold: true})
	sn.Close()
	if err := st.Close(); fault.CodeOf(err) != fault.StorageFull {
		t.Errorf("Close() = %v, want %s", err, fault.StorageFull)
	}
	for i := range got {
		if !sameRow(&got[i], &m.rows[i], true) {
			t.Fatalf("row %d = %+v, want %+v", i, got[i], m.rows[i])
		}
	}
	re, err := Open(path)
	must(t, err)
	if !re.Result().Interrupted || re.Stats().LastID < int64(len(got)) {
		t.Errorf("after a full disk: Result() = %+v, %d events, want %d", re.Result(), re.Stats().LastID, len(got))
	}
	must(t, re.Close())

	// A disk that is full from the start.
	must(t, RemoveFile(path))
	if err := os.WriteFile(filepath.Join(dir, "filler"), make([]byte, 8<<20), 0o600); err == nil {
		t.Fatal("the small file system took 8 MB")
	}
	if _, err := Create(path, Meta{}, Options{}); fault.CodeOf(err) != fault.StorageFull {
		t.Errorf("Create() = %v, want %s", err, fault.StorageFull)
	}
}

func TestFailedCommitIsTriedAgain(t *testing.T) {
	st, _ := testStore(t, Options{MaxEvents: 9000})
	src := newSource(9, 30, 2)
	var m model
	broken := errors.New("broken")
	fail := true // the writer's own, like failCommit
	var mended atomic.Bool
	st.w.failCommit = func() error {
		if fail = !fail; fail && !mended.Load() {
			return broken
		}
		return nil
	}
	src.register(st)
	for len(m.rows) < 50_000 {
		b := src.batch(3000)
		deadline := time.Now().Add(30 * time.Second)
		for st.Put(b) != nil {
			if time.Now().After(deadline) {
				t.Fatal("Put() refused for too long")
			}
			_ = st.Flush(context.Background()) // waits for the writer's next attempt
		}
		m.put(b)
		mended.Store(len(m.rows) > 20_000)
	}
	for st.Flush(context.Background()) != nil {
	}
	check(t, st, src, &m, 10)
}

// Without room events are held back and refused; names, counts and the end of the recording are written all the same.
func TestNoRoom(t *testing.T) {
	var full atomic.Bool
	none := fault.New(fault.StorageFull, "Free some.", "the reserve is reached")
	st, path := testStore(t, Options{Room: func() error {
		if full.Load() {
			return none
		}
		return nil
	}})
	src := newSource(10, 30, 2)
	src.register(st)
	var m model
	b := src.batch(3000)
	m.put(b)
	must(t, st.Put(b))
	must(t, st.Flush(context.Background()))
	full.Store(true)
	st.AddCalls(0, 5)
	must(t, st.Flush(context.Background())) // no events: nothing to ask for
	putUntilFull(t, st, src, &m)
	if last := st.Stats().LastID; last != 3000 {
		t.Errorf("%d events are in the file", last)
	}
	if err := st.Flush(context.Background()); fault.CodeOf(err) != fault.StorageFull {
		t.Errorf("Flush() = %v, want %s", err, fault.StorageFull)
	}
	must(t, st.SetResult(Result{Status: "exited"}))
	check(t, st, src, &m, 5)
	must(t, st.Close())
	re, err := Open(path)
	must(t, err)
	defer re.Close()
	check(t, re, src, &m, 5)
	if re.Result().Status != "exited" || re.Result().Interrupted || re.Missing()[0].Sampled != 5 {
		t.Errorf("Result() = %+v, Missing() = %v", re.Result(), re.Missing())
	}
}
