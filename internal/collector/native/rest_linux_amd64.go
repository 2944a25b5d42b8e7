package native

import (
	"encoding/binary"
	"syscall"

	"github.com/strobe-debug/strobe/internal/ptrace"
	"golang.org/x/sys/unix"
)

// A stop that comes while a thread waits in the midst of a write, or of a read that wants all, makes the kernel return
// what was done so far. The program would not see that untraced, and it may not expect it of a pipe. So the thread
// makes the rest in the agent (rest in agent/entry.S), which returns what the uninterrupted call would have returned.

const redZone = 128

// restFrame is what the agent's rest has on the stack: bytes done, rsi, rdx, the address behind the system call, rsp.
const restFrame = 40

// continueRest makes regs, of a thread at the end of such a call, those that make the rest; false where there is none.
// was is how the thread stands if a signal comes first. p has the agent.
func (p *process) continueRest(tid int, regs, was *ptrace.Regs) bool {
	if p.region == nil || p.unmapped || !p.partly(regs) || ptrace.SignalWaits(tid) {
		return false
	}
	n := regs.Rax
	rest := p.regionAddr + p.blob.Rest
	sp := regs.Rsp
	if p.atRest(regs) {
		var done [8]byte
		if p.mem.Read(sp, done[:]) != nil {
			return false
		}
		binary.LittleEndian.PutUint64(done[:], binary.LittleEndian.Uint64(done[:])+n)
		if p.mem.Write(sp, done[:]) != nil {
			return false
		}
		was.Rax, was.Rsi, was.Rdx = 0, was.Rsi+n, was.Rdx-n
	} else {
		var before [2]byte
		if p.mem.Read(regs.Rip-2, before[:]) != nil || string(before[:]) != string(syscallInsn) {
			return false
		}
		frame := make([]byte, 0, restFrame)
		for _, v := range []uint64{n, regs.Rsi, regs.Rdx, regs.Rip, regs.Rsp} {
			frame = binary.LittleEndian.AppendUint64(frame, v)
		}
		sp = (regs.Rsp - redZone - restFrame) &^ 15
		if p.mem.Write(sp, frame) != nil {
			return false
		}
	}
	regs.Rax, regs.Orig_rax = regs.Orig_rax, ^uint64(0)
	regs.Rsi += n
	regs.Rdx -= n
	regs.Rip, regs.Rsp = rest, sp
	return true
}

// partly reports a thread at the end of a system call that did a part of what it waits to do.
func (p *process) partly(regs *ptrace.Regs) bool {
	n := regs.Rax
	if int64(regs.Orig_rax) < 0 || n == 0 && !p.atRest(regs) || n >= regs.Rdx || int64(n) < 0 {
		return false
	}
	switch regs.Orig_rax {
	case unix.SYS_WRITE, unix.SYS_SENDTO:
		return true
	case unix.SYS_RECVFROM:
		return regs.R10&unix.MSG_WAITALL != 0
	}
	return false
}

// atRest reports a thread that has made a rest already.
func (p *process) atRest(regs *ptrace.Regs) bool {
	return p.region != nil && regs.Rip == p.regionAddr+p.blob.Rest+uint64(len(syscallInsn))
}

// hide makes a thread that we have just stopped go on with the system call that our stop ended, where the program would
// see that. Tracer thread only.
func (p *process) hide(th *thread) {
	regs, err := ptrace.GetRegs(th.tid)
	if err != nil {
		return
	}
	was := regs
	if again := ptrace.HideInterrupt(th.tid, regs); again != regs {
		if result, over := p.overdue(th, &again); over {
			regs.Rax, regs.Orig_rax = result, ^uint64(0)
			ptrace.SetRegs(th.tid, &regs)
			return
		}
		regs = again
	} else if !p.continueRest(th.tid, &regs, &was) {
		return
	}
	if ptrace.SetRegs(th.tid, &regs) == nil {
		th.again, th.was = &regs, was
	}
}

// hideIgnored is hide for a thread that a signal has woken which the program ignores: untraced, the kernel drops it
// before it wakes anybody. Tracer thread only.
func (p *process) hideIgnored(th *thread, regs *ptrace.Regs, sig syscall.Signal) {
	if (ptrace.Interrupted(regs) || p.partly(regs)) && ptrace.Ignores(th.tid, sig) {
		p.hide(th)
	}
}

// madeAgain gives a thread the end of the system call that was hidden from it, when a signal came before it went on
// with it.
func (th *thread) madeAgain(again *ptrace.Regs) {
	regs, err := ptrace.GetRegs(th.tid)
	if err != nil {
		return
	}
	regs.Eflags, regs.Orig_rax = again.Eflags, again.Orig_rax // a stop may change them
	if regs == *again {
		ptrace.SetRegs(th.tid, &th.was)
	}
}
