package testadapter

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/strobe-debug/strobe/internal/lazyregexp"
	"github.com/strobe-debug/strobe/internal/report"
)

// goEvent is a line of go test -json, of `go doc test2json` and `go help buildjson`.
type goEvent struct {
	Action      string
	Package     string
	Test        string
	Elapsed     float64
	Output      string
	ImportPath  string // of build-output and build-fail
	FailedBuild string
}

func goEventOf(line string) (goEvent, bool) {
	var e goEvent
	if !strings.HasPrefix(line, "{") || json.Unmarshal([]byte(line), &e) != nil {
		return e, false
	}
	return e, e.Action != ""
}

// goPackage is what is known of a package's tests.
type goPackage struct {
	path   string
	tests  map[string]*goOne
	order  []*goOne
	output ring // what belongs to no test
	failed int  // tests that failed
	ended  bool
}

// goOne is a test. A failing subtest's end is held back until its outermost test's: the text of a panic comes in
// between.
type goOne struct {
	test     Test
	parent   *goOne
	children int
	broken   int // children that failed
	lines    []string
	size     int
	done     bool // has its result
	told     bool
	partial  bool // the last of lines has no end yet
}

// line takes a line of go test's standard output. What is not JSON is of Go before 1.24: a package that cannot be
// built.
func (x *goRun) line(line string) {
	e, ok := goEventOf(line)
	if !ok {
		if m := goUnbuilt.FindStringSubmatch(line); m != nil && len(x.unbuilt) < 1000 {
			x.unbuilt = append(x.unbuilt, m[1]) // why is on standard error, which may come later
		}
		return
	}
	switch e.Action {
	case "build-output":
		b := x.builds[e.ImportPath]
		if b == nil {
			b = &strings.Builder{}
			x.builds[e.ImportPath] = b
		}
		if b.Len() < maxBuildText {
			b.WriteString(e.Output)
		}
		return
	case "build-fail":
		return
	}
	if e.Package == "" {
		return
	}
	p := x.packages[e.Package]
	if p == nil {
		p = &goPackage{path: e.Package, tests: map[string]*goOne{}}
		x.packages[e.Package] = p
	}
	switch {
	case e.Action == "start":
		x.phase(Running, "testing "+e.Package)
	case e.Test != "":
		x.testEvent(p, e)
	case e.Action == "output":
		if strings.Contains(e.Output, "(cached)") && strings.HasPrefix(e.Output, "ok ") {
			x.cached++
		}
		p.output.Write([]byte(e.Output))
	case e.Action == "pass" || e.Action == "fail" || e.Action == "skip":
		x.packageEnds(p, e)
	}
}

var goUnbuilt = lazyregexp.MustCompile(`^FAIL\t(\S+) \[(?:build|setup) failed\]`)

func (x *goRun) testEvent(p *goPackage, e goEvent) {
	o := p.tests[e.Test]
	if o == nil {
		o = x.begin(p, e.Test)
	}
	switch e.Action {
	case "output":
		o.write(e.Output)
	case "pass", "fail", "skip":
		if o.done {
			return
		}
		o.done = true
		o.test.Duration = time.Duration(e.Elapsed * float64(time.Second))
		o.test.Status = map[string]Status{"pass": Passed, "fail": Failed, "skip": Skipped}[e.Action]
		if e.Action == "fail" {
			p.failed++
			if o.parent != nil {
				o.parent.broken++
			}
		}
		if o.parent == nil {
			x.tellTree(p, o)
		} else if o.test.Status != Failed && o.children == 0 {
			x.tell(o)
		}
	}
}

func (x *goRun) begin(p *goPackage, name string) *goOne {
	o := &goOne{test: Test{ID: p.path + "::" + name, Name: name, Suite: p.path}}
	for i := len(name) - 1; i > 0 && o.parent == nil; i-- {
		if name[i] == '/' {
			o.parent = p.tests[name[:i]]
		}
	}
	if o.parent != nil {
		o.parent.children++
		o.test.Parent = o.parent.test.ID
	}
	top, _, _ := strings.Cut(name, "/")
	at := x.index.find(p.path, top)
	o.test.File, o.test.Line = x.rel(at.File), at.Line
	p.tests[name] = o
	p.order = append(p.order, o)
	x.seen++
	x.started(&o.test)
	return o
}

// write keeps the beginning of a test's output, which has its first failure, and its end.
func (o *goOne) write(text string) {
	const most, lines = 64 << 10, 2000
	if o.partial && len(o.lines) > 0 && !goFrameLine.MatchString(text) {
		o.lines[len(o.lines)-1] += strings.TrimSuffix(text, "\n")
	} else {
		o.lines = append(o.lines, strings.TrimSuffix(text, "\n"))
	}
	o.partial = !strings.HasSuffix(text, "\n")
	o.size += len(text)
	for (o.size > most || len(o.lines) > lines) && len(o.lines) > 200 {
		o.size -= len(o.lines[100])
		o.lines = slices.Delete(o.lines, 100, 101)
	}
}

// tellTree tells the results below an outermost test, then its own.
func (x *goRun) tellTree(p *goPackage, top *goOne) {
	var last *goOne // the innermost that failed and said nothing
	for _, o := range p.order {
		if o == top || strings.HasPrefix(o.test.ID, top.test.ID+"/") {
			if o.done && o.test.Status == Failed && o.broken == 0 {
				last = o
			}
		}
	}
	panics := x.panicOf(p, top)
	for _, o := range p.order {
		if o.done && !o.told && o != top && strings.HasPrefix(o.test.ID, top.test.ID+"/") {
			if panics != nil && o == last {
				o.test.Failures = append(o.test.Failures, *panics)
				panics = nil
			}
			x.tell(o)
		}
	}
	if panics != nil && top.test.Status == Failed {
		top.test.Failures = append(top.test.Failures, *panics)
	}
	x.tell(top)
}

// tell is a test's end. One that has subtests is a group, unless it failed and none of them did.
func (x *goRun) tell(o *goOne) {
	if o.told {
		return
	}
	o.told = true
	t := o.test
	above := strings.HasPrefix(x.wanted, t.Name+"/") // run only because its subtest was asked for
	t.Group = (o.children > 0 || above) && (t.Status != Failed || o.broken > 0)
	own := goOwnLines(o.lines)
	t.Output = strings.Join(own, "\n")
	dir := x.index.folder(strings.TrimSuffix(t.Suite, "_test"))
	switch t.Status {
	case Skipped:
		if logs := goLogs(own); len(logs) > 0 {
			t.Reason = logs[len(logs)-1].text
		}
	case Failed:
		t.Fails = true
		if f, ok := x.failureOf(&t, own, dir); ok && len(t.Failures) == 0 {
			t.Failures = append(t.Failures, f)
		}
		for _, f := range t.Failures {
			if f.Kind == "timeout" {
				t.Status = TimedOut
			}
		}
	}
	x.finished(&t)
}

// packageEnds tells what a package's tests do not say: it did not build, its process ended before its tests or for
// another reason.
func (x *goRun) packageEnds(p *goPackage, e goEvent) {
	if p.ended {
		return
	}
	p.ended = true
	text := p.output.String()
	open := 0
	for _, o := range p.order {
		if !o.done {
			open++
		}
	}
	switch {
	case e.Action != "fail":
	case e.FailedBuild != "" || strings.Contains(text, "[build failed]") || strings.Contains(text, "[setup failed]"):
		x.buildFailed(p, e.FailedBuild)
	case open > 0:
		x.cutShort(p, text)
		x.cut = append(x.cut, p.path)
	case p.failed == 0:
		f := Failure{Kind: "exit", Message: "the package's tests passed and its process failed (TestMain, an exit or a " +
			"panic outside of tests)"}
		if len(p.order) == 0 {
			f.Message = "the package's process failed before a test ran (TestMain, an init or an exit)"
		}
		if r := lastReport(text); r != nil {
			f = x.blame(Failure{Kind: "panic", Message: "outside of tests"}, r)
		}
		f.Message += ":\n" + goPackageText(text)
		x.broken(p.path+"::(package)", "(package)", p.path, f)
	}
	for _, o := range p.order { // whatever has no outermost test that ended
		if o.done {
			x.tell(o)
		}
	}
}

// goPackageText is what a package's process wrote besides its tests, without go's own lines.
func goPackageText(text string) string {
	var kept []string
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, "\n"); line != "PASS" && line != "FAIL" && !strings.HasPrefix(line, "FAIL\t") {
			kept = append(kept, line)
		}
	}
	return strings.TrimSpace(strings.Join(kept, "\n"))
}

// cutShort ends the tests that ran when their process did.
func (x *goRun) cutShort(p *goPackage, text string) {
	status := "(by os.Exit or the like; go test does not say with what code)"
	var failure *Failure
	culprit := ""
	for _, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, "exit status ") || strings.HasPrefix(line, "signal: ") {
			status = "with " + strings.TrimSpace(line)
		}
	}
	for _, o := range p.order {
		// go test's own, of the test that wrote last
		if last := lastLine(o.lines); !o.done && strings.HasPrefix(last, "signal: ") {
			status = "with " + last
		}
		if f := x.panicOf(p, o); f != nil && failure == nil {
			failure, culprit = f, o.test.Name
		}
	}
	for _, o := range slices.Backward(p.order) { // subtests before their parents
		if o.done {
			continue
		}
		o.done = true
		p.failed++
		if o.parent != nil {
			o.parent.broken++
		}
		f := Failure{Kind: "exit", Message: "the process ended " + status + " while this test ran"}
		o.test.Status = Crashed
		switch {
		case failure != nil && failure.Kind == "timeout":
			f, o.test.Status = *failure, TimedOut
		case failure != nil && (culprit == o.test.Name || strings.HasPrefix(o.test.Name, culprit+"/")):
			f = *failure
			o.test.Status = Failed
		case failure != nil:
			f.Message = fmt.Sprintf("the process ended while this test ran: %s in %s: %s", failure.Kind, culprit,
				firstLine(failure.Message))
		case strings.Contains(status, "signal: "):
			f.Kind, f.Signal = "crash", goSignalName(status)
		}
		f.File, f.Line = orElse(f.File, o.test.File), orZero(f.Line, f.File, o.test.Line)
		t := o.test
		t.Group, t.Fails, t.Failures = o.broken > 0, true, []Failure{f}
		t.Output = strings.Join(goOwnLines(o.lines), "\n")
		o.told = true
		x.finished(&t)
	}
}

// lastLine is the last line that says something.
func lastLine(lines []string) string {
	for _, line := range slices.Backward(lines) {
		if line = strings.TrimSpace(line); line != "" {
			return line
		}
	}
	return ""
}

func orElse(a, b string) string {
	if a == "" {
		return b
	}
	return a
}

func orZero(line int, file string, other int) int {
	if file == "" {
		return other
	}
	return line
}

// goSignalName is the name of what go test calls "signal: segmentation fault".
func goSignalName(status string) string {
	for text, name := range map[string]string{"segmentation fault": "SIGSEGV", "aborted": "SIGABRT", "killed": "SIGKILL",
		"bus error":           "SIGBUS",
		"illegal instruction": "SIGILL", "floating point exception": "SIGFPE", "terminated": "SIGTERM",
		"trace/breakpoint trap": "SIGTRAP"} {
		if strings.Contains(status, text) {
			return name
		}
	}
	return ""
}

func (x *goRun) buildFailed(p *goPackage, failed string) {
	text := ""
	if b := x.builds[failed]; b != nil {
		text = b.String()
	} else {
		text = goSection(x.stderr.String(), p.path)
	}
	failures := x.compileErrors(text, x.dir)
	if len(failures) == 0 {
		failures = []Failure{{Kind: "compile", Message: orElse(strings.TrimSpace(text),
			strings.TrimSpace(p.output.String()))}}
	}
	x.broken(p.path+"::(build)", "(build)", p.path, failures...)
}

// goSection is what compilers said of one package before Go 1.24: it begins with a line "# import/path
// [import/path.test]".
func goSection(text, pkg string) string {
	var b strings.Builder
	in := false
	for line := range strings.Lines(text) {
		if name, ok := strings.CutPrefix(line, "# "); ok {
			name, _, _ = strings.Cut(strings.TrimSpace(name), " ")
			in = strings.TrimSuffix(name, "_test") == pkg
		} else if strings.HasPrefix(line, "FAIL\t") {
			in = false
		}
		if in {
			b.WriteString(line)
		}
	}
	return b.String()
}

func lastReport(text string) *report.Report {
	var p report.Parser
	found := append(p.Write([]byte(text)), p.Close()...)
	for i := range found {
		if found[i].Tool == report.GoPanic {
			return &found[i]
		}
	}
	if len(found) > 0 {
		return &found[0]
	}
	return nil
}
