//go:build unix

// Package spool holds records between the rings that a target writes and the decoder behind them, so that a burst costs
// memory for some seconds instead of calls. It stands between package ring and the collector's drain: what moves bytes
// out of the rings appends them here at full speed, what decodes them reads at its own pace and gives the room back.
package spool

import (
	"errors"
	"fmt"
	"math/bits"
	"os"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Options bounds a spool.
type Options struct {
	BlockBytes int          // a power of two: the size of the rings that are moved here
	MostBytes  int64        // of the file
	Room       func() int64 // how many bytes the machine has to spare; nil: as many as it likes
}

const (
	// reserveBytes of memory are there for when the file can have no more: the decoder has to get on with every ring.
	reserveBytes = 32 << 20
	// keepBytes is what the file may hold while nothing is in it.
	keepBytes = 64 << 20
	// growBytes is by how much it grows until it is asked whether there is room.
	growBytes = 64 << 20
)

// Spool is a pool of blocks: of a file without a name, which is memory where the system has such files, and of a little
// memory for when there can be no more of it. Safe for concurrent use.
type Spool struct {
	spare   func() int64
	size    int
	most    int // blocks of the file
	reserve int // blocks of memory
	held    atomic.Int64

	mu   sync.Mutex // leaf
	file *os.File   // nil until it is needed
	mem  []byte     // the file, mapped to be read
	free []block
	next int // blocks of the file that were ever given out
	used int
	rams int // blocks of memory that are given out
	err  error
}

// block is room for as much as one ring holds.
type block struct {
	mem []byte
	at  int64 // in the file; -1: memory
}

// New makes a spool. Its file is made when it is needed.
func New(o Options) *Spool {
	return &Spool{spare: o.Room, size: o.BlockBytes, most: int(o.MostBytes / int64(o.BlockBytes)),
		reserve: max(reserveBytes/o.BlockBytes, 1)}
}

// Close frees what the spool holds. Nothing of it may be read any more.
func (s *Spool) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mem != nil {
		unix.Munmap(s.mem) //nolint:errcheck // it was mapped
		s.file.Close()
		s.mem, s.file = nil, nil
	}
	s.free, s.most, s.reserve = nil, 0, 0
}

// Err is why the file can have no more though its bound is not reached, nil if it can.
func (s *Spool) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Held is how many bytes are there to be read.
func (s *Spool) Held() int64 { return s.held.Load() }

// Used is how many bytes of blocks are given out.
func (s *Spool) Used() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return int64(s.used) * int64(s.size)
}

// Warm has memory at hand for the first so many bytes: what a burst costs most is the kernel's work for each new page.
// A burst that begins meanwhile waits for one step of it.
func (s *Spool) Warm(bytes int64) {
	for at := int64(0); at < bytes && s.warm(at); at += warmStep {
	}
}

const warmStep = 128 << 10

// warm has memory there for a step of the file. False: the spool is in use, or can have no more.
func (s *Spool) warm(at int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	most := int64(s.most) * int64(s.size)
	if s.next > 0 || at >= most || at == 0 && s.grow() != nil || s.file == nil {
		return false
	}
	allocate(s.file, at, min(warmStep, most-at))
	return true
}

// take gives a block out. False: there is none until others are given back.
func (s *Spool) take() (block, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.free); n > 0 { // the last one's pages are the warmest
		b := s.free[n-1]
		s.free = s.free[:n-1]
		s.used++
		return b, true
	}
	if s.next < s.most && s.err == nil {
		if s.err = s.grow(); s.err == nil {
			at := s.next * s.size
			s.next++
			s.used++
			return block{s.mem[at : at+s.size : at+s.size], int64(at)}, true
		}
	}
	if s.rams < s.reserve {
		s.rams++
		s.used++
		return block{make([]byte, s.size), -1}, true
	}
	return block{}, false
}

// grow makes the file, if there is none, and says why it may not have one more block. mu is held.
func (s *Spool) grow() error {
	if at := int64(s.next) * int64(s.size); s.spare != nil && at%growBytes < int64(s.size) && s.spare() < growBytes {
		return errScarce
	}
	if s.file != nil {
		return nil
	}
	f, err := newFile()
	if err != nil {
		return fmt.Errorf("make spool: %w", err)
	}
	mem, err := unix.Mmap(int(f.Fd()), 0, s.most*s.size, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		f.Close()
		return fmt.Errorf("make spool: %w", err)
	}
	s.file, s.mem = f, mem
	return nil
}

var errScarce = errors.New("the machine has no more memory to spare for it")

// give takes a block back. failed: it could not be written, and is not given out again.
func (s *Spool) give(b block, failed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used--
	switch {
	case b.at < 0:
		s.rams--
	case !failed:
		s.free = append(s.free, b)
	}
	if s.used > 0 {
		return
	}
	if s.file == nil {
		s.err = nil
		return
	}
	if s.next*s.size > keepBytes || s.err != nil { // nothing is in it: begin anew, perhaps with more room
		if err := s.file.Truncate(0); err == nil {
			s.next, s.free, s.err = 0, nil, nil
		}
	}
}

// write puts bytes into a block. n of them are there.
func (s *Spool) write(b block, off int, p []byte) (n int, err error) {
	if b.at < 0 {
		return copy(b.mem[off:], p), nil
	}
	for n < len(p) {
		k, err := unix.Pwrite(int(s.file.Fd()), p[n:], b.at+int64(off+n))
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			s.mu.Lock()
			s.err = fmt.Errorf("write spool: %w", err)
			s.mu.Unlock()
			return n, err
		}
		n += k
	}
	return n, nil
}

// Stream is what one ring's thread has written, in order. Its positions are the ring's: bytes since the ring's
// beginning, and a block holds what stood in the ring at once, so that records lie in it as they lay there. One
// goroutine appends and one reads.
type Stream struct {
	s     *Spool
	shift int
	head  atomic.Uint64

	mu     sync.Mutex // then Spool.mu
	first  uint64     // index of blocks[0]
	blocks []block
	failed bool   // the last one could not be written
	past   uint64 // released up to here
}

// Stream begins a stream at a position of its ring.
func (s *Spool) Stream(pos uint64) *Stream {
	st := &Stream{s: s, shift: bits.TrailingZeros(uint(s.size))}
	st.Restart(pos)
	return st
}

// Restart forgets what is in the stream and goes on at another position. Neither end may be in use.
func (st *Stream) Restart(pos uint64) {
	st.mu.Lock()
	defer st.mu.Unlock()
	for i, b := range st.blocks {
		st.s.give(b, st.failed && i == len(st.blocks)-1)
	}
	st.s.held.Add(-int64(st.head.Load() - st.past))
	st.blocks, st.failed, st.first, st.past = st.blocks[:0], false, pos>>st.shift, pos
	st.head.Store(pos)
}

// Append takes bytes at the stream's head, as many as there is room for. They must not lead over a block's end.
func (st *Stream) Append(p []byte) (n int) {
	st.mu.Lock()
	defer st.mu.Unlock()
	head := st.head.Load()
	b, ok := st.room(head >> st.shift)
	if !ok {
		return 0
	}
	n, err := st.s.write(b, int(head)&(st.s.size-1), p)
	n &^= 7
	st.failed = err != nil
	st.head.Store(head + uint64(n))
	st.s.held.Add(int64(n))
	return n
}

// room returns the block of an index, which is the last or the one behind it. mu is held.
func (st *Stream) room(index uint64) (block, bool) {
	if st.failed {
		return block{}, false
	}
	if len(st.blocks) == 0 {
		st.first = index
	}
	if at := index - st.first; at < uint64(len(st.blocks)) {
		return st.blocks[at], true
	}
	b, ok := st.s.take()
	if ok {
		st.blocks = append(st.blocks, b)
	}
	return b, ok
}

// Head is how far the stream can be read.
func (st *Stream) Head() uint64 { return st.head.Load() }

// Empty reports whether all that is in the stream was released.
func (st *Stream) Empty() bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.past == st.head.Load()
}

// Block is the memory of the block that holds positions from index times its size on; nil where there is none. It may
// be read as far as Head, until it is released.
func (st *Stream) Block(index uint64) []byte {
	st.mu.Lock()
	defer st.mu.Unlock()
	if at := index - st.first; at < uint64(len(st.blocks)) {
		return st.blocks[at].mem
	}
	return nil
}

// Release gives back what lies before a position.
func (st *Stream) Release(pos uint64) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.s.held.Add(-int64(pos - st.past))
	st.past = pos
	n := int(min(pos>>st.shift-st.first, uint64(len(st.blocks))))
	if n < len(st.blocks) && pos == st.head.Load() { // all is read: the next byte begins another
		n = len(st.blocks)
	}
	for i, b := range st.blocks[:n] {
		last := i == len(st.blocks)-1
		st.s.give(b, st.failed && last)
		st.failed = st.failed && !last
	}
	st.first += uint64(n)
	st.blocks = append(st.blocks[:0], st.blocks[n:]...)
}
