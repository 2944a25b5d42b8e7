package classfile

import (
	"encoding/binary"
	"fmt"
	"math"
)

// layout is where a method's code goes when something is inserted into it.
//
//	0          prologue
//	label[0]   before[0]      ← jumps to instruction 0, which must not run the prologue again
//	at[0]      instruction 0
//	label[1]   before[1]      ← jumps to instruction 1 run what was inserted before it
//	at[1]      instruction 1
//	…
//	end        epilogue
type layout struct {
	old       []byte
	list      []instruction
	prologue  []byte
	before    map[int][]byte // by the index of an instruction
	epilogue  []byte
	index     map[int]int // of instructions, by where they stood
	label, at []int       // where they go
	end       int
	long      map[int]bool // goto and jsr that need their long form
}

func newLayout(old []byte) (*layout, error) {
	list, err := instructions(old)
	if err != nil {
		return nil, err
	}
	l := &layout{old: old, list: list, before: map[int][]byte{}, index: make(map[int]int, len(list)),
		long: map[int]bool{}, label: make([]int, len(list)), at: make([]int, len(list))}
	for i, in := range list {
		l.index[in.at] = i
	}
	return l, nil
}

// place finds where everything goes. Long forms make code longer, which may ask for more of them.
func (l *layout) place() error {
	for {
		pos := len(l.prologue)
		for i, in := range l.list {
			l.label[i] = pos
			pos += len(l.before[i])
			l.at[i] = pos
			size := in.size
			switch op := l.old[in.at]; {
			case op == opTableswitch || op == opLookupswitch:
				size += padding(pos) - padding(in.at)
			case l.long[i]:
				size += 2
			}
			pos += size
		}
		l.end = pos
		if pos+len(l.epilogue) > maxCode {
			return ErrTooLarge
		}
		more, err := l.lengthen()
		if err != nil || !more {
			return err
		}
	}
}

// lengthen finds jumps that are too far for their short form. A condition has no long form.
func (l *layout) lengthen() (more bool, err error) {
	for i, in := range l.list {
		op := l.old[in.at]
		if !jumps(op) || l.long[i] {
			continue
		}
		to, err := l.target(in.at, int(int16(binary.BigEndian.Uint16(l.old[in.at+1:]))))
		if err != nil {
			return false, err
		}
		if d := to - l.at[i]; d == int(int16(d)) {
			continue
		}
		if op != opGoto && op != opJsr {
			return false, fmt.Errorf("%w: a jump of it", ErrTooLarge)
		}
		l.long[i], more = true, true
	}
	return more, nil
}

func jumps(op byte) bool { return op >= opIfeq && op <= opJsr || op == opIfnull || op == opIfnonnull }

// target is where a jump that stood at an offset goes now.
func (l *layout) target(at, by int) (int, error) {
	i, ok := l.index[at+by]
	if !ok {
		return 0, fmt.Errorf("%w: a jump from %d to %d", ErrMalformed, at, at+by)
	}
	return l.label[i], nil
}

// moved is where what began at an offset does now; the end of the code is one.
func (l *layout) moved(old int) (int, error) {
	if old == len(l.old) {
		return l.end, nil
	}
	i, ok := l.index[old]
	if !ok {
		return 0, fmt.Errorf("%w: no instruction begins at %d", ErrMalformed, old)
	}
	return l.label[i], nil
}

// itself is where an instruction goes, behind what was inserted before it.
func (l *layout) itself(old int) (int, error) {
	i, ok := l.index[old]
	if !ok {
		return 0, fmt.Errorf("%w: no instruction begins at %d", ErrMalformed, old)
	}
	return l.at[i], nil
}

// write makes the new code.
func (l *layout) write() ([]byte, error) {
	b := make([]byte, 0, l.end+len(l.epilogue))
	b = append(b, l.prologue...)
	for i, in := range l.list {
		b = append(b, l.before[i]...)
		old := l.old[in.at : in.at+in.size]
		var err error
		switch op := old[0]; {
		case jumps(op) || op == opGotoW || op == opJsrW:
			b, err = l.jump(b, i, old)
		case op == opTableswitch || op == opLookupswitch:
			b, err = l.choice(b, i, old)
		default:
			b = append(b, old...)
		}
		if err != nil {
			return nil, err
		}
	}
	return append(b, l.epilogue...), nil
}

func (l *layout) jump(b []byte, i int, old []byte) ([]byte, error) {
	op, far := old[0], len(old) == 5
	by := 0
	if far {
		by = int(int32(binary.BigEndian.Uint32(old[1:])))
	} else {
		by = int(int16(binary.BigEndian.Uint16(old[1:])))
	}
	to, err := l.target(l.list[i].at, by)
	if err != nil {
		return nil, err
	}
	d := to - l.at[i]
	switch {
	case far:
		return put32(append(b, op), uint32(int32(d))), nil
	case l.long[i]:
		return put32(append(b, op+opGotoW-opGoto), uint32(int32(d))), nil
	}
	if d < math.MinInt16 || d > math.MaxInt16 {
		return nil, ErrTooLarge
	}
	return put16(append(b, op), uint16(int16(d))), nil
}

func (l *layout) choice(b []byte, i int, old []byte) ([]byte, error) {
	from := l.list[i].at
	words := old[1+padding(from):]
	b = append(b, old[0])
	for range padding(l.at[i]) {
		b = append(b, 0)
	}
	word := func(k int) int { return int(int32(binary.BigEndian.Uint32(words[4*k:]))) }
	for k := range len(words) / 4 {
		isOffset := k == 0 || k > 2
		if old[0] == opLookupswitch {
			isOffset = k == 0 || k > 1 && k%2 == 1
		}
		v := word(k)
		if isOffset {
			to, err := l.target(from, v)
			if err != nil {
				return nil, err
			}
			v = to - l.at[i]
		}
		b = put32(b, uint32(int32(v)))
	}
	return b, nil
}
