package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/strobe-debug/strobe/internal/event"
)

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

// scanAhead segments are decoded at once, when a scan is long: more than there are CPUs mostly, so that none waits for
// the one whose turn it is.
const scanAhead = 4

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
		if n >= scanAlone || sc.long {
			ahead = scanAhead
		}
		for len(sc.jobs) < ahead && (len(sc.jobs) == 0 || !sc.enough()) {
			g := sc.next()
			if g == nil {
				break
			}
			if sc.foresee(g); sc.long {
				ahead = scanAhead
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
	due   int64 // rows of the segments that were launched, where their headers say it
	long  bool  // it will take several segments
}

// foresee counts what a segment that is to be launched will give, if that is needed and its header says it.
func (sc *scan) foresee(g *segment) {
	if sc.opt.Most == 0 || g.b == nil {
		return
	}
	if n, ok := sc.f.headerCount(g.b.h); ok {
		sc.due += n
		sc.long = sc.long || n*scanAhead < int64(sc.opt.Most)
	}
}

// enough reports whether the segments that were launched have all that fn wants.
func (sc *scan) enough() bool { return sc.opt.Most > 0 && sc.due >= int64(sc.opt.Most) }

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
