package emulate

import (
	"bytes"
	"errors"
)

// Written is what an instruction that a thread has just run did to a range of memory, by its operands: others may have
// written there since.
type Written struct {
	Old    []byte // what it found there; nil: it kept that in no register
	New    []byte // what it left there, where before was there; nil: unknown
	Exact  bool   // New holds whatever was there before
	Atomic bool
}

// ErrElsewhere says that the instruction wrote nothing to the range.
var ErrElsewhere = errors.New("it writes nothing there")

// Wrote runs an instruction again for what it wrote to the range at addr that held before. th are the registers after
// it, and RIP is where it begins; from is where the code begins that computes its operand, for one that exchanges that
// with memory: 0 if that is not known.
func Wrote(mem Memory, th Thread, from, addr uint64, before []byte) (Written, error) {
	dry := Resume(mem, &th, Limits{}, nil) // to decode it
	if err := dry.Step(nil); err != nil {
		return Written{}, err
	}
	in, n := dry.in, dry.width()
	a := again{mem: mem, th: th, start: th.RIP, addr: addr}
	w := Written{Atomic: in.locked}
	var found []byte // what it read there
	switch kind := in.op &^ 1; {
	case in.vector:
	case in.two && kind == 0xc0, !in.two && kind == 0x86: // xadd, xchg
		w.Atomic = true
		found, a.start = word(dry.regAfter(&th, in.reg), n), from
	case in.two && kind == 0xb0: // cmpxchg
		found = word(th.Reg[RAX], n)
	case in.two && in.op == 0xc7: // cmpxchg8b, cmpxchg16b
		n = max(in.size, 4)
		found = append(word(th.Reg[RAX], n), word(th.Reg[RDX], n)...)
	case in.two:
	case usesCarry(&in), in.rep != 0 && (kind == 0xa4 || kind == 0xaa): // the latter ends between two rounds
		return Written{}, ErrUnknown
	case kind == 0xa4 || kind == 0xaa: // movs, stos
		if dry.df {
			n = -n
		}
		if a.th.Reg[RDI] -= uint64(n); kind == 0xa4 {
			a.th.Reg[RSI] -= uint64(n)
		}
	case in.op >= 0x50 && in.op < 0x58, in.op == 0x68, in.op == 0x6a, in.op == 0xff && in.reg&7 == 6: // push
		a.th.Reg[RSP] += 8
	case in.op == 0x8f: // pop
		a.th.Reg[RSP] -= 8
	}
	if found == nil {
		return a.plain(w, before)
	}
	w.Old = bytes.Clone(before)
	place(w.Old, addr, found, in.addr)
	w.Exact = in.addr <= addr && addr+uint64(len(before)) <= in.addr+uint64(len(found))
	switch {
	case in.two && in.op&^1 != 0xc0 && th.Flags&flagZero == 0: // a comparison that failed wrote what it found
		w.New = w.Old
		return w, nil
	case a.start == 0:
		return w, nil
	}
	var at uint64
	var err error
	if w.New, at, err = a.run(w.Old); err == nil && at != in.addr { // the code before it computes another place
		err = ErrUnknown
	}
	return w, err
}

// again is an instruction that is run once more.
type again struct {
	mem         Memory
	th          Thread
	start, addr uint64
}

// plain is for instructions that keep nothing of what they found.
func (a *again) plain(w Written, before []byte) (Written, error) {
	var err error
	if w.New, _, err = a.run(before); err != nil {
		return Written{}, err
	}
	other := bytes.Clone(before)
	for i := range other {
		other[i] ^= 0xff
	}
	if other, _, err = a.run(other); err == nil {
		w.Exact = bytes.Equal(other, w.New)
	}
	return w, nil
}

// run gives what is in the range after the instruction, and the address of its operand.
func (a *again) run(before []byte) (after []byte, operand uint64, err error) {
	m := Resume(overlay{a.mem, a.addr, before}, &a.th, Limits{Steps: maxOperand}, nil)
	for m.RIP = a.start; m.RIP != a.th.RIP; {
		if err := m.Step(nil); err != nil {
			return nil, 0, err
		}
	}
	t := m.Record()
	if err := m.Step(nil); err != nil {
		return nil, 0, err
	}
	after = make([]byte, len(before))
	for w := a.addr / 8; w <= (a.addr+uint64(len(before))-1)/8; w++ {
		if t.Written[w] {
			return after, m.in.addr, m.Read(a.addr, after)
		}
	}
	return nil, 0, ErrElsewhere
}

// maxOperand bounds the instructions that compute an operand.
const maxOperand = 16

const flagZero = 1 << 6

// usesCarry reports instructions whose result depends on the carry flag, which they change: adc, sbb, rcl, rcr.
func usesCarry(in *insn) bool {
	if in.two {
		return false
	}
	switch op := in.op; {
	case op >= 0x10 && op < 0x20:
		return true
	case op >= 0x80 && op < 0x84, op == 0xc0, op == 0xc1, op >= 0xd0 && op < 0xd4:
		return in.reg&7 == 2 || in.reg&7 == 3
	}
	return false
}

// regAfter is what a thread has in the decoded instruction's register operand.
func (m *Machine) regAfter(th *Thread, r int) uint64 {
	if m.width() == 1 && m.in.rex == 0 && r >= 4 && r < 8 {
		return th.Reg[r-4] >> 8
	}
	return th.Reg[r]
}

func word(v uint64, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(v >> (8 * i))
	}
	return b
}

// place copies b, which lies at from, to where it overlaps what lies at addr.
func place(to []byte, addr uint64, b []byte, from uint64) {
	for i := range b {
		if off := from + uint64(i) - addr; off < uint64(len(to)) {
			to[off] = b[i]
		}
	}
}

// overlay is memory in which other bytes are at one place.
type overlay struct {
	Memory
	addr uint64
	b    []byte
}

func (o overlay) Read(addr uint64, b []byte) error {
	err := o.Memory.Read(addr, b)
	place(b, addr, o.b, o.addr)
	return err
}

// Overlay is memory in which other bytes are at one place.
func Overlay(mem Memory, addr uint64, b []byte) Memory { return overlay{mem, addr, b} }
