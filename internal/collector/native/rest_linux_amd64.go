package native

import (
	"encoding/binary"

	"github.com/strobe-debug/strobe/internal/ptrace"
	"golang.org/x/sys/unix"
)

// A stop that comes while a thread waits in the midst of a write, or of a read that wants all, makes the kernel return what was
// done so far. The program would not see that untraced, and it may not expect it of a pipe. So the thread makes the rest in the agent
// (rest in agent/entry.S), which returns what the uninterrupted call would have returned.

const redZone = 128

// continueRest makes regs, of a thread at the end of such a call, those that make the rest; false where there is none. p has the agent.
func (p *process) continueRest(tid int, regs *ptrace.Regs) bool {
	n := regs.Rax
	if p.region == nil || p.unmapped || int64(regs.Orig_rax) < 0 || n == 0 || n >= regs.Rdx || int64(n) < 0 {
		return false
	}
	switch regs.Orig_rax {
	case unix.SYS_WRITE, unix.SYS_SENDTO:
	case unix.SYS_RECVFROM:
		if regs.R10&unix.MSG_WAITALL == 0 {
			return false
		}
	default:
		return false
	}
	var before [2]byte
	if p.mem.Read(regs.Rip-2, before[:]) != nil || string(before[:]) != string(syscallInsn) || signalWaits(tid) {
		return false
	}
	frame := make([]byte, 0, 40)
	for _, v := range []uint64{n, regs.Rsi, regs.Rdx, regs.Rip, regs.Rsp} {
		frame = binary.LittleEndian.AppendUint64(frame, v)
	}
	sp := (regs.Rsp - redZone - uint64(len(frame))) &^ 15
	if p.mem.Write(sp, frame) != nil {
		return false
	}
	regs.Rax, regs.Orig_rax = regs.Orig_rax, ^uint64(0)
	regs.Rsi += n
	regs.Rdx -= n
	regs.Rip, regs.Rsp = p.regionAddr+p.blob.Rest, sp
	return true
}

// hide makes a thread that we have just stopped go on with the system call that our stop ended, where the program would see that.
// Tracer thread only.
func (p *process) hide(th *thread) {
	regs, err := ptrace.GetRegs(th.tid)
	if err != nil {
		return
	}
	was := regs
	if again := hideInterrupt(th.tid, regs); again != regs {
		was.Rip, was.Rax, was.Orig_rax = again.Rip+uint64(len(syscallInsn)), ^uint64(unix.EINTR)+1, again.Orig_rax
		regs = again
	} else if !p.continueRest(th.tid, &regs) {
		return
	} else {
		was.Orig_rax = ^uint64(0)
	}
	if ptrace.SetRegs(th.tid, &regs) == nil {
		th.again, th.was = regs.Rip, was
	}
}

// interrupted gives a thread the end of the system call that was hidden from it, when a signal came before it went on with it.
func (th *thread) interrupted(again uint64) {
	if regs, err := ptrace.GetRegs(th.tid); err == nil && regs.Rip == again {
		ptrace.SetRegs(th.tid, &th.was)
	}
}
