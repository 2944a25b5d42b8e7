package query

import "testing"

func TestCloneOf(t *testing.T) {
	for raw, want := range map[string]string{
		"f": "", "f.part.0": ".part.0", "f.isra.0.cold": ".isra.0.cold", "f.llvm.12": "", ".f": "", "": "",
		"_ZN97_$LT$a..Parser$LT$F$GT$$u20$as$u20$core..Iterator$GT$4next17h6655fed2c0ccabb3E":             "",
		"_ZN97_$LT$a..Parser$LT$F$GT$$u20$as$u20$core..Iterator$GT$4next17h6655fed2c0ccabb3E.constprop.1": ".constprop.1",
	} {
		if got := cloneOf(raw); got != want {
			t.Errorf("%s: %q, want %q", raw, got, want)
		}
	}
}
