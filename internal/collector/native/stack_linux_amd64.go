package native

import (
	"github.com/strobe-debug/strobe/internal/ptrace"
	"golang.org/x/sys/unix"
)

// Each hooked call takes 16 bytes of stack more, and its stack arguments again. A program whose recursion only just
// fits its stack limit must still fit. So when the first thread runs into the limit while functions are hooked, the
// limit is lifted for the one instruction that needs another page, up to half as much stack again. The program never
// sees another limit, and endless recursion still ends in SIGSEGV, with the address that it would have had: runtimes
// compare it with where they know the stack to end.
const stackExtra = 2 // 1/stackExtra of the limit

// growStack handles a fault just below the stack. False: it is the program's own.
func (t *target) growStack(th *thread, p *process, regs *ptrace.Regs) bool {
	if p.region == nil || len(*p.hooks.Load()) < 2 {
		return false
	}
	info, err := ptrace.GetSiginfo(th.tid)
	if err != nil || info.Code() <= 0 {
		return false
	}
	addr := info.Addr()
	if addr+1<<20 < regs.Rsp || addr > regs.Rsp+1<<16 {
		return false
	}
	maps, err := readMaps(th.p.pid)
	if err != nil {
		return false
	}
	for _, m := range maps {
		if m.path != "[stack]" || addr >= m.lo || m.lo-addr > 1<<20 {
			continue
		}
		var old unix.Rlimit
		if unix.Prlimit(th.p.pid, unix.RLIMIT_STACK, nil, &old) != nil {
			return false
		}
		want := m.hi - addr + 1<<16
		if want <= old.Cur || want > old.Cur+old.Cur/stackExtra || want > old.Max {
			return false
		}
		if p.stackFault == 0 {
			p.stackFault = addr
		}
		return t.stepWithLimit(th, old, unix.Rlimit{Cur: want, Max: old.Max})
	}
	return false
}

// disguiseOverflow gives a SIGSEGV that the program's handler gets, when all of a stack is used up that was let grow,
// the address where the stack ended before.
func (p *process) disguiseOverflow(tid int, regs *ptrace.Regs) {
	if p.stackFault == 0 {
		return
	}
	info, err := ptrace.GetSiginfo(tid)
	if err != nil || info.Code() <= 0 {
		return
	}
	addr := info.Addr()
	if addr >= p.stackFault || addr+1<<20 < regs.Rsp || addr > regs.Rsp+1<<16 {
		return
	}
	maps, err := readMaps(p.pid)
	if err != nil {
		return
	}
	for _, m := range maps {
		if m.path == "[stack]" && addr < m.lo && m.lo-addr <= 1<<20 {
			info.SetAddr(p.stackFault)
			ptrace.SetSiginfo(tid, &info)
		}
	}
}

// stepWithLimit repeats the faulting instruction under another stack limit. Whatever the step reports is handled as
// usual.
func (t *target) stepWithLimit(th *thread, old, lifted unix.Rlimit) bool {
	if unix.Prlimit(th.p.pid, unix.RLIMIT_STACK, &lifted, nil) != nil {
		return false
	}
	defer unix.Prlimit(th.p.pid, unix.RLIMIT_STACK, &old, nil)
	mask, err := ptrace.HoldSignals(th.tid)
	if err != nil {
		return false
	}
	if ptrace.Step(th.tid, 0) != nil {
		return true
	}
	s, err := ptrace.WaitStop(th.tid)
	if err != nil {
		t.notStopped(th, s, err, func() { ptrace.SetSigMask(th.tid, mask) })
		return true
	}
	ptrace.SetSigMask(th.tid, mask)
	if s.Event == 0 && s.Signal == unix.SIGTRAP {
		t.resume(th, 0)
		return true
	}
	t.stopped(s)
	return true
}
