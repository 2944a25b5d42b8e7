package symbol

import (
	"strings"
	"testing"
)

// TestStatements looks for the lines of a program that is compiled without optimisation.
func TestStatements(t *testing.T) {
	for _, cc := range []string{"gcc", "clang"} {
		m := open(t, build(t, "statements.c", cc, "-g", "-O0"), Options{})
		files := m.SourceFiles("statements.c")
		if len(files) != 1 || !strings.HasSuffix(files[0], "/statements.c") {
			t.Fatalf("%s: files %v", cc, files)
		}
		lines := map[int]int{}
		for _, s := range m.FileStatements(files[0]) {
			lines[s.Line]++
		}
		for _, l := range []int{4, 5, 6, 9, 13, 14} {
			if lines[l] == 0 {
				t.Errorf("%s: line %d has no statement: %v", cc, l, lines)
			}
		}
		if lines[7]+lines[8]+lines[1] != 0 {
			t.Errorf("%s: lines without code have statements: %v", cc, lines)
		}
		for i := range m.Functions() {
			f := &m.Functions()[i]
			if f.Name != "twice" {
				continue
			}
			at := m.BodyStart(f)
			if _, line, ok := m.LineFor(at); !ok || line != 4 || at <= f.Low || at >= f.High {
				t.Errorf("%s: twice's body begins at %#x (line %d), the function at %#x", cc, at, line, f.Low)
			}
			if r, ok := m.Row(at); !ok || r.Lo != at || r.Hi <= r.Lo || r.Line != 4 {
				t.Errorf("%s: the row at %#x is %+v", cc, at, r)
			}
		}
	}
}
