package testadapter

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/lazyregexp"
)

// Generic runs any command and reads what commands usually write: TAP, the results of automake's harness, libtest, `go
// test`, pytest and of runners with check marks; compilers' and runtimes' errors; sums such as "3 passed, 1 failed". It
// knows only what is written: where no test is named, the command itself is the one test, judged by its exit code, and
// notes say what is not known.
//
// An ID is a name as it was written, or "(command)".
type Generic struct{}

func (Generic) Name() string { return "generic" }

var makeTarget = lazyregexp.MustCompile(`(?m)^(check|test|tests):`)

func (a Generic) Detect(p *Project) Detection {
	if target := a.makes(p); target != "" {
		return Detection{Confidence: 10, Evidence: []string{"the makefile has a target " + target}}
	}
	if _, text := p.testScript(); text != "" {
		pkg := p.packageAt(".")
		d := Detection{Confidence: 12, Evidence: []string{fmt.Sprintf("package.json: script test is %q", head(text, 200))}}
		if spaces := len(pkg.spaces) > 0 || p.isFile("pnpm-workspace.yaml"); spaces && len(pkg.runs("test", 0)) == 0 {
			d.Confidence = 97 // it runs those of all packages, which no framework's adapter does
		}
		return d
	}
	return Detection{}
}

// makes is the target of the makefile that runs tests; "" where there is none.
func (Generic) makes(p *Project) string {
	for _, name := range []string{"GNUmakefile", "Makefile", "makefile"} {
		if m := makeTarget.FindSubmatch(readSome(p.FS, name, 1<<20)); m != nil {
			return string(m[1])
		}
	}
	return ""
}

func (a Generic) Start(p *Project, r *Request, emit func(Event)) (Execution, error) {
	argv := slices.Clone(r.Command)
	if len(argv) == 0 {
		if target := a.makes(p); target != "" {
			argv = []string{"make", target}
		}
	}
	if len(argv) == 0 {
		argv, _ = p.testScript()
	}
	if len(argv) == 0 {
		return nil, fault.New(fault.ValidationError, `Give the command that runs the tests: command ["./run-tests.sh"].`,
			"framework generic needs a command, and there is no Makefile with a target check or test")
	}
	if r.Level != AllLevels {
		return nil, noLevel("an unknown command", "nothing is known of its tests", r.Level)
	}
	x := &genericRun{native: newNative(p, r, emit)}
	x.command, x.chooses = genericCommand(argv, r.Args, r.Test)
	x.fan = fansOut(p, x.command)
	x.command, x.only = oneWorkspace(p, x.command, r.Test)
	if x.only == "" {
		x.command, x.env = x.named(x.command)
	}
	if all := p.packages(); len(all) > 1 {
		x.own = orElse(all[0].Name, all[0].Dir)
		x.knownPackages(all)
		for _, pkg := range all {
			if version := string(pkg.Fields["version"]); version == "" || version == `""` {
				x.nameless = append(x.nameless, pkg)
			}
		}
	}
	x.title = strings.Join(x.command, " ")
	if isShell(x.command) {
		if x.title = x.command[2]; shellPipe.MatchString(x.title) && !strings.Contains(x.title, "pipefail") {
			x.note("the exit code of a pipe is that of its last command, here, too (set -o pipefail; before it changes that)")
		}
	}
	x.run()
	return x, nil
}

func (a Generic) Rerun(p *Project, r *Request, t *Test) Rerun {
	again := Rerun{Dir: p.Root, Test: t.ID, Framework: a.Name()}
	if outside(t.ID) {
		again.Test = ""
	}
	again.Argv, _ = genericCommand(r.Command, r.Args, t.ID)
	if script, _ := p.testScript(); len(again.Argv) == 0 && len(script) > 0 && a.makes(p) == "" {
		again.Argv = append(script, r.Args...)
	}
	if len(again.Argv) == 0 {
		again.Argv = []string{"make", "check"}
		if m := makeTarget.FindSubmatch(readSome(p.FS, "Makefile", 1<<20)); m != nil {
			again.Argv[1] = string(m[1])
		}
	}
	again.Argv, _ = oneWorkspace(p, again.Argv, t.ID)
	return again
}

// isShell says whether a command is a line for a shell.
func isShell(argv []string) bool {
	return len(argv) == 3 && argv[1] == "-c" && (argv[0] == "sh" || argv[0] == "bash")
}

var shellPipe = lazyregexp.MustCompile(`[^|]\|[^|]`)

// genericCommand is a command with its arguments and a test's name in its place. In a line for a shell they are words
// of that line.
func genericCommand(argv, args []string, test string) (command []string, chooses bool) {
	for _, arg := range argv {
		chooses = chooses || strings.Contains(arg, "{test}")
		if !isShell(argv) {
			arg = strings.ReplaceAll(arg, "{test}", test)
		}
		command = append(command, arg)
	}
	if !isShell(argv) {
		return append(command, args...), chooses
	}
	line := command[2]
	for _, arg := range args {
		line += " " + shellQuoted(arg, 0)
	}
	var b strings.Builder
	quote := byte(0)
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case strings.HasPrefix(line[i:], "{test}"):
			b.WriteString(shellQuoted(test, quote))
			i += len("{test}") - 1
			continue
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case c == quote:
			quote = 0
		}
		b.WriteByte(line[i])
	}
	command[2] = b.String()
	return command, chooses
}

// shellQuoted is a text as a part of a line for a shell that means just that text, within quotes or not.
func shellQuoted(s string, within byte) string {
	switch {
	case within == '"':
		return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`").Replace(s)
	case within == '\'':
		return strings.ReplaceAll(s, "'", `'\''`)
	case s != "" && !strings.ContainsAny(s, " \t\n'\"\\$&|;<>()*?[]{}!#~`^"):
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

type genericRun struct {
	native
	title   string // of the command as a test
	command []string
	chooses bool // the command has {test}
	tests   []*genericTest
	byName  map[string]*genericTest
	last    *genericTest // whose lines may follow
	context []string     // the last lines that are no results
	tap     tapState
	sums    []string // lines with the command's own sums
	text    [2]ring

	packages []*npmPackage  // of npm's workspaces, in the order that they ran in
	pkg      *npmPackage    // whose script runs; nil where none is named
	npmCode  int            // the last exit code that npm told
	own      string         // the name of the package at Root
	nameless []*packageJSON // packages without a version, whose script test has not run
	script   string         // of one of them, which begins with the next line
	only     string         // the one that was asked for

	fan    fanOut
	env    []string          // of the command
	spaces []string          // names of the project's packages but its own
	byDir  map[string]string // and all names by their folders
	blamed string            // the one that pnpm last said to have failed
	bailed bool              // and that it waits for no others
}

// genericTest is a result that a line told.
type genericTest struct {
	name    string
	pkg     *npmPackage
	shape   string // which of the forms
	status  Status
	fails   bool
	reason  string
	lines   []string // that belong to it
	follows bool     // what belongs to it comes after its line
}

func (x *genericRun) run() {
	x.byName = map[string]*genericTest{}
	if x.only != "" && x.fan.manager == "yarn" { // which does not say whose lines these are
		x.enters(x.only)
	}
	x.text[0].limit, x.text[1].limit = 256<<10, 256<<10
	t := &task{step: &Step{Argv: x.command, Dir: x.p.Root, Phase: Running,
		Drivers: []string{"make", "gmake", "sh", "bash", "env", "npm", "npx", "pnpm", "yarn", "cargo", "go", "ninja"},
		Env:     x.env}, watch: true}
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
	{"automake", beginsIn("PFXSE"), regexp.MustCompile(`^(?P<word>PASS|FAIL|XFAIL|XPASS|SKIP|ERROR): (?P<name>\S.*?)\s*$`),
		false},
	{"libtest", has(" ... "), regexp.MustCompile(
		`^test (?P<name>\S+(?: - .*)?) \.\.\. (?P<word>ok|FAILED|ignored)(?:, (?P<reason>.*))?$`), false},
	{"go", has("--- "), regexp.MustCompile(`^ *--- (?P<word>PASS|FAIL|SKIP): (?P<name>\S+) \([0-9.]+s\)$`), true},
	{"pytest", has(".py::"), regexp.MustCompile(
		`^(?P<name>\S+\.py::\S.*?) (?P<word>PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)(?: ` +
			`\((?P<reason>.*)\))?\s*(?:\[ *\d+%\])?$`), false},
	{"pytest", has(".py"), regexp.MustCompile(
		`^(?P<word>FAILED|ERROR) (?P<name>\S+\.py(?:::\S.*?)?)(?: - (?P<reason>.*))?$`), false},
	{"marks", has("\xe2\x9c"), regexp.MustCompile(`^\s*(?P<word>[✓✔✗✘✕✖])\s+(?P<name>\S.*?)(?: [(\[][0-9.]+ ?m?s[)\]])?$`),
		false},
}

var resultWords = map[string]Status{"PASS": Passed, "ok": Passed, "PASSED": Passed, "✓": Passed, "✔": Passed,
	"FAIL": Failed, "FAILED": Failed,
	"✗": Failed, "✘": Failed, "✕": Failed, "✖": Failed, "SKIP": Skipped, "SKIPPED": Skipped, "ignored": Skipped,
	"XFAIL": ExpectedFailure,
	"XPASS": UnexpectedPass, "ERROR": Errored}

// sumLines are forms of the sums that runners print.
var sumLines = lazyregexp.MustCompile(
	`(?i)\b\d+ (?:tests? )?(?:passed|passing|failed|failing|failures?|errors?|skipped|pending|ignored|succeeded)\b` +
		`|^(?:Tests run|Tests|Passed|Failed|Test Suites):? +.*\d|\bRan \d+ tests?\b|\(failures=|^# ` +
		`(?:TOTAL|PASS|SKIP|XFAIL|FAIL|XPASS|ERROR): +\d`)

func (x *genericRun) line(s Stream, raw string) {
	x.text[s].WriteString(raw)
	x.text[s].WriteString("\n")
	line := strings.TrimRight(clean(raw), " \t\n")
	if x.fan.manager != "" {
		var told bool
		if line, told = x.managerLine(s, line); told {
			return
		}
	}
	if strings.HasPrefix(line, "> ") && s == Stdout || strings.HasPrefix(line, "npm ") && s == Stderr {
		if x.packageLine(s, line) {
			return
		}
	}
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

// result keeps a test's result. The same name again is the same test, told a second time: a summary, or a retry, whose
// last word counts.
func (x *genericRun) result(shape, name string, status Status, reason string, follows bool) *genericTest {
	const most = 100_000
	t := x.byName[x.key(name)]
	if t == nil {
		if len(x.tests) >= most {
			return &genericTest{}
		}
		t = &genericTest{name: name, pkg: x.pkg}
		x.byName[x.key(name)] = t
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

// key is what a test is known by: two packages may have tests of one name.
func (x *genericRun) key(name string) string {
	if x.pkg == nil {
		return name
	}
	return x.pkg.name + "\x00" + name
}
