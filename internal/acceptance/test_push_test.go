//go:build linux && amd64

package acceptance

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// pushedRun is what strobe test --push --json answers.
type pushedRun struct {
	Result struct{ Summary struct{ Passed, Failed int } }
	Pushed *struct {
		Run, To, Service, Branch string
		Notes                    []string
		Against                  *struct {
			Run, Branch, Commit  string
			Tests                int
			Regressions          []struct{ What, Test, File string }
			Functions, NewErrors []map[string]json.RawMessage
		}
	}
}

const tillGood = `
import time
def price(n):
    time.sleep(0.002)
    return n * 2
def refuse(n): raise ValueError("odd %d" % n)
`

const tillTests = `
import time, unittest, till
class Prices(unittest.TestCase):
    def test_two(self): self.assertEqual([till.price(n) for n in range(30)][1], 2)
    def test_three(self): self.assertEqual(till.price(3), 6)
    def test_slow(self): time.sleep(0.01)
    def test_old(self): pass
`

// noCI are the variables of CI that say a branch, empty: those of the machine that runs this must not count.
var noCI = []string{"GITHUB_HEAD_REF=", "GITHUB_BASE_REF=", "GITHUB_REF_NAME=", "GITHUB_ACTIONS=", "GITHUB_STEP_SUMMARY=",
	"GITLAB_CI=", "CI_COMMIT_BRANCH=", "CI_DEFAULT_BRANCH=", "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME=",
	"CI_MERGE_REQUEST_TARGET_BRANCH_NAME=", "BUILDKITE_BRANCH=", "CIRCLE_BRANCH=", "BITBUCKET_BRANCH=", "CHANGE_BRANCH=",
	"BRANCH_NAME=", "CHANGE_TARGET="}

// TestPushTests: of a run of tests that joins others, what is worse than in the last green run of its branch is told,
// of tests and of traced functions, and marked in the forms of two CIs.
func TestPushTests(t *testing.T) {
	t.Parallel()
	s := strobetest.Start(t, nil)
	lake := t.TempDir()
	dir := project(t, map[string]string{"top/till.py": tillGood, "top/test_till.py": tillTests})
	top := filepath.Join(dir, "top")
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	git("init", "-q", "-b", "main")
	git("add", ".")
	git("commit", "-q", "-m", "one")
	side := &fleetSide{s, append(slices.Clone(noCI), "STROBE_FLEET="+lake,
		"PATH="+filepath.Dir(strobetest.PythonWith(t, tableEngines[0]))+string(os.PathListSeparator)+os.Getenv("PATH"))}
	run := func(code int, env []string, arg ...string) (r pushedRun, stderr string) {
		t.Helper()
		one := &fleetSide{s, append(slices.Clone(side.env), env...)}
		out, err := one.try(append([]string{"test", "-C", top, "--framework", "unittest", "--push", "--json"}, arg...)...)
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() != code || err == nil && code != 0 {
			t.Fatalf("strobe test: %v, want code %d\n%s\n%s", err, code, out, stderrOf(err))
		}
		if err := json.Unmarshal(out, &r); err != nil || r.Pushed == nil {
			t.Fatalf("answer %s: %v, %s", out, err, stderrOf(err))
		}
		return r, string(stderrOf(err))
	}
	traced := []string{"--trace", "till.*"}
	first, _ := run(0, nil, traced...)
	if p := first.Pushed; p.Against != nil || p.Branch != "main" || p.Service != "top" || len(p.Notes) > 0 {
		t.Errorf("the first run: %+v", p)
	}
	again, _ := run(0, nil, traced...)
	if g := again.Pushed.Against; g == nil || g.Run != first.Pushed.Run || len(g.Regressions) > 0 || len(g.NewErrors) > 0 ||
		len(g.Commit) != 40 {
		t.Errorf("the same again: %+v", g)
	}

	git("checkout", "-q", "-b", "feature/x")
	for file, text := range map[string]string{
		"till.py": strings.NewReplacer("0.002", "0.02", "n * 2", "n * 2 + (n == 3)").Replace(tillGood),
		"test_till.py": strings.NewReplacer("time.sleep(0.01)", "time.sleep(0.4)", "test_old", "test_new").Replace(tillTests) +
			"    def test_refuse(self): till.refuse(1)\n",
	} {
		if err := os.WriteFile(filepath.Join(top, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	summary := filepath.Join(t.TempDir(), "summary.md")
	bad, marks := run(1, []string{"GITHUB_BASE_REF=main", "GITHUB_ACTIONS=true", "GITHUB_STEP_SUMMARY=" + summary},
		append(traced, "--annotate", "auto")...)
	g := bad.Pushed.Against
	if g == nil || g.Run != again.Pushed.Run || g.Branch != "main" || bad.Pushed.Branch != "feature/x" {
		t.Fatalf("a branch of which nothing is there, against the one that it is to be merged into: %+v", bad.Pushed)
	}
	var got []string
	for _, c := range g.Regressions {
		got = append(got, c.What+" "+c.Test[strings.LastIndex(c.Test, "test_"):]+" "+c.File)
	}
	want := []string{"newly failing test_three top/test_till.py", "new and failing test_refuse top/till.py",
		"slower test_two ", "slower test_slow ", "gone test_old "}
	for _, w := range want {
		if !slices.ContainsFunc(got, func(g string) bool { return strings.HasPrefix(g, w) }) {
			t.Errorf("regressions %q, want %q among them", got, w)
		}
	}
	if len(got) != len(want) {
		t.Errorf("regressions %q, want %q", got, want)
	}
	functions := ""
	for _, f := range g.Functions {
		functions += string(f["what"]) + string(f["function"]) + " "
	}
	if !strings.Contains(functions, `"newly called""till.refuse"`) || !strings.Contains(functions, `"slower""till.price"`) {
		t.Errorf("functions %s", functions)
	}
	if len(g.NewErrors) != 1 || string(g.NewErrors[0]["function"]) != `"till.refuse"` {
		t.Errorf("new errors %v", g.NewErrors)
	}
	for _, want := range []string{"::error file=top/test_till.py,line=5,title=", "test_three failed::", "test_refuse failed::",
		"%0A", "::warning ", "is slower::"} {
		if !strings.Contains(marks, want) {
			t.Errorf("annotations %q lack %q", marks, want)
		}
	}
	if text, err := os.ReadFile(summary); err != nil || !strings.Contains(string(text), "| newly failing | ") {
		t.Errorf("summary %q: %v", text, err)
	}

	cmd := exec.Command(s.Bin, "test", "-C", top, "--framework", "unittest", "--push", "--annotate", "gitlab", "--branch",
		"main")
	cmd.Env = append(append(os.Environ(), "STROBE_HOME="+s.Home), side.env...)
	cmd.Dir = t.TempDir()
	out, _ := cmd.Output() // ends with 1
	if text := string(out); !strings.Contains(text, "against the last green run of main (") ||
		!strings.Contains(text, "newly failing") || !strings.Contains(text, "pushed: ") {
		t.Errorf("in words: %s", text)
	}
	var report []struct {
		Fingerprint, Severity string
		Location              struct{ Path string }
	}
	text, err := os.ReadFile(filepath.Join(cmd.Dir, "gl-code-quality-report.json"))
	if err = errors.Join(err, json.Unmarshal(text, &report)); err != nil || len(report) < 3 ||
		report[0].Location.Path != "top/till.py" || report[1].Location.Path != "top/test_till.py" || len(report[0].Fingerprint) != 32 {
		t.Errorf("report %s: %v", text, err)
	}
	if rows := side.rows(t, "test", "--test", "test_three"); len(rows) != 2 {
		t.Errorf("a test by branch and commit: %q", rows)
	}
	if rows := side.rows(t, "flaky"); len(rows) < 1 || !strings.Contains(strings.Join(rows, "\n"), `"test_three"`) {
		t.Errorf("of one commit passed and failed: %q", rows)
	}
}
