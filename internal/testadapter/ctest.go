package testadapter

import (
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/lazyregexp"
)

// CTest builds a CMake project that has a build folder, and runs the tests that are registered there. Their list comes
// first (`--show-only=json-v1`, the manual ctest(1)): it tells names, labels, and where each was added. Then standard
// output's lines, in which without -V nothing of the tests' own stands, tell what runs, and the JUnit report
// (`--output-junit`, CMake 3.21) what each wrote.
//
// An ID is the test's name; where several have the same, "name (#number)". Labels are levels.
type CTest struct{}

func (CTest) Name() string { return "ctest" }

var ctestDrivers = []string{"ctest", "cmake", "ninja", "make", "gmake", "sh", "gcc", "g++", "cc", "c++", "cc1",
	"cc1plus", "as", "ld", "collect2", "clang", "clang++", "ar", "ccache"}

func (CTest) Detect(p *Project) Detection {
	dir, ok := ctestFolder(p)
	switch {
	case ok:
		return Detection{Confidence: 80, Evidence: []string{path.Join(dir, "CTestTestfile.cmake")}}
	case isFile(p.FS, "CMakeLists.txt"):
		text := strings.ToLower(string(readSome(p.FS, "CMakeLists.txt", 1<<20)))
		if strings.Contains(text, "enable_testing") || strings.Contains(text, "include(ctest)") {
			return Detection{Confidence: 60, Evidence: []string{"CMakeLists.txt enables tests; there is no build folder"}}
		}
	}
	return Detection{}
}

// ctestFolder finds where the project is built, below Root.
func ctestFolder(p *Project) (string, bool) {
	candidates := slices.Clone(buildFolders)
	for _, pattern := range []string{"build*", "cmake-build-*", "out/build/*", "build/*"} {
		names, err := filepath.Glob(filepath.Join(p.Root, filepath.FromSlash(pattern)))
		for _, name := range names {
			if rel, relErr := filepath.Rel(p.Root, name); err == nil && relErr == nil {
				candidates = append(candidates, filepath.ToSlash(rel))
			}
		}
	}
	for _, dir := range candidates {
		if isFile(p.FS, path.Join(dir, "CTestTestfile.cmake")) {
			return dir, true
		}
	}
	// Else one of any name that was configured for this project.
	found, err := filepath.Glob(filepath.Join(p.Root, "*", "CTestTestfile.cmake"))
	for _, file := range found {
		dir := filepath.Base(filepath.Dir(file))
		if err == nil && configuredFor(string(readSome(p.FS, path.Join(dir, "CMakeCache.txt"), 8<<20)), p.Root) {
			return dir, true
		}
	}
	return "", false
}

// configuredFor reports whether a CMakeCache.txt is of the project at root.
func configuredFor(cache, root string) bool {
	_, home, ok := strings.Cut(cache, "\nCMAKE_HOME_DIRECTORY:INTERNAL=")
	if home, _, _ = strings.Cut(home, "\n"); !ok {
		return false
	}
	same, err := filepath.EvalSymlinks(strings.TrimSpace(home))
	real, err2 := filepath.EvalSymlinks(root)
	return err == nil && err2 == nil && same == real
}

func (a CTest) Start(p *Project, r *Request, emit func(Event)) (Execution, error) {
	if len(r.Command) > 0 {
		return nil, fault.New(fault.ValidationError,
			"Leave command out, or take the framework of that program: gtest, catch2, doctest, generic.",
			"ctest has no command of its own to run tests with")
	}
	for _, name := range []string{"ctest", "cmake"} {
		if _, err := p.LookPath(name); err != nil {
			return nil, fault.New(fault.ValidationError, "Install CMake or set PATH in env.", "find the %s command: %w", name,
				err)
		}
	}
	dir, ok := ctestFolder(p)
	if !ok {
		return nil, fault.New(fault.ValidationError,
			"Configure it first: cmake -S . -B build (with enable_testing() in CMakeLists.txt). After that debug_test builds "+
				"it and runs its tests.",
			"this CMake project has no build folder with tests: there is no CTestTestfile.cmake")
	}
	x := &ctestRun{native: newNative(p, r, emit), below: dir, dir: filepath.Join(p.Root, dir),
		output: map[int]*ctestLine{}}
	x.configs()
	x.build()
	return x, nil
}

func (a CTest) Rerun(p *Project, r *Request, t *Test) Rerun {
	dir, _ := ctestFolder(p)
	again := Rerun{Argv: []string{"ctest", "--test-dir", orElse(dir, "."), "--output-on-failure"}, Dir: p.Root, Test: t.ID,
		Framework: a.Name()}
	switch m := ctestNumbered.FindStringSubmatch(t.ID); {
	case t.ID == "(build)":
		again.Argv, again.Test = []string{"cmake", "--build", orElse(dir, ".")}, ""
		return again
	case outside(t.ID):
		again.Test = ""
	case m != nil && t.ID != t.Name:
		again.Argv = append(again.Argv, "-I", m[1]+","+m[1])
	default:
		again.Argv = append(again.Argv, "-R", ctestPattern([]string{t.Name}))
	}
	again.Argv = append(again.Argv, r.Args...)
	return again
}

var ctestNumbered = lazyregexp.MustCompile(` \(#(\d+)\)$`)

// ctestPattern is the -R of exactly some names, in the regular expressions of CMake: a backslash makes what follows
// itself.
func ctestPattern(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		var b strings.Builder
		for _, r := range name {
			if strings.ContainsRune(`\^$.[]()*+?|`, r) {
				b.WriteByte('\\')
			}
			b.WriteRune(r)
		}
		quoted[i] = b.String()
	}
	if len(quoted) == 1 {
		return "^" + quoted[0] + "$"
	}
	return "^(" + strings.Join(quoted, "|") + ")$"
}

// ctestTest is a test of the list. Its number is its place there, from 1.
type ctestTest struct {
	id, name string
	file     string
	line     int
	labels   []string
	inverted bool   // WILL_FAIL
	limit    string // " of 10 s"
	command  []string
}

type ctestRun struct {
	native
	below  string // the build folder below Root
	dir    string // absolute
	config string // of builds that have several
	json   []byte
	tests  []ctestTest
	output map[int]*ctestLine // by number
	junit  []byte
	total  int // of ctest's summary; the number of tests that could run
	failed int
	idle   int // tests that did not run and are no failures
	listed bool
	last   *ctestLine
}

// configs finds the configuration to take where the build folder has several.
func (x *ctestRun) configs() {
	for i, arg := range x.r.Args {
		if (arg == "-C" || arg == "--build-config") && i+1 < len(x.r.Args) {
			x.config = x.r.Args[i+1]
			return
		}
	}
	if m := ctestConfigs.FindSubmatch(readSome(x.p.FS, path.Join(x.below, "CMakeCache.txt"), 4<<20)); m != nil {
		x.config, _, _ = strings.Cut(string(m[1]), ";")
	}
}

var ctestConfigs = lazyregexp.MustCompile(`(?m)^CMAKE_CONFIGURATION_TYPES:\w+=(.+)$`)

func (x *ctestRun) build() {
	argv := []string{"cmake", "--build", x.dir, "--parallel", fmt.Sprint(runtime.NumCPU())}
	if x.config != "" {
		argv = append(argv, "--config", x.config)
	}
	x.then(x.buildTask(argv, x.below, func() { x.list() }))
}

// buildTask runs a build tool, whose lines tell what it does, and goes on only where it succeeds: older programs would
// pass for new.
func (n *native) buildTask(argv []string, below string, then func()) *task {
	var text strings.Builder
	line := func(line string) {
		keepLine(&text, line)
		if buildProgress.MatchString(line) {
			n.phase(Compiling, strings.TrimSpace(line))
		}
	}
	return &task{
		step:   &Step{Argv: argv, Dir: n.p.Root, Phase: Compiling, Drivers: ctestDrivers},
		stdout: line, stderr: line,
		end: func(exit Exit) {
			if exit.Code == 0 && exit.Signal == "" {
				then()
				return
			}
			if exit.Canceled || exit.TimedOut {
				return
			}
			failures := n.compileErrors(text.String(), below)
			if len(failures) == 0 {
				failures = []Failure{{Kind: "compile", Message: fmt.Sprintf("%s left with code %d:\n%s", argv[0], exit.Code,
					tail(strings.TrimSpace(text.String()), 4<<10))}}
			}
			n.broken("(build)", "(build)", "", failures...)
			n.note("no test ran, since the build failed: %s", strings.Join(argv, " "))
		},
	}
}

var buildProgress = lazyregexp.MustCompile(`^\[ *\d+(?:%|/\d+)\] `)

func (x *ctestRun) command(args ...string) []string {
	argv := append([]string{"ctest", "--test-dir", x.dir}, args...)
	if x.config != "" && !slices.Contains(x.r.Args, "-C") {
		argv = append(argv, "-C", x.config)
	}
	return argv
}

func (x *ctestRun) list() {
	var errs strings.Builder
	x.then(&task{
		step: &Step{Argv: x.command("--show-only=json-v1"), Dir: x.p.Root, Phase: Compiling, Drivers: ctestDrivers},
		stdout: func(line string) {
			if len(x.json) < 256<<20 {
				x.json = append(append(x.json, line...), '\n')
			}
		},
		stderr: func(line string) { keepLine(&errs, line) },
		end: func(exit Exit) {
			if !x.read() {
				x.broken("(ctest)", "(ctest)", "", Failure{Kind: "collect",
					Message: fmt.Sprintf("ctest left with code %d and did not list its tests: %s", exit.Code,
						tail(errs.String(), 2<<10))})
				return
			}
			x.selected()
		},
	})
}

// read takes the list of tests in, as ctest(1) describes its version 1.
func (x *ctestRun) read() bool {
	var list struct {
		Graph struct {
			Files []string
			Nodes []struct{ File, Line, Parent int }
		} `json:"backtraceGraph"`
		Tests []struct {
			Name       string
			Command    []string
			Backtrace  int
			Properties []struct {
				Name  string
				Value json.RawMessage
			}
		}
	}
	i := strings.IndexByte(string(x.json), '{')
	if i < 0 || json.Unmarshal(x.json[i:], &list) != nil {
		return false
	}
	seen := map[string]int{}
	for _, t := range list.Tests {
		seen[t.Name]++
	}
	for i, t := range list.Tests {
		one := ctestTest{id: t.Name, name: t.Name, command: t.Command}
		if seen[t.Name] > 1 {
			one.id = fmt.Sprintf("%s (#%d)", t.Name, i+1)
		}
		if n := t.Backtrace; n >= 0 && n < len(list.Graph.Nodes) {
			if node := list.Graph.Nodes[n]; node.File >= 0 && node.File < len(list.Graph.Files) && node.Line > 0 {
				// What a framework's discovery generated in the build folder is no place of the author's.
				if file := x.rel(list.Graph.Files[node.File]); !strings.HasPrefix(file, x.below+"/") || x.below == "." {
					one.file, one.line = file, node.Line
				}
			}
		}
		for _, p := range t.Properties {
			switch p.Name {
			case "LABELS":
				_ = json.Unmarshal(p.Value, &one.labels)
			case "TIMEOUT":
				one.limit = " of " + string(p.Value) + " s"
			case "WILL_FAIL":
				_ = json.Unmarshal(p.Value, &one.inverted)
			}
		}
		x.tests = append(x.tests, one)
	}
	return true
}

// Programs is the command of a test.
func (x *ctestRun) Programs(id string) []string {
	for i := range x.tests {
		if x.tests[i].id == id {
			return x.tests[i].command
		}
	}
	return nil
}

// selected chooses what to run.
func (x *ctestRun) selected() {
	var args []string
	if x.r.Level != AllLevels {
		labels := x.labels()
		if len(labels) == 0 {
			x.note("no test has the label %s, which is what level %s means to CTest", x.r.Level, x.r.Level)
			return
		}
		args = append(args, "-L", ctestPattern(labels))
	}
	if x.r.Test != "" {
		var ids, chosen []string
		var numbers []string
		for i, t := range x.tests {
			ids = append(ids, t.id)
			if t.id == x.r.Test && t.id != t.name {
				numbers = append(numbers, fmt.Sprint(i+1))
			}
		}
		if len(numbers) > 0 {
			args = append(args, "-I", numbers[0]+","+numbers[0])
		} else {
			var names []string
			for _, t := range x.tests {
				names = append(names, t.name)
			}
			if chosen = choose(x.r.Test, names); len(chosen) == 0 {
				x.unmatched(ids, "")
				return
			}
			args = append(args, "-R", ctestPattern(slices.Compact(slices.Sorted(slices.Values(chosen)))))
		}
	}
	if len(x.tests) == 0 {
		x.note("no tests are registered in %s: add_test() or a framework's discovery does, after enable_testing()", x.below)
		return
	}
	x.run(args)
}

// labels are those that a level means, however they are written.
func (x *ctestRun) labels() []string {
	words := map[Level][]string{Unit: {"unit", "unittest", "unittests", "unit-tests"},
		Integration: {"integration", "integration-tests", "integrationtest"},
		EndToEnd:    {"e2e", "end-to-end", "endtoend", "system"}}[x.r.Level]
	var found []string
	for _, t := range x.tests {
		for _, l := range t.labels {
			if slices.Contains(words, strings.ReplaceAll(strings.ToLower(l), "_", "-")) && !slices.Contains(found, l) {
				found = append(found, l)
			}
		}
	}
	return found
}
