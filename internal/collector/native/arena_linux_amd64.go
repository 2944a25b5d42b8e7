package native

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"syscall"

	"github.com/strobe-debug/strobe/internal/hook"
	"github.com/strobe-debug/strobe/internal/ring"
	"golang.org/x/sys/unix"
)

// arena is a range of executable memory in the target for stubs, within reach of the modules that it serves.
//
//	lo          slots: 8-byte addresses of the agent's entry points
//	lo+ehOff    unwind entry of the whole arena
//	lo+stubOff  stubs, in the order of their making, never reused
type arena struct {
	lo, hi uint64
	next   uint64
}

const (
	ehOff   = 256
	stubOff = 512
	// reach keeps both the patch and every operand that a stub has to reach within 2 GiB.
	reach = 1<<31 - 1<<20
)

// Slots of an arena, in the order of the agent's entry points.
const (
	slotEnter = iota
	slotEnterVec
	slotEnterOnly
	slotExit
	slotExitVec
	slotExitST0
	slotExitST01
	slotExitTrap
	slotCopy
	slotProbe
	slotProbeVec
	slotGoEnter
	slotGoEnterVec
	slotGoExit
	slotGoExitVec
	slotLosses // where what was dropped is counted
	slotLockTake
	slotLockLeave
	slotLockCall
)

func (a *arena) slot(i int) hook.Addr { return hook.Addr(a.lo + uint64(i)*8) }

// reaches reports whether the arena can serve code in [lo, hi).
func (a *arena) reaches(lo, hi uint64) bool {
	return max(a.hi, hi)-min(a.lo, lo) < reach
}

// arenaFor returns an arena with room for need bytes that reaches [lo, hi), making one if there is none. r is a stopped
// thread, or nil: then one is stopped for it. probeMu is held.
func (p *process) arenaFor(ctx context.Context, r *remote, lo, hi uint64, need uint64) (*arena, error) {
	for _, a := range p.arenas {
		if a.reaches(lo, hi) && a.hi-a.next >= need {
			return a, nil
		}
	}
	if len(p.arenas) == ring.MaxArenas {
		return nil, fmt.Errorf("make room for stubs: all %d arenas are in use", ring.MaxArenas)
	}
	// Room for what may be asked next: every function of this code.
	size := max(need*2, (hi-lo)*2, 4<<20)
	size = (min(size, 512<<20) + 0xffff) &^ 0xffff
	var a *arena
	var err error
	try := func(r *remote) error {
		a, err = p.mapArena(r, lo, hi, size)
		return err
	}
	if r != nil {
		err = try(r)
	} else {
		err = p.withStopped(ctx, try)
	}
	return a, err
}

const arenaFlags = unix.MAP_PRIVATE | unix.MAP_ANONYMOUS | unix.MAP_NORESERVE | unix.MAP_FIXED_NOREPLACE

// mapArena finds a free place near [lo, hi) and maps it: below for position-independent programs, whose heap is above,
// and for libraries; above for programs at a low fixed address.
func (p *process) mapArena(r *remote, lo, hi, size uint64) (*arena, error) {
	maps, err := readMaps(p.pid)
	if err != nil {
		return nil, err
	}
	at, ok := freePlace(maps, lo, hi, size)
	if !ok {
		return nil, fmt.Errorf("make room for stubs: no %d MiB free within 2 GiB of 0x%x", size>>20, lo)
	}
	got, err := r.reserve(at, size, unix.PROT_READ|unix.PROT_EXEC, arenaFlags, -1)
	if err != nil {
		return nil, fmt.Errorf("map %d MiB for stubs at 0x%x: %w", size>>20, at, err)
	}
	if got != at { // a kernel before 4.17 does not know MAP_FIXED_NOREPLACE
		r.call(unix.SYS_MUNMAP, got, size)
		return nil, fmt.Errorf("map stubs at 0x%x: %w", at, syscall.EEXIST)
	}
	a := &arena{lo: at, hi: at + size, next: at + stubOff}
	return a, p.initArena(a)
}

// freePlace returns where size bytes are free, so that [place, place+size) and [lo, hi) are within reach of each other.
// It leaves a gap of 256 MiB to the code where it can, for heaps that grow.
func freePlace(maps []mapping, lo, hi, size uint64) (uint64, bool) {
	const gap, page, lowest = 256 << 20, 0x10000, 1 << 16
	free := func(at uint64) bool {
		if at < lowest || at+size > 1<<47 {
			return false
		}
		for _, m := range maps {
			if at < m.hi+page && m.lo < at+size+page {
				return false
			}
		}
		return true
	}
	// Downwards from a gap below the code, then upwards from the far end of what can be reached.
	for _, d := range []uint64{gap, 1 << 30, 3 << 29, 64 << 20, page} {
		if lo > d+size {
			if at := (lo - d - size) &^ (page - 1); hi-at < reach && free(at) {
				return at, true
			}
		}
	}
	for d := uint64(reach); d > size+(hi-lo); d -= 64 << 20 {
		if at := (lo + d - size) &^ (page - 1); at > hi && free(at) {
			return at, true
		}
		if d < 64<<20 {
			break
		}
	}
	// Anywhere below, in steps.
	for d := uint64(page); d < reach-size-(hi-lo) && lo > d+size; d += 16 << 20 {
		if at := (lo - d - size) &^ (page - 1); free(at) {
			return at, true
		}
	}
	return 0, false
}

// initArena writes the slots and the unwind entry, and tells the agent about the range.
func (p *process) initArena(a *arena) error {
	b := p.blob
	head := make([]byte, stubOff)
	for i, off := range []uint64{b.Enter, b.EnterVec, b.EnterOnly, b.Exit, b.ExitVec, b.ExitST0, b.ExitST01, b.ExitTrap,
		b.Copy, b.Probe, b.ProbeVec, b.GoEnter, b.GoEnterVec, b.GoExit, b.GoExitVec, ring.LossesOff, b.LockTake,
		b.LockLeave, b.LockCall} {
		binary.LittleEndian.PutUint64(head[i*8:], p.regionAddr+off)
	}
	eh := hook.EHFrame(hook.Addr(a.lo), int(a.hi-a.lo))
	if len(eh) > stubOff-ehOff {
		return errors.New("write unwind entry: larger than its place")
	}
	copy(head[ehOff:], eh)
	if err := p.mem.Write(a.lo, head); err != nil {
		return err
	}
	p.mu.Lock()
	p.changingLocked()
	p.arenas = append(p.arenas, a)
	p.mu.Unlock()
	p.changes.Add(1)
	list := append(append([]ring.Arena{}, *p.inArena.Load()...),
		ring.Arena{Lo: a.lo, Hi: a.hi, EH: a.lo + ehOff, FDE: a.lo + ehOff + hook.FDEOffset})
	p.inArena.Store(&list)
	p.region.SetArenas(list)
	return nil
}

// inStub reports whether pc is in code that Strobe put into the process and that must not be interrupted.
func (p *process) inStub(pc uint64) bool {
	if off := pc - p.regionAddr; off < p.blob.CriticalHi && off >= p.blob.CriticalLo {
		return true
	}
	for _, a := range *p.inArena.Load() {
		if pc >= a.Lo+stubOff && pc < a.Hi {
			return true
		}
	}
	return false
}
