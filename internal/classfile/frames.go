package classfile

import (
	"encoding/binary"
	"fmt"
)

// Types of values in frames that have something behind their tag: JVMS 4.7.4.
const (
	typeObject        = 7
	typeUninitialized = 8
)

// Kinds of frames.
const (
	frameSameLocals1Last = 127
	frameSameLocals1Ext  = 247
	frameChopFirst       = 248
	frameSameExt         = 251
	frameFull            = 255
)

// moveFrames rewrites a StackMapTable for code that moved, and appends a frame for the epilogue where there is one: no
// locals, and an object of class thrown on the stack.
func moveFrames(data []byte, l *layout, thrown uint16) ([]byte, error) {
	r := &reader{b: data}
	n := 0
	if len(data) > 0 {
		n = int(r.u16())
	}
	if n == 0xFFFF {
		return nil, ErrTooLarge
	}
	out := put16(nil, uint16(n))
	if thrown != 0 {
		out = put16(nil, uint16(n+1))
	}
	old, now := -1, -1 // of the frame before
	delta := func(to int) (uint16, error) {
		d := to - now - 1
		if d < 0 {
			return 0, fmt.Errorf("%w: frames that are not in order", ErrMalformed)
		}
		now = to
		return uint16(d), nil
	}
	for range n {
		kind := r.u8()
		by := 0
		switch {
		case kind < 64:
			by = kind
		case kind <= frameSameLocals1Last:
			by = kind - 64
		case kind < frameSameLocals1Ext:
			return nil, fmt.Errorf("%w: a frame of kind %d", ErrMalformed, kind)
		default:
			by = int(r.u16())
		}
		old += by + 1
		to, err := l.moved(old)
		if err != nil {
			return nil, err
		}
		d, err := delta(to)
		if err != nil {
			return nil, err
		}
		if out, err = moveFrame(out, r, kind, d, l); err != nil {
			return nil, err
		}
	}
	if r.bad || len(r.b) != 0 {
		return nil, fmt.Errorf("%w: a StackMapTable", ErrMalformed)
	}
	if thrown == 0 {
		return out, nil
	}
	d, err := delta(l.end)
	if err != nil {
		return nil, err
	}
	out = put16(append(out, frameFull), d)
	out = put16(put16(out, 0), 1)
	return put16(append(out, typeObject), thrown), nil
}

// moveFrame writes one frame, d behind the one before.
func moveFrame(out []byte, r *reader, kind int, d uint16, l *layout) ([]byte, error) {
	var err error
	switch {
	case kind < 64 || kind == frameSameExt:
		if d < 64 {
			return append(out, byte(d)), nil
		}
		return put16(append(out, frameSameExt), d), nil
	case kind <= frameSameLocals1Ext:
		if d < 64 {
			out = append(out, byte(64+d))
		} else {
			out = put16(append(out, frameSameLocals1Ext), d)
		}
		return moveTypes(out, r, 1, l)
	case kind < frameSameExt: // chop
		return put16(append(out, byte(kind)), d), nil
	case kind < frameFull: // append
		return moveTypes(put16(append(out, byte(kind)), d), r, kind-frameSameExt, l)
	}
	out = put16(append(out, frameFull), d)
	for range 2 {
		n := r.u16()
		if out, err = moveTypes(put16(out, n), r, int(n), l); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// moveTypes copies types; one that is not initialised is named by its new instruction.
func moveTypes(out []byte, r *reader, n int, l *layout) ([]byte, error) {
	for range n {
		tag := r.u8()
		out = append(out, byte(tag))
		switch tag {
		case typeObject:
			out = put16(out, r.u16())
		case typeUninitialized:
			to, err := l.itself(int(r.u16()))
			if err != nil {
				return nil, err
			}
			out = put16(out, uint16(to))
		}
		if r.bad {
			return nil, fmt.Errorf("%w: a frame's types", ErrMalformed)
		}
	}
	return out, nil
}

// moveLines rewrites a LineNumberTable.
func moveLines(data []byte, l *layout) ([]byte, error) {
	r := &reader{b: data}
	out := put16(nil, 0)
	n := uint16(0)
	add := func(start int, line uint16) {
		out = put16(put16(out, uint16(start)), line)
		n++
	}
	for range r.u16() {
		start, line := int(r.u16()), r.u16()
		to, err := l.moved(start)
		if err != nil || r.bad || n >= 0xFFFE {
			return nil, fmt.Errorf("%w: a LineNumberTable", ErrMalformed)
		}
		if start == 0 && len(l.prologue) > 0 {
			add(0, line) // what is inserted at the beginning is on the first line, too
		}
		add(to, line)
	}
	binary.BigEndian.PutUint16(out, n)
	return out, nil
}

// moveVariables rewrites a LocalVariableTable or a LocalVariableTypeTable.
func moveVariables(data []byte, l *layout) ([]byte, error) {
	r := &reader{b: data}
	n := r.u16()
	out := put16(nil, n)
	for range n {
		start, length := int(r.u16()), int(r.u16())
		from, err := l.moved(start)
		to, err2 := l.moved(start + length)
		if err != nil || err2 != nil || r.bad {
			return nil, fmt.Errorf("%w: a LocalVariableTable", ErrMalformed)
		}
		if start == 0 {
			from = 0
		}
		out = put16(put16(out, uint16(from)), uint16(to-from))
		out = append(out, r.take(6)...)
	}
	if r.bad {
		return nil, fmt.Errorf("%w: a LocalVariableTable", ErrMalformed)
	}
	return out, nil
}
