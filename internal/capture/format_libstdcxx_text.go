package capture

// gnuString is {_M_dataplus: {_M_p}, _M_string_length, …}; before the C++11 ABI {_M_dataplus: {_M_p}}, with the length
// before the characters.
func gnuString(f *form) bool {
	unit, ok := f.loadPointer(r0, path{"_M_dataplus", "_M_p"})
	if !ok {
		// clang describes the class of _M_dataplus in the library only: it is the pointer and an allocator, which is empty.
		at, holder, ok1 := f.any(path{"_M_dataplus"})
		n, _, ok2 := f.any(path{"_M_string_length"})
		of, ok3 := typeArg(f.T, 0)
		if !ok1 || !ok2 || !ok3 || !holder.Declared || n != at+8 {
			return false
		}
		f.P.Load(r0, at, 8)
		unit = of
	}
	if _, ok := f.load(r1, path{"_M_string_length"}); !ok {
		// The characters follow a _Rep of three words, length first, which no member's type names.
		f.P.LoadMem(r1, r0, -24, 8)
	}
	return f.Text(unit, r0, r1)
}

func gnuView(f *form) bool {
	unit, ok := f.loadPointer(r0, path{"_M_str"})
	_, ok2 := f.load(r1, path{"_M_len"})
	return ok && ok2 && f.Text(unit, r0, r1)
}
