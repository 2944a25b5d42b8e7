package ring

import (
	"bytes"
	"encoding/binary"
	"sync/atomic"
	"testing"
)

const testRing = 1 << 16

func newRegion(t testing.TB, rings int) *Region {
	t.Helper()
	r, err := View(make([]byte, Size(rings, testRing)), rings, testRing)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// moved is what a Mover has taken out of a ring, in blocks as large as that.
type moved struct {
	mv       *Mover
	blocks   map[uint64][]byte
	from     uint64
	released uint64
}

func newMoved(r *Region, i int) *moved {
	m := &moved{mv: r.Mover(i), blocks: map[uint64][]byte{}}
	m.from = m.mv.Pos()
	return m
}

func (m *moved) Head() uint64          { return m.mv.Pos() }
func (m *moved) Block(i uint64) []byte { return m.blocks[i] }
func (m *moved) Release(pos uint64)    { m.released = pos }

// move takes all that is published.
func (m *moved) move() (waiting bool) {
	for m.mv.Look(); len(m.mv.Bytes()) > 0; {
		b, pos := m.mv.Bytes(), m.mv.Pos()
		if m.blocks[pos/testRing] == nil {
			m.blocks[pos/testRing] = make([]byte, testRing)
		}
		copy(m.blocks[pos/testRing][pos%testRing:], b)
		waiting = m.mv.Take(len(b))
	}
	return waiting
}

// put writes one record as the agent does, with what goes before it at the ring's end, and returns the new head.
func put(data []byte, head uint64, kind uint8, hook uint32, payload []byte) uint64 {
	size := uint64(RecordBytes + len(payload))
	at := head % uint64(len(data))
	if left := uint64(len(data)) - at; left < size {
		if left >= RecordBytes {
			writeRecord(data[at:], uint16(left/8), RecPad, 0)
		}
		head += left
		at = 0
	}
	writeRecord(data[at:], uint16(size/8), kind, hook)
	copy(data[at+RecordBytes:], payload)
	return head + size
}

func writeRecord(b []byte, size8 uint16, kind uint8, hook uint32) {
	binary.LittleEndian.PutUint64(b, 7)
	binary.LittleEndian.PutUint32(b[8:], hook)
	binary.LittleEndian.PutUint16(b[12:], size8)
	b[14], b[15] = kind, 0
	binary.LittleEndian.PutUint64(b[16:], 9)
}

// Records of all sizes come out as they went in, many times round the ring.
func TestReaderWraps(t *testing.T) {
	r := newRegion(t, 2)
	h, data, m := r.Header(1), r.Data(1), newMoved(r, 1)
	rd := NewReader(m, testRing, m.from)
	head, read := uint64(0), uint32(0)
	var rec Rec
	drain := func() {
		m.move()
		for rd.Refresh() {
			for rd.Next(&rec) {
				want := bytes.Repeat([]byte{byte(read)}, int(read*8%2000/8*8))
				if rec.Hook != read || rec.Kind != RecEnter || rec.TSC != 7 || rec.SP != 9 || !bytes.Equal(rec.Payload, want) {
					t.Fatalf("record %d = %+v, want %d bytes of payload", read, rec, len(want))
				}
				read++
			}
			rd.Commit()
		}
		if err := rd.Err(); err != nil {
			t.Fatal(err)
		}
	}
	const records = 2000
	for i := range uint32(records) {
		payload := bytes.Repeat([]byte{byte(i)}, int(i*8%2000/8*8))
		if head+2*uint64(RecordBytes+len(payload)) > atomic.LoadUint64(&h.Tail)+testRing {
			if i%3 == 0 {
				m.move()
			} else {
				drain()
			}
		}
		head = put(data, head, RecEnter, i, payload)
		atomic.StoreUint64(&h.Head, head)
	}
	drain()
	if read != records || h.Tail != head || m.released != head {
		t.Errorf("%d of %d records, tail %d, head %d, released %d", read, records, h.Tail, head, m.released)
	}
}

// What was read ahead is not released until it is delivered; the ring has its room back at once.
func TestCommitBefore(t *testing.T) {
	r := newRegion(t, 1)
	h, data, m := r.Header(0), r.Data(0), newMoved(r, 0)
	rd := NewReader(m, testRing, m.from)
	one := put(data, 0, RecEnter, 1, make([]byte, 16))
	h.Head = put(data, one, RecExit, 2, nil)
	h.Waiting = 1
	if !m.move() || h.Tail != h.Head {
		t.Errorf("the waiting thread is not reported, or tail %d is not head %d", h.Tail, h.Head)
	}
	var rec Rec
	for rd.Refresh(); rd.Next(&rec); {
		rd.CommitBefore(&rec)
		if want := (uint64(rec.Hook) - 1) * one; m.released != want {
			t.Errorf("released before record %d: %d, want %d", rec.Hook, m.released, want)
		}
	}
}

// FuzzReader gives mover and reader memory that the target has overwritten: they end with an error or not, never
// outside the ring.
func FuzzReader(f *testing.F) {
	good := make([]byte, testRing)
	head := uint64(0)
	for i := range uint32(40) {
		head = put(good, head, uint8(1+i%3), i, make([]byte, i*8))
	}
	f.Add(uint64(0), head, good[:head])
	f.Add(uint64(0), uint64(testRing), good)
	f.Add(uint64(testRing-24), uint64(testRing+24), good[:200])
	f.Add(^uint64(0)-7, uint64(64), good[:200])
	f.Add(uint64(8), uint64(0), []byte{})
	f.Add(uint64(0), uint64(1<<40), good[:100])
	f.Add(uint64(0), uint64(48), bytes.Repeat([]byte{0xff}, 48))
	f.Add(uint64(0), uint64(48), make([]byte, 48))
	r := newRegion(f, 1)
	h, data := r.Header(0), r.Data(0)
	f.Fuzz(func(t *testing.T, tail, head uint64, b []byte) {
		*h = Header{}
		clear(data)
		h.Tail, h.Head = tail, head
		for i := range b[:min(len(b), len(data))] {
			data[(tail+uint64(i))%testRing] = b[i]
		}
		m := newMoved(r, 0)
		m.move()
		rd := NewReader(m, testRing, m.from)
		var rec Rec
		total := uint64(0)
		for rd.Refresh() {
			for rd.Next(&rec) {
				if len(rec.Payload)%8 != 0 || cap(rec.Payload) != len(rec.Payload) || len(rec.Payload) > testRing-RecordBytes {
					t.Fatalf("payload of %d bytes, capacity %d", len(rec.Payload), cap(rec.Payload))
				}
				if total += uint64(len(rec.Payload)) + RecordBytes; total > testRing {
					t.Fatalf("%d bytes came out of a ring of %d", total, testRing)
				}
				rd.CommitBefore(&rec)
				if lag := rd.Head() - rd.Pos(); lag > testRing {
					t.Fatalf("lag = %d", lag)
				}
			}
			rd.Commit()
		}
		if rd.Err() != nil && (rd.Refresh() || rd.Next(&rec)) {
			t.Fatal("a damaged ring is read on")
		}
		m.mv.Mend()
		if rd.Mend(); m.mv.Err() != nil || rd.Err() != nil || rd.Refresh() || h.Tail != h.Head {
			t.Fatalf("after mending: tail %d, head %d, %v, %v", h.Tail, h.Head, m.mv.Err(), rd.Err())
		}
		m.mv.Lost()
	})
}

// FuzzThreads gives the thread table any contents.
func FuzzThreads(f *testing.F) {
	f.Add(uint64(5), uint32(1), uint32(7), uint32(RingUsed))
	f.Add(uint64(5), uint32(0), uint32(7), uint32(RingUsed))
	f.Add(^uint64(0), ^uint32(0), uint32(7), ^uint32(0))
	r := newRegion(f, 2)
	f.Fuzz(func(t *testing.T, fs uint64, ring, tid, state uint32) {
		for i := range 2 {
			*r.State(i) = state
		}
		*r.Slot(int(fs % ThreadSlots)) = ThreadSlot{FS: fs, Ring: ring, TID: tid}
		r.RetireThread(tid)
		for i := range 2 {
			hit := fs >= 2 && int(ring) == i+1 && state == RingUsed
			if got := *r.State(i); hit && got != RingDead || !hit && got != state {
				t.Errorf("state of ring %d = %d, was %d; slot %d %d", i, got, state, fs, ring)
			}
		}
	})
}
