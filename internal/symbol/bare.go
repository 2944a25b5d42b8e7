package symbol

const tagImportedUnit = 0x3d // what it has may be elsewhere

// Bare units have names and lines only, as of -g1, -gline-tables-only and Rust's standard library: their functions have
// no parameters in the debug information, and may have any.
const (
	bareUnknown int32 = iota
	bareYes
	bareNo
)

// isBare reports whether a unit says nothing of any parameter, type or variable.
func (u *unit) isBare() bool {
	if known := u.bare.Load(); known != bareUnknown {
		return known == bareYes
	}
	known := bareNo
	if u.findsNone() {
		known = bareYes
	}
	u.bare.Store(known)
	return known == bareYes
}

// findsNone walks the unit up to its first DIE that full debug information has.
func (u *unit) findsNone() bool {
	r := reader{b: u.sec.data[:u.end], off: int(u.dieOff)}
	for depth := 0; r.off < len(r.b) && !r.bad; {
		code := r.uleb()
		if code == 0 {
			if depth--; depth <= 0 {
				break
			}
			continue
		}
		ab := u.abbrevs.get(code)
		if ab == nil {
			return false
		}
		switch ab.tag {
		case tagFormalParameter, tagUnspecifiedParams, tagBaseType, tagPointerType, tagStructureType, tagTypedef,
			tagImportedUnit:
			return false
		}
		ab.skipAttrs(&r)
		if ab.children {
			depth++
		} else if depth == 0 {
			break
		}
	}
	return !r.bad
}

// linesOnly takes what the line table says of a function that no DIE describes: -gline-tables-only makes none. Its die
// is the unit's.
func (x *indexer) linesOnly(f *Function) {
	if x.d == nil {
		return
	}
	u := x.d.unitAt(uint64(f.Low))
	if u == nil || u.lang == LangUnknown || u.lang == LangAsm || !u.isBare() {
		return
	}
	file, line := u.lineAt(uint64(f.Low), uint64(f.Low))
	if file == "" {
		return
	}
	f.HasDWARF, f.die, f.File, f.Line = true, u.ref(u.dieOff), file, line
	if f.Language == LangUnknown {
		f.Language = u.lang
	}
}
