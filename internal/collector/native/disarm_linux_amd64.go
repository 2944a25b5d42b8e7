package native

import (
	"context"
	"time"

	"github.com/strobe-debug/strobe/internal/ptrace"
	"golang.org/x/sys/unix"
)

// disarmWait is how long a stop waits for threads that cannot be stopped just now. The usual one waits for a child to
// exec.
const disarmWait = 1500 * time.Millisecond

// armed are the threads whose debug registers look for something. Tracer thread only.
func (t *target) armed() (out []*thread) {
	for _, th := range t.threads {
		if th.watched != ([ptrace.DebugSlots]ptrace.DebugWatch{}) {
			out = append(out, th)
		}
	}
	return out
}

// disarmAll clears the debug registers of all threads, which outlive the tracing: with nobody to tell, the kernel ends
// the program that meets them. Nothing wants them any more. A channel: some threads cannot be stopped, and are cleared
// when they can; it is closed then.
func (t *target) disarmAll() (late <-chan struct{}) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	done := make(chan struct{})
	for started := time.Now(); ; <-tick.C {
		left := 0
		err := t.tracer.Do(context.Background(), func() error {
			for _, th := range t.armed() {
				if resume, ok := th.p.haltSoon(th); ok {
					th.p.memory().hide(th)
					th.arm(th.p.memory())
					resume()
				}
			}
			t.tracer.Settle()
			if left = len(t.armed()); left > 0 && time.Since(started) > disarmWait {
				t.tracer.HandleWith(t.disarmer(done))
			}
			return nil
		})
		switch {
		case err != nil || left == 0:
			return nil
		case time.Since(started) > disarmWait:
			return done
		}
	}
}

// trapsByHardware is byHardware for a thread that is stopped. Tracer thread only.
func (t *target) trapsByHardware(tid int) bool {
	info, err := ptrace.GetSiginfo(tid)
	regs, regsErr := ptrace.GetRegs(tid)
	th := t.threads[tid]
	return err == nil && regsErr == nil && th != nil && th.byHardware(&info, &regs)
}

// disarmer handles the stops of a target that is only traced until its last armed thread has stopped. Tracer thread
// only.
func (t *target) disarmer(done chan struct{}) ptrace.Handler {
	left := map[int]bool{}
	for _, th := range t.armed() {
		left[th.tid] = true
		ptrace.Interrupt(th.tid) //nolint:errcheck // it has ended
	}
	return func(s ptrace.Stop) {
		sig := s.Signal
		if s.Event != 0 {
			sig = 0
		}
		if s.Event == ptrace.EventExec { // whoever made it has the first thread's number now, and no debug registers
			delete(left, int(s.Msg))
			left[s.TID] = true
		}
		if left[s.TID] {
			if s.Event == 0 && s.Signal == unix.SIGTRAP && t.trapsByHardware(s.TID) {
				sig = 0
			}
			if s.Ended || ptrace.SetDebug(s.TID, [ptrace.DebugSlots]ptrace.DebugWatch{}) == nil {
				if delete(left, s.TID); len(left) == 0 {
					defer close(done)
				}
			}
		}
		switch {
		case s.Ended:
		case s.GroupStop():
			ptrace.Listen(s.TID) //nolint:errcheck // it has ended
		default:
			if s.Event == ptrace.EventStop {
				ptrace.HideBriefly(s.TID)
			}
			ptrace.Cont(s.TID, sig) //nolint:errcheck // it has ended
		}
	}
}
