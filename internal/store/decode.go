package store

import (
	"encoding/binary"

	"github.com/strobe-debug/strobe/internal/event"
)

// need says which filter columns to decode.
type need uint8

const (
	needFunc need = 1 << iota
	needTime
	needDur
	needRet
	needAll = needFunc | needTime | needDur | needRet
)

// decoder decodes blocks into columns that it owns. Not safe for concurrent use.
type decoder struct {
	c       columns
	set     columnSet
	lt, lf  []uint16
	lo, hi  []uint16 // scratch for planes
	retPrev []int64
	pred    predictor
	words   wordState
	sel     []int32
	row     Row
}

// grow returns v with length n; its contents are undefined.
func grow[T any](v []T, n int) []T {
	if cap(v) < n {
		return make([]T, max(n, blockEvents))[:n]
	}
	return v[:n]
}

// hot decodes kind, flags, thread and ids of a block, and what else is needed, into d.c.
func (d *decoder) hot(h *header, blob []byte, nd need) error {
	if err := d.set.open(blob, hotColumns); err != nil {
		return err
	}
	c := &d.c
	c.n, c.first = h.n, h.first
	if err := d.tags(h.n); err != nil {
		return err
	}
	if err := d.threads(h); err != nil {
		return err
	}
	if err := d.ids(h); err != nil {
		return err
	}
	if nd&(needFunc|needRet) != 0 {
		if err := d.funcs(h); err != nil {
			return err
		}
	}
	if nd&needTime != 0 {
		if err := d.times(h.n); err != nil {
			return err
		}
	}
	if nd&needDur != 0 {
		if err := d.durations(h.n); err != nil {
			return err
		}
	}
	if nd&needRet != 0 {
		return d.results(h)
	}
	return nil
}

func (d *decoder) tags(n int) error {
	col, err := d.set.column(hotTag)
	if err != nil {
		return err
	}
	r := reader{b: col}
	dict := r.ascending()
	if d.lo, err = planes(d.lo, r.b, n, len(dict), len(dict)); err != nil || r.bad {
		return errDamaged
	}
	d.c.kind, d.c.flags = grow(d.c.kind, n), grow(d.c.flags, n)
	for i, x := range d.lo {
		d.c.kind[i], d.c.flags[i] = uint8(dict[x]), uint8(dict[x]>>8)
		if d.c.kind[i] >= uint8(event.NumKinds) {
			return errDamaged
		}
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
	for i := range dst {
		dst[i] = uint16(b[i])
	}
	if count > 256 {
		for i := range dst {
			dst[i] |= uint16(b[n+i]) << 8
		}
	}
	for _, v := range dst {
		if int(v) >= limit {
			return dst, errDamaged
		}
	}
	return dst, nil
}

func (d *decoder) threads(h *header) error {
	col, err := d.set.column(hotThread)
	if err != nil {
		return err
	}
	if d.lt, err = planes(d.lt, col, h.n, len(h.threads), len(h.threads)); err != nil {
		return err
	}
	d.c.thread = grow(d.c.thread, h.n)
	for i, x := range d.lt {
		d.c.thread[i] = h.threads[x]
	}
	return nil
}

func (d *decoder) funcs(h *header) error {
	col, err := d.set.column(hotFunc)
	if err != nil {
		return err
	}
	if d.lf, err = planes(d.lf, col, h.n, len(h.funcs)+1, len(h.funcs)+1); err != nil {
		return err
	}
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

func (d *decoder) times(n int) error {
	col, err := d.set.column(hotTime)
	if err != nil {
		return err
	}
	r := reader{b: col}
	d.c.ts = grow(d.c.ts, n)
	ts := int64(0)
	for i := range d.c.ts {
		ts += unzigzag(r.uvarint())
		d.c.ts[i] = ts
	}
	if r.bad {
		return errDamaged
	}
	return nil
}

func (d *decoder) durations(n int) error {
	col, err := d.set.column(hotDur)
	if err != nil {
		return err
	}
	r := reader{b: col}
	d.c.dur = grow(d.c.dur, n)
	for i := range d.c.dur {
		d.c.dur[i] = 0
		if event.Kind(d.c.kind[i]) == event.FunctionExit {
			d.c.dur[i] = int64(r.uvarint())
		}
	}
	if r.bad {
		return errDamaged
	}
	return nil
}

func (d *decoder) results(h *header) error {
	col, err := d.set.column(hotRet)
	if err != nil {
		return err
	}
	r := reader{b: col}
	d.c.ret = grow(d.c.ret, h.n)
	d.retPrev = append(d.retPrev[:0], make([]int64, len(h.funcs)+1)...)
	for i := range d.c.ret {
		d.c.ret[i] = 0
		if event.Kind(d.c.kind[i]) == event.FunctionExit && event.Flags(d.c.flags[i])&event.HasRet != 0 {
			p := &d.retPrev[d.lf[i]]
			*p += unzigzag(r.uvarint())
			d.c.ret[i] = *p
		}
	}
	if r.bad {
		return errDamaged
	}
	return nil
}

// cold decodes the rest of events [0, upTo) of the block that hot decoded last with needFunc.
func (d *decoder) cold(h *header, blob []byte, upTo int) error {
	if err := d.set.open(blob, coldColumns); err != nil {
		return err
	}
	var rd [coldColumns]reader
	for i := range rd {
		col, err := d.set.column(i)
		if err != nil {
			return err
		}
		rd[i].b = col
	}
	c := &d.c
	c.parent, c.enter = grow(c.parent, h.n), grow(c.enter, h.n)
	c.depth, c.payEnd = grow(c.depth, h.n), grow(c.payEnd, h.n)
	c.pay = c.pay[:0]
	d.pred.reset(len(h.threads))
	d.words.reset(len(h.funcs))
	for i := range upTo {
		k, id := event.Kind(c.kind[i]), c.id(i)
		enter, parent, depth := d.pred.predict(d.lt[i], k)
		c.enter[i] = 0
		if k == event.FunctionExit {
			c.enter[i] = rd[coldEnter].residual(id, enter)
		}
		c.parent[i] = rd[coldParent].residual(id, parent)
		c.depth[i] = depth + int32(rd[coldDepth].varint())
		d.pred.update(d.lt[i], k, id, c.enter[i], c.parent[i], c.depth[i])
		if k.IsCall() && !d.payload(&rd, d.words.slot(d.lf[i], k)) {
			return errDamaged
		}
		c.payEnd[i] = uint32(len(c.pay))
	}
	for i := range rd {
		if rd[i].bad {
			return errDamaged
		}
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

func (d *decoder) payload(rd *[coldColumns]reader, p *payloadState) bool {
	if v := rd[coldLen].uvarint(); v > maxColumn {
		return false
	} else if v != 0 {
		p.n = int(v - 1)
	}
	if len(d.c.pay)+p.n > maxColumn {
		return false
	}
	words := min(p.n/8, len(p.w))
	for k := range words {
		p.w[k] = d.words.word(rd, p.w[k])
		d.c.pay = binary.LittleEndian.AppendUint64(d.c.pay, p.w[k])
	}
	d.words.last, d.words.lastN = p.w, p.n
	d.c.pay = append(d.c.pay, rd[coldRaw].bytes(p.n-8*words)...)
	return !rd[coldRaw].bad && !rd[coldWords].bad && !rd[coldForm].bad
}

// word reads one payload word; prev is the one before it.
func (s *wordState) word(rd *[coldColumns]reader, prev uint64) uint64 {
	form := s.half
	if !s.odd {
		b := rd[coldForm].bytes(1)
		if b == nil {
			return 0
		}
		form, s.half = b[0]&15, b[0]>>4
	}
	s.odd = !s.odd
	size := int(form)
	if form > 8 {
		size -= 9
	}
	var b [8]byte
	copy(b[:], rd[coldWords].bytes(size))
	v := binary.LittleEndian.Uint64(b[:])
	if form < 8 {
		return prev + uint64(unzigzag(v))
	}
	return v
}
