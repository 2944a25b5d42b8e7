package native

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"syscall"

	"github.com/strobe-debug/strobe/internal/ptrace"
	"golang.org/x/sys/unix"
)

// remote makes system calls in a stopped thread, through a `syscall` instruction that the process already has.
// Tracer thread only. done puts the thread's registers back.
type remote struct {
	tid    int
	gadget uint64
	saved  ptrace.Regs
	mask   uint64 // signals that the thread blocks by itself
	signal ptrace.Siginfo
	begun  bool             // a call was made: the thread is in no system call of its own any more
	holds  bool             // the thread is about to take that signal, once the handler of stops comes to it
	stands bool             // the thread stood before, for a reason of its own
	late   bool             // a call does not come to its end: the thread is put back when it does
	gone   bool             // the process has another image: nothing is to be put back
	kept   []ptrace.Siginfo // came meanwhile though signals are held: the thread gets them again
	t      *ptrace.Tracer
}

var syscallInsn = []byte{0x0f, 0x05}

// findGadget returns the address of a syscall instruction: in the vDSO, else in any code.
func findGadget(mem *ptrace.Mem, maps []mapping) (uint64, error) {
	for _, vdso := range []bool{true, false} {
		for _, m := range maps {
			if !m.exec || (m.path == "[vdso]") != vdso || m.path == "[vsyscall]" {
				continue
			}
			b := make([]byte, min(m.hi-m.lo, 1<<22))
			if mem.Read(m.lo, b) != nil {
				continue
			}
			if i := bytes.Index(b, syscallInsn); i >= 0 {
				return m.lo + uint64(i), nil
			}
		}
	}
	return 0, fmt.Errorf("find a syscall instruction: none in the program's code")
}

// begin takes over a stopped thread.
func begin(t *ptrace.Tracer, tid int, gadget uint64) (*remote, error) {
	r := &remote{tid: tid, gadget: gadget, t: t}
	var err error
	if r.saved, err = ptrace.GetRegs(tid); err != nil {
		return nil, fmt.Errorf("read registers of thread %d: %w", tid, err)
	}
	if info, err := ptrace.GetSiginfo(tid); err == nil && !info.OfEvent() {
		r.signal, r.holds = info, true
	}
	if r.mask, err = ptrace.HoldSignals(tid); err != nil {
		return nil, fmt.Errorf("hold signals of thread %d: %w", tid, err)
	}
	return r, nil
}

// call makes one system call. Stops for other reasons are kept for the handler.
func (r *remote) call(nr uint64, args ...uint64) (uint64, error) {
	regs := r.saved
	regs.Rip, regs.Rax, regs.Orig_rax = r.gadget, nr, ^uint64(0)
	for i, p := range []*uint64{&regs.Rdi, &regs.Rsi, &regs.Rdx, &regs.R10, &regs.R8, &regs.R9} {
		if i < len(args) {
			*p = args[i]
		}
	}
	if err := ptrace.SetRegs(r.tid, &regs); err != nil {
		return 0, fmt.Errorf("set registers of thread %d: %w", r.tid, err)
	}
	if err := ptrace.Step(r.tid, 0); err != nil {
		return 0, fmt.Errorf("step thread %d: %w", r.tid, err)
	}
	for range maxCallStops {
		s, err := ptrace.WaitStop(r.tid)
		if err != nil {
			if s.Ended {
				r.t.Defer(s)
			}
			if errors.Is(err, ptrace.ErrBusy) {
				r.endLater()
			}
			return 0, err
		}
		if s.Event == 0 && !r.keeps() && s.Signal == unix.SIGTRAP {
			now, err := ptrace.GetRegs(r.tid)
			if err == nil && now.Rip != r.gadget {
				return r.result()
			}
			// A thread that was stopped inside a system call (clone, fork, exec) first reports its end, with its result in rax.
			if err == nil && now.Rip == r.gadget && !r.begun {
				r.saved.Rax, r.saved.Orig_rax = now.Rax, ^uint64(0)
			}
			if err := ptrace.SetRegs(r.tid, &regs); err != nil {
				return 0, fmt.Errorf("set registers of thread %d: %w", r.tid, err)
			}
		}
		if s.Event == ptrace.EventExit || s.Event == ptrace.EventExec {
			r.gone = s.Event == ptrace.EventExec // made by another thread, which has this one's number now
			r.t.Defer(s)
			return 0, ptrace.ErrGone
		}
		if err := ptrace.Step(r.tid, 0); err != nil {
			return 0, fmt.Errorf("step thread %d: %w", r.tid, err)
		}
	}
	return 0, fmt.Errorf("make a system call in thread %d at 0x%x: it did not run in %d stops", r.tid, r.gadget,
		maxCallStops)
}

// keeps takes the signal of a stop that somebody sent: those that an instruction raises are not held, nor is SIGSTOP.
// False: it was raised here, as the trap of a step is.
func (r *remote) keeps() bool {
	info, err := ptrace.GetSiginfo(r.tid)
	if err != nil || info.Code() > 0 {
		return false
	}
	r.kept = append(r.kept, info)
	return true
}

// maxCallStops bounds the stops of a thread before its system call has run: halts that were given up and come late.
// Signals are held; one that comes again and again is a fault of the very instruction, which is not what it was.
const maxCallStops = 100

// result is that of a system call that has run.
func (r *remote) result() (uint64, error) {
	r.begun = true
	regs, err := ptrace.GetRegs(r.tid)
	if err != nil {
		return 0, fmt.Errorf("read registers of thread %d: %w", r.tid, err)
	}
	if ret := int64(regs.Rax); ret < 0 && ret > -4096 {
		return 0, syscall.Errno(-ret)
	}
	return regs.Rax, nil
}

// endLater has the thread put back and let go on when its call is done, which takes long.
func (r *remote) endLater() {
	r.late = true
	r.t.Late(r.tid, func(s ptrace.Stop) bool {
		if s.Event == ptrace.EventExit {
			return false
		}
		if s.Event == 0 {
			r.keeps()
		}
		r.late = false
		var sig syscall.Signal
		if r.done() == nil && r.holds {
			sig = r.signal.Signal()
		}
		if !r.stands {
			ptrace.Cont(r.tid, sig) //nolint:errcheck // it has ended
		}
		return true
	})
}

// done restores the thread as it was: also an interrupted system call, which the kernel then restarts.
func (r *remote) done() error {
	if r.late || r.gone {
		return nil
	}
	if err := ptrace.SetRegs(r.tid, &r.saved); err != nil {
		return fmt.Errorf("restore registers of thread %d: %w", r.tid, err)
	}
	if r.holds {
		if err := ptrace.SetSiginfo(r.tid, &r.signal); err != nil {
			return fmt.Errorf("restore signal of thread %d: %w", r.tid, err)
		}
	}
	err := ptrace.SetSigMask(r.tid, r.mask)
	for i := range r.kept {
		pid, _ := strconv.Atoi(ptrace.StatusField(r.tid, "Tgid"))
		ptrace.Queue(pid, r.tid, &r.kept[i])
	}
	r.kept = nil
	return err
}

// reserve is mmap of much memory of which little will be used: where the program has all that it maps locked in memory
// (mlockall), that stays out.
func (r *remote) reserve(addr, size uint64, prot, flags int, fd int64) (uint64, error) {
	if ptrace.StatusField(r.tid, "VmLck") == "0 kB" {
		return r.mmap(addr, size, prot, flags, fd)
	}
	at, err := r.mmap(addr, size, unix.PROT_NONE, flags, fd) // nothing of it is brought into memory
	if err != nil {
		return 0, err
	}
	if _, err = r.call(unix.SYS_MUNLOCK, at, size); err == nil {
		_, err = r.call(unix.SYS_MPROTECT, at, size, uint64(prot))
	}
	if err != nil {
		r.call(unix.SYS_MUNMAP, at, size)
	}
	return at, err
}

func (r *remote) mmap(addr, size uint64, prot, flags int, fd int64) (uint64, error) {
	return r.call(unix.SYS_MMAP, addr, size, uint64(prot), uint64(flags), uint64(fd), 0)
}
