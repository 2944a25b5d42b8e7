//go:build unix

package spool

import (
	"bytes"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

const testBlock = 1 << 14

// pattern is the byte at a position of a stream.
func pattern(seed int, pos uint64) byte { return byte(uint64(seed) + pos/8*7 + pos>>13) }

// fill appends up to n bytes of the pattern, not over a block's end.
func fill(st *Stream, seed, n int) int {
	head := st.Head()
	b := make([]byte, min(n, int(testBlock-head%testBlock)))
	for i := range b {
		b[i] = pattern(seed, head+uint64(i))
	}
	return st.Append(b)
}

// check reads from pos to the head and returns that.
func check(t *testing.T, st *Stream, seed int, pos uint64) uint64 {
	t.Helper()
	for head := st.Head(); pos < head; {
		b := st.Block(pos / testBlock)
		if b == nil {
			t.Fatalf("no block for position %d of %d", pos, head)
		}
		for at := pos % testBlock; at < testBlock && pos < head; at, pos = at+1, pos+1 {
			if b[at] != pattern(seed, pos) {
				t.Fatalf("byte %d is %d, want %d", pos, b[at], pattern(seed, pos))
			}
		}
	}
	return pos
}

// TestStreamsAtOnce: streams that are filled and read at once, at any pace, keep what was put into them, and give all
// of it back.
func TestStreamsAtOnce(t *testing.T) {
	const streams, each = 5, 40 * testBlock
	s := New(Options{BlockBytes: testBlock, MostBytes: 24 * testBlock})
	defer s.Close()
	var wg sync.WaitGroup
	for k := range streams {
		from := uint64(k) * 1000 * 8
		st := s.Stream(from)
		done := make(chan struct{})
		wg.Add(2)
		go func() {
			defer wg.Done()
			defer close(done)
			r := rand.New(rand.NewPCG(1, uint64(k)))
			for st.Head() < from+each {
				fill(st, k, 8+8*r.IntN(900))
			}
		}()
		go func() {
			defer wg.Done()
			for pos := from; pos < from+each; {
				if pos = check(t, st, k, pos); t.Failed() {
					<-done
					return
				}
				st.Release(pos)
			}
		}()
	}
	wg.Wait()
	if s.Used() != 0 || s.Held() != 0 || s.Err() != nil {
		t.Errorf("%d bytes are used, %d held, %v", s.Used(), s.Held(), s.Err())
	}
}

// TestBound: at its bound a spool takes no more than its reserve, loses nothing, and goes on when something was read.
func TestBound(t *testing.T) {
	s := New(Options{BlockBytes: testBlock, MostBytes: 3 * testBlock})
	defer s.Close()
	s.reserve = 1
	st := s.Stream(0)
	for fill(st, 1, testBlock) > 0 {
	}
	if st.Head() != 4*testBlock {
		t.Fatalf("%d bytes, want three blocks and the reserve", st.Head())
	}
	pos := check(t, st, 1, 0)
	st.Release(testBlock + 8)
	if n := fill(st, 1, testBlock); n != testBlock {
		t.Errorf("%d bytes after one block was read", n)
	}
	if check(t, st, 1, pos) != 5*testBlock {
		t.Errorf("head %d", st.Head())
	}
	if s.Held() != 4*testBlock-8 {
		t.Errorf("%d bytes held", s.Held())
	}
	if st.Restart(80); s.Used() != 0 || s.Held() != 0 || st.Head() != 80 {
		t.Errorf("after a restart %d bytes are used, head %d", s.Used(), st.Head())
	}
}

// TestNoRoom: where the machine has nothing to spare the reserve is used, and why is known; it goes on when there is
// room again.
func TestNoRoom(t *testing.T) {
	spare := int64(growBytes - 1)
	s := New(Options{BlockBytes: testBlock, MostBytes: 100 * testBlock, Room: func() int64 { return spare }})
	defer s.Close()
	s.reserve = 2
	st := s.Stream(0)
	for fill(st, 3, testBlock) > 0 {
	}
	if st.Head() != 2*testBlock || s.Err() == nil {
		t.Errorf("%d bytes, %v", st.Head(), s.Err())
	}
	pos := check(t, st, 3, 0)
	st.Release(pos)
	for spare = growBytes; fill(st, 3, testBlock) > 0; {
	}
	if st.Head() != 2*testBlock+102*testBlock || check(t, st, 3, pos) != st.Head() {
		t.Errorf("with room it goes on to %d bytes", st.Head()-pos)
	}
}

// TestDiskFull: a write that the disk refuses loses nothing: what is there is read, and the rest goes elsewhere.
func TestDiskFull(t *testing.T) {
	s := New(Options{BlockBytes: testBlock, MostBytes: 100 * testBlock})
	defer s.Close()
	st := s.Stream(0)
	fill(st, 9, testBlock/2)
	real := s.file
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	s.file = full
	if n := fill(st, 9, testBlock); n != 0 || s.Err() == nil {
		t.Errorf("%d bytes taken, %v", n, s.Err())
	}
	pos := check(t, st, 9, 0)
	st.Release(pos)
	if n := fill(st, 9, 4096); n != 4096 { // the memory
		t.Errorf("%d bytes in memory", n)
	}
	pos = check(t, st, 9, pos)
	s.file = real
	if st.Release(pos); s.Used() != 0 || s.Err() != nil {
		t.Errorf("once it is empty: %d bytes, %v", s.Used(), s.Err())
	}
	if fill(st, 9, testBlock); check(t, st, 9, pos) <= pos {
		t.Error("it does not go on")
	}
	full.Close()
}

// TestFileShrinks: a file that held much gives the disk back when all was read.
func TestFileShrinks(t *testing.T) {
	s := New(Options{BlockBytes: 1 << 20, MostBytes: 200 << 20})
	defer s.Close()
	st, b := s.Stream(0), bytes.Repeat([]byte{7}, 1<<20)
	for range keepBytes>>20 + 1 {
		if st.Append(b) != len(b) {
			t.Fatal("no room")
		}
	}
	var before, after unix.Stat_t
	if err := unix.Fstat(int(s.file.Fd()), &before); err != nil {
		t.Fatal(err)
	}
	st.Release(st.Head())
	if err := unix.Fstat(int(s.file.Fd()), &after); err != nil || before.Size <= keepBytes || after.Size != 0 {
		t.Errorf("%d bytes, then %d, %v", before.Size, after.Size, err)
	}
}

// TestWarm: memory that was made ready holds what is appended, and is given back like other memory.
func TestWarm(t *testing.T) {
	s := New(Options{BlockBytes: testBlock, MostBytes: 3 * testBlock})
	s.Warm(100 * testBlock)
	if s.Used() != 0 || s.Err() != nil {
		t.Fatalf("%d bytes are used, %v", s.Used(), s.Err())
	}
	var file unix.Stat_t
	if err := unix.Fstat(int(s.file.Fd()), &file); err != nil || file.Blocks*512 < 3*testBlock && runtime.GOOS == "linux" {
		t.Errorf("%d blocks are there, %v", file.Blocks, err)
	}
	st := s.Stream(0)
	fill(st, 4, testBlock)
	s.Warm(testBlock) // too late: nothing is changed
	fill(st, 4, testBlock)
	if check(t, st, 4, 0) != 2*testBlock {
		t.Errorf("head %d", st.Head())
	}
	s.Close()
	s.Warm(testBlock)
	if s.file != nil {
		t.Error("a closed spool has a file")
	}
}
