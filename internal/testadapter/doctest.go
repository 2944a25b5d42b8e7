package testadapter

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Doctest runs a test program of doctest (the C++ framework). Its list of tests and its results come through the XML
// reporter, written to files of ours (--out) while the program runs. A test case is a test, as the framework counts;
// subcases are told in messages.
//
// An ID is the test case's name; where several have the same, "name (suite, file:line)". Test suites are levels.
type Doctest struct{}

func (Doctest) Name() string { return "doctest" }

var doctestWords = []string{"[doctest] doctest version is", "dt-list-test-cases", "list-test-suites"}

func (Doctest) Detect(p *Project) Detection {
	if name := mentions(p, "doctest"); name != "" {
		return Detection{Confidence: 30, Evidence: []string{name + " names doctest; the program is to be given in command"}}
	}
	return Detection{}
}

func (Doctest) DetectCommand(p *Project, command []string) Detection {
	return detectProgram(p, command, doctestWords...)
}

func (a Doctest) Start(p *Project, r *Request, emit func(Event)) (Execution, error) {
	argv, err := startProgram(p, r, a.Name(), doctestWords...)
	if err != nil {
		return nil, err
	}
	x := &doctestRun{native: newNative(p, r, emit), argv: argv}
	x.list()
	return x, nil
}

func (a Doctest) Rerun(p *Project, r *Request, t *Test) Rerun {
	if outside(t.ID) {
		return Rerun{Argv: slices.Concat(r.Command, r.Args), Dir: p.Root, Framework: a.Name()}
	}
	argv := slices.Concat(r.Command, r.Args, []string{"--test-case=" + doctestFilter(t.Name), "--case-sensitive=true"})
	if t.Suite != "" {
		argv = append(argv, "--test-suite="+doctestFilter(t.Suite))
	}
	if t.Status == Skipped {
		argv = append(argv, "--no-skip=true")
	}
	return Rerun{Argv: argv, Dir: p.Root, Test: t.ID, Framework: a.Name()}
}

// doctestFilter is a filter of one name. Commas separate filters unless a backslash is before them; wildcards cannot be
// escaped, and match themselves besides others.
func doctestFilter(name string) string { return strings.ReplaceAll(name, ",", `\,`) }

// doctestTest is a test of the list.
type doctestTest struct {
	test    Test
	skipped bool // by a decorator
}

type doctestRun struct {
	native
	argv     []string
	tests    []*doctestTest
	keep     map[string]bool // IDs to tell of; nil: all
	filtered bool            // others are reported as skipped
	suite    string
	cur      *doctestCase
	own      *Totals
	fatal    bool
}

// doctestCase is the test case whose elements are read.
type doctestCase struct {
	test     Test
	attrs    map[string]string // of the test case
	result   map[string]string // of its OverallResultsAsserts
	subcases []string
	expr     map[string]string
	original string
	expanded string
	infos    []string
	message  map[string]string
	failed   []Failure
	crash    string // attribute of the exception
}

func doctestKey(name, file, line string) string { return name + "\x00" + file + ":" + line }

// list reads the tests that there are.
func (x *doctestRun) list() {
	report := filepath.Join(x.r.Dir, "doctest-list.xml")
	count := map[string]int{}
	seen := map[string]bool{}
	feed := xmlFeed{open: func(name string, attrs map[string]string) {
		if name != "TestCase" || len(x.tests) >= 200_000 ||
			seen[doctestKey(attrs["name"], attrs["filename"], attrs["line"])] {
			return
		}
		seen[doctestKey(attrs["name"], attrs["filename"], attrs["line"])] = true
		count[attrs["name"]]++
		x.tests = append(x.tests, &doctestTest{skipped: attrs["skipped"] == "true",
			test: Test{Name: orElse(attrs["name"], "(anonymous)"), Suite: attrs["testsuite"],
				File: x.source("", attrs["filename"]), Line: number(attrs["line"])}})
	}}
	t := &task{step: &Step{Argv: append(slices.Clone(x.argv), "--list-test-cases", "--no-skip=true", "--reporters=xml",
		"--out="+report), Dir: x.p.Root, Phase: Compiling, Reports: []string{report}},
		report: func(_ string, data []byte) { feed.Write(data) }, watch: true}
	t.end = func(exit Exit) {
		for _, one := range x.tests {
			one.test.ID = one.test.Name
			if count[one.test.Name] > 1 {
				one.test.ID = fmt.Sprintf("%s (%s, %s:%d)", one.test.Name, one.test.Suite, one.test.File, one.test.Line)
			}
		}
		if len(x.tests) == 0 && (exit.Code != 0 || exit.Signal != "") {
			x.noProgram(exit, t)
			return
		}
		x.selected()
	}
	x.then(t)
}

func (x *doctestRun) selected() {
	var args []string
	if x.r.Level != AllLevels {
		x.filtered, x.keep = true, map[string]bool{}
		var suites []string
		for _, one := range x.tests {
			if name := strings.ToLower(one.test.Suite); name == string(x.r.Level) ||
				strings.HasPrefix(name, string(x.r.Level)+" ") || strings.HasPrefix(name, string(x.r.Level)+":") {
				x.keep[one.test.ID] = true
				if !slices.Contains(suites, one.test.Suite) {
					suites = append(suites, one.test.Suite)
				}
			}
		}
		if len(suites) == 0 {
			x.note("no test suite of this program is named %s, which is what the level means to doctest", x.r.Level)
			return
		}
		for i := range suites {
			suites[i] = doctestFilter(suites[i])
		}
		args = append(args, "--test-suite="+strings.Join(suites, ","))
	}
	if x.r.Test != "" {
		var ids []string
		for _, one := range x.tests {
			ids = append(ids, one.test.ID)
		}
		chosen := choose(x.r.Test, ids)
		if len(chosen) == 0 {
			x.unmatched(ids, "")
			return
		}
		x.filtered, x.keep = true, map[string]bool{}
		var filters []string
		for _, one := range x.tests {
			if slices.Contains(chosen, one.test.ID) {
				x.keep[one.test.ID] = true
				filters = append(filters, doctestFilter(one.test.Name))
				if one.test.ID == x.r.Test && one.skipped {
					args = append(args, "--no-skip=true") // it was asked for by its name
				}
			}
		}
		args = append(args, "--case-sensitive=true", "--test-case="+strings.Join(filters, ","))
	}
	x.run(args)
}

func (x *doctestRun) run(args []string) {
	report := filepath.Join(x.r.Dir, "doctest.xml")
	argv := slices.Concat(x.argv, []string{"--reporters=xml", "--out=" + report, "--duration=true"}, x.r.Args, args)
	feed := xmlFeed{open: x.opened, close: x.closed}
	t := &task{step: &Step{Argv: argv, Dir: x.p.Root, Reports: []string{report}, Phase: Running}, watch: true,
		report: func(_ string, data []byte) { feed.Write(data) }}
	t.end = func(exit Exit) { x.ends(exit, t) }
	x.then(t)
}

func (x *doctestRun) opened(name string, attrs map[string]string) {
	c := x.cur
	switch {
	case name == "TestCase":
		x.cur = x.begin(attrs)
	case name == "OverallResultsTestCases":
		x.own = &Totals{Passed: number(attrs["successes"]), Failed: number(attrs["failures"]),
			Skipped: number(attrs["skipped"])}
	case c == nil:
	case name == "SubCase":
		c.subcases = append(c.subcases, attrs["name"])
	case name == "Expression":
		c.expr, c.original, c.expanded, c.infos = attrs, "", "", nil
	case name == "Message":
		c.message, c.infos = attrs, nil
	case name == "Exception":
		c.crash = attrs["crash"]
	case name == "OverallResultsAsserts":
		c.result = attrs
	}
}

// begin finds the test of the list that an element is of; nil: one that was not asked for.
func (x *doctestRun) begin(attrs map[string]string) *doctestCase {
	name := orElse(attrs["name"], "(anonymous)")
	file, line := x.source("", attrs["filename"]), number(attrs["line"])
	for _, one := range x.tests {
		if one.test.Name != name || one.test.File != file || one.test.Line != line || x.ended[one.test.ID] {
			continue
		}
		if x.keep != nil && !x.keep[one.test.ID] {
			return nil
		}
		if attrs["skipped"] != "true" {
			started := one.test
			x.started(&started)
		} else if !one.skipped || slices.ContainsFunc(x.r.Args,
			func(a string) bool { return strings.Contains(a, "no-skip") }) {
			x.filtered = true // by the user's own arguments
			return nil
		}
		return &doctestCase{test: one.test, attrs: attrs}
	}
	return nil
}

func (x *doctestRun) ends(exit Exit, t *task) {
	if c := x.cur; c != nil && x.open[c.test.ID] != nil {
		c.test.Failures = c.failed
		*x.open[c.test.ID] = c.test // with what had failed before its end
	}
	if len(x.open) > 0 {
		last := x.order[len(x.order)-1]
		x.cur = nil
		x.unfinished(exit, t)
		if !exit.Canceled && !exit.TimedOut {
			x.note("tests after %q did not run: the process ended", last)
		}
		return
	}
	switch {
	case exit.Canceled || exit.TimedOut:
		return
	case x.fatal:
		x.note("tests after the crash did not run: the process ended")
		return // its totals count those as skipped
	case x.own == nil:
		x.noProgram(exit, t)
		return
	case x.count.Failed == 0 && (exit.Signal != "" || exit.Code != 0):
		f := x.death(exit, t)
		f.Message = "all tests ended, and then " + strings.Replace(f.Message, " while this test ran", "", 1)
		x.broken("(program)", "(program)", "", f)
	}
	if x.filtered {
		x.own.Skipped = -1 // it counts all that was not asked for
	}
	x.totals(*x.own)
}

func (x *doctestRun) noProgram(exit Exit, t *task) {
	f := x.death(exit, t)
	f.Message = "the program did not do what a doctest program does: " +
		strings.Replace(f.Message, " while this test ran", "", 1)
	x.broken("(program)", "(program)", "", f)
}
