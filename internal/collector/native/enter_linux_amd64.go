package native

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/ptrace"
	"golang.org/x/sys/unix"
)

var _ collector.Injector = (*target)(nil)

// Running implements collector.Injector.
func (t *target) Running(pid int) (collector.Image, error) {
	alive := livingThread(pid)
	path, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", alive))
	if err != nil {
		return collector.Image{}, err
	}
	img := collector.Image{PID: pid, Path: strings.TrimSuffix(path, deletedMark), Args: zeroSeparated(alive, "cmdline"),
		Env: func() []string { return zeroSeparated(alive, "environ") }, Files: []string{}}
	maps, err := readMaps(pid)
	if err != nil {
		return img, err
	}
	for _, m := range mapped(maps) {
		img.Files = append(img.Files, m.path)
	}
	return img, nil
}

const (
	// enterWait bounds how long Inject looks for a thread in which a function can be called: a program that does nothing
	// but take and give memory is at such a place most of the time.
	enterWait = 3 * time.Second
	enterTry  = 2 * time.Millisecond
	// callWait bounds how long the call may take: it makes a thread, and on a busy machine waits for a CPU.
	callWait = 20 * time.Second
	// waitingWait is how long a thread is sought that waits in a system call, where the script would have one.
	waitingWait = 100 * time.Millisecond
	// untilWait bounds how long a thread stands still for the script, whose file is looked for so often; untilMost does
	// where the script's own thread waits for nothing but a CPU.
	untilWait  = 100 * time.Millisecond
	untilMost  = 2 * time.Second
	untilEvery = time.Millisecond
)

// Inject implements collector.Injector.
//
// A thread of the process is stopped where it may call any function (see callable), makes that one call on a stack of
// ours, and goes on with all its registers as they were. What is to be done is done by the thread that the call starts:
// it waits for locks as any other thread does, and nobody waits for it.
func (t *target) Inject(ctx context.Context, pid int, s collector.Script) error {
	p := t.processOf(pid)
	if p == nil {
		return fault.New(fault.ProcessExited, "Find its new number with pgrep.", "process %d has ended", pid)
	}
	in, err := t.newInjection(p, &s)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, enterWait+callWait)
	defer cancel()
	tick := time.NewTicker(enterTry)
	defer tick.Stop()
	for started, wait := time.Now(), p.patience(); ; {
		in.anywhere = s.Until == "" || time.Since(started) > waitingWait
		err := t.tracer.Do(ctx, in.start)
		if err == nil {
			break
		}
		in.lenient = time.Since(started) > enterWait/2
		if !errors.Is(err, errNoPlace) && !errors.Is(err, ptrace.ErrGone) || p.dead.Load() {
			return in.explain(err)
		}
		if time.Since(started) > enterWait && !wait.more() {
			return in.explain(err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	err = in.await(ctx)
	in.letGo(ctx)
	return err
}

// letGo has the thread that stands still go on.
func (in *injection) letGo(ctx context.Context) {
	if in.script.Until == "" || !in.waits {
		return
	}
	tick := time.NewTicker(untilEvery)
	defer tick.Stop()
	for began := time.Now(); ctx.Err() == nil && !in.p.dead.Load(); <-tick.C {
		if _, err := os.Stat(in.script.Until); err == nil {
			break
		}
		if spent := time.Since(began); spent > untilMost || spent > untilWait && !in.wantsCPU() {
			break
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callWait)
	defer cancel()
	err := in.t.tracer.Do(ctx, func() error {
		if in.holds && in.th.stopped {
			in.t.resume(in.th, 0) //nolint:errcheck // it has ended
		}
		in.holds, in.left = false, true
		return nil
	})
	if err != nil && !in.p.endedBefore(err) {
		in.t.log.Warn("let a thread go on", "pid", in.p.pid, "thread", in.th.tid, "err", err)
	}
}

// wantsCPU reports whether the thread that the call has started waits for a CPU.
func (in *injection) wantsCPU() bool {
	var child int
	err := in.t.tracer.Do(context.Background(), func() error { child = in.child; return nil })
	return err == nil && child != 0 && taskState(in.p.pid, child) == 'R'
}

// injection is one call in a thread of the process. Tracer thread only, but for done.
type injection struct {
	t       *target
	p       *process
	script  *collector.Script
	find    func(string) (uint64, bool)
	errno   uint64
	lenient bool // long enough nothing but traces of a handler kept a thread from it

	anywhere bool // the thread need not wait in a system call
	waits    bool // it does
	holds    bool // it stands still, with its registers as they were
	left     bool // nobody has it go on any more

	th     *thread
	r      *remote
	x      []byte // the thread's other registers
	e      *entry
	at     uint64
	child  int
	done   chan error // has room for the one answer
	closed bool
}

func (t *target) newInjection(p *process, s *collector.Script) (*injection, error) {
	t.probeMu.Lock()
	defer t.probeMu.Unlock()
	in := &injection{t: t, p: p, script: s, done: make(chan error, 1)}
	if err := p.findTools(); err != nil {
		return nil, in.explain(err)
	}
	mods, err := p.scan()
	if err != nil {
		return nil, in.explain(err)
	}
	var owner *loaded
	for i, m := range mods {
		if i > 0 && !strings.Contains(filepath.Base(m.path), s.Library) {
			continue
		}
		mod, err := p.open(m)
		if err != nil {
			return nil, in.explain(err)
		}
		if a, _, ok := mod.Symbol(s.Start); ok && a != 0 {
			owner = m
			in.find = func(name string) (uint64, bool) {
				a, _, ok := mod.Symbol(name)
				return uint64(a) + m.bias, ok && a != 0
			}
			break
		}
	}
	if owner == nil {
		return nil, in.explain(fmt.Errorf("no file of it says where %s is: "+
			"its symbols are stripped, or it is linked so that it exports none", s.Start))
	}
	for _, m := range mods {
		if !isLibc(m, false) || strings.HasPrefix(filepath.Base(m.path), "libpthread") {
			continue
		}
		if strings.Contains(filepath.Base(m.path), "musl") {
			return nil, in.explain(errors.New("its C library is musl, and only glibc has been tried"))
		}
		mod, err := p.open(m)
		if err != nil {
			return nil, in.explain(err)
		}
		if a, _, ok := mod.Symbol("__errno_location"); ok {
			in.errno = uint64(a) + m.bias
		}
	}
	if in.errno == 0 {
		return nil, in.explain(errors.New("it has no C library of its own in a file, and only glibc has been tried"))
	}
	if _, err := newEntry(s, in.find, in.errno, 0); err != nil { // before anything stands
		return nil, in.explain(err)
	}
	return in, nil
}

// explain makes a fault of what kept us out.
func (in *injection) explain(err error) error {
	if f := (*fault.Error)(nil); errors.As(err, &f) {
		return err
	}
	pid := in.p.pid
	switch {
	case errors.Is(err, errNoPlace):
		return fault.New(fault.Unsupported, "Call again when it does something else, or start it with debug_launch command.",
			"no thread of process %d came to a place within %v where a function can be called in it; %s",
			pid, enterWait, threadStates(pid))
	case errors.Is(err, ptrace.ErrGone), in.p.dead.Load():
		return fault.New(fault.AttachFailed, "Find its new number with pgrep.",
			"process %d ended while it was attached to", pid)
	}
	return fault.New(fault.Unsupported, "Start the program with debug_launch command.",
		"no agent can be brought into process %d: %w", pid, err)
}

// start stops a thread where it can make the call, and lets it run into that.
func (in *injection) start() (err error) {
	p := in.p
	if first := p.threads[p.pid]; first != nil && first.listens || taskState(p.pid, p.pid) == 'T' {
		return fault.New(fault.AttachFailed, fmt.Sprintf("Let it go on (kill -CONT %d) and call again.", p.pid),
			"process %d is stopped by a signal", p.pid)
	}
	th, resume, err := in.haltCallable()
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			resume()
		}
	}()
	x, err := ptrace.GetXState(th.tid)
	if err != nil {
		return fmt.Errorf("read vector registers of thread %d: %w", th.tid, err)
	}
	r, err := begin(p.t.tracer, th.tid, p.gadget)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = r.done() // err says more
			p.hide(th)
		}
	}()
	e, err := newEntry(in.script, in.find, in.errno, 0)
	if err != nil {
		return err
	}
	at, err := r.mmap(0, e.size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS, -1)
	if err != nil {
		return fmt.Errorf("map %d KiB in process %d: %w", e.size>>10, p.pid, err)
	}
	if e, err = newEntry(in.script, in.find, in.errno, at); err == nil {
		err = errors.Join(p.mem.Write(at, e.code), p.mem.Write(at+entryCode, e.data))
	}
	if err == nil {
		_, err = r.call(unix.SYS_MPROTECT, at, entryCode, unix.PROT_READ|unix.PROT_EXEC)
	}
	regs := r.saved
	const trap, direction = 1 << 8, 1 << 10
	if err == nil {
		regs.Rip, regs.Rsp, regs.Orig_rax, regs.Eflags = e.call, e.stack, ^uint64(0), regs.Eflags&^(trap|direction)
		err = ptrace.SetRegs(th.tid, &regs)
	}
	if err != nil {
		_, _ = r.call(unix.SYS_MUNMAP, at, e.size)
		return err
	}
	in.th, in.r, in.x, in.e, in.at = th, r, x, e, at
	p.entries = append(p.entries, in)
	p.t.tracer.Late(th.tid, in.report)
	th.stopped = false
	if err := ptrace.Cont(th.tid, 0); err != nil { // it has just ended, which is reported
		in.finish(ptrace.ErrGone)
	}
	return nil
}

// report is given what is reported of the thread while it makes the call.
func (in *injection) report(s ptrace.Stop) bool {
	t, th := in.t, in.th
	again := func() bool {
		t.tracer.Late(th.tid, in.report)
		return true
	}
	th.deferred = false
	switch {
	case s.Event == ptrace.EventExit, s.Event == ptrace.EventExec: // nothing is to be put back
		in.finish(ptrace.ErrGone)
		return false
	case s.Event == ptrace.EventClone: // the thread that the call starts
		in.child = int(s.Msg)
		th.stopped = true
		t.created(th, s)
		return again()
	case s.GroupStop():
		t.groupStop(th)
		return again()
	case s.Event != 0:
		th.stopped = false
		ptrace.Cont(th.tid, 0) //nolint:errcheck // it has ended
		return again()
	}
	regs, err := ptrace.GetRegs(th.tid)
	switch {
	case err != nil:
		in.finish(err)
		return true
	case s.Signal == unix.SIGTRAP && regs.Rip == in.e.end:
		err = nil
		if regs.Rax == ^uint64(0) {
			err = fmt.Errorf("%s says that it may start no more threads", in.script.Start)
		}
	case in.r.keeps(): // somebody sent it: the thread has it when it is back
		th.stopped = false
		ptrace.Cont(th.tid, 0) //nolint:errcheck // it has ended
		return again()
	case s.Signal == unix.SIGSEGV && in.p.fixFault(th.tid, &regs):
		ptrace.SetRegs(th.tid, &regs) //nolint:errcheck // it has ended
		th.stopped = false
		ptrace.Cont(th.tid, 0) //nolint:errcheck // it has ended
		return again()
	default:
		err = fmt.Errorf("%s met %s at 0x%x", in.script.Start, unix.SignalName(s.Signal), regs.Rip)
	}
	err = errors.Join(err, ptrace.SetXState(th.tid, in.x), in.r.done())
	in.p.hide(th)
	th.stopped = true
	if in.holds = err == nil && in.script.Until != "" && in.waits && !in.left; !in.holds {
		t.resume(th, 0) //nolint:errcheck // it has ended
	}
	in.finish(err)
	return true
}

func (in *injection) finish(err error) {
	if !in.closed {
		in.closed = true
		in.done <- err
	}
}

// await waits until the call has been made and the thread is as it was.
func (in *injection) await(ctx context.Context) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-in.done:
			if err != nil {
				return in.explain(err)
			}
			return nil
		case <-tick.C:
			if in.p.dead.Load() {
				return in.explain(ptrace.ErrGone)
			}
		case <-ctx.Done():
			return fmt.Errorf("start a thread in process %d: %w", in.p.pid, context.Cause(ctx))
		}
	}
}

// leaveEntries ends what Inject began: calls under way come to their end, since nobody else puts their threads back,
// and what was mapped for threads that have ended goes.
func (t *target) leaveEntries(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, callWait)
	defer cancel()
	tick := time.NewTicker(enterTry)
	defer tick.Stop()
	for _, p := range t.processes() {
		var over []*injection
		for busy := true; busy && !p.dead.Load(); {
			err := t.tracer.Do(ctx, func() error {
				busy, over = false, nil
				for _, in := range p.entries {
					busy = busy || !in.closed
					if in.closed && t.threads[in.child] == nil {
						over = append(over, in)
					}
				}
				return nil
			})
			if err != nil {
				return
			}
			if busy {
				select {
				case <-tick.C:
				case <-ctx.Done():
					return
				}
			}
		}
		if len(over) == 0 || p.dead.Load() {
			continue
		}
		err := p.withStopped(ctx, func(r *remote) (err error) {
			for _, in := range over {
				_, merr := r.call(unix.SYS_MUNMAP, in.at, in.e.size)
				err = errors.Join(err, merr)
			}
			p.entries = nil
			return err
		})
		if err != nil && !p.endedBefore(err) {
			t.log.Info("unmap the agent's way in", "pid", p.pid, "err", err)
		}
	}
}
