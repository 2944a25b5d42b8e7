package classfile

import (
	"encoding/binary"
	"fmt"
)

// Opcodes that matter here: JVMS 6.5.
const (
	opSipush       = 0x11
	opLdcW         = 0x13
	opIload        = 0x15
	opAload0       = 0x2a
	opDup          = 0x59
	opDup2         = 0x5c
	opIfeq         = 0x99
	opGoto         = 0xa7
	opJsr          = 0xa8
	opTableswitch  = 0xaa
	opLookupswitch = 0xab
	opIreturn      = 0xac
	opReturn       = 0xb1
	opInvokespec   = 0xb7
	opInvokestatic = 0xb8
	opNew          = 0xbb
	opAthrow       = 0xbf
	opWide         = 0xc4
	opIfnull       = 0xc6
	opIfnonnull    = 0xc7
	opGotoW        = 0xc8
	opJsrW         = 0xc9
	opLast         = 0xc9
	opIinc         = 0x84
)

// maxCode is the largest code of a method: JVMS 4.7.3.
const maxCode = 0xFFFF

// code is a Code attribute.
type code struct {
	maxStack, maxLocals uint16
	bytes               []byte
	handlers            []handler
	attributes          []Attribute
}

// handler is an entry of the exception table.
type handler struct{ start, end, target, class uint16 }

func readCode(data []byte) (*code, error) {
	r := &reader{b: data}
	c := &code{maxStack: r.u16(), maxLocals: r.u16()}
	c.bytes = r.take(int(r.u32()))
	for range r.u16() {
		c.handlers = append(c.handlers, handler{r.u16(), r.u16(), r.u16(), r.u16()})
		if r.bad {
			break
		}
	}
	c.attributes = readAttributes(r)
	if r.bad || len(r.b) != 0 || len(c.bytes) == 0 || len(c.bytes) > maxCode {
		return nil, fmt.Errorf("%w: a method's code", ErrMalformed)
	}
	return c, nil
}

func (c *code) marshal() []byte {
	b := put32(put16(put16(nil, c.maxStack), c.maxLocals), uint32(len(c.bytes)))
	b = append(b, c.bytes...)
	b = put16(b, uint16(len(c.handlers)))
	for _, h := range c.handlers {
		b = put16(put16(put16(put16(b, h.start), h.end), h.target), h.class)
	}
	return writeAttributes(b, c.attributes)
}

// operands is how many bytes follow each opcode, -1 where that depends.
var operands = func() (n [opLast + 1]int8) {
	set := func(v int8, from, to int) {
		for i := from; i <= to; i++ {
			n[i] = v
		}
	}
	set(1, 0x10, 0x10) // bipush
	set(2, 0x11, 0x11) // sipush
	set(1, 0x12, 0x12) // ldc
	set(2, 0x13, 0x14)
	set(1, 0x15, 0x19) // loads
	set(1, 0x36, 0x3a) // stores
	set(2, opIinc, opIinc)
	set(2, opIfeq, opJsr)
	set(1, 0xa9, 0xa9) // ret
	set(-1, opTableswitch, opLookupswitch)
	set(2, 0xb2, opInvokestatic)
	set(4, 0xb9, 0xba) // invokeinterface, invokedynamic
	set(2, opNew, opNew)
	set(1, 0xbc, 0xbc) // newarray
	set(2, 0xbd, 0xbd) // anewarray
	set(2, 0xc0, 0xc1) // checkcast, instanceof
	set(-1, opWide, opWide)
	set(3, 0xc5, 0xc5) // multianewarray
	set(2, opIfnull, opIfnonnull)
	set(4, opGotoW, opJsrW)
	return n
}()

// instruction is one of a method's, where it stood.
type instruction struct {
	at, size int
}

// instructions splits code.
func instructions(b []byte) ([]instruction, error) {
	var all []instruction
	for at := 0; at < len(b); {
		size, err := sizeOf(b, at)
		if err != nil {
			return nil, err
		}
		all = append(all, instruction{at, size})
		at += size
	}
	return all, nil
}

func sizeOf(b []byte, at int) (int, error) {
	op := b[at]
	if op > opLast {
		return 0, fmt.Errorf("%w: opcode %#x at %d", ErrMalformed, op, at)
	}
	size := 1 + int(operands[op])
	if size == 0 {
		size = longSize(b, at)
	}
	if size <= 0 || at+size > len(b) {
		return 0, fmt.Errorf("%w: the instruction at %d does not end", ErrMalformed, at)
	}
	return size, nil
}

// longSize is that of a switch or a wide instruction, 0 where it is none.
func longSize(b []byte, at int) int {
	if b[at] == opWide {
		if at+1 < len(b) && b[at+1] == opIinc {
			return 6
		}
		return 4
	}
	p := at + 1 + padding(at)
	word := func(i int) (int, bool) {
		if p+4*i+4 > len(b) {
			return 0, false
		}
		return int(int32(binary.BigEndian.Uint32(b[p+4*i:]))), true
	}
	if b[at] == opLookupswitch {
		n, ok := word(1)
		if !ok || n < 0 || n > maxCode/8 {
			return 0
		}
		return p + 8 + 8*n - at
	}
	low, ok := word(1)
	high, ok2 := word(2)
	if !ok || !ok2 || low > high || high-low > maxCode/4 {
		return 0
	}
	return p + 12 + 4*(high-low+1) - at
}

// padding is what stands between a switch's opcode and its first word.
func padding(at int) int { return (4 - (at+1)%4) % 4 }
