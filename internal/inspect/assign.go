package inspect

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/expr"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/unwind"
)

// assignment is bytes and where they go. What they share a register or a byte with is read when they are stored, since
// an assignment before may have changed it.
type assignment struct {
	kind  assignmentKind
	addr  uint64 // of memory and bits
	reg   int    // general: DWARF's number; vector: of xmm0 to xmm15
	b     []byte
	old   [16]byte // of the register
	first int64    // of bits: in the byte at addr
	width int64
	read  func(addr uint64, b []byte) error
}

type assignmentKind uint8

const (
	toMemory assignmentKind = iota
	toBits                  // of memory
	toRegister
	toVector
)

func store(w Writer, list []assignment) error {
	for i := range list {
		if err := list[i].store(w); err != nil {
			return err
		}
	}
	return nil
}

func (a *assignment) store(w Writer) error {
	switch a.kind {
	case toBits:
		b := make([]byte, (a.first+a.width+7)/8)
		if err := a.read(a.addr, b); err != nil {
			return err
		}
		for i := range a.width {
			at, mask := (a.first+i)/8, byte(1)<<((a.first+i)%8)
			b[at] &^= mask
			if a.b[i/8]>>(i%8)&1 != 0 {
				b[at] |= mask
			}
		}
		return w.WriteMemory(a.addr, b)
	case toRegister:
		full := a.old
		copy(full[:8], a.b)
		if len(a.b) == 4 { // a write of half a register clears the rest, as the processor does
			copy(full[4:8], []byte{0, 0, 0, 0})
		}
		return w.WriteRegister(a.reg, binary.LittleEndian.Uint64(full[:]))
	case toVector:
		full := a.old
		copy(full[:], a.b)
		return w.WriteVector(a.reg, full)
	}
	return w.WriteMemory(a.addr, a.b)
}

// assignments are what is to be stored for one target: several for the members of a struct.
func (s *scene) assignments(t *collector.InspectTarget) ([]assignment, error) {
	src := t.Expr
	if src == "" {
		if t.Type == "" && t.Size > 0 {
			var digits string
			b := []byte(nil)
			err := json.Unmarshal(t.Set, &digits)
			if err == nil {
				b, err = hex.DecodeString(digits)
			}
			if err != nil || len(b) != t.Size {
				return nil, badValue(nil, t.Set, fmt.Sprintf("%d bytes are written as text of hexadecimal digits", t.Size))
			}
			return []assignment{{addr: t.Address, b: b}}, nil
		}
		if t.Type == "" {
			return nil, fault.New(fault.ValidationError, "Give type.", "a value at an address needs a type to be written as")
		}
		if base, rest, array := strings.Cut(strings.TrimSpace(t.Type), "["); array && base != "" &&
			!strings.ContainsAny(base, "(<") && !strings.Contains(rest, "[") {
			return s.toArray(t, strings.TrimSpace(base), rest)
		}
		to, err := pointerTo(t.Type)
		if err != nil {
			return nil, err
		}
		src = fmt.Sprintf("*(%s)0x%x", to, t.Address)
	}
	return s.assign(src, t.Set, 0)
}

// toArray stores a list of elements at an address, or text with zeros behind it.
func (s *scene) toArray(t *collector.InspectTarget, base, rest string) (out []assignment, err error) {
	n, err := arrayLength(t.Type, rest)
	if err != nil {
		return nil, err
	}
	var text string
	if base == "char" && json.Unmarshal(t.Set, &text) == nil && len(text) <= n && n <= maxChars {
		return []assignment{{addr: t.Address, b: append([]byte(text), make([]byte, n-len(text))...)}}, nil
	}
	var list []json.RawMessage
	if json.Unmarshal(t.Set, &list) != nil || len(list) != n || n > maxMembers {
		return nil, badValue(nil, t.Set, fmt.Sprintf("%s takes a list of %d, at most %d", t.Type, n, maxMembers))
	}
	for i := range list {
		a, err := s.assign(fmt.Sprintf("((%s *)0x%x)[%d]", base, t.Address, i), list[i], 0)
		if err != nil {
			return nil, err
		}
		out = append(out, a...)
	}
	return out, nil
}

// maxMembers bounds the stores of one target.
const maxMembers = 1000

func (s *scene) assign(src string, set json.RawMessage, depth int) ([]assignment, error) {
	if n, ok := registerNames[src]; ok {
		return s.toNamedRegister(src, n, set)
	}
	e, err := expr.New(src, s.language(), s)
	if err != nil {
		return nil, err
	}
	if m := bytes.TrimSpace(set); len(m) > 0 && m[0] == '{' && e.Type().Kind() == expr.KindObject {
		return s.assignMembers(src, m, depth)
	}
	typ := e.Type().Symbol()
	if e.IsBitField() {
		return s.toBitField(e, set)
	}
	if typ == nil && e.Type().Kind() == expr.KindVoid || !e.InMemory() {
		return nil, fault.New(fault.ValidationError,
			"Name a variable, a member, an element, what a pointer leads to, or a register.",
			"%q has no place that could be written", src)
	}
	a := assignment{}
	var ok bool
	if a.addr, ok, err = e.Addr(s.env()); err != nil {
		return nil, err
	} else if !ok {
		return nil, fault.New(fault.Unsupported, "Write the whole that it is in.", "%q has no address of its own", src)
	}
	if typ == nil {
		a.b, err = encodeMade(e.Type(), set)
	} else {
		a.b, err = encode(typ, set)
	}
	if err != nil {
		return nil, err
	}
	if isLaid(a.addr) { // a local that is in a register
		a, err = s.inRegister(a)
	}
	return []assignment{a}, err
}

// assignMembers stores what is given of a struct; its other members stay.
func (s *scene) assignMembers(src string, set json.RawMessage, depth int) (out []assignment, err error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(set, &members); err != nil {
		return nil, fault.New(fault.ValidationError, "Give an object of members and their values.",
			"the value of %q is no JSON object: %w", src, err)
	}
	if depth > MaxDepth {
		return nil, fault.New(fault.Unsupported, "Write inner members by themselves.", "the value is nested deeper than %d",
			MaxDepth)
	}
	used := map[int]bool{}
	for name, v := range members {
		more, err := s.assign("("+src+")."+name, v, depth+1)
		if err != nil {
			return nil, err
		}
		if out = append(out, more...); len(out) > maxMembers {
			return nil, fault.New(fault.ValidationError, "Write it in parts.", "a value has at most %d members", maxMembers)
		}
		for i := range more {
			if a := &more[i]; a.kind == toRegister || a.kind == toVector {
				key := int(a.kind)<<8 | a.reg
				if used[key] {
					return nil, fault.New(fault.Unsupported, "Write one member after the other.",
						"two members of %q are in one register", src)
				}
				used[key] = true
			}
		}
	}
	return out, nil
}

func (s *scene) toNamedRegister(src string, n int, set json.RawMessage) ([]assignment, error) {
	v, known := registers{s}.regOf(n)
	if !known {
		return nil, fault.New(fault.NotPaused, "Pause a thread with debug_breakpoint and give its threadId.",
			"no thread is paused whose %s could be written", src)
	}
	b, err := encodeInt(set, 8, false)
	if err != nil {
		return nil, err
	}
	a, err := s.register(n, v)
	a.b = b
	return []assignment{a}, err
}

func (s *scene) toBitField(e *expr.Expr, set json.RawMessage) ([]assignment, error) {
	addr, first, width, ok, err := e.BitField(s.env())
	if err != nil || !ok {
		return nil, err
	}
	if isLaid(addr) {
		return nil, fault.New(fault.Unsupported, "Write the whole struct's register.", "the bit-field is in a register")
	}
	b, err := encodeBits(e.Type(), set, width)
	return []assignment{{kind: toBits, addr: addr, first: first, width: width, b: b, read: s.pic.Mem.Read}}, err
}

// encodeBits makes a value of a bit-field of so many bits.
func encodeBits(t *expr.Type, set json.RawMessage, width int64) ([]byte, error) {
	var b []byte
	var err error
	if typ := t.Symbol(); typ != nil {
		b, err = encode(typ, set)
	} else {
		b, err = encodeMade(t, set)
	}
	if err != nil {
		return nil, err
	}
	var full [8]byte
	copy(full[:], b)
	v := binary.LittleEndian.Uint64(full[:])
	if shift := 64 - 8*int64(len(b)); t.Signed() && shift >= 0 {
		v = uint64(int64(v<<shift) >> shift)
	}
	if rest := int64(v) >> (width - 1); rest != 0 && rest != -1 && !(rest == 1 && !t.Signed()) || rest == -1 &&
		!t.Signed() && width < 64 {
		return nil, badValue(t.Symbol(), set, fmt.Sprintf("it does not fit %d bits", width))
	}
	return binary.LittleEndian.AppendUint64(nil, v), nil
}

// inRegister finds the register that a value was laid out from.
func (s *scene) inRegister(a assignment) (assignment, error) {
	for _, l := range s.laid {
		if a.addr < l.at {
			continue
		}
		place, off := part(l.place, int64(a.addr-l.at), int64(len(a.b)))
		switch {
		case place.Kind == unwind.PlaceMemory:
			return assignment{addr: place.Addr + uint64(off), b: a.b}, nil
		case place.Kind != unwind.PlaceRegister:
			continue
		case place.Reg > 16 && (s.frame == nil || s.frame.Index != 0):
			return a, fault.New(fault.Unsupported, "Write it in the innermost frame, or where it is in memory.",
				"it is in a vector register of an outer frame")
		}
		whole := append([]byte(nil), place.Bytes...)
		copy(whole[off:], a.b)
		if place.Reg > 16 {
			return assignment{kind: toVector, reg: place.Reg - 17, b: whole}, nil
		}
		old, _ := s.frame.Regs.Get(place.Reg)
		out, err := s.register(place.Reg, old)
		if out.b = whole; off == 0 {
			out.b = a.b
		}
		return out, err
	}
	return a, fault.New(fault.Unsupported, "Write it where it is in memory.", "it is a constant, or not in one place")
}

// part is the place of n bytes of a value from off on; a place of no kind where they are not together.
func part(p unwind.Place, off, n int64) (unwind.Place, int64) {
	switch p.Kind {
	case unwind.PlaceRegister:
		if off+n <= int64(len(p.Bytes)) {
			return p, off
		}
	case unwind.PlaceMemory:
		return p, off
	case unwind.PlacePieces:
		for i := range p.Pieces {
			piece := &p.Pieces[i]
			if size := piece.Bits / 8; off >= size {
				off -= size
				continue
			}
			if piece.Bits%8 == 0 && piece.BitOff%8 == 0 && off+n <= piece.Bits/8 {
				return part(piece.Place, off+piece.BitOff/8, n)
			}
			break
		}
	}
	return unwind.Place{}, 0
}

// register is where the frame's value of a general register is now: an outer frame's may be saved on the stack.
func (s *scene) register(n int, old uint64) (assignment, error) {
	if s.frame == nil || s.frame.Index == 0 {
		a := assignment{kind: toRegister, reg: n}
		binary.LittleEndian.PutUint64(a.old[:], old)
		return a, nil
	}
	addr, in, ok := s.u.Saved(&s.stack, s.frame, n)
	switch {
	case !ok || n == 16 || n == 7:
		return assignment{}, fault.New(fault.Unsupported, "Write what is in memory, or in the innermost frame.",
			"register %d of frame %d is not kept where it could be changed", n, s.frame.Index)
	case in:
		a := assignment{kind: toRegister, reg: n}
		binary.LittleEndian.PutUint64(a.old[:], old)
		return a, nil
	}
	return assignment{addr: addr}, nil
}

func (r registers) regOf(n int) (uint64, bool) {
	if r.s.th == nil {
		return 0, false
	}
	return r.Reg(n)
}
