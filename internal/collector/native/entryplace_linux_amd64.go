package native

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/ptrace"
	"github.com/strobe-debug/strobe/internal/sorting"
	"golang.org/x/sys/unix"
)

// errNoPlace: no thread stands where a function can be called.
var errNoPlace = errors.New("no thread stands where a function can be called in it")

// waitsQuietly are system calls in which a thread of a program waits, and in which its C library holds nothing that
// starting a thread needs. Of those that the C library makes for itself (mmap, brk, clone, …) this cannot be said.
var waitsQuietly = map[int64]bool{
	unix.SYS_READ: true, unix.SYS_READV: true, unix.SYS_PREAD64: true, unix.SYS_WRITE: true, unix.SYS_WRITEV: true,
	unix.SYS_PWRITE64: true, unix.SYS_POLL: true, unix.SYS_PPOLL: true, unix.SYS_SELECT: true, unix.SYS_PSELECT6: true,
	unix.SYS_EPOLL_WAIT: true, unix.SYS_EPOLL_PWAIT: true, unix.SYS_EPOLL_PWAIT2: true, unix.SYS_NANOSLEEP: true,
	unix.SYS_CLOCK_NANOSLEEP: true, unix.SYS_FUTEX: true, unix.SYS_RECVFROM: true, unix.SYS_RECVMSG: true,
	unix.SYS_RECVMMSG: true, unix.SYS_SENDTO: true, unix.SYS_SENDMSG: true, unix.SYS_SENDMMSG: true,
	unix.SYS_ACCEPT: true, unix.SYS_ACCEPT4: true, unix.SYS_WAIT4: true, unix.SYS_WAITID: true, unix.SYS_PAUSE: true,
	unix.SYS_RT_SIGTIMEDWAIT: true, unix.SYS_RT_SIGSUSPEND: true, unix.SYS_SEMOP: true, unix.SYS_SEMTIMEDOP: true,
	unix.SYS_MSGRCV: true, unix.SYS_MSGSND: true, unix.SYS_FLOCK: true, unix.SYS_IO_GETEVENTS: true,
	unix.SYS_SENDFILE: true, unix.SYS_SPLICE: true,
	unix.SYS_RESTART_SYSCALL: true, // one of them with a time, that was stopped before
}

// haltCallable stops a thread at a place where any function can be called in it. It prefers those that wait: they do
// not notice. Tracer thread only.
func (in *injection) haltCallable() (*thread, func(), error) {
	p := in.p
	maps, err := readMaps(p.pid)
	if err != nil {
		return nil, nil, err
	}
	type candidate struct {
		th      *thread
		nr      int64
		pc      uint64
		running bool
		rank    int
	}
	var all []candidate
	var sealed error
	for _, th := range p.threads {
		if th.stopped || th.vforks || th.execs || th.listens || ptrace.Ends(th.tid) {
			continue
		}
		if err := p.sealedThread(th.tid); err != nil {
			sealed = err
			continue
		}
		c := candidate{th: th}
		c.nr, c.pc, c.running = blockedPC(p.pid, th.tid)
		switch {
		case c.running && !in.anywhere:
			continue
		case c.running:
			c.rank = 2
		case !waitsQuietly[c.nr] || cannotStop(th.tid, c.nr):
			continue
		case ptrace.NotRestarted(c.nr):
			c.rank = 1
		}
		all = append(all, c)
	}
	if len(all) == 0 && sealed != nil {
		return nil, nil, sealed
	}
	sorting.By(all, func(a, b candidate) int { return a.rank - b.rank })
	for _, c := range all {
		resume, ok := p.halt(c.th)
		if !ok {
			continue
		}
		if !c.th.deferred && !c.th.vforks && in.callable(c.th, maps, c.nr, c.pc, c.running) {
			in.waits = !c.running
			return c.th, resume, nil
		}
		resume()
	}
	return nil, nil, errNoPlace
}

// callable reports whether any function can be called in a stopped thread: what it does at this moment holds no lock
// that the function may take, and has nothing half done. It waits in one of waitsQuietly, or is in no code of the C
// library, of its linker, or of another giver of memory; and it is in no handler of a signal, which may have
// interrupted those.
func (in *injection) callable(th *thread, maps []mapping, nr int64, pc uint64, running bool) bool {
	regs, err := ptrace.GetRegs(th.tid)
	if err != nil || regs.Cs != code64 || regs.Fs_base == 0 || ptrace.ShadowStack(th.tid) {
		return false
	}
	i := slices.IndexFunc(maps, func(m mapping) bool { return m.lo <= regs.Rip && regs.Rip < m.hi })
	if i < 0 || !maps[i].ofFile() {
		return false // the vDSO, code that was made, a stub of ours
	}
	waits := !running && (regs.Rip == pc || regs.Rip == pc-uint64(len(syscallInsn))) // also where it is to be made again
	path := maps[i].path
	switch {
	case waits:
		if isLoader(path) || nr == unix.SYS_FUTEX && lockOfLibc(maps, regs.Rdi) {
			return false
		}
	case isLoader(path), isLibc(&loaded{path: path}, false), strings.Contains(filepath.Base(path), "alloc"):
		return false
	}
	return waits && in.lenient || !in.handles(&regs)
}

// arenaBytes is the size that glibc aligns the memory of its other arenas to, whose locks stand at their beginning.
const arenaBytes = 64 << 20

// lockOfLibc reports whether a futex is a lock of the C library itself, for which a thread may wait that holds another.
func lockOfLibc(maps []mapping, at uint64) bool {
	if at%arenaBytes < pageBytes {
		return true
	}
	i := slices.IndexFunc(maps, func(m mapping) bool { return m.lo <= at && at < m.hi })
	for ; i >= 0; i-- {
		if maps[i].ofFile() {
			return isLoader(maps[i].path) || isLibc(&loaded{path: maps[i].path}, false)
		}
		if maps[i].path != "" || i == 0 || maps[i-1].hi != maps[i].lo { // .bss follows its file
			return false
		}
	}
	return true
}

// handlerStack is how much of a stack is looked at for the frame of a signal's handler.
const handlerStack = 64 << 10

// handles reports whether a thread may be in a handler of a signal: a frame of one is on its stack, or was there.
func (in *injection) handles(regs *ptrace.Regs) bool {
	b := make([]byte, handlerStack)
	n := len(b)
	for ; n >= pageBytes && in.p.mem.Read(regs.Rsp, b[:n]) != nil; n /= 2 { // the stack ends before
	}
	if n < pageBytes {
		n = int(pageBytes - regs.Rsp%pageBytes)
		if in.p.mem.Read(regs.Rsp, b[:n]) != nil {
			return true
		}
	}
	return len(in.p.interruptedAt(b[:n])) > 0
}
