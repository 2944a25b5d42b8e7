package ring

import (
	"fmt"
	"sync/atomic"
	"unsafe"
)

// Region is the daemon's view of one target process's shared memory. The target can write to it at
// any time: nothing read from it is trusted. Close is the caller's: Unmap of the platform file.
type Region struct {
	mem       []byte
	ringCount int
	ringBytes int
}

// Size is the number of bytes of a region with that many rings.
func Size(ringCount, ringBytes int) int64 {
	return RingsOff + int64(ringCount)*int64(HeaderBytes+ringBytes)
}

// View makes a Region of mapped memory of Size(ringCount, ringBytes) bytes.
func View(mem []byte, ringCount, ringBytes int) (*Region, error) {
	if ringCount < 1 || ringCount > MaxRings || ringBytes < 1<<16 || ringBytes&(ringBytes-1) != 0 {
		return nil, fmt.Errorf("view rings: %d rings of %d bytes", ringCount, ringBytes)
	}
	if int64(len(mem)) < Size(ringCount, ringBytes) {
		return nil, fmt.Errorf("view rings: %d bytes of memory, want %d", len(mem), Size(ringCount, ringBytes))
	}
	return &Region{mem: mem, ringCount: ringCount, ringBytes: ringBytes}, nil
}

// Bytes is the whole memory.
func (r *Region) Bytes() []byte { return r.mem }

// Rings is how many rings there are.
func (r *Region) Rings() int { return r.ringCount }

// RingBytes is the size of each ring's data.
func (r *Region) RingBytes() int { return r.ringBytes }

// Control is the head of the region.
func (r *Region) Control() *Control { return (*Control)(unsafe.Pointer(&r.mem[ControlOff])) }

// Hook is the entry of hook i, below MaxHooks.
func (r *Region) Hook(i uint32) *Hook {
	return (*Hook)(unsafe.Pointer(&r.mem[HooksOff+int(i)*int(unsafe.Sizeof(Hook{}))]))
}

// Op is capture operation i, below MaxOps.
func (r *Region) Op(i uint32) *Op {
	return (*Op)(unsafe.Pointer(&r.mem[OpsOff+int(i)*int(unsafe.Sizeof(Op{}))]))
}

// Walk is the first op of walk program id, 0 if there is none.
func (r *Region) Walk(id uint16) *uint32 {
	return (*uint32)(unsafe.Pointer(&r.mem[WalksOff+4*int(id)]))
}

// Point is entry i of the points, below MaxPoints.
func (r *Region) Point(i uint32) *Point {
	return (*Point)(unsafe.Pointer(&r.mem[PointsOff+int(i)*int(unsafe.Sizeof(Point{}))]))
}

// Losses is what was dropped of hook i, below MaxHooks, up to now.
func (r *Region) Losses(i uint32) (enters, exits uint64) {
	for k := range LossShards {
		l := (*Loss)(unsafe.Pointer(&r.mem[LossesOff+(k*MaxHooks+int(i))*int(unsafe.Sizeof(Loss{}))]))
		enters += atomic.LoadUint64(&l.Enters)
		exits += atomic.LoadUint64(&l.Exits)
	}
	return enters, exits
}

// Slot is entry i of the thread table, below ThreadSlots.
func (r *Region) Slot(i int) *ThreadSlot {
	return (*ThreadSlot)(unsafe.Pointer(&r.mem[ThreadsOff+i*int(unsafe.Sizeof(ThreadSlot{}))]))
}

// State is the state word of ring i: RingFree, RingUsed or RingDead.
func (r *Region) State(i int) *uint32 { return (*uint32)(unsafe.Pointer(&r.mem[StatesOff+4*i])) }

// Header is the head of ring i.
func (r *Region) Header(i int) *Header {
	return (*Header)(unsafe.Pointer(&r.mem[RingsOff+i*(HeaderBytes+r.ringBytes)]))
}

// Data is the data of ring i.
func (r *Region) Data(i int) []byte {
	at := RingsOff + i*(HeaderBytes+r.ringBytes) + HeaderBytes
	return r.mem[at : at+r.ringBytes : at+r.ringBytes]
}

// Beat tells the agent that the daemon is alive at that time.
func (r *Region) Beat(ticks uint64) { atomic.StoreUint64(&r.Control().HeartbeatTSC, ticks) }

// AckSync tells waiting threads that the module list was looked at; the caller wakes the word returned.
func (r *Region) AckSync(seq uint32) *uint32 {
	w := &r.Control().SyncAck
	atomic.StoreUint32(w, seq)
	return w
}

// SyncSeq is how many changes of the module list the target announced.
func (r *Region) SyncSeq() uint32 { return atomic.LoadUint32(&r.Control().SyncSeq) }

// LeaveSeq is how often the target asked to be let go.
func (r *Region) LeaveSeq() uint32 { return atomic.LoadUint32(&r.Control().LeaveSeq) }

// AckLeave tells the waiting thread that nobody traces it any more; the caller wakes the word returned.
func (r *Region) AckLeave(seq uint32) *uint32 {
	w := &r.Control().LeaveAck
	atomic.StoreUint32(w, seq)
	return w
}

// RetireThread forgets the FS base of an ended thread and marks its ring as dead, to be freed when drained.
func (r *Region) RetireThread(tid uint32) {
	for i := range ThreadSlots {
		s := r.Slot(i)
		if fs := atomic.LoadUint64(&s.FS); fs < 2 || s.TID != tid {
			continue
		}
		ring := s.Ring
		atomic.StoreUint64(&s.FS, 1)
		if ring >= 1 && int(ring) <= r.ringCount {
			atomic.CompareAndSwapUint32(r.State(int(ring-1)), RingUsed, RingDead)
		}
	}
}

// SetArenas tells the agent where stubs are: the list only grows.
func (r *Region) SetArenas(list []Arena) {
	c := r.Control()
	copy(c.Arenas[:], list)
	atomic.StoreUint32(&c.ArenaCount, uint32(min(len(list), MaxArenas)))
}

// HookSample is the word that says how few calls of a hook are recorded: Hook.Sample.
func (r *Region) HookSample(i uint32) *uint32 { return &r.Hook(i).Sample }

// HookHot is Hook.Hot.
func (r *Region) HookHot(i uint32) *uint16 { return &r.Hook(i).Hot }

// GiveRing gives a thread a ring, as the agent does it (agent.c, new_thread), where it has none. False: none is free.
func (r *Region) GiveRing(tid uint32, fs uint64) bool {
	ring := -1
	for i := 0; i < r.ringCount && ring < 0; i++ {
		if atomic.LoadUint32(r.State(i)) == RingUsed && atomic.LoadUint32(&r.Header(i).TID) == tid {
			ring = i
		}
	}
	for i := 0; i < r.ringCount && ring < 0; i++ {
		if atomic.CompareAndSwapUint32(r.State(i), RingFree, RingUsed) {
			ring = i
			atomic.StoreUint32(&r.Header(i).TID, tid)
			r.Header(i).Locks.Count, r.Header(i).Locks.Thread = 0, 0
			r.Header(i).Locks.Held[0].Hash += 1<<32 | 1 // another than the thread's before
			if c := r.Control(); atomic.LoadUint32(&c.RingHint) < uint32(i+1) {
				atomic.StoreUint32(&c.RingHint, uint32(i+1))
			}
		}
	}
	if ring < 0 {
		return false
	}
	for k, at := 0, int(fs*0x9E3779B97F4A7C15>>51); k < ThreadSlots; k, at = k+1, (at+1)%ThreadSlots {
		s := r.Slot(at)
		old := atomic.LoadUint64(&s.FS)
		if old == fs || old < 2 && atomic.CompareAndSwapUint64(&s.FS, old, fs) {
			s.TID, s.Ring = tid, uint32(ring+1)
			return true
		}
	}
	return false
}

// HasRing reports whether a thread has a ring.
func (r *Region) HasRing(tid uint32) bool {
	hint := int(atomic.LoadUint32(&r.Control().RingHint))
	for i := range r.ringCount {
		switch atomic.LoadUint32(r.State(i)) {
		case RingUsed:
			if atomic.LoadUint32(&r.Header(i).TID) == tid {
				return true
			}
		case RingFree:
			if i >= hint { // they are given out in order
				return false
			}
		}
	}
	return false
}

// Locks is the head of the tables of locks.
func (r *Region) Locks() *Locks { return (*Locks)(unsafe.Pointer(&r.mem[LocksOff])) }

// LockEdge is edge i, below MaxLockEdges.
func (r *Region) LockEdge(i int) *LockEdge {
	return (*LockEdge)(unsafe.Pointer(&r.mem[LockEdgesOff+i*LockEdgeBytes]))
}

// LockStack is entry i of the stacks, below MaxLockStacks.
func (r *Region) LockStack(i int) *LockStack {
	return (*LockStack)(unsafe.Pointer(&r.mem[LockStacksOff+i*LockStackBytes]))
}

// LockWait is entry i of what was waited for, below MaxLockWaits.
func (r *Region) LockWait(i int) *LockWait {
	return (*LockWait)(unsafe.Pointer(&r.mem[LockWaitsOff+i*LockWaitBytes]))
}
