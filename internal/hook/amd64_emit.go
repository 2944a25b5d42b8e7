package hook

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrRange says that an address is more than 2 GiB away from the code that refers to it: the
// arena is too far from the function.
var ErrRange = errors.New("target out of reach")

// ErrShort says that the buffer is smaller than MaxStub.
var ErrShort = errors.New("buffer too short for the stub")

// emitter appends machine code to a buffer. The first error stands and stops it.
type emitter struct {
	buf []byte
	n   int
	at  Addr // address of buf[0]
	err error
}

func (e *emitter) pc() Addr { return e.at + Addr(e.n) }

func (e *emitter) bytes(b ...byte) {
	if e.err == nil && e.n+len(b) > len(e.buf) {
		e.err = ErrShort
	}
	if e.err == nil {
		e.n += copy(e.buf[e.n:], b)
	}
}

func (e *emitter) u32(v uint32) {
	e.bytes(byte(v), byte(v>>8), byte(v>>16), byte(v>>24))
}

// rel32 appends the distance from the end of itself and after more bytes to an address.
func (e *emitter) rel32(to Addr, after int) {
	e.u32(uint32(e.distance(e.pc()+4+Addr(after), to)))
}

func (e *emitter) distance(from, to Addr) int32 {
	d := int64(to - from)
	if int64(int32(d)) != d && e.err == nil {
		e.err = fmt.Errorf("reach %#x from %#x: %w", to, from, ErrRange)
	}
	return int32(d)
}

// later appends room for a rel32 and returns its position, for patch.
func (e *emitter) later() int {
	e.u32(0)
	return e.n - 4
}

// patch fills in a rel32 that later made room for.
func (e *emitter) patch(pos int, to Addr) {
	d := e.distance(e.at+Addr(pos)+4, to)
	if e.err == nil {
		binary.LittleEndian.PutUint32(e.buf[pos:], uint32(d))
	}
}

// push appends push imm32, which the processor extends with its sign.
func (e *emitter) push(v uint32) {
	e.bytes(0x68)
	e.u32(v)
}

// callSlot appends push id; call [slot].
func (e *emitter) callSlot(id uint32, slot Addr) {
	e.push(id)
	e.bytes(0xFF, 0x15)
	e.rel32(slot, 0)
}

// pushAddr pushes an address without touching a register or a flag. It does so by a call over what follows it, so
// that the processor's stack of return addresses keeps step with the program's: only the return to
// the address is predicted wrongly then, not every return after it.
func (e *emitter) pushAddr(a Addr) {
	e.bytes(0xE8, 2, 0, 0, 0, 0x0F, 0x0B) // call over a ud2, which is never reached
	e.bytes(0xC7, 0x04, 0x24)             // mov dword [rsp], low half
	e.u32(uint32(a))
	e.bytes(0xC7, 0x44, 0x24, 0x04) // mov dword [rsp+4], high half
	e.u32(uint32(a >> 32))
}
