package native

import (
	"errors"
	"sync/atomic"
	"syscall"

	"github.com/strobe-debug/strobe/internal/ptrace"
	"github.com/strobe-debug/strobe/internal/ring"
	"golang.org/x/sys/unix"
)

// Signals that come while a thread is in a stub or in the agent are delivered behind it.

const trapFlag = 1 << 8

// maxSteps bounds how far a thread is stepped to leave a stub.
const maxSteps = 4096

// deliverOutside delivers a signal once the thread has left the stub or the agent: a handler must not meet a
// half-written record, and an unwinder must not meet a frame that the static unwind entry does not describe.
func (t *target) deliverOutside(th *thread, p *process, sig syscall.Signal) {
	info, err := ptrace.GetSiginfo(th.tid)
	if err != nil {
		return
	}
	if isFault(sig) && info.Code() > 0 { // raised by the very instruction: it must be delivered here
		t.resume(th, sig)
		return
	}
	mask, err := ptrace.HoldSignals(th.tid)
	if err != nil {
		return
	}
	if t.stepOutside(th, p, mask, &info) {
		ptrace.SetSigMask(th.tid, mask)
		ptrace.SetSiginfo(th.tid, &info)
		t.resume(th, sig)
	}
}

// stepOutside lets a thread whose signals are held run until it has left the stub or the agent, and gives it mask back
// where something else comes first. Then it is false: the thread goes on with that, and takes owed, where it is not
// nil, later.
func (t *target) stepOutside(th *thread, p *process, mask uint64, owed *ptrace.Siginfo) bool {
	regs, err := ptrace.GetRegs(th.tid)
	if err != nil {
		return false
	}
	owes := func() {
		if owed != nil {
			th.owed = owed
		}
	}
	for range maxSteps {
		if p.inC(regs.Rip) { // which may take long
			p.runOut(th, mask, owed)
			return false
		}
		p.finishCopy(th, &regs)
		at := regs.Rip
		pushes := p.pushesFlags(at)
		if ptrace.Step(th.tid, 0) != nil {
			return false
		}
		s, err := ptrace.WaitStop(th.tid)
		if err != nil {
			t.notStopped(th, s, err, func() {
				ptrace.SetSigMask(th.tid, mask)
				owes()
			})
			return false
		}
		if regs, err = ptrace.GetRegs(th.tid); err != nil {
			return false
		}
		if pushes && regs.Rip == at+1 {
			p.clearPushedTrap(regs.Rsp)
		}
		// the kernel hides its own; this one came from a popfq, which it takes for the program's
		if regs.Eflags&trapFlag != 0 {
			regs.Eflags &^= trapFlag
			ptrace.SetRegs(th.tid, &regs)
		}
		if s.Event == 0 && isFault(s.Signal) && s.Signal != unix.SIGTRAP && p.fixFault(th.tid, &regs) {
			ptrace.SetRegs(th.tid, &regs)
			continue
		}
		if s.Event == ptrace.EventStop && !s.GroupStop() { // a halt that was given up comes late
			continue
		}
		if s.Event != 0 || s.Signal != unix.SIGTRAP || th.raisedHere() {
			ptrace.SetSigMask(th.tid, mask)
			if s.Event == 0 {
				owes()
			} else if owed != nil {
				ptrace.Queue(th.p.pid, th.tid, owed)
			}
			t.stopped(s)
			return false
		}
		if p.data.Load() != nil && ptrace.DebugMet(th.tid) { // by a displaced instruction
			ptrace.SetSigMask(th.tid, mask)
			was := th.owed
			owes()
			if hits, err := ptrace.DebugHits(th.tid); err == nil && t.dataMet(th, p, &regs, hits) {
				return false
			}
			th.owed = was
			ptrace.HoldSignals(th.tid)
		}
		if !p.inStub(regs.Rip) {
			break
		}
	}
	return true
}

// inC reports whether pc is in the agent's C, which a thread leaves by StopTrap while it is asked to.
func (p *process) inC(pc uint64) bool {
	off := pc - p.regionAddr
	return p.region != nil && off >= p.blob.CodeLo && off < p.blob.CriticalHi
}

// runningOut is what a thread gets back that runs until it leaves the agent's C.
type runningOut struct {
	mask uint64
	owed *ptrace.Siginfo // nil: none
}

// runOut lets a thread run that is to take a signal, or to stand, with all others held, until it leaves the agent's C:
// a record of many objects takes hundreds of thousands of instructions, and stepped through them the thread would come
// to the next signal before it came to anything else. Tracer thread only.
func (p *process) runOut(th *thread, mask uint64, owed *ptrace.Siginfo) {
	th.out = &runningOut{mask, owed}
	p.withRegion(func(r *ring.Region) { atomic.AddUint32(&r.Control().StopReq, 1) })
	p.t.resume(th, 0) //nolint:errcheck // it has ended
}

// deliverBehindWait delivers a signal for which a Go program ends with a traceback once its thread no longer waits for
// room: there it is on a stack of ours, of which Go's runtime knows nothing. Others are delivered meanwhile: the wait
// may take seconds, and their handlers look no further than that. False: not such a one. Tracer thread only.
func (t *target) deliverBehindWait(th *thread, p *process, regs *ptrace.Regs, sig syscall.Signal) bool {
	if !p.waitsForRoom(regs.Rip) || regs.Rsp-p.regionAddr >= uint64(len(p.region.Bytes())) ||
		sig != unix.SIGQUIT && sig != unix.SIGSTKFLT && !isCoreSignal(sig) {
		return false
	}
	info, err := ptrace.GetSiginfo(th.tid)
	if err != nil || isFault(sig) && info.Code() > 0 {
		return false
	}
	mask, err := ptrace.HoldSignals(th.tid)
	if err != nil {
		return false
	}
	p.runOut(th, mask, &info)
	return true
}

// ranOut ends that. The thread is stopped, or gone. Tracer thread only.
func (th *thread) ranOut() {
	out := th.out
	if out == nil {
		return
	}
	th.out = nil
	th.p.memory().withRegion(func(r *ring.Region) { atomic.AddUint32(&r.Control().StopReq, ^uint32(0)) })
	if ptrace.SetSigMask(th.tid, out.mask) == nil && out.owed != nil {
		th.owed = out.owed
	}
}

// outStop: a thread that leaves the agent's C met StopTrap. False: it is elsewhere. Tracer thread only.
func (t *target) outStop(th *thread, p *process, regs *ptrace.Regs) bool {
	if p.region == nil || regs.Rip-1 != p.regionAddr+p.blob.StopTrap {
		return false
	}
	th.ranOut() // nothing where another thread was meant
	t.resume(th, 0)
	return true
}

// notStopped goes on with a thread that was let run one instruction and did not stop: it has ended, or sleeps in the
// kernel, where it waits for a page. Then undo is called when it stops. Tracer thread only.
func (t *target) notStopped(th *thread, s ptrace.Stop, err error, undo func()) {
	if s.Ended {
		t.tracer.Defer(s)
	}
	if !errors.Is(err, ptrace.ErrBusy) {
		return
	}
	th.stopped = false
	t.tracer.Late(th.tid, func(s ptrace.Stop) bool {
		if t.threads[th.tid] != th {
			return false
		}
		if undo(); s.Event != 0 || s.Signal != unix.SIGTRAP || th.raisedHere() {
			return false
		}
		t.resume(th, 0)
		return true
	})
}

// raisedHere reports that a thread's SIGTRAP comes of an int3, ours or the program's, or of a break of its step, and
// not of being let run one instruction: what stands there decides. Points stand in stubs, too, where a traced
// function's hook has their place.
func (th *thread) raisedHere() bool {
	info, err := ptrace.GetSiginfo(th.tid)
	if err != nil || info.Signal() != unix.SIGTRAP {
		return false
	}
	if t := th.p.t; info.Code() == ptrace.TrapHardware && (th.step != nil && len(th.step.breaks) > 0 || len(t.loose) > 0) {
		regs, err := ptrace.GetRegs(th.tid)
		return err == nil && t.breaksAt(th, regs.Rip)
	}
	return !info.OfStep()
}

// takesOwed lets a thread go on with the signal that was held back. False: that comes by itself. Tracer thread only.
func (t *target) takesOwed(th *thread) bool {
	owed := th.owed
	th.owed = nil
	now, err := ptrace.GetSiginfo(th.tid)
	regs, regsErr := ptrace.GetRegs(th.tid)
	// at such a stop no signal is delivered
	if err != nil || regsErr != nil || now.OfEvent() || ptrace.SetSiginfo(th.tid, owed) != nil {
		ptrace.Queue(th.p.pid, th.tid, owed)
		return false
	}
	if p := th.p.memory(); p.inStub(regs.Rip) {
		t.deliverOutside(th, p, owed.Signal())
	} else {
		t.resume(th, owed.Signal())
	}
	return true
}

// pushesFlags reports whether a pushfq stands at pc.
func (p *process) pushesFlags(pc uint64) bool {
	var b [1]byte
	return p.mem.Read(pc, b[:]) == nil && b[0] == 0x9c
}

// clearPushedTrap takes the trap flag, which is set while we step, out of flags that a pushfq saved: a later popfq
// would set it in the program, and the next instruction would raise SIGTRAP.
func (p *process) clearPushedTrap(sp uint64) {
	var b [2]byte
	if p.mem.Read(sp, b[:]) == nil {
		b[1] &^= 1
		p.mem.Write(sp, b[:])
	}
}
