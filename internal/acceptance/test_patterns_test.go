package acceptance

import (
	"fmt"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// TestPatternsOfLaterProcesses: a pattern or a watch is said to match nothing only where no process of the run had what
// it means: not where the one that had it has ended, nor where the first one lacks it.
func TestPatternsOfLaterProcesses(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	const source = "#include <stdio.h>\nstatic int %s_count;\n__attribute__((noinline)) int %s(int n) { return %s_count " +
		"+= n; }\nint main(void) { printf(\"%%d\\n\", %s(3)); return 0; }\n"
	program := func(name string) string {
		return strobetest.BuildSource(t, "c", "gcc-O0", name, fmt.Sprintf(source, name, name, name, name))
	}
	early, late := program("early"), program("late")
	dir := project(t, nil)
	write(t, dir, "run.sh", "#!/bin/sh\n"+early+"\n"+late+"\n"+late+"\n", 0o700)
	r := runTests(t, s, args{"projectRoot": dir, "command": "sh run.sh", "timeout": 60000,
		"tracePatterns": []string{"early", "late", "never_there"},
		"watches": args{"add": []args{{"label": "l", "variable": "late_count", "on": []string{"late"}},
			{"label": "n", "variable": "late_count", "on": []string{"never_there"}}}}})
	if r.Status != "completed" || r.Result.Summary.Passed != 1 {
		t.Fatalf("%+v %+v", r, r.Result)
	}
	if n := s.Count(t, r.SessionID, "function_enter", "late"); n != 2 {
		t.Errorf("%d calls of late were seen", n)
	}
	for text, want := range map[string]bool{`"early"`: false, `"late"`: false, `"never_there"`: true, "watch l ": false,
		"watch n ": true} {
		if got := strings.Contains(strings.Join(r.Warnings, "\n"), text); got != want {
			t.Errorf("a warning of %s: %v, want %v: %q", text, got, want, r.Warnings)
		}
	}
}
