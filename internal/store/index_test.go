package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/fault"
)

func TestIndex(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "strobe.db")
	x, err := OpenIndex(path)
	must(t, err)
	defer func() { must(t, x.Close()) }()
	code := 3
	a := SessionInfo{ID: "a", Command: "/bin/a", Args: []string{"-x"}, ProjectRoot: "/p", PID: 7, StartedAt: 20,
		Status: StatusRunning, Path: "/none"}
	b := SessionInfo{ID: "b", Command: "/bin/b", ProjectRoot: "/q", StartedAt: 10, EndedAt: 11, Status: "exited",
		ExitCode: &code, Path: "/none"}
	must(t, x.Register(ctx, a))
	must(t, x.Register(ctx, b))
	if err := x.Register(ctx, a); !errors.Is(err, ErrExists) {
		t.Errorf("Register() twice = %v, want %v", err, ErrExists)
	}
	if err := x.Update(ctx, SessionInfo{ID: "c"}); !errors.Is(err, ErrNotFound) {
		t.Errorf("Update() = %v, want %v", err, ErrNotFound)
	}

	y, err := OpenIndex(path) // another process
	must(t, err)
	all, err := y.List(ctx, "")
	must(t, err)
	if diff := cmp.Diff([]SessionInfo{b, a}, all); diff != "" {
		t.Errorf("List() (-want +got): %s", diff)
	}
	if one, err := y.List(ctx, "/p/"); err != nil || len(one) != 1 || one[0].ID != "a" {
		t.Errorf("List(/p/) = %+v, %v", one, err)
	}
	marked, err := y.MarkInterrupted(ctx, "nobody")
	must(t, err)
	if len(marked) != 1 || marked[0].ID != "a" || marked[0].Status != StatusInterrupted || !marked[0].Retained {
		t.Errorf("MarkInterrupted() = %+v", marked)
	}
	must(t, y.Close())

	got, ok, err := x.Get(ctx, "a")
	if err != nil || !ok || got.Status != StatusInterrupted {
		t.Errorf("Get(a) = %+v, %v, %v", got, ok, err)
	}
	must(t, x.Delete(ctx, "a"))
	if _, ok, err := x.Get(ctx, "a"); ok || err != nil {
		t.Errorf("Get(a) after Delete = %v, %v", ok, err)
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, data []byte) string {
		p := filepath.Join(dir, name)
		must(t, os.WriteFile(p, data, 0o600))
		return p
	}
	if _, err := Open(filepath.Join(dir, "none.db")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Open(missing) = %v", err)
	}
	for name, data := range map[string][]byte{"text": []byte(
		"not a database, but long enough to be read as one....................................................."),
		"empty": nil} {
		if _, err := Open(file(name, data)); fault.CodeOf(err) != fault.ValidationError {
			t.Errorf("Open(%s) = %v, want %s", name, err, fault.ValidationError)
		}
	}
	x, err := OpenIndex(filepath.Join(dir, "index.db"))
	must(t, err)
	must(t, x.Close())
	if _, err := Open(filepath.Join(dir, "index.db")); fault.CodeOf(err) != fault.ValidationError {
		t.Errorf("Open(an index) = %v, want %s", err, fault.ValidationError)
	}
	if _, err := OpenIndex(file("text2", []byte("no index, no database: the header of this file says so in plain words "+
		"to whoever reads it ....."))); fault.CodeOf(err) != fault.ValidationError {
		t.Errorf("OpenIndex(text) = %v, want %s", err, fault.ValidationError)
	}
	st, path := testStore(t, Options{})
	if _, err := Create(path, Meta{}, Options{}); !errors.Is(err, os.ErrExist) {
		t.Errorf("Create() twice = %v", err)
	}
	must(t, execAll(context.Background(), st.w.conn, "PRAGMA user_version=99"))
	if _, err := Open(path); fault.CodeOf(err) != fault.Unsupported {
		t.Errorf("Open(newer schema) = %v, want %s", err, fault.Unsupported)
	}
	must(t, execAll(context.Background(), st.w.conn, "PRAGMA user_version=1"))
	if _, err := Create(filepath.Join(dir, "no", "such", "folder.db"), Meta{}, Options{}); err == nil {
		t.Error("Create() in a missing folder = nil")
	}
}

// TestDamagedFile overwrites parts of a file: Open and reading must end with rows or an error.
func TestDamagedFile(t *testing.T) {
	st, path := testStore(t, Options{})
	src := newSource(11, 30, 2)
	src.register(st)
	must(t, st.Put(src.batch(30_000)))
	must(t, st.Close())
	whole, err := os.ReadFile(path)
	must(t, err)
	broken, files := 0, 120
	if testing.Short() {
		files = 30
	}
	for i := range files {
		data := append([]byte(nil), whole...)
		for range 1 + i%20 {
			copy(data[src.rnd.IntN(len(data)-64):], src.bytes(1+src.rnd.IntN(64)))
		}
		if i%10 == 0 {
			data = data[:src.rnd.IntN(len(data))]
		}
		p := filepath.Join(t.TempDir(), "d.db")
		must(t, os.WriteFile(p, data, 0o600))
		problems, err := Check(context.Background(), p)
		if err != nil || len(problems) > 0 {
			broken++
		}
		if left := openFiles(p); len(left) > 0 {
			t.Fatalf("open after Check(): %q", left)
		}
		_ = os.Remove(p)
	}
	if broken < files/3 {
		t.Errorf("Check() found something wrong in %d of %d damaged files", broken, files)
	}
}

func TestNames(t *testing.T) {
	st, path := testStore(t, Options{})
	fns := []event.Function{
		{Name: "a", Raw: "_Za", File: "/x.c", Line: 3, Module: "/m", Language: "c", Layout: []byte{1, 2}},
		{Name: "b", File: "/x.c", Module: "/m"}, {},
	}
	for i, f := range fns {
		if id := st.Function(f); int(id) != i {
			t.Errorf("Function() = %d, want %d", id, i)
		}
	}
	one := st.Thread(event.Thread{PID: 1, TID: 2, Name: "x"})
	if again := st.Thread(event.Thread{PID: 1, TID: 2, Name: "x"}); again != one {
		t.Errorf("Thread() again = %d, want %d", again, one)
	}
	two := st.Thread(event.Thread{PID: 1, TID: 2, Name: "y"})
	must(t, st.SetResult(Result{}))
	st.SetThreadName(two, "z", 0)
	st.SetPID(77)
	code := 4
	must(t, st.SetResult(Result{Status: "exited", ExitCode: &code}))
	if live, err := Open(path); err != nil || live.Meta().PID != 77 || live.Close() != nil {
		t.Errorf("Open() beside the writer = %v", err)
	}
	must(t, st.Close())
	re, err := Open(path)
	must(t, err)
	defer func() { must(t, re.Close()) }()
	sn := snapshot(t, re)
	defer sn.Close()
	if diff := cmp.Diff(fns, sn.Functions()); diff != "" {
		t.Errorf("Functions() (-want +got): %s", diff)
	}
	if diff := cmp.Diff([]event.Thread{{PID: 1, TID: 2, Name: "x"}, {PID: 1, TID: 2, Name: "z"}},
		sn.Threads()); diff != "" {
		t.Errorf("Threads() (-want +got): %s", diff)
	}
	if diff := cmp.Diff(Meta{SessionID: "s", Command: "/bin/x", StartedAt: 5, PID: 77}, re.Meta()); diff != "" {
		t.Errorf("Meta() (-want +got): %s", diff)
	}
	if r := re.Result(); r.ExitCode == nil || *r.ExitCode != 4 {
		t.Errorf("Result() = %+v", r)
	}
	if err := re.Put(nil); !errors.Is(err, ErrReadOnly) {
		t.Errorf("Put() = %v, want %v", err, ErrReadOnly)
	}
}

// TestUnruly keeps what breaks the contract: exits without an enter, frames that are skipped, a
// thread whose clock steps back.
func TestUnruly(t *testing.T) {
	st, _ := testStore(t, Options{})
	f, g := st.Function(event.Function{Name: "f"}), st.Function(event.Function{Name: "g"})
	th := st.Thread(event.Thread{TID: 1})
	enter, exit := event.FunctionEnter, event.FunctionExit
	must(t, st.Put([]event.Event{
		{TS: 10, Kind: exit, Func: f, Thread: th},
		{TS: 20, Kind: enter, Func: f, Thread: th},
		{TS: 30, Kind: enter, Func: g, Thread: th},
		{TS: 25, Kind: exit, Func: f, Thread: th},
		{TS: 22, Kind: event.Stdout, Thread: event.NoThread},
	}))
	sn := snapshot(t, st)
	defer sn.Close()
	got := collect(t, sn, Filter{}, ScanOptions{Cold: true})
	want := []Row{
		{ID: 1, TS: 10, Kind: exit},
		{ID: 2, TS: 20, Kind: enter},
		{ID: 3, TS: 22, Kind: event.Stdout, Thread: event.NoThread},
		{ID: 4, TS: 30, Kind: enter, Func: g, Parent: 2, Depth: 1},
		{ID: 5, TS: 30, Kind: exit, Enter: 2, Duration: 10},
	}
	for i := range want {
		if i >= len(got) || !sameRow(&got[i], &want[i], true) {
			t.Fatalf("row %d (-want +got): %s", i, cmp.Diff(want, got))
		}
	}
	for _, bad := range []event.Event{{Kind: enter, Func: 9, Thread: th}, {Kind: enter, Thread: 9}, {Kind: event.NumKinds},
		{}} {
		if err := st.Put([]event.Event{bad}); err == nil {
			t.Errorf("Put(%+v) = nil", bad)
		}
	}
}
