package testadapter

import (
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/lazyregexp"
)

// Pytest runs tests through pytest with a plugin of ours, which needs nothing in the project's environment but pytest.
type Pytest struct{}

// Name is the framework's.
func (Pytest) Name() string { return "pytest" }

// Detect looks for pytest's configuration, for who needs it, and for tests that only it runs.
func (a Pytest) Detect(p *Project) Detection { return p.bestPython(a.detectIn) }

func (Pytest) detectIn(p *Project, dir string) Detection {
	if name := p.pytestConfig(dir); name != "" {
		return Detection{Confidence: 94, Evidence: []string{name + " configures pytest"}}
	}
	for _, name := range []string{"conftest.py", "tests/conftest.py", "test/conftest.py"} {
		if p.isFile(path.Join(dir, name)) {
			return Detection{Confidence: 90, Evidence: []string{path.Join(dir, name) + " is pytest's"}}
		}
	}
	tests := p.pythonTests(dir)
	if len(tests.files) == 0 {
		return Detection{}
	}
	for _, name := range []string{"pyproject.toml", "requirements.txt", "requirements-dev.txt", "requirements-test.txt",
		"tests/requirements.txt", "dev-requirements.txt", "requirements/test.txt", "requirements/dev.txt", "Pipfile",
		"setup.py", "setup.cfg", "tox.ini", "noxfile.py"} {
		if pytestNeeded.MatchString(p.read(path.Join(dir, name))) {
			return Detection{Confidence: 86, Evidence: []string{path.Join(dir, name) + " names pytest"}}
		}
	}
	switch {
	case tests.pytest > 0:
		return Detection{Confidence: 72, Evidence: []string{fmt.Sprintf("%d of %d test files are pytest's, "+
			"such as %s", tests.pytest, len(tests.files), tests.files[0])}}
	case tests.unittest < len(tests.files):
		return Detection{Confidence: 45, Evidence: []string{tests.files[0] + " looks like a test"}}
	}
	return Detection{Confidence: 30, Evidence: []string{"pytest would run the project's unittest tests, too"}}
}

// pytestConfig is the file of a folder that configures pytest, by pytest's own order.
func (p *Project) pytestConfig(dir string) string {
	for _, f := range []struct {
		name  string
		table *regexp.Regexp
	}{
		{"pytest.toml", nil}, {".pytest.toml", nil}, {"pytest.ini", nil}, {".pytest.ini", nil},
		{"pyproject.toml", pytestTable.Get()},
		{"tox.ini", regexp.MustCompile(`(?m)^\[pytest\]`)}, {"setup.cfg", regexp.MustCompile(`(?m)^\[tool:pytest\]`)},
	} {
		name := path.Join(dir, f.name)
		if p.isFile(name) && (f.table == nil || f.table.MatchString(p.read(name))) {
			return name
		}
	}
	return ""
}

// Start prepares a run.
func (a Pytest) Start(p *Project, r *Request, emit func(Event)) (Execution, error) {
	if len(r.Command) > 0 {
		return nil, fault.New(fault.Unsupported, "Leave out command, or give framework generic.",
			"pytest does not run a given program")
	}
	dir := a.Detect(p).dir()
	python, err := p.python(dir)
	if err != nil {
		return nil, err
	}
	level, err := a.level(p, dir, r.Level)
	if err != nil {
		return nil, err
	}
	argv := append(append([]string{}, python.argv...), "-m", "pytest", "-p", "strobe_pytest")
	if r.Traced && p.usesXdist(dir) {
		argv = append(argv, "-n0") // the functions are hooked in this process
	}
	argv = append(append(argv, level...), r.Args...)
	if file := p.nodeFile(dir, r.Test); file != "" {
		argv = append(argv, file)
	}
	report := inDir(r, "strobe_pytest.jsonl")
	step := &Step{Argv: argv, Dir: filepath.Join(p.Root, dir), Env: []string{p.pythonPath(r.Dir)}, Phase: Running,
		Drivers: python.drivers, Reports: []string{report},
		Files: map[string][]byte{
			inDir(r, "strobe_pytest.py"):   reporter("strobe_pytest.py"),
			inDir(r, "strobe_config.json"): config(map[string]any{"report": report, "test": r.Test}),
		}}
	x := &scripted{p: p, r: r, res: newResults(p, emit), steps: []*Step{step}}
	x.res.crash = pythonCrash
	x.exits = func(exit Exit) string { return a.exit(x, exit, python) }
	return x, nil
}

// exit explains pytest's exit codes where its tests do not.
func (Pytest) exit(x *scripted, exit Exit, python *interpreter) string {
	switch missing := strings.Contains(x.err.String(), "No module named pytest"); {
	case missing && !x.done:
		return "pytest is not installed in this Python; install it: " +
			orElse(python.adds, strings.Join(python.argv, " ")+" -m pip install") + " pytest"
	case exit.Code == 2 && x.res.failed == 0:
		return "pytest was interrupted"
	case exit.Code == 3 && x.res.failed == 0:
		return "pytest failed by itself"
	case exit.Code == 4 && x.res.failed == 0:
		return "pytest did not accept its arguments"
	case exit.Code == 5 && x.r.Test != "":
		x.res.note("no test matches %q: no test was run", x.r.Test)
	case exit.Code == 5:
		x.res.note("pytest found no tests")
	case exit.Code != 0 && x.res.failed == 0:
		return fmt.Sprintf("pytest left with code %d although no test failed", exit.Code)
	}
	return ""
}

func (d Detection) dir() string { return orDot(d.Dir) }

func orDot(name string) string {
	if name == "" {
		return "."
	}
	return name
}

// usesXdist says whether the project's own options have tests run by workers.
func (p *Project) usesXdist(dir string) bool {
	o := toolOptions["pytest"]
	for _, w := range o.split(p.addopts(dir)) {
		if name, _, _, _ := o.name(w.text[0]); w.option &&
			(name == "numprocesses" || !strings.HasPrefix(w.text[0], "--") && strings.HasPrefix(name, "n")) {
			return true
		}
	}
	return false
}

var (
	iniAddopts  = lazyregexp.MustCompile(`(?m)^addopts[ \t]*[=:][ \t]*(.*(?:\n[ \t]+.*)*)`)
	tomlAddopts = lazyregexp.MustCompile(
		`(?ms)^addopts[ \t]*=[ \t]*(?:\[(.*?)^?\s*\]\s*$|"""(.*?)"""|'''(.*?)'''|"((?:[^"\\\n]|\\.)*)"|'([^'\n]*)')`)
	tomlString = lazyregexp.MustCompile(`"((?:[^"\\]|\\.)*)"|'([^']*)'`)
)

// addopts are the options that a project's configuration and its environment give to pytest.
func (p *Project) addopts(dir string) []string {
	words := flat(shellCommands(p.environ("PYTEST_ADDOPTS")))
	name := p.pytestConfig(dir)
	if name == "" {
		return words
	}
	text := p.read(name)
	if !strings.HasSuffix(name, ".toml") {
		if m := iniAddopts.FindStringSubmatch(text); m != nil {
			words = append(words, flat(shellCommands(m[1]))...)
		}
		return words
	}
	m := tomlAddopts.FindStringSubmatch(text)
	switch {
	case m == nil:
	case m[1] != "": // a list: each is one argument
		for _, s := range tomlString.FindAllStringSubmatch(m[1], -1) {
			words = append(words, s[1]+s[2])
		}
	default:
		words = append(words, flat(shellCommands(m[2]+m[3]+m[4]+m[5]))...)
	}
	return words
}

func flat(commands [][]string) []string { return slices.Concat(commands...) }

// nodeFile is the file of a test's ID, relative to where pytest runs; "" where the text is none, so that all files are
// searched.
func (p *Project) nodeFile(dir, id string) string {
	file, _, _ := strings.Cut(id, "::")
	if file == "" || filepath.IsAbs(file) || !strings.HasSuffix(file, ".py") {
		return ""
	}
	for _, at := range upward(dir) { // IDs are relative to pytest's rootdir, which may be above
		if name := path.Join(at, file); p.isFile(name) {
			rel, err := filepath.Rel(dir, name)
			if err != nil {
				return ""
			}
			return rel
		}
	}
	return ""
}

var levelMarker = lazyregexp.MustCompile(
	`\bpytest\.mark\.(unit|integration|e2e)\b|^\s*["']?(unit|integration|e2e)\s*(:|["',]|$)`)

// level is what selects a level: markers that the project registers or uses, else folders of that name.
func (Pytest) level(p *Project, dir string, level Level) ([]string, error) {
	if level == AllLevels {
		return nil, nil
	}
	used := map[Level]bool{}
	for _, name := range append(p.files(dir, pythonTest.Get(), 200), p.pytestConfig(dir), path.Join(dir, "conftest.py")) {
		if name == "" {
			continue
		}
		for line := range strings.Lines(p.read(name)) {
			if m := levelMarker.FindStringSubmatch(strings.TrimRight(line, "\n")); m != nil {
				used[Level(m[1]+m[2])] = true
			}
		}
	}
	switch {
	case used[level]:
		return []string{"-m", string(level)}, nil
	case level == Unit && len(used) > 0:
		return []string{"-m", "not integration and not e2e"}, nil
	}
	for _, folder := range levelFolders[level] {
		for _, above := range []string{"tests", "test", "."} {
			if at := path.Join(dir, above, folder); p.isDir(at) && len(p.files(at, pythonTest.Get(), 1)) > 0 {
				rel, err := filepath.Rel(dir, at)
				if err == nil {
					return []string{rel}, nil
				}
			}
		}
	}
	return nil, fault.New(fault.Unsupported, "Leave out level, mark tests with pytest.mark."+string(level)+
		", or put them into tests/"+string(level)+".",
		"this project's pytest tests have no level %s: neither a marker nor a folder of that name", level)
}

// levelFolders are the names that folders of a level go by.
var levelFolders = map[Level][]string{
	Unit:        {"unit", "units"},
	Integration: {"integration", "integrations", "functional"},
	EndToEnd:    {"e2e", "end-to-end", "end_to_end", "acceptance"},
}

// Rerun runs one test by its ID, which pytest takes as an argument.
func (a Pytest) Rerun(p *Project, r *Request, t *Test) Rerun {
	dir := a.Detect(p).dir()
	argv := []string{"python3"}
	if python, err := p.python(dir); err == nil {
		argv = python.argv
	}
	if argv = append(slices.Clone(argv), "-m", "pytest"); outside(t.ID) {
		return Rerun{Argv: append(argv, r.Args...), Dir: filepath.Join(p.Root, dir), Framework: "pytest"}
	}
	id := t.ID
	if t.Parent != "" {
		id = t.Parent // a subtest runs within its test
	}
	file, rest, node := strings.Cut(id, "::")
	if at := p.nodeFile(dir, id); at != "" {
		file = at
	}
	if node {
		file += "::" + rest
	}
	argv = append(append(argv, onlyOptions("pytest", r.Args)...), file)
	return Rerun{Argv: argv, Dir: filepath.Join(p.Root, dir), Test: id, Framework: "pytest"}
}
