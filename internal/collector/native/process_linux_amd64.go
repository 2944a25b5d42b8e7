package native

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/ptrace"
	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/snapshot"
	"golang.org/x/sys/unix"
)

// process is one process image of the target, from its start or exec to its end or next exec.
//
// threads belongs to the tracer thread. modules, arenas, byAddr, nextOp and unwindID change under probeMu and mu both,
// so that who holds either may read them; sites change on the tracer thread under mu. changing comes before any of it.
// hooks is also read by the drain goroutine.
type process struct {
	t      *target
	pid    int
	mem    *ptrace.Mem
	golang atomic.Pointer[goProcess]
	blob   ring.BlobHeader
	gadget uint64
	shares *process // a vfork child before its exec, and the like: whose memory it uses
	host   *process // whose region its threads write to: shares, or a parent from whose region it could not be parted

	guests  sync.Map     // thread ID to process ID, of the threads of other processes that write to the region
	visits  int          // processes whose host this is; tracer thread
	hosting atomic.Bool  // visits is not 0
	telling atomic.Int32 // crashes of it that are on their way to the sink
	awaited atomic.Int32 // children that were announced and not yet seen
	changes atomic.Int64 // of its memory by us, or about to be

	inode    uint64 // of the region
	died     time.Time
	lingers  atomic.Bool // for children that are not known yet
	threaded bool        // it had more than one thread when it ended

	// region and what belongs to it are there; they are set once, on the tracer's thread under probeMu or before the
	// process is known
	injected   atomic.Bool
	unfit      atomic.Pointer[error] // why it cannot have the agent
	region     *ring.Region
	regionAddr uint64
	regionMu   sync.RWMutex // leaf; held to read while region is used by a goroutine that probeMu does not cover
	released   bool

	threads    map[int]*thread
	entries    []*injection // tracer thread
	plain      bool         // it has the agent for its writes alone; probeMu
	stdout     uint64       // the C library's, where it is ours to buffer, and whose: ring.Control.LineKind
	stdoutKind uint32
	unmapped   bool // the agent and the stubs are out of it again
	unhurried  bool // what is patched may become wide later; tracer thread
	narrow     []narrowed
	leaderless bool // attached to after its first thread's end

	noTicks    sync.Once
	stackFault uint64 // where the first thread ran into its stack's end first; 0: never. Tracer thread only.

	mu       sync.Mutex // leaf
	modules  []*loaded
	arenas   []*arena
	byAddr   map[hookKey]*hooked
	hooks    atomic.Pointer[[]*hooked] // by hook ID
	nextOp   uint32
	walks    int             // programs of the session's that are installed
	unwindID map[uint64]bool // unwinder entry points hooked
	noLocks  []string        // what @locks does not see, and why; under mu
	scans    atomic.Int64    // how often modules changed
	snap     *heritage       // of these, as the next forked child gets them; nil when they changed
	borrowed bool            // they are snap's, not to be written

	trapMu sync.RWMutex
	traps  map[uint64]*trap // by address of the int3

	throws    atomic.Pointer[throwState] // nil until exceptions are wanted
	inArena   atomic.Pointer[[]ring.Arena]
	islands   atomic.Pointer[map[uint64]uint64] // of short jumps, to the entries of their functions
	loader    loader
	readyOnce sync.Once
	ready     chan struct{} // closed when the dynamic linker is done and hooks may be set
	comms     sync.Map      // names of threads that were read, by thread
	dead      atomic.Bool   // ended or replaced by exec; rings are still to be drained
	detached  atomic.Bool   // let go before its end
	retiring  atomic.Bool   // retireLater runs
	stacks    atomic.Bool   // a thread has run hooked functions on more than one stack
	endTS     int64         // when; this and the following are set before dead
	ended     bool          // by its end, not by exec
	exit      collector.ExitInfo
	exitNote  map[string]any
	syncSeen  uint32 // drain goroutine
	leaveSeen uint32
	drain     drainState
	hots      atomic.Int32            // of ring.Header.Hot, those that were given out
	begun     atomic.Pointer[[]begun] // hooks that were sampled from the first call on; it only grows
	feeds     map[int]*feed           // of rings that were taken, by their index; mover.mu
	fed       int                     // rings below this one have been given out; mover.mu
	points    map[uint64]*pointSite   // by address in the program's code; as modules
	// those of them, and of what they were, whose patches are in place; tracer thread only
	standing  map[uint64]*pointSite
	slots     [ring.MaxPoints]*point    // whose counts the region's points are; as modules
	moved     []copied                  // of instructions at points, also of those taken out again; as modules
	seenMaps  *seenMaps                 // nil: not looked at yet; mu
	data      atomic.Pointer[dataSlots] // what every thread of it watches; nil: nothing
	stepSites []*site                   // tracer thread only
	stepKnown []*loaded                 // whose functions are among them; probeMu
	picture   *picture                  // tracer thread only; nil while nothing is wrong
	panics    []collector.Panic         // tracer thread only, until it is dead
}

// thread is one traced thread. Tracer thread only.
type thread struct {
	tid     int
	p       *process
	stopped bool
	covers  *event.ThreadID // its number for functions that it is the first to call; nil: not asked yet
	stops   atomic.Int64    // that were handled
	// deferred: its stop waits for the handler, who lets it go on; nobody else does.
	deferred bool
	joins    *pause           // with which it is to be paused, instead of going on
	asked    bool             // to be paused, instead of going on: PauseNow
	listens  bool             // a signal has stopped it, with its whole process
	tries    int              // to have it leave the agent first
	execs    bool             // it stands at the beginning of another image
	vforks   bool             // it waits for its vfork child, where nothing but death stops it
	named    bool             // id is set
	id       event.ThreadID   // of the thread's exceptions
	caught   *snapshot.Caught // the last signal of a crash that a handler took
	seen     int64            // process.changes when it was last let run
	again    *ptrace.Regs     // with which hide lets it go on, until its next stop
	was      ptrace.Regs      // as they were before
	remade   remade
	// a signal that it takes when it goes on, held back while it was in a stub
	owed    *ptrace.Siginfo
	dies    *ptrace.Siginfo                      // it is paused in front of the signal that ends its program
	out     *runningOut                          // nil unless it runs until it leaves the agent's C
	watched [ptrace.DebugSlots]ptrace.DebugWatch // in its debug registers
	watches bool                                 // something was in them once
	step    *stepper                             // nil while it is not stepping
	stepped bool                                 // it has been
	singled bool                                 // it was let run one instruction
}

// trap is a place where an int3 stands, or stood: a thread that meets it goes on at to.
type trap struct {
	to     uint64
	active bool
	behind uint64 // where the displaced instructions are
	point  *pointSite
	step   stepSite
	loader bool // the dynamic loader's notification, while the program starts
	throw  throwKind
	// below is what stands under it: a hook of a function may come where one of ours stands already, whose first byte
	// then is what the hook found, and leaves there.
	below *trap
}

// is reports whether the trap is that of a site.
func (t *trap) is(s *site) bool { return t.to == s.to && t.point == s.point && t.step == s.step }

// clone copies it with all that is below.
func (t *trap) clone() *trap {
	if t == nil {
		return nil
	}
	c := *t
	c.below = t.below.clone()
	return &c
}

// threadName is the name of one of the process's threads, also of one that has ended since it was last asked for: what
// it did is told by two ways, and is of one thread.
func (p *process) threadName(pid, tid int) string {
	name := threadName(pid, tid)
	if name != "" {
		p.comms.Store(tid, name)
	} else if was, ok := p.comms.Load(tid); ok {
		name = was.(string)
	}
	return name
}

func newProcess(t *target, pid int) (*process, error) {
	mem, err := ptrace.OpenMem(livingThread(pid))
	if err != nil {
		return nil, err
	}
	p := &process{t: t, pid: pid, mem: mem, threads: map[int]*thread{}, byAddr: map[hookKey]*hooked{}, nextOp: 1,
		unwindID: map[uint64]bool{}, traps: map[uint64]*trap{}, ready: make(chan struct{})}
	hooks := []*hooked{nil} // hook 0 is nobody's
	p.hooks.Store(&hooks)
	p.threadName(pid, pid) // it may have ended when its first record is read
	p.inArena.Store(&[]ring.Arena{})
	return p, nil
}

// release gives the daemon's mapping back, after the last drain, when nobody changes hooks.
func (p *process) release() {
	for tick := time.NewTicker(10 * time.Millisecond); p.needed(); <-tick.C {
		defer tick.Stop()
	}
	p.t.probeMu.Lock()
	defer p.t.probeMu.Unlock()
	p.regionMu.Lock()
	defer p.regionMu.Unlock()
	if p.released {
		return
	}
	p.released = true
	p.mem.Close()
	p.golang.Load().close()
	if p.region != nil {
		unix.Munmap(p.region.Bytes())
	}
}

// beatEvery is well below staleAfter.
const beatEvery = 200 * time.Millisecond

// beatLoop tells the agents that the daemon lives, also while the store is behind and nobody drains.
func (t *target) beatLoop() {
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	for {
		select {
		case <-t.allGone:
			return
		case <-tick.C:
		}
		for _, p := range t.processes() {
			p.regionMu.RLock()
			if p.injected.Load() && !p.released {
				p.region.Beat(t.rt.clock.Now())
			}
			p.regionMu.RUnlock()
		}
	}
}

// adoptFork gives a forked child rings of its own, in place of its copy of the parent's mapping, before it runs.
// Everything else (stubs, patches) it inherited; stale says that the parent may have changed since. Tracer thread only;
// tid is stopped.
func (p *process) adoptFork(parent *process, tid int, stale bool) error {
	parent.regionMu.RLock()
	defer parent.regionMu.RUnlock()
	if parent.released {
		return fmt.Errorf("copy the agent of process %d: it has ended", parent.pid)
	}
	if parent.unmapped { // it is being let go, and has nothing of ours
		p.setReady()
		return nil
	}
	p.blob, p.gadget, p.loader, p.plain = parent.blob, parent.gadget, parent.loader, parent.plain
	p.stdout, p.stdoutKind = parent.stdout, parent.stdoutKind
	p.inherit(parent)
	if parent.isReady() {
		p.setReady()
	}
	if parent.unfit.Load() != nil && parent.host != nil {
		p.blob, p.gadget = parent.blob, parent.gadget
		return *parent.unfit.Load()
	}
	if !parent.injected.Load() {
		if stale {
			return p.reconcile(parent, nil)
		}
		return nil
	}
	p.inArena.Store(parent.inArena.Load())
	if why := p.sealed(); why != nil {
		return why
	}
	r, err := begin(p.t.tracer, tid, p.gadget)
	if err != nil {
		return err
	}
	src := parent.region
	if err = p.mapRegion(r, src.Rings(), parent.regionAddr, true); err == nil {
		p.copyTables(src)
		p.copyPoints()
		if stale {
			err = p.reconcile(parent, r)
		}
	}
	if derr := r.done(); err == nil {
		err = derr
	}
	return err
}

// copyTables fills the child's region with what its hooks need.
func (p *process) copyTables(src *ring.Region) {
	list := *p.hooks.Load()
	hooks := len(list)
	from, to := src.Bytes(), p.region.Bytes()
	copy(to[ring.HooksOff:], from[ring.HooksOff:ring.HooksOff+hooks*32])
	copy(to[ring.OpsOff:], from[ring.OpsOff:ring.OpsOff+int(p.nextOp)*16])
	for id, h := range list {
		if h == nil || h.own == nil {
			*p.region.HookSample(uint32(id)) = 0 // the child's calls are counted anew
		}
	}
	p.beginSampled(list...)
	for _, w := range p.t.walks.Programs(0)[:p.walks] {
		*p.region.Walk(w.ID) = *src.Walk(w.ID)
	}
	parent, child := src.Control(), p.region.Control()
	child.Flags = atomic.LoadUint32(&parent.Flags) &^ ring.FlagByTID
	child.GoID, child.SocketHead = parent.GoID, parent.SocketHead
	child.RDebug, child.UnwindCount, child.Unwind = parent.RDebug, parent.UnwindCount, parent.Unwind
	child.Arenas, child.Objects, child.ArenaCount = parent.Arenas, parent.Objects, parent.ArenaCount
	child.Out, child.Stdout, child.LineKind, child.LineFull = parent.Out, parent.Stdout, parent.LineKind, parent.LineFull
	child.LineTicks, child.LineMost, child.LineLeft, child.LineTSC = parent.LineTicks, parent.LineMost, parent.LineLeft,
		parent.LineTSC
}

// withStopped runs fn on the tracer's thread, with a thread of the process that is stopped where system calls can be
// made in it. It prefers one that computes; else one whose system call the kernel restarts unnoticed.
//
// A thread may end under our hands, or all may be where nothing can be done for a moment: then it tries again.
func (p *process) withStopped(ctx context.Context, fn func(r *remote) error) error {
	const tries, pause, most = 100, 2 * time.Millisecond, 1500 * time.Millisecond
	started, wait := time.Now(), p.patience()
	for n := 1; ; n++ {
		err := p.tryStopped(ctx, fn)
		if !errors.Is(err, errAllBlocked) && !errors.Is(err, ptrace.ErrGone) || p.endedBefore(err) {
			return err
		}
		if p.t.tracer.OnThread() { // nothing changes while it waits
			return err
		}
		if n >= tries || time.Since(started) > most {
			if !wait.more() {
				return err
			}
			started = time.Now()
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (p *process) tryStopped(ctx context.Context, fn func(r *remote) error) error {
	return p.t.tracer.Do(ctx, func() error { return p.inOne(fn) })
}

// inOne is withStopped, once. Tracer thread only.
func (p *process) inOne(fn func(r *remote) error) error {
	th, resume, err := p.haltOne()
	if err != nil {
		return err
	}
	if resume != nil {
		defer resume()
	}
	if err := p.sealedThread(th.tid); err != nil { // just now
		return err
	}
	r, err := begin(p.t.tracer, th.tid, p.gadget)
	if err != nil {
		return err
	}
	r.stands = resume == nil
	err = fn(r)
	if derr := r.done(); err == nil {
		err = derr
	}
	p.hide(th) // what could not be before the agent was there
	return err
}

var errAllBlocked = errors.New("every thread waits in a system call that cannot be interrupted unnoticed")

// haltOne stops one thread and returns how to let it run again; nil where it stood already.
func (p *process) haltOne() (*thread, func(), error) {
	for _, th := range p.threads {
		if th.stopped && !th.vforks && !th.execs && p.sealedThread(th.tid) == nil {
			return th, nil, nil
		}
	}
	var second, third *thread
	why, free := error(nil), 0
	for _, th := range p.threads {
		nr, _, running := blockedPC(p.pid, th.tid)
		if sealed := p.sealedThread(th.tid); sealed != nil {
			why = sealed
			continue
		}
		free++
		switch {
		case th.execs:
		case !running && cannotStop(th.tid, nr):
		case running:
			if resume, ok := p.halt(th); ok && !th.vforks {
				return th, resume, nil
			}
		case !ptrace.NotRestarted(nr):
			second = th
		case nr != unix.SYS_CONNECT: // made a second time, it says that it is under way
			third = th // HideInterrupt makes it again
		}
	}
	for _, th := range []*thread{second, third} {
		if th == nil {
			continue
		}
		if resume, ok := p.halt(th); ok && !th.vforks {
			return th, resume, nil
		}
	}
	if free == 0 && why != nil {
		return nil, nil, why
	}
	return nil, nil, errAllBlocked
}

// haltMost bounds how long a thread is waited for that is to stand while code is changed: it may want a CPU that others
// have.
const haltMost = time.Second

// halt stops a running thread. When another stop comes first it is kept for the handler, and the thread stays stopped
// until then. False: it ended, or has another image by now, or does not come to a stop, as one does that waits for its
// vfork child, which may wait for us: then it stops when that is done.
func (p *process) halt(th *thread) (resume func(), ok bool) {
	if th.stopped {
		return func() {}, true
	}
	if th.vforks || ptrace.Interrupt(th.tid) != nil {
		return nil, false
	}
	started := time.Now()
	s, err := ptrace.WaitStopFor(th.tid, haltWait)
	for errors.Is(err, ptrace.ErrBusy) && !p.awaitsChild(th) && time.Since(started) < haltMost {
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
	if resume, ok = p.halted(th, s); ok && !th.deferred {
		p.hide(th)
	}
	return resume, ok
}

// halted takes a thread over that was to stand, and does. Tracer thread only.
func (p *process) halted(th *thread, s ptrace.Stop) (resume func(), ok bool) {
	th.stopped = true
	if s.Event == ptrace.EventStop && s.Signal == unix.SIGTRAP {
		return func() {
			p.hide(th) // whoever stopped it found it running, and it waited by the time it stood
			if th.step != nil || th.asked || th.joins != nil {
				p.t.resume(th, 0)
				return
			}
			th.stopped = false
			ptrace.Cont(th.tid, 0)
		}, true
	}
	th.deferred = true
	p.t.tracer.Defer(s)
	th.vforks = s.Event == ptrace.EventVfork // what it is let run for now does not come to an end
	th.execs = s.Event == ptrace.EventExec   // what it stands in is not this process's image
	return func() {}, !th.execs
}
