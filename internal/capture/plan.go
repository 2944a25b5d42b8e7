package capture

import (
	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/symbol"
	"github.com/strobe-debug/strobe/internal/value"
)

// builder turns homes into operations and the layout that reads them.
type builder struct {
	types *typeTable
	plan  ring.Plan
	lay   value.Layout

	gprs   int              // argument registers wanted, as a prefix of argGPRs
	regs   map[uint8]uint32 // other general registers
	xmms   map[uint8]uint32 // vector registers and bytes
	lo, hi int64            // stack arguments

	enter side
	exit  side
}

// side is the payload of one end of a call while it is built. Fixed parts come first, so that their
// offsets in the payload are known.
type side struct {
	ops    []ring.Op
	parts  []value.Part
	fixed  uint32          // bytes of the fixed chunks
	starts []uint32        // payload offset of each fixed chunk
	size   int             // upper bound of the payload
	regs   map[uint8]int32 // chunk of a register
	xmms   map[uint8]int32 // chunk of a vector register
	stack  int32           // chunk of the stack arguments
}

func newBuilder(sig *symbol.Signature) *builder {
	return &builder{types: newTypeTable(sig.Language), regs: map[uint8]uint32{}, xmms: map[uint8]uint32{}, lo: -1}
}

func gprIndex(reg uint8) int {
	for i, r := range argGPRs {
		if r == reg {
			return i
		}
	}
	return -1
}

// need notes the registers and stack bytes that a home reads.
func (b *builder) need(h *home) {
	if h.missing {
		return
	}
	for _, p := range h.places {
		switch p.kind {
		case srcGPR:
			if i := gprIndex(p.reg); i >= 0 {
				b.gprs = max(b.gprs, i+1)
			} else {
				b.regs[p.reg] = 8
			}
		case srcXMM:
			n := uint32(8)
			if uint32(p.off)+p.size > 8 {
				n = 16
			}
			b.xmms[p.reg] = max(b.xmms[p.reg], n)
		case srcStack:
			lo := int64(p.off) &^ 7
			if b.lo < 0 || lo < b.lo {
				b.lo = lo
			}
			b.hi = max(b.hi, min(int64(p.off)+int64(p.size), lo+maxStack))
		}
	}
}

// fix adds an operation of a fixed size and returns its chunk.
func (s *side) fix(op ring.Op, size uint32) int32 {
	s.ops = append(s.ops, op)
	s.parts = append(s.parts, value.Part{Size: size})
	s.starts = append(s.starts, s.fixed)
	s.fixed += (size + 7) &^ 7
	s.size = int(s.fixed)
	return int32(len(s.parts))
}

// begin reserves chunk 0.
func (s *side) begin(gprs int) {
	s.starts = []uint32{0}
	s.fixed = uint32(gprs * 8)
	s.size = gprs * 8
	s.regs, s.xmms, s.stack = map[uint8]int32{}, map[uint8]int32{}, -1
}

func (b *builder) emitEnter() {
	s := &b.enter
	s.begin(b.gprs)
	b.plan.EnterGPRs, b.lay.OnEnter.GPRs = b.gprs, b.gprs
	for _, r := range sortedKeys(b.regs) {
		s.regs[r] = s.fix(ring.Op{Code: ring.OpReg, Src: r}, 8)
	}
	for _, x := range sortedKeys(b.xmms) {
		s.xmms[x] = s.fix(ring.Op{Code: ring.OpXMM, Src: x, Size: b.xmms[x]}, b.xmms[x])
		b.plan.EnterVec = true
	}
	if b.lo >= 0 && b.hi > b.lo {
		n := uint32(min(b.hi-b.lo, maxStack)+7) &^ 7
		s.stack = s.fix(ring.Op{Code: ring.OpStack, Off: int32(b.lo), Size: n}, n)
	}
}

// piece is where a place's bytes are in the enter payload.
func (b *builder) piece(p place) value.Piece {
	s := &b.enter
	out := value.Piece{Chunk: value.PieceMissing, Size: p.size}
	switch p.kind {
	case srcGPR:
		if i := gprIndex(p.reg); i >= 0 {
			out.Chunk, out.Off = 0, uint32(i*8)+uint32(p.off)
		} else if c, ok := s.regs[p.reg]; ok {
			out.Chunk, out.Off = c, uint32(p.off)
		}
	case srcXMM:
		if c, ok := s.xmms[p.reg]; ok {
			out.Chunk, out.Off = c, uint32(p.off)
		}
	case srcStack:
		if s.stack > 0 {
			out.Chunk, out.Off = s.stack, uint32(int64(p.off)-b.lo)
		}
	case srcConst:
		out.Chunk, out.Const = value.PieceConst, p.bytes
	}
	return out
}

// follow adds an operation that copies what a pointer leads to. It returns the chunk, or 0 when there is
// no room for it or the pointer does not lie together.
func (s *side) follow(at []value.Piece, size uint32, off int32, text bool) int32 {
	if len(at) == 0 || at[0].Chunk < 0 || at[0].Size < 8 || int(at[0].Chunk) >= len(s.starts) {
		return 0
	}
	bound := 8 + int(size+7)&^7
	if text {
		bound += 8
	}
	if s.size+bound > ring.MaxPayload || len(s.ops) >= maxOps {
		return 0
	}
	op := ring.Op{Code: ring.OpMem, SrcOff: s.starts[at[0].Chunk] + at[0].Off, Off: off, Size: size}
	if text {
		op.Code = ring.OpCStr
	}
	s.ops = append(s.ops, op)
	s.parts = append(s.parts, value.Part{Followed: true, Text: text, Size: size, From: at[0].Chunk, FromOff: at[0].Off, Off: off})
	s.size += bound
	return int32(len(s.parts))
}

// maxOps bounds a plan; the agent keeps plans in shared memory.
const maxOps = 60

// argument adds a parameter to the layout, with the operations that follow its pointers.
func (b *builder) argument(name string, t *symbol.Type, h *home) {
	f := value.Field{Name: name}
	level := 1
	if h.indirect {
		level = 0 // the object is what was asked for; its pointers are one deeper
	}
	if k := t.Strip().Kind; k == symbol.KindStruct || k == symbol.KindUnion || k == symbol.KindArray {
		level = 0
	}
	f.Type = b.types.of(t, level)
	if h.missing {
		f.Missing = true
		b.lay.Args = append(b.lay.Args, f)
		return
	}
	pieces := make([]value.Piece, 0, len(h.places))
	for _, p := range h.places {
		pieces = append(pieces, b.piece(p))
	}
	size := b.types.types[f.Type].Size
	if h.indirect {
		k := b.enter.follow(pieces, min(size, maxObject), h.off, false)
		if k == 0 {
			f.Missing = true
		}
		f.Pieces = []value.Piece{{Chunk: k, Size: size}}
	} else {
		f.Pieces = pieces
		b.followPointer(&b.enter, f.Type, pieces)
	}
	b.lay.Args = append(b.lay.Args, f)
}

// followPointer copies the pointee of a top-level pointer.
func (b *builder) followPointer(s *side, ti int32, pieces []value.Piece) {
	t := &b.types.types[ti]
	switch t.Class {
	case value.ClassCString:
		s.follow(pieces, maxString, 0, true)
	case value.ClassStructPtr, value.ClassRef:
		if t.Elem < 0 {
			return
		}
		e := &b.types.types[t.Elem]
		if e.Class != value.ClassOpaque && e.Size > 0 {
			s.follow(pieces, min(e.Size, maxObject), 0, false)
		}
	}
}

// result adds the result to the layout and plans its capture.
func (b *builder) result(t *symbol.Type, r resultHome) {
	s := &b.exit
	if r.void {
		s.begin(0)
		return
	}
	level := 1
	if k := t.Strip().Kind; k == symbol.KindStruct || k == symbol.KindUnion || k == symbol.KindArray {
		level = 0
	}
	f := value.Field{Name: "return", Type: b.types.of(t, level)}
	b.lay.Ret = &f
	size := b.types.types[f.Type].Size
	need := r.needs()
	gprs := 0
	if need[resRAX] {
		gprs = 1
	}
	if need[resRDX] {
		gprs = 2
	}
	s.begin(gprs)
	b.plan.ExitGPRs, b.lay.OnExit.GPRs = gprs, gprs
	switch {
	case r.missing:
		f.Missing = true
	case r.memory:
		k := s.follow([]value.Piece{{Size: 8}}, min(size, maxObject), 0, false)
		f.Pieces = []value.Piece{{Chunk: k, Size: size}}
	case r.x87 > 0:
		b.plan.ExitVec = true
		for i := 0; i < r.x87; i++ {
			c := s.fix(ring.Op{Code: ring.OpST0, Src: uint8(i)}, 16)
			f.Pieces = append(f.Pieces, value.Piece{Chunk: c, Size: 16})
		}
	default:
		b.resultPieces(s, &f, r)
		b.followPointer(s, f.Type, f.Pieces)
	}
}

func (b *builder) resultPieces(s *side, f *value.Field, r resultHome) {
	wide := map[uint8]uint32{}
	for _, p := range r.places {
		if p.kind == srcXMM {
			n := uint32(8)
			if uint32(p.off)+p.size > 8 {
				n = 16
			}
			wide[p.reg] = max(wide[p.reg], n)
		}
	}
	for _, x := range sortedKeys(wide) {
		s.xmms[x] = s.fix(ring.Op{Code: ring.OpXMM, Src: x, Size: wide[x]}, wide[x])
		b.plan.ExitVec = true
	}
	for _, p := range r.places {
		out := value.Piece{Chunk: value.PieceMissing, Size: p.size}
		switch {
		case p.kind == srcGPR && p.reg == rax:
			out.Chunk, out.Off = 0, uint32(p.off)
		case p.kind == srcGPR && p.reg == rdx:
			out.Chunk, out.Off = 0, 8+uint32(p.off)
		case p.kind == srcXMM:
			out.Chunk, out.Off = s.xmms[p.reg], uint32(p.off)
		}
		f.Pieces = append(f.Pieces, out)
	}
}

// finish closes the plan.
func (b *builder) finish() (ring.Plan, *value.Layout) {
	b.plan.Enter, b.plan.Exit = b.enter.ops, b.exit.ops
	b.plan.MaxEnter, b.plan.MaxExit = b.enter.size, b.exit.size
	b.lay.OnEnter.Parts, b.lay.OnExit.Parts = b.enter.parts, b.exit.parts
	b.lay.Types = b.types.types
	l := b.lay
	return b.plan, &l
}
