//go:build linux

package acceptance

import (
	"slices"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// checkers are ways to build testdata/crash/checked.cpp, what each finds, and whether that ends the program.
var checkers = []struct {
	name, variant string
	flags         []string
	env           map[string]string
	fatal         bool
	ways          []string
}{ // values are there of what ends the program where it is found
	{"asan", "gcc-O0", []string{"-fsanitize=address"}, nil, true,
		[]string{"use-after-free", "heap-overflow", "stack-buffer", "double-free", "null"}},
	{"asan-abort", "clang-O1", []string{"-fsanitize=address"}, map[string]string{"ASAN_OPTIONS": "abort_on_error=1"}, true,
		[]string{"use-after-free", "heap-overflow"}},
	{"ubsan", "gcc-O0", []string{"-fsanitize=undefined"}, nil, false, []string{"signed-overflow", "shift"}},
	{"ubsan-fatal", "clang-O1", []string{"-fsanitize=undefined", "-fno-sanitize-recover=all"}, nil, true,
		[]string{"signed-overflow", "shift"}},
	{"tsan", "gcc-O0", []string{"-fsanitize=thread"}, nil, true, []string{"race"}},
	{"lsan", "gcc-O0", []string{"-fsanitize=leak"}, nil, true, []string{"leak"}},
}

// TestCrashChecked runs programs that a sanitizer finds fault with.
func TestCrashChecked(t *testing.T) {
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	text, marks := crashSource(t, "checked.cpp")
	for _, k := range checkers {
		path := strobetest.BuildSource(t, "cpp", k.variant, "checked", text, k.flags...)
		for _, way := range k.ways {
			t.Run(k.name+"/"+way, func(t *testing.T) {
				t.Parallel()
				r := crashRun{path: path, args: []string{way}, env: k.env}
				plain := r.alone(t)
				for _, hooked := range []bool{false, true} {
					what := k.name + " " + way
					if hooked {
						what += ", hooked"
					}
					o := r.under(t, s, hooked)
					if o.exit != plain.exit || o.signal != plain.signal || o.stdout != plain.stdout ||
						firstWords(o.stderr) != firstWords(plain.stderr) {
						t.Errorf("%s: ended as %+v\nalone it ends as %+v", what, o.ended, plain)
					}
					if len(o.crashes) != 1 {
						t.Errorf("%s: %d crashes are told, want one: %+v\n%s", what, len(o.crashes), o.crashes, o.stderr)
						continue
					}
					c, m := &o.crashes[0], marks[way]
					if other := marks[way+"-other"]; c.Line == other.line { // either side of a race may be named first
						m = other
					}
					if k.name == "ubsan" { // it lets the program go on: there are no values
						m.name = ""
					}
					c.is(t, what, m, true)
					if c.Fatal != k.fatal {
						t.Errorf("%s: fatal %v, want %v: %.900s", what, c.Fatal, k.fatal, c.raw)
					}
					if i := slices.IndexFunc(c.Backtrace, func(f crashFrame) bool {
						return strings.Contains(f.Module, "memfd:")
					}); i >= 0 {
						t.Errorf("%s: frame %d is Strobe's: %+v", what, i, c.Backtrace[i])
					}
				}
			})
		}
	}
}

// firstWords is the headline of a checker's report, without numbers.
func firstWords(stderr string) string {
	for line := range strings.Lines(stderr) {
		if strings.Contains(line, "ERROR: ") || strings.Contains(line, "WARNING: ") ||
			strings.Contains(line, "runtime error: ") {
			return numbers.ReplaceAllString(line, "#")
		}
	}
	return stderr
}
