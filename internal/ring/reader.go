package ring

import (
	"encoding/binary"
	"fmt"
)

// Rec is one record. Payload points into the source's memory and is valid until Commit.
type Rec struct {
	TSC     uint64
	SP      uint64
	Payload []byte
	Hook    uint32
	Kind    uint8
	Flags   uint8
}

// Source is where the bytes of one ring are read that were moved out of it. Positions are the ring's; a block is as
// large as the ring, and records lie in it as they lay there.
type Source interface {
	Head() uint64              // how far it can be read
	Block(index uint64) []byte // of positions from index times its size on; valid until it is released
	Release(pos uint64)        // what lies before pos will not be read again
}

// Reader reads the records of one ring. Not safe for concurrent use.
//
// It reads up to the head seen by Refresh, and gives the room back with Commit, so that payloads need not be copied.
type Reader struct {
	src  Source
	size uint64
	data []byte // the block that pos lies in
	at   uint64 // its index
	pos  uint64 // next byte to read
	head uint64 // readable up to here
	bad  error
}

// NewReader returns the reader of a ring of size bytes, a power of two, from a position.
func NewReader(src Source, size int, pos uint64) *Reader {
	return &Reader{src: src, size: uint64(size), pos: pos, head: pos}
}

// Refresh looks at what was added since. False when there is nothing to read.
func (rd *Reader) Refresh() bool {
	if rd.bad != nil {
		return false
	}
	rd.head = rd.src.Head()
	return rd.head != rd.pos
}

// Pos is how far the ring was read, and Head how far it can be: bytes since its beginning.
func (rd *Reader) Pos() uint64  { return rd.pos }
func (rd *Reader) Head() uint64 { return rd.head }

// Next reads one record; false at the head that Refresh saw, or at corrupt memory (Err).
func (rd *Reader) Next(rec *Rec) bool {
	for rd.pos != rd.head {
		at := rd.pos & (rd.size - 1)
		left := rd.size - at
		if left < RecordBytes {
			rd.pos += min(left, rd.head-rd.pos)
			continue
		}
		if index := rd.pos / rd.size; rd.data == nil || rd.at != index {
			rd.data, rd.at = rd.src.Block(index), index
		}
		if uint64(len(rd.data)) != rd.size || rd.head-rd.pos < RecordBytes {
			return rd.damaged(0, left)
		}
		b := rd.data[at:]
		size := uint64(binary.LittleEndian.Uint16(b[12:])) * 8
		if size < RecordBytes || size > left || size > rd.head-rd.pos {
			return rd.damaged(size, left)
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

// Peek passes on the kinds of the first records of a block, at most so many, and returns how many bytes they take.
func Peek(block []byte, most int, each func(hook uint32, kind, flags uint8)) (n int) {
	for ; most > 0 && len(block)-n >= RecordBytes; most-- {
		b := block[n:]
		size := int(binary.LittleEndian.Uint16(b[12:])) * 8
		if size < RecordBytes || size > len(b) {
			break
		}
		each(binary.LittleEndian.Uint32(b[8:]), b[14], b[15])
		n += size
	}
	return n
}

// damaged notes that what is to be read is no record.
func (rd *Reader) damaged(size, left uint64) bool {
	rd.bad = fmt.Errorf("record of %d bytes at %d, %d to the ring's end, %d published", size, rd.pos, left, rd.head-rd.pos)
	rd.head = rd.pos
	return false
}

// Commit gives back what was read.
func (rd *Reader) Commit() {
	rd.release(rd.pos)
}

// CommitBefore is Commit up to the record that was read last, which stays valid.
func (rd *Reader) CommitBefore(rec *Rec) {
	rd.release(rd.pos - uint64(RecordBytes+len(rec.Payload)))
}

func (rd *Reader) release(pos uint64) {
	rd.src.Release(pos)
	if rd.pos == pos || rd.at != pos/rd.size { // the block may have been given back
		rd.data = nil
	}
}

// Err is what was wrong with the records, if anything.
func (rd *Reader) Err() error { return rd.bad }

// Mend goes on behind all that is there: what was not read of it is lost.
func (rd *Reader) Mend() {
	rd.pos = rd.src.Head()
	rd.head, rd.bad, rd.data = rd.pos, nil, nil
	rd.src.Release(rd.pos)
}
