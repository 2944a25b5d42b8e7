package dbus

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// Reader reads the values of a body one after the other. Behind the first that is not there all are zero, and Err says
// so.
type Reader struct {
	b     []byte
	at    int
	order binary.ByteOrder
	bad   error
}

var errShort = errors.New("read message: a value is cut off")

// Err is why a value could not be read.
func (r *Reader) Err() error { return r.bad }

// More reports whether there is anything left.
func (r *Reader) More() bool { return r.bad == nil && r.at < len(r.b) }

func (r *Reader) take(n int) []byte {
	if r.bad == nil && (n < 0 || len(r.b)-r.at < n) {
		r.bad = errShort
	}
	if r.bad != nil {
		return nil
	}
	b := r.b[r.at : r.at+n]
	r.at += n
	return b
}

func (r *Reader) align(n int) { r.take((n - r.at%n) % n) }

// Byte reads a y.
func (r *Reader) Byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

// Uint16 reads a q or an n.
func (r *Reader) Uint16() uint16 {
	r.align(2)
	if b := r.take(2); b != nil {
		return r.order.Uint16(b)
	}
	return 0
}

// Uint32 reads a u.
func (r *Reader) Uint32() uint32 {
	r.align(4)
	if b := r.take(4); b != nil {
		return r.order.Uint32(b)
	}
	return 0
}

// Int32 reads an i.
func (r *Reader) Int32() int32 { return int32(r.Uint32()) }

// Bool reads a b.
func (r *Reader) Bool() bool { return r.Uint32() != 0 }

// Uint64 reads a t or an x.
func (r *Reader) Uint64() uint64 {
	r.align(8)
	if b := r.take(8); b != nil {
		return r.order.Uint64(b)
	}
	return 0
}

// Float reads a d.
func (r *Reader) Float() float64 { return math.Float64frombits(r.Uint64()) }

// String reads an s or an o.
func (r *Reader) String() string {
	n := r.Uint32()
	if n > maxMessage {
		r.bad = errShort
		return ""
	}
	s := string(r.take(int(n)))
	r.take(1)
	return s
}

// Signature reads a g.
func (r *Reader) Signature() string {
	s := string(r.take(int(r.Byte())))
	r.take(1)
	return s
}

// Struct goes to the beginning of a struct or a dictionary's entry.
func (r *Reader) Struct() { r.align(8) }

// Array calls each for every element; align is the elements' alignment.
func (r *Reader) Array(align int, each func()) {
	n := r.Uint32()
	r.align(align)
	if n > maxMessage || len(r.b)-r.at < int(n) {
		r.bad = errShort
	}
	if r.bad != nil {
		return
	}
	for end := r.at + int(n); r.at < end && r.bad == nil; {
		before := r.at
		each()
		if r.at == before {
			r.bad = errShort
		}
	}
}

// Scalar reads a variant that holds a number, a text or a truth value; another one is passed over, and nil.
func (r *Reader) Scalar() any {
	switch sig := r.Signature(); sig {
	case "s", "o":
		return r.String()
	case "i":
		return r.Int32()
	case "u":
		return r.Uint32()
	case "b":
		return r.Bool()
	case "d":
		return r.Float()
	case "x", "t":
		return int64(r.Uint64())
	case "n", "q":
		return int32(int16(r.Uint16()))
	case "y":
		return int32(r.Byte())
	default:
		r.Skip(sig)
		return nil
	}
}

// Skip passes over values of a signature.
func (r *Reader) Skip(sig string) {
	for sig != "" && r.bad == nil {
		sig = r.skipOne(sig, 0)
	}
}

// maxNested is the specification's bound of containers in containers.
const maxNested = 64

// skipOne passes over the first type of a signature and returns the rest.
func (r *Reader) skipOne(sig string, depth int) string {
	if sig == "" || depth > maxNested {
		r.bad = fmt.Errorf("read message: signature %q", sig)
		return ""
	}
	rest := sig[1:]
	switch sig[0] {
	case 'y':
		r.Byte()
	case 'n', 'q':
		r.Uint16()
	case 'i', 'u', 'b', 'h':
		r.Uint32()
	case 'x', 't', 'd':
		r.Uint64()
	case 's', 'o':
		_ = r.String()
	case 'g':
		r.Signature()
	case 'v':
		inner := r.Signature()
		for inner != "" && r.bad == nil {
			inner = r.skipOne(inner, depth+1)
		}
	case 'a':
		if rest == "" {
			r.bad = fmt.Errorf("read message: signature %q", sig)
			return ""
		}
		n := r.Uint32()
		r.align(alignOf(rest[0]))
		r.take(int(n))
		return rest[typeLen(rest):]
	case '(', '{':
		r.align(8)
		for rest != "" && rest[0] != ')' && rest[0] != '}' && r.bad == nil {
			rest = r.skipOne(rest, depth+1)
		}
		if rest == "" {
			r.bad = fmt.Errorf("read message: signature %q", sig)
			return ""
		}
		return rest[1:]
	default:
		r.bad = fmt.Errorf("read message: type %q", sig[0])
	}
	return rest
}

func alignOf(t byte) int {
	switch t {
	case 'y', 'g', 'v':
		return 1
	case 'n', 'q':
		return 2
	case 'x', 't', 'd', '(', '{':
		return 8
	}
	return 4
}

// typeLen is how long the first type of a signature is.
func typeLen(sig string) int {
	n := 0
	for n < len(sig) && sig[n] == 'a' {
		n++
	}
	if n == len(sig) {
		return n
	}
	depth := 0
	for ; n < len(sig); n++ {
		switch sig[n] {
		case '(', '{':
			depth++
		case ')', '}':
			depth--
		}
		if depth <= 0 {
			return n + 1
		}
	}
	return n
}
