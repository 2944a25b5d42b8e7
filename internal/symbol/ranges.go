package symbol

// addrRange is a half-open range of addresses.
type addrRange struct{ lo, hi uint64 }

// covers reports whether a range holds pc. At a function's first address an empty range counts as well: gcc describes
// so what holds before anything has run, where several statements have no code of their own.
func (a addrRange) covers(pc uint64, entry bool) bool {
	return pc >= a.lo && (pc < a.hi || entry && pc == a.lo && a.hi == a.lo)
}

// follows reports a range behind pc that begins before the first one found so far, that of expr.
func (a addrRange) follows(pc uint64, expr []byte, first addrRange) bool {
	return a.lo > pc && a.hi > a.lo && (expr == nil || a.lo < first.lo)
}

// maxRanges bounds the ranges of one DIE that are looked at.
const maxRanges = 4096

// ranges decodes DW_AT_ranges.
func (u *unit) ranges(v value) []addrRange {
	f := u.sec.file
	off := v.u
	if u.version >= 5 {
		if v.class == clsIndex {
			r := newReader(f.rnglists, u.rngBase+off*uint64(u.offSize))
			off = u.rngBase + r.word(int(u.offSize))
			if r.bad {
				return nil
			}
		}
		return u.rnglist(newReader(f.rnglists, off))
	}
	if f.dwo && u.skel != nil {
		f = u.skel.sec.file
		off += u.gnuRanges
	}
	var out []addrRange
	base := u.low
	for r := newReader(f.ranges, off); !r.bad && len(out) < maxRanges; {
		lo, hi := r.u64(), r.u64()
		switch {
		case lo == 0 && hi == 0:
			return out
		case lo == ^uint64(0):
			base = hi
		case hi > lo:
			out = append(out, addrRange{base + lo, base + hi})
		}
	}
	return out
}

// The DW_RLE numbers; location lists use the same ones and a few more.
const (
	listEnd          = 0
	listBaseAddrx    = 1
	listStartxEndx   = 2
	listStartxLength = 3
	listOffsetPair   = 4
	// In range lists 5 to 7 are base, start_end, start_length; location lists have a default at 5.
	rngBaseAddress = 5
	rngStartEnd    = 6
	rngStartLength = 7
	locDefault     = 5
	locBaseAddress = 6
	locStartEnd    = 7
	locStartLength = 8
	locGNUViewPair = 9
)

// listRange reads the rest of an entry that lists of ranges and lists of locations write alike.
func (u *unit) listRange(op byte, base uint64, r *reader) (a addrRange) {
	switch op {
	case listStartxEndx:
		a.lo = u.addrAt(r.uleb())
		a.hi = u.addrAt(r.uleb())
	case listStartxLength:
		a.lo = u.addrAt(r.uleb())
		a.hi = a.lo + r.uleb()
	case listOffsetPair:
		a.lo = base + r.uleb()
		a.hi = base + r.uleb()
	}
	return a
}

func (u *unit) rnglist(r reader) []addrRange {
	var out []addrRange
	base := u.low
	for n := 0; !r.bad && len(out) < maxRanges && n < 4*maxRanges; n++ {
		var a addrRange
		switch op := r.u8(); op {
		case listEnd:
			return out
		case listBaseAddrx:
			base = u.addrAt(r.uleb())
			continue
		case listStartxEndx, listStartxLength, listOffsetPair:
			a = u.listRange(op, base, &r)
		case rngBaseAddress:
			base = r.u64()
			continue
		case rngStartEnd:
			a.lo, a.hi = r.u64(), r.u64()
		case rngStartLength:
			a.lo = r.u64()
			a.hi = a.lo + r.uleb()
		default:
			return out
		}
		if !r.bad && a.hi > a.lo {
			out = append(out, a)
		}
	}
	return out
}

// locEntry finds the expression of a location list that is valid at pc. found is false when the
// list is readable and no entry covers pc; then it is the first one that is valid later, nil without one.
func (u *unit) locEntry(v value, pc uint64, entry bool) (expr []byte, at addrRange, found bool) {
	f := u.sec.file
	off := v.u
	if u.version >= 5 {
		if v.class == clsIndex {
			r := newReader(f.loclists(), u.locBase+off*uint64(u.offSize))
			off = u.locBase + r.word(int(u.offSize))
			if r.bad {
				return nil, at, false
			}
		}
		return u.loclist(newReader(f.loclists(), off), pc, entry)
	}
	if f.dwo {
		return u.loclistGNU(newReader(f.loc(), off), pc)
	}
	base := u.low
	for r := newReader(f.loc(), off); !r.bad; {
		lo, hi := r.u64(), r.u64()
		if lo == 0 && hi == 0 {
			break
		}
		if lo == ^uint64(0) {
			base = hi
			continue
		}
		e := r.bytes(uint64(r.u16()))
		a := addrRange{base + lo, base + hi}
		switch {
		case r.bad:
		case a.covers(pc, entry):
			return e, a, true
		case a.follows(pc, expr, at):
			expr, at = e, a
		}
	}
	return expr, at, false
}

func (u *unit) loclist(r reader, pc uint64, entry bool) (expr []byte, at addrRange, found bool) {
	base := u.low
	var fallback []byte
	for !r.bad {
		var a addrRange
		switch op := r.u8(); op {
		case listEnd:
			if fallback != nil {
				return fallback, addrRange{}, true
			}
			return expr, at, false
		case listBaseAddrx:
			base = u.addrAt(r.uleb())
			continue
		case listStartxEndx, listStartxLength, listOffsetPair:
			a = u.listRange(op, base, &r)
		case locDefault:
			fallback = r.bytes(r.uleb())
			continue
		case locBaseAddress:
			base = r.u64()
			continue
		case locStartEnd:
			a.lo, a.hi = r.u64(), r.u64()
		case locStartLength:
			a.lo = r.u64()
			a.hi = a.lo + r.uleb()
		case locGNUViewPair:
			r.uleb()
			r.uleb()
			continue
		default:
			return nil, addrRange{}, false
		}
		e := r.bytes(r.uleb())
		switch {
		case r.bad:
		case a.covers(pc, entry):
			return e, a, true
		case a.follows(pc, expr, at):
			expr, at = e, a
		}
	}
	return nil, addrRange{}, false
}

// loclistGNU reads GNU's location lists of DWARF 4 split units.
func (u *unit) loclistGNU(r reader, pc uint64) (expr []byte, at addrRange, found bool) {
	for !r.bad {
		var a addrRange
		switch r.u8() {
		case 1: // base address selection: only start/end and start/length follow in practice
			r.uleb()
			continue
		case 2:
			a.lo = u.addrAt(r.uleb())
			a.hi = u.addrAt(r.uleb())
		case 3:
			a.lo = u.addrAt(r.uleb())
			a.hi = a.lo + uint64(r.u32())
		default:
			return nil, at, false
		}
		e := r.bytes(uint64(r.u16()))
		if pc >= a.lo && pc < a.hi && !r.bad {
			return e, a, true
		}
	}
	return nil, at, false
}
