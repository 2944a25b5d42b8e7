package capture

import (
	"slices"

	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/symbol"
	"github.com/strobe-debug/strobe/internal/value"
)

// builder turns homes into operations and the layout that reads them.
type builder struct {
	types *typeTable
	plan  ring.Plan
	lay   value.Layout

	order  []uint8          // registers that records begin with: argGPRs
	gprs   int              // argument registers wanted, as a prefix of order
	regs   map[uint8]uint32 // other general registers
	xmms   map[uint8]uint32 // vector registers and bytes
	lo, hi int64            // stack arguments

	enter side
	exit  side
	depth int

	finish []Finish

	secretResult bool
	empty        int // number of the program that puts out nothing, from 1
}

// side is the payload of one end of a call while it is built. Fixed parts come first, so that their
// offsets in the payload are known.
type side struct {
	ops    []ring.Op // that append fixed chunks
	roots  []ring.Op // that make nodes
	parts  []value.Part
	fixed  uint32          // bytes of the fixed chunks
	starts []uint32        // payload offset of each fixed chunk
	size   int             // upper bound of the payload
	regs   map[uint8]int32 // chunk of a register
	xmms   map[uint8]int32 // chunk of a vector register
	stack  int32           // chunk of the stack arguments

	walks    bool      // nodes follow
	gathered int32     // objects put together
	wiped    []byteRun // of the fixed chunks
}

func newBuilder(sig *symbol.Signature, o Options) *builder {
	types := newTypeTable(sig.Language, o.Walks, formattersOf(sig.Language))
	types.alone = o.PlanAlone
	return &builder{types: types, depth: o.Depth, order: argGPRs[:],
		regs: map[uint8]uint32{}, xmms: map[uint8]uint32{}, lo: -1}
}

func gprIndex(reg uint8) int {
	for i, r := range argGPRs {
		if r == reg {
			return i
		}
	}
	return -1
}

// gprIndex is the place of a register at a record's begin, -1 if it is not among those.
func (b *builder) gprIndex(reg uint8) int { return slices.Index(b.order, reg) }

// need notes the registers and stack bytes that a home reads.
func (b *builder) need(h *home) {
	if h.missing {
		return
	}
	for _, p := range h.places {
		switch p.kind {
		case srcGPR:
			if i := b.gprIndex(p.reg); i >= 0 {
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
		if i := b.gprIndex(p.reg); i >= 0 {
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

// offset returns where in the payload 8 bytes of a pointer lie together, if they do.
func (s *side) offset(at []value.Piece) (uint32, bool) {
	if len(at) == 0 || at[0].Chunk < 0 || at[0].Size < 8 || int(at[0].Chunk) >= len(s.starts) {
		return 0, false
	}
	return s.starts[at[0].Chunk] + at[0].Off, true
}

// What an OpRoot copies: ring.OpRoot's Src.
const (
	rootPointee = 0
	rootText    = 1
	rootObject  = 2
)

// root adds an operation that copies what a pointer leads to. It returns false when the pointer does not lie together.
func (s *side) root(at []value.Piece, what uint8, walk uint16, size uint32, off int32) bool {
	from, ok := s.offset(at)
	if !ok || walk == 0 || len(s.roots) >= maxOps {
		return false
	}
	s.walks = true
	s.roots = append(s.roots, ring.Op{Code: ring.OpRoot, Src: what, Slot: uint8(walk), Dst: uint8(walk >> 8), SrcOff: from,
		Off: off, Size: size})
	return true
}

// gather adds operations that put an object together which is only in registers, to walk it. It returns its number, 0
// when it is not all there.
func (s *side) gather(at []value.Piece, walk uint16) int32 {
	if len(s.roots)+len(at)+2 > maxOps || walk == 0 {
		return 0
	}
	for i := range at {
		if at[i].Chunk < 0 || int(at[i].Chunk) >= len(s.starts) {
			return 0
		}
	}
	s.walks = true
	s.gathered++
	s.roots = append(s.roots, ring.Op{Code: ring.OpGather, Slot: uint8(walk), Dst: uint8(walk >> 8), Off: s.gathered})
	for _, p := range at {
		s.roots = append(s.roots, ring.Op{Code: ring.OpGather, Src: 1, SrcOff: s.starts[p.Chunk] + p.Off, Size: p.Size})
	}
	s.roots = append(s.roots, ring.Op{Code: ring.OpGather, Src: 2})
	return s.gathered
}

// maxOps bounds a plan; the agent keeps plans in shared memory.
const maxOps = 120

// argument adds a parameter to the layout, with the operations that follow its pointers.
func (b *builder) argument(name string, t *symbol.Type, h *home) {
	if b.types.secret(name, t) {
		b.secretArgument(name, t, h)
		return
	}
	f := value.Field{Name: name, Type: b.types.of(t, b.depth)}
	if h.missing {
		f.Missing = true
		b.lay.Args = append(b.lay.Args, f)
		return
	}
	f.Pieces = make([]value.Piece, 0, len(h.places))
	for _, p := range h.places {
		f.Pieces = append(f.Pieces, b.piece(p))
	}
	if h.indirect {
		f.Indirect, f.Off, f.Walk = true, h.off, b.types.walk(t)
		f.Missing = !b.enter.root(f.Pieces, rootObject, f.Walk, min(size32(t.Strip()), maxObject), h.off)
	} else {
		b.lead(&b.enter, &f, t)
	}
	b.lay.Args = append(b.lay.Args, f)
}

// lead adds the operations that follow a value's pointers: the value's own, or those of its members.
func (b *builder) lead(s *side, f *value.Field, t *symbol.Type) {
	st := t.Strip()
	if _, needs := b.types.needs(t); !needs {
		return
	}
	if b.types.hasSecrets(t) {
		s.wipe(f.Pieces, b.types.secretSpans(t))
	}
	if st.Kind == symbol.KindStruct || st.Kind == symbol.KindUnion || st.Kind == symbol.KindArray ||
		b.types.formatter(st) != nil {
		f.Gather = s.gather(s.padded(f.Pieces, t), b.types.walk(t))
		return
	}
	e := st.Elem().Strip()
	if b.types.isText(st, e) {
		s.root(f.Pieces, rootText, walkText, maxString, 0)
		return
	}
	s.root(f.Pieces, rootPointee, b.types.pointeeWalk(e), min(size32(e), maxObject), 0)
}

// result adds the result to the layout and plans its capture.
func (b *builder) result(t *symbol.Type, r resultHome) {
	s := &b.exit
	if r.void {
		s.begin(0)
		return
	}
	if b.secretResult {
		s.begin(0)
		b.lay.Ret = &value.Field{Name: "return", Type: b.types.redacted(t)}
		return
	}
	f := value.Field{Name: "return", Type: b.types.of(t, b.depth)}
	b.lay.Ret = &f
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
		f.Pieces = []value.Piece{{Size: 8}}
		if r.saved {
			// first: what the exit finds is never an older call's
			b.enter.ops = append([]ring.Op{{Code: ring.OpSave}}, b.enter.ops...)
			f.Pieces[0].Chunk = s.fix(ring.Op{Code: ring.OpSaved}, 8)
		}
		f.Indirect, f.Walk = true, b.types.walk(t)
		f.Missing = !s.root(f.Pieces, rootObject, f.Walk, min(size32(t.Strip()), maxObject), 0)
	case r.x87 > 0:
		b.plan.ExitVec = true
		for i := 0; i < r.x87; i++ {
			c := s.fix(ring.Op{Code: ring.OpST0, Src: uint8(i)}, 16)
			f.Pieces = append(f.Pieces, value.Piece{Chunk: c, Size: 16})
		}
	default:
		b.resultPieces(s, &f, r)
		b.lead(s, &f, t)
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

// close ends the plan.
func (b *builder) close() (ring.Plan, *value.Layout) {
	b.types.settle()
	b.plan.Enter, b.plan.Exit = b.enter.all(), b.exit.all()
	b.plan.MaxEnter, b.plan.MaxExit = b.enter.most(), b.exit.most()
	b.plan.Depth, b.lay.Depth = b.depth, b.depth
	b.lay.OnEnter.Nodes, b.lay.OnExit.Nodes = b.enter.walks, b.exit.walks
	b.lay.OnEnter.Parts, b.lay.OnExit.Parts = b.enter.parts, b.exit.parts
	b.lay.Types = b.types.types
	b.lay.HideKeys(b.types.walks.secrets)
	l := b.lay
	return b.plan, &l
}

func (s *side) all() []ring.Op { return slices.Concat(s.ops, s.wipeOps(), s.smallFirst()) }

// most bounds the payload's size.
func (s *side) most() int {
	if s.walks {
		return ring.MaxPayload
	}
	return s.size + 8 // the agent wants room for a head behind every operation
}
