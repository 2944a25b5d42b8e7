package classfile

import (
	"encoding/binary"
	"strings"
)

// Suspend is what Kotlin's compiler makes a method of.
type Suspend int

// What there is.
const (
	NoSuspend Suspend = iota
	// SuspendFunction waits by returning COROUTINE_SUSPENDED, and is called again with a continuation of its own as its
	// last argument.
	SuspendFunction
	// SuspendTail never goes on: where it returns COROUTINE_SUSPENDED, what it called last gives its result.
	SuspendTail
	// SuspendLambda is a lambda's code, called once more each time that it goes on.
	SuspendLambda
)

const continuationLast = "Lkotlin/coroutines/Continuation;)Ljava/lang/Object;"

// IsSuspendLambda reports whether the class is of a suspend lambda.
func (f *File) IsSuspendLambda() bool {
	switch f.Pool.Class(f.Super) {
	case "kotlin/coroutines/jvm/internal/SuspendLambda", "kotlin/coroutines/jvm/internal/RestrictedSuspendLambda":
		return true
	}
	return false
}

// suspends finds what a method is. What the compiler adds to its parameters is none of Params.
func (f *File) suspends(m *Method) {
	n := len(m.Params)
	switch {
	case n == 0 || m.Result != 'L':
	case strings.HasSuffix(m.Descriptor, continuationLast) && f.isKotlin():
		m.last = m.Params[n-1].slot
		m.Params = m.Params[:n-1]
		m.Suspend = SuspendTail
		if c, err := readCode(f.attribute(f.Methods[m.Index].Attributes, "Code")); err == nil {
			f.nameLater(m, c)
			if m.own = ownContinuation(m, c); m.own != 0 {
				m.Suspend = SuspendFunction
			}
		}
	case n == 1 && m.Name == "invokeSuspend" && !m.Static() && f.IsSuspendLambda():
		m.Params = nil
		m.Suspend = SuspendLambda
	}
}

// nameLater takes names from the variables that are first in the parameters' places: before Kotlin 2.2 a parameter is
// told of from where the function's own code begins.
func (f *File) nameLater(m *Method, c *code) {
	first := map[int]uint16{}
	r := &reader{b: f.attribute(c.attributes, "LocalVariableTable")}
	for range r.u16() {
		start := r.u16()
		r.u16()
		name, _ := f.Pool.Utf8(r.u16())
		desc, _ := f.Pool.Utf8(r.u16())
		slot := int(r.u16())
		if before, ok := first[slot]; r.bad || ok && before <= start {
			continue
		}
		first[slot] = start
		for i := range m.Params {
			if p := &m.Params[i]; p.slot == slot && name != "" && desc != "" && desc[0] == p.Type {
				p.Name = name
			}
		}
	}
}

func (f *File) isKotlin() bool {
	if f.kotlin == 0 {
		f.kotlin = -1
		for i := range f.Pool.at {
			if s, ok := f.Pool.Utf8(uint16(i)); ok && s == "Lkotlin/Metadata;" {
				f.kotlin = 1
				break
			}
		}
	}
	return f.kotlin > 0
}

const (
	opIconst2    = 0x05
	opAload      = 0x19
	opInstanceof = 0xc1
)

// ownContinuation is the class of which a method's last argument is where it goes on: the first thing that its code
// asks. 0: it asks nothing.
func ownContinuation(m *Method, c *code) uint16 {
	list, err := instructions(c.bytes)
	if err != nil {
		return 0
	}
	for i, in := range list {
		if c.bytes[in.at] != opInstanceof || i == 0 {
			continue
		}
		before := list[i-1].at
		switch op := c.bytes[before]; {
		case op == opAload && int(c.bytes[before+1]) == m.last,
			op >= opAload0 && op < opAload0+4 && int(op-opAload0) == m.last,
			op == opWide && c.bytes[before+1] == opAload && int(binary.BigEndian.Uint16(c.bytes[before+2:])) == m.last:
			return binary.BigEndian.Uint16(c.bytes[in.at+1:])
		}
	}
	return 0
}

// begin writes how a call begins. Behind it the record is on the stack.
func (w *weaver) begin(t string) []byte {
	b := w.push(nil)
	switch w.method.Suspend {
	case SuspendFunction:
		b = load(load(b, opAload, w.method.last), opAload, w.method.last)
		b = put16(append(b, opInstanceof), w.method.own)
	case SuspendLambda:
		b = append(b, opAload0, opIconst2)
	default:
		return w.call(b, "begin", "(I)"+t)
	}
	return w.call(b, "beginS", "(ILjava/lang/Object;I)"+t)
}

// left are the recorder's methods for a result and for an exception, where they are not the usual ones.
func (s Suspend) left() (exit, thrown string) {
	switch s {
	case SuspendFunction, SuspendLambda:
		return "exitS", "thrownS"
	case SuspendTail:
		return "exitT", "thrown"
	}
	return "", "thrown"
}
