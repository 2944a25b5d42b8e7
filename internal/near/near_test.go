package near

import (
	"strings"
	"testing"
)

func TestNames(t *testing.T) {
	names := []string{"pricing::discount", "pricing::total", "main"}
	if got := Names("discount", names, 2); len(got) != 1 || got[0] != names[0] {
		t.Errorf("Names(discount) = %q", got)
	}
	if got := Names("pricing::totla", names, 1); len(got) != 1 || got[0] != names[1] {
		t.Errorf("Names(totla) = %q", got)
	}
	if got := Names("zzzzzz", names, 3); len(got) != 0 {
		t.Errorf("Names(zzzzzz) = %q", got)
	}
}

func TestParts(t *testing.T) {
	names := []string{"shop::tests::passes", "shop::tests::fails", "main", "main", "Größe", ""}
	for want, near := range map[string]string{
		"tests::passed": "shop::tests::passes shop::tests::fails",
		"MAIN":          "main",
		"grösse":        "Größe",
		"zzzz":          "",
		"":              "",
	} {
		if got := strings.Join(Parts(want, names, 2), " "); got != near {
			t.Errorf("Parts(%q) = %q, want %q", want, got, near)
		}
	}
	if got := Parts(strings.Repeat("main ", 100_000), names, 9); len(got) != 1 || got[0] != "main" {
		t.Errorf("Parts of a long name = %q", got)
	}
}
