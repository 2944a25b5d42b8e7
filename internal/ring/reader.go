package ring

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"
)

// Rec is one record. Payload points into the ring and is valid until Commit.
type Rec struct {
	TSC     uint64
	SP      uint64
	Payload []byte
	Hook    uint32
	Kind    uint8
	Flags   uint8
}

// Reader consumes one ring. Not safe for concurrent use.
//
// It reads up to the head seen by Refresh, and gives the space back with Commit, so that payloads need
// not be copied.
type Reader struct {
	r    *Region
	i    int
	h    *Header
	data []byte
	pos  uint64 // next byte to read
	head uint64 // readable up to here
	bad  error
}

// Reader returns the reader of ring i, from its present tail.
func (r *Region) Reader(i int) *Reader {
	h := r.Header(i)
	return &Reader{r: r, i: i, h: h, data: r.Data(i), pos: atomic.LoadUint64(&h.Tail), head: atomic.LoadUint64(&h.Tail)}
}

// TID is the thread that the ring belongs to.
func (rd *Reader) TID() uint32 { return atomic.LoadUint32(&rd.h.TID) }

// Refresh looks at what was published since. False when there is nothing to read.
func (rd *Reader) Refresh() bool {
	if rd.bad != nil {
		return false
	}
	head := atomic.LoadUint64(&rd.h.Head)
	if head-rd.pos > uint64(len(rd.data)) || head%8 != 0 {
		rd.bad = fmt.Errorf("ring %d: head %d, tail %d, size %d", rd.i, head, rd.pos, len(rd.data))
		return false
	}
	rd.head = head
	return head != rd.pos
}

// Lag is how many bytes are published and not read.
func (rd *Reader) Lag() uint64 { return rd.head - rd.pos }

// Next reads one record; false at the head that Refresh saw, or at corrupt memory (Err).
func (rd *Reader) Next(rec *Rec) bool {
	for rd.pos != rd.head {
		at := rd.pos & uint64(len(rd.data)-1)
		left := uint64(len(rd.data)) - at
		if left < RecordBytes {
			rd.pos += left
			continue
		}
		b := rd.data[at:]
		size := uint64(binary.LittleEndian.Uint16(b[12:])) * 8
		if size < RecordBytes || size > left || size > rd.head-rd.pos {
			rd.bad = fmt.Errorf("ring %d: record of %d bytes at %d, %d to its end, %d published", rd.i, size, at, left, rd.head-rd.pos)
			rd.head = rd.pos
			return false
		}
		rd.pos += size
		if b[14] == RecPad {
			continue
		}
		rec.TSC = binary.LittleEndian.Uint64(b)
		rec.Hook = binary.LittleEndian.Uint32(b[8:])
		rec.Kind, rec.Flags = b[14], b[15]
		rec.SP = binary.LittleEndian.Uint64(b[16:])
		rec.Payload = b[RecordBytes:size:size]
		return true
	}
	return false
}

// Commit gives what was read back to the producer. True when a thread waits for it: the caller
// wakes it by a futex on TailWord.
func (rd *Reader) Commit() bool {
	atomic.StoreUint64(&rd.h.Tail, rd.pos)
	return atomic.LoadUint32(&rd.h.Waiting) != 0
}

// TailWord is the low half of the tail, the word that a waiting thread sleeps on.
func (rd *Reader) TailWord() *uint32 { return tailWord(rd.h) }

// Err is what was wrong with the ring's memory, if anything.
func (rd *Reader) Err() error { return rd.bad }

// TakeLost returns the records dropped and not yet reported in the stream, for a thread that cannot
// write any more.
func (rd *Reader) TakeLost() (count, first, last uint64) {
	return atomic.SwapUint64(&rd.h.Lost, 0), rd.h.LostFirst, rd.h.LostLast
}

// Free gives a dead ring back to the pool; it must have been read to its end.
func (r *Region) Free(i int) {
	h := r.Header(i)
	h.Head, h.CachedTail, h.Lost, h.LostFirst, h.LostLast = 0, 0, 0, 0, 0
	h.Tail, h.Waiting, h.TID, h.SavedCount = 0, 0, 0, 0
	atomic.StoreUint32(r.State(i), RingFree)
}

// CommitBefore is Commit up to the record that was read last, which stays valid.
func (rd *Reader) CommitBefore(rec *Rec) {
	atomic.StoreUint64(&rd.h.Tail, rd.pos-uint64(RecordBytes+len(rec.Payload)))
}

// Waiting reports whether the producer waits for room.
func (rd *Reader) Waiting() bool { return atomic.LoadUint32(&rd.h.Waiting) != 0 }
