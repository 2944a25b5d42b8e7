package switches

import (
	"encoding/binary"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// raw is a record as the kernel writes it.
func raw(kind uint32, misc uint16, words ...uint32) []byte {
	b := binary.LittleEndian.AppendUint32(nil, kind)
	b = binary.LittleEndian.AppendUint16(b, misc)
	b = binary.LittleEndian.AppendUint16(b, uint16(headerBytes+4*len(words)))
	for _, w := range words {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return b
}

func TestDecode(t *testing.T) {
	b := slices.Concat(raw(perfFork, 0, 1, 1, 2, 1, 5, 0, 1, 1, 5, 0), raw(perfSwitch, 0, 1, 2, 10, 0),
		raw(perfSwitch, switchOut|switchPreempt, 1, 2, 20, 0), raw(99, 0, 1), raw(perfLost, 0, 7, 0, 3, 0, 1, 2, 30, 0),
		raw(perfSwitch, switchOut, 1, 2, 40, 1), raw(perfExit, 0, 1, 1, 2, 1, 50, 1, 1, 1, 50, 1))
	var s Stream
	got, err := s.Decode(b, nil)
	want := []Record{{5, 1, 2, Born}, {10, 1, 2, In}, {20, 1, 2, Preempted}, {At: 20, What: GapFrom}, {At: 30, What: GapTo},
		{1<<32 + 40, 1, 2, Out}, {1<<32 + 50, 1, 2, Ended}}
	if err != nil || !slices.Equal(got, want) || s.Lost != 3 {
		t.Errorf("%v, lost %d, %v", got, s.Lost, err)
	}
	if got = s.Missing(5, 1<<33, nil); len(got) != 2 || s.Lost != 5 || s.Missing(5, 1<<33, nil) != nil {
		t.Errorf("missing: %v, lost %d", got, s.Lost)
	}
	if _, err := s.Decode([]byte{1, 2, 3}, nil); err == nil {
		t.Error("half a header is a record")
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(raw(perfSwitch, 0, 1, 2, 10, 0))
	f.Add(raw(perfLost, 0, 1))
	f.Fuzz(func(t *testing.T, b []byte) {
		var s Stream
		all, _ := s.Decode(b, nil)
		tl := NewTimeline(0, ByPerf)
		tl.Add(all)
		for _, told := range tl.Blocks(0, 0, true) {
			if _, err := told.Block.Intervals(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestOrder moves threads between CPUs at random and reads their buffers in pieces: each thread's records come in their
// order.
func TestOrder(t *testing.T) {
	const cpus, threads = 3, 4
	for seed := range uint64(50) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		var buffers [cpus][]Record
		var heads [cpus]int
		next, last := map[int32]int64{}, map[int32]int64{}
		var o Order
		seen := int64(0)
		check := func(records []Record) {
			for _, r := range records {
				if r.At != last[r.TID]+1 {
					t.Fatalf("seed %d: thread %d has record %d after %d", seed, r.TID, r.At, last[r.TID])
				}
				last[r.TID] = r.At
				seen++
			}
		}
		write := func() {
			for range rnd.IntN(6) {
				tid := 1 + rnd.Int32N(threads)
				next[tid]++
				c := rnd.IntN(cpus)
				// one time for each thread of its own, in step with all others' only within a buffer
				buffers[c] = append(buffers[c], Record{At: next[tid], TID: tid})
			}
		}
		read := func() (got []Record) {
			for c := range cpus {
				got = append(got, buffers[c][heads[c]:]...)
				heads[c] = len(buffers[c])
				write() // meanwhile
			}
			return got
		}
		for range 100 {
			write()
			first := read()
			check(perThread(o.Take(first, read())))
		}
		check(perThread(o.Take(read(), read())))
		if seen == 0 {
			t.Fatal("nothing was read")
		}
	}
}

// perThread puts records of one thread behind each other, in the order in which they came.
func perThread(all []Record) []Record {
	out := slices.Clone(all)
	slices.SortStableFunc(out, func(a, b Record) int { return int(a.TID - b.TID) })
	return out
}

func TestTimeline(t *testing.T) {
	const ms = int64(time.Millisecond)
	tl := NewTimeline(100*ms, ByPerf)
	tl.Know(1, 1, 100*ms, Blocked)
	tl.Add([]Record{{110 * ms, 1, 1, In}, {112 * ms, 1, 2, Born}, {115 * ms, 1, 2, In}, {120 * ms, 1, 1, Preempted},
		{130 * ms, 1, 1, In}, {131 * ms, 1, 1, In}, {140 * ms, 1, 1, Out}, {150 * ms, 1, 2, Ended}})
	if tl.Odd != 1 {
		t.Errorf("%d odd records", tl.Odd)
	}
	more := tl.Waiting(150*ms, 20*time.Millisecond, 8, func(int32, int32, time.Duration) (string, int64) {
		t.Error("a wait of 10 ms was looked at")
		return "", 0
	})
	if !more {
		t.Error("nothing more to look at")
	}
	tl.Waiting(170*ms, 20*time.Millisecond, 8, func(int32, int32, time.Duration) (string, int64) { return "a lock", 171 * ms })
	readers := map[int32]*Reader{1: NewReader(0, 0), 2: NewReader(0, 0)}
	pass := func(all bool) {
		for _, told := range tl.Blocks(200*ms, time.Second, all) {
			b, _ := json.Marshal(told.Block)
			block, err := Read(b)
			if err == nil {
				err = readers[told.TID].Add(block)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	pass(true)
	tl.Add([]Record{{190 * ms, 1, 1, In}, {At: 195 * ms, What: GapFrom}, {At: 200 * ms, What: GapTo}, {210 * ms, 1, 1, Out}})
	pass(true)
	got, ok := readers[1].Sum(150 * ms)
	want := Sum{Running: 20 * ms, Runnable: 10 * ms, Blocked: 80 * ms, Unknown: 20 * ms, Switches: 3, Preempted: 1,
		To: 150 * ms}
	want.Blocked = 10*ms + 50*ms + 40*ms // before, with the lock, and at the end
	if !ok || got.Running != want.Running || got.Runnable != want.Runnable || got.Blocked != want.Blocked ||
		got.Unknown != want.Unknown || got.Switches != want.Switches || got.Preempted != want.Preempted ||
		got.To != want.To || len(got.Waits) != 1 || got.Waits[0] != (Reason{"a lock", 1, 50 * ms, 50 * ms}) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	two, _ := readers[2].Sum(150 * ms)
	if two.Running != 35*ms || two.Runnable != 3*ms || two.To != 50*ms {
		t.Errorf("the second thread: %+v", two)
	}
	window := NewReader(25*ms, 35*ms)
	b := &Block{What: WhatRan}
	var p packer
	p.add(30*ms, Running, true)
	p.add(30*ms, Blocked, true)
	b.Packed = p.text()
	if err := window.Add(b); err != nil {
		t.Fatal(err)
	}
	if s, _ := window.Sum(60 * ms); s.Running != 5*ms || s.Blocked != 5*ms {
		t.Errorf("in a window: %+v", s)
	}
}

// TestLateLook: a look that was at the next wait is not told of the one before.
func TestLateLook(t *testing.T) {
	tl := NewTimeline(0, ByPerf)
	tl.Know(1, 1, 0, Blocked)
	tl.Waiting(100, 50, 8, func(int32, int32, time.Duration) (string, int64) { return "what came next", 120 })
	tl.Add([]Record{{110, 1, 1, In}, {115, 1, 1, Out}})
	for _, told := range tl.Blocks(200, 0, true) {
		if len(told.Block.Waits) > 0 {
			t.Errorf("%+v", told.Block.Waits)
		}
	}
}

// TestSample: by what the kernel counts, sums are exact.
func TestSample(t *testing.T) {
	tl := NewTimeline(0, ByProc)
	tl.Sample(1, 1, 0, Usage{Running: 5, Runnable: 1, Times: 3})
	tl.Sample(1, 1, 100, Usage{Running: 45, Runnable: 21, Times: 5})
	tl.Sample(1, 1, 200, Usage{Running: 45, Runnable: 21, Times: 5})
	tl.Sample(1, 1, 300, Usage{Running: 46, Runnable: 21, Times: 6})
	tl.End(300)
	r := NewReader(0, 0)
	for _, told := range tl.Blocks(300, 0, true) {
		if err := r.Add(told.Block); err != nil {
			t.Fatal(err)
		}
	}
	s, _ := r.Sum(300)
	if s.Running != 41 || s.Runnable != 20 || s.Blocked != 239 || s.Switches != 3 || !s.Proc {
		t.Errorf("%+v", s)
	}
}

// TestLateBlock: of a block that was taken out late, behind more intervals than blocks have, each is read.
func TestLateBlock(t *testing.T) {
	var p packer
	const n = 20 * MaxPacked
	for i := range int64(n) {
		p.add(i, Running, true)
	}
	b := Block{Packed: p.text()}
	all, err := b.Intervals()
	if err != nil || len(all) != n || all[n-1].To != n*(n-1)/2 {
		t.Errorf("%d intervals, %v", len(all), err)
	}
}
