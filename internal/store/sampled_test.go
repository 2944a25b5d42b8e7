package store

import (
	"context"
	"errors"
	"os"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/strobe-debug/strobe/internal/event"
)

// counts maps each function to its recorded and unrecorded calls.
func counts(st *Store) map[event.FuncID][2]int64 {
	out := map[event.FuncID][2]int64{}
	for _, f := range st.FuncStats() {
		out[f.Func] = [2]int64{f.Calls, f.Sampled}
	}
	return out
}

// copyLive copies the files of a store that is being written, as a kill -9 would leave them.
func copyLive(t *testing.T, path string) string {
	t.Helper()
	to := t.TempDir() + "/copy.db"
	for _, suffix := range []string{"", "-wal"} {
		b, err := os.ReadFile(path + suffix)
		must(t, err)
		must(t, os.WriteFile(to+suffix, b, 0o600))
	}
	return to
}

func TestCallsNotRecorded(t *testing.T) {
	st, path := testStore(t, Options{})
	var fn [3]event.FuncID
	for i, name := range []string{"hot", "cold", "never"} {
		fn[i] = st.Function(event.Function{Name: name})
	}
	th := st.Thread(event.Thread{PID: 1, TID: 1})
	for _, f := range fn[:2] {
		must(t, st.Put([]event.Event{{Kind: event.FunctionEnter, Func: f, Thread: th},
			{TS: 5, Kind: event.FunctionExit, Func: f, Thread: th}}))
	}
	st.AddCalls(fn[0], 98)
	st.AddCalls(fn[0], 1)
	st.AddCalls(fn[2], 7)
	st.AddCalls(fn[1], 0)
	st.AddCalls(fn[1], -3)
	st.AddCalls(99, 5)
	want := map[event.FuncID][2]int64{fn[0]: {1, 99}, fn[1]: {1, 0}, fn[2]: {0, 7}}
	must(t, st.Flush(context.Background()))
	if diff := cmp.Diff(want, counts(st)); diff != "" {
		t.Errorf("FuncStats() (-want +got):\n%s", diff)
	}

	// Without an event, counts are in the file after a flush, and after a kill -9.
	st.AddCalls(fn[2], 3)
	want[fn[2]] = [2]int64{0, 10}
	must(t, st.Flush(context.Background()))
	killed, err := Open(copyLive(t, path))
	must(t, err)
	if diff := cmp.Diff(want, counts(killed)); diff != "" {
		t.Errorf("FuncStats() of an interrupted file (-want +got):\n%s", diff)
	}
	must(t, killed.Close())

	st.AddCalls(fn[0], 1) // the last one comes with the close
	want[fn[0]] = [2]int64{1, 100}
	must(t, st.Close())
	re, err := Open(path)
	must(t, err)
	defer re.Close()
	if diff := cmp.Diff(want, counts(re)); diff != "" {
		t.Errorf("FuncStats() after Open (-want +got):\n%s", diff)
	}
	re.AddCalls(fn[0], 1) // nothing to write to
	if re.Missing()[fn[0]].Sampled != 100 {
		t.Errorf("Missing() = %v", re.Missing())
	}
}

// Keeps out: counts that a failed commit had taken and nobody wrote again.
func TestCountsOfAFailedCommit(t *testing.T) {
	st, path := testStore(t, Options{})
	fn := st.Function(event.Function{Name: "f"})
	th := st.Thread(event.Thread{PID: 1, TID: 1, Name: "a"})
	must(t, st.Flush(context.Background()))
	var broken atomic.Bool
	broken.Store(true)
	st.w.failCommit = func() error {
		if broken.Load() {
			return errors.New("broken")
		}
		return nil
	}
	st.AddCalls(fn, 5)
	st.SetThreadName(th, "b", 9)
	if err := st.Flush(context.Background()); err == nil {
		t.Fatal("Flush() of a broken store works")
	}
	broken.Store(false)
	for st.Flush(context.Background()) != nil {
	}
	must(t, st.Close())
	re, err := Open(path)
	must(t, err)
	defer re.Close()
	sn := snapshot(t, re)
	defer sn.Close()
	if n := re.Missing()[fn].Sampled; n != 5 || sn.Threads()[th].Name != "b" {
		t.Errorf("after reopening: %d calls not recorded, threads %+v", n, sn.Threads())
	}
}

func TestThreadNamesOverTime(t *testing.T) {
	st, path := testStore(t, Options{})
	early := st.Thread(event.Thread{PID: 1, TID: 1, Name: "main"})
	late := st.Thread(event.Thread{PID: 1, TID: 2, Name: "main"})
	st.SetThreadName(early, "boss", 0) // its name from the beginning
	st.SetThreadName(late, "loader", 100)
	st.SetThreadName(late, "loader", 150)
	st.SetThreadName(late, "saver", 200)
	st.SetThreadName(77, "nobody", 1)
	want := map[event.ThreadID][]ThreadName{late: {{0, "main"}, {100, "loader"}, {200, "saver"}}}
	verify := func(when string, st *Store) {
		t.Helper()
		sn := snapshot(t, st)
		defer sn.Close()
		if diff := cmp.Diff(want, sn.ThreadNames()); diff != "" {
			t.Errorf("%s: ThreadNames() (-want +got):\n%s", when, diff)
		}
		if th := sn.Threads(); th[early].Name != "boss" || th[late].Name != "saver" {
			t.Errorf("%s: Threads() = %+v", when, th)
		}
	}
	verify("live", st)
	if id := st.Thread(event.Thread{PID: 1, TID: 2, Name: "saver"}); id != late {
		t.Errorf("Thread() of the newest name = %d, want %d", id, late)
	}
	killed, err := Open(copyLive(t, path))
	must(t, err)
	verify("killed", killed)
	must(t, killed.Close())
	before := snapshot(t, st)
	for i := range 2 * maxThreadNames {
		st.SetThreadName(late, []string{"odd", "even"}[i%2], int64(1000+i))
	}
	if diff := cmp.Diff(want, before.ThreadNames()); diff != "" {
		t.Errorf("a snapshot changed (-want +got):\n%s", diff)
	}
	before.Close()
	must(t, st.Close())
	re, err := Open(path)
	must(t, err)
	defer re.Close()
	sn := snapshot(t, re)
	defer sn.Close()
	if n := len(sn.ThreadNames()[late]); n != maxThreadNames || sn.Threads()[late].Name != "even" {
		t.Errorf("%d names are kept, want %d; the newest is %q", n, maxThreadNames, sn.Threads()[late].Name)
	}
}

// Keeps out: files of the version before this one that could not be read any more.
func TestFileOfSchema1(t *testing.T) {
	old := sessionSchema
	sessionSchema = old[:1:1]
	path := t.TempDir() + "/s.db"
	db, err := openSQL(path, nil, "journal_mode(WAL)")
	must(t, err)
	conn, err := db.Conn(context.Background())
	must(t, err)
	must(t, migrate(context.Background(), conn, path, sessionAppID, sessionSchema))
	sessionSchema = old
	must(t, execAll(context.Background(), conn, `INSERT INTO meta VALUES('session','{"sessionId":"s"}')`,
		`INSERT INTO threads VALUES(0,1,1,'main')`))
	must(t, errors.Join(conn.Close(), db.Close()))
	re, err := Open(path)
	must(t, err)
	defer re.Close()
	sn := snapshot(t, re)
	defer sn.Close()
	if th := sn.Threads(); len(th) != 1 || th[0].Name != "main" || len(re.Missing())+len(sn.ThreadNames()) != 0 {
		t.Errorf("threads of a file of schema 1 = %+v", th)
	}
}
