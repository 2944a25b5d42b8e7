package testadapter

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/fault"
)

// Generic runs any command and reads what commands usually write: TAP, the results of automake's harness, libtest, `go test`, pytest
// and of runners with check marks; compilers' and runtimes' errors; sums such as "3 passed, 1 failed". It knows only what is written:
// where no test is named, the command itself is the one test, judged by its exit code, and notes say what is not known.
//
// An ID is a name as it was written, or "(command)".
type Generic struct{}

func (Generic) Name() string { return "generic" }

var makeTarget = regexp.MustCompile(`(?m)^(check|test|tests):`)

func (Generic) Detect(p *Project) Detection {
	for _, name := range []string{"GNUmakefile", "Makefile", "makefile"} {
		if m := makeTarget.FindSubmatch(readSome(p.FS, name, 1<<20)); m != nil {
			return Detection{Confidence: 10, Evidence: []string{fmt.Sprintf("%s has a target %s", name, m[1])}}
		}
	}
	return Detection{}
}

func (a Generic) Start(p *Project, r *Request, emit func(Event)) (Execution, error) {
	argv := slices.Clone(r.Command)
	if len(argv) == 0 {
		for _, name := range []string{"GNUmakefile", "Makefile", "makefile"} {
			if m := makeTarget.FindSubmatch(readSome(p.FS, name, 1<<20)); m != nil && argv == nil {
				argv = []string{"make", string(m[1])}
			}
		}
	}
	if len(argv) == 0 {
		return nil, fault.New(fault.ValidationError, `Give the command that runs the tests: command ["./run-tests.sh"].`, "framework generic needs a command, and there is no Makefile with a target check or test")
	}
	if r.Level != AllLevels {
		return nil, noLevel("an unknown command", "nothing is known of its tests", r.Level)
	}
	x := &genericRun{native: newNative(p, r, emit)}
	for i, arg := range argv {
		if strings.Contains(arg, "{test}") {
			argv[i], x.chooses = strings.ReplaceAll(arg, "{test}", r.Test), true
		}
	}
	x.command = append(argv, r.Args...)
	x.run()
	return x, nil
}

func (a Generic) Rerun(p *Project, r *Request, t *Test) Rerun {
	again := Rerun{Dir: p.Root, Test: t.ID, Framework: a.Name()}
	for _, arg := range append(slices.Clone(r.Command), r.Args...) {
		again.Argv = append(again.Argv, strings.ReplaceAll(arg, "{test}", t.ID))
	}
	if len(again.Argv) == 0 {
		again.Argv = []string{"make", "check"}
		if m := makeTarget.FindSubmatch(readSome(p.FS, "Makefile", 1<<20)); m != nil {
			again.Argv[1] = string(m[1])
		}
	}
	return again
}

type genericRun struct {
	native
	command []string
	chooses bool // the command has {test}
	tests   []*genericTest
	byName  map[string]*genericTest
	last    *genericTest // whose lines may follow
	context []string     // the last lines that are no results
	tap     tapState
	sums    []string // lines with the command's own sums
	text    [2]ring
}

// genericTest is a result that a line told.
type genericTest struct {
	name    string
	shape   string // which of the forms
	status  Status
	fails   bool
	reason  string
	lines   []string // that belong to it
	follows bool     // what belongs to it comes after its line
}

func (x *genericRun) run() {
	x.byName = map[string]*genericTest{}
	x.text[0].limit, x.text[1].limit = 256<<10, 256<<10
	t := &task{step: &Step{Argv: x.command, Dir: x.p.Root, Phase: Running, Drivers: []string{"make", "gmake", "sh", "bash", "env", "npm", "npx", "cargo", "go", "ninja"}}, watch: true}
	t.stdout = func(line string) { x.line(Stdout, line) }
	t.stderr = func(line string) { x.line(Stderr, line) }
	t.end = func(exit Exit) { x.ends(exit, t) }
	x.then(t)
}

// resultForms are lines that tell one test's result. A form's groups are named: name, one of the words of word, reason.
var resultForms = []struct {
	shape   string
	may     func(line string) bool // false: the expression would not match
	re      *regexp.Regexp
	follows bool
}{
	{"automake", beginsIn("PFXSE"), regexp.MustCompile(`^(?P<word>PASS|FAIL|XFAIL|XPASS|SKIP|ERROR): (?P<name>\S.*?)\s*$`), false},
	{"libtest", has(" ... "), regexp.MustCompile(`^test (?P<name>\S+(?: - .*)?) \.\.\. (?P<word>ok|FAILED|ignored)(?:, (?P<reason>.*))?$`), false},
	{"go", has("--- "), regexp.MustCompile(`^ *--- (?P<word>PASS|FAIL|SKIP): (?P<name>\S+) \([0-9.]+s\)$`), true},
	{"pytest", has(".py::"), regexp.MustCompile(`^(?P<name>\S+\.py::\S.*?) (?P<word>PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)(?: \((?P<reason>.*)\))?\s*(?:\[ *\d+%\])?$`), false},
	{"pytest", has(".py"), regexp.MustCompile(`^(?P<word>FAILED|ERROR) (?P<name>\S+\.py(?:::\S.*?)?)(?: - (?P<reason>.*))?$`), false},
	{"marks", has("\xe2\x9c"), regexp.MustCompile(`^\s*(?P<word>[✓✔✗✘✕✖])\s+(?P<name>\S.*?)(?: [(\[][0-9.]+ ?m?s[)\]])?$`), false},
}

var resultWords = map[string]Status{"PASS": Passed, "ok": Passed, "PASSED": Passed, "✓": Passed, "✔": Passed, "FAIL": Failed, "FAILED": Failed,
	"✗": Failed, "✘": Failed, "✕": Failed, "✖": Failed, "SKIP": Skipped, "SKIPPED": Skipped, "ignored": Skipped, "XFAIL": ExpectedFailure,
	"XPASS": UnexpectedPass, "ERROR": Errored}

// sumLines are forms of the sums that runners print.
var sumLines = regexp.MustCompile(`(?i)\b\d+ (?:tests? )?(?:passed|passing|failed|failing|failures?|errors?|skipped|pending|ignored|succeeded)\b|^(?:Tests run|Tests|Passed|Failed|Test Suites):? +.*\d|\bRan \d+ tests?\b|\(failures=|^# (?:TOTAL|PASS|SKIP|XFAIL|FAIL|XPASS|ERROR): +\d`)

func (x *genericRun) line(s Stream, raw string) {
	x.text[s].WriteString(raw)
	x.text[s].WriteString("\n")
	line := strings.TrimRight(clean(raw), " \t\n")
	if s == Stdout && mayBeTAP(line) && x.tapLine(line) {
		return
	}
	for i := range resultForms {
		form := &resultForms[i]
		if !form.may(line) {
			continue
		}
		m := form.re.FindStringSubmatch(line)
		if m == nil || form.shape == "automake" && x.tap.plan {
			continue
		}
		word, name, reason := m[form.re.SubexpIndex("word")], m[form.re.SubexpIndex("name")], ""
		if i := form.re.SubexpIndex("reason"); i >= 0 {
			reason = m[i]
		}
		x.result(form.shape, name, resultWords[word], reason, form.follows)
		return
	}
	if len(x.sums) < 20 && mayBeSum(line) && sumLines.MatchString(line) {
		x.sums = append(x.sums, strings.TrimSpace(line))
	}
	if x.last != nil && x.last.follows && strings.HasPrefix(line, "  ") {
		if len(x.last.lines) < 100 {
			x.last.lines = append(x.last.lines, line)
		}
		return
	}
	x.last = nil
	if x.context = append(x.context, line); len(x.context) > 20 {
		x.context = x.context[1:]
	}
}

// result keeps a test's result. The same name again is the same test, told a second time: a summary, or a retry, whose last word counts.
func (x *genericRun) result(shape, name string, status Status, reason string, follows bool) *genericTest {
	const most = 100_000
	t := x.byName[name]
	if t == nil {
		if len(x.tests) >= most {
			return &genericTest{}
		}
		t = &genericTest{name: name}
		x.byName[name] = t
		x.tests = append(x.tests, t)
	}
	t.shape, t.status, t.follows = shape, status, follows
	t.reason = orElse(reason, t.reason)
	t.fails = status == Failed || status == Errored || status == UnexpectedPass
	if t.fails && !follows && len(t.lines) == 0 {
		t.lines = slices.Clone(x.context)
	}
	x.context = x.context[:0]
	x.last = t
	return t
}
