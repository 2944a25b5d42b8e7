package service

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

// TestCommandLines: what only a shell understands is run by one. `echo hello; exit 3` was a program echo with four
// arguments, and passed.
func TestCommandLines(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"b.t", "a.t", "c*.x"} {
		if err := os.WriteFile(filepath.Join(root, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for line, want := range map[string]testCommand{
		"./tests --gtest_filter=A.*:B?":    {argv: []string{"./tests", "--gtest_filter=A.*:B?"}},
		`prög "a b" 'c $d' e\ f "g\"h" ''`: {argv: []string{"prög", "a b", "c $d", "e f", `g"h`, ""}},
		"prove *.t":                        {argv: []string{"prove", "a.t", "b.t"}},
		"prove ./*.t '*.t'":                {argv: []string{"prove", "./a.t", "./b.t", "*.t"}},
		`prog c\**`:                        {argv: []string{"prog", "c*.x"}},
		"A=1 B='x y' ./tests -v":           {argv: []string{"./tests", "-v"}, env: map[string]string{"A": "1", "B": "x y"}},
		"run.sh {test}":                    {argv: []string{"run.sh", "{test}"}},
		"prog 'A=1' a#b cost$ --re=^a$":    {argv: []string{"prog", "A=1", "a#b", "cost$", "--re=^a$"}},
		"'A=1' x":                          {argv: []string{"A=1", "x"}},
	} {
		if got, err := commandOf(line, root); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %q, %v, want %q", line, got, err, want)
		}
	}
	for _, line := range []string{"echo hello; exit 3", "a | b", "a && b", "a || b", "(cd x; a)", "cd x", "exit 3",
		"set -e", "a > f", "a < f", "a &", "$HOME/a", `a "$B"`, "a `b`", "a $(b)", "! a",
		"if a; then b; fi", "a\nb", "A=$B c", "time a", "# nothing"} {
		if got, err := commandOf(line, root); err != nil || len(got.argv) != 3 || got.argv[1] != "-c" || got.argv[2] != line {
			t.Errorf("%s: %q, %v", line, got, err)
		}
	}
	for _, line := range []string{"", "  ", "a 'b", `a "b`, "A=1"} {
		if got, err := commandOf(line, root); err == nil {
			t.Errorf("%q: %q", line, got)
		}
	}
}
