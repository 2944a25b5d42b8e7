package store

import "sort"

// fewOfBlock is how many events come for one that is wanted where it pays to find out what it needs.
const fewOfBlock = 4

// few reports whether the events at sel are few among those up to the last of them.
func few(sel []int32) bool { return len(sel) > 0 && len(sel)*fewOfBlock <= int(sel[len(sel)-1]) }

// wantAt decodes the filter columns that are not there yet: all of them, or, where the events at sel are few, times,
// durations and results at those alone. Then these columns hold nothing elsewhere, and do not count as decoded.
func (d *decoder) wantAt(sel []int32) error {
	if !few(sel) {
		return d.want(needAll)
	}
	if err := d.want(needFunc); err != nil {
		return err
	}
	for _, step := range [...]struct {
		bit need
		run func(*decoder, []int32) error
	}{
		{needThread, (*decoder).threadsAt}, {needTime, (*decoder).timesAt}, {needDur, (*decoder).durationsAt},
		{needRet, (*decoder).returnsAt},
	} {
		if d.have&step.bit == 0 {
			if err := step.run(d, sel); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *decoder) threadsAt(sel []int32) error {
	col, err := d.set.column(hotThread)
	if err != nil {
		return err
	}
	h, wide := d.h, len(d.h.threads) > 256
	if n := h.n << bit(wide); len(col) != n {
		return errDamaged
	}
	d.c.thread = grow(d.c.thread, h.n)
	for _, i := range sel {
		at := int(col[i])
		if wide {
			at |= int(col[h.n+int(i)]) << 8
		}
		if at >= len(h.threads) {
			return errDamaged
		}
		d.c.thread[i] = h.threads[at]
	}
	return nil
}

func (d *decoder) timesAt(sel []int32) error { return d.timesTo(int(sel[len(sel)-1]) + 1) }

func (d *decoder) durationsAt(sel []int32) error {
	col, err := d.set.column(hotDur)
	if err != nil {
		return err
	}
	d.listExits()
	r, at := reader{b: col}, 0
	d.c.dur = grow(d.c.dur, d.h.n)
	for _, i := range sel {
		d.c.dur[i] = 0
		k := at + sort.Search(len(d.exits)-at, func(k int) bool { return d.exits[at+k] >= i })
		if k < len(d.exits) && d.exits[k] == i {
			r.skip(k - at)
			d.c.dur[i] = int64(r.uvarint())
			at = k + 1
		}
	}
	if r.bad {
		return errDamaged
	}
	return nil
}

// returnsAt sums up the differences of the wanted functions' results and steps over the others.
func (d *decoder) returnsAt(sel []int32) error {
	col, err := d.set.column(hotRet)
	if err != nil {
		return err
	}
	d.listExits()
	r, at := reader{b: col}, 0
	d.c.ret = grow(d.c.ret, d.h.n)
	d.retPrev = append(d.retPrev[:0], make([]int64, len(d.h.funcs)+1)...)
	d.needed = append(d.needed[:0], make([]bool, len(d.h.funcs)+1)...)
	for _, i := range sel {
		d.c.ret[i] = 0
		d.needed[d.lf[i]] = true
	}
	last := sel[len(sel)-1]
	for k, i := range d.results {
		if i > last {
			break
		}
		if lf := d.lf[i]; d.needed[lf] {
			r.skip(k - at)
			at = k + 1
			d.retPrev[lf] += r.varint()
			d.c.ret[i] = d.retPrev[lf]
		}
	}
	if r.bad {
		return errDamaged
	}
	return nil
}
