package store

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"github.com/strobe-debug/strobe/internal/event"
)

// retFilter reports whether f looks at results.
func (f *Filter) retFilter() bool { return f.RetEq != nil || f.RetMin != nil || f.RetMax != nil }

// exitsOnly reports whether only exits can match.
func (f *Filter) exitsOnly() bool { return f.MinDur > 0 || f.MaxDur > 0 || f.retFilter() }

// kinds returns the wanted kinds as a bit set.
func (f *Filter) kinds() uint32 {
	k := f.Kinds
	if k == 0 {
		k = 1<<event.NumKinds - 1
	}
	if f.Funcs != nil {
		k &= 1<<event.FunctionEnter | 1<<event.FunctionExit
	}
	if f.exitsOnly() {
		k &= 1 << event.FunctionExit
	}
	return k
}

// need returns the columns that match looks at.
func (f *Filter) need() need {
	var n need
	if f.Funcs != nil {
		n |= needFunc
	}
	if f.Threads != nil {
		n |= needThread
	}
	if f.FromTS != 0 || f.ToTS != 0 {
		n |= needTime
	}
	if f.BeganTo != 0 {
		n |= needTime | needDur
	}
	if f.MinDur > 0 || f.MaxDur > 0 {
		n |= needDur
	}
	if f.retFilter() {
		n |= needRet
	}
	return n
}

func (f *Filter) timeHas(ts int64) bool {
	return (f.FromTS == 0 || ts >= f.FromTS) && (f.ToTS == 0 || ts <= f.ToTS)
}

// retRange returns the results that match, both inclusive; lo > hi: none.
func (f *Filter) retRange() (lo, hi int64) {
	lo, hi = math.MinInt64, math.MaxInt64
	if f.RetMin != nil {
		lo = *f.RetMin
	}
	if f.RetMax != nil {
		hi = *f.RetMax
	}
	if f.RetEq != nil {
		lo, hi = max(lo, *f.RetEq), min(hi, *f.RetEq)
	}
	return lo, hi
}

// mayMatch reports whether a block with header h can have a match.
func (f *Filter) mayMatch(h *header) bool {
	switch {
	case f.FromID > h.last, f.ToID != 0 && f.ToID < h.first:
		return false
	case f.FromTS != 0 && f.FromTS > h.tsMax, f.ToTS != 0 && f.ToTS < h.tsMin:
		return false
	case f.MinDur > h.maxDur:
		return false
	case f.BeganTo != 0 && h.tsMin-h.maxDur > f.BeganTo:
		return false
	}
	if f.retFilter() && (h.retMin > h.retMax || f.RetEq != nil && (*f.RetEq < h.retMin || *f.RetEq > h.retMax) ||
		f.RetMin != nil && *f.RetMin > h.retMax || f.RetMax != nil && *f.RetMax < h.retMin) {
		return false
	}
	kinds, any := f.kinds(), false
	for k, n := range h.kinds {
		any = any || n > 0 && kinds&(1<<k) != 0
	}
	return any && (f.Threads == nil || intersects(f.Threads, h.threads)) && (f.Funcs == nil || f.funcsIn(h))
}

// funcsIn reports whether a wanted function has an event of a wanted kind in h.
func (f *Filter) funcsIn(h *header) bool {
	kinds, any := f.kinds(), false
	eachCommon(f.Funcs, h.funcs, func(i int) bool {
		any = kinds&(1<<event.FunctionEnter) != 0 && h.fEnter[i] > 0 || kinds&(1<<event.FunctionExit) != 0 && h.fExit[i] > 0
		return !any
	})
	return any
}

func intersects(set *Bits, list []uint32) bool {
	any := false
	eachCommon(set, list, func(int) bool { any = true; return false })
	return any
}

// eachCommon calls fn with the position of every member of set in the ascending list. It walks
// the shorter side: a filter by one name must not cost the length of every header.
func eachCommon(set *Bits, list []uint32, fn func(i int) bool) {
	if set.Len()*16 > len(list) {
		for i, v := range list {
			if set.Has(v) && !fn(i) {
				return
			}
		}
		return
	}
	from, top := 0, len(list)-1
	set.each(func(v uint32) bool {
		if top < from || v > list[top] {
			return false
		}
		if v < list[from] {
			return true
		}
		// The list is strictly ascending: v is at most as far from either end as it differs from what is there. Where the
		// list has no gaps that leaves one place.
		lo, hi := max(from, top-int(list[top]-v)), min(top+1, from+int(v-list[from])+1)
		for lo < hi {
			if mid := (lo + hi) / 2; list[mid] < v {
				lo = mid + 1
			} else {
				hi = mid
			}
		}
		from = lo
		return list[lo] != v || fn(lo)
	})
}

// headerCount answers the count of a block from its header, if that can be done.
func (f *Filter) headerCount(h *header) (n int64, ok bool) {
	if f.FromID > h.first || f.ToID != 0 && f.ToID < h.last || f.FromTS != 0 && f.FromTS > h.tsMin || f.ToTS != 0 &&
		f.ToTS < h.tsMax || f.BeganTo != 0 || f.exitsOnly() {
		return 0, false
	}
	kinds := f.kinds()
	enters, exits := kinds&(1<<event.FunctionEnter) != 0, kinds&(1<<event.FunctionExit) != 0
	switch {
	case f.Funcs != nil && f.Threads != nil:
		return 0, false
	case f.Funcs != nil:
		eachCommon(f.Funcs, h.funcs, func(i int) bool {
			n += pick(enters, h.fEnter[i]) + pick(exits, h.fExit[i])
			return true
		})
		return n, true
	case f.Threads != nil:
		const calls = 1<<event.FunctionEnter | 1<<event.FunctionExit
		others := uint32(1<<event.NumKinds-1) &^ calls
		all := kinds&others == others&^1 || kinds&others == others
		if !all && kinds&others != 0 && h.others() > 0 {
			return 0, false
		}
		eachCommon(f.Threads, h.threads, func(i int) bool {
			n += pick(enters, h.tEnter[i]) + pick(exits, h.tExit[i]) + pick(all, h.tOther[i])
			return true
		})
		return n, true
	}
	for k, c := range h.kinds {
		if kinds&(1<<k) != 0 {
			n += int64(c)
		}
	}
	return n, true
}

func pick(want bool, n uint16) int64 {
	if want {
		return int64(n)
	}
	return 0
}

// selectFrom returns the indices of the events in c that match, in dst's room.
func (f *Filter) selectFrom(c *columns, dst []int32) []int32 {
	lo, hi := 0, c.n
	if f.FromID != 0 {
		lo = c.search(f.FromID)
	}
	if f.ToID != 0 {
		hi = c.search(f.ToID + 1)
	}
	kinds, nd := f.kinds(), f.need()
	if hi <= lo {
		return dst[:0]
	}
	dst = grow(dst, hi-lo)
	n := 0
	for i, k := range c.kind[lo:hi] { // without branches: see decoder
		dst[n] = int32(lo + i)
		n += int(kinds >> (k & 31) & 1)
	}
	dst = dst[:n]
	if nd&needFunc != 0 {
		n := 0
		for _, i := range dst {
			dst[n] = i
			n += bit(f.Funcs.Has(c.fn[i]))
		}
		dst = dst[:n]
	}
	if f.Threads != nil {
		dst = keep(dst, func(i int32) bool { return f.Threads.Has(c.thread[i]) })
	}
	if f.FromTS != 0 || f.ToTS != 0 {
		dst = keep(dst, func(i int32) bool { return f.timeHas(c.ts[i]) })
	}
	if f.BeganTo != 0 {
		dst = keep(dst, func(i int32) bool { return c.ts[i]-c.dur[i] <= f.BeganTo })
	}
	if f.MinDur > 0 || f.MaxDur > 0 {
		dst = keep(dst, func(i int32) bool { return c.dur[i] >= f.MinDur && (f.MaxDur <= 0 || c.dur[i] <= f.MaxDur) })
	}
	if nd&needRet != 0 {
		lo, hi := f.retRange()
		n := 0
		for _, i := range dst { // without branches and calls: over all results of a session
			dst[n] = i
			n += bit(c.ret[i] >= lo) & bit(c.ret[i] <= hi) & int(c.flags[i]&uint8(event.HasRet))
		}
		dst = dst[:n]
	}
	return dst
}

func keep(sel []int32, ok func(int32) bool) []int32 {
	n := 0
	for _, i := range sel {
		sel[n] = i
		n += bit(ok(i))
	}
	return sel[:n]
}

// countWorkers goroutines share the blocks that a count must decode.
const countWorkers = 2

// Count returns the exact number of events that match. A Scan of the same filter after it, or of one
// with a narrower range of ids, skips what Count found empty.
func (sn *Snapshot) Count(ctx context.Context, f Filter) (int64, error) {
	var total int64
	var todo []int
	for i := range sn.segs {
		g := &sn.segs[i]
		if g.b != nil {
			if n, ok := f.headerCount(g.b.h); ok {
				total += n
				continue
			}
			if !f.mayMatch(g.b.h) {
				continue
			}
		}
		todo = append(todo, i)
	}
	found := make([]int32, len(todo))
	workers := countWorkers
	if len(todo) < 4 {
		workers = 1
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	errs := make([]error, workers)
	for w := range workers - 1 {
		wg.Go(func() { errs[w] = sn.countSegments(ctx, &f, todo, found, &next) })
	}
	errs[workers-1] = sn.countSegments(ctx, &f, todo, found, &next)
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return 0, err
	}
	empty := new(Bits)
	for k, n := range found {
		total += int64(n)
		if n == 0 {
			empty.Set(uint32(todo[k]))
		}
	}
	sn.memo.Store(&memo{f, empty})
	return total, nil
}

// memo says which segments have no match for a filter.
type memo struct {
	f     Filter
	empty *Bits
}

// covers reports whether what m says holds for f as well.
func (m *memo) covers(f Filter) bool {
	if m == nil || f.FromID < m.f.FromID || m.f.ToID != 0 && (f.ToID == 0 || f.ToID > m.f.ToID) {
		return false
	}
	f.FromID, f.ToID = m.f.FromID, m.f.ToID
	return f == m.f // pointers too: query counts and scans with one filter
}

// countSegments counts the segments that next hands out.
func (sn *Snapshot) countSegments(ctx context.Context, f *Filter, todo []int, found []int32, next *atomic.Int64) error {
	d := decoders.Get().(*decoder)
	defer decoders.Put(d)
	nd := f.need()
	for {
		at := int(next.Add(1)) - 1
		if at >= len(todo) {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		c, err := sn.load(d, &sn.segs[todo[at]], nd)
		if err != nil {
			return err
		}
		d.sel = f.selectFrom(c, d.sel[:0])
		found[at] = int32(len(d.sel))
	}
}

// scanAlone segments are scanned one by one, before others are decoded ahead: most scans end
// in the first.
const scanAlone = 2

// scanAhead segments are decoded at once, when a scan is long.
const scanAhead = 2

// Scan calls fn for every event that matches, in ID order, until it returns false. The Row and
// its Payload are reused. fn may call Rows, Count and Scan.
func (sn *Snapshot) Scan(ctx context.Context, f Filter, opt ScanOptions, fn func(*Row) bool) error {
	known := sn.memo.Load()
	if !known.covers(f) {
		known = &memo{empty: new(Bits)}
	}
	opt.Args = opt.Args && f.Funcs != nil
	opt.Cold = (opt.Cold || opt.Payloads && f.Funcs == nil) && !opt.Args
	opt.Payloads = opt.Payloads && f.Funcs != nil
	sc := &scan{sn: sn, f: f, opt: opt, empty: known.empty}
	defer sc.drain()
	for n := 0; ; n++ {
		ahead := 1
		if n >= scanAlone {
			ahead = scanAhead
		}
		for len(sc.jobs) < ahead {
			g := sc.next()
			if g == nil {
				break
			}
			sc.launch(g, ahead > 1)
		}
		if len(sc.jobs) == 0 {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		j := sc.jobs[0]
		sc.jobs = sc.jobs[1:]
		<-j.done
		more, err := sc.emit(j, fn)
		decoders.Put(j.d)
		if err != nil || !more {
			return err
		}
	}
}

// scan is one Scan under way.
type scan struct {
	sn    *Snapshot
	f     Filter
	opt   ScanOptions
	empty *Bits
	at    int // segments looked at
	jobs  []*scanJob
}

// scanJob decodes one segment.
type scanJob struct {
	d    *decoder
	c    *columns
	err  error
	done chan struct{} // closed when c and d.sel are there
}

// next returns the next segment that may have a match, nil at the end.
func (sc *scan) next() *segment {
	for sc.at < len(sc.sn.segs) {
		n := sc.at
		if sc.opt.Reverse {
			n = len(sc.sn.segs) - 1 - n
		}
		sc.at++
		if g := &sc.sn.segs[n]; !sc.empty.Has(uint32(n)) && (g.b == nil || sc.f.mayMatch(g.b.h)) {
			return g
		}
	}
	return nil
}

// launch begins to decode a segment, in a goroutine of its own if others are under way.
func (sc *scan) launch(g *segment, beside bool) {
	j := &scanJob{d: decoders.Get().(*decoder), done: make(chan struct{})}
	sc.jobs = append(sc.jobs, j)
	work := func() {
		defer close(j.done)
		j.c, j.err = sc.decode(j.d, g)
	}
	if beside {
		go work() // drain waits for it
	} else {
		work()
	}
}

// drain waits for what was decoded in vain.
func (sc *scan) drain() {
	for _, j := range sc.jobs {
		<-j.done
		decoders.Put(j.d)
	}
}

// decode decodes what the filter looks at, and the rest only if something matches.
func (sc *scan) decode(d *decoder, g *segment) (*columns, error) {
	d.sel = d.sel[:0]
	c, err := sc.sn.load(d, g, sc.f.need())
	if err != nil {
		return nil, err
	}
	d.sel = sc.f.selectFrom(c, d.sel)
	if over := len(d.sel) - sc.opt.Most; sc.opt.Most > 0 && over > 0 {
		if sc.opt.Reverse {
			d.sel = d.sel[over:]
		} else {
			d.sel = d.sel[:sc.opt.Most]
		}
	}
	if len(d.sel) == 0 || g.b == nil {
		return c, nil
	}
	if sc.opt.Args {
		if sc.sn.hasCode {
			if err := d.want(needThread | needTime); err != nil {
				return nil, fmt.Errorf("decode block %d: %w", g.b.h.first, err)
			}
		}
		return c, sc.sn.loadArgs(d, g)
	}
	if sc.opt.Times {
		if err := d.want(needFunc | needThread | needTime | needDur); err != nil {
			return nil, fmt.Errorf("decode block %d: %w", g.b.h.first, err)
		}
		return c, nil
	}
	if sc.opt.Rets {
		if err := d.want(needFunc | needRet); err != nil {
			return nil, fmt.Errorf("decode block %d: %w", g.b.h.first, err)
		}
		return c, nil
	}
	err = sc.sn.loadRest(d, g, d.sel, sc.opt.Cold)
	if err == nil && sc.opt.Payloads {
		err = sc.sn.loadArgs(d, g)
	}
	return c, err
}

// emit hands a segment's rows to fn.
func (sc *scan) emit(j *scanJob, fn func(*Row) bool) (more bool, err error) {
	if j.err != nil {
		return false, j.err
	}
	d := j.d
	for k := range d.sel {
		i := int(d.sel[k])
		if sc.opt.Reverse {
			i = int(d.sel[len(d.sel)-1-k])
		}
		r := &d.row
		if sc.opt.Times {
			if j.c.timeRow(i, r); !fn(r) {
				return false, nil
			}
			continue
		}
		if sc.opt.Rets {
			if j.c.retRow(i, r); !fn(r) {
				return false, nil
			}
			continue
		}
		if sc.opt.Args {
			j.c.argRow(i, r)
			if sc.sn.needsNames(r.Func) {
				r.Thread, r.TS = event.ThreadID(j.c.thread[i]), j.c.ts[i]
				sc.sn.nameCode(r)
			}
			if !fn(r) {
				return false, nil
			}
			continue
		}
		j.c.hotRow(i, r)
		if sc.opt.Payloads {
			r.Payload = j.c.payload(i)
			sc.sn.nameCode(r)
		}
		if sc.opt.Cold {
			j.c.coldRow(i, r)
			if sc.sn.nameCode(r); !r.Kind.IsCall() {
				if err := sc.sn.outputData(r); err != nil {
					return false, err
				}
			}
		}
		if !fn(r) {
			return false, nil
		}
	}
	return true, nil
}
