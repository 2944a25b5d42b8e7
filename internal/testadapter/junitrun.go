package testadapter

import (
	"cmp"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// junitRun is an execution of a framework that writes a JUnit report when it is over, and nothing where it dies before.
// What tests print stands in the output beside what the framework prints: from there comes only what the report does
// not have.
type junitRun struct {
	*jsRun
	xml []byte
	// whole reads what the report lacks from the output; it is given the tests of the report, which are told after it.
	whole func(tests []*Test)
	// partial reads results from the output where there is no report.
	partial func(exit Exit)
	// line is a line of output as it comes, for phases.
	line     func(line string)
	splitter [2]lineSplitter
}

func (x *junitRun) Next() (*Step, error) {
	x.xml = nil
	for i := range x.splitter {
		x.splitter[i] = lineSplitter{max: 4 << 10, line: func(b []byte) { x.line(clean(string(b))) }}
	}
	return x.jsRun.Next()
}

func (x *junitRun) Output(s Stream, data []byte) {
	x.jsRun.Output(s, data)
	x.splitter[s].Write(data)
}

func (x *junitRun) Report(_ string, data []byte) {
	if len(x.xml) <= maxJUnitBytes {
		x.xml = append(x.xml, data...)
	}
}

func (x *junitRun) End(exit Exit) {
	if x.aside != "" {
		x.jsRun.End(exit)
		return
	}
	report, err := parseJUnit(x.xml)
	tests := x.tests(report)
	if err == nil {
		x.done = true
		x.whole(tests)
	}
	for _, t := range tests {
		x.seen++
		x.res.started(t)
		x.res.finished(t)
	}
	if err != nil {
		if len(tests) > 0 {
			x.res.note("the report is not whole: %v", err)
		}
		x.partial(exit)
	}
	x.jsRun.End(exit)
}

// tests makes tests of a report's cases, with numbers for those of the same name.
func (x *junitRun) tests(report *junitReport) []*Test {
	var tests []*Test
	used := map[string]int{}
	for _, c := range report.Cases {
		file := x.res.rel(absolute(filepath.Join(x.p.Root, x.dir),
			cmp.Or(c.File, c.SuiteFile, strings.Join(c.Suite[:min(1, len(c.Suite))], ""))))
		suite := []string{file}
		if len(c.Suite) > 1 {
			suite = append(suite, c.Suite[1:]...)
		}
		t := &Test{Name: c.Name, Suite: strings.Join(suite, separator), File: file, Line: c.Line, Duration: c.Time,
			Attempts: 1, Status: Passed, Output: c.Out + c.Err}
		t.ID = numbered(used, t.Suite+separator+t.Name)
		if c.Skipped {
			t.Status, t.Reason = Skipped, c.Reason
		}
		for _, problem := range c.Problems {
			t.Status, t.Fails = Failed, true
			t.Failures = append(t.Failures, x.problem(problem))
		}
		tests = append(tests, t)
	}
	return tests
}

// numbered is an ID that is not used: the second of a name has a number.
func numbered(used map[string]int, id string) string {
	used[id]++
	if n := used[id]; n > 1 {
		return id + " #" + strconv.Itoa(n)
	}
	return id
}

// problem makes a failure of a report's element: its text is the error as the runtime shows it, with the stack.
func (x *junitRun) problem(j junitProblem) Failure {
	text := clean(j.Text)
	f := x.failure(wireFailure{Kind: "exception", Message: j.Message, Stack: x.absoluteStack(text)})
	f.Expected, f.Actual = jestSides(clean(j.Message))
	name, _, _ := strings.Cut(firstLine(text), ":")
	if j.Type == "AssertionError" || strings.HasSuffix(name, "AssertionError") || strings.HasPrefix(j.Message, "expect(") {
		f.Kind = "assertion"
	} else if known := cmp.Or(j.Type, name); strings.HasSuffix(known, "Error") && known != "Error" &&
		!strings.Contains(j.Message, known) && !strings.Contains(known, " ") {
		f.Message = known + ": " + f.Message
	}
	return f
}

// absoluteStack makes places absolute that are written relative to where the framework runs.
func (x *junitRun) absoluteStack(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if m := relativeFrame.FindStringSubmatch(line); m != nil && x.p.isFile(path.Join(x.dir, m[2])) {
			line = m[1] + filepath.Join(x.p.Root, x.dir, m[2]) + m[3]
		}
		b.WriteString(line)
	}
	return b.String()
}

// titles are the titles of a file's tests, as far as they are literals, and their lines: for what has no other trace.
func (p *Project) titles(file string) []Frame {
	var titles []Frame
	for i, line := range strings.Split(p.read(file), "\n") {
		if m := titleCall.FindStringSubmatch(line); m != nil {
			titles = append(titles, Frame{Function: m[1] + m[2] + m[3], File: file, Line: i + 1})
		}
	}
	return titles
}

// after is the test that a file declares after the last of those that ended.
func (p *Project) after(file string, ended []string) *Frame {
	titles := p.titles(file)
	last := -1
	for i, t := range titles {
		if slices.Contains(ended, t.Function) {
			last = i
		}
	}
	if last+1 < len(titles) {
		return &titles[last+1]
	}
	return nil
}
