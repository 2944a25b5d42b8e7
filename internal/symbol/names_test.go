package symbol

import "testing"

// TestSplitClone keeps apart what gcc adds to the name of a clone and Rust's module of that name.
func TestSplitClone(t *testing.T) {
	for _, c := range []struct{ raw, base string }{
		{"twice.clone.0", "twice"},
		{"deep.isra.0.cold", "deep"},
		{"_ZN65_$LT$alloc..rc..Rc$LT$T$C$A$GT$$u20$as$u20$core..clone..Clone$GT$5clone17h66364b8e744f924bE",
			"_ZN65_$LT$alloc..rc..Rc$LT$T$C$A$GT$$u20$as$u20$core..clone..Clone$GT$5clone17h66364b8e744f924bE"},
		{"_ZN4core..clone..Clone5clone17h66364b8e744f924bE.clone.1", "_ZN4core..clone..Clone5clone17h66364b8e744f924bE"},
	} {
		if base, suffix := splitClone(c.raw); base != c.base || base+suffix != c.raw {
			t.Errorf("splitClone(%s) = %s, %s, want %s", c.raw, base, suffix, c.base)
		}
	}
}
