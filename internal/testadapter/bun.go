package testadapter

import (
	"cmp"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/strobe-debug/strobe/internal/lazyregexp"
)

// Bun runs tests through bun test, whose JUnit report tells the results; the output has what that lacks.
type Bun struct{}

// Name is the framework's.
func (Bun) Name() string { return "bun" }

// Detect reads package.json's scripts, and looks for files that import bun:test.
func (Bun) Detect(p *Project) Detection {
	best := jsFramework{name: "bun"}.detect(p)
	for _, pkg := range p.packages() {
		if best.Confidence > 0 {
			return best
		}
		for _, name := range p.files(pkg.Dir, jsTest.Get(), 20) {
			if !strings.Contains(p.read(name), "bun:test") {
				continue
			}
			d := Detection{Confidence: 84, Evidence: []string{name + " imports bun:test"}, Dir: strings.TrimPrefix(pkg.Dir, ".")}
			for other, script := range pkg.uses() {
				if script == "test" {
					d.Confidence = 40
					d.Evidence = append(d.Evidence, "but script test runs "+other)
				}
			}
			return d
		}
	}
	return best
}

// Start prepares a run.
func (a Bun) Start(p *Project, r *Request, emit func(Event)) (Execution, error) {
	dir := a.Detect(p).dir()
	bun, err := p.command("bun", "Install Bun, or put it into PATH.")
	if err != nil {
		return nil, err
	}
	level, err := p.jsLevel(dir, r.Level, "bun")
	if err != nil {
		return nil, err
	}
	one := *r
	one.Test = strings.TrimSuffix(r.Test, bunHook) // a hook runs with its suite
	r = &one
	x := newJSRun("bun", p, r, emit, dir, &nodeTool{argv: []string{bun}}, "")
	x.base = append([]string{"test"}, dotted(level)...)
	x.reported = func(report string) []string { return []string{"--reporter=junit", "--reporter-outfile=" + report} }
	x.script, x.text, x.marks = p.script(dir, "bun"), 4<<20, true
	x.pattern = func(full string) []string { return []string{"--test-name-pattern", full} }
	x.none = func(text string) bool {
		return strings.Contains(text, "No tests found") || strings.Contains(text, "had no matches") ||
			strings.Contains(text, "matched 0 tests")
	}
	b := &bunRun{junitRun: &junitRun{jsRun: x}}
	b.whole, b.partial, b.line = b.add, b.guess, b.phase
	if _, err := x.start(); err != nil {
		return nil, err
	}
	return b, nil
}

// dotted makes paths of folders, which Bun otherwise takes for parts of names.
func dotted(level []string) []string {
	for i, at := range level {
		if strings.HasSuffix(at, "/") {
			level[i] = "./" + at
		}
	}
	return level
}

type bunRun struct{ *junitRun }

var (
	bunFile    = lazyregexp.MustCompile(`^(?:::group::)?(\S.*\.[cm]?[jt]sx?):$`)
	bunResult  = lazyregexp.MustCompile(`^\((pass|fail|skip|todo)\) (.*?)(?: \(attempt (\d+)\))?(?: \[[\d.]+m?s\])?$`)
	bunBetween = lazyregexp.MustCompile(`(?s)# Unhandled error between tests\n-{10,}\n(.*?)\n-{10,}\n`)
	bunCount   = lazyregexp.MustCompile(`(?m)^ *(\d+) (pass|skip|todo|fail|errors?|filtered out)$`)
	bunEnd     = lazyregexp.MustCompile(`(?m)^Ran \d+ tests? across \d+ files?\.`)
)

// phase tells which file runs.
func (b *bunRun) phase(line string) {
	if m := bunFile.FindStringSubmatch(line); m != nil && b.p.isFile(m[1]) {
		b.res.emit(Event{Kind: PhaseChanged, Phase: Running, Text: m[1]})
	}
}

// counts are those that Bun ends with; what tests print stands before.
func (b *bunRun) counts(text string) map[string]int {
	ends := bunEnd.FindAllStringIndex(text, -1)
	if len(ends) == 0 {
		return nil
	}
	const room = 400
	last := ends[len(ends)-1][0]
	counts := map[string]int{}
	for _, m := range bunCount.FindAllStringSubmatch(text[max(last-room, 0):last], -1) {
		n, err := strconv.Atoi(m[1])
		if err == nil {
			counts[strings.Replace(m[2], "errors", "error", 1)] = n
		}
	}
	return counts
}

// add reads what the report lacks: attempts, expected failures, errors outside of tests, and Bun's own counts.
func (b *bunRun) add(tests []*Test) {
	text := b.err.String()
	attempts := map[string]int{}
	for line := range strings.Lines(text) {
		if m := bunResult.FindStringSubmatch(strings.TrimRight(line, "\n")); m != nil && m[3] != "" {
			attempts[m[2]], _ = strconv.Atoi(m[3])
		}
	}
	for _, t := range tests {
		_, names, _ := strings.Cut(t.Suite+separator+t.Name, separator)
		if n := attempts[names]; n > 1 {
			t.Attempts, t.Flaky = n, !t.Fails
		}
		b.judge(t)
	}
	counts := b.counts(text)
	if counts == nil {
		return
	}
	b.res.own = &Totals{Passed: counts["pass"], Failed: counts["fail"], Skipped: counts["skip"] + counts["todo"] +
		counts["filtered out"]}
	blocks := bunBetween.FindAllStringSubmatchIndex(text, -1)
	n := counts["error"]
	for i := range n {
		if len(blocks) != n {
			b.troubledOnce("(error)", i, Failure{Kind: "exception", Message: "an error outside of tests; the output has it"})
			continue
		}
		b.between(text, blocks[i], i)
	}
	// Bun counts an error outside of tests as a failure of its own.
	b.res.own.Failed -= n
}

func (b *bunRun) troubledOnce(id string, i int, f Failure) {
	if b.res.ended[id] {
		id += " #" + strconv.Itoa(i+1)
	}
	b.res.troubled(id, f.File, f)
}

// between tells an error outside of tests, as of a file that does not load.
func (b *bunRun) between(text string, at []int, i int) {
	block := text[at[2]:at[3]]
	file := ""
	for line := range strings.Lines(text[:at[0]]) {
		if m := bunFile.FindStringSubmatch(strings.TrimRight(line, "\n")); m != nil && b.p.isFile(m[1]) {
			file = m[1]
		}
	}
	var said []string
	for line := range strings.Lines(block) {
		trimmed := strings.TrimSpace(line)
		switch {
		case codeLine.MatchString(line), trimmed == "^", trimmed == "":
		case strings.HasPrefix(trimmed, "at "), strings.HasPrefix(trimmed, "::error "): // again, for GitHub
		default:
			said = append(said, strings.TrimPrefix(trimmed, "error: "))
		}
	}
	f := b.failure(wireFailure{Kind: "collect", Message: strings.Join(said, "\n"), Stack: block})
	if f.File == "" {
		f.File = file
	}
	b.troubledOnce(cmp.Or(file, "(error)"), i, f)
}

// codeLine is a line of source as Bun shows it beside an error.
var codeLine = lazyregexp.MustCompile(`^\s*\d+ \| `)

// judge words what Bun's report says in its own way.
func (b *bunRun) judge(t *Test) {
	if t.Status == Skipped && strings.EqualFold(t.Reason, "todo") {
		t.Status, t.Reason = Todo, ""
	}
	hook := strings.HasSuffix(t.ID, bunHook)
	if hook {
		t.Status = Errored
	}
	for i := range t.Failures {
		f := &t.Failures[i]
		if hook {
			f.Kind = b.p.hookAbove(f.File, f.Line)
		}
		switch {
		case strings.Contains(f.Message, "test timed out"):
			t.Status, f.Kind = TimedOut, "timeout"
		case strings.Contains(f.Message, "test marked with .failing() did not throw"):
			t.Status = UnexpectedPass
		case strings.EqualFold(f.Message, "todo passed"):
			t.Status, f.Message = UnexpectedPass, "passed, although it is marked as to be done"
		}
	}
}

// bunHook ends the ID of what Bun reports of a beforeAll or afterAll that failed.
const bunHook = separator + "(unnamed)"

var hookCall = lazyregexp.MustCompile(`\b(before|after)(?:All|Each)\s*\(`)

// hookAbove says which kind of hook a place in a file is in: the last that is called up to its line.
func (p *Project) hookAbove(file string, line int) string {
	kind, n := "setup", 0
	for text := range strings.Lines(p.read(file)) {
		if n++; n > line {
			break
		}
		for _, m := range hookCall.FindAllStringSubmatch(text, -1) {
			kind = map[string]string{"before": "setup", "after": "teardown"}[m[1]]
		}
	}
	return kind
}

// guess reads results from the output where Bun died and wrote no report: what it printed of tests that ended, and by
// the order of the file the test that ran then.
func (b *bunRun) guess(exit Exit) {
	file := ""
	var ended []string
	used := map[string]int{}
	for line := range strings.Lines(b.err.String() + "\n") {
		line = strings.TrimRight(line, "\n")
		if m := bunFile.FindStringSubmatch(line); m != nil && b.p.isFile(m[1]) {
			file, ended = m[1], nil
			continue
		}
		m := bunResult.FindStringSubmatch(line)
		if m == nil || file == "" {
			continue
		}
		names := strings.Split(m[2], separator)
		ended = append(ended, names[len(names)-1])
		t := &Test{Name: names[len(names)-1], Suite: strings.Join(append([]string{file}, names[:len(names)-1]...), separator),
			File: file, Attempts: 1}
		t.ID = numbered(used, t.Suite+separator+t.Name)
		t.Status = map[string]Status{"pass": Passed, "fail": Failed, "skip": Skipped, "todo": Todo}[m[1]]
		if t.Fails = t.Status == Failed; t.Fails {
			t.Failures = []Failure{{Kind: "exception",
				Message: "failed; the output has the error, since Bun died before it wrote its report"}}
		}
		b.res.finished(t)
	}
	if file == "" || exit.Code == 0 && exit.Signal == "" {
		return
	}
	b.res.note("Bun wrote no report: the results are read from its output")
	b.died(file, ended)
}

// died opens the test that ran, so that its end is told as that of the process.
func (x *junitRun) died(file string, ended []string) {
	at := x.p.after(file, ended)
	t := &Test{ID: file, Name: file, File: file}
	if at != nil {
		t = &Test{ID: file + separator + at.Function, Name: at.Function, Suite: file, File: file, Line: at.Line}
		x.res.note("%s: that %q ran is known by the order of the file only", file, at.Function)
	}
	x.res.started(t)
}

// Rerun runs one test by its file and full name.
func (a Bun) Rerun(p *Project, r *Request, t *Test) Rerun {
	dir := a.Detect(p).dir()
	at := filepath.Join(p.Root, dir)
	file, names := p.splitID(t.ID)
	if file == "" {
		file = t.File
	}
	script := p.script(dir, "bun")
	if outside(t.ID) {
		return Rerun{Argv: slices.Concat([]string{"bun", "test"}, script.options, script.files, r.Args), Env: script.env,
			Dir: at, Framework: "bun"}
	}
	argv := slices.Concat([]string{"bun", "test"}, onlyOptions("bun", script.options, namePatterns...),
		onlyOptions("bun", r.Args, namePatterns...))
	argv = append(argv, "./"+relativeTo(at, filepath.Join(p.Root, file)))
	if names != "" {
		x := jsRun{}
		pattern := "^" + x.quote(names) + "$"
		if suite, ok := strings.CutSuffix(names, bunHook); ok {
			pattern = "^" + x.quote(suite) + "(?:$| )"
		}
		argv = append(argv, "--test-name-pattern", pattern)
	}
	return Rerun{Argv: argv, Env: script.env, Dir: at, Test: t.ID, Framework: "bun"}
}

var relativeFrame = lazyregexp.MustCompile(`^(\s*at (?:.*\()?)([^\s()/<:][^()<:]*\.[cm]?[jt]sx?)(:\d+(?::\d+)?\)?\s*)$`)

// titleCall is a line that declares a test with a literal title.
var titleCall = lazyregexp.MustCompile(
	"^\\s*(?:Deno\\.)?(?:test|it|specify)(?:\\.\\w+)*\\s*\\(\\s*" +
		"(?:'((?:[^'\\\\]|\\\\.)*)'|\"((?:[^\"\\\\]|\\\\.)*)\"|`([^`$]*)`)")
