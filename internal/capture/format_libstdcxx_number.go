package capture

import (
	"github.com/strobe-debug/strobe/internal/symbol"
	"github.com/strobe-debug/strobe/internal/value"
)

// gnuDuration is {__r}.
func gnuDuration(f *form) bool { return f.duration(value.ClassDuration, f.T, path{"__r"}) }

// gnuTime is {__d}, a duration.
func gnuTime(f *form) bool {
	off, d, ok := f.any(path{"__d"})
	if !ok {
		return false
	}
	if f.isSystemClock() {
		return f.duration(value.ClassTime, d, path{"__d", "__r"})
	}
	return f.Alias(d, off)
}

// gnuComplex is {_M_value}, a complex number of the language, or for types other than floating-point numbers {_M_real,
// _M_imag}.
func gnuComplex(f *form) bool {
	off, c, ok := f.any(path{"_M_value"})
	t, ok1 := typeArg(f.T, 0)
	if ok && ok1 && c.Kind == symbol.KindBase && sizeOf(c) == 2*sizeOf(t) {
		return f.Tuple(part{t, off}, part{t, off + sizeOf(t)})
	}
	return f.complexOf(path{"_M_real"}, path{"_M_imag"})
}

// gnuBitset has a word or an array of them, the lowest bits first; that of no bits has nothing.
func gnuBitset(f *form) bool { return f.bits(path{"_M_w"}) }

func (f *form) bits(paths ...path) bool {
	n, ok := numberArg(f.T, 0)
	off, _, ok1 := f.any(paths...)
	if !ok || n < 0 || n > 8*max(f.T.Size, 0) || n > 0 && (!ok1 || off != 0) {
		return false
	}
	if f.V.Class, f.V.Count = value.ClassBits, uint32(n); n == 0 {
		f.V.Size = 0 // its one byte is nowhere
	}
	return true
}
