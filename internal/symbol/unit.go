package symbol

import (
	"fmt"
	"sync"
	"sync/atomic"
)

// dieRef names a DIE in a module: section number in the upper 16 bits, offset in the lower 48.
type dieRef uint64

func makeRef(sec int, off uint64) dieRef { return dieRef(uint64(sec)<<48 | off&(1<<48-1)) }
func (d dieRef) sec() int                { return int(d >> 48) }
func (d dieRef) off() uint64             { return uint64(d) & (1<<48 - 1) }

// dwarfFile is the debug sections of one file: the module, its debug file, a .dwo, or a dwz supplement.
type dwarfFile struct {
	im      *image
	dwo     bool
	sources *sources
	alt     *dwarfFile // supplementary file, or nil
	infos   int        // number of this file's .debug_info in dwarfData.secs

	info, types, abbrev, str, strOff, lineStr, line []byte
	addr, ranges, rnglists                          []byte
	loc, loclists                                   func() []byte

	abbrevs abbrevCache
	lines   lineCache
}

// infoSec is one .debug_info or .debug_types section.
type infoSec struct {
	id    int
	data  []byte
	file  *dwarfFile
	types bool
	units []*unit // by offset
}

// unit is one compile, partial, type, skeleton or split unit.
type unit struct {
	sec      *infoSec
	off      uint64 // of the header in sec.data
	dieOff   uint64 // of the root DIE
	end      uint64
	version  uint16
	offSize  uint8
	addrSize uint8
	kind     uint8  // utCompile …
	sig      uint64 // type signature
	typeOff  uint64 // of the type's DIE, from off
	abbrevs  *abbrevTable

	// From the root DIE.
	lang      Language
	producer  strRef
	name      strRef
	compDir   string
	stmtList  uint64
	hasLine   bool
	lineFile  *dwarfFile // whose line section stmtList is in
	strBase   uint64
	addrBase  uint64
	rngBase   uint64
	locBase   uint64
	gnuRanges uint64 // DW_AT_GNU_ranges_base, for split units of DWARF 4
	low       uint64
	dwoName   string
	dwoID     uint64
	bare      atomic.Int32 // see isBare
	split     *unit        // of a skeleton: where its content is
	skel      *unit        // of a split unit

	scopeOnce sync.Once
	scopes    []scopeSpan
	prefixes  sync.Map // where a scope begins: what its prefix is, once asked for
}

func (u *unit) ref(off uint64) dieRef { return makeRef(u.sec.id, off) }

// strRef is where a string is: kind in the top four bits, offset below; 0 is no string.
type strRef uint64

const (
	strInfo strRef = iota + 1 // in the unit's info section
	strStr                    // .debug_str
	strLine                   // .debug_line_str
	strAlt                    // .debug_str of the supplementary file
)

func makeStr(kind strRef, off uint64) strRef { return kind<<60 | strRef(off&(1<<60-1)) }

// text returns the bytes of a string of this unit. They are mapped: copy them to keep them.
func (s *infoSec) text(ref strRef) []byte {
	off := uint64(ref) & (1<<60 - 1)
	switch ref >> 60 {
	case strInfo:
		return cstrAt(s.data, off)
	case strStr:
		return cstrAt(s.file.str, off)
	case strLine:
		return cstrAt(s.file.lineStr, off)
	case strAlt:
		if s.file.alt != nil {
			return cstrAt(s.file.alt.str, off)
		}
	}
	return nil
}

func (u *unit) text(ref strRef) []byte { return u.sec.text(ref) }

// maxUnits bounds the units of a section.
const maxUnits = 1 << 20

// parseUnits reads the unit headers of a section. What it could read is kept when it returns an error.
func (s *infoSec) parseUnits() error {
	off := uint64(0)
	for off < uint64(len(s.data)) {
		if len(s.units) >= maxUnits {
			return fmt.Errorf("more than %d units", maxUnits)
		}
		r := newReader(s.data, off)
		u := &unit{sec: s, off: off, offSize: 4}
		length := uint64(r.u32())
		if length == 0xffffffff {
			length, u.offSize = r.u64(), 8
		}
		if length > uint64(r.left()) {
			return fmt.Errorf("unit at %#x is longer than its section", off)
		}
		u.end = uint64(r.off) + length
		next := u.end
		if err := s.parseHeader(u, &r); err != nil {
			return err
		}
		if u.version != 0 {
			s.units = append(s.units, u)
		}
		off = next
	}
	return nil
}

func (s *infoSec) parseHeader(u *unit, r *reader) error {
	u.version = r.u16()
	if r.bad {
		return fmt.Errorf("unit at %#x is cut short", u.off)
	}
	if u.version < 2 || u.version > 5 {
		return fmt.Errorf("unit at %#x has DWARF version %d", u.off, u.version)
	}
	var abbrevOff uint64
	if u.version >= 5 {
		u.kind = r.u8()
		u.addrSize = r.u8()
		abbrevOff = r.word(int(u.offSize))
	} else {
		abbrevOff = r.word(int(u.offSize))
		u.addrSize = r.u8()
		u.kind = utCompile
		if s.types {
			u.kind = utType
		}
	}
	switch u.kind {
	case utSkeleton, utSplitCompile:
		if u.version >= 5 {
			u.dwoID = r.u64()
		}
	case utType, utSplitType:
		u.sig = r.u64()
		u.typeOff = r.word(int(u.offSize))
	}
	u.dieOff = uint64(r.off)
	if r.bad || u.dieOff > u.end {
		return fmt.Errorf("unit at %#x is cut short", u.off)
	}
	if u.addrSize != 8 {
		return fmt.Errorf("unit at %#x has addresses of %d bytes", u.off, u.addrSize)
	}
	key := abbrevKey{abbrevOff, u.offSize, u.addrSize, u.version < 3}
	t, err := s.file.abbrevs.get(s.file.abbrev, key)
	if err != nil {
		return fmt.Errorf("unit at %#x: %w", u.off, err)
	}
	u.abbrevs = t
	return u.loadRoot()
}

// loadRoot reads the root DIE: first the bases, then what is read through them.
func (u *unit) loadRoot() error {
	r := reader{b: u.sec.data[:u.end], off: int(u.dieOff)}
	ab := u.abbrevs.root(r.uleb())
	if ab == nil {
		return nil
	}
	if ab.tag == tagPartialUnit {
		u.kind = utPartial
	}
	if u.sec.file.dwo {
		u.defaultBases()
	}
	start := r.off
	for _, at := range ab.attrs {
		switch at.name {
		case atStrOffsetsBase, atAddrBase, atRnglistsBase, atLoclistsBase, atGNUAddrBase, atGNURangesBase:
			v := u.value(&r, at)
			switch at.name {
			case atStrOffsetsBase:
				u.strBase = v.u
			case atAddrBase, atGNUAddrBase:
				u.addrBase = v.u
			case atRnglistsBase:
				u.rngBase = v.u
			case atLoclistsBase:
				u.locBase = v.u
			case atGNURangesBase:
				u.gnuRanges = v.u
			}
		default:
			u.skip(&r, at.form)
		}
	}
	r.off, r.bad = start, false
	for _, at := range ab.attrs {
		switch at.name {
		case atLanguage:
			u.lang = languageOf(u.value(&r, at).u)
		case atProducer:
			u.producer = u.str(&r, at.form)
		case atName:
			u.name = u.str(&r, at.form)
		case atCompDir:
			u.compDir = string(u.text(u.str(&r, at.form)))
		case atDwoName, atGNUDwoName:
			u.dwoName = string(u.text(u.str(&r, at.form)))
		case atGNUDwoID:
			u.dwoID = u.value(&r, at).u
		case atStmtList:
			u.stmtList, u.hasLine, u.lineFile = u.value(&r, at).u, true, u.sec.file
		case atLowPC:
			u.low = u.value(&r, at).u
		default:
			u.skip(&r, at.form)
		}
	}
	return nil
}

// defaultBases sets the bases of a .dwo unit, which has no attributes for them: right behind the
// sections' headers in DWARF 5, 0 in GNU's DWARF 4 extension.
func (u *unit) defaultBases() {
	if u.version < 5 {
		return
	}
	u.strBase, u.rngBase, u.locBase = 8, 12, 12
	if u.offSize == 8 {
		u.strBase, u.rngBase, u.locBase = 16, 20, 20
	}
}
