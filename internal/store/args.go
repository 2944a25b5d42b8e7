package store

import (
	"github.com/strobe-debug/strobe/internal/event"
)

// args decodes the payloads of the selected calls and of nothing else. In the block's streams the words of
// all calls follow each other, and a word is a difference from the one before of the same function: so the calls
// of other functions are stepped over, and only what the selected ones build on is computed. begin and want(needLocal)
// came before; every event in d.sel is a call.
func (d *decoder) args(blob []byte) error {
	if err := d.far.open(blob, coldColumns); err != nil {
		return err
	}
	var rd [coldColumns]reader
	for _, i := range [...]int{coldLen, coldForm, coldWords, coldRaw} {
		col, err := d.far.column(i)
		if err != nil {
			return err
		}
		rd[i].b = col
	}
	c, next := &d.c, 0
	upTo := int(d.sel[len(d.sel)-1]) + 1
	d.planArgs(d.sel)
	d.words.reset(len(d.h.funcs))
	c.payEnd = grow(c.payEnd, d.h.n)
	c.pay = c.pay[:0]
	for i := range upTo {
		selected := int(d.sel[next]) == i
		next += bit(selected)
		if k := event.Kind(c.kind[i]); k.IsCall() {
			p := d.words.slot(d.lf[i], k)
			ok := false
			if d.needed[p.slot] {
				from := len(c.pay)
				if ok = d.payload(&rd, p); !selected {
					c.pay = c.pay[:from]
				}
			} else {
				ok = d.skipPayload(&rd, p)
			}
			if !ok {
				return errDamaged
			}
		}
		c.payEnd[i] = uint32(len(c.pay))
	}
	return nil
}

// planArgs finds the states of d.words that the calls at sel need: their own, and those that these began as copies of.
func (d *decoder) planArgs(sel []int32) {
	d.slots = append(d.slots[:0], make([]int32, 2*(len(d.h.funcs)+1))...)
	d.copyOf, d.needed = append(d.copyOf[:0], 0), append(d.needed[:0], false)
	last, next := int32(0), 0
	for i := range int(sel[len(sel)-1]) + 1 { // numbers the states as wordState.slot will
		k, selected := event.Kind(d.c.kind[i]), int(sel[next]) == i
		next += bit(selected)
		if !k.IsCall() {
			continue
		}
		slot := &d.slots[2*int(d.lf[i])+bit(k == event.FunctionExit)]
		if *slot == 0 {
			*slot = int32(len(d.needed))
			d.copyOf, d.needed = append(d.copyOf, last), append(d.needed, false)
		}
		last = *slot
		if selected {
			d.needed[last] = true
		}
	}
	for slot := len(d.needed) - 1; slot > 0; slot-- { // a copy is made after its original
		if d.needed[slot] {
			d.needed[d.copyOf[slot]] = true
		}
	}
}

// formSizes has the bytes of a word by its form.
var formSizes = [16]uint8{0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 1, 2, 3, 4, 5, 6}

// skipPayload steps over a payload that payload would read. Its words stay unknown.
func (d *decoder) skipPayload(rd *[coldColumns]reader, p *payloadState) bool {
	if v := rd[coldLen].uvarint(); v > maxColumn {
		return false
	} else if v != 0 {
		p.n = int(v - 1)
	}
	words, size := min(p.n/8, len(p.w)), 0
	s := &d.words
	for range words {
		form := s.half
		if !s.odd {
			b := rd[coldForm].bytes(1)
			if b == nil {
				return false
			}
			form, s.half = b[0]&15, b[0]>>4
		}
		s.odd = !s.odd
		size += int(formSizes[form])
	}
	rd[coldWords].bytes(size)
	rd[coldRaw].bytes(p.n - 8*words)
	s.last = p.slot
	return !rd[coldLen].bad && !rd[coldRaw].bad && !rd[coldWords].bad
}

// argRow fills r with what ScanOptions.Args promises; the payload aliases c.
func (c *columns) argRow(i int, r *Row) {
	*r = Row{
		ID: c.id(i), Kind: event.Kind(c.kind[i]), Flags: event.Flags(c.flags[i]), Func: event.FuncID(c.fn[i]),
		Payload: c.payload(i),
	}
}
