package symbol

import (
	"bytes"
	"sort"
)

// EntryRule is what the unwind tables say at one address.
type EntryRule struct {
	Known       bool   // an FDE covers the address
	Start, End  Addr   // the FDE's range
	CFARegister int    // DWARF register number, -1 when the CFA is an expression
	CFAOffset   int64  // CFA = register + offset
	CallFrame   bool   // CFA = rsp+8 and the return address is at CFA-8: as right after a call
	RAUndefined bool   // the outermost frame: there is no caller
	Signal      bool   // a signal frame: the address is that of the interrupted instruction
	Personality bool   // the function has an exception personality routine
	Source      string // ".eh_frame" or ".debug_frame"
}

// EntryRule executes the unwind program up to a. For a function's entry, Known && !CallFrame means
// that the function is not entered by an ordinary call.
func (m *Module) EntryRule(a Addr) EntryRule {
	var out EntryRule
	_ = m.guarded(func() error {
		m.ehOnce.Do(func() { m.eh = m.readFrames() })
		out = m.eh.rule(uint64(a))
		return nil
	})
	return out
}

// fde is one frame description entry.
type fde struct {
	lo, hi uint64
	code   []byte
	cie    *cie
}

type cie struct {
	codeAlign   uint64
	dataAlign   int64
	raReg       uint64
	encoding    uint8
	hasAug      bool
	signal      bool
	personality bool
	code        []byte
	source      string
}

// frameTables is the FDEs of a module by start.
type frameTables struct{ fdes []fde }

func (m *Module) readFrames() *frameTables {
	t := &frameTables{}
	load := func(im *image, name string, eh bool) {
		i := im.find(name)
		if i < 0 && !(name == ".debug_frame" && im.find(".zdebug_frame") >= 0) {
			return
		}
		b, _ := im.section(name)
		var addr uint64
		if i >= 0 {
			addr = im.sects[i].addr
		}
		p := frameParser{b: b, addr: addr, eh: eh, name: name, cies: map[uint64]*cie{}}
		t.fdes = append(t.fdes, p.parse()...)
	}
	load(m.im, ".eh_frame", true)
	load(m.im, ".debug_frame", false)
	if m.dbg != nil {
		load(m.dbg, ".debug_frame", false)
	}
	if len(t.fdes) == 0 {
		t.fdes = m.segmentFrames()
	}
	sort.SliceStable(t.fdes, func(i, j int) bool { return t.fdes[i].lo < t.fdes[j].lo })
	return t
}

// segmentFrames finds .eh_frame through its header segment in files without section headers.
func (m *Module) segmentFrames() []fde {
	const ptGNUEhFrame = 0x6474e550
	for _, ph := range m.im.progs {
		if ph.typ != ptGNUEhFrame {
			continue
		}
		hdr := frameParser{b: m.im.slice(ph.off, ph.filesz), addr: ph.vaddr}
		r := newReader(hdr.b, 0)
		r.u8()
		enc := r.u8()
		r.skip(2)
		at := hdr.pointer(&r, enc)
		b := m.im.at(at)
		if r.bad || b == nil {
			return nil
		}
		p := frameParser{b: b, addr: at, eh: true, name: ".eh_frame", cies: map[uint64]*cie{}}
		return p.parse()
	}
	return nil
}

type frameParser struct {
	b    []byte
	addr uint64 // of b
	eh   bool
	name string
	cies map[uint64]*cie
}

// maxFDEs bounds the entries of one section.
const maxFDEs = 1 << 22

func (p *frameParser) parse() []fde {
	var out []fde
	for off := uint64(0); off+4 <= uint64(len(p.b)) && len(out) < maxFDEs; {
		r := newReader(p.b, off)
		length, wide := uint64(r.u32()), false
		if length == 0xffffffff {
			length, wide = r.u64(), true
		}
		if length == 0 {
			if p.eh {
				break
			}
			off += 4
			continue
		}
		start := uint64(r.off)
		if r.bad || length > uint64(r.left()) {
			break
		}
		end := start + length
		body := reader{b: p.b[:end], off: int(start)}
		var id uint64
		if wide && !p.eh {
			id = body.u64()
		} else {
			id = uint64(body.u32())
		}
		if c, ok := p.cieRef(id, start, wide); ok {
			if f, ok := p.fde(body, c); ok {
				out = append(out, f)
			}
		}
		off = end
	}
	return out
}

// cieRef returns the CIE that an FDE's id field points to; not ok when the entry is a CIE itself.
func (p *frameParser) cieRef(id, at uint64, wide bool) (*cie, bool) {
	off := id
	if p.eh {
		if id == 0 || id > at {
			return nil, false
		}
		off = at - id
	} else if id == 0xffffffff || wide && id == ^uint64(0) {
		return nil, false
	}
	if c, ok := p.cies[off]; ok {
		return c, c != nil
	}
	c := p.cie(off)
	p.cies[off] = c
	return c, c != nil
}

func (p *frameParser) cie(off uint64) *cie {
	r := newReader(p.b, off)
	length, wide := uint64(r.u32()), false
	if length == 0xffffffff {
		length, wide = r.u64(), true
	}
	if r.bad || length == 0 || length > uint64(r.left()) {
		return nil
	}
	r.b = r.b[:uint64(r.off)+length]
	if wide && !p.eh {
		r.u64()
	} else {
		r.u32()
	}
	c := &cie{source: p.name}
	version := r.u8()
	aug := r.cstr()
	if bytes.HasPrefix(aug, []byte("eh")) {
		r.u64()
	}
	if version >= 4 {
		r.skip(2) // address and segment size
	}
	c.codeAlign, c.dataAlign = r.uleb(), r.sleb()
	if version == 1 {
		c.raReg = uint64(r.u8())
	} else {
		c.raReg = r.uleb()
	}
	if len(aug) > 0 && aug[0] == 'z' {
		c.hasAug = true
		n := r.uleb()
		next := uint64(r.off) + n
		p.augment(c, aug[1:], &r)
		if next > uint64(len(r.b)) {
			return nil
		}
		r.off, r.bad = int(next), false
	}
	if r.bad || version == 0 || version > 4 {
		return nil
	}
	c.code = r.b[r.off:]
	return c
}

func (p *frameParser) augment(c *cie, aug []byte, r *reader) {
	for _, a := range aug {
		switch a {
		case 'R':
			c.encoding = r.u8()
		case 'P':
			c.personality = true
			p.pointer(r, r.u8())
		case 'L':
			r.u8()
		case 'S':
			c.signal = true
		}
	}
}

// pointer reads an encoded pointer (LSB, DWARF extensions).
func (p *frameParser) pointer(r *reader, enc uint8) uint64 {
	if enc == 0xff {
		return 0
	}
	pos := p.addr + uint64(r.off)
	var v uint64
	switch enc & 0x0f {
	case 0x00, 0x04, 0x0c:
		v = r.u64()
	case 0x01:
		v = r.uleb()
	case 0x02:
		v = uint64(r.u16())
	case 0x03:
		v = uint64(r.u32())
	case 0x09:
		v = uint64(r.sleb())
	case 0x0a:
		v = uint64(int64(int16(r.u16())))
	case 0x0b:
		v = uint64(int64(int32(r.u32())))
	default:
		r.fail()
	}
	if enc&0x70 == 0x10 {
		v += pos
	}
	return v
}

func (p *frameParser) fde(r reader, c *cie) (fde, bool) {
	f := fde{cie: c}
	f.lo = p.pointer(&r, c.encoding)
	f.hi = f.lo + p.pointer(&r, c.encoding&0x0f)
	if c.hasAug {
		r.skip(r.uleb())
	}
	if r.bad || f.hi <= f.lo || f.lo == 0 {
		return f, false
	}
	f.code = r.b[r.off:]
	return f, true
}

func (t *frameTables) rule(pc uint64) EntryRule {
	i := sort.Search(len(t.fdes), func(i int) bool { return t.fdes[i].lo > pc }) - 1
	// .debug_frame may repeat what .eh_frame says; the first of equals is .eh_frame's.
	for i > 0 && t.fdes[i-1].lo == t.fdes[i].lo {
		i--
	}
	if i < 0 || pc >= t.fdes[i].hi {
		return EntryRule{CFARegister: -1}
	}
	return t.fdes[i].run(pc)
}
