package testadapter

import (
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/lazyregexp"
)

// Unittest runs tests through Python's unittest with a runner of ours.
type Unittest struct{}

// Name is the framework's.
func (Unittest) Name() string { return "unittest" }

// Detect looks for test files that import unittest in a project that does not say that it uses pytest.
func (a Unittest) Detect(p *Project) Detection { return p.bestPython(a.detectIn) }

func (Unittest) detectIn(p *Project, dir string) Detection {
	tests := p.pythonTests(dir)
	if tests.unittest == 0 {
		return Detection{}
	}
	evidence := []string{fmt.Sprintf("%d of %d test files import unittest", tests.unittest, len(tests.files))}
	switch other := (Pytest{}).detectIn(p, dir); {
	case other.Confidence > 75:
		return Detection{Confidence: 20, Evidence: append(evidence, other.Evidence...)}
	case tests.pytest > 0:
		return Detection{Confidence: 40, Evidence: append(evidence, other.Evidence...)}
	}
	return Detection{Confidence: 75, Evidence: evidence}
}

// Start prepares a run: unittest's discovery in the project's folder, or in the one that holds its tests.
func (a Unittest) Start(p *Project, r *Request, emit func(Event)) (Execution, error) {
	if len(r.Command) > 0 {
		return nil, fault.New(fault.Unsupported, "Leave out command, or give framework generic.",
			"unittest does not run a given program")
	}
	dir := a.Detect(p).dir()
	python, err := p.python(dir)
	if err != nil {
		return nil, err
	}
	start, err := a.folder(p, dir, r.Level)
	if err != nil {
		return nil, err
	}
	argv := append(append([]string{}, python.argv...), "-m", "strobe_unittest")
	if args := r.Args; len(args) > 0 {
		argv = append(argv, args...)
	} else if module := p.undiscovered(dir, r.Test); module != "" {
		argv = append(argv, module)
	} else {
		argv = append(argv, a.discover(p, dir, start)...)
	}
	report := inDir(r, "strobe_unittest.jsonl")
	step := &Step{Argv: argv, Dir: filepath.Join(p.Root, dir), Env: []string{p.pythonPath(r.Dir)}, Phase: Running,
		Drivers: python.drivers, Reports: []string{report},
		Files: map[string][]byte{
			inDir(r, "strobe_unittest.py"): reporter("strobe_unittest.py"),
			inDir(r, "strobe_config.json"): config(map[string]any{"report": report, "test": r.Test}),
		}}
	x := &scripted{p: p, r: r, res: newResults(p, emit), steps: []*Step{step}}
	x.res.crash = pythonCrash
	none := false
	x.wire = func(e *wireEvent) { none = none || e.E == "none" }
	x.exits = func(exit Exit) string {
		switch {
		case none && r.Test != "":
			x.res.note("no test matches %q: no test was run", r.Test)
		case none || exit.Code == 5 && x.seen == 0:
			x.res.note("unittest found no tests")
		case exit.Code != 0 && x.res.failed == 0:
			return fmt.Sprintf("unittest left with code %d although no test failed", exit.Code)
		}
		return ""
	}
	return x, nil
}

// folder is where tests of a level stand; unittest knows no other distinction.
func (Unittest) folder(p *Project, dir string, level Level) (string, error) {
	if level == AllLevels {
		return "", nil
	}
	for _, folder := range levelFolders[level] {
		for _, above := range []string{"tests", "test", "."} {
			if at := path.Join(dir, above, folder); p.isDir(at) && len(p.files(at, pythonTest.Get(), 1)) > 0 {
				rel, err := filepath.Rel(dir, at)
				return rel, err
			}
		}
	}
	return "", fault.New(fault.Unsupported, "Leave out level, or put these tests into tests/"+string(level)+".",
		"unittest has no levels, and no folder of tests is named %s", level)
}

// discover are unittest's arguments. Its discovery descends only into packages, so where the tests stand in a folder
// that is none, it begins there.
func (Unittest) discover(p *Project, dir, start string) []string {
	if start == "" {
		start = "."
		found := p.files(dir, pythonTest.Get(), 200)
		for _, folder := range []string{"tests", "test"} {
			at := path.Join(dir, folder)
			all := len(found) > 0
			for _, name := range found {
				all = all && strings.HasPrefix(name, at+"/")
			}
			if all && !p.isFile(path.Join(at, "__init__.py")) {
				start = folder
			}
		}
	}
	argv := []string{"discover", "-s", start}
	if p.isFile(path.Join(dir, start, "__init__.py")) || start == "." {
		argv = append(argv, "-t", ".")
	}
	return argv
}

// undiscovered is the module of a test's ID, where its file is none of those that discovery looks at; "" where it is.
func (p *Project) undiscovered(dir, id string) string {
	parts := strings.Split(id, ".")
	for n := len(parts) - 1; n > 0; n-- {
		name := path.Join(append([]string{dir}, parts[:n]...)...) + ".py"
		if fs.ValidPath(name) && p.isFile(name) {
			if strings.HasPrefix(parts[n-1], "test") {
				return ""
			}
			return strings.Join(parts[:n], ".")
		}
	}
	return ""
}

// Rerun runs one test by its dotted name, from where discovery begins.
func (a Unittest) Rerun(p *Project, r *Request, t *Test) Rerun {
	dir := a.Detect(p).dir()
	argv := []string{"python3"}
	if python, err := p.python(dir); err == nil {
		argv = python.argv
	}
	if outside(t.ID) {
		return Rerun{Argv: slices.Concat(argv, []string{"-m", "unittest"}, a.discover(p, dir, ""), r.Args),
			Dir: filepath.Join(p.Root, dir), Framework: "unittest"}
	}
	id := t.ID
	if t.Parent != "" {
		id = t.Parent
	}
	if m := fixtureOf.FindStringSubmatch(id); m != nil {
		id = m[1] // the class or module whose fixture failed
	}
	at := filepath.Join(p.Root, dir)
	if args := a.discover(p, dir, ""); args[2] != "." && len(args) == 3 {
		at = filepath.Join(at, args[2])
	}
	dotted := numberTag.ReplaceAllString(id, "")
	return Rerun{Argv: append(append(slices.Clone(argv), "-m", "unittest", dotted),
		onlyOptions("unittest", r.Args, "s", "start-directory", "p", "pattern", "t", "top-level-directory", "k")...), Dir: at,
		Test: id, Framework: "unittest"}
}

var fixtureOf = lazyregexp.MustCompile(`^(?:setUp|tearDown)(?:Class|Module) \(([^)]*)\)$`)
