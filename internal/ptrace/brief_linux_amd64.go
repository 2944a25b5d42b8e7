package ptrace

import (
	"errors"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// Brief attaches to threads of a process that nobody traces, for a moment: fn is given those that stopped within the
// time, at most one stop each. Then they go on, with whatever signal was on its way to them, and no step's trap. It
// never waits for a process's end: that stays with whoever waits for it, which may be another part of this program.
// When it cannot bring a thread back to running, the end of its own kernel thread does.
func Brief(tids []int, within time.Duration, fn func(b *Briefly)) error {
	done := make(chan error, 1)
	go onBareThread(func() { brief(tids, within, fn, done) })
	return <-done
}

// Briefly are the threads that stand for Brief's function.
type Briefly struct {
	Stopped []int
	stepped map[int]bool // a trap that stops them is of our making
}

// onBareThread runs fn on a kernel thread that ends with it and has started nothing: children may have asked for a
// signal when who made them ends (PR_SET_PDEATHSIG), which means that thread. And the first thread of a Go program
// never ends.
func onBareThread(fn func()) {
	runtime.LockOSThread() // and never unlocked
	if unix.Gettid() != unix.Getpid() && !hasChildren() {
		fn()
		return
	}
	done := make(chan struct{})
	go func() { defer close(done); onBareThread(fn) }() // on another one, since this is taken
	<-done
	runtime.UnlockOSThread()
}

func brief(tids []int, within time.Duration, fn func(b *Briefly), done chan<- error) {
	var err error
	var seized []int
	b := &Briefly{stepped: map[int]bool{}}
	for _, tid := range tids {
		if e := ptraceValue(unix.PTRACE_SEIZE, tid, 0, 0); e != nil {
			err = errors.Join(err, e)
			continue
		}
		seized = append(seized, tid)
		if e := Interrupt(tid); e != nil {
			err = errors.Join(err, e)
		}
	}
	for _, tid := range seized {
		if stoppedWithin(tid, within) {
			b.Stopped = append(b.Stopped, tid)
		}
	}
	fn(b)
	late := slices.DeleteFunc(b.Stopped, b.letGo)
	done <- err
	for _, tid := range late { // an end in the midst of a step would leave the step to the program
		for !Ends(tid) && Interrupt(tid) == nil && (!stoppedWithin(tid, time.Second) || !b.letGo(tid)) {
		}
	}
}

// letGo lets a thread go on that stands. False: it does not stand.
func (b *Briefly) letGo(tid int) bool {
	info, err := GetSiginfo(tid)
	if err == nil && info.OfEvent() && b.stepped[tid] && FaultWaits(tid) { // the step's trap comes behind the interrupt
		if Cont(tid, 0) != nil || !stoppedWithin(tid, time.Second) {
			return Ends(tid)
		}
		info, err = GetSiginfo(tid)
	}
	if err != nil {
		return Ends(tid)
	}
	sig := info.Signal()
	if info.OfEvent() || b.stepped[tid] && info.OfStep() {
		sig = 0
	}
	return Detach(tid, sig) == nil || Ends(tid)
}

// Step runs one instruction of a thread. False: it did not come to that, because the thread is in the kernel or about
// to go there, the program steps itself or does not take traps, an instruction that shows or sets the trap flag is
// next, or a signal is on its way.
func (b *Briefly) Step(tid int, within time.Duration) bool {
	info, err := GetSiginfo(tid)
	if err != nil || !info.OfEvent() && !(b.stepped[tid] && info.OfStep()) {
		return false
	}
	regs, err := GetRegs(tid)
	if err != nil || regs.Eflags&trapFlag != 0 || madeAgain(&regs) {
		return false
	}
	var code [maxInsn]byte
	if n, _ := unix.PtracePeekText(tid, uintptr(regs.Rip), code[:]); !stepsAlone(code[:n]) || FaultWaits(tid) ||
		!b.stepped[tid] && !takesTraps(tid) {
		return false
	}
	b.stepped[tid] = true
	return Step(tid, 0) == nil && stoppedWithin(tid, within)
}

const (
	maxInsn  = 15 // bytes
	trapFlag = 1 << 8

	// What a system call that a stop ended seems to return, before the kernel makes it again.
	errRestart      = 512 // ERESTARTSYS
	errRestartBlock = 516 // ERESTART_RESTARTBLOCK
)

// madeAgain reports a thread at the end of a system call that a stop ended, and that the kernel makes again.
func madeAgain(regs *Regs) bool {
	rax := int64(regs.Rax)
	return int64(regs.Orig_rax) >= 0 && rax <= -int64(errRestart) && rax >= -int64(errRestartBlock)
}

// IsDone reports a thread that stands in no system call, or at the end of one that has its result: a signal that comes
// now does not end it.
func IsDone(regs *Regs) bool {
	return int64(regs.Orig_rax) < 0 || !madeAgain(regs) && int64(regs.Rax) != -int64(unix.EINTR)
}

// stepsAlone reports whether the instruction in b can be stepped without the program seeing it: a system call may wait
// for ever, and the trap flag is set meanwhile.
func stepsAlone(b []byte) bool {
	for i, c := range b {
		switch c {
		case 0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x66, 0x67, 0xf0, 0xf2, 0xf3: // prefixes
			continue
		case 0x9c, 0x9d, 0xcc, 0xcd, 0xcf, 0xf1: // pushf, popf, int3, int, iret, int1
			return false
		case 0x8e: // mov to a segment register, after which no trap comes
			return false
		case 0x0f:
			return i+1 < len(b) && b[i+1] != 0x05 && b[i+1] != 0x34 // syscall, sysenter
		}
		if c>>4 != 4 { // a REX prefix
			return true
		}
	}
	return false
}

// stoppedWithin waits for a stop, and leaves a thread's end to others.
func stoppedWithin(tid int, within time.Duration) bool {
	for end, n := time.Now().Add(within), 0; ; n++ {
		if n > 50 { // it is not on its way any more: it waits for a CPU
			unix.Nanosleep(&unix.Timespec{Nsec: 20_000}, nil)
		}
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, tid, &info, unix.WSTOPPED|unix.WNOHANG|unix.WALL, nil)
		if err == nil && info.Signo != 0 {
			return true
		}
		if err != nil && err != unix.EINTR || time.Now().After(end) {
			return false
		}
	}
}
