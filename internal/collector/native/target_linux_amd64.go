package native

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/strobe-debug/strobe/internal/capture"
	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/inspect"
	"github.com/strobe-debug/strobe/internal/ptrace"
	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/symbol"
	"golang.org/x/sys/unix"
)

// target is one launched program with all its processes: the Collector of this runtime.
//
// Goroutines: the tracer's thread, drainLoop and beatLoop, which end after the last process, or with Stop; and short
// ones (spawn) that change hooks or release memory when the tracer's thread or the drain goroutine must not wait.
type target struct {
	rt        *Runtime
	cmd       *collector.Command
	numbers   *collector.Numbers // of pauses and steps
	sink      collector.Sink
	log       *slog.Logger
	tracer    *ptrace.Tracer
	ringBytes int
	mover     *mover
	pid       int
	out       [2]ring.OutFile // that the session reads

	// Tracer thread only.
	threads map[int]*thread
	orphans map[int]orphan    // first stops of new threads whose creator's stop has not come yet
	ghosts  []*process        // ended images that may have left children that are not known yet
	waiting map[int]parentage // children announced and not yet seen
	letGone map[int]*process  // processes detached before their end
	asksNew bool              // all were asked to pause and none has gone on since: new threads pause, too

	steps        int           // threads that are stepping
	loose        []*stepper    // goroutines that are, and run to breaks. Tracer thread only
	panicSpent   time.Duration // that threads were held for pictures of their panics
	panicsPassed int           // panics that came too often for that

	sampling atomic.Pointer[collector.Sampling] // never nil
	fames    fames

	probeMu sync.Mutex // one change of hooks at a time
	probes  []probe
	watches []watch
	points  []*point
	awaited atomic.Bool // one of points may be of debug_continue until

	lastPoint uint32 // points made; probeMu
	panicsOff bool   // probeMu

	walks     *capture.Walks
	fnMu      sync.Mutex // leaf
	functions map[functionKey]*function
	matches   map[string]matchResult // by module and pattern set
	// By pattern and by label: the most functions of one file that it ever matched, or that ever read it.
	everMatched, everRead map[string]int
	throwFns              map[*symbol.Module][]throwFunction

	mu         sync.Mutex       // guards what follows; leaf
	procs      []*process       // images, also ended ones whose records are not yet delivered
	pauses     []*pause         // in the order in which they began
	announced  int              // pauses that the timeline has and pauses not yet
	status     collector.Status // but for what statusOld says
	saidNatvis map[string]bool  // warnings about .natvis files that some answer had
	exit       collector.ExitInfo

	refMu sync.Mutex // before mu
	refs  collector.Refs[*pause, inspect.Thing]

	pauseChange chan struct{} // closed and made anew when pauses changes; mu

	pendMu      sync.Mutex               // leaf
	tellsPanics atomic.Bool              // @exceptions is in force
	thrownAt    atomic.Pointer[[]*point] // points of exceptions
	pending     []pendingEvent           // exceptions and writes on their way to the drain goroutine, by time
	pendLost    int64

	late      atomic.Pointer[process] // the process that was last not ready in the time that a call waits
	statusOld atomic.Bool             // hooks changed since status was counted; it is, under probeMu, when somebody asks
	stopping  atomic.Bool             // deliver nothing more to the target than its end
	entered   atomic.Bool             // the stop at the program's entry was made
	// numbers of the functions of @coverage; guarded by probeMu
	covered map[*symbol.Module]map[symbol.Addr]int

	socketBytes    atomic.Int64              // of @sockets:N
	goStreams      map[string]event.StreamID // drain goroutine only
	socketIDs      socketIDs                 // the drain goroutine's
	lockTables     []*lockTable              // of processes that have ended; under mu
	lockTablesLost int

	switches   atomic.Pointer[switchRecorder]
	noSwitches string // why there is none; probeMu

	leaving   atomic.Bool // Stop(kill=false) has begun
	released  atomic.Bool // Stop(kill=false): nothing is traced any more
	discard   atomic.Bool // what is recorded and not delivered is thrown away
	exited    chan struct{}
	drainKick chan chan struct{}
	allGone   chan struct{}
	live      atomic.Int64 // threads traced or announced
	strays    atomic.Int32 // len(orphans)
	seeking   atomic.Bool  // adoptStrays is under way
}

var (
	_ collector.Collector = (*target)(nil)
	_ collector.Debugger  = (*target)(nil)
	_ collector.Discarder = (*target)(nil)
)

func newTarget(rt *Runtime, cmd *collector.Command, sink collector.Sink) (*target, error) {
	t := bareTarget(rt, cmd, sink)
	if cmd.PID == 0 {
		t.out = outFiles(cmd)
	}
	tracer, err := ptrace.NewTracer(t.stopped)
	if err != nil {
		return nil, err
	}
	t.tracer = tracer
	return t, nil
}

// bareTarget is a target that nobody traces yet.
func bareTarget(rt *Runtime, cmd *collector.Command, sink collector.Sink) *target {
	t := &target{rt: rt, cmd: cmd, sink: sink, log: rt.log, ringBytes: rt.ringBytes, threads: map[int]*thread{},
		orphans: map[int]orphan{}, waiting: map[int]parentage{}, letGone: map[int]*process{},
		functions: map[functionKey]*function{}, matches: map[string]matchResult{}, everMatched: map[string]int{},
		everRead: map[string]int{},
		throwFns: map[*symbol.Module][]throwFunction{},
		walks:    capture.NewWalks(rt.natvis.Later(cmd.ProjectRoot), cmd.Secrets),
		exited:   make(chan struct{}), drainKick: make(chan chan struct{}), allGone: make(chan struct{}),
		pauseChange: make(chan struct{})}
	t.numbers = cmp.Or(cmd.Numbers, new(collector.Numbers))
	t.fames.all = map[functionKey]*fame{}
	t.mover = newMover(t)
	return t
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
		if p, err = t.adoptImage(pid, pid); err == nil {
			err = p.injectFirst(pid)
		}
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
	t.probeMu.Lock()
	t.recordSwitches()
	t.probeMu.Unlock()
	go t.drainLoop()
	go t.mover.loop()
	go t.beatLoop()
	if err := t.setUp(ctx, p); err != nil {
		t.Stop(context.WithoutCancel(ctx), true)
		return err
	}
	err = t.tracer.Do(ctx, func() error {
		if th := p.threads[t.pid]; !p.isReady() || !t.stopsAtEntry(th) {
			return t.resume(th, 0)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(t.probes) > 0 || c.StopOnEntry {
		t.awaitReady(ctx, p)
	}
	if c.StopOnEntry {
		t.awaitEntry(ctx)
	}
	return nil
}

// awaitEntry waits until the pause before main is there: who launched it may ask for it at once.
func (t *target) awaitEntry(ctx context.Context) {
	timer := time.NewTimer(readyWait)
	defer timer.Stop()
	for {
		changed := t.PauseChanged()
		if len(t.Paused()) > 0 {
			return
		}
		select {
		case <-changed:
		case <-t.exited:
			return
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// readyWait bounds how long a call waits for a starting program's dynamic linker, and for what is read and hooked then:
// of a large program on a busy machine that takes seconds. Status says where it was not enough.
const readyWait = 20 * time.Second

// awaitReady waits until a starting process can be hooked: its libraries are loaded, or it is gone.
func (t *target) awaitReady(ctx context.Context, p *process) {
	timer := time.NewTimer(readyWait)
	defer timer.Stop()
	select {
	case <-p.ready:
	case <-t.exited:
	case <-timer.C:
		t.late.Store(p)
	case <-ctx.Done():
		t.late.Store(p)
	}
}

// adoptImage takes over a process that stands before the first instruction of a program. Tracer thread only.
func (t *target) adoptImage(pid, tid int) (*process, error) {
	t.begins(pid, tid)
	p, err := newProcess(t, pid)
	if err != nil {
		return nil, err
	}
	t.addThread(p, tid).stopped = true
	t.addProcess(p)
	return p, nil
}

func (t *target) addThread(p *process, tid int) *thread {
	th := &thread{tid: tid, p: p, asked: t.asksNew}
	if tid != p.pid {
		t.tell(collector.Change{Kind: collector.ThreadBegan, PID: p.pid, TID: tid})
	}
	if p.host != nil {
		p.host.guests.Store(tid, p.pid)
	}
	p.threads[tid] = th
	t.threads[tid] = th
	return th
}

func (t *target) dropThread(tid int) {
	if th := t.threads[tid]; th != nil {
		t.endStep(th)
		th.ranOut()
		t.takePause(th)
		delete(th.p.threads, tid)
		delete(t.threads, tid)
		if tid != th.p.pid {
			t.tell(collector.Change{Kind: collector.ThreadEnded, PID: th.p.pid, TID: tid})
		}
		if len(th.p.threads) == 0 {
			t.dropLoose(th.p)
		}
		if th.stepped { // somebody may wait for the step
			t.mu.Lock()
			t.pausesChangedLocked()
			t.mu.Unlock()
		}
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
	if th.deferred || t.joined(th, sig) || t.askedToStand(th, sig) {
		return nil
	}
	if sig == 0 && th.owed != nil && t.takesOwed(th) {
		return nil
	}
	if sig == 0 && th.dies != nil {
		return t.dieNow(th)
	}
	if th.owed != nil { // it takes another one first, such as a fault of the displaced instruction
		ptrace.Queue(th.p.pid, th.tid, th.owed)
		th.owed = nil
	}
	th.stopped = false
	th.seen = th.p.memory().changes.Load()
	th.arm(th.p.memory())
	if th.step != nil {
		return th.step.resumeStep(sig)
	}
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
const (
	killWait = 5 * time.Second
	// and what a program that is let go may take until nothing is in it any more: all its threads need a CPU for that
	leaveMax = 30 * time.Second
	killSlow = time.Second // is worth a word

	killTries = 3 // of 50 ms, behind which what is not known is killed, too
)

// Stop ends the target, or lets it go as it was.
func (t *target) Stop(ctx context.Context, kill bool) error {
	if t.released.Load() {
		return nil
	}
	if kill {
		return t.kill(ctx)
	}
	t.dropUntil(0)
	within, cancel := context.WithTimeout(ctx, leaveMax)
	defer cancel()
	if _, err := t.SetPoints(within, nil); err != nil {
		return err
	}
	t.releasePaused(within)
	t.leaveEntries(within)
	bad := t.takeOut(within)
	t.unmapAll(within)
	if err := t.Flush(ctx); err != nil {
		bad = errors.Join(bad, err)
	}
	pids := t.PIDs()
	t.released.Store(true)
	t.runHeld(context.WithoutCancel(ctx))
	if late := t.disarmAll(); late != nil {
		t.warn("a thread that waits for its vfork child still watches memory: the process is let go when that is done")
		go func() { <-late; t.untrace(pids) }()
	} else {
		t.untrace(pids)
	}
	t.finish(collector.ExitInfo{})
	return bad
}

// untrace ends the tracing of processes that have nothing of ours any more.
func (t *target) untrace(pids []int) {
	t.tracer.Close() // the kernel detaches all threads, without stopping any
	awaitUntraced(pids)
	t.reapLater()
}

// Discard implements collector.Discarder.
func (t *target) Discard() { t.discard.Store(true) }

func (t *target) kill(ctx context.Context) error {
	t.stopping.Store(true)
	deadline := time.NewTimer(killWait)
	defer deadline.Stop()
	var held int64 // that was still to be decoded
	slow := time.AfterFunc(killSlow, func() {
		t.log.Warn("ending the target takes long", "left", t.left(context.WithoutCancel(ctx)))
	})
	defer slow.Stop()
	retry := time.NewTicker(50 * time.Millisecond)
	defer retry.Stop()
	for tries := 0; ; {
		all := t.processes()
		slices.Reverse(all) // children first: a parent must not see them end and act on it
		for _, p := range all {
			if !p.dead.Load() {
				unix.Kill(p.pid, unix.SIGKILL)
			}
		}
		select {
		case <-t.allGone:
			t.tracer.Close()
			return nil
		case <-retry.C:
			if tries++; tries > killTries {
				t.killStrays()
			}
		case <-deadline.C:
			// all are dead; what they recorded is being decoded
			if now := t.mover.spool.Held(); len(t.PIDs()) == 0 && now > 0 && now != held {
				held = now
				deadline.Reset(killWait)
				continue
			}
			return fmt.Errorf("stop process %d: still there %v after SIGKILL: %s", t.pid, killWait, t.left(ctx))
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// left says what of the target is still there.
func (t *target) left(ctx context.Context) string {
	var all []string
	ctx, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	err := t.tracer.Do(ctx, func() error {
		for tid, th := range t.threads {
			all = append(all, fmt.Sprintf("thread %d of process %d (%s, stopped %v)", tid, th.p.pid,
				ptrace.StatusField(tid, "State"), th.stopped))
		}
		for tid := range t.waiting {
			all = append(all, fmt.Sprintf("the child %d, announced (%s)", tid, ptrace.StatusField(tid, "State")))
		}
		for tid := range t.orphans {
			all = append(all, fmt.Sprintf("the child %d, not announced (%s)", tid, ptrace.StatusField(tid, "State")))
		}
		for pid := range t.letGone {
			all = append(all, fmt.Sprintf("process %d, let go", pid))
		}
		return nil
	})
	if err != nil {
		return "the tracer does not answer"
	}
	for _, p := range t.processes() {
		all = append(all, fmt.Sprintf("process %d, dead %v", p.pid, p.dead.Load()))
	}
	return strings.Join(all[:min(len(all), 10)], ", ")
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
