package native

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/strobe-debug/strobe/internal/capture"
	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/ptrace"
	"golang.org/x/sys/unix"
)

// target is one launched program with all its processes: the Collector of this runtime.
//
// Goroutines: the tracer's thread, drainLoop and beatLoop, which end after the last process, or with Stop; and short ones
// (spawn) that change hooks or release memory when the tracer's thread or the drain goroutine must not wait.
type target struct {
	rt        *Runtime
	cmd       *collector.Command
	sink      collector.Sink
	log       *slog.Logger
	tracer    *ptrace.Tracer
	ringBytes int
	pid       int

	// Tracer thread only.
	threads map[int]*thread
	orphans map[int]ptrace.Stop // first stops of new threads whose creator's stop has not come yet
	waiting map[int]parentage   // children announced and not yet seen
	letGone map[int]*process    // processes detached before their end

	sampling atomic.Pointer[collector.Sampling] // never nil

	probeMu sync.Mutex // one change of hooks at a time
	probes  []probe
	watches []watch

	walks     *capture.Walks
	fnMu      sync.Mutex // leaf
	functions map[functionKey]*function
	matches   map[string]matchResult // by module and pattern set

	mu     sync.Mutex // guards what follows; leaf
	procs  []*process // images, also ended ones whose records are not yet delivered
	status collector.Status
	exit   collector.ExitInfo

	stopping  atomic.Bool // deliver nothing more to the target than its end
	released  atomic.Bool // Stop(kill=false): nothing is traced any more
	exited    chan struct{}
	drainKick chan chan struct{}
	allGone   chan struct{}
	live      atomic.Int64 // threads traced or announced
}

// parentage says where a new thread comes from.
type parentage struct {
	event  int
	parent *process
}

var _ collector.Collector = (*target)(nil)

func newTarget(rt *Runtime, cmd *collector.Command, sink collector.Sink) (*target, error) {
	t := &target{rt: rt, cmd: cmd, sink: sink, log: rt.log, ringBytes: rt.ringBytes, threads: map[int]*thread{},
		orphans: map[int]ptrace.Stop{}, waiting: map[int]parentage{}, letGone: map[int]*process{}, functions: map[functionKey]*function{}, matches: map[string]matchResult{}, walks: capture.NewWalks(),
		exited: make(chan struct{}), drainKick: make(chan chan struct{}), allGone: make(chan struct{})}
	tracer, err := ptrace.NewTracer(t.stopped)
	if err != nil {
		return nil, err
	}
	t.tracer = tracer
	return t, nil
}

// launch starts the program, sets it up while it stands before its first instruction, and lets it run.
func (t *target) launch(ctx context.Context) error {
	c := t.cmd
	prog := ptrace.Program{Path: c.Path, Args: c.Args, Env: c.Env, Dir: c.Dir, TTY: c.Terminal,
		Files: [3]uintptr{c.Stdin.Fd(), c.Stdout.Fd(), c.Stderr.Fd()}}
	var p *process
	err := t.tracer.Do(ctx, func() error {
		pid, err := t.tracer.Launch(prog)
		if err != nil {
			return err
		}
		t.pid = pid
		p, err = t.adoptImage(pid, pid)
		if err != nil {
			unix.Kill(pid, unix.SIGKILL)
			ptrace.Cont(pid, 0)
		}
		return err
	})
	if err != nil {
		return err
	}
	t.live.Store(1)
	go t.drainLoop()
	go t.beatLoop()
	if err := t.setUp(ctx, p); err != nil {
		t.Stop(context.WithoutCancel(ctx), true)
		return err
	}
	if err := t.tracer.Do(ctx, func() error { return t.resume(p.threads[t.pid], 0) }); err != nil {
		return err
	}
	if len(t.probes) > 0 {
		t.awaitReady(ctx, p)
	}
	return nil
}

// readyWait bounds how long a call waits for a starting program's dynamic linker.
const readyWait = 2 * time.Second

// awaitReady waits until a starting process can be hooked: its libraries are loaded, or it is gone.
func (t *target) awaitReady(ctx context.Context, p *process) {
	timer := time.NewTimer(readyWait)
	defer timer.Stop()
	select {
	case <-p.ready:
	case <-t.exited:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// adoptImage takes over a process that stands before the first instruction of a program. With an error, the process is
// known but has no agent. Tracer thread only.
func (t *target) adoptImage(pid, tid int) (*process, error) {
	p, err := newProcess(t, pid)
	if err != nil {
		return nil, err
	}
	t.addThread(p, tid).stopped = true
	if err = p.inject(tid); err != nil {
		t.log.Warn("inject agent", "pid", pid, "err", err)
	}
	t.addProcess(p)
	return p, err
}

func (t *target) addThread(p *process, tid int) *thread {
	th := &thread{tid: tid, p: p}
	p.threads[tid] = th
	t.threads[tid] = th
	return th
}

func (t *target) dropThread(tid int) {
	if th := t.threads[tid]; th != nil {
		delete(th.p.threads, tid)
		delete(t.threads, tid)
	}
}

func (t *target) addProcess(p *process) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.procs = append(t.procs, p)
}

func (t *target) processes() []*process {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.procs)
}

func (t *target) resume(th *thread, sig syscall.Signal) error {
	if th == nil {
		return ptrace.ErrGone
	}
	th.stopped = false
	return ptrace.Cont(th.tid, sig)
}

// PID is the first process's.
func (t *target) PID() int { return t.pid }

// Exited is closed when the first process ended and its records were delivered.
func (t *target) Exited() <-chan struct{} { return t.exited }

// Exit says how the first process ended.
func (t *target) Exit() collector.ExitInfo {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.exit
}

// PIDs lists the processes that live.
func (t *target) PIDs() []int {
	var pids []int
	for _, p := range t.processes() {
		if !p.dead.Load() {
			pids = append(pids, p.pid)
		}
	}
	return pids
}

// killWait bounds how long Stop waits for killed processes to be reaped.
const killWait = 5 * time.Second

// Stop ends the target, or lets it go as it was.
func (t *target) Stop(ctx context.Context, kill bool) error {
	if t.released.Load() {
		return nil
	}
	if kill {
		return t.kill(ctx)
	}
	if _, err := t.SetTracing(ctx, collector.Tracing{}); err != nil {
		return err
	}
	bad := t.verifyRestored(ctx)
	if err := t.removeOwn(ctx); err != nil && bad == nil {
		bad = err
	}
	if err := t.settle(ctx); err != nil && bad == nil {
		bad = err
	}
	t.Flush(ctx)
	t.released.Store(true)
	t.tracer.Close() // the kernel detaches all threads, without stopping any
	t.reapLater()
	t.finish(collector.ExitInfo{})
	return bad
}

func (t *target) kill(ctx context.Context) error {
	t.stopping.Store(true)
	deadline := time.NewTimer(killWait)
	defer deadline.Stop()
	retry := time.NewTicker(50 * time.Millisecond)
	defer retry.Stop()
	for {
		for _, p := range t.processes() {
			if !p.dead.Load() {
				unix.Kill(p.pid, unix.SIGKILL)
			}
		}
		select {
		case <-t.allGone:
			t.tracer.Close()
			return nil
		case <-retry.C:
		case <-deadline.C:
			return fmt.Errorf("stop process %d: still there %v after SIGKILL", t.pid, killWait)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// reapLater collects the first process's exit status once it ends, so that it leaves no zombie. It is our child still.
func (t *target) reapLater() {
	go func() {
		for {
			if _, err := unix.Wait4(t.pid, nil, 0, nil); err != unix.EINTR {
				return
			}
		}
	}()
}

// finish publishes how the target ended. Idempotent.
func (t *target) finish(info collector.ExitInfo) {
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case <-t.exited:
	default:
		t.exit = info
		close(t.exited)
	}
}
