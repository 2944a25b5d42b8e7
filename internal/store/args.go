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
	rd, err := d.payloads()
	if err != nil {
		return err
	}
	c, next := &d.c, 0
	upTo := int(d.sel[len(d.sel)-1]) + 1
	d.planArgs(d.sel)
	states, last := append(d.words.states[:0], payloadState{}), int32(0)
	c.payEnd = grow(c.payEnd, d.h.n)
	c.pay = c.pay[:0]
	for i := range upTo {
		selected := int(d.sel[next]) == i
		next += bit(selected)
		if k := event.Kind(c.kind[i]); k.IsCall() {
			slot := d.slots[2*int(d.lf[i])+bit(k == event.FunctionExit)]
			if int(slot) == len(states) { // its first, as in wordState.slot
				states = append(states, states[last])
			}
			last = slot
			switch p := &states[slot]; {
			case selected:
				c.pay = rd.read(p, c.pay)
			case d.needed[slot]:
				rd.pass(p)
			default:
				rd.skip(p)
			}
		}
		c.payEnd[i] = uint32(len(c.pay))
	}
	if d.words.states = states; rd.bad() {
		return errDamaged
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

// argRow fills r with what ScanOptions.Args promises; the payload aliases c.
func (c *columns) argRow(i int, r *Row) {
	*r = Row{
		ID: c.id(i), Kind: event.Kind(c.kind[i]), Flags: event.Flags(c.flags[i]), Func: event.FuncID(c.fn[i]),
		Payload: c.payload(i),
	}
}
