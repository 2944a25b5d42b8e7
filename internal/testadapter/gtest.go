package testadapter

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/strobe-debug/strobe/internal/lazyregexp"
)

// GTest runs a GoogleTest program. Its results are the JSON report, a file of ours (GoogleTest's documentation,
// "Generating a JSON report"), which is written at the end only: until then, and where the program does not reach it,
// standard output's lines tell, of which only those count that its list of tests and the order of its output allow.
//
// An ID is the test's full name: Suite.Name, Prefix/Suite.Name/0, Suite/0.Name.
type GTest struct{}

func (GTest) Name() string { return "gtest" }

var gtestWords = []string{"This program contains tests written using Google Test", "libgtest.so", "gtest_list_tests"}

func (GTest) Detect(p *Project) Detection {
	if name := mentions(p, "gtest", "googletest"); name != "" {
		return Detection{Confidence: 30, Evidence: []string{name +
			" names GoogleTest; the program is to be given in command"}}
	}
	return Detection{}
}

func (GTest) DetectCommand(p *Project, command []string) Detection {
	return detectProgram(p, command, gtestWords...)
}

func (a GTest) Start(p *Project, r *Request, emit func(Event)) (Execution, error) {
	argv, err := startProgram(p, r, a.Name(), gtestWords...)
	if err != nil {
		return nil, err
	}
	if r.Level != AllLevels {
		return nil, noLevel("GoogleTest", "its tests have no tags", r.Level)
	}
	x := &gtestRun{native: newNative(p, r, emit), argv: argv, results: map[string]*gtestOne{}}
	x.list()
	return x, nil
}

func (a GTest) Rerun(p *Project, r *Request, t *Test) Rerun {
	if t.ID == "(program)" {
		return Rerun{Argv: slices.Concat(r.Command, r.Args), Dir: p.Root, Framework: a.Name()}
	}
	filter := t.ID
	if suite, ok := strings.CutSuffix(t.ID, gtestSuiteEnd); ok {
		filter = suite + ".*"
	}
	argv := slices.Concat(r.Command, r.Args, []string{"--gtest_filter=" + filter})
	if strings.Contains(t.ID, "DISABLED_") {
		argv = append(argv, "--gtest_also_run_disabled_tests")
	}
	return Rerun{Argv: argv, Dir: p.Root, Test: t.ID, Framework: a.Name()}
}

type gtestRun struct {
	native
	argv    []string
	names   []string
	results map[string]*gtestOne
	json    []byte
	current string // the test that runs, or whose result was the last
	ending  bool   // it has said its result
	own     Totals
	places  map[string]Frame // of tests, by the list
	suite   string           // whose tests run
	outside map[string]*gtestOutside
	bad     []string // suites that could not be set up or taken down
}

// gtestOutside is what was written while a suite was set up or taken down.
type gtestOutside struct {
	kind string
	text ring
}

// gtestSuiteEnd is how the ID of what failed in SetUpTestSuite or TearDownTestSuite ends.
const gtestSuiteEnd = ".(suite)"

// gtestOne is what standard output told of a test.
type gtestOne struct {
	status Status
	output ring
	ended  string // the output when it said its last result
}

func (o *gtestOne) text() string {
	if o.status == "" {
		return strings.TrimSpace(o.output.String())
	}
	return strings.TrimSpace(o.ended)
}

func (x *gtestRun) list() {
	suite := ""
	var places []byte
	report := filepath.Join(x.r.Dir, "gtest-list.json")
	x.then(&task{
		step: &Step{Argv: append(slices.Clone(x.argv), "--gtest_list_tests", "--gtest_output=json:"+report), Dir: x.p.Root,
			Reports: []string{report}, Phase: Compiling},
		report: func(_ string, data []byte) {
			if len(places) < 64<<20 {
				places = append(places, data...)
			}
		},
		stdout: func(line string) {
			line, _, _ = strings.Cut(line, "  # ") // a parameter
			switch name, indented := strings.CutPrefix(line, "  "); {
			case indented && suite != "" && !strings.ContainsAny(name, " "):
				x.names = append(x.names, suite+name)
			case strings.HasSuffix(line, ".") && !strings.ContainsAny(line, " "):
				suite = line
			}
		},
		end: func(exit Exit) {
			x.place(places)
			x.run(exit)
		},
		watch: true,
	})
}

func (x *gtestRun) run(exit Exit) {
	if len(x.names) == 0 && (exit.Code != 0 || exit.Signal != "") {
		f := x.death(exit, x.now)
		f.Message = "the program does not list its tests: " + strings.Replace(f.Message, " while this test ran", "", 1)
		x.broken("(program)", "(program)", "", f)
		return
	}
	report := filepath.Join(x.r.Dir, "gtest.json")
	argv := append(slices.Clone(x.argv), "--gtest_output=json:"+report, "--gtest_color=no", "--gtest_print_time=1",
		"--gtest_brief=0")
	argv = append(argv, x.r.Args...)
	if x.r.Test != "" {
		chosen := choose(x.r.Test, x.names)
		if suite, ok := strings.CutSuffix(x.r.Test, gtestSuiteEnd); ok {
			chosen = slices.DeleteFunc(slices.Clone(x.names),
				func(name string) bool { return !strings.HasPrefix(name, suite+".") })
		}
		if len(chosen) == 0 {
			x.unmatched(x.names, "")
			return
		}
		filter := strings.Join(chosen, ":")
		if len(chosen) > 100 && len(filter) > 60_000 { // one argument has at most 128 KB
			filter = "*" + x.r.Test + "*"
		}
		argv = append(argv, "--gtest_filter="+filter)
		if len(chosen) == 1 && chosen[0] == x.r.Test && strings.Contains(chosen[0], "DISABLED_") {
			argv = append(argv, "--gtest_also_run_disabled_tests") // it was asked for by its name
		}
		x.names = chosen
	}
	x.own = Totals{Passed: -1}
	t := &task{step: &Step{Argv: argv, Dir: x.p.Root, Reports: []string{report}, Phase: Running}, stdout: x.line,
		watch: true}
	t.report = func(_ string, data []byte) {
		if len(x.json) < 64<<20 {
			x.json = append(x.json, data...)
		}
	}
	t.end = func(exit Exit) { x.end(exit, t) }
	t.words = func() string {
		if one := x.results[x.current]; one != nil && !x.ending {
			return one.text()
		}
		return ""
	}
	x.then(t)
}

var (
	gtestResult = lazyregexp.MustCompile(`\[(       OK |  FAILED  |  SKIPPED )\] ([^\s,]+)(?:,? .*)?$`)
	gtestCount  = lazyregexp.MustCompile(`^\[  (PASSED |SKIPPED)  ?\] (\d+) tests?[.,]`)
	gtestPlace  = lazyregexp.MustCompile(`^(.+?)(?::(\d+)|\((\d+)\))(?:: (?:Failure|error))?:?$`)
)

// line follows the order of GoogleTest's output: RUN, what the test writes, its result, and then the next RUN. A test
// that writes a result of its own is overruled by the real one, which comes after it.
func (x *gtestRun) line(line string) {
	if name, ok := strings.CutPrefix(line, "[ RUN      ] "); ok && (x.current == "" || x.ending) &&
		x.results[name] == nil && slices.Contains(x.names, name) {
		x.settle()
		x.current, x.ending = name, false
		x.results[name] = &gtestOne{}
		x.started(x.test(name))
		return
	}
	if m := gtestCount.FindStringSubmatch(line); m != nil {
		if strings.HasPrefix(m[1], "PASSED") {
			x.own.Passed = number(m[2])
		} else {
			x.own.Skipped = number(m[2])
		}
	}
	if x.current == "" || x.ending {
		x.between(line)
	}
	one := x.results[x.current]
	if one == nil {
		return
	}
	if m := gtestResult.FindStringSubmatch(line); m != nil && m[2] == x.current &&
		(strings.HasSuffix(line, " ms)") || !x.ending) {
		// The list of failures at the end has no times; the first line of a parameter of several lines has none either.
		one.status = map[string]Status{"       OK ": Passed, "  FAILED  ": Failed, "  SKIPPED ": Skipped}[m[1]]
		x.ending = true
		if before := line[:strings.LastIndex(line, "["+m[1]+"]")]; before != "" {
			one.output.Write([]byte(before + "\n"))
		}
		one.ended = one.output.String() // what follows is GoogleTest's, unless another result follows
		return
	}
	one.output.Write([]byte(line + "\n"))
}

// settle tells that a test passed as soon as the next begins; how another failed is in the report.
func (x *gtestRun) settle() {
	if one := x.results[x.current]; one != nil && x.ending && one.status == Passed {
		t := x.test(x.current)
		t.Status, t.Output = Passed, one.text()
		x.finished(t)
	}
}

func (x *gtestRun) test(name string) *Test {
	suite, short := "", name
	if i := strings.LastIndexByte(name, '.'); i > 0 {
		suite, short = name[:i], name[i+1:]
	}
	at := x.places[name]
	return &Test{ID: name, Name: short, Suite: suite, File: at.File, Line: at.Line}
}

// place reads where tests are from the report of their list.
func (x *gtestRun) place(report []byte) {
	var r gtestReport
	if json.Unmarshal(report, &r) != nil {
		return // a version that writes none
	}
	x.places = map[string]Frame{}
	for _, s := range r.Suites {
		for _, c := range s.Tests {
			if c.File != "" {
				x.places[s.Name+"."+c.Name] = Frame{File: x.source("", c.File), Line: c.Line}
			}
		}
	}
}

var (
	gtestSuite    = lazyregexp.MustCompile(`^\[----------\] \d+ tests? from ([^\s,]+)(?:, where .*)?$`)
	gtestBadSuite = lazyregexp.MustCompile(`^\[  FAILED  \] (\S+): SetUpTest(?:Suite|Case) or TearDownTest(?:Suite|Case)$`)
)

// between takes a line that no test wrote: of the set-up of a suite, or when it is taken down.
func (x *gtestRun) between(line string) {
	if m := gtestSuite.FindStringSubmatch(line); m != nil {
		x.suite = m[1]
		return
	}
	if m := gtestBadSuite.FindStringSubmatch(line); m != nil && !slices.Contains(x.bad, m[1]) {
		x.bad = append(x.bad, m[1])
		return
	}
	if strings.HasPrefix(line, "[----------]") {
		x.suite = "" // it has ended
	}
	if x.suite == "" || strings.HasPrefix(line, "[") {
		return
	}
	if x.outside == nil {
		x.outside = map[string]*gtestOutside{}
	}
	o := x.outside[x.suite]
	if o == nil {
		o = &gtestOutside{kind: "setup"}
		if strings.HasPrefix(x.current, x.suite+".") {
			o.kind = "teardown"
		}
		x.outside[x.suite] = o
	}
	o.text.Write([]byte(line + "\n"))
}

// badSuites tells of suites that could not be set up or taken down, where the report has no word of it: before
// GoogleTest 1.13.
func (x *gtestRun) badSuites() (any bool) {
	for _, suite := range x.bad {
		any = true
		f := []Failure{{Kind: "setup", Message: "SetUpTestSuite or TearDownTestSuite failed"}}
		if o := x.outside[suite]; o != nil {
			f = x.gtestText(strings.TrimSpace(o.text.String()))
			f[0].Kind = o.kind
		}
		x.broken(suite+gtestSuiteEnd, "(SetUpTestSuite or TearDownTestSuite)", suite, f...)
	}
	return any
}

// gtestReport is the JSON report, as the protocol buffer message UnitTest in GoogleTest's documentation has it.
type gtestReport struct {
	Tests, Failures, Disabled int
	Suites                    []struct {
		Name  string
		Tests []struct {
			Name, File, Status, Result, Time, Class string
			Line                                    int
			Value                                   string `json:"value_param"`
			Type                                    string `json:"type_param"`
			Failures                                []gtestMessage
			Skipped                                 []gtestMessage
		} `json:"testsuite"`
	} `json:"testsuites"`
}

type gtestMessage struct{ Failure, Message string }

func (x *gtestRun) end(exit Exit, t *task) {
	var r gtestReport
	if json.Unmarshal(x.json, &r) != nil || len(x.json) == 0 {
		x.endedEarly(exit, t)
		return
	}
	disabled := 0
	for _, s := range r.Suites {
		for _, c := range s.Tests {
			id := s.Name + "." + c.Name
			test := &Test{ID: id, Name: c.Name, Suite: s.Name, File: x.source("", c.File), Line: c.Line, Status: Passed}
			if d, err := time.ParseDuration(c.Time); err == nil {
				test.Duration = d
			}
			if one := x.results[id]; one != nil {
				test.Output = one.text()
			}
			switch {
			case c.Name == "": // of SetUpTestSuite or TearDownTestSuite
				if len(c.Failures) > 0 {
					x.apart-- // GoogleTest counts it
					failures := x.gtestFailures(c.Failures)
					failures[0].Kind = "setup"
					x.broken(s.Name+gtestSuiteEnd, "(SetUpTestSuite or TearDownTestSuite)", s.Name, failures...)
				}
				continue
			case c.Status == "NOTRUN":
				disabled++
				test.Status, test.Reason = Skipped, "disabled by its name (DISABLED_)"
			case len(c.Failures) > 0:
				test.Status, test.Fails, test.Failures = Failed, true, x.gtestFailures(c.Failures)
				for i := range test.Failures {
					if f := &test.Failures[i]; f.File == "" {
						f.File, f.Line = test.File, test.Line
					}
				}
			case c.Result == "SKIPPED":
				test.Status, test.Reason = Skipped, gtestReason(c.Skipped, test.Output)
			}
			if x.ended[id] && test.Status != Passed {
				x.note("%s was told as passed, since the program wrote so, and is %s by its report", id, test.Status)
			}
			x.finished(test)
		}
	}
	x.unfinished(exit, t)
	own := Totals{x.own.Passed, r.Failures, x.own.Skipped + disabled}
	if !x.badSuites() && r.Failures == 0 && (exit.Code != 0 || exit.Signal != "") && !exit.Canceled && !exit.TimedOut {
		f := x.death(exit, t)
		f.Message = "all tests ended, and then " + strings.Replace(f.Message, " while this test ran", "", 1)
		x.broken("(program)", "(program)", "", f)
	}
	x.totals(own) // not where something went wrong outside of tests, which it does not count
}

// endedEarly takes what standard output told, since the report was not written.
func (x *gtestRun) endedEarly(exit Exit, t *task) {
	if !x.ending && x.results[x.current] != nil {
		x.results[x.current].status = ""
	}
	for _, name := range x.names {
		one := x.results[name]
		if one == nil || one.status == "" {
			continue
		}
		test := x.test(name)
		test.Status, test.Output = one.status, one.text()
		if one.status == Failed {
			test.Fails, test.Failures = true, x.gtestText(test.Output)
			test.File, test.Line = test.Failures[0].File, test.Failures[0].Line
		} else if one.status == Skipped {
			test.Reason = gtestReason(nil, test.Output)
		}
		x.finished(test)
	}
	open := len(x.open) > 0
	x.unfinished(exit, t)
	missing := 0
	for _, name := range x.names {
		if x.results[name] == nil && (!strings.Contains(name, "DISABLED_") || x.r.Test == name) {
			missing++
		}
	}
	if exit.Canceled || exit.TimedOut {
		return
	}
	if !open {
		f := x.death(exit, t)
		f.Message = "no test ran, and the program wrote no report: " +
			strings.Replace(f.Message, " while this test ran", "", 1)
		x.broken("(program)", "(program)", "", f)
	}
	filtered := slices.ContainsFunc(x.r.Args, func(a string) bool { return strings.HasPrefix(a, "--gtest_filter") })
	if missing > 0 && !filtered {
		x.note("%d tests did not run: the process ended before", missing)
	}
}
