package native

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/ptrace"
	"github.com/strobe-debug/strobe/internal/snapshot"
	"github.com/strobe-debug/strobe/internal/sorting"
	"github.com/strobe-debug/strobe/internal/unwind"
	"github.com/strobe-debug/strobe/internal/waits"
)

// seen is a thread as a look found it.
type seen struct {
	p      *process
	thread *waits.Thread
	call   string // its line in /proc: the system call, the stack pointer, where it waits
	sp, pc uint64
	state  byte // as the kernel has it
	stack  unwind.Stack
	by     *unwind.Unwinder
}

// look is one look at a process's threads.
type look struct {
	p       *process
	view    *snapshot.Process
	seen    []*seen
	skipped int
}

// glance is what tells whether a thread ran between two moments.
type glance struct {
	call     string
	switches string
	ok       bool
}

func (s *seen) glance() glance {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/status", s.p.pid, s.thread.TID))
	if err != nil {
		return glance{}
	}
	_, switches, ok := strings.Cut(string(status), "voluntary_ctxt_switches:")
	return glance{readCall(s.p.pid, s.thread.TID), switches, ok}
}

func readCall(pid, tid int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/syscall", pid, tid))
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(b), "\n")
}

// look reads at most limit threads of the process.
func (p *process) look(ctx context.Context, limit int) (*look, error) {
	p.t.probeMu.Lock()
	view, err := p.view()
	p.t.probeMu.Unlock()
	if err != nil {
		return nil, err
	}
	l := &look{p: p, view: view}
	var tids []int
	held := map[int]bool{}
	if p.t.cmd.Glance {
		tids, err = tasks(p.pid)
	} else {
		err = p.t.tracer.Do(ctx, func() error {
			for tid, th := range p.threads {
				tids = append(tids, tid)
				held[tid] = th.stopped
			}
			return nil
		})
	}
	if err != nil {
		return nil, err
	}
	sorting.By(tids, func(a, b int) int { return event.CompareThreads(p.pid, a, b) })
	if over := len(tids) - max(limit, 0); over > 0 {
		l.skipped, tids = over, tids[:len(tids)-over]
	}
	memory := &stackMemory{mem: p.mem}
	u := unwind.New(memory, view.Modules, unwind.Options{Stub: view.Stub, MaxFrames: maxThreadFrames})
	var rest []*seen
	for _, tid := range tids {
		s := p.glanceAt(tid)
		if s == nil {
			continue
		}
		l.seen = append(l.seen, s)
		if held[tid] || s.thread.State != waits.Waiting || !l.walkBlocked(s, u, memory) {
			rest = append(rest, s)
		}
	}
	if p.t.cmd.Glance { // the others run
		return l, nil
	}
	return l, l.walkHalted(ctx, rest)
}

const (
	maxThreadFrames = 256      // of one stack that are kept; the middle goes
	stackBytes      = 64 << 10 // of a stack that are copied while its thread stands still
	blockedBytes    = 8 << 10  // of one whose thread waits: the rest does not change either
	haltWaits       = 10       // times haltWait that a thread may take that waits for a CPU
	haltBatch       = 16       // threads halted before other stops are handled
)

// glanceAt reads what a thread does, without stopping it. Nil: it is gone.
func (p *process) glanceAt(tid int) *seen {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/status", p.pid, tid))
	if err != nil {
		return nil
	}
	s := &seen{p: p, thread: &waits.Thread{PID: p.pid, TID: tid, Local: tid, Syscall: -1}}
	for line := range strings.Lines(string(b)) {
		key, v, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":\t")
		switch key {
		case "Name":
			s.thread.Name = v
		case "State":
			if v != "" {
				s.state = v[0]
			}
		case "NSpid": // the innermost namespace's is last
			s.thread.Local, _ = strconv.Atoi(v[strings.LastIndexByte(v, '\t')+1:])
		}
	}
	switch s.state {
	case 'Z', 'X':
		return nil
	case 'R':
		s.thread.State = waits.Running
	case 'T', 't':
		s.thread.State = waits.Stopped
	default:
		s.thread.State = waits.Waiting
		if !s.setCall(readCall(p.pid, tid)) {
			s.thread.State = waits.Running // it has just been woken
		}
	}
	return s
}

// setCall takes the line "nr arg… sp pc", or "-1 sp pc" of a thread that waits outside of system calls.
func (s *seen) setCall(line string) bool {
	f := strings.Fields(line)
	if len(f) < 3 {
		return false
	}
	var v [9]uint64
	for i, word := range f[1:min(len(f), 9)] {
		n, err := strconv.ParseUint(word, 0, 64)
		if err != nil {
			return false
		}
		v[i] = n
	}
	nr, err := strconv.ParseInt(f[0], 10, 64)
	if err != nil {
		return false
	}
	s.call = line
	s.thread.Syscall = nr
	if s.sp, s.pc = v[0], v[1]; len(f) == 9 {
		s.sp, s.pc = v[6], v[7]
		copy(s.thread.Args[:], v[:6])
	}
	return true
}

// stackMemory is a process's memory with a copy of one stack over it.
type stackMemory struct {
	mem  *ptrace.Mem
	lo   uint64
	copy []byte
}

func (m *stackMemory) Read(addr uint64, b []byte) error {
	if off := addr - m.lo; addr >= m.lo && off < uint64(len(m.copy)) && uint64(len(m.copy))-off >= uint64(len(b)) {
		copy(b, m.copy[off:])
		return nil
	}
	return m.mem.Read(addr, b)
}

// copyStack reads whole pages from the one that sp is in upwards, as far as they are there.
func (p *process) copyStack(sp uint64, buf []byte) (lo uint64, got []byte) {
	lo = sp &^ 4095
	for n := len(buf); n >= 4096; n /= 2 {
		if p.mem.Read(lo, buf[:n]) == nil {
			return lo, buf[:n]
		}
	}
	return lo, nil
}

// walkBlocked reads the stack of a thread that waits in the kernel, which says its stack and instruction pointer but no
// other register. False: it moved meanwhile, or its stack cannot be followed without them.
func (l *look) walkBlocked(s *seen, u *unwind.Unwinder, memory *stackMemory) bool {
	if cap(memory.copy) == 0 {
		memory.copy = make([]byte, blockedBytes)
	}
	memory.lo, memory.copy = l.p.copyStack(s.sp, memory.copy[:cap(memory.copy)])
	if readCall(l.p.pid, s.thread.TID) != s.call {
		s.thread.State, s.thread.Syscall = waits.Running, -1
		return false
	}
	var regs unwind.Regs
	regs.Set(regSP, s.sp)
	regs.Set(regPC, s.pc)
	s.take(u.Walk(regs), u)
	if s.whole() {
		return true
	}
	if s.state != 'D' && !ptrace.NotRestarted(s.callNumber()) && !l.p.t.cmd.Glance {
		return false
	}
	l.guessBase(s, memory, regs)
	return true // not to be stopped, come what may
}

// DWARF numbers of registers.
const regBP, regSP, regPC = 6, 7, 16

// take keeps a stack.
func (s *seen) take(stack unwind.Stack, u *unwind.Unwinder) {
	s.stack, s.by = stack, u
	t := s.thread
	t.Frames, t.Elided, t.Lack = t.Frames[:0], stack.Elided, ""
	for i := range stack.Frames {
		f := &stack.Frames[i]
		t.Frames = append(t.Frames, waits.Frame{Function: f.Function, File: f.File, Line: f.Line, Module: f.Module,
			Guessed: f.Trust == unwind.TrustScan})
	}
	if stack.End != unwind.EndOutermost {
		t.Lack = "the stack ends early: " + stack.Reason
	}
}

// whole reports that every frame of the stack is certain.
func (s *seen) whole() bool {
	for i := range s.stack.Frames {
		if f := &s.stack.Frames[i]; f.Trust != unwind.TrustCFI && f.Trust != unwind.TrustCall {
			return false
		}
	}
	return s.stack.End == unwind.EndOutermost
}

// maxBases bounds the words of a stack that are tried as a frame pointer.
const maxBases = 1024

// guessBase finds the stack of a thread that must not be stopped, by the nearest word on it that can be the saved frame
// pointer with which the unwind tables lead to the thread's first function.
func (l *look) guessBase(s *seen, memory *stackMemory, regs unwind.Regs) {
	tried := 0
	var b [16]byte
	for i := range uint64(maxBases) {
		at := (s.sp+7)&^7 + 8*i
		if memory.Read(at, b[:]) != nil {
			return
		}
		saved, ret := le64(b[:]), le64(b[8:])
		if (saved <= at || saved-at > 1<<20) && saved > 1 || !l.inCode(ret) {
			continue
		}
		if tried++; tried > 16 {
			return
		}
		regs.Set(regBP, at)
		u := unwind.New(memory, l.view.Modules, unwind.Options{Stub: l.view.Stub, MaxFrames: maxThreadFrames})
		if stack := u.Walk(regs); stack.End == unwind.EndOutermost {
			was := s.stack
			if s.take(stack, u); s.whole() {
				return
			}
			s.take(was, s.by)
		}
	}
}

func (l *look) inCode(a uint64) bool {
	for i := range l.view.Maps {
		if m := &l.view.Maps[i]; a >= m.Lo && a < m.Hi {
			return m.Exec
		}
	}
	return false
}

// haltedThread is what is read of a thread while it stands.
type haltedThread struct {
	s     *seen
	regs  ptrace.Regs
	lo    uint64
	stack []byte
	ok    bool
}

// walkHalted stops threads one after the other, for as long as it takes to copy registers and the top of the stack, and
// follows the copies.
func (l *look) walkHalted(ctx context.Context, rest []*seen) error {
	memory := &stackMemory{mem: l.p.mem}
	u := unwind.New(memory, l.view.Modules, unwind.Options{Stub: l.view.Stub, MaxFrames: maxThreadFrames})
	for batch := range slices.Chunk(rest, haltBatch) {
		got := make([]haltedThread, len(batch))
		buf := make([]byte, len(batch)*stackBytes)
		err := l.p.t.tracer.Do(ctx, func() error {
			for i, s := range batch {
				got[i] = l.p.readHalted(s, buf[i*stackBytes:(i+1)*stackBytes])
			}
			return nil
		})
		if err != nil {
			return err
		}
		for i := range got {
			h := &got[i]
			if !h.ok {
				if h.s.thread.Lack == "" && len(h.s.thread.Frames) == 0 {
					h.s.thread.Lack = "it could not be stopped to be read"
				}
				continue
			}
			memory.lo, memory.copy = h.lo, h.stack
			h.s.sp, h.s.pc = h.regs.Rsp, h.regs.Rip
			h.s.take(u.Walk(regsOf(&h.regs)), u)
		}
	}
	return nil
}

// readHalted stops a thread, unless it stands already, reads it and lets it run. Tracer thread only.
func (p *process) readHalted(s *seen, buf []byte) (h haltedThread) {
	h.s = s
	th := p.threads[s.thread.TID]
	if th == nil || th.tid != s.thread.TID {
		return h
	}
	// only what it waits for ends that: often a child, which may wait for us
	if !th.stopped && taskState(p.pid, th.tid) == 'D' {
		return h
	}
	resume, ok := p.haltSoon(th)
	if !ok {
		return h
	}
	defer resume()
	var err error
	if h.regs, err = ptrace.GetRegs(th.tid); err != nil {
		return h
	}
	h.lo, h.stack = p.copyStack(h.regs.Rsp, buf)
	h.ok = true
	p.hide(th)
	return h
}

// taskState is the state of a thread as the kernel has it, 0 unknown.
func taskState(pid, tid int) byte {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/stat", pid, tid))
	if err != nil {
		return 0
	}
	i := strings.LastIndexByte(string(b), ')')
	if i < 0 || i+2 >= len(b) {
		return 0
	}
	return b[i+2]
}

// haltSoon is halt for a thread that may be where nothing stops it: there it gives up. Tracer thread only.
func (p *process) haltSoon(th *thread) (resume func(), ok bool) {
	if th.stopped {
		return func() {}, true
	}
	if th.vforks || ptrace.Interrupt(th.tid) != nil {
		return nil, false
	}
	s, err := ptrace.WaitStopFor(th.tid, haltWait)
	// it waits for a CPU
	for n := 1; errors.Is(err, ptrace.ErrBusy) && n < haltWaits && taskState(p.pid, th.tid) != 'D'; n++ {
		s, err = ptrace.WaitStopFor(th.tid, haltWait)
	}
	if err == nil {
		s, err = ptrace.FaultFirst(s)
	}
	if err != nil {
		if s.Ended {
			p.t.tracer.Defer(s)
		}
		return nil, false
	}
	return p.halted(th, s)
}
