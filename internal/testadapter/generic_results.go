package testadapter

import (
	"fmt"
	"strings"

	"github.com/strobe-debug/strobe/internal/lazyregexp"
)

// tapState is where in a TAP stream a reader is; the specification is testanything.org's, versions 12 to 14.
type tapState struct {
	plan    bool // "1..N" or a version was seen: the stream is TAP
	planned int  // N; -1: not said
	yaml    bool // in a block of diagnostics
	points  int
	bail    string
	early   []string // lines that are test points, and what is said of them, if a plan follows: Mocha's comes last
}

var (
	tapPlan  = lazyregexp.MustCompile(`^1\.\.(\d+)(?:\s*#\s*(.*))?$`)
	tapPoint = lazyregexp.MustCompile(`^(ok|not ok)\b(?: +(\d+))?(?: +-)?(?: +(.*))?$`)
	tapTurn  = lazyregexp.MustCompile(`(?i)^((?:.*[^\\])?)\s*#\s*(skip|todo)\S*(?:\s+(.*))?$`)
)

// tapLine reads a line of TAP; false: it is none. Test points before the plan count when the plan comes at the end.
func (x *genericRun) tapLine(line string) bool {
	t := &x.tap
	switch {
	case strings.HasPrefix(line, "TAP version ") && t.points == 0:
		t.plan, t.planned = true, -1
	case tapPlan.MatchString(line):
		t.plan, t.planned = true, number(tapPlan.FindStringSubmatch(line)[1])
		early := t.early
		t.early = nil
		for _, line := range early {
			if tapPoint.MatchString(line) {
				x.tapPoint(line)
			} else {
				x.tapDetail(line)
			}
		}
	case tapPoint.MatchString(line):
		if !t.plan {
			x.tapEarly(line)
			return false
		}
		x.tapPoint(line)
	case t.plan && strings.HasPrefix(line, "Bail out!"):
		t.bail = strings.TrimSpace(strings.TrimPrefix(line, "Bail out!"))
		if t.bail == "" {
			t.bail = "no reason given"
		}
	case !strings.HasPrefix(line, "  ") && !strings.HasPrefix(line, "#"):
		return false
	case t.plan && x.last != nil && x.last.shape == "tap":
		x.tapDetail(line)
	default:
		if !t.plan && len(t.early) > 0 {
			x.tapEarly(line)
		}
		return false
	}
	return true
}

func (x *genericRun) tapEarly(line string) {
	const most = 10_000
	if len(x.tap.early) < most {
		x.tap.early = append(x.tap.early, line)
	}
}

// tapDetail is a line that belongs to the last test point.
func (x *genericRun) tapDetail(line string) {
	if text := strings.TrimSpace(strings.TrimPrefix(line, "#")); text != "---" && text != "..." &&
		len(x.last.lines) < 100 {
		x.last.lines = append(x.last.lines, text)
	}
}

func (x *genericRun) tapPoint(line string) {
	m := tapPoint.FindStringSubmatch(line)
	x.tap.points++
	status, name, reason := Passed, m[3], ""
	if m[1] == "not ok" {
		status = Failed
	}
	if turn := tapTurn.FindStringSubmatch(name); turn != nil {
		name, reason = turn[1], turn[3]
		switch todo := strings.EqualFold(turn[2], "todo"); {
		case !todo:
			status = Skipped
		case status == Failed:
			status = Todo
		default:
			status, reason = Passed, "" // a to-do that works is a bonus, not a failure
		}
	}
	name = strings.TrimSpace(strings.NewReplacer(`\#`, "#", `\\`, `\`).Replace(name))
	if name == "" {
		name = fmt.Sprintf("test %d", x.tap.points)
	}
	if x.byName[x.key(name)] != nil {
		name = fmt.Sprintf("%s (%d)", name, x.tap.points)
	}
	x.context = x.context[:0]
	t := x.result("tap", name, status, reason, true)
	t.reason = reason
}

// ends tells all results: until then a parent is not known from a leaf, nor a first word from the last.
func (x *genericRun) ends(exit Exit, t *task) {
	parents := map[string]bool{}
	for _, one := range x.tests {
		if i := strings.LastIndexByte(one.name, '/'); one.shape == "go" && i > 0 {
			parents[one.name[:i]] = true
		}
	}
	told := 0
	for _, one := range x.tests {
		if one.pkg != nil {
			one.pkg.told++
			if one.fails {
				one.pkg.fails++
			}
		}
		name := x.inPackage(one.pkg, one.name)
		if parents[one.name] || x.r.Test != "" && !strings.Contains(name, x.r.Test) && !x.chooses {
			continue
		}
		told++
		x.finished(x.testOf(one))
	}
	if exit.Canceled {
		return
	}
	x.unfinished(exit)
	x.tapEnds(x.pkg, &x.tap, exit)
	for _, p := range x.packages {
		if p != x.pkg {
			x.tapEnds(p, &p.tap, exit)
		}
	}
	if x.several() {
		x.packageEnds(exit)
	}
	failed := exit.Code != 0 || exit.Signal != "" || exit.TimedOut
	if said := shellSaid.FindString(x.text[Stderr].String()); said != "" && !failed && isShell(x.command) {
		x.note("the command ended with code 0, though its shell said: %s", said)
	}
	switch {
	case len(x.tests) == 0 && x.several():
	case len(x.tests) == 0:
		x.whole(exit, t, failed)
	case exit.TimedOut:
		status, _ := exit.ended("")
		x.finished(&Test{ID: "(command)", Name: x.title, Status: status, Fails: true, Failures: x.failures(exit, t)})
	case failed && x.count.Failed == 0 && x.r.Test == "":
		x.broken("(command)", "(command)", "", x.failures(exit, t)...)
	case !failed && x.count.Failed > 0:
		x.note("the command ended with code 0, though its output names failed tests")
	}
	if x.r.Test != "" && !x.chooses && len(x.tests) > 0 {
		x.note("the command has no place for a test's name ({test}): all of it ran, and only tests whose names contain %q "+
			"are told", x.r.Test)
		if told == 0 {
			var names []string
			for _, one := range x.tests {
				names = append(names, one.name)
			}
			x.unmatched(names, "")
		}
	}
	if len(x.sums) > 0 {
		x.note("the command's own sums: %s", strings.Join(x.sums, " · "))
	}
	if own, ok := x.automakeTotals(); ok && x.r.Test == "" {
		x.totals(own)
	}
	if x.onlyFailures() {
		x.note("the output names only tests that failed: those that passed are not counted")
	}
}

// tapEnds tells what a stream of TAP lacks.
func (x *genericRun) tapEnds(p *npmPackage, t *tapState, exit Exit) {
	switch {
	case t.bail != "":
		id := x.inPackage(p, "(bail out)")
		x.broken(id, id, "", Failure{Kind: "exit", Message: "Bail out! " + t.bail})
	case t.plan && t.planned > t.points && !exit.TimedOut && (p == nil || !p.open): // the rest had no time
		id := x.inPackage(p, "(plan)")
		x.broken(id, id, "", Failure{Kind: "exit",
			Message: fmt.Sprintf("%d tests were planned, and %d were told of", t.planned, t.points)})
	}
}

// shellSaid is what a shell says of a command of its line that it could not run, or that died.
var shellSaid = lazyregexp.MustCompile(
	`(?m)^(?:bash: line |sh: )\d+: .*(?:not found|No such file or directory|Permission ` +
		`denied|Killed|Aborted|Segmentation fault|Bus error|Illegal instruction|Floating point exception).*$`)

var automakeSum = lazyregexp.MustCompile(`^# (PASS|SKIP|XFAIL|FAIL|XPASS|ERROR): +(\d+)$`)

// automakeTotals are the sums of automake's harness, where it ran once.
func (x *genericRun) automakeTotals() (own Totals, ok bool) {
	lines := 0
	for _, line := range x.sums {
		m := automakeSum.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		lines++
		switch n := number(m[2]); m[1] {
		case "PASS", "XFAIL":
			own.Passed += n
		case "SKIP":
			own.Skipped += n
		default:
			own.Failed += n
		}
	}
	return own, lines == 6
}

// onlyFailures says whether the output has the form of runners that do not name what passed.
func (x *genericRun) onlyFailures() bool {
	for _, one := range x.tests {
		if !one.fails || one.shape == "tap" || one.shape == "automake" {
			return false
		}
	}
	return len(x.tests) > 0
}

// whole is the command as the one test.
func (x *genericRun) whole(exit Exit, t *task, failed bool) {
	test := &Test{ID: "(command)", Name: x.title, Status: Passed, Duration: exit.Duration}
	if failed {
		test.Status, test.Fails, test.Failures = Failed, true, x.failures(exit, t)
		switch {
		case exit.TimedOut:
			test.Status, _ = exit.ended("")
		case exit.Signal != "" || exit.Code > 128:
			test.Status = Crashed
		case test.Failures[0].Kind == "compile":
			test.Status = Errored
		}
	}
	test.Output = x.text[Stderr].String()
	if strings.TrimSpace(test.Output) == "" {
		test.Output = x.text[Stdout].String()
	}
	x.finished(test)
	x.note("the output names no tests: the command itself is told as one, judged by its exit code")
}

// failures are why the command failed, as far as its output tells.
func (x *genericRun) failures(exit Exit, t *task) []Failure {
	f := x.death(exit, t)
	f.Message = strings.Replace(f.Message, " while this test ran", "", 1)
	if exit.TimedOut {
		return []Failure{f}
	}
	for _, s := range []Stream{Stderr, Stdout} {
		all := x.explain(x.text[s].String(), f, "")
		if all[0].Message != f.Message || all[0].File != f.File {
			for i := range all {
				if exit.Signal == "" && exit.Code <= 128 && all[i].Kind == "exit" && (all[i].Column > 0 || all[i].Line == 0) {
					all[i].Kind = "compile"
				}
			}
			return all
		}
	}
	return []Failure{f}
}

func (x *genericRun) testOf(one *genericTest) *Test {
	name := x.inPackage(one.pkg, one.name)
	t := &Test{ID: name, Name: name, Status: one.status, Fails: one.fails}
	if one.status == Skipped || one.status == Todo {
		t.Reason = one.reason
	}
	if !one.fails {
		return t
	}
	text := strings.TrimSpace(strings.Join(one.lines, "\n"))
	f := Failure{Kind: map[bool]string{true: "setup", false: "assertion"}[one.status == Errored],
		Message: orElse(one.reason, orElse(text, "the output says that it failed, and not why"))}
	if one.status == UnexpectedPass {
		f.Message = orElse(one.reason, "passed against what was expected")
	}
	if one.shape == "go" {
		if logs := goLogs(one.lines); len(logs) > 0 {
			f.Message, f.File, f.Line = logs[len(logs)-1].text, logs[len(logs)-1].file, logs[len(logs)-1].line
			sides(&f, f.Message)
		}
	} else {
		found := x.explain(text, f, "")
		if found[0].File != "" {
			f = found[0]
		} else if m := tapAt.FindStringSubmatch(text); m != nil {
			f.File, f.Line = x.source("", m[1]), number(m[2])
		}
		if e, a := tapExpected.FindStringSubmatch(text), tapActual.FindStringSubmatch(text); e != nil && a != nil {
			f.Expected, f.Actual = e[1], a[1]
		}
	}
	t.Failures, t.File, t.Line = []Failure{f}, f.File, f.Line
	return t
}

var (
	tapAt       = lazyregexp.MustCompile(`(?m)^\s*(?:at|location|file): ['"]?(?:file://)?([^\s:'"]+):(\d+)`)
	tapExpected = lazyregexp.MustCompile(`(?m)^\s*(?:expected|wanted|want): +(.*)$`)
	tapActual   = lazyregexp.MustCompile(`(?m)^\s*(?:actual|found|got): +(.*)$`)
)
