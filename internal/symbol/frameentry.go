package symbol

import (
	"bytes"
	"sort"
)

// FrameEntry is the unwind program for a range of code: how to find, anywhere in it, where the
// caller's registers are. The byte slices are copies.
type FrameEntry struct {
	Lo, Hi    Addr   // the range, link-time addresses
	Initial   []byte // instructions of the CIE, run first
	Code      []byte // instructions of the FDE
	CodeAlign uint64
	DataAlign int64
	RAReg     uint64 // DWARF register number that stands for the return address
	Signal    bool   // frames of this code were made by a signal, not by a call
	Source    string // ".eh_frame" or ".debug_frame"
}

// FrameEntry returns the unwind program for the code at a, found through the table of .eh_frame_hdr
// where the file has one, and else in all of .eh_frame and .debug_frame.
func (m *Module) FrameEntry(a Addr) (e FrameEntry, ok bool) {
	_ = m.guarded(func() error {
		f, found := m.headerFDE(uint64(a))
		if !found {
			m.ehOnce.Do(func() { m.eh = m.readFrames() })
			f, found = m.eh.find(uint64(a))
		}
		if found {
			e = FrameEntry{Lo: Addr(f.lo), Hi: Addr(f.hi), Initial: bytes.Clone(f.cie.code), Code: bytes.Clone(f.code),
				CodeAlign: f.cie.codeAlign, DataAlign: f.cie.dataAlign, RAReg: f.cie.raReg, Signal: f.cie.signal,
				Source: f.cie.source}
			ok = true
		}
		return nil
	})
	return e, ok
}

// find returns the FDE that covers pc.
func (t *frameTables) find(pc uint64) (fde, bool) {
	i := sort.Search(len(t.fdes), func(i int) bool { return t.fdes[i].lo > pc }) - 1
	// .debug_frame may repeat what .eh_frame says; the first of equals is .eh_frame's.
	for i > 0 && t.fdes[i-1].lo == t.fdes[i].lo {
		i--
	}
	if i < 0 || pc >= t.fdes[i].hi {
		return fde{}, false
	}
	return t.fdes[i], true
}

// headerFDE looks pc up in the sorted table of .eh_frame_hdr.
func (m *Module) headerFDE(pc uint64) (fde, bool) {
	const ptGNUEhFrame = 0x6474e550
	for _, ph := range m.im.progs {
		if ph.typ != ptGNUEhFrame {
			continue
		}
		hdr := frameParser{b: m.im.slice(ph.off, ph.filesz), addr: ph.vaddr}
		r := newReader(hdr.b, 0)
		version, ptrEnc, countEnc, tableEnc := r.u8(), r.u8(), r.u8(), r.u8()
		const sortedRelative = 0x3b // pairs of 32-bit offsets from the header
		if version != 1 || tableEnc != sortedRelative {
			return fde{}, false
		}
		frames := hdr.pointer(&r, ptrEnc)
		count := int(min(hdr.pointer(&r, countEnc), uint64(r.left())/8))
		table := r
		entry := func(i int) (start, at uint64) {
			e := table
			e.skip(uint64(i) * 8)
			start = ph.vaddr + uint64(int64(int32(e.u32())))
			return start, ph.vaddr + uint64(int64(int32(e.u32())))
		}
		i := sort.Search(count, func(i int) bool { s, _ := entry(i); return s > pc }) - 1
		if r.bad || i < 0 {
			return fde{}, false
		}
		_, at := entry(i)
		b := m.im.at(frames)
		if at < frames || at-frames >= uint64(len(b)) {
			return fde{}, false
		}
		p := frameParser{b: b, addr: frames, eh: true, name: ".eh_frame", cies: map[uint64]*cie{}}
		f, ok := p.one(at - frames)
		return f, ok && pc >= f.lo && pc < f.hi
	}
	return fde{}, false
}

// one parses the FDE at an offset of an .eh_frame section.
func (p *frameParser) one(off uint64) (fde, bool) {
	r := newReader(p.b, off)
	length := uint64(r.u32())
	if length == 0xffffffff {
		length = r.u64()
	}
	start := uint64(r.off)
	if r.bad || length == 0 || length > uint64(r.left()) {
		return fde{}, false
	}
	body := reader{b: p.b[:start+length], off: int(start)}
	c, ok := p.cieRef(uint64(body.u32()), start, false)
	if !ok {
		return fde{}, false
	}
	return p.fde(body, c)
}
