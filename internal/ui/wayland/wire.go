// Package wayland owns a small client of Wayland compositors: outputs, pictures of them, a pointer and a keyboard of
// its own, the list of windows, and what sway tells beyond the protocol. It speaks the wire format by hand.
//
// It stands beside x11 at the bottom of ui. A compositor offers what it wants to: what it does not is told by Lacks.
// One goroutine reads; it keeps what the compositor tells and never waits. A compositor that does not answer, or
// damaged bytes, are errors, and end the connection.
package wayland

import (
	"encoding/binary"
	"errors"
)

// object is the number of something that we and the compositor both know; 1 is the display.
type object uint32

const display object = 1

// headSize is the bytes before a message's arguments: object, size and opcode.
const headSize = 8

// message is an event of the compositor.
type message struct {
	to   object
	op   uint16
	body args
}

var errDamaged = errors.New("the Wayland compositor's message is damaged")

// next takes a message off the bytes that came. ok is false where it is not whole yet.
func next(b []byte) (m message, rest []byte, ok bool, err error) {
	if len(b) < headSize {
		return message{}, b, false, nil
	}
	word := binary.NativeEndian.Uint32(b[4:])
	size := int(word >> 16)
	if size < headSize || size%4 != 0 {
		return message{}, b, false, errDamaged
	}
	if len(b) < size {
		return message{}, b, false, nil
	}
	return message{object(binary.NativeEndian.Uint32(b)), uint16(word), args{b: b[headSize:size]}}, b[size:], true, nil
}

// args are the arguments of a message, read one after the other. What is asked for beyond their end is zero, and bad.
type args struct {
	b   []byte
	bad bool
}

func (a *args) uint() uint32 {
	if len(a.b) < 4 {
		a.b, a.bad = nil, true
		return 0
	}
	v := binary.NativeEndian.Uint32(a.b)
	a.b = a.b[4:]
	return v
}

func (a *args) int() int { return int(int32(a.uint())) }

// bytes is an array: its length, and so many bytes filled up to four.
func (a *args) bytes() []byte {
	n := uint64(a.uint())
	if room := (n + 3) &^ 3; room <= uint64(len(a.b)) {
		v := a.b[:n]
		a.b = a.b[room:]
		return v
	}
	a.b, a.bad = nil, true
	return nil
}

// string is an array that ends with a zero.
func (a *args) string() string {
	b := a.bytes()
	if len(b) == 0 {
		return ""
	}
	if b[len(b)-1] != 0 {
		a.bad = true
		return ""
	}
	return string(b[:len(b)-1])
}

// request makes the bytes of a request: of object and number their number, of int two's complement, of string an array.
func request(to object, op uint16, args ...any) []byte {
	b := make([]byte, headSize, 64)
	for _, a := range args {
		switch v := a.(type) {
		case object:
			b = binary.NativeEndian.AppendUint32(b, uint32(v))
		case uint32:
			b = binary.NativeEndian.AppendUint32(b, v)
		case int:
			b = binary.NativeEndian.AppendUint32(b, uint32(int32(v)))
		case string:
			b = binary.NativeEndian.AppendUint32(b, uint32(len(v)+1))
			b = append(append(b, v...), 0)
			b = append(b, make([]byte, -len(b)&3)...)
		default:
			panic("request: an argument of a kind that the wire has not")
		}
	}
	binary.NativeEndian.PutUint32(b, uint32(to))
	binary.NativeEndian.PutUint32(b[4:], uint32(len(b))<<16|uint32(op))
	return b
}

// fixed is a number as the wire has those with a fraction: in 256ths.
func fixed(v int) int { return v << 8 }
