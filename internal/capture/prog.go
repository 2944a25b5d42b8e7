package capture

import (
	"math"

	"github.com/strobe-debug/strobe/internal/ring"
)

// reg is a register of a walk program, 0 to 15. Formatters use r0 to r7; loops over parts of an object use the others,
// so that the programs of the parts do not disturb them.
type reg uint8

const (
	r0 reg = iota
	r1
	r2
	r3
	r4
	r5
	r6
	r7
	noReg reg = ring.NoReg
)

// label is a place in a program.
type label int

// prog is a walk program while it is written. Offsets are from the start of the object at hand.
type prog struct {
	ops    []ring.Op
	labels []int // op of each label, -1 not bound yet
	jumps  []jump

	inlined int // objects at the start of each other whose walk is being written
}

type jump struct {
	op int
	to label
}

func (p *prog) emit(op ring.Op) { p.ops = append(p.ops, op) }

// Load sets a to size bytes (1, 2, 4, 8) of the object, zero-extended.
func (p *prog) Load(a reg, off int64, size int64) {
	p.emit(ring.Op{Code: ring.WalkLoad, Src: uint8(a), Off: int32(off), Size: uint32(size)})
}

// LoadMem sets a to size bytes at address b+off, zero-extended. The program ends if they cannot be read.
func (p *prog) LoadMem(a, b reg, off, size int64) {
	p.emit(ring.Op{Code: ring.WalkLoadMem, Src: uint8(a), Slot: uint8(b), Off: int32(off), Size: uint32(size)})
}

// Const sets a.
func (p *prog) Const(a reg, v uint64) {
	p.emit(ring.Op{Code: ring.WalkConst, Src: uint8(a), SrcOff: uint32(v), Size: uint32(v >> 32)})
}

// ALU sets a to b op c, op one of ring.ALUAdd….
func (p *prog) ALU(op uint32, a, b, c reg) {
	p.emit(ring.Op{Code: ring.WalkALU, Src: uint8(a), Slot: uint8(b), Dst: uint8(c), SrcOff: op})
}

// ALUImm sets a to b op v. v must fit 32 bits.
func (p *prog) ALUImm(op uint32, a, b reg, v int64) {
	p.emit(ring.Op{Code: ring.WalkALUImm, Src: uint8(a), Slot: uint8(b), SrcOff: op,
		Off: int32(min(max(v, math.MinInt32), math.MaxInt32))})
}

// Label makes a label that Bind places.
func (p *prog) Label() label {
	p.labels = append(p.labels, -1)
	return label(len(p.labels) - 1)
}

// Bind places a label at the next operation.
func (p *prog) Bind(l label) { p.labels[l] = len(p.ops) }

// Here makes a label at the next operation.
func (p *prog) Here() label {
	l := p.Label()
	p.Bind(l)
	return l
}

func (p *prog) Jump(to label)            { p.jump(ring.WalkJump, r0, to) }
func (p *prog) JumpZero(a reg, to label) { p.jump(ring.WalkJumpZero, a, to) }
func (p *prog) JumpNot(a reg, to label)  { p.jump(ring.WalkJumpNot, a, to) }

func (p *prog) jump(code uint8, a reg, to label) {
	p.jumps = append(p.jumps, jump{len(p.ops), to})
	p.emit(ring.Op{Code: code, Src: uint8(a)})
}

// Node copies what is at address a, to be walked as walk: size bytes, or as many as register n says if that is fewer
// (noReg: size). deeper says that it is a pointer's pointee, and no part of the object.
func (p *prog) Node(walk uint16, a, n reg, size int64, deeper bool) {
	p.node(ring.WalkNode, walk, a, n, size, deeper)
}

// Text copies text at address a up to a NUL, at most size bytes.
func (p *prog) Text(a reg, size int64, deeper bool) {
	p.node(ring.WalkText, walkText, a, noReg, size, deeper)
}

func (p *prog) node(code uint8, walk uint16, a, n reg, size int64, deeper bool) {
	op := ring.Op{Code: code, Src: uint8(a), Slot: uint8(n), SrcOff: uint32(walk), Size: uint32(min(size, maxObject))}
	if deeper {
		op.Off = 1
	}
	p.emit(op)
}

// Follow copies what the pointer at off of the object leads to: size bytes to be walked as walk, or text up to a NUL.
func (p *prog) Follow(walk uint16, off, size int64, text, deeper bool) {
	x := uint32(walk)
	if text {
		x |= ring.FollowText
	}
	if deeper {
		x |= ring.FollowDeeper
	}
	p.emit(ring.Op{Code: ring.WalkFollow, SrcOff: x, Off: int32(off), Size: uint32(min(size, maxObject))})
}

// Between sets at to the pointer at first, and n to how many elements of size bytes lie between it and the one at last.
func (p *prog) Between(at, n reg, first, last, size int64) {
	op := ring.Op{Code: ring.WalkBetween, Src: uint8(at), Slot: uint8(n)}
	op.SrcOff, op.Off, op.Size = uint32(last), int32(first), uint32(size)
	p.emit(op)
}

// Span copies n elements of size bytes at address at, to be walked as elems, at most so many bytes; before them come
// the words that stand for the object: n and at.
func (p *prog) Span(words, elems uint16, at, n reg, size, most int64, deeper bool) {
	op := ring.Op{Code: ring.WalkSpan, Src: uint8(at), Slot: uint8(n), SrcOff: uint32(words) | uint32(elems)<<16}
	op.Off, op.Size = int32(size), uint32(min(most, maxObject))
	if deeper {
		op.Dst = 1
	}
	p.emit(op)
}

// Open begins the words that stand for the object; Push appends one, Close ends them. Nodes come after Close.
func (p *prog) Open(walk uint16) { p.emit(ring.Op{Code: ring.WalkOpen, SrcOff: uint32(walk)}) }
func (p *prog) Push(a reg)       { p.emit(ring.Op{Code: ring.WalkPush, Src: uint8(a)}) }
func (p *prog) Close()           { p.emit(ring.Op{Code: ring.WalkClose}) }

// Sub runs the program of a part of the object at off, plus what register n says (noReg: nothing).
func (p *prog) Sub(walk uint16, off int64, n reg) {
	p.emit(ring.Op{Code: ring.WalkSub, Slot: uint8(n), SrcOff: uint32(walk), Off: int32(off)})
}

// Addr sets a to the address of the object plus off.
func (p *prog) Addr(a reg, off int64) {
	p.emit(ring.Op{Code: ring.WalkAddr, Src: uint8(a), Off: int32(off)})
}

// NodeBytes sets a to the number of bytes of the node that the object is in.
func (p *prog) NodeBytes(a reg) { p.emit(ring.Op{Code: ring.WalkInfo, Src: uint8(a), SrcOff: 2}) }

// Wipe makes size bytes of the node at hand zeros.
func (p *prog) Wipe(off, size int64) {
	p.emit(ring.Op{Code: ring.WalkWipe, Off: int32(off), Size: uint32(size)})
}

// Return ends the program, or goes back to the one that ran it for a part.
func (p *prog) Return() { p.emit(ring.Op{Code: ring.OpEnd}) }

// finish resolves the jumps and returns the operations, nil for an empty program.
func (p *prog) finish() []ring.Op {
	if len(p.ops) == 0 {
		return nil
	}
	p.Return()
	for _, j := range p.jumps {
		to := p.labels[j.to]
		if to < 0 {
			to = len(p.ops) - 1
		}
		p.ops[j.op].Off = int32(to - j.op - 1)
	}
	return p.ops
}
