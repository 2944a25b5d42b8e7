package waits

import (
	"encoding/binary"
	"fmt"
	"strings"
	"time"
)

// System calls of amd64, by number: the package decodes threads of that machine on any other.
const (
	sysRead, sysWrite, sysPoll, sysPread, sysPwrite, sysReadv, sysWritev     = 0, 1, 7, 17, 18, 19, 20
	sysSelect, sysPause, sysNanosleep, sysConnect, sysAccept, sysSendto      = 23, 34, 35, 42, 43, 44
	sysRecvfrom, sysSendmsg, sysRecvmsg, sysWait4, sysSemop, sysMsgsnd       = 45, 46, 47, 61, 65, 69
	sysMsgrcv, sysFcntl, sysFlock, sysSigtimedwait, sysSigsuspend, sysFutex  = 70, 72, 73, 128, 130, 202
	sysClockNanosleep, sysEpollWait, sysWaitid, sysPselect, sysPpoll         = 230, 232, 247, 270, 271
	sysEpollPwait, sysAccept4, sysRecvmmsg, sysSemtimedop, sysEpollPwait2    = 281, 288, 299, 220, 441
	sysFutexWaitv, sysFutexWait, sysVfork, sysFork, sysClone, sysIOGetevents = 449, 455, 58, 57, 56, 208
)

// onFile are the system calls whose first argument is a file descriptor.
var onFile = map[int64]bool{
	sysRead: true, sysWrite: true, sysPread: true, sysPwrite: true, sysReadv: true, sysWritev: true, sysConnect: true,
	sysAccept: true, sysAccept4: true,
	sysSendto: true, sysRecvfrom: true, sysSendmsg: true, sysRecvmsg: true, sysRecvmmsg: true, sysFlock: true,
	sysEpollWait: true, sysEpollPwait: true, sysEpollPwait2: true,
}

// byFile says which word stands for a blocked call on a kind of file.
func byFile(file string) string {
	switch {
	case strings.HasPrefix(file, "pipe:"):
		return "pipe"
	case strings.HasPrefix(file, "socket:"):
		return "socket"
	case strings.HasPrefix(file, "anon_inode:"):
		return strings.Trim(strings.TrimPrefix(file, "anon_inode:"), "[]")
	case strings.HasPrefix(file, "/dev/pts/"), strings.HasPrefix(file, "/dev/tty"), file == "/dev/console":
		return "terminal"
	}
	return "file"
}

// classify says what a thread waits for, as far as one thread alone tells.
func classify(t *Thread, p *Process) *Wait {
	if t.State != Waiting {
		return nil
	}
	w := &Wait{Kind: "syscall", Asked: &Asked{Epoll: t.Syscall == sysEpollWait || t.Syscall == sysEpollPwait ||
		t.Syscall == sysEpollPwait2}}
	if onFile[t.Syscall] && p.File != nil {
		fd := int(int32(t.Args[0]))
		w.FD, w.File = &fd, p.File(fd)
	}
	switch t.Syscall {
	case sysFutex, sysFutexWait:
		return futexWait(t, p)
	case sysFutexWaitv:
		w.Kind = "futex"
	case sysRead, sysWrite, sysPread, sysPwrite, sysReadv, sysWritev:
		w.Kind = byFile(w.File)
	case sysAccept, sysAccept4, sysConnect, sysSendto, sysRecvfrom, sysSendmsg, sysRecvmsg, sysRecvmmsg:
		w.Kind = "socket"
	case sysFlock:
		w.Kind = "file-lock"
		fileLock(w, t, p)
	case sysFcntl:
		const setLockWait, setOwnLockWait = 7, 38
		if c := t.Args[1]; c == setLockWait || c == setOwnLockWait {
			w.Kind = "file-lock"
			if fd := int(int32(t.Args[0])); p.File != nil {
				w.FD, w.File = &fd, p.File(fd)
			}
			fileLock(w, t, p)
		}
	case sysPoll:
		w.Kind, w.Timed = "poll", int32(t.Args[2]) >= 0
		pollDetail(w, t, p)
	case sysPpoll:
		w.Kind, w.Timed = "poll", t.Args[2] != 0
		pollDetail(w, t, p)
	case sysSelect, sysPselect:
		w.Kind, w.Timed = "poll", t.Args[4] != 0
		selectDetail(w, t, p)
	case sysEpollWait, sysEpollPwait:
		w.Kind, w.Timed = "poll", int32(t.Args[3]) >= 0
	case sysEpollPwait2:
		w.Kind, w.Timed = "poll", t.Args[3] != 0
	case sysNanosleep:
		w.Kind, w.Timed = "sleep", true
		w.Detail = duration(p, t.Args[0])
	case sysClockNanosleep:
		w.Kind, w.Timed = "sleep", true
		if t.Args[1]&1 == 0 { // not an absolute time
			w.Detail = duration(p, t.Args[2])
		}
	case sysWait4, sysWaitid:
		w.Kind = "child"
		childDetail(w, t)
	case sysVfork, sysClone, sysFork:
		w.Kind, w.Detail = "child", "until it runs another program or ends"
	case sysPause, sysSigsuspend:
		w.Kind = "signal"
	case sysSigtimedwait:
		w.Kind, w.Timed = "signal", t.Args[2] != 0
	case sysSemop, sysSemtimedop:
		w.Kind, w.Detail = "semaphore", fmt.Sprintf("System V set %d", int32(t.Args[0]))
		w.Timed = t.Syscall == sysSemtimedop && t.Args[3] != 0
	case sysMsgrcv, sysMsgsnd:
		w.Kind, w.Detail = "channel", fmt.Sprintf("System V queue %d", int32(t.Args[0]))
	case sysIOGetevents:
		w.Kind = "file"
	case -1:
		return nil // in the kernel for a page, not in a call
	default:
		w.Detail = fmt.Sprintf("number %d", t.Syscall)
	}
	if w.Kind == "poll" && !w.Timed && pollsNothing(t) {
		w.Kind = "signal"
	}
	return w
}

// pollsNothing says whether a poll is of no file: pause by another name.
func pollsNothing(t *Thread) bool {
	switch t.Syscall {
	case sysPoll, sysPpoll:
		return t.Args[1] == 0
	case sysSelect, sysPselect:
		return int32(t.Args[0]) == 0
	}
	return false
}

func childDetail(w *Wait, t *Thread) {
	const anyChild, oneChild = 0, 1 // P_ALL, P_PID
	id := int32(t.Args[0])
	if t.Syscall == sysWaitid {
		id = int32(t.Args[1])
		if t.Args[0] == anyChild {
			id = -1
		} else if t.Args[0] != oneChild {
			return
		}
	}
	switch {
	case id > 0:
		w.Detail, w.Asked.child = fmt.Sprintf("process %d", id), int(id)
	case id == -1:
		w.Detail = "any"
	}
}

// duration reads a struct timespec.
func duration(p *Process, at uint64) string {
	var b [16]byte
	if p.Read == nil || at == 0 || p.Read(at, b[:]) != nil {
		return ""
	}
	s, ns := int64(binary.LittleEndian.Uint64(b[:])), int64(binary.LittleEndian.Uint64(b[8:]))
	const longest = 1 << 33 // seconds that a time.Duration holds
	if s < 0 || s > longest || ns < 0 || ns >= 1e9 {
		return ""
	}
	return (time.Duration(s)*time.Second + time.Duration(ns)).String()
}

// meaning is what a function on the stack says about the wait below it.
type meaning struct {
	part string // of the function's name
	kind string
}

// meanings of functions, tried for each frame from the innermost on. Names have no leading underscores.
var meanings = []meaning{
	// The C library; musl's functions carry the same names.
	{"pthread_mutex_", "mutex"}, {"mtx_lock", "mutex"}, {"mtx_timedlock", "mutex"},
	{"pthread_rwlock_rdlock", "rwlock-read"}, {"pthread_rwlock_timedrdlock", "rwlock-read"},
	{"pthread_rwlock_clockrdlock", "rwlock-read"},
	{"pthread_rwlock_wrlock", "rwlock-write"}, {"pthread_rwlock_timedwrlock", "rwlock-write"},
	{"pthread_rwlock_clockwrlock", "rwlock-write"},
	{"pthread_cond_", "condvar"}, {"cnd_wait", "condvar"}, {"cnd_timedwait", "condvar"}, {"pthread_join", "join"},
	{"pthread_timedjoin", "join"}, {"pthread_clockjoin", "join"},
	{"thrd_join", "join"}, {"sem_wait", "semaphore"}, {"sem_timedwait", "semaphore"}, {"sem_clockwait", "semaphore"},
	{"pthread_barrier_wait", "barrier"},
	{"atomic_futex_unsigned", "future"}, {"pthread_once", "once"}, {"call_once", "once"}, {"cxa_guard_acquire", "once"},
	// C++ without a C library function.
	{"std::latch::wait", "latch"}, {"std::latch::arrive_and_wait", "latch"}, {"atomic_semaphore", "semaphore"},
	{"counting_semaphore", "semaphore"},
	{"tree_barrier", "barrier"}, {"std::barrier", "barrier"}, {"platform_wait", "atomic"}, {"atomic_wait", "atomic"},
	{"std::atomic", "atomic"}, {"waiter_pool", "atomic"},
	// Rust's standard library and parking_lot.
	{"mutex::futex::Mutex", "mutex"}, {"futex_mutex::Mutex", "mutex"}, {"raw_mutex::RawMutex", "mutex"},
	{"rwlock::futex::RwLock::read", "rwlock-read"}, {"rwlock::futex::RwLock::write", "rwlock-write"},
	{"futex_rwlock::RwLock::read", "rwlock-read"}, {"futex_rwlock::RwLock::write", "rwlock-write"},
	{"RawRwLock::lock_shared", "rwlock-read"}, {"RawRwLock::lock_exclusive", "rwlock-write"},
	{"condvar::futex::Condvar", "condvar"}, {"futex_condvar::Condvar", "condvar"},
	{"condvar::Condvar::wait", "condvar"}, {"once::futex::Once", "once"}, {"futex_once::Once", "once"},
	{"Parker::park", "park"}, {"thread::park", "park"},
}

// outer are what an outer function makes of an inner meaning.
var outer = map[string][]meaning{
	"park": {{"mpsc::", "channel"}, {"mpmc::", "channel"}, {"crossbeam_channel::", "channel"},
		{"thread::scoped", "join"}, {"thread::scope", "join"}},
	"atomic": {{"std::latch", "latch"}, {"semaphore", "semaphore"}, {"std::barrier", "barrier"},
		{"tree_barrier", "barrier"}},
	"condvar": {{"Barrier::wait", "barrier"}, {"mpsc::", "channel"}},
}

// libraryFrames bounds the frames that are asked what a wait means.
const libraryFrames = 32

// names returns the functions of libraries that a thread is in, the innermost first, and the one that it entered them
// by.
func (t *Thread) names(root string) []string {
	var names []string
	for i := range t.Frames {
		f := &t.Frames[i]
		if i == libraryFrames || !f.Library(root) {
			break
		}
		if f.Function != "" {
			names = append(names, plain(f.Function))
		}
	}
	if t.Entered != "" {
		names = append(names, trim(t.Entered))
	}
	return names
}

// plain is a function's name without leading underscores, and without the brackets of "<a::B>::c".
func plain(name string) string {
	name = trim(name)
	if in, ok := strings.CutPrefix(name, "<"); ok {
		name = strings.Replace(in, ">::", "::", 1)
	}
	return name
}

// kindOf says what functions of libraries do that wait for a futex. by is the function that told.
func kindOf(names []string) (kind, by string) {
	at := 0
	for at = range names {
		for _, m := range meanings {
			if strings.Contains(names[at], m.part) {
				kind, by = m.kind, names[at]
				break
			}
		}
		if kind != "" {
			break
		}
	}
	if kind == "" {
		return "futex", ""
	}
	for _, name := range names[at+1:] {
		for _, m := range outer[kind] {
			if strings.Contains(name, m.part) {
				return m.kind, by
			}
		}
	}
	return kind, by
}
