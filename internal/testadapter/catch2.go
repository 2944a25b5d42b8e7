package testadapter

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/lazyregexp"
)

// Catch2 runs a test program of Catch2, version 2 or 3. Its results are the XML reporter's, written to a file of ours
// (-o) while the tests run, so that what they print is elsewhere. A test case is a test, as the framework counts; its
// sections are told in messages.
//
// An ID is the test case's name, which is unique in a program.
type Catch2 struct{}

func (Catch2) Name() string { return "catch2" }

// catchWords are the option that every Catch2 program knows, and version 3's shared library.
var catchWords = []string{"libidentify", "libCatch2.so"}

func (Catch2) Detect(p *Project) Detection {
	if name := mentions(p, "catch2", "catch.hpp"); name != "" {
		return Detection{Confidence: 30, Evidence: []string{name + " names Catch2; the program is to be given in command"}}
	}
	return Detection{}
}

func (Catch2) DetectCommand(p *Project, command []string) Detection {
	return detectProgram(p, command, catchWords...)
}

func (a Catch2) Start(p *Project, r *Request, emit func(Event)) (Execution, error) {
	argv, err := startProgram(p, r, a.Name(), catchWords...)
	if err != nil {
		return nil, err
	}
	x := &catchRun{native: newNative(p, r, emit), argv: argv}
	if r.Test != "" {
		x.list()
	} else if r.Level != AllLevels {
		x.run("[" + string(r.Level) + "]") // the level's tag
	} else {
		x.run("")
	}
	return x, nil
}

func (a Catch2) Rerun(p *Project, r *Request, t *Test) Rerun {
	if outside(t.ID) {
		return Rerun{Argv: slices.Concat(r.Command, r.Args), Dir: p.Root, Framework: a.Name()}
	}
	return Rerun{Argv: slices.Concat(r.Command, r.Args, []string{catchPattern(t.Name)}), Dir: p.Root, Test: t.ID,
		Framework: a.Name()}
}

// catchPattern is a test specification that means just one name: everything that has a meaning in one is escaped.
func catchPattern(name string) string {
	var b strings.Builder
	for i, r := range name {
		if strings.ContainsRune(`\,[]*"`, r) || i == 0 && (r == '-' || r == '~') || strings.HasPrefix(name, "exclude:") &&
			i == 0 {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

type catchRun struct {
	native
	argv  []string
	feed  xmlFeed
	cur   *catchCase
	seen  int
	own   *Totals
	fatal bool
}

// catchCase is the test case whose elements are read.
type catchCase struct {
	test     Test
	tags     string
	sections []string
	infos    []string
	attrs    map[string]string // of the expression
	original string
	expanded string
	thrown   bool // an exception or a signal inside the expression
	failed   []Failure
	skip     string
	skipped  bool
	success  bool
	judged   bool
}

// list finds the names of the tests, and which of them are hidden. Version 2 has another option for it than version 3,
// and both say which they are.
func (x *catchRun) list() {
	version := ""
	x.then(&task{
		step: &Step{Argv: append(slices.Clone(x.argv), "--libidentify"), Dir: x.p.Root, Phase: Compiling},
		stdout: func(line string) {
			if value, ok := strings.CutPrefix(line, "version:"); ok {
				version = strings.TrimSpace(value)
			}
		},
		end: func(exit Exit) {
			if version == "" {
				x.noProgram(exit)
				return
			}
			options := []string{"--list-tests", "--verbosity", "quiet"}
			if strings.HasPrefix(version, "2.") || strings.HasPrefix(version, "1.") {
				options = []string{"--list-test-names-only"}
			}
			all, shown := x.names(append(options, "[.],~[.]")), x.names(options)
			x.after(func() { x.selected(*all, *shown) })
		},
		watch: true,
	})
}

func (x *catchRun) names(options []string) *[]string {
	names := new([]string)
	x.then(&task{
		step: &Step{Argv: slices.Concat(x.argv, options), Dir: x.p.Root, Phase: Compiling},
		stdout: func(line string) {
			if line != "" {
				// Version 2 puts a name that begins with # into quotes.
				if s := strings.TrimSuffix(strings.TrimPrefix(line, `"`), `"`); strings.HasPrefix(line, `"#`) {
					line = s
				}
				*names = append(*names, line)
			}
		},
	})
	return names
}

func (x *catchRun) selected(all, shown []string) {
	chosen := choose(x.r.Test, shown)
	if !slices.Contains(chosen, x.r.Test) && slices.Contains(all, x.r.Test) || len(chosen) == 0 {
		chosen = choose(x.r.Test, all) // hidden ones run when they are asked for
	}
	if len(chosen) == 0 {
		x.unmatched(all, "")
		return
	}
	for i := range chosen {
		chosen[i] = catchPattern(chosen[i])
	}
	x.run(strings.Join(chosen, ","))
}

func (x *catchRun) run(spec string) {
	report := filepath.Join(x.r.Dir, "catch2.xml")
	argv := append(slices.Clone(x.argv), "--reporter", "xml", "--out", report, "--durations", "yes")
	argv = append(argv, x.r.Args...)
	if spec != "" {
		argv = append(argv, spec)
	}
	x.feed = xmlFeed{open: x.opened, close: x.closed}
	t := &task{step: &Step{Argv: argv, Dir: x.p.Root, Reports: []string{report}, Phase: Running}, watch: true,
		report: func(_ string, data []byte) { x.feed.Write(data) }}
	t.end = func(exit Exit) { x.ends(exit, t) }
	x.then(t)
}

func (x *catchRun) opened(name string, attrs map[string]string) {
	c := x.cur
	switch {
	case name == "TestCase":
		id := attrs["name"]
		for n := 2; x.ended[id] && n < 1000; n++ {
			id = fmt.Sprintf("%s (%d)", attrs["name"], n) // the same name for another fixture
		}
		x.seen++
		x.cur = &catchCase{tags: attrs["tags"], test: Test{ID: id, Name: attrs["name"], File: x.source("", attrs["filename"]),
			Line: number(attrs["line"])}}
		if x.cur.test.Name == "" {
			x.cur.test.ID, x.cur.test.Name = "(anonymous)", "(anonymous)"
		}
		started := x.cur.test
		x.started(&started)
	case name == "OverallResultsCases":
		x.own = &Totals{Passed: number(attrs["successes"]) + number(attrs["expectedFailures"]),
			Failed: number(attrs["failures"]), Skipped: number(attrs["skips"])}
	case c == nil:
	case name == "Section":
		c.sections = append(c.sections, attrs["name"])
	case name == "Expression":
		c.attrs, c.original, c.expanded, c.thrown = attrs, "", "", false
	case name == "OverallResult":
		c.judged, c.success = true, attrs["success"] == "true"
		c.skipped = number(attrs["skips"]) > 0
		c.test.Duration = seconds(cmp.Or(attrs["durationInSeconds"], "0"))
	case c.attrs == nil || attrs["filename"] != "":
		if name == "Failure" || name == "Exception" || name == "FatalErrorCondition" || name == "Skip" {
			c.failed = append(c.failed, Failure{File: x.source("", attrs["filename"]), Line: number(attrs["line"])})
		}
	}
}

func (x *catchRun) closed(name, text string) {
	c := x.cur
	if c == nil {
		return
	}
	text = strings.TrimSpace(text)
	switch name {
	case "Section":
		if len(c.sections) > 0 {
			c.sections = c.sections[:len(c.sections)-1]
		}
		c.infos = nil
	case "Info", "Warning":
		if len(c.infos) < 50 {
			c.infos = append(c.infos, text)
		}
	case "Original":
		c.original = text
	case "Expanded":
		c.expanded = text
	case "Failure", "Exception", "FatalErrorCondition", "Skip":
		x.said(c, name, text)
	case "Expression":
		if c.attrs["success"] == "false" && !c.thrown {
			f := Failure{Kind: "assertion", File: x.source("", c.attrs["filename"]), Line: number(c.attrs["line"]),
				Message: c.attrs["type"] + "( " + c.original + " )\nwith expansion: " + c.expanded}
			f.Actual, f.Expected = comparison(c.expanded)
			c.failed = append(c.failed, c.within(f))
		}
		c.attrs, c.infos = nil, nil
	case "StdOut", "StdErr":
		c.test.Output = strings.TrimPrefix(c.test.Output+"\n"+text, "\n")
	case "TestCase":
		x.judge(c)
		x.cur = nil
	}
}

// said reads what is no comparison: the failure was begun where its element was.
func (x *catchRun) said(c *catchCase, name, text string) {
	if len(c.failed) == 0 {
		return
	}
	f := &c.failed[len(c.failed)-1]
	switch name {
	case "Skip":
		c.skip = text
		c.failed = c.failed[:len(c.failed)-1]
		return
	case "Failure":
		f.Kind, f.Message = "assertion", text
	case "Exception":
		f.Kind, f.Message = "exception", "unexpected exception: "+text
		if c.attrs != nil {
			f.Message = c.attrs["type"] + "( " + c.original + " ) threw: " + text
		}
	case "FatalErrorCondition":
		f.Kind, f.Message = "crash", text
		f.Signal, _, _ = strings.Cut(text, " ")
		if !catchSignal.MatchString(f.Signal) {
			f.Signal = ""
		}
		x.fatal = true
	}
	c.thrown = true
	*f = c.within(*f)
	c.infos = nil
}

var catchSignal = lazyregexp.MustCompile(`^SIG[A-Z]+$`)

// within adds the sections and messages around a failure.
func (c *catchCase) within(f Failure) Failure {
	for _, info := range c.infos {
		f.Message += "\n" + info
	}
	if len(c.sections) > 0 {
		f.Message += "\nin section " + strings.Join(c.sections, " > ")
	}
	return f
}

func (x *catchRun) judge(c *catchCase) {
	t := &c.test
	t.Status = Passed
	switch {
	case slices.ContainsFunc(c.failed, func(f Failure) bool { return f.Kind == "crash" }):
		t.Status, t.Fails, t.Failures = Crashed, true, c.failed
	case c.success && len(c.failed) > 0:
		t.Status, t.Failures = ExpectedFailure, c.failed
	case c.success && c.skipped:
		t.Status, t.Reason = Skipped, c.skip
	case c.success:
	case len(c.failed) > 0:
		t.Status, t.Fails, t.Failures = Failed, true, c.failed
	case strings.Contains(c.tags, "[!shouldfail]"):
		t.Status, t.Fails = UnexpectedPass, true
		t.Failures = []Failure{{Kind: "assertion", File: t.File, Line: t.Line,
			Message: "tagged [!shouldfail], and did not fail"}}
	default:
		t.Status, t.Fails = Failed, true
		t.Failures = []Failure{{Kind: "assertion", File: t.File, Line: t.Line,
			Message: "no assertion failed, and Catch2 says that the test did (see --warn NoAssertions)"}}
	}
	x.finished(t)
}

func (x *catchRun) ends(exit Exit, t *task) {
	if c := x.cur; c != nil && x.open[c.test.ID] != nil {
		c.test.Failures = c.failed
		*x.open[c.test.ID] = c.test // with what had failed before its end
	}
	if len(x.open) > 0 {
		x.cutShort(exit, t)
		return
	}
	switch {
	case exit.Canceled || exit.TimedOut:
	case x.fatal:
		x.note("tests after the crash did not run: the process ended")
	case x.own == nil:
		x.noProgram(exit)
		return
	case x.count.Failed == 0 && (exit.Signal != "" || exit.Code != 0 && x.seen > 0 &&
		!(x.count.Passed == 0 && x.count.Skipped > 0)):
		f := x.death(exit, t)
		f.Message = "all tests ended, and then " + strings.Replace(f.Message, " while this test ran", "", 1)
		x.broken("(program)", "(program)", "", f)
	}
	if x.own != nil {
		x.totals(*x.own)
	}
	if x.seen == 0 && x.own != nil && x.r.Level != AllLevels {
		x.note("no test of this program has the tag [%s], which is what level %s means to Catch2", x.r.Level, x.r.Level)
	}
}

// cutShort ends the test whose element has no end.
func (x *catchRun) cutShort(exit Exit, t *task) {
	last := x.order[len(x.order)-1]
	x.cur = nil
	x.unfinished(exit, t)
	if !exit.Canceled && !exit.TimedOut {
		x.note("tests after %q did not run: the process ended", last)
	}
}

func (x *catchRun) noProgram(exit Exit) {
	f := x.death(exit, x.now)
	f.Message = "the program did not do what a Catch2 program does: " +
		strings.Replace(f.Message, " while this test ran", "", 1)
	x.broken("(program)", "(program)", "", f)
}
