//go:build unix

package session

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/store"
)

// fakeNames is a store of thread names, and a /proc.
type fakeNames struct {
	*threadNames
	t     *testing.T
	names map[event.ThreadID][]store.ThreadName
}

func (f *fakeNames) Thread(t event.Thread) event.ThreadID {
	id := event.ThreadID(len(f.names))
	f.names[id] = []store.ThreadName{{Name: t.Name}}
	return id
}

func (f *fakeNames) SetThreadName(id event.ThreadID, name string, fromTS int64) {
	if fromTS == 0 {
		f.names[id] = nil
	}
	f.names[id] = append(f.names[id], store.ThreadName{FromTS: fromTS, Name: name})
}

func newFakeNames(t *testing.T) *fakeNames {
	f := &fakeNames{t: t, names: map[event.ThreadID][]store.ThreadName{}}
	f.threadNames = newThreadNames(f)
	f.proc = t.TempDir()
	return f
}

// lives makes a thread of process 7 that began at start; name "" ends it.
func (f *fakeNames) lives(tid int, name, start string) {
	f.t.Helper()
	dir := filepath.Join(f.proc, "7", "task", fmt.Sprint(tid))
	if name == "" {
		if err := os.RemoveAll(dir); err != nil {
			f.t.Fatal(err)
		}
		return
	}
	err := os.MkdirAll(dir, 0o755)
	for file, text := range map[string]string{"comm": name + "\n",
		"stat": fmt.Sprintf("%d (%s) S%s %s 0 0\n", tid, name, strings.Repeat(" 1", 18), start)} {
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644)
		}
	}
	if err != nil {
		f.t.Fatal(err)
	}
}

func TestThreadNamesFollow(t *testing.T) {
	const s = time.Second
	f := newFakeNames(t)
	f.lives(7, "a.out", "100")
	f.lives(8, "a.out", "101")
	main := f.thread(event.Thread{PID: 7, TID: 7, Name: "a.out"}, 0)
	worker := f.thread(event.Thread{PID: 7, TID: 8, Name: "a.out"}, 0)
	stack := f.thread(event.Thread{PID: 7, TID: 8, Name: "a.out (stack 2)"}, 0)
	if again := f.thread(event.Thread{PID: 7, TID: 8, Name: "a.out"}, 0); again != worker || main == worker ||
		stack == worker {
		t.Fatalf("ids: main %d, worker %d and %d, its stack %d", main, worker, again, stack)
	}
	f.look(0, true)
	f.lives(8, "odd) name (", "101") // soon after its birth: its name from the beginning
	f.look(20*time.Millisecond, false)
	f.look(3*s, true)
	f.lives(8, "saver", "101")
	f.look(3*s+time.Millisecond, false) // too soon
	if n := len(f.names[worker]); n != 1 {
		t.Errorf("%d names of the worker before it was looked at", n)
	}
	f.look(4*s, false)
	f.lives(7, "main2", "100")
	if id := f.thread(event.Thread{PID: 7, TID: 7, Name: "main2"}, 5*s); id != main { // the collector was first
		t.Errorf("the main thread is %d under its new name", id)
	}
	f.lives(7, "", "")
	f.look(6*s, true)
	if id := f.thread(event.Thread{PID: 7, TID: 7}, 7*s); id != main { // what is said of a process that has ended
		t.Errorf("the main thread is %d after its end", id)
	}
	f.lives(8, "other", "555") // the number lives again
	f.look(8*s, true)
	other := f.thread(event.Thread{PID: 7, TID: 8, Name: "other"}, 8*s)
	if other == worker || other == stack {
		t.Errorf("a new thread has the id of an old one, %d", other)
	}
	f.lives(8, "other2", "555")
	f.look(9*s, true)
	first := func(name string) store.ThreadName { return store.ThreadName{Name: name} }
	at3 := func(name string) store.ThreadName { return store.ThreadName{FromTS: int64(3*s) + 1, Name: name} }
	want := map[event.ThreadID][]store.ThreadName{
		main:   {first("a.out"), {FromTS: int64(5*s) + 1, Name: "main2"}},
		worker: {first("odd) name ("), at3("saver")},
		stack:  {first("odd) name ( (stack 2)"), at3("saver (stack 2)")},
		other:  {first("other2")},
	}
	if diff := cmp.Diff(want, f.names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	// Nothing is read of threads that have ended.
	f.lives(8, "", "")
	f.look(10*s, true)
	if len(f.living) != 0 {
		t.Errorf("%d threads are still looked at", len(f.living))
	}
}

// Many threads are looked at less often, so that it costs the same.
func TestManyThreadsAreLookedAtLessOften(t *testing.T) {
	f := newFakeNames(t)
	for tid := range 200 {
		f.lives(100+tid, "x", "1")
		f.thread(event.Thread{PID: 7, TID: int32(100 + tid), Name: "x"}, 0)
	}
	f.look(time.Second, true)
	f.lives(100, "y", "1")
	f.look(time.Second+150*time.Millisecond, false)
	if len(f.names[0]) != 1 {
		t.Error("looked at after 150 ms")
	}
	f.look(time.Second+200*time.Millisecond, false)
	if len(f.names[0]) != 2 {
		t.Error("not looked at after 200 ms")
	}
}

// A real thread that takes names while the program runs; events have the name of their time.
func TestRealThreadIsRenamed(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	self, err := os.Readlink("/proc/thread-self")
	var pid, tid int32
	if _, scanErr := fmt.Sscanf(self, "%d/task/%d", &pid, &tid); err != nil || scanErr != nil {
		t.Fatalf("the thread's number: %q, %v", self, err)
	}
	comm := filepath.Join("/proc", self, "comm")
	was, err := os.ReadFile(comm)
	if err != nil {
		t.Fatal(err)
	}
	setName := func(name string) {
		t.Helper()
		if err := os.WriteFile(comm, []byte(name), 0); err != nil {
			t.Fatal(err)
		}
	}
	defer os.WriteFile(comm, was, 0)

	f := newFixture(t)
	s := f.launch("sleep", "100")
	sink := f.rt.last().sink
	fn := sink.Function(event.Function{Name: "f"})
	setName("first")
	th := sink.Thread(event.Thread{PID: pid, TID: tid, Name: "first"})
	born := sink.Now()
	call := func() {
		now := sink.Now()
		sink.Events([]event.Event{{TS: now, Kind: event.FunctionEnter, Func: fn, Thread: th},
			{TS: now, Kind: event.FunctionExit, Func: fn, Thread: th}})
	}
	call()
	eventually(t, "its youth to pass", func() bool { call(); return sink.Now() > born+int64(3*youth) })
	old := len(events(t, s, event.FunctionEnter)) // looks at the names
	setName("second")
	call()
	rows := events(t, s, event.FunctionEnter)
	st, use, release, err := s.Use(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	sn, err := st.Snapshot(use)
	if err != nil {
		t.Fatal(err)
	}
	defer sn.Close()
	names := sn.ThreadNames()[th]
	if sn.Threads()[th].Name != "second" || len(names) != 2 || names[0].Name != "first" {
		t.Fatalf("thread %+v, names %+v", sn.Threads()[th], names)
	}
	since := slices.IndexFunc(rows, func(r store.Row) bool { return r.TS >= names[1].FromTS })
	if len(rows) != old+1 || since != old {
		t.Errorf("event %d of %d is the first of the second name, want %d", since, len(rows), old)
	}
}
