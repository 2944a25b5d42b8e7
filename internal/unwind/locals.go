package unwind

import (
	"bytes"
	"encoding/binary"
	"errors"

	"github.com/strobe-debug/strobe/internal/symbol"
)

// PlaceKind says where a value is.
type PlaceKind uint8

const (
	PlaceNone     PlaceKind = iota // optimized out, or not to be had: Why
	PlaceMemory                    // at Addr
	PlaceRegister                  // in register Reg; Bytes has its contents
	PlaceConst                     // nowhere: Bytes is the value, little-endian
	PlacePieces                    // Pieces, one behind the other
	PlaceImplied                   // a pointer to a value that has no address: To
)

// Place is where the value of a variable is.
type Place struct {
	Kind   PlaceKind
	Addr   uint64 // in the process
	Reg    int    // DWARF number: 0 to 16, 17 to 32 for xmm0 to xmm15
	Bytes  []byte
	Pieces []Piece
	Why    string
	To     *Local // nil: not known

	die uint64
	off int64
}

// Piece is a part of a value; PlaceNone where the part is optimized out.
type Piece struct {
	Place
	Bits   int64 // its length
	BitOff int64 // where in the place it starts
}

// Local is a parameter or variable of a frame, with where it is.
type Local struct {
	symbol.Local
	Place Place
}

// Locals returns the parameters and variables in scope in a frame of a stack that this unwinder
// walked: parameters first. Nil without debug information.
func (u *Unwinder) Locals(f *Frame) []Local {
	p := f.at
	if p == nil || p.mod < 0 || p.signal {
		return nil
	}
	scopes := u.mods[p.mod].Mod.LocalsAt(symbol.Addr(p.lookup() - p.bias))
	if f.scope >= len(scopes) {
		return nil
	}
	s := &scopes[f.scope]
	out := make([]Local, 0, len(s.Locals))
	for _, l := range s.Locals {
		if t := l.Type; t != nil {
			l.Type = u.sized(p, s, t)
		}
		place := u.place(p, s, &l)
		if place.Kind == PlaceNone && u.survives(p, f.scope, len(scopes), &l) {
			kept := *p
			kept.regs.Known |= p.regs.carried
			place = u.place(&kept, s, &l)
		}
		out = append(out, Local{Local: l, Place: place})
	}
	return out
}

// survives reports whether the compiler says that a variable is behind the call that a frame is in where it was before:
// then the call keeps the registers that it is in, also those that calls need not keep.
func (u *Unwinder) survives(p *phys, scope, scopes int, l *symbol.Local) bool {
	if p.exact || p.regs.carried == 0 || l.Loc.Expr == nil {
		return false
	}
	behind := u.mods[p.mod].Mod.LocalsAt(symbol.Addr(p.pc - p.bias))
	if len(behind) != scopes {
		return false
	}
	for _, b := range behind[scope].Locals {
		if b.Name == l.Name && b.Depth == l.Depth && b.Param == l.Param {
			return b.Loc.Kind == l.Loc.Kind && bytes.Equal(b.Loc.Expr, l.Loc.Expr)
		}
	}
	return false
}

// sized is a type with the number of elements that its arrays have in a frame.
func (u *Unwinder) sized(p *phys, s *symbol.Scope, t *symbol.Type) *symbol.Type {
	return t.Sized(func(expr []byte) (uint64, bool) {
		v, err := u.evaluator(p, s, 0).number(expr)
		return v, err == nil
	}, func(off uint64) (uint64, bool) {
		l, ok := s.Unit.Variable(off, symbol.Addr(p.lookup()-p.bias))
		if !ok {
			return 0, false
		}
		size := 8
		if st := l.Type.Strip(); st != nil && st.Size > 0 && st.Size < 8 {
			size = int(st.Size)
		}
		var word [8]byte
		b, complete := u.Value(u.place(p, s, &l), size)
		copy(word[:], b)
		return binary.LittleEndian.Uint64(word[:]), complete
	})
}

// place evaluates where a variable is in a frame.
func (u *Unwinder) place(p *phys, s *symbol.Scope, l *symbol.Local) Place {
	switch l.Loc.Kind {
	case symbol.LocConst:
		return Place{Kind: PlaceConst, Bytes: l.Loc.Const}
	case symbol.LocExpr, symbol.LocEntry:
		e := u.evaluator(p, s, 0)
		out := e.place(l.Loc.Expr, l.Type)
		if out.Kind == PlaceImplied && out.off == 0 {
			u.follow(p, s, &out)
		}
		return out
	}
	return Place{Why: "optimized out"}
}

// follow finds what an implied pointer leads to. Pointers to pointers are not followed further.
func (u *Unwinder) follow(p *phys, s *symbol.Scope, at *Place) {
	l, ok := s.Unit.Variable(at.die, symbol.Addr(p.lookup()-p.bias))
	if !ok {
		return
	}
	at.To = &Local{Local: l, Place: Place{Why: "optimized out"}}
	switch l.Loc.Kind {
	case symbol.LocConst:
		at.To.Place = Place{Kind: PlaceConst, Bytes: l.Loc.Const}
	case symbol.LocExpr, symbol.LocEntry:
		e := u.evaluator(p, s, 0)
		at.To.Place = e.place(l.Loc.Expr, l.Type)
	}
}

// vectors returns the vector registers where they are known: calls do not keep them.
func (u *Unwinder) vectors(p *phys) *[16][16]byte {
	if p.exact && p.trust == TrustCFI && p.inner {
		return u.o.XMM
	}
	return nil
}

func (u *Unwinder) evaluator(p *phys, s *symbol.Scope, depth int) *evaluator {
	e := &evaluator{mem: &u.mem, regs: &p.regs, bias: p.bias, cfa: p.cfa, hasCFA: p.cfa != 0, unit: s.Unit,
		vectors: u.vectors(p)}
	m := u.mods[p.mod].Mod
	e.base = func() (uint64, error) {
		if s.FrameBase.Kind != symbol.LocExpr && s.FrameBase.Kind != symbol.LocEntry {
			return 0, errUnsaved
		}
		b := evaluator{mem: e.mem, regs: e.regs, bias: e.bias, cfa: e.cfa, hasCFA: e.hasCFA, unit: e.unit}
		return b.number(s.FrameBase.Expr)
	}
	e.entry = func(reg int) (uint64, error) {
		return u.passed(p, depth, func(m *symbol.Module, ret symbol.Addr) ([]byte, *symbol.ExprUnit,
			bool) {
			return m.CallValue(ret, reg)
		})
	}
	e.param = func(off uint64) (uint64, error) {
		return u.passed(p, depth, func(m *symbol.Module, ret symbol.Addr) ([]byte, *symbol.ExprUnit, bool) {
			return m.CallArgument(ret, s.Unit, off)
		})
	}
	if u.o.TLS != nil {
		e.tls = func(off uint64) (uint64, bool) { return u.o.TLS(m, off) }
	}
	return e
}

// passed computes what a frame's caller passed to it, as the call site says.
func (u *Unwinder) passed(p *phys, depth int,
	value func(m *symbol.Module, ret symbol.Addr) ([]byte, *symbol.ExprUnit, bool)) (uint64, error) {
	caller := p.next
	for caller != nil && caller.stub { // our stubs pass everything on
		caller = caller.next
	}
	if caller == nil || caller.mod < 0 || p.signal || caller.exact || depth >= maxDepth {
		return 0, errUnsaved
	}
	if !u.calls(caller, p) {
		return 0, errUnsaved // a tail call in between may have changed the registers
	}
	expr, unit, ok := value(u.mods[caller.mod].Mod, symbol.Addr(caller.pc-caller.bias))
	if !ok {
		return 0, errUnsaved
	}
	scopes := u.mods[caller.mod].Mod.InlinedAt(symbol.Addr(caller.lookup() - caller.bias))
	if len(scopes) == 0 {
		return 0, errUnsaved
	}
	s := scopes[len(scopes)-1]
	s.Unit = unit
	e := u.evaluator(caller, &s, depth+1)
	return e.number(expr)
}

// calls reports whether the call in caller went to p's function: a direct call of another one was followed by a jump.
func (u *Unwinder) calls(caller, p *phys) bool {
	target, direct := u.callTarget(caller.pc)
	if !direct {
		return true
	}
	start, _ := u.start(p)
	if start == 0 || target == start {
		return true
	}
	i := u.module(target)
	if i < 0 {
		return true
	}
	m := &u.mods[i]
	return m.Mod.FunctionAt(symbol.Addr(target-m.Bias)) == nil // an entry of the procedure linkage table
}

// place runs a location expression for a value of a type.
func (e *evaluator) place(expr []byte, t *symbol.Type) Place {
	c := cursor{b: expr}
	var pieces []Piece
	o := operand{reg: -1}
	for !c.done() && e.err == nil {
		op := c.u8()
		if op != opPiece && op != opBitPiece {
			c.off--
			e.step(&c, &o)
			continue
		}
		piece := Piece{Bits: int64(c.uleb())}
		if op == opPiece {
			piece.Bits *= 8
		} else {
			piece.BitOff = int64(c.uleb())
		}
		const maxBits, maxPieces = 1 << 24, 1 << 10
		if c.bad || piece.Bits < 0 || piece.Bits > maxBits || piece.BitOff < 0 || piece.BitOff > maxBits ||
			len(pieces) >= maxPieces {
			return Place{Why: errExpr.Error()}
		}
		piece.Place = e.take(&o, (piece.Bits+7)/8)
		pieces = append(pieces, piece)
	}
	switch {
	case e.err != nil && errors.Is(e.err, errUnsaved):
		return Place{Why: "optimized out: " + e.err.Error()}
	case e.err != nil:
		return Place{Why: e.err.Error()}
	case c.bad:
		return Place{Why: errExpr.Error()}
	case pieces != nil:
		return Place{Kind: PlacePieces, Pieces: pieces}
	}
	size := int64(8)
	if t != nil {
		if s := t.Strip(); s.Size > 0 {
			size = s.Size
		}
	}
	return e.take(&o, size)
}

// take turns what an expression has made into a place of n bytes, and begins anew.
func (e *evaluator) take(o *operand, n int64) Place {
	cur := *o
	*o = operand{reg: -1}
	stack := e.stack
	e.stack = e.stack[:0]
	switch {
	case e.err != nil:
		return Place{Why: e.err.Error()}
	case cur.implied:
		return Place{Kind: PlaceImplied, die: cur.die, off: cur.off, Why: errImplied.Error()}
	case cur.isData:
		return Place{Kind: PlaceConst, Bytes: cur.data}
	case cur.reg >= 0:
		return e.inRegister(cur.reg)
	case len(stack) == 0:
		return Place{Why: "optimized out"}
	}
	top := stack[len(stack)-1]
	if cur.value {
		b := binary.LittleEndian.AppendUint64(nil, top.v)
		if n < 8 {
			b = b[:max(n, 0)]
		}
		return Place{Kind: PlaceConst, Bytes: b}
	}
	return Place{Kind: PlaceMemory, Addr: top.v}
}

// firstXMM is the DWARF number of xmm0.
const firstXMM = 17

func (e *evaluator) inRegister(n int) Place {
	if n >= firstXMM && n < firstXMM+16 && e.vectors != nil {
		return Place{Kind: PlaceRegister, Reg: n, Bytes: append([]byte(nil), e.vectors[n-firstXMM][:]...)}
	}
	v, ok := e.regs.Get(n)
	if !ok {
		return Place{Why: "optimized out: it was in a register that was not saved"}
	}
	return Place{Kind: PlaceRegister, Reg: n, Bytes: binary.LittleEndian.AppendUint64(nil, v)}
}

// maxValue bounds what Value returns.
const maxValue = 1 << 20

// Value reads n bytes of a place, at most 1 MB. complete is false where a part could not be had: it is zero.
func (u *Unwinder) Value(p Place, n int) (b []byte, complete bool) {
	b = make([]byte, min(max(n, 0), maxValue))
	complete = len(b) == n
	switch p.Kind {
	case PlaceMemory:
		return b, u.mem.read(p.Addr, b) == nil && complete
	case PlaceRegister, PlaceConst:
		return b, copy(b, p.Bytes) == len(b) && complete
	case PlacePieces:
		at := int64(0)
		for i := range p.Pieces {
			piece := &p.Pieces[i]
			if at >= 8*int64(len(b)) {
				break
			}
			part, ok := u.Value(piece.Place, int((piece.BitOff+piece.Bits+7)/8))
			complete = complete && ok
			copyBits(b, at, part, piece.BitOff, piece.Bits)
			at += piece.Bits
		}
		return b, complete && at >= 8*int64(len(b))
	}
	return b, false
}

// copyBits copies n bits, the lowest of a byte first, as far as there is room.
func copyBits(to []byte, toOff int64, from []byte, fromOff, n int64) {
	if toOff%8 == 0 && fromOff%8 == 0 && n%8 == 0 {
		if toOff/8 <= int64(len(to)) && fromOff/8 <= int64(len(from)) {
			part := from[fromOff/8:]
			copy(to[toOff/8:], part[:min(n/8, int64(len(part)))])
		}
		return
	}
	for i := range n {
		f, t := fromOff+i, toOff+i
		if f/8 >= int64(len(from)) || t/8 >= int64(len(to)) {
			return
		}
		to[t/8] |= from[f/8] >> (f % 8) & 1 << (t % 8)
	}
}
