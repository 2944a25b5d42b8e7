package acceptance

import (
	"encoding/json"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// ownTally is what a framework says itself, in what it writes for people: its sums, and which tests did not pass, by
// name.
type ownTally struct {
	passed, failed, skipped int
	not                     map[string]string // a test's ID, and failed or skipped
}

var (
	pytestEnd  = regexp.MustCompile(`(?m)^=+ (.* in [0-9.]+s.*) =+$`)
	pytestSum  = regexp.MustCompile(`(\d+) (passed|failed|skipped|xfailed|xpassed|errors?)`)
	pytestLine = regexp.MustCompile(`^(\S+\.py::.*?) (FAILED|SKIPPED|ERROR)(?: .*)? +\[ *\d+%\]$`)
	goEndLine  = regexp.MustCompile(`^ *--- (PASS|FAIL|SKIP): (\S+) \([0-9.]+s\)$`)
	goPackage  = regexp.MustCompile(`^(?:ok  |FAIL)\t(\S+)\t`)
	cargoSum   = regexp.MustCompile(`^test result: \S+ (\d+) passed; (\d+) failed; (\d+) ignored;`)
	cargoLine  = regexp.MustCompile(`^test (\S+) \.\.\. (FAILED|ignored)`)
)

// pytestTally reads what `pytest -v` prints.
func pytestTally(out string) ownTally {
	s := ownTally{not: map[string]string{}}
	for line := range strings.Lines(out) {
		if m := pytestLine.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			s.not[m[1]] = map[string]string{"FAILED": "failed", "ERROR": "failed", "SKIPPED": "skipped"}[m[2]]
		}
	}
	if all := pytestEnd.FindAllStringSubmatch(out, -1); all != nil {
		for _, m := range pytestSum.FindAllStringSubmatch(all[len(all)-1][1], -1) {
			n, _ := strconv.Atoi(m[1])
			switch m[2] {
			case "passed", "xfailed", "xpassed":
				s.passed += n
			case "skipped":
				s.skipped += n
			default:
				s.failed += n
			}
		}
	}
	return s
}

// goTally counts the lines of `go test -v`, of tests without subtests. A parent passes and fails with them; where none
// of them failed, it did so itself.
func goTally(out string) ownTally {
	s := ownTally{not: map[string]string{}}
	ends := map[string]string{} // of the package that is written
	for line := range strings.Lines(out) {
		line = strings.TrimRight(line, "\n")
		if m := goEndLine.FindStringSubmatch(line); m != nil {
			ends[m[2]] = m[1]
		}
		m := goPackage.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		for name, word := range ends {
			parent, failedBelow := false, false
			for other, end := range ends {
				if strings.HasPrefix(other, name+"/") {
					parent, failedBelow = true, failedBelow || end == "FAIL"
				}
			}
			switch {
			case parent && (word != "FAIL" || failedBelow):
			case word == "PASS":
				s.passed++
			case word == "SKIP":
				s.skipped++
				s.not[m[1]+"::"+name] = "skipped"
			default:
				s.failed++
				s.not[m[1]+"::"+name] = "failed"
			}
		}
		ends = map[string]string{}
	}
	return s
}

// cargoTally adds up the sums of cargo test's programs.
func cargoTally(out string) ownTally {
	s := ownTally{not: map[string]string{}}
	for line := range strings.Lines(out) {
		if m := cargoSum.FindStringSubmatch(line); m != nil {
			for i, to := range []*int{&s.passed, &s.failed, &s.skipped} {
				n, _ := strconv.Atoi(m[i+1])
				*to += n
			}
		}
		if m := cargoLine.FindStringSubmatch(line); m != nil {
			s.not[m[1]] = map[string]string{"FAILED": "failed", "ignored": "skipped"}[m[2]]
		}
	}
	return s
}

// largeSuite is a project of others, and how its framework is asked without Strobe.
type largeSuite struct {
	root  string
	env   map[string]string
	args  []string
	bare  []string
	read  func(out string) ownTally
	least int                    // tests
	id    func(id string) string // an ID as ownTally has it; nil: as it is
}

// sameAsBare runs a suite's tests both ways and compares all counts, and by name whatever did not pass.
func sameAsBare(t *testing.T, s *strobetest.Strobe, l *largeSuite) {
	t.Helper()
	var env []string
	for name, v := range l.env {
		env = append(env, name+"="+v)
	}
	if path := l.env["PATH"]; path != "" { // in which the bare command is looked for, too
		first, _, _ := strings.Cut(path, string(os.PathListSeparator))
		l.bare[0] = first + "/" + l.bare[0]
	}
	in := args{"projectRoot": l.root, "args": l.args, "waitMs": 60000, "timeout": 1_800_000}
	if l.env != nil {
		in["env"] = l.env
	}
	began := time.Now() // it comes first: what it builds and caches is there for the bare command
	r := runTests(t, s, in)
	took := time.Since(began)
	if r.Status != "completed" {
		t.Fatalf("%+v %+v", r, r.Result)
	}
	began = time.Now()
	bare := runBare(t, l.root, env, l.bare...)
	tookBare := time.Since(began)
	want := l.read(string(bare.stdout))
	if n := want.passed + want.failed + want.skipped; n < l.least {
		t.Fatalf("without Strobe there are %d tests, want %d: %.2000s%s", n, l.least, bare.stdout, bare.stderr)
	}
	sum := r.Result.Summary
	t.Logf("%s: %d passed, %d failed, %d skipped; debug_test %v, the bare command %v", r.Framework, sum.Passed, sum.Failed,
		sum.Skipped, took.Round(time.Millisecond), tookBare.Round(time.Millisecond))
	if sum.Passed != want.passed || sum.Failed != want.failed || sum.Skipped != want.skipped {
		t.Errorf("%+v, the framework itself %d passed, %d failed, %d skipped", sum, want.passed, want.failed, want.skipped)
	}
	if r.Result.ExitCode != bare.code {
		t.Errorf("exit code %d, without Strobe %d", r.Result.ExitCode, bare.code)
	}
	if strings.Contains(strings.Join(r.Result.Notes, " "), "itself counts") {
		t.Errorf("notes %q", r.Result.Notes)
	}
	got := map[string]string{}
	var d struct {
		Tests []struct {
			ID, Status   string
			Fails, Group bool
		}
	}
	b, err := os.ReadFile(r.Result.Details)
	if err != nil || json.Unmarshal(b, &d) != nil {
		t.Fatalf("details: %v", err)
	}
	for _, one := range d.Tests {
		id := one.ID
		if l.id != nil {
			id = l.id(id)
		}
		switch {
		case one.Group:
		case one.Fails:
			got[id] = "failed"
		case one.Status == "skipped" || one.Status == "todo":
			got[id] = "skipped"
		}
	}
	for name, what := range want.not {
		if got[name] != what {
			t.Errorf("%s %s, in debug_test %q", name, what, got[name])
		}
	}
	for name, what := range got {
		if want.not[name] == "" {
			t.Errorf("%s %s in debug_test alone", name, what)
		}
	}
}

// TestLargeSuites: the counts of large suites of others are their frameworks' own.
func TestLargeSuites(t *testing.T) {
	t.Parallel()
	s := strobetest.Start(t, nil)
	t.Run("go", func(t *testing.T) {
		strobetest.NeedCommand(t, "go")
		sameAsBare(t, s, &largeSuite{root: strobetest.TOMLProject(t), args: []string{"-count=1"},
			bare: []string{"go", "test", "-count=1", "-v", "./..."}, read: goTally, least: 1000})
	})
	if !strobetest.Soaks(t, "pytest") {
		return
	}
	t.Run("pytest", func(t *testing.T) {
		p := strobetest.PackagingProject(t)
		without := []string{"--ignore=tests/test_version.py", "--ignore=tests/test_requirements.py"} // most of them
		sameAsBare(t, s, &largeSuite{root: p.Root, env: p.Env, args: without,
			bare: append([]string{"python", "-m", "pytest", "-v"}, without...), read: pytestTally, least: 3000})
	})
}

// TestSoakLargeSuites: the same with suites that take their time, some of whose tests fail.
func TestSoakLargeSuites(t *testing.T) {
	strobetest.Soak(t)
	s := strobetest.Start(t, nil)
	t.Run("go", func(t *testing.T) {
		strobetest.NeedCommand(t, "go")
		sameAsBare(t, s, &largeSuite{root: strobetest.TestifyProject(t), args: []string{"-count=1"},
			bare: []string{"go", "test", "-count=1", "-v", "./..."}, read: goTally, least: 500})
	})
	t.Run("packaging", func(t *testing.T) {
		p := strobetest.PackagingProject(t)
		sameAsBare(t, s, &largeSuite{root: p.Root, env: p.Env, bare: []string{"python", "-m", "pytest", "-v"},
			read: pytestTally, least: 20000})
	})
	t.Run("attrs", func(t *testing.T) {
		p := strobetest.AttrsProject(t)
		seed := "--hypothesis-seed=1"
		sameAsBare(t, s, &largeSuite{root: p.Root, env: p.Env, args: []string{seed},
			bare: []string{"python", "-m", "pytest", "-v", seed}, read: pytestTally, least: 1000})
	})
	t.Run("cargo", func(t *testing.T) {
		last := func(id string) string { return id[strings.LastIndexByte(id, ' ')+1:] }
		sameAsBare(t, s, &largeSuite{root: strobetest.GlamProject(t), bare: []string{"cargo", "test", "--no-fail-fast"},
			read: cargoTally, least: 1000, id: last})
	})
}
