package acceptance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// TestPointsEverywhere puts a condition that does not hold on each of fifty lines of programs that check themselves,
// and finds that they end as they do untraced.
func TestPointsEverywhere(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	most := 50
	if !strobetest.Soaks(t, "three of four lines, and code that is not optimized") {
		most = 12
	}
	for _, c := range []struct{ lang, name, variant string }{
		{"c", "longjmp", "gcc-O0"}, {"c", "longjmp", "gcc-O2"}, {"c", "computed_goto", "gcc-O2"},
		{"c", "tailcalls", "gcc-O2"}, {"c", "nested", "gcc-O2"},
		{"c", "variadic", "gcc-O2-cet"}, {"c", "recursion", "gcc-O2"}, {"c", "sigprof", "gcc-O2"},
		{"cpp", "exceptions", "gcc-O0"}, {"cpp", "exceptions", "gcc-O2"},
		{"cpp", "generators", "gcc-O2"}, {"rust", "panics", "rust-release"},
	} {
		if c.variant == "gcc-O0" && most < 50 {
			continue
		}
		t.Run(c.name+"-"+c.variant, func(t *testing.T) {
			s := strobetest.Start(t, nil)
			dir := filepath.Join(strobetest.TargetsDir(t), c.lang)
			file := c.name + map[string]string{"c": ".c", "cpp": ".cpp", "rust": ".rs"}[c.lang]
			text, err := os.ReadFile(filepath.Join(dir, file))
			if err != nil {
				t.Fatal(err)
			}
			l := s.Launch(t, strobetest.Build(t, c.name, c.variant), dir, nil, map[string]any{"stopOnEntry": true})
			d := &debugged{t, s, l.SessionID}
			t.Cleanup(func() { s.Stop(t, l.SessionID) })
			d.paused(1)
			var last pointsResult
			inside := 0
			seen := map[int]bool{}
			for line := 1; line <= strings.Count(string(text), "\n") && len(last.Breakpoints) < most; line++ {
				var r pointsResult
				if seen[line] || s.Try("debug_breakpoint",
					args{"sessionId": d.id, "add": []any{args{"file": c.lang + "/" + file, "line": line, "condition": "$rsp == 1"}}},
					&r) != nil {
					continue
				}
				last = r
				seen[r.Breakpoints[len(r.Breakpoints)-1].Line] = true
			}
			for _, b := range last.Breakpoints {
				if b.InTarget {
					inside++
				}
			}
			t.Logf("%d points, %d decided in the target", len(last.Breakpoints), inside)
			if inside < len(last.Breakpoints)-1 || inside == 0 {
				t.Errorf("%+v", last.Breakpoints)
			}
			d.next(args{"waitMs": 0})
			if st := s.WaitEnd(t, d.id, 5*time.Minute); st.ExitCode == nil || *st.ExitCode != 0 {
				t.Errorf("it ended with %+v", st)
			}
		})
	}
}
