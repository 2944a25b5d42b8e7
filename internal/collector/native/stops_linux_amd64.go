package native

import (
	"encoding/json"
	"fmt"
	"syscall"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/ptrace"
	"github.com/strobe-debug/strobe/internal/ring"
	"golang.org/x/sys/unix"
)

// stopped handles every stop and end of the target's threads. Tracer thread only.
func (t *target) stopped(s ptrace.Stop) {
	defer func() { t.live.Store(t.alive()) }()
	if s.Ended {
		t.ended(s)
		return
	}
	th := t.threads[s.TID]
	if th == nil && s.Event == ptrace.EventExec {
		th = t.tookLead(s)
	}
	if th == nil {
		t.firstStop(s)
		return
	}
	th.stopped, th.deferred, th.listens = true, false, false
	th.stops.Add(1)
	again := th.again
	th.again = nil
	switch s.Event {
	case 0:
		if again != nil {
			th.madeAgain(again)
		}
		if s.Signal == unix.SIGTRAP && t.stepTrap(th) {
			return
		}
		t.signalStop(th, s)
	case ptrace.EventClone, ptrace.EventFork, ptrace.EventVfork:
		t.created(th, s)
	case ptrace.EventVforkDone:
		th.vforks = false
		t.resume(th, 0)
	case ptrace.EventExec:
		t.execed(th, s)
	case ptrace.EventExit:
		t.exiting(th)
	case ptrace.EventStop:
		if s.GroupStop() {
			t.groupStop(th)
			return
		}
		th.p.hide(th) // a halt that was given up comes late
		t.resume(th, 0)
	default:
		t.resume(th, 0)
	}
}

// alive counts the threads that are traced or announced, and the processes that were let go.
func (t *target) alive() int64 {
	return int64(len(t.threads) + len(t.waiting) + len(t.orphans) + len(t.letGone))
}

// execed: the process has a new image; all its other threads are gone.
func (t *target) execed(th *thread, s ptrace.Stop) {
	old := th.p
	old.threaded = len(old.threads) > 1
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
	t.note(p.pid, map[string]any{"what": "exec", "pid": p.pid, "command": commandOf(p.pid)})
	if t.stopping.Load() || t.setUpAtOnce(p) {
		t.resume(p.threads[th.tid], 0)
		return
	}
	t.setUpLater(p)
}

// exiting: one thread is about to end; its memory is still there.
func (t *target) exiting(th *thread) {
	p := th.p
	th.joins = nil
	switch {
	case p.host != nil:
		p.host.retireThread(th.tid)
	case len(p.threads) > 1 || p.awaited.Load() > 0: // with the last thread, all rings go
		p.retireThread(th.tid)
	}
	if t.exitsInHandler(th) {
		return
	}
	t.resume(th, 0)
}

// ended: the kernel reports the end of a thread or of a whole process.
func (t *target) ended(s ptrace.Stop) {
	th := t.threads[s.TID]
	t.forgetNew(s.TID)
	if p := t.letGone[s.TID]; p != nil && th == nil {
		delete(t.letGone, s.TID)
		t.endOf(p, s)
		return
	}
	if th == nil {
		return
	}
	p := th.p
	p.threaded = p.threaded || len(p.threads) > 1
	t.dropThread(s.TID)
	if s.TID != p.pid && !(p.leaderless && len(p.threads) == 0) {
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
	if p.host != nil {
		p.host.retireThread(p.pid)
		p.host.leave()
	}
	t.haunt(p)
	p.endTS = t.sink.Now()
	p.dead.Store(true) // last: the drain goroutine reads the rest when it sees this
	select {
	case t.drainKick <- nil:
	default:
	}
}

// note puts a process event on the timeline.
func (t *target) note(pid int, what map[string]any) {
	t.tellProcess(pid, what)
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
		if t.trapStop(th, p, &regs) || t.dataStop(th, p, &regs) {
			return
		}
	case unix.SIGSEGV, unix.SIGBUS:
		if p.fixFault(th.tid, &regs) {
			ptrace.SetRegs(th.tid, &regs)
			t.resume(th, 0)
			return
		}
		if s.Signal == unix.SIGSEGV && t.growStack(th, p, &regs) {
			return
		}
		p.faultsThere(th.tid, &regs)
	case unix.SIGFPE:
		p.faultsThere(th.tid, &regs)
	}
	if t.mayCrash(th, &regs, s.Signal) {
		return
	}
	if s.Signal == unix.SIGSEGV {
		p.disguiseOverflow(th.tid, &regs)
	}
	if p.inStub(regs.Rip) {
		t.deliverOutside(th, p, s.Signal)
		return
	}
	if t.deliverBehindWait(th, p, &regs, s.Signal) {
		return
	}
	p.hideIgnored(th, &regs, s.Signal)
	t.resume(th, s.Signal)
}

// trapStop sends a thread that met an int3 of ours to the stub. False: the trap is the target's own.
func (t *target) trapStop(th *thread, p *process, regs *ptrace.Regs) bool {
	info, err := ptrace.GetSiginfo(th.tid)
	if err != nil || info.Code() != ptrace.TrapKernel {
		return false
	}
	if t.outStop(th, p, regs) || t.probeStop(th, p, regs) || t.coverStop(th, p, regs) {
		return true
	}
	at := regs.Rip - 1
	p.trapMu.RLock()
	tr := p.traps[at]
	var to uint64
	var active, loader bool
	var throw throwKind
	var point *pointSite
	var step stepSite
	if tr != nil {
		to, active, loader, throw, point, step = tr.to, tr.active, tr.loader, tr.throw, tr.point, tr.step
	}
	p.trapMu.RUnlock()
	if tr == nil {
		return false
	}
	if loader {
		regs.Rip = at
		ptrace.SetRegs(th.tid, regs)
		t.loaderStop(th, p)
		return true
	}
	if point != nil && active {
		t.pointHit(th, p, point, regs)
		return true
	}
	if active && throw != throwNone {
		regs.Rip = at
		if throw != throwPanic {
			if t.throwHit(th, p, regs, throw, t.exceptionStop(th, p, regs, throw), to) {
				return true
			}
		} else if t.panicStop(th, p, regs, to) {
			return true
		}
	}
	if active && step != stepNone {
		regs.Rip = to
		if ptrace.SetRegs(th.tid, regs); t.stepSiteMet(th, p, step, regs) {
			return true
		}
	}
	if !active { // taken away just now: the original instruction stands there again
		to = at
		p.clearBreak(at)
	}
	regs.Rip = to
	ptrace.SetRegs(th.tid, regs)
	t.resume(th, 0)
	return true
}

// fixFault does what the agent needs where its instruction faulted: its read of a bad pointer ends, and a reading of
// the time stamp counter, in a thread that is not allowed it, is made here. False: the fault is not the agent's.
func (p *process) fixFault(tid int, regs *ptrace.Regs) bool {
	off := regs.Rip - p.regionAddr
	if p.regionAddr == 0 || off >= ring.CodeBytes {
		return false
	}
	if info, err := ptrace.GetSiginfo(tid); err != nil || info.Code() <= 0 { // somebody sent it
		return false
	}
	switch {
	case off >= p.blob.FaultLo && off < p.blob.FaultHi:
		regs.Rip = p.regionAddr + p.blob.FaultFix
	case off >= p.blob.FastLo && off < p.blob.FastHi:
		regs.Rip = p.regionAddr + p.blob.FastFix
	case off >= p.blob.CopyLo && off < p.blob.CopyHi:
		regs.Rip = p.regionAddr + p.blob.CopyHi
	case p.readsTicks(regs.Rip):
		ticks := p.ticksFor(tid, regs)
		regs.Rax, regs.Rdx = ticks&(1<<32-1), ticks>>32
		regs.Rip += uint64(len(rdtsc))
	default:
		return false
	}
	return true
}

var rdtsc = []byte{0x0f, 0x31}

// ticksFor is what a thread of the process reads that may not read the time stamp counter itself. Under strict seccomp
// it may not make system calls either: it gets its ring from here, and where the agent would wait it seems to have
// waited long enough.
func (p *process) ticksFor(tid int, regs *ptrace.Regs) uint64 {
	p.noTicks.Do(func() {
		p.t.warn(fmt.Sprintf("a thread of process %d may not read the time stamp counter (PR_SET_TSC, or strict seccomp): "+
			"its traced calls are stopped "+
			"for their times, some 20 µs each", p.pid))
	})
	if mode, _ := seccompOf(fmt.Sprint(tid)); mode == strictSeccomp {
		p.withRegion(func(r *ring.Region) {
			if !r.HasRing(uint32(tid)) {
				r.GiveRing(uint32(tid), max(regs.Fs_base, 2))
			}
		})
		if regs.Rip-p.regionAddr >= p.blob.CriticalHi {
			return ^uint64(0) >> 1
		}
	}
	return p.t.rt.clock.Now()
}

// strictSeccomp is SECCOMP_MODE_STRICT as a status says it.
const strictSeccomp = "1"

// readsTicks reports whether an rdtsc stands at pc.
func (p *process) readsTicks(pc uint64) bool {
	var b [2]byte
	return p.mem.Read(pc, b[:]) == nil && string(b[:]) == string(rdtsc)
}

func isFault(sig syscall.Signal) bool {
	switch sig {
	case unix.SIGSEGV, unix.SIGBUS, unix.SIGFPE, unix.SIGILL, unix.SIGTRAP:
		return true
	}
	return false
}
