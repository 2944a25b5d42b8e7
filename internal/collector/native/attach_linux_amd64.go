package native

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/strobe-debug/strobe/internal/ptrace"
	"golang.org/x/sys/unix"
)

// attachWait bounds how long an attach waits for a thread in which system calls can be made.
const attachWait = 1500 * time.Millisecond

// attach takes over a process that runs: all its threads are seized, one of them maps the agent, and the hooks are set
// as they are in a program that was launched. None of the others is stopped before hooks are written.
func (t *target) attach(ctx context.Context) error {
	t.pid = t.cmd.PID
	var p *process
	err := t.tracer.Do(ctx, func() (err error) {
		p, err = t.seize()
		return err
	})
	if err != nil {
		return err
	}
	t.probeMu.Lock()
	t.recordSwitches()
	t.probeMu.Unlock()
	go t.drainLoop()
	go t.mover.loop()
	go t.beatLoop()
	if execing(p.pid) {
		err = p.awaitExec(ctx)
	} else if err = t.setUpAttached(ctx, p); err != nil && p.imageGone() {
		if late := p.awaitExec(ctx); late != nil { // it came amid that
			t.log.Warn("attach amid an exec", "pid", p.pid, "err", late)
		}
	}
	if next := t.processOf(p.pid); next != nil && next != p { // an exec's image is set up by whoever meets its stop
		p, err = next, nil
	}
	if err != nil {
		t.Stop(context.WithoutCancel(ctx), false)
		return err
	}
	t.awaitReady(ctx, p)
	if t.probeMu.Lock(); len(t.probes) > 0 {
		t.spawn(func() { t.mover.warm(p) })
	}
	t.probeMu.Unlock()
	return nil
}

// imageGone reports that the memory of the image is given back: by an exec, whose stop has not come yet, or by its end.
func (p *process) imageGone() bool {
	err := p.mem.Read(0, make([]byte, 1)) // nothing is there: of a living image that is another error
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// awaitExec waits for the stop at the end of an exec that the process was amid when it was seized.
func (p *process) awaitExec(ctx context.Context) error {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for started, wait := time.Now(), p.patience(); !p.dead.Load(); {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-p.t.exited:
			return ptrace.ErrGone
		case <-tick.C:
		}
		if time.Since(started) > attachWait && !wait.more() {
			return fmt.Errorf("it is amid an exec that does not come to its end")
		}
	}
	return nil
}

// seize makes all threads of the process ours. Tracer thread only.
func (t *target) seize() (*process, error) {
	tids, err := t.tracer.Attach(t.pid)
	if err != nil {
		return nil, err
	}
	p, err := newProcess(t, t.pid)
	if err != nil {
		return nil, err
	}
	for _, tid := range tids {
		t.addThread(p, tid)
	}
	p.leaderless = p.threads[t.pid] == nil
	t.live.Store(int64(len(tids)))
	t.addProcess(p)
	for _, tid := range tids {
		if nr, _, running := blockedPC(p.pid, tid); !running && makesThreads(nr) {
			t.seizeVisitors(p, tid)
		}
	}
	return p, nil
}

// setUpAttached prepares a running image: agent, symbols, loader, hooks. Where its dynamic linker is at work just now,
// hooks are set when that says that it is done.
func (t *target) setUpAttached(ctx context.Context, p *process) (err error) {
	t.probeMu.Lock()
	defer t.probeMu.Unlock()
	defer func() {
		if err != nil {
			p.setReady()
		}
	}()
	mods, err := p.scan()
	if err != nil {
		return err
	}
	all := false // threads are ours
	if m := linker(mods); m != nil && p.findLoader(m) && !p.settled() {
		if err := p.seizeBorn(ctx); err != nil {
			return err
		}
		all = true
		waits := false
		err := t.tracer.Do(ctx, func() error {
			defer p.haltRunning()()
			if err := p.setBreak(); err != nil {
				return err
			}
			if waits = !p.settled(); waits {
				return nil
			}
			return p.dropBreak()
		})
		if err != nil || waits {
			return err
		}
	}
	if err := p.untilEquipped(ctx); err != nil {
		return err
	}
	if !all { // with the agent there is less that a stop may not come upon
		if err := p.seizeBorn(ctx); err != nil {
			return err
		}
	}
	if p.unfit.Load() != nil {
		p.setReady()
		return nil
	}
	if err := t.ready(ctx, p, mods); err != nil {
		return err
	}
	if _, err := p.scan(); err != nil { // what was loaded before the loader's hook stood
		return err
	}
	return t.applyProbes(ctx, p)
}

// untilEquipped gives the process the agent, and tries again while every thread waits where it cannot be stopped.
// Without it, where the kernel does not allow it there, what does not need it goes on. probeMu is held.
func (p *process) untilEquipped(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, busyMost+attachWait)
	defer cancel()
	for started, wait := time.Now(), p.patience(); ; {
		err := p.equip(ctx)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, errAllBlocked):
			if p.unfit.Load() == nil || p.endedBefore(err) {
				return err
			}
			p.t.warn(fmt.Sprintf("neither calls nor output of process %d can be recorded: %v", p.pid, err))
			return nil
		case ctx.Err() != nil || p.endedBefore(err) || time.Since(started) > attachWait && !wait.more():
			return err
		}
		p.unfit.Store(nil)
	}
}

func isLoader(path string) bool {
	base := filepath.Base(path)
	return strings.HasPrefix(base, "ld-") || strings.HasPrefix(base, "ld.") || strings.HasPrefix(base, "ld64")
}

// execing reports a process amid an exec: its old image is gone, and the new one not yet complete. The kernel writes
// the auxiliary vector once everything is mapped.
func execing(pid int) bool {
	f, err := os.Open(fmt.Sprintf("/proc/%d/auxv", pid))
	if err != nil {
		return false
	}
	defer f.Close()
	var first [8]byte
	n, _ := io.ReadFull(f, first[:])
	return n == len(first) && first == [8]byte{}
}

// findLoader learns where a running process's dynamic linker reports changes of its list.
func (p *process) findLoader(m *loaded) bool {
	mod, err := p.open(m)
	if err != nil {
		return false
	}
	brk, _, ok := mod.Symbol("_dl_debug_state")
	if !ok {
		return false
	}
	l := loader{brk: uint64(brk) + m.bias, path: m.path}
	if rd, _, ok := mod.Symbol("_r_debug"); ok {
		l.rdebug = uint64(rd) + m.bias
	}
	if !p.readBreak(&l, mod, brk) {
		return false
	}
	p.loader = l
	return true
}

// settled reports that the linker has loaded and relocated what the program needs, and changes nothing just now. Where
// its state is not known, it says so, too. struct r_debug: version at 0, list at 8, state at 24.
func (p *process) settled() bool {
	if p.loader.rdebug == 0 {
		return true
	}
	var b [28]byte
	if p.mem.Read(p.loader.rdebug, b[:]) != nil {
		return true
	}
	le := binary.LittleEndian
	return le.Uint32(b[:]) != 0 && le.Uint64(b[8:]) != 0 && le.Uint32(b[24:]) == 0
}

// awaitsChild reports a thread that waits for its vfork child, as one does that was about to when it was told to stop.
func (p *process) awaitsChild(th *thread) bool {
	nr, _, running := blockedPC(th.p.pid, th.tid)
	return !running && (nr == unix.SYS_VFORK || nr == unix.SYS_CLONE || nr == unix.SYS_CLONE3) && !p.copying(th, nr) &&
		taskState(th.p.pid, th.tid) == 'D'
}

// cannotStop reports a blocked thread that would not stop soon: one that waits for its vfork child, and one in a sleep
// that only what it waits for can end.
func cannotStop(tid int, nr int64) bool {
	switch nr {
	case unix.SYS_VFORK, unix.SYS_CLONE, unix.SYS_CLONE3:
		return true
	}
	state := ptrace.StatusField(tid, "State")
	return state != "" && state[0] == 'D'
}

// groupStop leaves a thread in the stop of its whole process: SIGCONT may resume it at any moment. One that we used for
// a system call meanwhile has left that stop as far as the kernel's tracing goes: it is sent back. Tracer thread only.
func (t *target) groupStop(th *thread) {
	th.stopped = false
	if ptrace.Listen(th.tid) == nil {
		th.listens = true
		return
	}
	if ptrace.Interrupt(th.tid) == nil {
		ptrace.Cont(th.tid, 0)
	}
}

// tookLead finds the thread that made an exec in a process whose first thread, not one of ours, had ended: it has that
// one's number now.
func (t *target) tookLead(s ptrace.Stop) *thread {
	old := t.threads[int(s.Msg)]
	if old == nil || old.p.pid != s.TID {
		return nil
	}
	t.dropThread(old.tid)
	return t.addThread(old.p, s.TID)
}

// untracedWait bounds how long a detach waits for the end of the thread that traced.
const untracedWait = time.Second

// awaitUntraced waits until the kernel has detached processes whose tracer ends: then others may attach.
func awaitUntraced(pids []int) {
	tick := time.NewTicker(200 * time.Microsecond)
	defer tick.Stop()
	for started := time.Now(); len(pids) > 0 && time.Since(started) < untracedWait; {
		if !slices.ContainsFunc(listThreads(pids[0]), func(tid int) bool { return ptrace.TracerOf(tid) != 0 }) {
			pids = pids[1:]
			continue
		}
		<-tick.C
	}
}

// reapLater collects the first process's exit status once it ends, so that it leaves no zombie: a program that we
// launched is our child still. It may be attached to meanwhile: a wait for the child would take that session's stops,
// so only its end is waited for.
func (t *target) reapLater() {
	if t.cmd.PID != 0 {
		return
	}
	fd, err := unix.PidfdOpen(t.pid, 0)
	if err != nil {
		return
	}
	go func() {
		defer unix.Close(fd)
		for {
			_, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1)
			if err != unix.EINTR {
				break
			}
		}
		awaitUntraced([]int{t.pid}) // who traces it has its exit status first
		for {
			if _, err := unix.Wait4(t.pid, nil, unix.WNOHANG, nil); err != unix.EINTR {
				return
			}
		}
	}()
}
