package acceptance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/hunt"
	"github.com/strobe-debug/strobe/internal/strobetest"
)

// ofHunt builds one of the programs of package hunt's tests.
func ofHunt(t *testing.T, file string) string {
	t.Helper()
	source, err := os.ReadFile(filepath.Join(strobetest.Root(t), "internal", "hunt", "testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	name := "hunted-" + strings.TrimSuffix(filepath.Base(file), ".c")
	return strobetest.BuildSource(t, "c", "gcc-O1", name, string(source), "-pthread")
}

// TestHunt: a race that shows once in some hundred runs is made to show, over MCP and by the command, which repeats it by
// a plan; a program that is right is said to be.
func TestHunt(t *testing.T) {
	strobetest.NeedPtrace(t)
	flaky, right := ofHunt(t, "6_uaf.c"), ofHunt(t, "2_right.c")
	s := strobetest.Start(t, nil)
	var r struct {
		hunt.Result
		NextSteps string
	}
	s.Call(t, "debug_test", args{"action": "hunt", "projectRoot": filepath.Dir(flaky), "command": flaky}, &r)
	if !r.Found || r.Plan == nil || r.Plan.Holds[0].Function != "use" && r.Plan.Holds[0].Function != "u" || r.NextSteps == "" || r.Failure == "" {
		t.Errorf("hunted: %+v", r)
	}
	s.Call(t, "debug_test", args{"action": "hunt", "projectRoot": filepath.Dir(right), "command": right, "timeout": 2000}, &r)
	if r.Found || r.Plain != "exit code 0" {
		t.Errorf("what is right: %+v", r.Result)
	}
	root := filepath.Dir(right)
	refused(t, s, "debug_test", args{"action": "hunt", "projectRoot": root}, "VALIDATION_ERROR", "command")
	refused(t, s, "debug_test", args{"action": "hunt", "projectRoot": root, "command": "/bin/true"}, "LAUNCH_FAILED", "-g")
	refused(t, s, "debug_test", args{"action": "hunt", "projectRoot": root, "command": "a && b"}, "LAUNCH_FAILED")
	others := args{"test": "x", "framework": "pytest", "tracePatterns": []string{"*"}, "repeat": 3, "waitMs": 5,
		"sessions": []string{"a", "b"}, "level": "unit"}
	for name, ignored := range others {
		refused(t, s, "debug_test", args{"action": "hunt", "projectRoot": root, "command": right, name: ignored},
			"VALIDATION_ERROR")
	}

	plan := filepath.Join(t.TempDir(), "plan.json")
	code, out := strobe(t, s.Home, "", "hunt", "--save", plan, "--", flaky)
	if code != 0 || !strings.Contains(out, " held for ") || !strings.Contains(out, "--plan "+plan) {
		t.Errorf("strobe hunt = %d: %s", code, out)
	}
	if code, out := strobe(t, s.Home, "", "hunt", "--plan", plan, "--", flaky); code != 0 ||
		!strings.Contains(out, "Fails in ") {
		t.Errorf("strobe hunt --plan = %d: %s", code, out)
	}
	if code, out := strobe(t, s.Home, "", "hunt", "--plan", plan, "--", right); code == 0 ||
		!strings.Contains(out, "built anew") {
		t.Errorf("the plan of another program = %d: %s", code, out)
	}
	if code, out := strobe(t, s.Home, "", "hunt", "--seconds", "2", "--", right); code != 1 ||
		!strings.Contains(out, "Nothing made it fail") {
		t.Errorf("of what is right = %d: %s", code, out)
	}
}

// TestRaces: memory that two threads use at once is told with both lines, over MCP and by the command; what locks it is
// not.
func TestRaces(t *testing.T) {
	strobetest.NeedPtrace(t)
	racy, clean := ofHunt(t, "races/halflocked.c"), ofHunt(t, "races/clean.c")
	s := strobetest.Start(t, nil)
	var r struct {
		hunt.Races
		NextSteps string
	}
	call := func(program string) args {
		return args{"action": "races", "projectRoot": filepath.Dir(program), "command": program}
	}
	s.Call(t, "debug_test", call(racy), &r)
	if len(r.Races.Races) == 0 || r.Races.Races[0].Variable != "head" || r.Races.Races[0].Other == nil || r.NextSteps == "" {
		t.Errorf("races: %+v", r)
	}
	r.Races.Races = nil
	s.Call(t, "debug_test", call(clean), &r)
	if len(r.Races.Races) > 0 || r.Ends != "exit code 3" || r.Holds == 0 {
		t.Errorf("what is right: %+v", r)
	}
	refused(t, s, "debug_test", args{"action": "races", "projectRoot": filepath.Dir(racy)}, "VALIDATION_ERROR", "command")
	refused(t, s, "debug_test", call("/bin/true"), "LAUNCH_FAILED", "-g")
	if code, out := strobe(t, s.Home, "", "races", "--on", "head", "--", racy); code != 0 ||
		!strings.Contains(out, "head (8 bytes)") || !strings.Contains(out, "push_fast (") {
		t.Errorf("strobe races = %d: %s", code, out)
	}
	if code, out := strobe(t, s.Home, "", "races", "--seconds", "2", "--", clean); code != 1 ||
		!strings.Contains(out, "No two threads") {
		t.Errorf("of what is right = %d: %s", code, out)
	}
	if code, out := strobe(t, s.Home, "", "races", "--on", "nowhere", "--", racy); code == 0 ||
		!strings.Contains(out, "no variable nowhere") {
		t.Errorf("on nothing = %d: %s", code, out)
	}
}
