package strobetest

import (
	"strings"
	"testing"
)

func TestManyFunctions(t *testing.T) {
	m := ManyFunctions(t, 2000, 3, "gcc-O0")
	if got := Run(t, "", m.Path); got.Stdout != m.Output || got.Exit != 0 {
		t.Errorf("got %d %q, want %q", got.Exit, got.Stdout, m.Output)
	}
	if got := Run(t, "\n", m.Path, "3", "wait"); got.Stdout != "ready\n"+m.Output {
		t.Errorf("with a pause: %q", got.Stdout)
	}
}

// TestCorpora builds Lua and SQLite, runs them twice and, in a soak, at two levels, and checks that their results
// agree.
func TestCorpora(t *testing.T) {
	for name, build := range map[string]func(testing.TB, string) Workload{"sqlite": SQLiteWorkload, "lua": LuaWorkload} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var want string
			variants := []string{"gcc-O0", "gcc-O2"}
			if usual := map[string]string{"sqlite": "gcc-O0", "lua": "gcc-O2"}[name]; !Soaks(t, "the other level") {
				variants = []string{usual, usual}
			}
			for _, variant := range variants {
				w := build(t, variant)
				got := Run(t, "", w.Path, w.Args...)
				if got.Exit != 0 || got.Stderr != "" || !strings.Contains(got.Stdout, "=") {
					t.Fatalf("%s: %+v", variant, got)
				}
				if want == "" {
					want = got.Stdout
				}
				if got.Stdout != want {
					t.Errorf("%s differs:\n%s\n%s", variant, got.Stdout, want)
				}
			}
			t.Log(want)
		})
	}
}
