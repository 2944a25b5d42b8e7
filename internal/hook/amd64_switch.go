package hook

import "encoding/binary"

// Compilers make a switch a jump through a table of places in the function. Where such a table is found and read, what
// it leads to is known; else any instruction of the function may be a case's beginning.

const (
	// tableReach is how many instructions before a jump its place is computed at most.
	tableReach = 12
	// maxTable bounds the entries of a table that are read.
	maxTable = 1 << 14
)

// tables collects what is needed to find the tables of a function.
type tables struct {
	last     [tableReach]Inst // the last instructions, in a circle
	n        int
	at       []Addr // addresses that instructions make, relative to their own: of tables, and of other things
	absolute []Addr // tables of whole addresses
	read     int    // jumps whose tables are among them
}

// visit takes the next instruction; next is the address behind it.
func (t *tables) visit(in *Inst, next Addr) {
	if in.is(0x8D) && in.RIPRel {
		t.at = append(t.at, next+Addr(int64(in.Disp)))
	}
	t.last[t.n%tableReach] = *in
	t.n++
}

// jump takes a jump through a register or memory that may be a table's, and has been visited.
func (t *tables) jump(in *Inst) {
	switch {
	case in.mod() == 0 && in.HasSIB && in.SIB&7 == 5 && in.SIB>>6 == 3 && in.Pfx&PfxAddrSize == 0: // jmp *table(,index,8)
		t.absolute = append(t.absolute, Addr(int64(in.Disp)))
		t.read++
	case in.mod() == 3 && t.relative(in.rm()|in.Rex&1<<3):
		t.read++
	}
}

// relative reports whether a register was made by movslq (base,index,4),reg and then add base,reg.
func (t *tables) relative(reg byte) bool {
	base, added := byte(0), false
	for k := t.n - 2; k >= 0 && k > t.n-1-tableReach; k-- {
		in := &t.last[k%tableReach]
		wide := in.Rex&8 != 0
		r, m := in.reg()|in.Rex&4<<1, in.rm()|in.Rex&1<<3
		switch {
		case !wide || !in.HasModRM:
		case !added && in.mod() == 3 && in.is(0x01) && m == reg:
			base, added = r, true
		case !added && in.mod() == 3 && in.is(0x03) && r == reg:
			base, added = m, true
		case added && in.is(0x63) && r == reg && in.HasSIB && in.SIB>>6 == 2 && in.mod() == 0:
			b, ok := in.baseReg()
			return ok && b == base
		}
	}
	return false
}

// tablesKnown reports whether every jump that may be a table's was read, and none leads into the bytes that a jump
// would overwrite.
func (z *analyzer) tablesKnown(opt *Options) bool { return z.tablesAvoid(opt, z.overwritten) }

// tablesAvoid reports whether every jump that may be a table's was read, and none leads to certain offsets.
func (z *analyzer) tablesAvoid(opt *Options, certain func(off int64) bool) bool {
	t := &z.tables
	if opt.Data == nil || opt.InCode == nil || t.read < z.a.TableJumps {
		return false
	}
	into, known := false, false
	read := func(at Addr, size int, target func(b []byte) Addr) {
		data := opt.Data(at)
		for k := 0; k < maxTable && len(data) >= (k+1)*size; k++ {
			to := target(data[k*size:])
			if !opt.InCode(to) {
				break
			}
			off := int64(to - z.a.Addr)
			known = known || off >= 0 && off < int64(len(z.code))
			into = into || certain(off)
		}
	}
	for _, at := range t.at {
		read(at, 4, func(b []byte) Addr { return at + Addr(int64(int32(binary.LittleEndian.Uint32(b)))) })
	}
	for _, at := range t.absolute {
		read(at, 8, func(b []byte) Addr { return Addr(binary.LittleEndian.Uint64(b)) })
	}
	return known && !into
}
