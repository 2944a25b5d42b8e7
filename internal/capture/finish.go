package capture

import (
	"encoding/binary"
	"errors"

	"github.com/strobe-debug/strobe/internal/expr"
	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/value"
)

// Finish is a value that the agent cannot compute, such as a sum of floats. The agent reads what it is computed from
// and leaves an empty chunk:
//
//	… {n, status} leaf   {n, status} leaf   {0, OK} 0
//	              ^                  ^              ^
//	        leaves[0].at       leaves[1].at       result
type Finish struct {
	Exit   bool // of the exit's payload
	split  *expr.Split
	leaves []leaf
	result uint32
}

// leaf is where in the payload a word is.
type leaf struct {
	at   uint32
	eval bool // with {u32 n, u32 status} before it
}

var errRegister = errors.New("it is in a register that cannot be read here")

// finished adds what e is computed from and the chunk that its word goes to.
func (b *builder) finished(s *side, e *expr.Expr, exit bool) ([]value.Piece, error) {
	split, err := e.Split()
	if err != nil {
		return nil, err
	}
	if err := s.room(len(split.Leaves) + 1); err != nil {
		return nil, err
	}
	f := Finish{Exit: exit, split: split, leaves: make([]leaf, len(split.Leaves))}
	for i, l := range split.Leaves { // first those that may fail: nothing is added then
		if l.Program == nil {
			chunk, ok := s.register(l.Reg)
			if !ok {
				return nil, errRegister
			}
			f.leaves[i] = leaf{at: s.starts[chunk]}
		}
	}
	for i, l := range split.Leaves {
		if l.Program != nil {
			f.leaves[i] = leaf{at: s.starts[s.eval(b.program(l.Program))], eval: true}
		}
	}
	if b.empty == 0 {
		b.empty = b.program(&expr.Program{Ops: []ring.Op{{Code: ring.OpEnd}}}) + 1
	}
	chunk := s.eval(b.empty - 1)
	f.result = s.starts[chunk]
	b.finish = append(b.finish, f)
	return evaluated(chunk), nil
}

// register returns the chunk that has a register's low 8 bytes, by DWARF number.
func (s *side) register(reg int) (int32, bool) {
	if reg >= xmm0 {
		c, ok := s.xmms[uint8(reg-xmm0)]
		return c, ok
	}
	c, ok := s.regs[uint8(reg)]
	return c, ok
}

// FinishRecord computes what the agent left open in the payload of an enter or an exit, in place. threadName is asked
// for only where it is needed; ok is false where nobody knows it, and then neither is what depends on it.
func (f *Function) FinishRecord(payload []byte, exit bool, threadName func() (name string, ok bool)) {
	finish(f.Finish, payload, exit, threadName)
}

func finish(list []Finish, payload []byte, exit bool, threadName func() (name string, ok bool)) {
	for i := range list {
		if x := &list[i]; x.Exit == exit {
			x.fill(payload, threadName)
		}
	}
}

// fill writes the result where the payload, which may have been cut, has room for it.
func (x *Finish) fill(payload []byte, threadName func() (string, bool)) {
	at := uint64(x.result)
	if at < 8 || at+8 > uint64(len(payload)) {
		return
	}
	head, word := payload[at-8:at], payload[at:at+8]
	binary.LittleEndian.PutUint64(head, ring.StatusUnreadable<<32)
	clear(word)
	name, ok := "", true
	if x.split.NeedsThreadName() {
		name, ok = threadName()
	}
	var words [expr.MaxLeaves]uint64
	var valid [expr.MaxLeaves]bool
	for i, l := range x.leaves {
		words[i], valid[i] = l.read(payload)
	}
	if !ok {
		return
	}
	if w, err := x.split.Finish(words[:], valid[:], name); err == nil {
		binary.LittleEndian.PutUint64(head, 8|ring.StatusOK<<32)
		binary.LittleEndian.PutUint64(word, w)
	}
}

func (l leaf) read(payload []byte) (word uint64, ok bool) {
	at := uint64(l.at)
	if at+8 > uint64(len(payload)) || l.eval && at < 8 {
		return 0, false
	}
	word = binary.LittleEndian.Uint64(payload[at:])
	return word, !l.eval || binary.LittleEndian.Uint64(payload[at-8:]) == 8|ring.StatusOK<<32
}
