package expr

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"github.com/strobe-debug/strobe/internal/symbol"
)

// Memory is a target's memory. Read fills b from addr or returns an error; the caller of Eval owns it,
// and it need not be safe for concurrent use.
type Memory interface {
	Read(addr uint64, b []byte) error
}

// Frame is a call or a stopped thread. The results are false where they are not known.
type Frame interface {
	Reg(dwarf int) (uint64, bool) // 17 to 32: the low 64 bits of xmm0 to xmm15
	CFA() (uint64, bool)
	FS() (uint64, bool)
}

// Env is what an expression is evaluated in. The zero value has nothing: only constants work.
type Env struct {
	Memory     Memory
	Frame      Frame                               // nil: no registers, no locals
	Bias       func(*symbol.Module) (uint64, bool) // where a module was loaded; nil: modules without load bias only
	ThreadID   int
	PID        int
	ThreadName string

	words []uint64 // of a Split's leaves
	valid []bool
}

// Bounds on reading text.
const (
	maxTextRead    = 1 << 16 // bytes that a comparison of two strings reads of each
	maxTextCompile = 256     // bytes of a literal in a program
)

// Word evaluates to the word that the compiled program puts out: a scalar, sign- or zero-extended from its
// type, of a float its bits, or the address of an object. Text without a place gives 0. The error is
// an *EvalError.
func (e *Expr) Word(env *Env) (uint64, error) {
	v := evaluator{env: env}
	switch {
	case e.val != nil && e.val.op == opFBits: // as it is, also where it is a NaN
		return v.word(e.val.a)
	case e.val != nil && e.typ.kind == KindFloat:
		f, err := v.float(e.val)
		if e.typ.size == 4 {
			return uint64(math.Float32bits(float32(f))), err
		}
		return math.Float64bits(f), err
	case e.val != nil:
		return v.word(e.val)
	case e.addr != nil:
		return v.word(e.addr)
	}
	return 0, nil
}

// Truth evaluates a condition: any scalar that is not zero is true. The error is an *EvalError.
func (e *Expr) Truth(env *Env) (bool, error) {
	w, err := e.Word(env)
	if e.typ.kind == KindFloat { // -0.0 is zero and has a bit
		return w<<(65-8*uint(e.typ.size)) != 0, err
	}
	return w != 0, err
}

// Addr evaluates to the address of the result; ok is false where it is not in memory.
func (e *Expr) Addr(env *Env) (addr uint64, ok bool, err error) {
	if e.addr == nil {
		return 0, false, nil
	}
	v := evaluator{env: env}
	addr, err = v.word(e.addr)
	return addr, err == nil, err
}

// IsBitField reports whether the result is a bit-field in memory.
func (e *Expr) IsBitField() bool { return e.field != nil }

// BitField returns where a bit-field in memory is: an address, its first bit from there, counted from the lowest, and
// its width. It is not ok for what is none.
func (e *Expr) BitField(env *Env) (addr uint64, first, bits int64, ok bool, err error) {
	if e.field == nil {
		return 0, 0, 0, false, nil
	}
	v := evaluator{env: env}
	addr, err = v.word(e.field)
	return addr + uint64(e.fieldOff/8), e.fieldOff % 8, e.fieldBits, err == nil, err
}

type evaluator struct {
	env *Env
	buf [16]byte
}

func (v *evaluator) word(n *node) (uint64, error) {
	switch n.op {
	case opConst:
		return v.constant(n)
	case opReg, opCFA, opFS:
		return v.frame(n)
	case opThread:
		return uint64(int64(v.env.ThreadID)), nil
	case opProcess:
		return uint64(int64(v.env.PID)), nil
	case opThreadName:
		return word(v.env.ThreadName == n.text), nil
	case opLoad:
		a, err := v.word(n.a)
		if err != nil {
			return 0, err
		}
		return v.load(a, n)
	case opALU:
		return v.alu(n)
	case opBound:
		return v.bound(n)
	case opGuard:
		return v.guard(n)
	case opAnd, opOr:
		a, err := v.word(n.a)
		if err != nil || (a != 0) == (n.op == opOr) {
			return a, err
		}
		return v.word(n.b)
	case opCond:
		a, err := v.word(n.a)
		if err != nil {
			return 0, err
		}
		if a != 0 {
			return v.word(n.b)
		}
		return v.word(n.c)
	case opTextEq:
		return v.textEq(n)
	case opTextLen:
		return v.textLen(n)
	case opTextCmp:
		return v.textCmp(n)
	case opInt:
		f, err := v.float(n.a)
		return toInt(f, n.size, n.signed), err
	case opFLess, opFLessE, opFEq:
		return v.compareFloats(n)
	case opLeaf:
		return v.given(n)
	}
	a, err := v.word(n.a)
	switch n.op {
	case opExtend:
		a = extendWord(a, n.size, n.signed)
	case opTrue:
		a = word(a != 0)
	case opFalse:
		a = word(a == 0)
	}
	return a, err
}

func (v *evaluator) constant(n *node) (uint64, error) {
	if n.mod == nil {
		return n.n, nil
	}
	if v.env.Bias == nil {
		return 0, &EvalError{Reason: NotHere, Pos: n.pos, Msg: "where " + n.mod.String() + " is loaded is not known"}
	}
	bias, ok := v.env.Bias(n.mod)
	if !ok {
		return 0, &EvalError{Reason: NotHere, Pos: n.pos, Msg: n.mod.String() + " is not loaded"}
	}
	return n.n + bias, nil
}

func (v *evaluator) frame(n *node) (uint64, error) {
	if f := v.env.Frame; f != nil {
		switch n.op {
		case opReg:
			if w, ok := f.Reg(int(n.n)); ok {
				return w, nil
			}
		case opCFA:
			if w, ok := f.CFA(); ok {
				return w + n.n, nil
			}
		default:
			if w, ok := f.FS(); ok {
				return w + n.n, nil
			}
		}
	}
	msg := "the thread's own storage is not known here"
	switch n.op {
	case opReg:
		msg = "register " + strconv.FormatUint(n.n, 10) + " is not known here"
	case opCFA:
		msg = "the frame is not known here"
	}
	return 0, &EvalError{Reason: NotHere, Pos: n.pos, Msg: msg}
}

func (v *evaluator) read(addr uint64, b []byte, pos int) error {
	if v.env.Memory != nil && addr+uint64(len(b)) >= addr && v.env.Memory.Read(addr, b) == nil {
		return nil
	}
	if addr < 4096 {
		return &EvalError{Reason: Unreadable, Pos: pos, Addr: addr,
			Msg: fmt.Sprintf("null pointer: nothing can be read at %#x", addr)}
	}
	return &EvalError{Reason: Unreadable, Pos: pos, Addr: addr, Msg: fmt.Sprintf("memory at %#x cannot be read", addr)}
}

func (v *evaluator) load(addr uint64, n *node) (uint64, error) {
	b := v.buf[:n.size]
	if err := v.read(addr, b, n.pos); err != nil {
		return 0, err
	}
	clear(v.buf[n.size:])
	return extendWord(binary.LittleEndian.Uint64(v.buf[:8]), n.size, n.signed), nil
}

func (v *evaluator) alu(n *node) (uint64, error) {
	a, err := v.word(n.a)
	if err != nil {
		return 0, err
	}
	b, err := v.word(n.b)
	if err != nil {
		return 0, err
	}
	w, ok := aluOp(n.alu, a, b)
	if !ok {
		return 0, &EvalError{Reason: DivideByZero, Pos: n.pos, Msg: "division by zero"}
	}
	return w, nil
}

func (v *evaluator) bound(n *node) (uint64, error) {
	i, err := v.word(n.a)
	if err != nil {
		return 0, err
	}
	count, err := v.word(n.b)
	if err != nil {
		return 0, err
	}
	if i >= count {
		return 0, &EvalError{Reason: OutOfRange, Pos: n.pos,
			Msg: fmt.Sprintf("index %d is out of range: there are %d elements", int64(i), count)}
	}
	return i, nil
}

// chunk returns how many bytes of the next left ones are compared at once. Programs do the same, so that
// both meet unreadable memory at the same byte or not at all. Text up to a NUL may end anywhere:
// its bytes are read one by one.
func chunk(t *textRef, left int) int {
	switch {
	case t.count == nil:
		return 1
	case left >= 8:
		return 8
	case left >= 4:
		return 4
	case left >= 2:
		return 2
	}
	return 1
}

// wanted returns the bytes that must be found: the literal, and the NUL behind it where there is room for
// one. ok is false where the text can never be that.
func (t *textRef) wanted(lit string) (want string, ok bool) {
	if t.count != nil {
		return lit, true
	}
	for i := range len(lit) {
		if lit[i] == 0 {
			return "", false
		}
	}
	switch {
	case t.max >= 0 && int64(len(lit)) > t.max:
		return "", false
	case t.max >= 0 && int64(len(lit)) == t.max:
		return lit, true
	}
	return lit + "\x00", true
}

// guard checks before it computes: the program does it the other way round, which differs only in the error.
func (v *evaluator) guard(n *node) (uint64, error) {
	ok, err := v.word(n.b)
	if err != nil {
		return 0, err
	}
	if ok == 0 {
		return 0, &EvalError{Reason: WrongVariant, Pos: n.pos, Msg: n.text}
	}
	return v.word(n.a)
}

func (v *evaluator) textEq(n *node) (uint64, error) {
	t := n.x
	want, ok := t.wanted(n.text)
	if !ok {
		return 0, nil
	}
	if t.count != nil {
		count, err := v.word(t.count)
		if err != nil || count != uint64(len(want)) {
			return 0, err
		}
	}
	p, err := v.word(t.ptr)
	if err != nil || p == 0 && t.count == nil {
		return 0, err
	}
	if b := make([]byte, len(want)); v.env.Memory != nil && v.env.Memory.Read(p, b) == nil && p+uint64(len(b)) >= p {
		return word(string(b) == want), nil
	}
	for i := 0; i < len(want); { // some of it is not there: does it matter?
		k := chunk(t, len(want)-i)
		b := v.buf[:k]
		if err := v.read(p+uint64(i), b, n.pos); err != nil {
			return 0, err
		}
		if string(b) != want[i:i+k] {
			return 0, nil
		}
		i += k
	}
	return 1, nil
}

func (v *evaluator) textLen(n *node) (uint64, error) {
	p, err := v.word(n.a)
	if err != nil {
		return 0, err
	}
	for i := uint64(0); i < n.n; i++ {
		if at := p + i; i == 0 || at%64 == 0 { // in blocks, as far as they are there
			b := make([]byte, min(64-at%64, n.n-i))
			if v.env.Memory != nil && at+uint64(len(b)) >= at && v.env.Memory.Read(at, b) == nil {
				if k := bytes.IndexByte(b, 0); k >= 0 {
					return i + uint64(k), nil
				}
				i += uint64(len(b)) - 1
				continue
			}
		}
		if err := v.read(p+i, v.buf[:1], n.pos); err != nil {
			return 0, err
		}
		if v.buf[0] == 0 {
			return i, nil
		}
	}
	if n.signed { // the whole array
		return n.n, nil
	}
	return 0, &EvalError{Reason: TooLong, Pos: n.pos, Msg: fmt.Sprintf("the text is longer than %d bytes", n.n)}
}

// bytes reads text, at most limit bytes of it; whole is its length, or how much was seen of it. With an
// error come the bytes up to what cannot be read.
func (v *evaluator) bytes(t *textRef, limit int, pos int) (b []byte, whole uint64, null bool, err error) {
	if t.count != nil {
		if whole, err = v.word(t.count); err != nil {
			return nil, 0, false, err
		}
	}
	p, err := v.word(t.ptr)
	if err != nil {
		return nil, 0, false, err
	}
	if t.count != nil {
		b = make([]byte, min(whole, uint64(limit)))
		if len(b) > 0 {
			err = v.read(p, b, pos)
		}
		return b, whole, false, err
	}
	if p == 0 {
		return nil, 0, true, nil
	}
	end := uint64(limit)
	if t.max >= 0 {
		end = min(end, uint64(t.max))
	}
	for uint64(len(b)) < end {
		// As far as the page goes: the next may not be there.
		at := p + uint64(len(b))
		page := make([]byte, min(end-uint64(len(b)), 4096-at%4096))
		if err := v.read(at, page, pos); err != nil {
			return b, uint64(len(b)), false, err
		}
		if i := bytes.IndexByte(page, 0); i >= 0 {
			b = append(b, page[:i]...)
			return b, uint64(len(b)), false, nil
		}
		b = append(b, page...)
	}
	whole = uint64(len(b))
	if t.max >= 0 {
		whole = uint64(t.max)
	}
	return b, whole, false, nil
}
