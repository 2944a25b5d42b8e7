package capture

import (
	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/symbol"
)

// rep is where the libc++ string's union is: in a pair with its allocator, or by itself.
func llvmRep(names ...string) []path {
	return []path{append(path{"__r_", "__value_"}, names...), append(path{"__rep_"}, names...)}
}

// llvmString is a union of {__cap_, __size_, __data_} and {__size_, __data_}, of which a bit in the byte of the
// latter's size says which it is: the bit-field __is_long_, or in older versions the lowest bit of the size or, where
// the characters come first, the highest.
func llvmString(f *form) bool {
	unit, ok := f.loadPointer(r0, llvmRep("__l", "__data_")...)
	_, ok1 := f.load(r1, llvmRep("__l", "__size_")...)
	short, st, ok2 := f.any(llvmRep("__s")...)
	chars, _, ok3 := f.any(llvmRep("__s", "__data_")...)
	if !ok || !ok1 || !ok2 || !ok3 {
		return false
	}
	at, size, ok := bitsOf(st, "__size_")
	long, ok1 := int64(0), true
	if ok && size == 7 {
		long, _, ok1 = bitsOf(st, "__is_long_")
	} else {
		at *= 8
		if size, long = 7, at; at > 0 {
			long = at + 7
		} else {
			at++
		}
	}
	if !ok || !ok1 || at/8 != long/8 {
		return false
	}
	isLong := f.P.Label()
	f.P.Load(r2, short+at/8, 1)
	f.P.ALUImm(ring.ALUShr, r3, r2, long%8)
	f.P.ALUImm(ring.ALUAnd, r3, r3, 1)
	f.P.JumpNot(r3, isLong)
	f.P.ALUImm(ring.ALUShr, r1, r2, at%8)
	f.P.ALUImm(ring.ALUAnd, r1, r1, 1<<size-1)
	f.P.Addr(r0, chars)
	f.P.Bind(isLong)
	return f.Text(unit, r0, r1)
}

// bitsOf finds a bit-field: its first bit and how many there are. Of another member it returns the first byte, and no
// bits.
func bitsOf(t *symbol.Type, name string) (at, size int64, ok bool) {
	t = t.Strip()
	if t == nil {
		return 0, 0, false
	}
	for _, m := range t.Fields() {
		switch {
		case m.Static || m.Virtual:
		case m.Name == name && m.BitSize > 0:
			return m.BitOff, m.BitSize, true
		case m.Name == name:
			return m.Off, 0, true
		case m.Name == "" || m.Base:
			if at, size, ok = bitsOf(m.Type, name); ok && size > 0 {
				return 8*m.Off + at, size, true
			} else if ok {
				return m.Off + at, 0, true
			}
		}
	}
	return 0, 0, false
}

func llvmView(f *form) bool {
	unit, ok := f.loadPointer(r0, path{"__data_"}, path{"__data"})
	_, ok1 := f.load(r1, path{"__size_"}, path{"__size"})
	return ok && ok1 && f.Text(unit, r0, r1)
}
