package ptrace

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Regs are a stopped thread's general registers.
type Regs = unix.PtraceRegs

// Options are those that every target is traced with. No EXITKILL: a target outlives a dead daemon.
const Options = unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_TRACEFORK | unix.PTRACE_O_TRACEVFORK |
	unix.PTRACE_O_TRACEEXEC | unix.PTRACE_O_TRACEEXIT | unix.PTRACE_O_TRACEVFORKDONE

// Siginfo is a signal's information as the kernel lays it out.
type Siginfo [128]byte

// Signal is si_signo.
func (s *Siginfo) Signal() syscall.Signal { return syscall.Signal(binary.LittleEndian.Uint32(s[:])) }

// OfEvent reports that the thread was stopped by ptrace itself: no signal waits for delivery.
func (s *Siginfo) OfEvent() bool { return s.Code()>>8 > 0 }

// Code is si_code: why the signal was sent.
func (s *Siginfo) Code() int32 { return int32(binary.LittleEndian.Uint32(s[8:])) }

// OfStep reports a trap that can be the one behind a step, if the thread was let run a step.
func (s *Siginfo) OfStep() bool {
	return s.OfDebug() || s.Signal() == syscall.SIGTRAP && s.Code() == trapHandler
}

// OfDebug reports a trap by the processor's debug exception: behind a step, by a debug register, or by the program's
// own int1; also what a step that ends behind a system call gives. The code should say which, and does not for sure: it
// comes from a register that some virtual machines lose, or give with what an earlier trap left there, once in some
// thousand traps (KVM before Linux 6.14 loads the guest's DR6 anew when it comes back from a short exit). What the
// thread was let do decides.
func (s *Siginfo) OfDebug() bool {
	return s.Signal() == syscall.SIGTRAP && (s.Code() == TrapTrace || s.Code() == TrapBrkpt || s.Code() == TrapHardware)
}

// Addr is si_addr, of SIGSEGV, SIGBUS, SIGILL, SIGFPE and SIGTRAP.
func (s *Siginfo) Addr() uint64 { return binary.LittleEndian.Uint64(s[16:]) }

// SetAddr sets the fault's address.
func (s *Siginfo) SetAddr(addr uint64) { binary.LittleEndian.PutUint64(s[16:], addr) }

// PID is si_pid, of a signal that a process sent.
func (s *Siginfo) PID() int32 { return int32(binary.LittleEndian.Uint32(s[16:])) }

// Values of si_code for SIGTRAP.
const (
	TrapBrkpt    = 1
	TrapTrace    = 2    // one instruction was run
	TrapHardware = 4    // a debug register's
	TrapKernel   = 0x80 // what int3 gives on x86
	trapHandler  = 5    // SIGTRAP itself: a thread that is stepped stops behind the delivery of a signal
)

// GetRegs reads the registers of a stopped thread.
func GetRegs(tid int) (r Regs, err error) { return r, ptraceData(unix.PTRACE_GETREGS, tid, 0, &r) }

// SetRegs writes the registers of a stopped thread.
func SetRegs(tid int, r *Regs) error { return ptraceData(unix.PTRACE_SETREGS, tid, 0, r) }

// shadowStackSet is NT_X86_SHSTK: the shadow stack pointer.
const shadowStackSet = 0x204

// ShadowStack reports whether a stopped thread has a shadow stack.
func ShadowStack(tid int) bool {
	var ssp [8]byte
	v := unix.Iovec{Base: &ssp[0]}
	v.SetLen(len(ssp))
	return ptraceData(unix.PTRACE_GETREGSET, tid, shadowStackSet, &v) == nil
}

// GetSiginfo reads the signal that stopped the thread.
func GetSiginfo(tid int) (s Siginfo, err error) {
	return s, ptraceData(unix.PTRACE_GETSIGINFO, tid, 0, &s)
}

// SetSiginfo replaces the information of the signal that will be delivered.
func SetSiginfo(tid int, s *Siginfo) error { return ptraceData(unix.PTRACE_SETSIGINFO, tid, 0, s) }

// EventMsg is the stop event's value: a new thread's ID, an exit status.
func EventMsg(tid int) (v uint64, err error) {
	return v, ptraceData(unix.PTRACE_GETEVENTMSG, tid, 0, &v)
}

// Cont resumes a stopped thread and delivers sig to it, 0 for none.
func Cont(tid int, sig syscall.Signal) error {
	return ptraceValue(unix.PTRACE_CONT, tid, 0, uintptr(sig))
}

// Step resumes a stopped thread for one instruction.
func Step(tid int, sig syscall.Signal) error {
	return ptraceValue(unix.PTRACE_SINGLESTEP, tid, 0, uintptr(sig))
}

// Listen leaves a thread in its group stop, but lets SIGCONT resume it.
func Listen(tid int) error { return ptraceValue(unix.PTRACE_LISTEN, tid, 0, 0) }

// Interrupt asks a running thread to stop; the stop is reported as an EventStop with SIGTRAP.
func Interrupt(tid int) error { return ptraceValue(unix.PTRACE_INTERRUPT, tid, 0, 0) }

// Detach lets a stopped thread go, delivering sig.
func Detach(tid int, sig syscall.Signal) error {
	err := ptraceValue(unix.PTRACE_DETACH, tid, 0, uintptr(sig))
	if err == nil {
		letGo(tid)
	}
	return err
}

// Seize attaches to a thread without stopping it.
func Seize(tid int) error { return ptraceValue(unix.PTRACE_SEIZE, tid, 0, Options) }

// A thread that was let run for a moment, or told to stop, stops within microseconds, or when it gets a CPU. Others do
// not: the first thread of a process that has ended, whose end is told when all others were waited for, which we cannot
// do while we wait for it; and one that sleeps in the kernel where nothing stops it. stopLook is when they are looked
// at first, stopMost how long any is waited for.
const (
	stopLook = 10 * time.Millisecond
	stopMost = 1500 * time.Millisecond
	stopBusy = 20 * time.Second // one that wants a CPU and had it for less than half of the time
)

// WaitStop waits for the next stop of one thread, which was let run and is about to stop. ErrGone when it ended
// instead, with an Ended stop where that was told now; ErrBusy where it does not come to a stop. Then Tracer.Late says
// what is to be done when it does.
func WaitStop(tid int) (Stop, error) {
	if s, ok, err := PollStop(tid); ok || err != nil {
		return s, err
	}
	self, over := unix.Gettid(), atomic.Bool{}
	defer over.Store(true)
	var again func()
	again = func() {
		if !over.Load() {
			unix.Tgkill(unix.Getpid(), self, wakeSignal) //nolint:errcheck // ourselves
			time.AfterFunc(stopLook, again)
		}
	}
	defer time.AfterFunc(stopLook, again).Stop()
	for started, ran, most := time.Now(), time.Duration(-1), stopMost; ; {
		var ws unix.WaitStatus
		_, err := unix.Wait4(tid, &ws, unix.WALL, nil)
		switch {
		case err == unix.EINTR:
			if ran < 0 { // not before: most stop at once
				ran = CPUTime(tid)
			}
			if waited := time.Since(started); waited > most && waited < stopBusy && Wants(tid) && CPUTime(tid)-ran < waited/2 {
				most = waited + stopMost
			}
			if s, ok, err := overdue(tid, started, most); ok || err != nil {
				return s, err
			}
		case err != nil:
			return Stop{}, errnoErr(err.(syscall.Errno))
		case ws.Stopped():
			return stopOf(tid, ws), nil
		default:
			return endOf(tid, ws), ErrGone
		}
	}
}

// CPUTime is how long a thread has had a CPU, 0 where that is not known.
func CPUTime(tid int) time.Duration {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", tid))
	if err != nil {
		return 0 // it has ended, or the kernel does not count
	}
	word, _, _ := strings.Cut(string(b), " ")
	ns, _ := strconv.ParseInt(word, 10, 64)
	return time.Duration(ns)
}

// Wants reports a thread that has a CPU, or wants one.
func Wants(tid int) bool { return strings.HasPrefix(StatusField(tid, "State"), "R") }

// overdue looks at a thread that has not stopped for some time.
func overdue(tid int, since time.Time, most time.Duration) (Stop, bool, error) {
	waited := time.Since(since)
	if waited < stopLook {
		return Stop{}, false, nil
	}
	ends := Ends(tid)
	if s, ok, err := PollStop(tid); ok || err != nil { // in between
		return s, ok, err
	}
	switch {
	case ends:
		return Stop{}, false, ErrGone
	case waited > most:
		return Stop{}, false, fmt.Errorf("wait for thread %d, %s, for %v: %w", tid, StatusField(tid, "State"), most, ErrBusy)
	}
	return Stop{}, false, nil
}

// endOf is the stop that says that a thread has ended.
func endOf(tid int, ws unix.WaitStatus) Stop {
	ended(tid, ws)
	return Stop{TID: tid, Ended: true, Status: ws}
}

// PollStop is WaitStop without waiting: ok is false where the thread has not stopped yet.
func PollStop(tid int) (s Stop, ok bool, err error) {
	for {
		var ws unix.WaitStatus
		n, err := unix.Wait4(tid, &ws, unix.WALL|unix.WNOHANG, nil)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return Stop{}, false, errnoErr(err.(syscall.Errno))
		case n == 0:
			return Stop{}, false, nil
		case ws.Stopped():
			return stopOf(tid, ws), true, nil
		default:
			return endOf(tid, ws), false, ErrGone
		}
	}
}

// ErrBusy: a thread did not stop in time. Its stop is reported when it comes.
var ErrBusy = errors.New("the thread does not come to a stop")

// WaitStopFor is WaitStop for a thread that was told to stop and may be where nothing can stop it: ErrBusy after the
// time given. Its stop is reported when it comes.
func WaitStopFor(tid int, within time.Duration) (Stop, error) {
	const spins, short, long = 20, 1000, 50000 // ns
	started := time.Now()
	for n := 0; ; n++ {
		s, ok, err := PollStop(tid)
		switch {
		case ok || err != nil:
			return s, err
		case time.Since(started) > within:
			s, ok, err := overdue(tid, started, 0)
			if !ok && err == nil {
				err = ErrBusy
			}
			return s, err
		case n < spins: // it is on its way
			unix.Nanosleep(&unix.Timespec{Nsec: short}, nil)
		default:
			unix.Nanosleep(&unix.Timespec{Nsec: long}, nil)
		}
	}
}

// Stop events, as ptrace numbers them.
const (
	EventFork      = unix.PTRACE_EVENT_FORK
	EventVfork     = unix.PTRACE_EVENT_VFORK
	EventClone     = unix.PTRACE_EVENT_CLONE
	EventExec      = unix.PTRACE_EVENT_EXEC
	EventVforkDone = unix.PTRACE_EVENT_VFORK_DONE
	EventExit      = unix.PTRACE_EVENT_EXIT
	EventStop      = unix.PTRACE_EVENT_STOP
)

// Stop is one report about a thread: a halt with its reason, or its end.
type Stop struct {
	TID    int
	Signal syscall.Signal // of a signal stop (Event 0), or the group stop's signal (EventStop)
	Event  int
	Msg    uint64 // of an event: a new thread's ID, an exec's former thread ID
	Ended  bool
	Status unix.WaitStatus
}

// GroupStop reports whether the whole process was stopped by SIGSTOP and the like.
func (s Stop) GroupStop() bool {
	if s.Event != EventStop {
		return false
	}
	switch s.Signal {
	case unix.SIGSTOP, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU:
		return true
	}
	return false
}

func stopOf(tid int, ws unix.WaitStatus) Stop {
	s := Stop{TID: tid, Signal: ws.StopSignal(), Event: int(uint32(ws) >> 16), Status: ws}
	switch s.Event {
	// asked for at once: a stop that is handled later may not be the thread's last
	case EventClone, EventFork, EventVfork, EventExec:
		s.Msg, _ = EventMsg(tid) // fails only for a thread that is gone
	}
	return s
}

const (
	ptracePeekSiginfo = 0x4209
	ptraceGetSigMask  = 0x420a
	ptraceSetSigMask  = 0x420b
)

// SetSigMask sets the signals that a stopped thread blocks: bit n-1 for signal n.
func SetSigMask(tid int, mask uint64) error { return ptraceData(ptraceSetSigMask, tid, 8, &mask) }

// faults are the signals that an instruction raises. Blocking one would make the kernel reset its handler.
const faults = 1<<(unix.SIGSEGV-1) | 1<<(unix.SIGBUS-1) | 1<<(unix.SIGILL-1) | 1<<(unix.SIGFPE-1) | 1<<(unix.SIGTRAP-1)

// trapBit is SIGTRAP among blocked signals. A trap that comes while it is blocked takes the program's handler for it
// away for good.
const trapBit = 1 << (unix.SIGTRAP - 1)

// HoldSignals makes a stopped thread block every signal but those that an instruction raises, and not the trap of a
// step, and returns what it blocked before, for SetSigMask.
func HoldSignals(tid int) (mask uint64, err error) {
	if err = ptraceData(ptraceGetSigMask, tid, 8, &mask); err != nil {
		return 0, err
	}
	return mask, SetSigMask(tid, (mask|^uint64(faults))&^trapBit)
}

// takesTraps reports whether a stopped thread neither blocks SIGTRAP nor has it ignored.
func takesTraps(tid int) bool {
	var mask uint64
	if ptraceData(ptraceGetSigMask, tid, 8, &mask) != nil || mask&trapBit != 0 {
		return false
	}
	ignored, err := strconv.ParseUint(StatusField(tid, "SigIgn"), 16, 64)
	return err == nil && ignored&trapBit == 0
}

// maxPeeked is how many pending signals of a thread are looked at: what an instruction raised is among the first that
// are its own.
const maxPeeked = 16

// FaultWaits reports whether a thread that an interrupt stopped has just raised a signal by an instruction (a step's
// trap, an int3, a fault), which it takes next. That stop goes first if both come at once; a thread that is let go in
// it dies of a trap of ours.
func FaultWaits(tid int) bool {
	var list [maxPeeked]Siginfo
	for i := range peekPending(tid, list[:]) {
		sig := uint64(1) << (list[i].Signal() - 1)
		var mask uint64
		if sig&faults != 0 && list[i].Code() > 0 && ptraceData(ptraceGetSigMask, tid, 8, &mask) == nil && mask&sig == 0 {
			return true
		}
	}
	return false
}

// FaultFirst has a thread that an interrupt stopped come to the stop of the signal that it has just raised, if there is
// one.
func FaultFirst(s Stop) (Stop, error) {
	if s.Event != EventStop || s.Signal != syscall.SIGTRAP || !FaultWaits(s.TID) {
		return s, nil
	}
	if err := Cont(s.TID, 0); err != nil {
		return Stop{}, err
	}
	return WaitStop(s.TID)
}

// Queue sends a thread a signal that was on its way to it before, with all that is known of it where the kernel lets
// us: not of one that it sent itself, or kill did.
func Queue(pid, tid int, info *Siginfo) {
	if info.Code() >= 0 || info.Code() == tgkillCode || queueInfo(pid, tid, info) != nil {
		unix.Tgkill(pid, tid, info.Signal()) //nolint:errcheck // it has ended
	}
}

// tgkillCode is SI_TKILL.
const tgkillCode = -6
