package store

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/strobe-debug/strobe/internal/event"
)

// FuncStat is what one function did over the whole session, evicted calls included.
type FuncStat struct {
	Func    event.FuncID
	Calls   int64 // enters that were recorded
	Exits   int64
	Lost    int64 // exits with event.Lost; the times below are without them
	Errors  int64 // unwound and not lost: left by an exception, longjmp or thread exit
	TotalNs int64
	SelfNs  int64 // TotalNs without traced callees
	MinNs   int64
	MaxNs   int64
	Missing // what was not recorded; nothing above counts it
	timed   int64
	hist    histogram
}

// Recorded is how many calls are in events. Of an interrupted session's evicted ones only the exits may be known.
func (f *FuncStat) Recorded() int64 { return max(f.Calls, f.Exits) }

// Made is how often the function was called: what is recorded, what is sampled away, and what was lost.
func (f *FuncStat) Made() int64 { return f.Recorded() + f.Sampled + f.Dropped }

// Quantile returns the duration in nanoseconds that a share q (0..1) of the calls does not
// exceed, within 7 %.
func (f *FuncStat) Quantile(q float64) int64 {
	return min(max(f.hist.quantile(q, f.timed), f.MinNs), f.MaxNs)
}

// exit counts one exit that took total, of which its callees child.
func (f *FuncStat) exit(flags event.Flags, total, child int64) {
	f.Exits++
	if flags&event.Unwound != 0 && flags&(event.Lost|event.AtEnd) == 0 {
		f.Errors++
	}
	if flags&event.Lost != 0 {
		f.Lost++
		return
	}
	if f.timed == 0 || total < f.MinNs {
		f.MinNs = total
	}
	f.MaxNs = max(f.MaxNs, total)
	f.timed++
	f.TotalNs += total
	f.SelfNs += max(total-child, 0)
	f.hist.add(total)
}

// histogram counts durations in buckets of an eighth of a power of two. Only the range of
// buckets that occurs is stored: 20,000 functions with 500 buckets each would be 40 MB.
type histogram struct {
	lo    int
	count []uint32
}

// histBuckets is the number of buckets for all 63-bit durations.
const histBuckets = 16 + 59*8

func bucketOf(d int64) int {
	if d < 16 {
		return int(max(d, 0))
	}
	e := bits.Len64(uint64(d)) - 1
	return 16 + (e-4)*8 + int(d>>(e-3)&7)
}

// bucketMid returns the middle of a bucket.
func bucketMid(b int) int64 {
	if b < 16 {
		return int64(b)
	}
	e, sub := (b-16)/8+4, int64((b-16)%8)
	return (8+sub)<<(e-3) + 1<<(e-3)/2
}

func (h *histogram) add(d int64) {
	b := bucketOf(d)
	switch {
	case len(h.count) == 0:
		h.lo, h.count = b, make([]uint32, 1, 8)
	case b < h.lo:
		h.count = append(make([]uint32, h.lo-b, h.lo-b+len(h.count)), h.count...)
		h.lo = b
	case b >= h.lo+len(h.count):
		h.count = append(h.count, make([]uint32, b-h.lo-len(h.count)+1)...)
	}
	if p := &h.count[b-h.lo]; *p != math.MaxUint32 {
		*p++
	}
}

func (h *histogram) quantile(q float64, total int64) int64 {
	rank := int64(math.Ceil(q * float64(total)))
	seen := int64(0)
	for i, n := range h.count {
		if seen += int64(n); seen >= rank {
			return bucketMid(h.lo + i)
		}
	}
	return 0
}

// appendTo encodes h: first bucket, number of buckets, counts, as varints.
func (h *histogram) appendTo(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(h.lo))
	dst = binary.AppendUvarint(dst, uint64(len(h.count)))
	for _, n := range h.count {
		dst = binary.AppendUvarint(dst, uint64(n))
	}
	return dst
}

func decodeHistogram(b []byte) (histogram, error) {
	r := reader{b: b}
	h := histogram{lo: r.count(histBuckets)}
	h.count = make([]uint32, r.count(histBuckets-h.lo))
	for i := range h.count {
		h.count[i] = uint32(r.count(math.MaxUint32))
	}
	if r.bad {
		return histogram{}, errDamaged
	}
	return h, nil
}

// frame is one open call of a thread.
type frame struct {
	enter event.ID
	ts    int64
	child int64    // nanoseconds in callees that have returned
	up    event.ID // of a lane's first call: its parent, on the thread under-1; of a thread's that was spawned, too
	fn    uint32
	under uint32
}

// maxAbandoned bounds the search for the frame of an exit that is not the innermost: the
// contract is proper nesting, this only keeps a bad producer from costing quadratic time.
const maxAbandoned = 256

// nester computes what rows say about nesting, and the counters. It is the part of the writer
// that recovery and tests use too.
type nester struct {
	stacks [][]frame // by thread
	stats  []FuncStat
	active map[event.ThreadID]event.ThreadID // threads that are on a lane of theirs now
	home   map[event.ThreadID]event.ThreadID // lanes, and the thread that each is of

	begun map[int64]event.ID          // calls in which something was begun, by its name
	made  map[event.ThreadID]event.ID // those in which a thread was
}

// maxBegun bounds what was begun and has no thread yet.
const maxBegun = 1 << 20

// spawn takes in an event.Spawned.
func (n *nester) spawn(under, thread uint32, name int64) {
	if under == 0 {
		if up, ok := n.begun[name]; ok {
			delete(n.begun, name)
			n.made[event.ThreadID(thread)] = up
		}
		return
	}
	up := top(*n.stack(event.ThreadID(under - 1)))
	if up == 0 {
		up = n.made[event.ThreadID(under-1)]
	}
	if up == 0 {
		return
	}
	if n.begun == nil {
		n.begun, n.made = map[int64]event.ID{}, map[event.ThreadID]event.ID{}
	}
	if len(n.begun) >= maxBegun {
		clear(n.begun)
	}
	n.begun[name] = up
}

// onLane notes that a thread (1 + its id) is on a lane now, or on itself again.
func (n *nester) onLane(of, lane uint32) {
	if of == 0 {
		return
	}
	n.enterLane(event.ThreadID(of-1), event.ThreadID(lane))
}

func (n *nester) enterLane(from, lane event.ThreadID) {
	if n.active == nil {
		n.active, n.home = map[event.ThreadID]event.ThreadID{}, map[event.ThreadID]event.ThreadID{}
	}
	thread := from
	if h, ok := n.home[from]; ok {
		thread = h
	}
	if lane == thread {
		delete(n.active, thread)
		return
	}
	n.active[thread], n.home[lane] = lane, thread
}

// leaveLane notes that a lane's first call has ended: its thread is on the lane that ran it again.
func (n *nester) leaveLane(lane, under event.ThreadID) {
	thread, ok := n.home[lane]
	if !ok || n.active[thread] != lane {
		return
	}
	if under == thread || len(*n.stack(under)) == 0 {
		delete(n.active, thread)
		return
	}
	n.active[thread] = under
}

func (n *nester) stack(t event.ThreadID) *[]frame {
	for int(t) >= len(n.stacks) {
		n.stacks = append(n.stacks, nil)
	}
	return &n.stacks[t]
}

func (n *nester) stat(f event.FuncID) *FuncStat {
	for int(f) >= len(n.stats) {
		n.stats = append(n.stats, FuncStat{Func: event.FuncID(len(n.stats))})
	}
	return &n.stats[f]
}

// place fills Parent, Enter, Depth and Duration of r.
func (n *nester) place(r *Row) { n.placeUnder(r, 0) }

// placeUnder is place of a call that, where it is the first on its lane, has the innermost one of thread under-1 as its
// parent.
func (n *nester) placeUnder(r *Row, under uint32) {
	var st *[]frame
	if own := event.ThreadID(under - 1); under != 0 && own == r.Thread { // who knows of lanes says that it is on none
		delete(n.active, own)
	} else if lane, ok := n.active[r.Thread]; ok && r.Thread != event.NoThread { // who knows nothing says the thread
		r.Thread = lane
	}
	if r.Thread == event.NoThread {
		st = new([]frame)
	} else {
		st = n.stack(r.Thread)
	}
	switch r.Kind {
	case event.FunctionEnter:
		f := frame{enter: r.ID, ts: r.TS, fn: uint32(r.Func)}
		r.Depth, r.Parent = int32(len(*st)), top(*st)
		if len(*st) == 0 && under != 0 && event.ThreadID(under-1) != r.Thread {
			f.up, f.under = top(*n.stack(event.ThreadID(under - 1))), under
			r.Parent, st = f.up, n.stack(r.Thread) // the stacks may have moved
			n.enterLane(event.ThreadID(under-1), r.Thread)
		} else if len(*st) == 0 && r.Thread != event.NoThread {
			f.up = n.made[r.Thread]
			r.Parent = f.up
		}
		*st = append(*st, f)
		n.stat(r.Func).Calls++
	case event.FunctionExit:
		n.exit(st, r)
	default:
		r.Depth, r.Parent = int32(len(*st)), top(*st)
	}
}

func (n *nester) exit(st *[]frame, r *Row) {
	at := len(*st) - 1
	for low := max(0, len(*st)-maxAbandoned); at >= low && (*st)[at].fn != uint32(r.Func); {
		at--
	}
	if at < 0 || (*st)[at].fn != uint32(r.Func) {
		r.Depth, r.Parent = int32(len(*st)), top(*st)
		n.stat(r.Func).Exits++
		return
	}
	f := (*st)[at]
	*st = (*st)[:at]
	r.Enter, r.Parent, r.Depth = f.enter, top(*st), int32(at)
	r.Duration = max(r.TS-f.ts, 0)
	switch {
	case at > 0:
		(*st)[at-1].child += r.Duration
	case f.under != 0:
		r.Parent = f.up
		left := min(max(r.Ret, 0)*1000, r.Duration) // what ran meanwhile is no part of it
		f.child += left
		if up := *n.stack(event.ThreadID(f.under - 1)); f.up != 0 && top(up) == f.up {
			up[len(up)-1].child += r.Duration - left
		}
		n.leaveLane(r.Thread, event.ThreadID(f.under-1))
	case f.up != 0:
		r.Parent = f.up
	}
	n.stat(r.Func).exit(r.Flags, r.Duration, f.child)
}

func top(st []frame) event.ID {
	if len(st) == 0 {
		return 0
	}
	return st[len(st)-1].enter
}

// copyStats returns the counters of functions that were called, by FuncID.
func (n *nester) copyStats() []FuncStat {
	var out []FuncStat
	for i := range n.stats {
		if f := n.stats[i]; f.Calls+f.Exits > 0 {
			f.hist.count = append([]uint32(nil), f.hist.count...)
			out = append(out, f)
		}
	}
	return out
}
