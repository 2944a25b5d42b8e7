package native

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/ptrace"
	"github.com/strobe-debug/strobe/internal/ring"
	"golang.org/x/sys/unix"
)

// Region sizes, tried in this order: an address space limit may refuse the first.
var ringCounts = []int{4096, 512, 64, 16}

// findTools finds what it takes to make system calls in a process.
func (p *process) findTools() (err error) {
	if p.gadget != 0 {
		return nil
	}
	maps, err := readMaps(p.pid)
	if err != nil {
		return err
	}
	if len(maps) == 0 { // its memory goes first when it ends
		return ptrace.ErrGone
	}
	p.gadget, err = findGadget(p.mem, maps)
	return err
}

// injectFirst is inject for a process that is stopped at its exec. Tracer thread only.
func (p *process) injectFirst(tid int) error {
	if err := p.findTools(); err != nil {
		return err
	}
	r, err := begin(p.t.tracer, tid, p.gadget)
	if err != nil {
		return err
	}
	err = p.inject(r)
	if derr := r.done(); err == nil {
		err = derr
	}
	return err
}

// inject puts the shared region and the agent into a process. Tracer thread only.
func (p *process) inject(r *remote) error {
	maps, err := readMaps(p.pid)
	if err != nil {
		return err
	}
	if p.blob, err = agentHeader(); err != nil {
		return err
	}
	for i, count := range ringCounts {
		last := i == len(ringCounts)-1
		if count > lockedRings && !last && locksMemory(r.tid) {
			continue
		}
		err = p.mapRegion(r, count, p.regionHint(maps), false)
		// the latter where locked memory is limited
		if !errors.Is(err, syscall.ENOMEM) && !errors.Is(err, syscall.EAGAIN) || last {
			break
		}
	}
	return err
}

// lockedRings is how many a process gets that may lock all its memory: what it has of ours by then is locked with it.
const lockedRings = 64

// locksMemory reports whether a process's program may lock all its memory later.
func locksMemory(tid int) bool {
	if ptrace.StatusField(tid, "VmLck") != "0 kB" { // it has, and reserve knows
		return false
	}
	f, err := elf.Open(fmt.Sprintf("/proc/%d/exe", tid))
	if err != nil {
		return false
	}
	defer f.Close()
	syms, err := f.DynamicSymbols()
	return err == nil && slices.ContainsFunc(syms, func(s elf.Symbol) bool { return s.Name == "mlockall" })
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

// regionPath is how the region is called among a process's mappings: the kernel's word for the platform is its memfd's
// name.
const regionPath = "/memfd:x86_64 (deleted)"

// mapRegion makes the memfd in the target, so that both sides map the same memory. at is where: a hint, or,
// when fixed, the address of a region that it replaces.
func (p *process) mapRegion(r *remote, rings int, at uint64, fixed bool) error {
	aux, err := ptrace.Auxv(r.tid)
	if err != nil {
		return err
	}
	name := aux[atPlatform] // any text will do: "x86_64"
	fd, err := r.call(unix.SYS_MEMFD_CREATE, name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING|unix.MFD_EXEC)
	if errors.Is(err, syscall.EINVAL) { // before Linux 6.3
		fd, err = r.call(unix.SYS_MEMFD_CREATE, name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	}
	if err != nil {
		return fmt.Errorf("create shared memory in process %d: %w", p.pid, err)
	}
	defer r.call(unix.SYS_CLOSE, fd)
	size := ring.Size(rings, p.t.ringBytes)
	mem, inode, err := mapShared(fmt.Sprintf("/proc/%d/fd/%d", r.tid, fd), size)
	if err != nil {
		return err
	}
	p.inode = inode
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
	addr, err := r.reserve(at, uint64(size), unix.PROT_READ|unix.PROT_WRITE, flags, int64(fd))
	if err != nil && !fixed {
		addr, err = r.reserve(0, uint64(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_NORESERVE, int64(fd))
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
	p.injected.Store(true)
	return nil
}

// mapShared maps the file here. It keeps its size from now on: where a program made it shorter, our reading of it would
// be a fault.
func mapShared(path string, size int64) (mem []byte, inode uint64, err error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, 0, fmt.Errorf("open shared memory: %w", err)
	}
	defer f.Close()
	if err := f.Truncate(size); err != nil {
		return nil, 0, fmt.Errorf("size shared memory: %w", err)
	}
	if _, err := unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|
		unix.F_SEAL_SEAL); err != nil {
		return nil, 0, fmt.Errorf("seal shared memory: %w", err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return nil, 0, fmt.Errorf("look at shared memory: %w", err)
	}
	if st.Size != size { // before it was sealed
		return nil, 0, fmt.Errorf("size shared memory: the program made it %d bytes", st.Size)
	}
	if mem, err = unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_SHARED|unix.MAP_NORESERVE); err != nil {
		return nil, 0, fmt.Errorf("map shared memory: %w", err)
	}
	return mem, st.Ino, nil
}

// staleAfter is how long the daemon may be silent before the agent takes it for dead and stops
// following pointers (whose faults only the daemon can catch) and waiting for room.
const staleAfter = 2 * time.Second

// waitMost is how long a thread waits for room while none is made, where it does not wait for ever: on a machine with
// ten threads for each CPU the decoder may not get on for a second.
const waitMost = 5 * time.Second

func (p *process) initControl(aux map[uint64]uint64) {
	c := p.region.Control()
	c.Magic, c.Version = ring.Magic, ring.Version
	c.RingCount, c.RingBytes = uint32(p.region.Rings()), uint32(p.region.RingBytes())
	c.StaleTicks = p.t.rt.clock.TicksIn(staleAfter)
	c.Flags = 0
	if p.hosting.Load() {
		c.Flags |= ring.FlagByTID
	}
	switch p.t.cmd.OnFull {
	case collector.OnFullWait:
		c.WaitTicks = p.t.rt.clock.TicksIn(waitMost)
		c.Flags |= ring.FlagBlock
	case collector.OnFullBlock:
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

// setFlags sets flags of the agent's.
func (p *process) setFlags(flags uint32) { atomic.OrUint32(&p.region.Control().Flags, flags) }

func (p *process) clearFlags(flags uint32) { atomic.AndUint32(&p.region.Control().Flags, ^flags) }
