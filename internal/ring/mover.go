package ring

import (
	"fmt"
	"sync/atomic"
)

// Mover takes the bytes out of one ring. Not safe for concurrent use.
type Mover struct {
	h    *Header
	data []byte
	pos  uint64 // taken up to here
	head uint64 // published by then
	bad  error
}

// Mover returns what takes the bytes out of ring i, from its present tail.
func (r *Region) Mover(i int) *Mover {
	h := r.Header(i)
	at := atomic.LoadUint64(&h.Tail)
	return &Mover{h: h, data: r.Data(i), pos: at, head: at}
}

// TID is the thread that the ring belongs to.
func (m *Mover) TID() uint32 { return atomic.LoadUint32(&m.h.TID) }

// Pos is how far the ring was taken, and Head how far Look saw it published: bytes since its beginning.
func (m *Mover) Pos() uint64  { return m.pos }
func (m *Mover) Head() uint64 { return m.head }

// Look sees what was published since. False when there is nothing to take.
func (m *Mover) Look() bool {
	if m.bad != nil {
		return false
	}
	head := atomic.LoadUint64(&m.h.Head)
	if head-m.pos > uint64(len(m.data)) || head%8 != 0 || m.pos%8 != 0 {
		m.bad = fmt.Errorf("ring of thread %d: head %d, tail %d, size %d", m.TID(), head, m.pos, len(m.data))
		return false
	}
	// Nobody else writes it: who waits for room at another tail would wait for ever.
	if tail := atomic.LoadUint64(&m.h.Tail); tail != m.pos {
		m.bad = fmt.Errorf("ring of thread %d: tail %d, was %d", m.TID(), tail, m.pos)
		return false
	}
	m.head = head
	return head != m.pos
}

// Bytes are those that Look saw and that were not taken yet, up to the ring's end: the rest is there when they are
// taken.
func (m *Mover) Bytes() []byte {
	at := m.pos & uint64(len(m.data)-1)
	return m.data[at:min(at+m.head-m.pos, uint64(len(m.data)))]
}

// Take gives n bytes back to the producer. True when a thread waits for that: the caller wakes it by a futex on
// TailWord.
func (m *Mover) Take(n int) bool {
	m.pos += uint64(n)
	atomic.StoreUint64(&m.h.Tail, m.pos)
	return atomic.LoadUint32(&m.h.Waiting) != 0
}

// TailWord is the low half of the tail, the word that a waiting thread sleeps on.
func (m *Mover) TailWord() *uint32 { return tailWord(m.h) }

// Err is what was wrong with the ring's memory, if anything.
func (m *Mover) Err() error { return m.bad }

// Lost is how many records the thread has dropped ever, and when the last of them were. Where Look is false behind it,
// all of them were dropped behind what was taken.
func (m *Mover) Lost() (total, first, last uint64) {
	return atomic.LoadUint64(&m.h.LostTotal), atomic.LoadUint64(&m.h.LostFirst), atomic.LoadUint64(&m.h.LostLast)
}

// Waited is how often the thread has waited for room, and how long by its clock.
func (m *Mover) Waited() (times, ticks uint64) {
	return atomic.LoadUint64(&m.h.Waits), atomic.LoadUint64(&m.h.Waited)
}

// Mend goes on behind what is published, when the program has damaged the ring's memory: what was in it is lost, and
// its producer has all the room. True when a thread waits for that.
func (m *Mover) Mend() bool {
	head := atomic.LoadUint64(&m.h.Head)
	if odd := head % 8; odd != 0 {
		head += 8 - odd
		atomic.StoreUint64(&m.h.Head, head)
	}
	m.pos, m.head, m.bad = head, head, nil
	return m.Take(0)
}

// Free gives a dead ring back to the pool; all of it must have been taken.
func (r *Region) Free(i int) {
	h := r.Header(i)
	h.Head, h.CachedTail, h.Lost, h.LostFirst, h.LostLast, h.LostTotal = 0, 0, 0, 0, 0, 0
	h.Tail, h.Waiting, h.TID, h.SavedCount = 0, 0, 0, 0
	h.GaveUp, h.Waits, h.Waited = 0, 0, 0
	atomic.StoreUint32(r.State(i), RingFree)
}
