package native

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/ptrace"
	"github.com/strobe-debug/strobe/internal/snapshot"
	"golang.org/x/sys/unix"
)

// coreSignals are those that end a process with a core dump, but SIGQUIT, which a user sends.
func isCoreSignal(sig syscall.Signal) bool {
	switch sig {
	case unix.SIGSEGV, unix.SIGBUS, unix.SIGFPE, unix.SIGILL, unix.SIGABRT, unix.SIGTRAP, unix.SIGSYS, unix.SIGXCPU,
		unix.SIGXFSZ:
		return true
	}
	return false
}

// disposition is what becomes of a process that receives a signal.
type disposition int

const (
	dispIgnored disposition = iota
	dispCaught
	dispDies
)

// dispositionOf asks the kernel what a signal that is about to be delivered will do.
func dispositionOf(tid int, sig syscall.Signal, raised bool) disposition {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", tid))
	if err != nil {
		return dispIgnored
	}
	bit := uint64(1) << (sig - 1)
	mask := func(name string) bool {
		_, rest, _ := strings.Cut(string(b), name+":\t")
		word, _, _ := strings.Cut(rest, "\n")
		n, _ := strconv.ParseUint(word, 16, 64)
		return n&bit != 0
	}
	if raised && isFault(sig) && (mask("SigBlk") || mask("SigIgn")) { // the kernel does not let a fault be ignored
		return dispDies
	}
	switch {
	case mask("SigIgn"):
		return dispIgnored
	case mask("SigCgt"):
		return dispCaught
	}
	return dispDies
}

// mayCrash looks at a signal that is about to be delivered. True: the process dies of it, its picture is being taken,
// and the signal will be delivered afterwards. Tracer thread only.
func (t *target) mayCrash(th *thread, regs *ptrace.Regs, sig syscall.Signal) bool {
	if !isCoreSignal(sig) || t.stopping.Load() {
		return false
	}
	info, err := ptrace.GetSiginfo(th.tid)
	if err != nil {
		return false
	}
	switch dispositionOf(th.tid, sig, info.Code() > 0) {
	case dispCaught: // whether it dies of it is known when it dies
		th.caught = &snapshot.Caught{Signal: signalOf(&info, th.p.pid),
			Thread: snapshot.Thread{TID: th.tid, Regs: regsOf(regs)}}
		return false
	case dispDies:
		return t.deathHit(th, regs, &info) || t.takePicture(th, regs, &info)
	}
	return false
}

// exitsInHandler looks at a thread that ends with the whole process: true when it has taken a crash signal before and
// may still be in its handler, or when a sanitizer may have ended it, so that its picture is being taken. Tracer thread
// only.
func (t *target) exitsInHandler(th *thread) bool {
	if t.stopping.Load() {
		return false
	}
	regs, err := ptrace.GetRegs(th.tid)
	if err != nil {
		return false
	}
	if th.caught == nil {
		if regs.Orig_rax != unix.SYS_EXIT_GROUP || regs.Rdi&0xff == 0 || th.p.lastPanic(th.tid) == "" &&
			!th.p.carriesChecker() && !th.p.terminates(&regs) {
			return false
		}
		return t.takePicture(th, &regs, nil)
	}
	code, _ := ptrace.EventMsg(th.tid)
	status, by := unix.WaitStatus(code), syscall.Signal(0)
	if status.Signaled() {
		by = status.Signal()
	}
	switch int64(regs.Orig_rax) {
	case unix.SYS_EXIT_GROUP:
	case unix.SYS_EXIT:
		if len(th.p.threads) > 1 {
			return false
		}
	// by a signal of its own
	case unix.SYS_KILL, unix.SYS_TKILL, unix.SYS_TGKILL, unix.SYS_RT_SIGQUEUEINFO, unix.SYS_RT_TGSIGQUEUEINFO:
		if by == 0 {
			return false
		}
	case -1: // it computes: a handler of those that repair and return, while somebody else ends the process
		return false
	default: // it waits, for another thread or process that ends this one
		if status == 0 {
			return false
		}
		th.caught.Waits = true
	}
	th.caught.EndedBy = int(by)
	return t.takePicture(th, &regs, nil)
}

// takePicture keeps a dying process as it is until its picture was taken and stored, then lets it die. info is the
// signal that it dies of, nil when it exits. False: its picture was taken before. Tracer thread only.
func (t *target) takePicture(th *thread, regs *ptrace.Regs, info *ptrace.Siginfo) bool {
	p := th.p
	var sig syscall.Signal
	if info != nil {
		sig = info.Signal()
	}
	th.stopped = true
	switch {
	case p.picture != nil && p.picture.done:
		return false
	case p.picture != nil: // another thread was first
		p.picture.wait = append(p.picture.wait, heldThread{th, sig})
		return true
	}
	p.picture = &picture{wait: []heldThread{{th, sig}}}
	if w, ok := t.sink.(collector.DeathWatcher); ok {
		w.Dying(p.pid)
	}
	d := &snapshot.Death{Thread: p.pictured(th, regs, true), Caught: th.caught, Panic: p.lastPanic(th.tid)}
	if info != nil {
		s := signalOf(info, p.pid)
		d.Signal = &s
	}
	d.Others = p.haltOthers(th)
	at := t.sink.Now()
	p.telling.Add(1)
	t.spawn(func() {
		defer p.telling.Add(-1)
		c := t.crashOf(p, th.tid, d, at)
		told := c == nil || t.storeCrash(c, standMax)
		t.tracer.Do(context.Background(), func() error { t.pictureTaken(p); return nil })
		if !told {
			t.storeCrash(c, 0)
		}
	})
	return true
}

// picture is the state of a process whose picture is taken. Tracer thread only.
type picture struct {
	done bool
	wait []heldThread
}

// heldThread waits with its signal until the picture was taken.
type heldThread struct {
	th  *thread
	sig syscall.Signal
}

// pictureTaken lets a process run to its end. Tracer thread only.
func (t *target) pictureTaken(p *process) {
	held := p.picture.wait
	p.picture.wait, p.picture.done = nil, true
	for i := len(held) - 1; i >= 0; i-- { // the thread that crashed last: what it does ends the others
		if t.threads[held[i].th.tid] == held[i].th {
			ptrace.HideBriefly(held[i].th.tid)
			t.resume(held[i].th, held[i].sig)
		}
	}
}

// pictured reads a stopped thread's registers.
func (p *process) pictured(th *thread, regs *ptrace.Regs, vectors bool) *snapshot.Thread {
	out := &snapshot.Thread{TID: th.tid, Name: threadName(p.pid, th.tid), Regs: regsOf(regs), FS: regs.Fs_base}
	if vectors {
		if v, err := ptrace.GetVectors(th.tid); err == nil {
			xmm := [16][16]byte(v)
			out.XMM = &xmm
		}
	}
	return out
}

// haltWait bounds how long threads may take to stop that are halted to be read: one may sleep where nothing wakes it.
const haltWait = 20 * time.Millisecond

// haltOthers stops the other threads of a dying process and returns their registers. They stay stopped until
// pictureTaken.
func (p *process) haltOthers(but *thread) (out []*snapshot.Thread) {
	var asked []*thread
	for _, th := range p.threads {
		if th == but {
			continue
		}
		if !th.stopped {
			if ptrace.Interrupt(th.tid) != nil {
				continue
			}
		}
		asked = append(asked, th)
	}
	deadline := time.Now().Add(haltWait)
	for _, th := range asked {
		for !th.stopped {
			s, ok, err := ptrace.PollStop(th.tid)
			if err != nil {
				if s.Ended {
					p.t.tracer.Defer(s)
				}
				break
			}
			if ok {
				th.stopped = true
				if s.Event == ptrace.EventStop && s.Signal == unix.SIGTRAP {
					p.picture.wait = append(p.picture.wait, heldThread{th: th})
				} else {
					th.deferred = true
					p.t.tracer.Defer(s)
				}
				break
			}
			if time.Now().After(deadline) {
				break
			}
			time.Sleep(50 * time.Microsecond)
		}
		if !th.stopped {
			continue
		}
		if regs, err := ptrace.GetRegs(th.tid); err == nil {
			out = append(out, p.pictured(th, &regs, false))
		}
	}
	return out
}

// signalOf reads what the kernel tells of a signal.
func signalOf(info *ptrace.Siginfo, pid int) snapshot.Signal {
	s := snapshot.Signal{Number: int(info.Signal()), Code: info.Code()}
	switch {
	case info.Signal() == unix.SIGSYS:
		s.Call = int32(binary.LittleEndian.Uint32(info[24:]))
	case s.Code > 0:
		s.Addr = info.Addr()
	default:
		if s.PID = int(info.PID()); s.PID != pid && s.PID != 0 {
			s.Sender = threadName(s.PID, s.PID)
		}
	}
	return s
}

// crashOf describes the stopped process; nil where it only exits.
func (t *target) crashOf(p *process, tid int, d *snapshot.Death, at int64) *collector.Crash {
	view, err := p.view()
	if err != nil {
		t.log.Warn("look at a crashed process", "pid", p.pid, "err", err)
		view = &snapshot.Process{PID: p.pid, Mem: p.mem, Described: p.t.walks.Own(), Secrets: t.cmd.Secrets}
	}
	c := snapshot.New(view).Crash(d)
	if c == nil {
		return nil
	}
	id := t.sink.Thread(event.Thread{PID: int32(p.pid), TID: int32(tid), Name: d.Thread.Name})
	return &collector.Crash{PID: p.pid, Thread: id, TS: at, Crash: *c}
}

// standMax is how long a process stands dead until what led to its crash is decoded. While it does nobody writes to its
// output.
const standMax = 2 * time.Second

// storeCrash gives the sink a crash, behind everything that led to it. False: that is not decoded within so long (0:
// whatever it takes).
func (t *target) storeCrash(c *collector.Crash, within time.Duration) bool {
	ctx := context.Background()
	if within > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, within)
		defer cancel()
	}
	if err := t.Flush(ctx); err != nil {
		return false
	}
	t.sink.Crash(*c)
	return true
}
