package capture

import (
	"bytes"
	"encoding/binary"

	"github.com/strobe-debug/strobe/internal/ring"
)

// interp does what the agent does with the operations of walks, in Go and over any memory: Reader reads objects of a
// stopped process or a core file with it, and the tests of this package compare plans with programs.
type interp struct {
	read  func(addr uint64, n int) []byte // fewer than n bytes: the rest cannot be read
	walks map[uint16][]ring.Op
	depth int
	most  int // bytes of the payload

	p     []byte
	nodes []nodeAt
	seen  map[[2]uint64]bool
	steps int
	open  int // offset of the made node's head, -1 none
	cut   bool
}

type nodeAt struct {
	at, depth int
	addr      uint64
	walk      uint16
	bytes     int // offset of the bytes
}

func newInterp(read func(uint64, int) []byte, walks *Walks, depth int) *interp {
	a := &interp{read: read, walks: map[uint16][]ring.Op{}, depth: depth, most: ring.MaxPayload,
		seen: map[[2]uint64]bool{}, open: -1}
	for _, w := range walks.Programs(0) {
		a.walks[w.ID] = w.Ops
	}
	return a
}

func (a *interp) pad() {
	for len(a.p)%8 != 0 {
		a.p = append(a.p, 0)
	}
}

func (a *interp) close() {
	if a.open < 0 {
		return
	}
	binary.LittleEndian.PutUint32(a.p[a.open+8:], uint32(len(a.p)-a.open-ring.NodeBytes))
	a.pad()
	a.open = -1
}

func (a *interp) node(addr uint64, walk uint16, depth int) bool {
	a.close()
	key := [2]uint64{addr, uint64(walk)}
	if depth > a.depth || a.seen[key] {
		return false
	}
	if len(a.nodes) >= ring.MaxNodes || len(a.p)+ring.NodeBytes+8 > a.most {
		a.cut = true
		return false
	}
	a.seen[key] = true
	a.nodes = append(a.nodes, nodeAt{at: len(a.p), depth: depth, addr: addr, walk: walk, bytes: len(a.p) + ring.NodeBytes})
	a.p = binary.LittleEndian.AppendUint64(a.p, addr)
	a.p = binary.LittleEndian.AppendUint32(a.p, 0)
	a.p = binary.LittleEndian.AppendUint16(a.p, walk)
	a.p = append(a.p, byte(depth), ring.StatusOK)
	return true
}

func (a *interp) fill(data []byte, status byte) {
	at := a.nodes[len(a.nodes)-1].at
	binary.LittleEndian.PutUint32(a.p[at+8:], uint32(len(data)))
	a.p[at+15] = status
	a.p = append(a.p, data...)
	a.pad()
}

func (a *interp) copyNode(addr, size uint64, walk uint16, depth int) {
	if addr == 0 || !a.node(addr, walk, depth) {
		return
	}
	if room := uint64(a.most-len(a.p)) &^ 7; size > room {
		size, a.cut = room, true
	}
	if b := a.read(addr, int(size)); len(b) == int(size) {
		a.fill(b, ring.StatusOK)
		return
	}
	a.fill(nil, ring.StatusUnreadable)
}

func (a *interp) textNode(addr, most uint64, walk uint16, depth int) {
	if addr == 0 || !a.node(addr, walk, depth) {
		return
	}
	room := uint64(max(a.most-len(a.p)-8, 0)) &^ 7
	if most > room {
		most, a.cut = room, true
	}
	b := a.read(addr, int(most))
	if i := bytes.IndexByte(b, 0); i >= 0 {
		a.fill(b[:i], ring.StatusOK)
		return
	}
	if len(b) < int(most) {
		a.fill(nil, ring.StatusUnreadable)
		return
	}
	const far = 4096
	length := most + far | 1<<63
	if i := bytes.IndexByte(a.read(addr+most, far), 0); i >= 0 {
		length = most + uint64(i)
	}
	a.p = binary.LittleEndian.AppendUint64(a.p, length)
	a.nodes[len(a.nodes)-1].bytes += 8
	a.fill(b, ring.StatusCut)
}

// made begins a made node. It is false where the program has to end; what was written before is not written again.
func (a *interp) made(addr uint64, walk uint16, depth int) bool {
	if a.node(addr, walk, depth) {
		a.open = a.nodes[len(a.nodes)-1].at
		return true
	}
	return !a.cut
}

func (a *interp) push(word uint64) {
	if a.open < 0 {
		return
	}
	if len(a.p)+8 > a.most {
		a.cut = true
		return
	}
	a.p = binary.LittleEndian.AppendUint64(a.p, word)
}

// span does a WalkSpan of count elements at addr.
func (a *interp) span(op ring.Op, n *nodeAt, base int64, addr, count uint64) bool {
	if !a.made(n.addr+uint64(base), uint16(op.SrcOff), n.depth) {
		return false
	}
	a.push(count)
	a.push(addr)
	a.close()
	a.copyNode(addr, min(count*uint64(op.Off), uint64(op.Size)), uint16(op.SrcOff>>16), n.depth+int(op.Dst))
	return true
}

// walkAll runs the programs of the nodes in order.
func (a *interp) walkAll() {
	for i := 0; i < len(a.nodes); i++ {
		if n := a.nodes[i]; a.p[n.at+15] != ring.StatusUnreadable && n.walk != 0 {
			a.run(a.walks[n.walk], &n)
			a.close()
		}
	}
}

type goBack struct {
	ops  []ring.Op
	pc   int
	base int64
}

// run executes a program over a node. It returns false when it ended early.
func (a *interp) run(ops []ring.Op, n *nodeAt) bool {
	var v [16]uint64
	var stack []goBack
	pc, base := 0, int64(0)
	size := int64(binary.LittleEndian.Uint32(a.p[n.at+8:]))
	for len(ops) > 0 {
		if a.steps++; a.steps > ring.MaxSteps || pc >= len(ops) {
			a.cut = true
			return false
		}
		op := ops[pc]
		pc++
		r, b := &v[op.Src&15], v[op.Slot&15]
		switch op.Code {
		case ring.OpEnd:
			if len(stack) == 0 {
				return true
			}
			back := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			ops, pc, base = back.ops, back.pc, back.base
		case ring.WalkLoad:
			at := base + int64(op.Off)
			if at < 0 || at+int64(op.Size) > size || op.Size > 8 {
				return false
			}
			*r = extend(a.p[int64(n.bytes)+at:][:op.Size], op.SrcOff != 0)
		case ring.WalkFollow:
			at := base + int64(op.Off)
			if at < 0 || at+8 > size {
				return false
			}
			depth := n.depth
			if op.SrcOff&ring.FollowDeeper != 0 {
				depth++
			}
			to := binary.LittleEndian.Uint64(a.p[int64(n.bytes)+at:])
			if op.SrcOff&ring.FollowText != 0 {
				a.textNode(to, uint64(op.Size), uint16(op.SrcOff), depth)
			} else {
				a.copyNode(to, uint64(op.Size), uint16(op.SrcOff), depth)
			}
		case ring.WalkBetween:
			first, last := base+int64(op.Off), base+int64(op.SrcOff)
			if min(first, last) < 0 || max(first, last)+8 > size || op.Size == 0 {
				return false
			}
			from := binary.LittleEndian.Uint64(a.p[int64(n.bytes)+first:])
			*r, v[op.Slot&15] = from, (binary.LittleEndian.Uint64(a.p[int64(n.bytes)+last:])-from)/uint64(op.Size)
		case ring.WalkSpan:
			if !a.span(op, n, base, *r, b) {
				return false
			}
		case ring.WalkLoadMem:
			m := a.read(b+uint64(int64(op.Off)), int(op.Size))
			if len(m) < int(op.Size) {
				return false
			}
			*r = extend(m, op.SrcOff != 0)
		case ring.WalkConst:
			*r = uint64(op.SrcOff) | uint64(op.Size)<<32
		case ring.WalkALU, ring.WalkALUImm:
			c := v[op.Dst&15]
			if op.Code == ring.WalkALUImm {
				c = uint64(int64(op.Off))
			}
			x, ok := alu(op.SrcOff, b, c)
			if !ok {
				return false
			}
			*r = x
		case ring.WalkJump, ring.WalkJumpZero, ring.WalkJumpNot:
			if op.Code == ring.WalkJump || (*r == 0) == (op.Code == ring.WalkJumpZero) {
				pc += int(op.Off)
			}
		case ring.WalkNode, ring.WalkText:
			most := uint64(op.Size)
			if op.Slot != ring.NoReg {
				most = min(most, b)
			}
			depth := n.depth
			if op.Off != 0 {
				depth++
			}
			if op.Code == ring.WalkNode {
				a.copyNode(*r, most, uint16(op.SrcOff), depth)
			} else {
				a.textNode(*r, most, uint16(op.SrcOff), depth)
			}
		case ring.WalkOpen:
			if !a.made(n.addr+uint64(base), uint16(op.SrcOff), n.depth) {
				return false
			}
		case ring.WalkPush:
			a.push(*r)
		case ring.WalkClose:
			a.close()
		case ring.WalkSub:
			if len(stack) == 16 {
				return false
			}
			to := a.walks[uint16(op.SrcOff)]
			if len(to) == 0 {
				break
			}
			stack = append(stack, goBack{ops, pc, base})
			base += int64(op.Off)
			if op.Slot != ring.NoReg {
				base += int64(b)
			}
			ops, pc = to, 0
		case ring.WalkWipe:
			if at := base + int64(op.Off); at >= 0 && at < size {
				clear(a.p[int64(n.bytes)+at:][:min(int64(op.Size), size-at)])
			}
		case ring.WalkAddr:
			*r = n.addr + uint64(base+int64(op.Off))
		case ring.WalkInfo:
			*r = uint64(size)
		default:
			return false
		}
	}
	return true
}

func extend(b []byte, signed bool) uint64 {
	var w [8]byte
	if copy(w[:], b); signed && len(b) > 0 && b[len(b)-1]&0x80 != 0 {
		for i := len(b); i < 8; i++ {
			w[i] = 0xff
		}
	}
	return binary.LittleEndian.Uint64(w[:])
}

func alu(op uint32, a, b uint64) (uint64, bool) {
	is := func(v bool) (uint64, bool) {
		if v {
			return 1, true
		}
		return 0, true
	}
	x, y := int64(a), int64(b)
	switch op {
	case ring.ALUAdd:
		return a + b, true
	case ring.ALUSub:
		return a - b, true
	case ring.ALUMul:
		return a * b, true
	case ring.ALUUDiv, ring.ALUURem, ring.ALUSDiv, ring.ALUSRem:
		if b == 0 {
			return 0, false
		}
		switch op {
		case ring.ALUUDiv:
			return a / b, true
		case ring.ALUURem:
			return a % b, true
		case ring.ALUSDiv:
			return uint64(x / y), true
		}
		return uint64(x % y), true
	case ring.ALUAnd:
		return a & b, true
	case ring.ALUOr:
		return a | b, true
	case ring.ALUXor:
		return a ^ b, true
	case ring.ALUShl:
		return a << (b & 63), true
	case ring.ALUShr:
		return a >> (b & 63), true
	case ring.ALUSar:
		return uint64(x >> (b & 63)), true
	case ring.ALUEq:
		return is(a == b)
	case ring.ALUNe:
		return is(a != b)
	case ring.ALUULt:
		return is(a < b)
	case ring.ALUSLt:
		return is(x < y)
	case ring.ALUULe:
		return is(a <= b)
	case ring.ALUSLe:
		return is(x <= y)
	}
	return 0, false
}
