package capture

// gnuString is {_M_dataplus: {_M_p}, _M_string_length, …}; before the C++11 ABI {_M_dataplus: {_M_p}}, with the length
// before the characters.
func gnuString(f *form) bool {
	unit, ok := f.loadPointer(r0, path{"_M_dataplus", "_M_p"})
	if !ok {
		return false
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
