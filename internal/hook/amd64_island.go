package hook

import "slices"

// A function whose first five bytes cannot be overwritten together, because something leads to the last of them, may
// have room for two: a short jump to a longer one, its island, in padding that the compiler put behind a jump or a
// return.

// island finds padding for the longer jump within the short one's reach: nothing comes there by running on, and no
// branch, table, symbol, handler or constant is known to be there.
func (z *analyzer) island(a *Analysis, opt *Options) bool {
	from := a.Off + shortLen
	for off := 0; off < len(z.code) && off <= from+127; {
		in, err := Decode(z.code[off:])
		if err != nil {
			return false
		}
		off += in.Len
		if !in.Flow.FallsThrough() && off >= from-128 && off >= a.Off+a.Displaced && off <= from+127 && z.unused(off, opt) {
			a.Island = off
			return true
		}
	}
	return false
}

// unused reports whether five bytes are padding, and nothing leads to them.
func (z *analyzer) unused(off int, opt *Options) bool {
	if off >= len(z.code) { // up to the next symbol
		return isPadding(z.all[off:], jumpLen)
	}
	for at := off; at < off+jumpLen; {
		in, err := Decode(z.code[min(at, len(z.code)):])
		if err != nil || !in.isNop() {
			return false
		}
		at += in.Len
	}
	within := func(o int64) bool { return o >= int64(off) && o < int64(off+jumpLen) }
	if slices.ContainsFunc(z.refs, within) || z.a.TableJumps > 0 && !z.tablesAvoid(opt, within) {
		return false
	}
	i, _ := slices.BinarySearch(opt.Targets, z.a.Addr+Addr(off))
	return i == len(opt.Targets) || !within(int64(opt.Targets[i]-z.a.Addr))
}
