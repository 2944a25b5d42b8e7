package waits

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"
)

// memory is what a test's process has at some addresses.
type memory map[uint64][]byte

func (m memory) read(addr uint64, b []byte) error {
	for at, have := range m {
		if off := addr - at; addr >= at && off <= uint64(len(have)) && uint64(len(have))-off >= uint64(len(b)) {
			copy(b, have[off:])
			return nil
		}
	}
	return errors.New("unmapped")
}

func words(values ...uint32) []byte {
	var b []byte
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	return b
}

// inFutex is a thread that waits in a futex call, under these functions.
func inFutex(tid int, at uint64, functions ...string) *Thread {
	t := &Thread{PID: 1, TID: tid, Local: tid, State: Waiting, Syscall: sysFutex, Args: [6]uint64{at, futexPrivate, 2}}
	for _, f := range functions {
		t.Frames = append(t.Frames, Frame{Function: f, Module: "/lib/libc.so.6"})
	}
	t.Frames = append(t.Frames, Frame{Function: "work", Module: "/p/app", File: "/p/app.c", Line: 7})
	return t
}

// TestLockLayouts decodes the locks of the C libraries from their memory.
func TestLockLayouts(t *testing.T) {
	const at = 0x1000
	const waiters = 1 << 31
	for _, c := range []struct {
		name   string
		thread *Thread
		mem    []byte // at 0x1000
		want   Wait
	}{
		{"glibc mutex", inFutex(5, at, "__lll_lock_wait", "pthread_mutex_lock"), words(2, 0, 9, 1, 0),
			Wait{Kind: "mutex", Object: "0x1000", Owner: 9, OwnerKnownBy: "lock"}},
		{"glibc robust mutex", inFutex(5, at, "pthread_mutex_lock"), words(9|waiters, 0, 9, 1, 16),
			Wait{Kind: "mutex", Object: "0x1000", Owner: 9, OwnerKnownBy: "lock"}},
		{"musl recursive mutex", inFutex(5, at+4, "__timedwait", "pthread_mutex_timedlock"),
			words(1, 9|waiters, 0, 1, 0, 0, 0), Wait{Kind: "mutex", Object: "0x1000", Owner: 9, OwnerKnownBy: "lock"}},
		{"musl normal mutex", inFutex(5, at+4, "pthread_mutex_lock"), words(0, 16|waiters, 0, 1, 0, 0, 0),
			Wait{Kind: "mutex", Object: "0x1000"}},
		{"mutex of which one was just freed", inFutex(5, at, "pthread_mutex_lock"), words(0, 0, 0, 0, 0),
			Wait{Kind: "mutex", Object: "0x1000"}},
		{"written rwlock, writer", inFutex(5, at+12, "pthread_rwlock_wrlock"),
			words(3, 0, 3, 3, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0),
			Wait{Kind: "rwlock-write", Object: "0x1000", Owner: 9, OwnerKnownBy: "lock"}},
		{"written rwlock, reader", inFutex(5, at+8, "pthread_rwlock_rdlock"),
			words(11, 0, 3, 1, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0),
			Wait{Kind: "rwlock-read", Object: "0x1000", Owner: 9, OwnerKnownBy: "lock"}},
		{"read rwlock, writer", inFutex(5, at+8, "pthread_rwlock_wrlock"),
			words(26, 0, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
			Wait{Kind: "rwlock-write", Object: "0x1000", Detail: "3 reading"}},
		{"written musl rwlock", inFutex(5, at, "__timedwait", "pthread_rwlock_timedwrlock"), words(0xffffffff, 1, 0),
			Wait{Kind: "rwlock-write", Object: "0x1000"}},
		{"read musl rwlock", inFutex(5, at, "pthread_rwlock_wrlock"), words(2|waiters, 1, 0),
			Wait{Kind: "rwlock-write", Object: "0x1000", Detail: "2 reading"}},
		{"condition, first group", inFutex(5, at+40, "pthread_cond_wait"), words(0), Wait{Kind: "condvar", Object: "0x1000"}},
		{"condition, second group", inFutex(5, at+44, "pthread_cond_timedwait"), words(0),
			Wait{Kind: "condvar", Object: "0x1000"}},
		{"barrier", inFutex(5, at+4, "pthread_barrier_wait"), words(2, 0, 3, 0),
			Wait{Kind: "barrier", Object: "0x1000", Detail: "2 of 3 arrived"}},
		{"join", inFutex(5, at, "__pthread_clockjoin_ex"), words(9), Wait{Kind: "join", Owner: 9, OwnerKnownBy: "lock"}},
		{"musl join", inFutex(5, at+8, "pthread_timedjoin_np"), words(9, 0, 2),
			Wait{Kind: "join", Owner: 9, OwnerKnownBy: "lock"}},
		{"Rust mutex", inFutex(5, at, "syscall", "<std::sys::sync::mutex::futex::Mutex>::lock_contended"), words(2),
			Wait{Kind: "mutex", Object: "0x1000"}},
		{"Rust writer", inFutex(5, at+4, "std::sys::sync::rwlock::futex::RwLock::write_contended"), words(2, 0),
			Wait{Kind: "rwlock-write", Object: "0x1000", Detail: "2 reading"}},
		{"mutex after a condition", inFutex(5, at, "__lll_lock_wait", "__pthread_mutex_cond_lock", "pthread_cond_wait"),
			words(2, 0, 9, 1, 0), Wait{Kind: "mutex", Object: "0x1000", Owner: 9, OwnerKnownBy: "lock"}},
		{"no memory", inFutex(5, at+0x5000, "pthread_mutex_lock"), nil, Wait{Kind: "mutex", Object: "0x6000"}},
		{"raw", inFutex(5, at, "syscall"), words(2), Wait{Kind: "futex", Object: "0x1000"}},
	} {
		holder := &Thread{PID: 1, TID: 9, Local: 9, State: Running}
		procs := map[int]*Process{1: {Read: memory{at: c.mem}.read, Root: "/p"}}
		Analyze([]*Thread{c.thread, holder}, procs)
		got := *c.thread.Wait
		got.object, got.at = 0, 0
		if got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

// TestPriorityInheritance: the kernel's own word says the owner, and a thread number means the one of the thread's
// namespace.
func TestPriorityInheritance(t *testing.T) {
	w := inFutex(70, 0x1000, "pthread_mutex_lock")
	w.Args[1] = futexLockPI | futexPrivate
	w.Local = 7
	holder := &Thread{PID: 1, TID: 90, Local: 9, State: Running}
	Analyze([]*Thread{w, holder}, map[int]*Process{1: {Read: memory{0x1000: words(9|1<<31, 0, 0, 0, 32)}.read}})
	if w.Wait.Owner != 90 || w.Wait.OwnerKnownBy != "lock" {
		t.Errorf("%+v, want owner 90", w.Wait)
	}
}

// TestRefused: glibc puts a thread to sleep for ever, on a word of its own, that the kernel refused a mutex with
// priority inheritance.
func TestRefused(t *testing.T) {
	const pi = 32
	asks := func(tid int, at uint64) *Thread {
		w := inFutex(tid, at, "pthread_mutex_lock")
		w.Args[1], w.Args[2] = futexLockPI|futexPrivate, 0
		return w
	}
	refused := inFutex(1, 0x9a04, "pthread_mutex_lock")
	refused.Args[1], refused.Args[2] = futexWaitBitset|futexPrivate, 0
	mem := memory{0x1000: words(1|1<<31, 0, 0, 0, pi), 0x2000: words(2|1<<31, 0, 0, 0, pi), 0x3000: words(3, 0, 0, 0, pi)}
	for name, c := range map[string]struct {
		stack []byte // around 0x9a04
		all   []*Thread
		want  string
	}{
		"the mutex is on its stack": {append(append(make([]byte, 1024), words(0x3000, 0)...), make([]byte, 1024)...),
			[]*Thread{asks(2, 0x1000), asks(3, 0x2000)},
			"mutex 0x3000, held by thread 3, which waits in work (app.c:7) for mutex 0x2000, held by thread 2, which waits in " +
				"work (app.c:7) for mutex 0x1000, held by thread 1."},
		"it is not": {make([]byte, 2048), []*Thread{asks(2, 0x1000)},
			"mutex that the kernel refused it, held by thread 2, which waits in work (app.c:7) for mutex 0x1000, held " +
				"by thread 1."},
		"it has one": {append(append(make([]byte, 1024), words(0x1000, 0)...), make([]byte, 1024)...),
			[]*Thread{asks(2, 0x1000)}, "mutex that the kernel refused it, held by thread 2, which waits in work (app.c:7) " +
				"for mutex 0x1000, held by thread 1."},
		"it has it": {append(append(make([]byte, 1024), words(0x1000, 0)...), make([]byte, 1024)...), nil,
			"mutex 0x1000, which it holds itself."},
		"nobody waits":    {make([]byte, 2048), []*Thread{{PID: 1, TID: 2, Local: 2, State: Running}}, ""},
		"two might be it": {make([]byte, 2048), []*Thread{asks(2, 0x1000), asks(3, 0x1000)}, ""},
	} {
		mem[0x9a00-600] = c.stack
		refused.Wait = nil
		d := Analyze(append([]*Thread{refused}, c.all...), map[int]*Process{1: {Read: mem.read, Root: "/p"}})
		if c.want == "" {
			if len(d) > 0 {
				t.Errorf("%s: %+v", name, d)
			}
			continue
		}
		if len(d) != 1 || !strings.HasSuffix(strings.TrimSuffix(d[0].Text,
			" Who holds what was inferred from variables and stacks."), c.want) {
			t.Errorf("%s: %+v, want %s", name, d, c.want)
		}
		delete(mem, 0x9a00-600)
	}
}

// TestFileLocks: whoever holds the lock on a file is told, and a circle through files and children is one.
func TestFileLocks(t *testing.T) {
	parent := &Thread{PID: 1, TID: 1, Local: 1, State: Waiting, Syscall: sysWait4, Args: [6]uint64{2},
		Frames: []Frame{{Function: "run", File: "/p/a.c", Line: 1}}}
	child := &Thread{PID: 2, TID: 2, Local: 2, State: Waiting, Syscall: sysFlock, Args: [6]uint64{3, 2},
		Frames: []Frame{{Function: "save", File: "/p/a.c", Line: 9}}}
	one := func(int) bool { return false }
	procs := map[int]*Process{1: {Root: "/p", Alive: one}, 2: {Root: "/p", Parent: 1, Alive: one, File: func(int) string {
		return "/tmp/db"
	}, Lock: func(fd int, flock bool) ([]Holder, bool) {
		return []Holder{{1, 5}}, flock && fd == 3
	}}}
	all := []*Thread{parent, child}
	d := Analyze(all, procs)
	const want = "deadlock: thread 1 waits in run (a.c:1) for child process 2, thread 2, which waits in save (a.c:9) " +
		"for file-lock db (held by process 1 through descriptor 5), held by thread 1."
	if len(d) != 1 || d[0].Text != want || !d[0].Breakable {
		t.Errorf("%+v, want %s", d, want)
	}
	procs[1].Alive = func(int) bool { return true } // it has another thread, which may unlock
	if d := Analyze(all, procs); len(d) != 0 {
		t.Errorf("%+v", d)
	}
	child.Args[0] = 4 // it is not known who else has that one
	procs[1].Alive = one
	if d := Analyze(all, procs); len(d) != 0 {
		t.Errorf("%+v", d)
	}
}

// TestStreams: a stream's lock says who has it; what only looks like one does not.
func TestStreams(t *testing.T) {
	const descriptor = 0x7000
	for self, want := range map[uint32]int{descriptor: 9, 0x8000: 0} {
		w := inFutex(5, 0x1000, "__lll_lock_wait_private")
		d := make([]byte, 724)
		binary.LittleEndian.PutUint32(d[16:], self)
		binary.LittleEndian.PutUint32(d[720:], 9)
		holder := &Thread{PID: 1, TID: 9, Local: 9, State: Running}
		Analyze([]*Thread{w, holder}, map[int]*Process{1: {Read: memory{0x1000: words(2, 1, descriptor, 0),
			descriptor: d}.read, Name: func(*Thread, uint64) string { return "_IO_stdfile_1_lock.lock" }}})
		if got := w.Wait.What(); w.Wait.Owner != want || want != 0 && got != "mutex stdout" {
			t.Errorf("%s owned by %d, want %d", got, w.Wait.Owner, want)
		}
	}
}

// TestJoinByValue: where the last function has no name, a shared wait for the number of a living thread is a join.
func TestJoinByValue(t *testing.T) {
	w := inFutex(5, 0x1000, "")
	w.Args[1], w.Args[2] = 0x109, 9
	holder := &Thread{PID: 1, TID: 9, Local: 9, State: Running}
	Analyze([]*Thread{w, holder}, map[int]*Process{1: {Read: memory{0x1000: words(9)}.read}})
	if w.Wait.Kind != "join" || w.Wait.Owner != 9 {
		t.Errorf("%+v, want a join of 9", w.Wait)
	}
}

// TestManyGroups: a circle with a queue behind it and a lock whose owner is gone are told apart, each once.
func TestManyGroups(t *testing.T) {
	mem := memory{0x1000: words(2, 0, 2, 1, 0), 0x2000: words(2, 0, 1, 1, 0), 0x3000: words(2, 0, 77, 1, 0)}
	var all []*Thread
	for i, at := range []uint64{0x1000, 0x2000, 0x1000, 0x1000, 0x3000, 0x3000} {
		all = append(all, inFutex(i+1, at, "pthread_mutex_lock"))
	}
	procs := map[int]*Process{1: {Read: mem.read, Root: "/p",
		Name: func(_ *Thread, a uint64) string { return map[uint64]string{0x1000: "a", 0x2000: "b", 0x3000: "c"}[a] }}}
	d := Analyze(all, procs)
	if len(d) != 2 || len(d[0].Threads) != 2 || d[0].Blocked != 2 || len(d[1].Threads) != 1 || d[1].Blocked != 1 {
		t.Fatalf("%+v", d)
	}
	want := "deadlock: thread 1 waits in work (app.c:7) for mutex a, held by thread 2, which waits in work (app.c:7) " +
		"for mutex b, held by thread 1."
	if d[0].Text != want {
		t.Errorf("%s\nwant %s", d[0].Text, want)
	}
	if !strings.Contains(d[1].Text, "thread 5 waits in work (app.c:7) for mutex c, whose owner, thread 77, is gone") {
		t.Errorf("%s", d[1].Text)
	}
	again := Analyze(all, procs)
	if !d[0].Same(&again[0]) || d[0].Same(&again[1]) {
		t.Error("the same deadlock is not the same")
	}
	r := Summarize(all, procs, d)
	if len(r.Threads) != 6 || r.ThreadCount != 6 {
		t.Errorf("%d rows of %d threads: members of deadlocks and pairs keep their own", len(r.Threads), r.ThreadCount)
	}
}

// TestSummary: what is alike is folded, what is too much is counted.
func TestSummary(t *testing.T) {
	var all []*Thread
	for i := range 400 {
		th := inFutex(i+1, uint64(0x1000+64*(i%2)), "sem_wait")
		if i >= 100 {
			th.Frames[len(th.Frames)-1].Line = i // each somewhere else
		}
		all = append(all, th)
	}
	deep := inFutex(999, 0x1000, "sem_wait")
	for i := range 40 {
		deep.Frames = append(deep.Frames, Frame{Function: "f", File: "/p/a.c", Line: i})
	}
	all = append(all, deep)
	procs := map[int]*Process{1: {Root: "/p"}}
	Analyze(all, procs)
	r := Summarize(all, procs, nil)
	shown := 0
	for _, row := range r.Threads {
		shown += max(row.Count, 1)
	}
	if len(r.Threads) != maxRows || shown+r.NotShown != 401 || r.Threads[0].Count != 50 ||
		len(r.Threads[0].ThreadIDs) != maxIDs {
		t.Errorf("%d rows with %d threads, %d not shown; the first has %d and %v", len(r.Threads), shown, r.NotShown,
			r.Threads[0].Count, r.Threads[0].ThreadIDs)
	}
	if b := deep.Backtrace("/p"); len(b) != shownFrames+1 || b[0] != "work (app.c:7)" ||
		b[shownFrames-shownTail] != "… 29 more …" || b[shownFrames] != "f (a.c:39)" {
		t.Errorf("%d lines: %q", len(b), b)
	}
}

func FuzzAnalyze(f *testing.F) {
	f.Add(int64(sysFutex), uint64(0x1000), uint64(0x80), "pthread_mutex_lock", words(2, 0, 9, 1, 0))
	f.Add(int64(sysFutex), uint64(0x1008), uint64(0x80), "pthread_rwlock_rdlock",
		words(11, 0, 3, 1, 0, 0, 9, 0, 0, 0, 0, 0, 0))
	f.Add(int64(sysPoll), uint64(0x1000), uint64(3), "poll", words(1, 2, 3, 4, 5, 6))
	f.Add(int64(sysClockNanosleep), uint64(0x1000), uint64(0), "x", words(1, 0, 1, 0))
	f.Add(int64(sysFutex), uint64(4), uint64(0), "pthread_timedjoin_np", words(1))
	f.Fuzz(func(t *testing.T, nr int64, a, b uint64, function string, mem []byte) {
		procs := map[int]*Process{1: {Read: memory{0x1000: mem}.read, File: func(int) string { return function }}}
		th := inFutex(5, a, function)
		th.Syscall, th.Args = nr, [6]uint64{a, b, a, b, a, b}
		other := inFutex(9, a, function, "std::latch::wait")
		all := []*Thread{th, other}
		Summarize(all, procs, Analyze(all, procs))
	})
}
