package store

import (
	"math"

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
	if f.retFilter() {
		if lo, hi := f.retRange(); lo > hi || h.retMin > h.retMax || lo > h.retMax || hi < h.retMin {
			return false
		}
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
