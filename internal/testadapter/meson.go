package testadapter

import (
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/lazyregexp"
)

// Meson builds a Meson project that has a build folder, and runs `meson test`. Its results are the log of JSON lines
// that it appends to while tests end (`--logbase`, which takes a path as well as a name), in which what each test wrote
// is a field.
//
// An ID is "project:suites / name", as meson lists it. Suites are levels.
type Meson struct{}

func (Meson) Name() string { return "meson" }

// mesonDrivers has Python, which meson is a program of: tests that are Python programs are taken for it.
var mesonDrivers = append([]string{"meson", "python3", "python3.7", "python3.8", "python3.9", "python3.10",
	"python3.11", "python3.12", "python3.13", "python3.14"}, ctestDrivers...)

func (Meson) Detect(p *Project) Detection {
	if !isFile(p.FS, "meson.build") {
		return Detection{}
	}
	if dir, ok := mesonFolder(p); ok {
		return Detection{Confidence: 85, Evidence: []string{"meson.build", dir + " is set up"}}
	}
	return Detection{Confidence: 60, Evidence: []string{"meson.build; there is no build folder"}}
}

// mesonFolder finds where the project is built, below Root.
func mesonFolder(p *Project) (string, bool) {
	candidates := slices.Clone(buildFolders)
	if names, err := filepath.Glob(filepath.Join(p.Root, "*", "meson-info")); err == nil {
		for _, name := range names {
			candidates = append(candidates, filepath.Base(filepath.Dir(name)))
		}
	}
	for _, dir := range candidates {
		if isFile(p.FS, path.Join(dir, "meson-info", "intro-tests.json")) {
			return dir, true
		}
	}
	return "", false
}

func (a Meson) Start(p *Project, r *Request, emit func(Event)) (Execution, error) {
	if len(r.Command) > 0 {
		return nil, fault.New(fault.ValidationError,
			"Leave command out, or take the framework of that program: gtest, catch2, doctest, generic.",
			"meson test has no command of its own to run tests with")
	}
	if _, err := p.LookPath("meson"); err != nil {
		return nil, fault.New(fault.ValidationError, "Install Meson or set PATH in env.", "find the meson command: %w", err)
	}
	dir, ok := mesonFolder(p)
	if !ok {
		return nil, fault.New(fault.ValidationError,
			"Set it up first: meson setup builddir. After that debug_test builds it and runs its tests.",
			"this Meson project has no build folder")
	}
	x := &mesonRun{native: newNative(p, r, emit), folder: dir, dir: filepath.Join(p.Root, dir)}
	x.then(x.buildTask([]string{"meson", "compile", "-C", x.dir}, dir, x.list))
	return x, nil
}

func (a Meson) Rerun(p *Project, r *Request, t *Test) Rerun {
	dir, _ := mesonFolder(p)
	again := Rerun{Argv: []string{"meson", "test", "-C", orElse(dir, ".")}, Dir: p.Root, Test: t.ID, Framework: a.Name()}
	if t.ID == "(build)" {
		again.Argv[1], again.Test = "compile", ""
		return again
	}
	again.Argv = append(append(again.Argv, "--print-errorlogs"), r.Args...)
	if outside(t.ID) {
		again.Test = ""
		return again
	}
	for _, suite := range mesonSuites(t.Suite) {
		again.Argv = append(again.Argv, "--suite", suite)
	}
	for _, suite := range mesonOthers(p, dir, t) {
		again.Argv = append(again.Argv, "--no-suite", suite)
	}
	again.Argv = append(again.Argv, mesonPattern(p, dir, t.Suite, t.Name))
	return again
}

// mesonOthers are suites that a test is not in and others of its name are.
func mesonOthers(p *Project, dir string, t *Test) []string {
	var tests []struct {
		Name  string
		Suite []string // "project", "project:suite"
	}
	if json.Unmarshal(readSome(p.FS, path.Join(dir, "meson-info", "intro-tests.json"), 16<<20), &tests) != nil {
		return nil
	}
	own := mesonSuites(t.Suite)
	var others []string
	for _, test := range tests {
		for _, suite := range test.Suite {
			_, suite, ok := strings.Cut(suite, ":")
			if ok && test.Name == t.Name && !slices.Contains(own, suite) && !slices.Contains(others, suite) {
				others = append(others, suite)
			}
		}
	}
	return others
}

// mesonSplit takes "project:one+two / name" apart.
func mesonSplit(id string) (suite, name string) {
	suite, name, ok := strings.Cut(id, " / ")
	if !ok {
		return "", id
	}
	return suite, name
}

func mesonSuites(suite string) []string {
	_, names, ok := strings.Cut(suite, ":")
	if !ok {
		return nil
	}
	return strings.Split(names, "+")
}

// mesonPattern is an argument of meson test that means just one name, with the project before a colon: since version
// 1.2 a shell's pattern, before that the name itself.
func mesonPattern(p *Project, dir, suite, name string) string {
	project, _, _ := strings.Cut(suite, ":")
	var info struct {
		Version struct{ Major, Minor int } `json:"meson_version"`
	}
	// without it: of today
	_ = json.Unmarshal(readSome(p.FS, path.Join(dir, "meson-info", "meson-info.json"), 1<<20), &info)
	if v := info.Version; v.Major == 1 && v.Minor < 2 || v.Major == 0 && v.Minor > 0 {
		return project + ":" + name
	}
	quote := strings.NewReplacer("[", "[[]", "*", "[*]", "?", "[?]")
	return orElse(quote.Replace(project), "*") + ":" + quote.Replace(name)
}

type mesonRun struct {
	native
	folder string // below Root
	dir    string // absolute
	ids    []string
	keep   map[string]bool // nil: all
	places map[string]goPlace
	log    lineSplitter
	sums   map[string]int
	words  []string // the command of the last result
	extra  int      // results that were not asked for

	console []mesonResult // what stood on the console of tests that ended
	chosen  int           // how many tests run, which the console says; 0: not known
}

// Programs is the command of the test that the log's last line is of.
func (x *mesonRun) Programs(string) []string { return x.words }

func (x *mesonRun) list() {
	var errs strings.Builder
	x.then(&task{
		step: &Step{Argv: []string{"meson", "test", "-C", x.dir, "--no-rebuild", "--list"}, Dir: x.p.Root, Phase: Compiling,
			Drivers: mesonDrivers},
		stdout: func(line string) {
			if line != "" && !strings.HasPrefix(line, "ninja: ") && !strings.HasPrefix(line, "No tests ") &&
				len(x.ids) < 200_000 {
				x.ids = append(x.ids, line)
			}
		},
		stderr: func(line string) { keepLine(&errs, line) },
		end: func(exit Exit) {
			if exit.Code != 0 && !exit.Canceled && !exit.TimedOut {
				x.broken("(meson)", "(meson)", "", Failure{Kind: "collect",
					Message: fmt.Sprintf("meson left with code %d and did not list its tests: %s", exit.Code,
						tail(errs.String(), 2<<10))})
				return
			}
			x.selected()
		},
	})
}

func (x *mesonRun) selected() {
	var args []string
	if len(x.ids) == 0 {
		x.note("no tests are declared: test('name', program) in meson.build does")
		return
	}
	if x.r.Level != AllLevels {
		found := false
		for _, id := range x.ids {
			suite, _ := mesonSplit(id)
			found = found || slices.Contains(mesonSuites(suite), string(x.r.Level))
		}
		if !found {
			x.note("no test is in the suite %s, which is what the level means to Meson", x.r.Level)
			return
		}
		args = append(args, "--suite", string(x.r.Level))
	}
	if x.r.Test != "" {
		chosen := choose(x.r.Test, x.ids)
		if !slices.Contains(chosen, x.r.Test) { // a name without its project
			var names []string
			for _, id := range x.ids {
				_, name := mesonSplit(id)
				names = append(names, name)
			}
			byName := choose(x.r.Test, names)
			chosen = nil
			for i, id := range x.ids {
				if slices.Contains(byName, names[i]) {
					chosen = append(chosen, id)
				}
			}
		}
		if len(chosen) == 0 {
			x.unmatched(x.ids, "")
			return
		}
		x.keep = map[string]bool{}
		for _, id := range chosen {
			x.keep[id] = true
			suite, name := mesonSplit(id)
			// given twice it would run twice
			if pattern := mesonPattern(x.p, x.folder, suite, name); !slices.Contains(args, pattern) {
				args = append(args, pattern)
			}
		}
		if suite, _ := mesonSplit(chosen[0]); len(chosen) == 1 {
			for _, s := range mesonSuites(suite) {
				args = append(args, "--suite", s)
			}
		}
	}
	x.run(args)
}

func (x *mesonRun) run(args []string) {
	base := filepath.Join(x.r.Dir, "meson")
	argv := []string{"meson", "test", "-C", x.dir, "--no-rebuild", "--logbase", base}
	if x.r.Traced {
		argv = append(argv, "--num-processes", "1")
	}
	x.sums, x.console, x.chosen = map[string]int{}, nil, 0
	x.log.line = func(b []byte) { x.result(b) }
	x.then(&task{
		step: &Step{Argv: slices.Concat(argv, x.r.Args, args), Dir: x.p.Root, Reports: []string{base + ".json"},
			Phase: Running, Drivers: mesonDrivers},
		stdout: func(line string) {
			if m := mesonSum.FindStringSubmatch(line); m != nil {
				x.sums[m[1]] = number(m[2])
			}
			x.consoleLine(line)
		},
		report: func(_ string, data []byte) { x.log.Write(data) },
		end:    x.ends,
	})
}

var mesonSum = lazyregexp.MustCompile(`^(Ok|Expected Fail|Fail|Unexpected Pass|Skipped|Timeout): +(\d+)\s*$`)

// mesonResult is a line of the log.
type mesonResult struct {
	Name, Result   string
	Stdout, Stderr string
	Duration       float64
	Command        []string
	Code           int `json:"returncode"` // below 0: a signal
}

func (x *mesonRun) result(line []byte) {
	var r mesonResult
	if json.Unmarshal(line, &r) != nil || r.Name == "" {
		return
	}
	x.told(&r)
}

// told takes the result of a test that has ended.
func (x *mesonRun) told(r *mesonResult) {
	if x.keep != nil && !x.keep[r.Name] {
		x.extra++
		return
	}
	x.words = r.Command
	x.started(x.named(r.Name)) // meson tells of a test only when it has ended
	t := x.named(r.Name)
	t.Duration, t.Output = time.Duration(r.Duration*float64(time.Second)),
		strings.TrimSpace(strings.TrimSpace(r.Stdout)+"\n"+strings.TrimSpace(r.Stderr))
	place := Failure{Kind: "exit", File: t.File, Line: t.Line}
	switch r.Result {
	case "OK":
		t.Status = Passed
	case "EXPECTEDFAIL":
		t.Status = ExpectedFailure
	case "SKIP":
		t.Status, t.Reason = Skipped, "left with code 77, or its TAP says so"
	case "UNEXPECTEDPASS":
		place.Message = "it succeeded, and has should_fail"
		t.Status, t.Fails, t.Failures = UnexpectedPass, true, []Failure{place}
	case "TIMEOUT":
		place.Kind, place.Message = "timeout", "longer than its timeout in meson.build"
		t.Status, t.Fails, t.Failures = TimedOut, true, []Failure{place}
	case "INTERRUPT":
		t.Status, t.Reason = Skipped, "interrupted"
	default:
		x.failed(t, r, place)
	}
	x.finished(t)
}

func (x *mesonRun) failed(t *Test, r *mesonResult, f Failure) {
	t.Status, t.Fails = Failed, true
	f.Message = fmt.Sprintf("left with code %d", r.Code)
	switch {
	case r.Code < 0 && -r.Code < len(signals):
		t.Status = Crashed
		f.Kind, f.Signal = "crash", signals[-r.Code]
		f.Message = "died of " + f.Signal
	case r.Result == "ERROR":
		t.Status = Errored
		f.Kind, f.Message = "setup", fmt.Sprintf("an error, not a failure (code %d)", r.Code)
	}
	for line := range strings.Lines(r.Stdout) {
		if m := tapPoint.FindStringSubmatch(strings.TrimSpace(line)); m != nil && m[1] == "not ok" && r.Code == 0 &&
			!tapTurn.MatchString(m[3]) && len(t.Failures) < maxErrors {
			t.Failures = append(t.Failures, Failure{Kind: "assertion", Message: "subtest " + strings.TrimSpace(m[2]+" "+m[3]) +
				" is not ok", File: f.File, Line: f.Line})
		}
	}
	if len(t.Failures) > 0 {
		return
	}
	if last := strings.TrimSpace(tail(orElse(strings.TrimSpace(r.Stderr), r.Stdout), 2<<10)); last != "" {
		f.Message += "; it wrote last:\n" + last
	}
	t.Failures = x.explain(r.Stderr+"\n"+r.Stdout, f, x.folder)
}

// declared finds where a test stands in a meson.build, if it stands there as a plain string.
func (x *mesonRun) declared(name string) goPlace {
	if x.places == nil {
		x.places = map[string]goPlace{}
		for _, file := range below(x.p.FS, 10, func(name string) bool { return path.Base(name) == "meson.build" }) {
			n := 0
			for line := range strings.Lines(string(readSome(x.p.FS, file, 1<<20))) {
				n++
				if m := mesonTest.FindStringSubmatch(line); m != nil {
					declared := strings.NewReplacer(`\'`, `'`, `\\`, `\`).Replace(m[1])
					if _, twice := x.places[declared]; !twice {
						x.places[declared] = goPlace{file, n}
					}
				}
			}
		}
	}
	return x.places[name]
}

var mesonTest = lazyregexp.MustCompile(`^\s*test\(\s*'((?:[^'\\]|\\.)*)'`)

func (x *mesonRun) ends(exit Exit) {
	x.log.Close()
	if exit.Canceled || exit.TimedOut || exit.Signal != "" {
		x.brokenOff(exit)
		return
	}
	x.unfinished(exit, nil)
	if len(x.sums) > 0 && x.extra == 0 {
		x.totals(Totals{Passed: x.sums["Ok"] + x.sums["Expected Fail"], Failed: x.sums["Fail"] + x.sums["Unexpected Pass"] +
			x.sums["Timeout"], Skipped: x.sums["Skipped"]})
	}
	if len(x.ended) == 0 && exit.Code != 0 {
		x.broken("(meson)", "(meson)", "", Failure{Kind: "exit",
			Message: fmt.Sprintf("meson test left with code %d and ran no test: %s", exit.Code,
				strings.TrimSpace(x.now.last[Stdout].String()+x.now.last[Stderr].String()))})
	}
}
