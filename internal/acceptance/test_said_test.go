package acceptance

import (
	"slices"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// TestUnmatchedPatterns: debug_test says which patterns and watches matched nothing, with near names; it was silent.
func TestUnmatchedPatterns(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	path := strobetest.BuildSource(t, "c", "gcc-O0", "steps",
		"#include <stdio.h>\nint counter;\nint step_forward(int n) { return n + 1; }\nint main(void) {\n\treturn "+
			"step_forward(-1);\n}\n")
	a := args{"projectRoot": project(t, nil), "command": path, "tracePatterns": []string{"step_foward", "step_*"},
		"watches": args{"add": []args{{"variable": "countr"}}}, "waitMs": 60000}
	r := runTests(t, s, a)
	said := func(want string) bool {
		return slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.Contains(w, want) })
	}
	if len(r.Warnings) != 2 || !said("did you mean step_forward") || !said("countr") {
		t.Errorf("%q", r.Warnings)
	}
}

// TestCompareWithoutTests: it was an INTERNAL_ERROR.
func TestCompareWithoutTests(t *testing.T) {
	t.Parallel()
	s := strobetest.Start(t, nil)
	var r struct {
		Status, Hint string
		Notes        []string
	}
	s.Call(t, "debug_test", args{"action": "compare", "projectRoot": project(t, map[string]string{"a.c": "int a;\n"}),
		"test": "x"}, &r)
	if r.Status != "completed" || len(r.Notes) == 0 || !strings.Contains(r.Notes[0], "no tests") || r.Hint == "" {
		t.Errorf("%+v", r)
	}
}

// TestShellLines: a command is what a shell makes of it. `echo hello; exit 3` was one passed test.
func TestShellLines(t *testing.T) {
	t.Parallel()
	s := strobetest.Start(t, nil)
	for _, c := range []struct {
		line, status, signal string
		code                 int
	}{
		{"echo hello; exit 3", "failed", "", 3}, {"true | false", "failed", "", 1}, {"set -e; false; true", "failed", "", 1},
		{"(exit 4)", "failed", "", 4},
		{"cd / && ls nonexistent-name", "failed", "", 2}, {"nosuchprogram-x; exit $?", "failed", "", 127},
		{"kill -SEGV $$", "crashed", "SIGSEGV", 0},
		{"true && echo ok", "passed", "", 0}, {"false || true", "passed", "", 0}, {"X=3 sh -c 'exit $X'", "failed", "", 3},
	} {
		r := runTests(t, s, args{"projectRoot": project(t, nil), "command": c.line, "waitMs": 60000})
		status := "passed"
		if len(r.Result.Failures) == 1 {
			if status = r.Result.Failures[0].Status; status == "" {
				status = "failed"
			}
		}
		if status != c.status || r.Result.ExitCode != c.code || r.Result.Signal != c.signal {
			t.Errorf("%s: %s, %d %s: %+v", c.line, status, r.Result.ExitCode, r.Result.Signal, r.Result)
		}
	}
	r := runTests(t, s, args{"projectRoot": project(t, nil),
		"command": "echo 'ok 1 - a b'; echo 'not ok 2 - c'; echo 1..2; echo \"got {test} $1\"", "test": "c",
		"args": []string{"x y"},
		"env":  args{"MODE": "fast mode"}, "waitMs": 60000})
	if len(r.Result.Failures) != 1 || !strings.Contains(r.Result.Failures[0].Rerun.Command, "MODE='fast mode'") ||
		!strings.Contains(r.Result.Failures[0].Rerun.Command, "x y") {
		t.Errorf("%+v", r.Result)
	}
}
