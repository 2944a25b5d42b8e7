package native

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/ptrace"
	"github.com/strobe-debug/strobe/internal/ring"
	"golang.org/x/sys/unix"
)

// process is one process image of the target, from its start or exec to its end or next exec.
//
// threads belongs to the tracer thread. modules, arenas, byAddr, nextOp and unwindID change under probeMu and mu both, so
// that who holds either may read them. hooks is also read by the drain goroutine.
type process struct {
	t      *target
	pid    int
	mem    *ptrace.Mem
	blob   ring.BlobHeader
	gadget uint64
	shares *process // a vfork child before its exec: its parent's memory

	region     *ring.Region
	regionAddr uint64
	regionMu   sync.RWMutex // leaf; held to read while region is used by a goroutine that probeMu does not cover
	released   bool

	threads map[int]*thread

	mu       sync.Mutex // leaf
	modules  []*loaded
	arenas   []*arena
	byAddr   map[hookKey]*hooked
	hooks    atomic.Pointer[[]*hooked] // by hook ID
	nextOp   uint32
	walks    int             // programs of the session's that are installed
	budget   atomic.Uint32   // bytes of a record that nodes may take
	unwindID map[uint64]bool // unwinder entry points hooked

	trapMu sync.RWMutex
	traps  map[uint64]*trap // by address of the int3

	inArena   atomic.Pointer[[]ring.Arena]
	loader    loader
	ready     chan struct{} // closed when the dynamic linker is done and hooks may be set
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
}

// thread is one traced thread. Tracer thread only.
type thread struct {
	tid     int
	p       *process
	stopped bool
	again   uint64 // address of a syscall instruction that hideInterrupt sent it back to, until its next stop
}

// trap is a place where an int3 stands, or stood: a thread that meets it goes on at to.
type trap struct {
	to     uint64
	active bool
	loader bool // the dynamic loader's notification, while the program starts
}

func newProcess(t *target, pid int) (*process, error) {
	mem, err := ptrace.OpenMem(pid)
	if err != nil {
		return nil, err
	}
	p := &process{t: t, pid: pid, mem: mem, threads: map[int]*thread{}, byAddr: map[hookKey]*hooked{}, nextOp: 1,
		unwindID: map[uint64]bool{}, traps: map[uint64]*trap{}, ready: make(chan struct{})}
	hooks := []*hooked{nil} // hook 0 is nobody's
	p.hooks.Store(&hooks)
	p.inArena.Store(&[]ring.Arena{})
	p.budget.Store(ring.MaxPayload)
	return p, nil
}

// Region sizes, tried in this order: an address space limit may refuse the first.
var ringCounts = []int{4096, 512, 64, 16}

// inject puts the shared region and the agent into a process that is stopped, at its exec or at its fork. Tracer thread only.
func (p *process) inject(tid int) error {
	maps, err := readMaps(p.pid)
	if err != nil {
		return err
	}
	if p.blob, err = agentHeader(); err != nil {
		return err
	}
	if p.gadget, err = findGadget(p.mem, maps); err != nil {
		return err
	}
	r, err := begin(p.t.tracer, tid, p.gadget)
	if err != nil {
		return err
	}
	for i, count := range ringCounts {
		if err = p.mapRegion(r, count, p.regionHint(maps), false); !errors.Is(err, syscall.ENOMEM) || i == len(ringCounts)-1 {
			break
		}
	}
	if derr := r.done(); err == nil {
		err = derr
	}
	return err
}

// regionHint is where the shared region should be: far from where libraries and stacks grow.
func (p *process) regionHint(maps []mapping) uint64 {
	var top uint64
	for _, m := range maps {
		if m.lo > 1<<46 && m.lo < 1<<47 && m.path != "[stack]" && (top == 0 || m.lo < top) {
			top = m.lo
		}
	}
	if top == 0 {
		return 0
	}
	return (top - 16<<30) &^ 0xfffff
}

// mapRegion makes the memfd in the target, so that both sides map the same memory. at is where: a hint, or,
// when fixed, the address of a region that it replaces.
func (p *process) mapRegion(r *remote, rings int, at uint64, fixed bool) error {
	aux, err := readAuxv(p.pid)
	if err != nil {
		return err
	}
	name := aux[atPlatform] // any text will do: "x86_64"
	fd, err := r.call(unix.SYS_MEMFD_CREATE, name, unix.MFD_CLOEXEC|unix.MFD_EXEC)
	if errors.Is(err, syscall.EINVAL) { // before Linux 6.3
		fd, err = r.call(unix.SYS_MEMFD_CREATE, name, unix.MFD_CLOEXEC)
	}
	if err != nil {
		return fmt.Errorf("create shared memory in process %d: %w", p.pid, err)
	}
	defer r.call(unix.SYS_CLOSE, fd)
	size := ring.Size(rings, p.t.ringBytes)
	mem, err := mapShared(fmt.Sprintf("/proc/%d/fd/%d", p.pid, fd), size)
	if err != nil {
		return err
	}
	region, err := ring.View(mem, rings, p.t.ringBytes)
	if err != nil {
		return err
	}
	flags := unix.MAP_SHARED | unix.MAP_NORESERVE
	if fixed {
		flags |= unix.MAP_FIXED
	} else if at != 0 {
		flags |= unix.MAP_FIXED_NOREPLACE
	}
	addr, err := r.mmap(at, uint64(size), unix.PROT_READ|unix.PROT_WRITE, flags, int64(fd))
	if err != nil && !fixed {
		addr, err = r.mmap(0, uint64(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_NORESERVE, int64(fd))
	}
	if err != nil {
		unix.Munmap(mem)
		return fmt.Errorf("map %d MiB of shared memory in process %d: %w", size>>20, p.pid, err)
	}
	copy(mem, agentBlob)
	p.region, p.regionAddr = region, addr
	p.initControl(aux)
	if _, err := r.call(unix.SYS_MPROTECT, addr, ring.CodeBytes, unix.PROT_READ|unix.PROT_EXEC); err != nil {
		return fmt.Errorf("make the agent executable in process %d: %w", p.pid, err)
	}
	r.call(unix.SYS_MADVISE, addr, uint64(size), unix.MADV_DONTDUMP) // keeps core files as they were
	return nil
}

func mapShared(path string, size int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("open shared memory: %w", err)
	}
	defer f.Close()
	if err := f.Truncate(size); err != nil {
		return nil, fmt.Errorf("size shared memory: %w", err)
	}
	mem, err := unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("map shared memory: %w", err)
	}
	return mem, nil
}

// staleAfter is how long the daemon may be silent before the agent takes it for dead and stops
// following pointers (whose faults only the daemon can catch) and waiting for room.
const staleAfter = 2 * time.Second

func (p *process) initControl(aux map[uint64]uint64) {
	c := p.region.Control()
	c.Magic, c.Version = ring.Magic, ring.Version
	c.RingCount, c.RingBytes = uint32(p.region.Rings()), uint32(p.region.RingBytes())
	c.StaleTicks = p.t.rt.clock.TicksIn(staleAfter)
	c.Flags = 0
	if p.t.cmd.Block {
		c.Flags |= ring.FlagBlock
	}
	if aux[atHwcap2]&2 != 0 {
		c.Flags |= ring.FlagFSGS
	}
	if ring.InvariantTicks() {
		c.Flags |= ring.FlagTSC
	}
	p.region.Beat(p.t.rt.clock.Now())
}

// release gives the daemon's mapping back, after the last drain, when nobody changes hooks.
func (p *process) release() {
	p.t.probeMu.Lock()
	defer p.t.probeMu.Unlock()
	p.regionMu.Lock()
	defer p.regionMu.Unlock()
	if p.released {
		return
	}
	p.released = true
	p.mem.Close()
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
			if p.region != nil && !p.released {
				p.region.Beat(t.rt.clock.Now())
			}
			p.regionMu.RUnlock()
		}
	}
}

// adoptFork gives a forked child rings of its own, in place of its copy of the parent's mapping, before it runs.
// Everything else (stubs, patches) it inherited. Tracer thread only; tid is stopped.
func (p *process) adoptFork(parent *process, tid int) error {
	parent.regionMu.RLock()
	defer parent.regionMu.RUnlock()
	if parent.released {
		return fmt.Errorf("copy the agent of process %d: it has ended", parent.pid)
	}
	p.blob, p.gadget, p.loader = parent.blob, parent.gadget, parent.loader
	p.inherit(parent)
	select {
	case <-parent.ready:
		close(p.ready)
	default:
	}
	p.trapMu.Lock()
	parent.trapMu.RLock()
	for a, tr := range parent.traps {
		c := *tr
		p.traps[a] = &c
	}
	parent.trapMu.RUnlock()
	p.trapMu.Unlock()
	p.inArena.Store(parent.inArena.Load())
	r, err := begin(p.t.tracer, tid, p.gadget)
	if err != nil {
		return err
	}
	src := parent.region
	if err = p.mapRegion(r, src.Rings(), parent.regionAddr, true); err == nil {
		hooks := len(*p.hooks.Load())
		copy(p.region.Bytes()[ring.HooksOff:], src.Bytes()[ring.HooksOff:ring.HooksOff+hooks*32])
		copy(p.region.Bytes()[ring.OpsOff:], src.Bytes()[ring.OpsOff:ring.OpsOff+int(p.nextOp)*16])
		for id := range hooks {
			*p.region.HookSample(uint32(id)) = 0 // the child's calls are counted anew
		}
		for _, w := range p.t.walks.Programs(0)[:p.walks] {
			*p.region.Walk(w.ID) = *src.Walk(w.ID)
		}
		from, to := src.Control(), p.region.Control()
		to.Flags = from.Flags
		to.RDebug, to.UnwindCount, to.Unwind = from.RDebug, from.UnwindCount, from.Unwind
		to.Arenas, to.Objects, to.ArenaCount = from.Arenas, from.Objects, from.ArenaCount
	}
	if derr := r.done(); err == nil {
		err = derr
	}
	return err
}

// withStopped runs fn on the tracer's thread, with a thread of the process that is stopped where system calls can be made
// in it. It prefers one that computes; else one whose system call the kernel restarts unnoticed.
//
// A thread may end under our hands, or all may be where nothing can be done for a moment: then it tries again.
func (p *process) withStopped(ctx context.Context, fn func(r *remote) error) error {
	const tries, pause = 100, 2 * time.Millisecond
	for n := 1; ; n++ {
		err := p.tryStopped(ctx, fn)
		if !errors.Is(err, errAllBlocked) && !errors.Is(err, ptrace.ErrGone) || n == tries || p.endedBefore(err) {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (p *process) tryStopped(ctx context.Context, fn func(r *remote) error) error {
	return p.t.tracer.Do(ctx, func() error {
		th, resume, err := p.haltOne()
		if err != nil {
			return err
		}
		defer resume()
		r, err := begin(p.t.tracer, th.tid, p.gadget)
		if err != nil {
			return err
		}
		err = fn(r)
		if derr := r.done(); err == nil {
			err = derr
		}
		th.again = r.again
		return err
	})
}

// System calls that return EINTR after a stop, though no handler ran (signal(7)): such a thread must not be stopped.
var notRestarted = map[int64]bool{
	unix.SYS_EPOLL_WAIT: true, unix.SYS_EPOLL_PWAIT: true, unix.SYS_EPOLL_PWAIT2: true, unix.SYS_SEMOP: true, unix.SYS_SEMTIMEDOP: true,
	unix.SYS_RT_SIGTIMEDWAIT: true, unix.SYS_IO_GETEVENTS: true, unix.SYS_IO_PGETEVENTS: true, unix.SYS_RECVFROM: true, unix.SYS_RECVMSG: true,
	unix.SYS_RECVMMSG: true, unix.SYS_SENDTO: true, unix.SYS_SENDMSG: true, unix.SYS_ACCEPT: true, unix.SYS_ACCEPT4: true, unix.SYS_CONNECT: true,
	unix.SYS_MSGRCV: true, unix.SYS_MSGSND: true, unix.SYS_PAUSE: true, unix.SYS_RT_SIGSUSPEND: true, unix.SYS_IO_URING_ENTER: true,
}

var errAllBlocked = errors.New("every thread waits in a system call that cannot be interrupted unnoticed")

// haltOne stops one thread and returns how to let it run again.
func (p *process) haltOne() (*thread, func(), error) {
	for _, th := range p.threads {
		if th.stopped {
			return th, func() {}, nil
		}
	}
	var second, third *thread
	for _, th := range p.threads {
		nr, _, running := blockedPC(p.pid, th.tid)
		switch {
		case running:
			if resume, ok := p.halt(th); ok {
				return th, resume, nil
			}
		case !notRestarted[nr]:
			second = th
		case nr != unix.SYS_CONNECT: // made a second time, it says that it is under way
			third = th // hideInterrupt makes it again
		}
	}
	for _, th := range []*thread{second, third} {
		if th == nil {
			continue
		}
		if resume, ok := p.halt(th); ok {
			return th, resume, nil
		}
	}
	return nil, nil, errAllBlocked
}

// halt stops a running thread. When another stop comes first it is kept for the handler, and the thread stays
// stopped until then. False: it ended.
func (p *process) halt(th *thread) (resume func(), ok bool) {
	if th.stopped {
		return func() {}, true
	}
	if ptrace.Interrupt(th.tid) != nil {
		return nil, false
	}
	s, err := ptrace.WaitStop(th.tid)
	if err != nil {
		if s.Ended {
			p.t.tracer.Defer(s)
		}
		return nil, false
	}
	th.stopped = true
	if s.Event == ptrace.EventStop && s.Signal == unix.SIGTRAP {
		return func() {
			th.stopped = false
			ptrace.Cont(th.tid, 0)
		}, true
	}
	p.t.tracer.Defer(s)
	return func() {}, true
}
