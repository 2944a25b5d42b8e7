package store

import (
	"github.com/strobe-debug/strobe/internal/event"
)

// need says which filter columns to decode, besides kind, flags and ids.
type need uint8

const (
	needFunc need = 1 << iota
	needThread
	needTime
	needDur
	needRet
	needLocal // positions of functions: what needRet and needFunc build on
	needAll   = needFunc | needThread | needTime | needDur | needRet
)

// decoder decodes blocks into columns that it owns. Not safe for concurrent use.
//
// Enters and exits alternate without a pattern, so a branch on the kind is mispredicted half of
// the time: 5 ns per event. Loops are therefore over lists of indices, made without branches.
type decoder struct {
	h         *header
	have      need
	c         columns
	set, far  columnSet // filter columns, cold columns
	lt, lf    []uint16
	local     []uint16 // scratch for planes
	exits     []int32  // indices of exits
	results   []int32  // indices of exits with event.HasRet
	haveExits bool
	retPrev   []int64
	vals      []uint64
	pred      predictor
	words     wordState
	slots     []int32 // scratch of planArgs: see wordState.slotOf
	copyOf    []int32 // by state of words: the one it began as a copy of
	needed    []bool  // by state of words
	sel       []int32
	row       Row
}

// grow returns v with length n; its contents are undefined.
func grow[T any](v []T, n int) []T {
	if cap(v) < n {
		return make([]T, max(n, blockEvents))[:n]
	}
	return v[:n]
}

// begin starts a block: it decodes kind, flags and ids into d.c.
func (d *decoder) begin(h *header, blob []byte) error {
	d.h, d.have, d.haveExits = h, 0, false
	d.c.n, d.c.first = h.n, h.first
	if err := d.set.open(blob, hotColumns); err != nil {
		return err
	}
	if err := d.tags(h.n); err != nil {
		return err
	}
	return d.ids(h)
}

// want decodes what nd says and is not there yet.
func (d *decoder) want(nd need) error {
	if nd&(needRet|needFunc) != 0 {
		nd |= needLocal
	}
	nd &^= d.have
	for _, step := range [...]struct {
		bit need
		run func(*decoder) error
	}{
		{needLocal, (*decoder).localFuncs}, {needFunc, (*decoder).funcs}, {needThread, (*decoder).threads},
		{needTime, (*decoder).times},
		{needDur, (*decoder).durations}, {needRet, (*decoder).returns},
	} {
		if nd&step.bit != 0 {
			if err := step.run(d); err != nil {
				return err
			}
			d.have |= step.bit
		}
	}
	return nil
}

// all decodes a whole block.
func (d *decoder) all(h *header, hot, cold []byte) error {
	if err := d.begin(h, hot); err != nil {
		return err
	}
	if err := d.want(needAll); err != nil {
		return err
	}
	return d.cold(cold, d.everything())
}

// everything returns the places of all events of the block, in d.sel.
func (d *decoder) everything() []int32 {
	d.sel = grow(d.sel, d.h.n)
	for i := range d.sel {
		d.sel[i] = int32(i)
	}
	return d.sel
}

func (d *decoder) tags(n int) error {
	col, err := d.set.column(hotTag)
	if err != nil {
		return err
	}
	r := reader{b: col}
	dict := r.ascending()
	for _, tag := range dict {
		if tag&0xff == 0 || tag&0xff >= uint32(event.NumKinds) {
			return errDamaged
		}
	}
	if d.local, err = planes(d.local, r.b, n, len(dict), len(dict)); err != nil || r.bad {
		return errDamaged
	}
	d.c.kind, d.c.flags = grow(d.c.kind, n), grow(d.c.flags, n)
	for i, x := range d.local {
		tag := dict[x]
		d.c.kind[i], d.c.flags[i] = uint8(tag), uint8(tag>>8)
	}
	return nil
}

// planes reads n values below limit, written by appendPlanes with this count.
func planes(dst []uint16, b []byte, n, count, limit int) ([]uint16, error) {
	dst = grow(dst, n)
	want := n
	if count > 256 {
		want = 2 * n
	}
	if len(b) != want {
		return dst, errDamaged
	}
	top := uint16(0)
	if count > 256 {
		lo, hi := b[:n], b[n:2*n]
		for i := range dst {
			v := uint16(lo[i]) | uint16(hi[i])<<8
			top = max(top, v)
			dst[i] = v
		}
	} else {
		for i := range dst {
			v := uint16(b[i])
			top = max(top, v)
			dst[i] = v
		}
	}
	if int(top) >= limit {
		return dst, errDamaged
	}
	return dst, nil
}

func (d *decoder) threads() error {
	col, err := d.set.column(hotThread)
	if err != nil {
		return err
	}
	h := d.h
	if d.lt, err = planes(d.lt, col, h.n, len(h.threads), len(h.threads)); err != nil {
		return err
	}
	d.c.thread = grow(d.c.thread, h.n)
	for i, x := range d.lt {
		d.c.thread[i] = h.threads[x]
	}
	return nil
}

func (d *decoder) localFuncs() error {
	col, err := d.set.column(hotFunc)
	if err != nil {
		return err
	}
	count := len(d.h.funcs) + 1
	d.lf, err = planes(d.lf, col, d.h.n, count, count)
	return err
}

func (d *decoder) funcs() error {
	h := d.h
	d.c.fn = grow(d.c.fn, h.n)
	for i, x := range d.lf {
		if int(x) < len(h.funcs) {
			d.c.fn[i] = h.funcs[x]
		} else {
			d.c.fn[i] = noFunc
		}
	}
	return nil
}

// listExits fills exits and results.
func (d *decoder) listExits() {
	if d.haveExits {
		return
	}
	d.haveExits = true
	kind, flags := d.c.kind, d.c.flags
	d.exits = grow(d.exits, len(kind))
	n := 0
	for i, k := range kind {
		d.exits[n] = int32(i)
		n += bit(k == uint8(event.FunctionExit))
	}
	d.exits = d.exits[:n]
	d.results = grow(d.results, n)
	m := 0
	for _, i := range d.exits {
		d.results[m] = i
		m += int(flags[i] & uint8(event.HasRet))
	}
	d.results = d.results[:m]
}

// bit is 1 for true. The compiler makes it a SETcc.
func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (d *decoder) ids(h *header) error {
	if !h.sparse {
		d.c.ids = nil
		return nil
	}
	col, err := d.set.column(hotIDs)
	if err != nil {
		return err
	}
	r := reader{b: col}
	d.c.ids = make([]event.ID, h.n)
	id := h.first
	for i := range d.c.ids {
		step := r.uvarint()
		if i == 0 != (step == 0) || step > uint64(h.last-id) {
			return errDamaged
		}
		id += event.ID(step)
		d.c.ids[i] = id
	}
	if r.bad || id != h.last {
		return errDamaged
	}
	return nil
}

func (d *decoder) times() error { return d.timesTo(d.h.n) }

// timesTo decodes the first n times: each is a difference from the one before.
func (d *decoder) timesTo(n int) error {
	col, err := d.set.column(hotTime)
	if err != nil {
		return err
	}
	r := reader{b: col}
	d.c.ts = grow(d.c.ts, d.h.n)
	d.vals = r.uvarints(d.vals, n)
	ts := int64(0)
	for i, v := range d.vals {
		ts += unzigzag(v)
		d.c.ts[i] = ts
	}
	if r.bad {
		return errDamaged
	}
	return nil
}

func (d *decoder) durations() error {
	col, err := d.set.column(hotDur)
	if err != nil {
		return err
	}
	d.listExits()
	r := reader{b: col}
	d.c.dur = grow(d.c.dur, d.h.n)
	clear(d.c.dur)
	d.vals = r.uvarints(d.vals, len(d.exits))
	for k, i := range d.exits {
		d.c.dur[i] = int64(d.vals[k])
	}
	if r.bad {
		return errDamaged
	}
	return nil
}

func (d *decoder) returns() error {
	col, err := d.set.column(hotRet)
	if err != nil {
		return err
	}
	d.listExits()
	r := reader{b: col}
	d.c.ret = grow(d.c.ret, d.h.n)
	clear(d.c.ret)
	d.retPrev = append(d.retPrev[:0], make([]int64, len(d.h.funcs)+1)...)
	d.vals = r.uvarints(d.vals, len(d.results))
	for k, i := range d.results {
		p := &d.retPrev[d.lf[i]]
		*p += unzigzag(d.vals[k])
		d.c.ret[i] = *p
	}
	if r.bad {
		return errDamaged
	}
	return nil
}

// cold decodes the rest of the events at sel, which ascend, of the block that begin started and of which want decoded
// functions and threads. Of the events between them it has all but the payloads, as far as no selected one builds on
// them.
func (d *decoder) cold(blob []byte, sel []int32) error {
	if len(sel) == 0 {
		return nil
	}
	if err := d.far.open(blob, coldColumns); err != nil {
		return err
	}
	h, c := d.h, &d.c
	var enters, parents, depths reader
	for _, col := range [...]struct {
		column int
		into   *reader
	}{{coldEnter, &enters}, {coldParent, &parents}, {coldDepth, &depths}} {
		var err error
		if col.into.b, err = d.far.column(col.column); err != nil {
			return err
		}
	}
	rd, err := d.payloads()
	if err != nil {
		return err
	}
	c.parent, c.enter = grow(c.parent, h.n), grow(c.enter, h.n)
	c.depth, c.payEnd = grow(c.depth, h.n), grow(c.payEnd, h.n)
	c.pay = c.pay[:0]
	d.pred.reset(len(h.threads))
	some := few(sel)
	if some {
		d.planArgs(sel)
	}
	d.words.reset(len(h.funcs))
	for i := range int(sel[len(sel)-1]) + 1 {
		k, id := event.Kind(c.kind[i]), c.id(i)
		enter, parent, depth := d.pred.predict(d.lt[i], k)
		c.enter[i] = 0
		if k == event.FunctionExit {
			c.enter[i] = enters.residual(id, enter)
		}
		c.parent[i] = parents.residual(id, parent)
		c.depth[i] = depth + int32(depths.varint())
		d.pred.update(d.lt[i], k, id, c.enter[i], c.parent[i], c.depth[i])
		if k.IsCall() {
			if p := d.words.slot(d.lf[i], k); some && !d.needed[p.slot] {
				rd.skip(p)
				d.words.last = p.slot
			} else {
				c.pay = rd.read(p, c.pay)
				d.words.last = p.slot
			}
			if rd.over {
				return errDamaged
			}
		}
		c.payEnd[i] = uint32(len(c.pay))
	}
	if rd.bad() || enters.bad || parents.bad || depths.bad {
		return errDamaged
	}
	return nil
}

// residual reads what appendResidual wrote.
func (r *reader) residual(id, predicted event.ID) event.ID {
	v := r.uvarint()
	if v == 0 {
		return predicted
	}
	if v-1 > uint64(id) {
		r.bad = true
		return 0
	}
	return id - event.ID(v-1)
}
