package ptrace

import (
	"errors"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Brief attaches to threads of a process that nobody traces, for a moment: fn is given those that stopped within the time, at most one stop
// each. Then they go on, with whatever signal was on its way to them. It never waits for a process's end: that stays with
// whoever waits for it, which may be another part of this program. When it cannot bring a thread back to running, the end of its own
// kernel thread does.
func Brief(tids []int, within time.Duration, fn func(stopped []int)) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with this function, and all that it traces goes on
		var err error
		var seized, stopped []int
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
				stopped = append(stopped, tid)
			}
		}
		fn(stopped)
		for _, tid := range stopped {
			var sig syscall.Signal
			if info, e := GetSiginfo(tid); e == nil && !info.OfEvent() && !(info.Signal() == syscall.SIGTRAP && info.Code() == TrapTrace) {
				sig = info.Signal()
			}
			Detach(tid, sig) //nolint:errcheck // it has ended
		}
		done <- err
	}()
	return <-done
}

// BriefStep runs one instruction of a thread that stands for Brief, whose fn calls it. False: it did not come to that, because it waits in
// the kernel, or a signal is on its way.
func BriefStep(tid int, within time.Duration) bool {
	if info, err := GetSiginfo(tid); err != nil || !info.OfEvent() && info.Code() != TrapTrace {
		return false
	}
	return Step(tid, 0) == nil && stoppedWithin(tid, within)
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
