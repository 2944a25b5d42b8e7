package export

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/record"
	"github.com/strobe-debug/strobe/internal/store"
	"github.com/strobe-debug/strobe/internal/value"
)

// call is a call as a form has it: on which line, what, from when to when in nanoseconds since the session's start.
type call struct {
	track, name string
	start, end  int64
}

// readBack is what a file holds: calls, and how many events that are none.
type readBack struct {
	calls  []call
	others int64
}

func (b *readBack) sort() {
	slices.SortFunc(b.calls, func(x, y call) int {
		return cmp.Or(cmp.Compare(x.start, y.start), cmp.Compare(x.end, y.end), strings.Compare(x.track, y.track),
			strings.Compare(x.name, y.name))
	})
}

// readers read each form by what its own definition says, without our code.
var readers = map[string]func(t *testing.T, st *store.Store, path string) readBack{
	"chrome": readChrome, "perfetto": readPerfetto, "speedscope": readSpeedscope, "otlp": readOTLP, "sqlite": readSQLite,
	"parquet": readTables,
	"session": func(t *testing.T, _ *store.Store, path string) readBack {
		if problems, err := store.Check(t.Context(), path); err != nil || len(problems) > 0 {
			t.Errorf("the copy: %v, %v", problems, err)
		}
		st, err := store.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		return held(t, st)
	},
}

// trackName is by what the tests know a line again: what all forms can say of it.
func trackName(pid, tid int32, name string) string { return fmt.Sprintf("%d/%d %s", pid, tid, name) }

// held is what a session holds, by the reader that questions use.
func held(t *testing.T, st *store.Store) (b readBack) {
	t.Helper()
	sn, err := st.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer sn.Close()
	total, err := sn.Count(t.Context(), store.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	rd := record.New(sn)
	threads := sn.Threads()
	for c, err := range rd.Calls(t.Context(), record.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		got := call{name: valid(c.Function().Name), end: sn.LastTS()}
		id := event.NoThread
		if c.Enter != nil {
			total--
			got.start, id = c.Enter.TS, c.Enter.Thread
		}
		if c.Exit != nil {
			total--
			got.end, id = c.Exit.TS, c.Exit.Thread
			if c.Enter == nil {
				got.start = c.Exit.TS - c.Exit.Duration
			}
		}
		if int(id) < len(threads) {
			got.track = trackName(threads[id].PID, threads[id].TID, valid(threads[id].Name))
		}
		b.calls = append(b.calls, got)
	}
	b.others = total
	b.sort()
	return b
}

// TestFormats: every form has what the session holds, and its report adds up.
func TestFormats(t *testing.T) {
	for name, st := range map[string]*store.Store{
		"empty": newStore(t, 0), "odd": oddStore(t), "evicted": randomStore(t, 20_000, 60_000),
		"whole": randomStore(t, 0, 30_000),
	} {
		want := held(t, st)
		for _, f := range Formats {
			t.Run(name+"/"+f.Name, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "x"+f.Extension)
				r, err := f.WriteFile(t.Context(), st, path)
				if err != nil {
					t.Fatal(err)
				}
				of := st
				if f.Name == "session" { // what is open has an end in it, as in every file that is read
					if of, err = store.Open(path); err != nil {
						t.Fatal(err)
					}
					defer of.Close()
				}
				checkReport(t, of, r)
				if f.Name == "speedscope" {
					checkSpeedscope(t, r, want.others)
				} else if len(r.LeftOut) > 0 {
					t.Errorf("left out: %+v", r.LeftOut)
				}
				got := readers[f.Name](t, st, path)
				got.sort()
				wantOthers := want.others
				if f.Name == "speedscope" {
					wantOthers = 0
				}
				if got.others != wantOthers {
					t.Errorf("%d events that are no calls, want %d", got.others, wantOthers)
				}
				compareCalls(t, got.calls, want.calls)
				if info, err := os.Stat(path); err != nil || info.Mode().Perm()&^0o100 != 0o600 || f.folder == nil &&
					info.Mode().Perm() != 0o600 {
					t.Errorf("the file: %v, %v", info.Mode(), err)
				}
				if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 1 {
					t.Errorf("%d files beside it", len(left)-1)
				}
			})
		}
	}
}

func compareCalls(t *testing.T, got, want []call) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%d calls, want %d", len(got), len(want))
	}
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Fatalf("call %d is %+v, want %+v", i, got[i], want[i])
		}
	}
}

func checkReport(t *testing.T, st *store.Store, r *Report) {
	t.Helper()
	sn, err := st.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer sn.Close()
	n, err := sn.Count(t.Context(), store.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	sum := r.Written
	for _, l := range r.LeftOut {
		sum += l.Events
	}
	if r.Events != n || sum != n {
		t.Errorf("report of %d events, %d written or left out, the session has %d: %+v", r.Events, sum, n, r)
	}
	if r.Evicted != st.Stats().Evicted {
		t.Errorf("%d evicted, want %d", r.Evicted, st.Stats().Evicted)
	}
}

func checkSpeedscope(t *testing.T, r *Report, others int64) {
	t.Helper()
	var n int64
	for _, l := range r.LeftOut {
		n += l.Events
	}
	if n != others {
		t.Errorf("%d events left out, want %d", n, others)
	}
}

func put(t *testing.T, st *store.Store, batch []event.Event) {
	t.Helper()
	if err := errors.Join(st.Put(batch), st.Flush(context.Background())); err != nil {
		t.Fatal(err)
	}
}

// oddStore has what is rare: lanes, calls without an end or a begin, events of no thread, bytes that are no text, a
// thread without a name, values of every kind, calls that begin and end at one moment.
func oddStore(t *testing.T) *store.Store {
	st := newStore(t, 0)
	tree := value.NewTree([]string{"n", "who"}, 3).Marshal()
	f := st.Function(event.Function{Name: "ns::f<int>", File: "/src/a.cpp", Line: 7, Module: "/opt/app", Layout: tree})
	g := st.Function(event.Function{Name: "g\xff", Module: "/lib/libg.so"})
	main := st.Thread(event.Thread{PID: 10, TID: 10, Name: "app"})
	lane := st.Thread(event.Thread{PID: 10, TID: 10, Name: event.LaneName("app", 1)})
	worker := st.Thread(event.Thread{PID: 10, TID: 11})
	child := st.Thread(event.Thread{PID: 12, TID: 12, Name: "kid\xfe"})
	midi, err := st.Stream(event.Stream{Channel: "midi", Name: "notes", Media: "midi", Direction: event.Out})
	if err != nil {
		t.Fatal(err)
	}
	enter := func(ts int64, fn event.FuncID, th event.ThreadID, p string) event.Event {
		return event.Event{TS: ts, Kind: event.FunctionEnter, Func: fn, Thread: th, Payload: []byte(p)}
	}
	exit := func(ts int64, fn event.FuncID, th event.ThreadID, fl event.Flags, p string) event.Event {
		return event.Event{TS: ts, Kind: event.FunctionExit, Func: fn, Thread: th, Flags: fl, Payload: []byte(p)}
	}
	put(t, st, []event.Event{
		enter(100, f, main, `{"n":18446744073709551615,"who":{"$":"obj","t":"U","v":{"a":[1,2.5,null,true,[],{}]}}}`),
		{TS: 105, Kind: event.Stdout, Thread: main, Payload: []byte("<b>\x00\xfe\"quoted\"\n")},
		enter(110, g, lane, ""), enter(111, f, lane, `{"n":-1}`),
		enter(112, g, main, ""), exit(112, g, main, 0, ""), // no time passed
		exit(120, f, lane, event.Unwound, ""), exit(130, g, lane, event.Lost, ""),
		exit(140, f, main, 0, `["x",null]`),
		enter(150, f, worker, `{"n":1e300}`), enter(151, g, worker, ""), // neither ends
		enter(155, g, child, ""), exit(156, g, child, event.Unwound|event.AtEnd, ""),
		{TS: 160, Kind: event.Process, Thread: event.NoThread, Payload: []byte(`{"what":"exit"}`)},
		{TS: 161, Kind: event.Data, Stream: midi, Thread: event.NoThread, Payload: []byte("\x90\x40")},
		{TS: 162, Kind: event.State, Stream: midi, Thread: main, Payload: []byte(`{"tempo":120}`)},
		{TS: 163, Kind: event.Crash, Thread: worker, Payload: []byte(`{"reason":"<null>","signal":"SIGSEGV"}`)},
		{TS: 164, Kind: event.Stderr, Thread: worker, Payload: []byte(strings.Repeat("x", maxOutputText+1))},
	})
	return st
}

// randomStore has n call events on a few threads, nested at random, and output among them.
func randomStore(t *testing.T, limit int64, n int) *store.Store {
	st := newStore(t, limit)
	rng := rand.New(rand.NewPCG(7, 8))
	var fns []event.FuncID
	for i := range 20 {
		fns = append(fns, st.Function(event.Function{Name: fmt.Sprint("f", i), File: "/s.c", Line: i + 1, Module: "/m"}))
	}
	var threads []event.ThreadID
	for i := range int32(5) {
		threads = append(threads, st.Thread(event.Thread{PID: 1, TID: 1 + i, Name: fmt.Sprint("t", i)}))
	}
	open := make([][]event.FuncID, len(threads))
	var batch []event.Event
	ts := int64(0)
	for i := range n {
		ts += rng.Int64N(4) // some at one moment
		th := rng.IntN(len(threads))
		if i < len(threads) {
			th = i // a call at the bottom of each, that is open until the end
		}
		e := event.Event{TS: ts, Thread: threads[th]}
		if s := open[th]; i >= len(threads) && len(s) > 1 && (len(s) > 12 || rng.IntN(2) == 0) {
			e.Kind, e.Func, e.Ret, e.Flags = event.FunctionExit, s[len(s)-1], int64(i), event.HasRet
			open[th] = s[:len(s)-1]
		} else {
			e.Kind, e.Func = event.FunctionEnter, fns[rng.IntN(len(fns))]
			open[th] = append(s, e.Func)
		}
		batch = append(batch, e)
		if i%500 == 0 {
			batch = append(batch, event.Event{TS: ts, Kind: event.Stdout, Thread: threads[th], Payload: []byte("line\n")})
		}
	}
	for th, s := range open {
		for i := len(s) - 1; i >= 0; i-- {
			ts++
			batch = append(batch, event.Event{TS: ts, Kind: event.FunctionExit, Func: s[i], Thread: threads[th]})
		}
	}
	put(t, st, batch)
	if (st.Stats().Evicted > 0) != (limit > 0) {
		t.Fatalf("%d events were evicted", st.Stats().Evicted)
	}
	return st
}

// TestWriteFile: what is there stays until an export is complete, and is never the session itself.
func TestWriteFile(t *testing.T) {
	st := randomStore(t, 0, 3000)
	dir := t.TempDir()
	path := filepath.Join(dir, "x.json")
	if err := os.WriteFile(path, []byte("before"), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, f := range Formats {
		if _, err := f.WriteFile(ctx, st, path); err == nil {
			t.Errorf("%s: a cancelled export is complete", f.Name)
		}
		if got, _ := os.ReadFile(path); string(got) != "before" {
			t.Errorf("%s: a cancelled export left %.20q", f.Name, got)
		}
		_, err := f.WriteFile(t.Context(), st, st.Path())
		if fault.CodeOf(err) != fault.ValidationError {
			t.Errorf("%s over the session: %v", f.Name, err)
		}
		if _, err := f.WriteFile(t.Context(), st, dir); fault.CodeOf(err) != fault.ValidationError {
			t.Errorf("%s over a directory: %v", f.Name, err)
		}
		if _, err := f.WriteFile(t.Context(), st, filepath.Join(dir, "no", "x")); err == nil {
			t.Errorf("%s into a folder that is not there", f.Name)
		}
		_, err = f.Write(t.Context(), st, &failing{after: 10})
		if f.stream == nil && fault.CodeOf(err) != fault.ValidationError {
			t.Errorf("%s into a stream: %v", f.Name, err)
		} else if f.stream != nil && (err == nil || !strings.Contains(err.Error(), "disk full")) {
			t.Errorf("%s: %v, want the write error", f.Name, err)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("%d files are left", len(left))
	}
	if runtime.GOOS == "linux" {
		if _, err := chrome.WriteFile(t.Context(), st, "/dev/full"); fault.CodeOf(err) != fault.StorageFull {
			t.Errorf("on a full disk: %v", err)
		}
	}
	if _, err := Formats[0].WriteFile(t.Context(), st, path); err != nil {
		t.Error(err)
	}
	if got, _ := os.ReadFile(path); !strings.HasPrefix(string(got), "{") {
		t.Errorf("got %.20q", got)
	}
	if _, err := Find("nothing"); fault.CodeOf(err) != fault.ValidationError {
		t.Errorf("Find(nothing) = %v", err)
	}
	for _, f := range Formats {
		if got, err := Find(f.Name); got != f || err != nil {
			t.Errorf("Find(%s) = %v, %v", f.Name, got, err)
		}
	}
}

// TestCutText: what is cut is cut between characters, and said; a piece that is no text is said as well.
func TestCutText(t *testing.T) {
	for in, want := range map[string]struct {
		text    string
		changed int
	}{"abc": {"abc", 0}, "ab\u20ac": {"ab\u20ac", 0}, "abcd\u20acxyz": {"abcd", 1}, "abc\u20acxyz": {"abc\u20ac", 1},
		"ab\xff": {"ab\uFFFD", 1}, "abcde\xffxyz": {"abcde", 1}} {
		s := &session{}
		got := s.text(&store.Row{Kind: event.Stdout, Payload: []byte(in)}, 6)
		if got != want.text || len(s.report.Changed) != want.changed {
			t.Errorf("%q is %q, %v", in, got, s.report.Changed)
		}
	}
}

// TestSpoolIsRemoved: nothing is left of what did not fit into memory, whether the export succeeds or not.
func TestSpoolIsRemoved(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	st := randomStore(t, 0, 30_000)
	for _, after := range []int{1 << 30, 10} {
		if _, err := speedscope.Write(t.Context(), st, &failing{after: after}); (err == nil) != (after > 10) {
			t.Errorf("room for %d bytes: %v", after, err)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("left: %v, %v", left, err)
		}
	}
	s := newSpool(dir, 5)
	for i := range 100_000 {
		if err := s.write(event.ThreadID(i%3), fmt.Appendln(nil, i)); err != nil {
			t.Fatal(err)
		}
	}
	if s.file == nil {
		t.Fatal("all of it stayed in memory")
	}
	for id := range event.ThreadID(4) {
		var got, want strings.Builder
		if err := s.copyTo(&got, id); err != nil {
			t.Fatal(err)
		}
		for i := int(id); i < 100_000 && id < 3; i += 3 {
			fmt.Fprintln(&want, i)
		}
		if got.String() != want.String() {
			t.Errorf("thread %d has %d bytes, want %d", id, got.Len(), want.Len())
		}
	}
	if err := s.close(); err != nil {
		t.Error(err)
	}
}
