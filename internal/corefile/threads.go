package corefile

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/snapshot"
	"github.com/strobe-debug/strobe/internal/sorting"
	"github.com/strobe-debug/strobe/internal/symbol"
	"github.com/strobe-debug/strobe/internal/unwind"
	"github.com/strobe-debug/strobe/internal/waits"
)

// Registers by their DWARF numbers.
const regSP, regPC = 7, 16

// What the kernel leaves on the stack for a signal's handler (arch/x86/include/asm/sigframe.h): struct ucontext, where
// the stack pointer is in the frame of the kernel's call, and behind it struct siginfo, which is filled in for
// SA_SIGINFO only. What faulted is in the saved registers in any case.
const (
	frameErr   = 40 + 8*19 // of the processor: how a page fault came
	frameTrap  = 40 + 8*20
	frameAddr  = 40 + 8*22 // cr2: where
	frameInfo  = 304
	frameBytes = frameInfo + siginfoSize
)

// caught finds the signal whose handler the thread still was in.
func (x *Core) caught(pic *snapshot.Picture, th *snapshot.Thread) *snapshot.Caught {
	stack, _ := pic.Stack(th)
	for i := range stack.Frames {
		f := &stack.Frames[i]
		sp, ok := f.Regs.Get(regSP)
		if !f.Signal || !ok || i+1 == len(stack.Frames) {
			continue
		}
		b := make([]byte, frameBytes)
		if x.proc.Mem.Read(sp, b) != nil {
			continue
		}
		if s, ok := x.handled(b, stack.Frames[i+1].PC); ok {
			return &snapshot.Caught{Signal: s, Thread: snapshot.Thread{TID: th.TID, Regs: stack.Frames[i+1].Regs}}
		}
	}
	return nil
}

// handled reads which signal a handler was called for; not ok where that is none that ends processes, or not known.
func (x *Core) handled(b []byte, pc uint64) (s snapshot.Signal, ok bool) {
	le := binary.LittleEndian
	trap, addr := le.Uint64(b[frameTrap:]), le.Uint64(b[frameAddr:])
	s = signalOf(b[frameInfo:])
	switch {
	case !deadly[s.Number] || s.Number == sigQUIT:
	case s.Code > 0 && (trap != trapPage || s.Addr == addr), s.Code <= 0 && s.PID == x.core.pid:
		return s, true
	}
	var before [2]byte
	if x.proc.Mem.Read(pc-2, before[:]) == nil && before == [2]byte{0x0f, 0x05} { // in a system call: nothing faulted
		return s, false
	}
	switch trap {
	case trapDivide:
		return snapshot.Signal{Number: sigFPE, Code: 1, Addr: pc}, true
	case trapOpcode:
		return snapshot.Signal{Number: sigILL, Code: 2, Addr: pc}, true
	case trapGeneral:
		return snapshot.Signal{Number: sigSEGV, Code: siKernel}, true
	case trapPage:
		const userMode, present = 4, 1
		how := le.Uint64(b[frameErr:])
		s = snapshot.Signal{Number: sigSEGV, Code: 1, Addr: addr}
		if how&present != 0 {
			s.Code = 2
		}
		return s, how&userMode != 0
	}
	return s, false
}

// Exceptions of the processor.
const trapDivide, trapOpcode, trapGeneral, trapPage = 0, 6, 13, 14

// signalOf reads a siginfo of 128 bytes.
func signalOf(b []byte) snapshot.Signal {
	le := binary.LittleEndian
	s := snapshot.Signal{Number: int(int32(le.Uint32(b))), Code: int32(le.Uint32(b[8:]))}
	switch {
	case s.Number == sigSYS:
		s.Call = int32(le.Uint32(b[24:]))
	case s.Code > 0:
		s.Addr = le.Uint64(b[16:])
	default:
		s.PID = int(int32(le.Uint32(b[16:])))
	}
	return s
}

// maxThreadRows bounds the threads whose stacks are walked for one answer.
const maxThreadRows = 5000

// crashedState is that of the thread that brought the process down.
const crashedState = waits.State("crashed")

// Threads implements collector.ThreadLister: what the threads did when the process died. Nothing moves in a core, so a
// circle of waits in it is a deadlock.
func (x *Core) Threads(ctx context.Context) (*collector.ThreadReport, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.file == nil {
		return nil, errClosed()
	}
	pic := snapshot.New(x.proc)
	var all []*waits.Thread
	stacks := map[*waits.Thread]*thread{}
	for i := range x.core.threads[:min(len(x.core.threads), maxThreadRows)] {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		th := &x.core.threads[i]
		t := &waits.Thread{PID: x.core.pid, TID: th.tid, Local: th.tid, State: waits.Running, Syscall: -1}
		p := x.core.picture(i)
		t.Name = p.Name
		if nr, args, ok := th.call(); ok {
			t.State, t.Syscall, t.Args = waits.Waiting, nr, args
		} else if i == 0 && !x.core.alive() {
			t.State = crashedState
		}
		stack, _ := pic.Stack(p)
		for k := range stack.Frames {
			f := &stack.Frames[k]
			t.Frames = append(t.Frames, waits.Frame{Function: f.Function, File: f.File, Line: f.Line, Module: f.Module,
				Guessed: f.Trust == unwind.TrustScan})
		}
		if t.Elided = stack.Elided; stack.End != unwind.EndOutermost {
			t.Lack = "the stack ends early: " + stack.Reason
		}
		stacks[t] = th
		all = append(all, t)
	}
	sorting.By(all, func(a, b *waits.Thread) int { return event.CompareThreads(x.core.pid, a.TID, b.TID) })
	procs := map[int]*waits.Process{x.core.pid: {
		Read: x.proc.Mem.Read, Root: x.proc.Project,
		Name:  func(_ *waits.Thread, a uint64) string { return x.variableAt(a) },
		Stack: func(t *waits.Thread, word uint64) bool { return x.mentions(stacks[t], word) },
	}}
	r := waits.Summarize(all, procs, waits.Analyze(all, procs))
	skipped := len(x.core.threads) - len(all)
	r.ThreadCount += skipped
	r.NotShown += skipped
	return r, nil
}

// variableAt names the global variable at an address, "" for none.
func (x *Core) variableAt(a uint64) string {
	for _, im := range x.images {
		for _, s := range im.mod.Segments() {
			if at := a - im.bias; !s.Exec && at >= uint64(s.Vaddr) && at-uint64(s.Vaddr) < s.Memsz {
				if name, start, ok := im.mod.DataAt(symbol.Addr(at)); ok {
					if off := at - uint64(start); off > 0 {
						return fmt.Sprintf("%s+%d", name, off)
					}
					return name
				}
			}
		}
	}
	return ""
}

// call is the system call that a thread was in, where it waited: the kernel had interrupted it, and would have gone on
// with it.
func (th *thread) call() (nr int64, args [6]uint64, ok bool) {
	rax, _ := th.regs.Get(0)
	switch int64(rax) {
	case -4, -512, -513, -514, -516: // EINTR, and the kernel's own ERESTART…
	default:
		return -1, args, false
	}
	for i, r := range [...]int{5, 4, 1, 10, 8, 9} { // rdi, rsi, rdx, r10, r8, r9
		args[i], _ = th.regs.Get(r)
	}
	return th.orig, args, th.orig >= 0
}

// stackLook is how much of a stack is searched for a lock's address.
const stackLook = 64 << 10

// mentions reports whether a word is on a thread's stack.
func (x *Core) mentions(th *thread, word uint64) bool {
	if th == nil {
		return false
	}
	sp, _ := th.regs.Get(regSP)
	b := make([]byte, stackLook)
	n, err := x.core.dumped(sp, b)
	if err != nil {
		return false
	}
	for b = b[:n]; len(b) >= 8; b = b[8:] {
		if binary.LittleEndian.Uint64(b) == word {
			return true
		}
	}
	return false
}
