package native

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"syscall"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/ptrace"
	"golang.org/x/sys/unix"
)

// stopped handles every stop and end of the target's threads. Tracer thread only.
func (t *target) stopped(s ptrace.Stop) {
	defer func() { t.live.Store(int64(len(t.threads) + len(t.waiting) + len(t.orphans) + len(t.letGone))) }()
	if s.Ended {
		t.ended(s)
		return
	}
	th := t.threads[s.TID]
	if th == nil {
		t.firstStop(s)
		return
	}
	th.stopped = true
	again := th.again
	th.again = 0
	switch s.Event {
	case 0:
		if again != 0 {
			th.interrupted(again)
		}
		t.signalStop(th, s)
	case ptrace.EventClone, ptrace.EventFork, ptrace.EventVfork:
		t.created(th, s)
	case ptrace.EventExec:
		t.execed(th, s)
	case ptrace.EventExit:
		t.exiting(th)
	case ptrace.EventStop:
		if s.GroupStop() {
			th.stopped = false // SIGCONT may resume it at any moment
			ptrace.Listen(th.tid)
			return
		}
		t.resume(th, 0)
	default:
		t.resume(th, 0)
	}
}

// interrupted gives a thread the EINTR that was hidden from it, when a signal came before it made its system call again.
func (th *thread) interrupted(again uint64) {
	if regs, err := ptrace.GetRegs(th.tid); err == nil && regs.Rip == again {
		regs.Rip += uint64(len(syscallInsn))
		regs.Rax = ^uint64(unix.EINTR) + 1
		ptrace.SetRegs(th.tid, &regs)
	}
}

// firstStop meets a new thread, before or after its creator's stop.
func (t *target) firstStop(s ptrace.Stop) {
	if from, ok := t.waiting[s.TID]; ok {
		delete(t.waiting, s.TID)
		t.adopt(s, from)
		return
	}
	t.orphans[s.TID] = s
}

// created learns of a new thread or process from its creator's stop.
func (t *target) created(th *thread, s ptrace.Stop) {
	if s.Msg != 0 {
		child, from := int(s.Msg), parentage{event: s.Event, parent: th.p}
		if first, ok := t.orphans[child]; ok {
			delete(t.orphans, child)
			t.adopt(first, from)
		} else {
			t.waiting[child] = from
		}
	}
	t.resume(th, 0)
}

// adopt takes a new thread in and lets it run.
func (t *target) adopt(s ptrace.Stop, from parentage) {
	if from.event == ptrace.EventClone && tgid(s.TID) == from.parent.pid {
		t.resume(t.addThread(from.parent, s.TID), 0)
		return
	}
	p, err := newProcess(t, s.TID)
	if err != nil {
		ptrace.Detach(s.TID, 0)
		return
	}
	th := t.addThread(p, s.TID)
	th.stopped = true
	root := from.parent
	if root.shares != nil {
		root = root.shares
	}
	what := "fork"
	if from.event == ptrace.EventVfork || (from.event == ptrace.EventClone && sharesMemory(s.TID, root.pid)) {
		p.shares, what = root, "vfork"
	} else if root.region != nil {
		if err := p.adoptFork(root, s.TID); err != nil {
			t.log.Warn("give a forked process rings of its own", "pid", s.TID, "err", err)
			t.warn(fmt.Sprintf("the calls of process %d, forked by %d, are not recorded: %v", s.TID, root.pid, err))
		}
	}
	t.addProcess(p)
	t.note(p.pid, map[string]any{"what": what, "pid": p.pid, "parentPid": from.parent.pid})
	t.resume(th, 0)
}

// execed: the process has a new image; all its other threads are gone.
func (t *target) execed(th *thread, s ptrace.Stop) {
	old := th.p
	if s.Msg != 0 && int(s.Msg) != th.tid {
		t.dropThread(int(s.Msg))
	}
	for tid := range old.threads {
		t.dropThread(tid)
	}
	p, err := t.adoptImage(old.pid, th.tid)
	t.retire(old)
	if p == nil {
		t.log.Warn("follow exec", "pid", old.pid, "err", err)
		ptrace.Detach(th.tid, 0)
		return
	}
	if err != nil {
		t.warn(fmt.Sprintf("process %d runs untraced since its exec: %v", p.pid, err))
	}
	exe, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", p.pid))
	t.note(p.pid, map[string]any{"what": "exec", "pid": p.pid, "command": exe})
	if p.region == nil || t.stopping.Load() {
		t.resume(p.threads[th.tid], 0)
		return
	}
	t.setUpLater(p)
}

// exiting: one thread is about to end; its memory is still there.
func (t *target) exiting(th *thread) {
	p := th.p
	if p.region != nil && p.shares == nil {
		p.region.RetireThread(uint32(th.tid))
	}
	t.resume(th, 0)
}

// ended: the kernel reports the end of a thread or of a whole process.
func (t *target) ended(s ptrace.Stop) {
	th := t.threads[s.TID]
	delete(t.waiting, s.TID)
	delete(t.orphans, s.TID)
	if p := t.letGone[s.TID]; p != nil && th == nil {
		delete(t.letGone, s.TID)
		t.endOf(p, s)
		return
	}
	if th == nil {
		return
	}
	p := th.p
	t.dropThread(s.TID)
	if s.TID != p.pid {
		return
	}
	for tid := range p.threads {
		t.dropThread(tid)
	}
	t.endOf(p, s)
}

// endOf records how a process ended.
func (t *target) endOf(p *process, s ptrace.Stop) {
	info := exitInfo(s.Status)
	what := map[string]any{"what": "exit", "pid": p.pid}
	if info.Signal != "" {
		what["signal"] = info.Signal
	} else {
		what["exitCode"] = info.Code
	}
	p.exit, p.exitNote, p.ended = info, what, true
	t.retire(p)
}

// retire hands an ended image to the drain goroutine for its last records.
func (t *target) retire(p *process) {
	p.endTS = t.sink.Now()
	p.dead.Store(true) // last: the drain goroutine reads the rest when it sees this
	select {
	case t.drainKick <- nil:
	default:
	}
}

// note puts a process event on the timeline.
func (t *target) note(pid int, what map[string]any) {
	b, err := json.Marshal(what)
	if err != nil {
		return
	}
	th := t.sink.Thread(event.Thread{PID: int32(pid), TID: int32(pid), Name: threadName(pid, pid)})
	t.sink.Events([]event.Event{{TS: t.sink.Now(), Kind: event.Process, Thread: th, Payload: b}})
}

func exitInfo(ws unix.WaitStatus) collector.ExitInfo {
	if ws.Signaled() {
		return collector.ExitInfo{Signal: unix.SignalName(ws.Signal())}
	}
	return collector.ExitInfo{Code: ws.ExitStatus()}
}

// signalStop: a signal is about to be delivered. Traps of our own are handled here; everything else reaches the target.
func (t *target) signalStop(th *thread, s ptrace.Stop) {
	p := th.p
	if p.shares != nil {
		p = p.shares
	}
	regs, err := ptrace.GetRegs(th.tid)
	if err != nil {
		return
	}
	switch s.Signal {
	case unix.SIGTRAP:
		if t.trapStop(th, p, &regs) {
			return
		}
	case unix.SIGSEGV, unix.SIGBUS:
		if p.fixFault(&regs) {
			ptrace.SetRegs(th.tid, &regs)
			t.resume(th, 0)
			return
		}
		if s.Signal == unix.SIGSEGV && t.growStack(th, p, &regs) {
			return
		}
	}
	if p.region != nil && p.inStub(regs.Rip) {
		t.deliverOutside(th, p, s.Signal)
		return
	}
	t.resume(th, s.Signal)
}

// trapStop sends a thread that met an int3 of ours to the stub. False: the trap is the target's own.
func (t *target) trapStop(th *thread, p *process, regs *ptrace.Regs) bool {
	info, err := ptrace.GetSiginfo(th.tid)
	if err != nil || info.Code() != ptrace.TrapKernel {
		return false
	}
	at := regs.Rip - 1
	p.trapMu.RLock()
	tr := p.traps[at]
	var to uint64
	var active, loader bool
	if tr != nil {
		to, active, loader = tr.to, tr.active, tr.loader
	}
	p.trapMu.RUnlock()
	if tr == nil {
		return false
	}
	if loader {
		regs.Rip = at
		ptrace.SetRegs(th.tid, regs)
		t.loaderReady(th, p)
		return true
	}
	if !active { // taken away just now: the original instruction stands there again
		to = at
	}
	regs.Rip = to
	ptrace.SetRegs(th.tid, regs)
	t.resume(th, 0)
	return true
}

// fixFault ends the agent's read of a bad pointer.
func (p *process) fixFault(regs *ptrace.Regs) bool {
	if p.region == nil {
		return false
	}
	switch off := regs.Rip - p.regionAddr; {
	case off >= p.blob.FaultLo && off < p.blob.FaultHi:
		regs.Rip = p.regionAddr + p.blob.FaultFix
	case off >= p.blob.CopyLo && off < p.blob.CopyHi:
		regs.Rip = p.regionAddr + p.blob.CopyHi
	default:
		return false
	}
	return true
}

const trapFlag = 1 << 8

// maxSteps bounds how far a thread is stepped to leave a stub.
const maxSteps = 4096

// deliverOutside delivers a signal once the thread has left the stub or the agent: a handler must not meet a
// half-written record, and an unwinder must not meet a frame that the static unwind entry does not describe.
func (t *target) deliverOutside(th *thread, p *process, sig syscall.Signal) {
	info, err := ptrace.GetSiginfo(th.tid)
	if err != nil {
		return
	}
	if isFault(sig) && info.Code() > 0 { // raised by the very instruction: it must be delivered here
		t.resume(th, sig)
		return
	}
	mask, err := ptrace.HoldSignals(th.tid)
	if err != nil {
		return
	}
	regs, err := ptrace.GetRegs(th.tid)
	if err != nil {
		return
	}
	for range maxSteps {
		at := regs.Rip
		pushes := p.pushesFlags(at)
		if ptrace.Step(th.tid, 0) != nil {
			return
		}
		s, err := ptrace.WaitStop(th.tid)
		if err != nil {
			if s.Ended {
				t.tracer.Defer(s)
			}
			return
		}
		if regs, err = ptrace.GetRegs(th.tid); err != nil {
			return
		}
		if pushes && regs.Rip == at+1 {
			p.clearPushedTrap(regs.Rsp)
		}
		if regs.Eflags&trapFlag != 0 { // the kernel hides its own; this one came from a popfq, which it takes for the program's
			regs.Eflags &^= trapFlag
			ptrace.SetRegs(th.tid, &regs)
		}
		if s.Event == 0 && isFault(s.Signal) && s.Signal != unix.SIGTRAP && p.fixFault(&regs) {
			ptrace.SetRegs(th.tid, &regs)
			continue
		}
		if s.Event != 0 || s.Signal != unix.SIGTRAP {
			ptrace.SetSigMask(th.tid, mask)
			unix.Tgkill(th.p.pid, th.tid, sig) // its turn comes again
			t.stopped(s)
			return
		}
		if !p.inStub(regs.Rip) {
			break
		}
	}
	ptrace.SetSigMask(th.tid, mask)
	ptrace.SetSiginfo(th.tid, &info)
	t.resume(th, sig)
}

// pushesFlags reports whether a pushfq stands at pc.
func (p *process) pushesFlags(pc uint64) bool {
	var b [1]byte
	return p.mem.Read(pc, b[:]) == nil && b[0] == 0x9c
}

// clearPushedTrap takes the trap flag, which is set while we step, out of flags that a pushfq saved: a later popfq would set
// it in the program, and the next instruction would raise SIGTRAP.
func (p *process) clearPushedTrap(sp uint64) {
	var b [2]byte
	if p.mem.Read(sp, b[:]) == nil {
		b[1] &^= 1
		p.mem.Write(sp, b[:])
	}
}

func isFault(sig syscall.Signal) bool {
	switch sig {
	case unix.SIGSEGV, unix.SIGBUS, unix.SIGFPE, unix.SIGILL, unix.SIGTRAP:
		return true
	}
	return false
}

// tgid returns the process that a thread belongs to.
func tgid(tid int) int {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", tid))
	if err != nil {
		return 0
	}
	for _, line := range strings.Split(string(b), "\n") {
		if v, ok := strings.CutPrefix(line, "Tgid:"); ok {
			n := 0
			fmt.Sscan(v, &n)
			return n
		}
	}
	return 0
}

// kcmpVM asks the kernel whether two processes share their memory.
const kcmpVM = 1

func sharesMemory(a, b int) bool {
	r, _, errno := syscall.Syscall6(unix.SYS_KCMP, uintptr(a), uintptr(b), kcmpVM, 0, 0, 0)
	return errno == 0 && r == 0
}

// inherit copies what a forked child inherits of its parent's hooks.
func (p *process) inherit(from *process) {
	from.mu.Lock()
	defer from.mu.Unlock()
	p.nextOp, p.walks = from.nextOp, from.walks
	p.budget.Store(from.budget.Load())
	for _, a := range from.arenas {
		c := *a
		p.arenas = append(p.arenas, &c)
	}
	p.modules = append([]*loaded{}, from.modules...)
	list := make([]*hooked, len(*from.hooks.Load()))
	for i, h := range *from.hooks.Load() {
		if h == nil {
			continue
		}
		c := &hooked{id: h.id, fn: h.fn, own: h.own}
		for _, s := range h.sites {
			sc := *s
			c.sites = append(c.sites, &sc)
		}
		list[i] = c
	}
	for k, h := range from.byAddr {
		p.byAddr[k] = list[h.id]
	}
	for k := range from.unwindID {
		p.unwindID[k] = true
	}
	p.hooks.Store(&list)
}
