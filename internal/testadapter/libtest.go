package testadapter

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/strobe-debug/strobe/internal/lazyregexp"
	"github.com/strobe-debug/strobe/internal/report"
)

// libTest is a test in a program's list.
type libTest struct {
	name string
	file string
	line int
}

// libEvent is an event of libtest's JSON, of which the library's own source is the description.
type libEvent struct {
	Type    string
	Event   string
	Name    string
	Stdout  string
	Message string
	Seconds float64 `json:"exec_time"`
	Passed  int
	Failed  int
	Ignored int
	// of --list
	Source string `json:"source_path"`
	Line   int    `json:"start_line"`
}

// libEvents finds the events in a line of standard output. Something that tests wrote there may stand before and behind
// one.
func libEvents(line string) []libEvent {
	var events []libEvent
	const begin = `{ "type": "`
	for len(events) < 100 {
		i := strings.Index(line, begin)
		if i < 0 {
			return events
		}
		line = line[i:]
		var e libEvent
		d := json.NewDecoder(strings.NewReader(line))
		if d.Decode(&e) != nil {
			line = line[len(begin):]
			continue
		}
		line = line[d.InputOffset():]
		events = append(events, e)
	}
	return events
}

func libListed(line string) (libTest, bool) {
	for _, e := range libEvents(line) {
		if e.Type == "test" && e.Event == "discovered" && e.Name != "" {
			return libTest{e.Name, e.Source, e.Line}, true
		}
	}
	return libTest{}, false
}

// libRun is one program that runs. A result counts when the log file has it too, which tests cannot write to by
// printing.
type libRun struct {
	x      *cargoRun
	u      *cargoUnit
	t      *task
	known  map[string]libTest // nil: any name (doc tests)
	logged map[string]string  // status by name
	told   map[string][]libEvent
	begun  map[string]bool
	log    lineSplitter
	record string // an entry of several lines
	suites []libEvent
	raw    ring // standard output that is no event
	ended  bool // all that it wrote has come
}

func (x *cargoRun) runUnit(u *cargoUnit) {
	if !u.harness {
		x.runOwn(u)
		return
	}
	if len(u.tests) == 0 {
		return // an empty program says so; it has nothing to run
	}
	l := &libRun{x: x, u: u, logged: map[string]string{}, told: map[string][]libEvent{}, begun: map[string]bool{},
		known: map[string]libTest{}}
	for _, t := range u.tests {
		l.known[t.name] = t
	}
	logfile := filepath.Join(x.r.Dir, "libtest-"+filepath.Base(u.exe)+".log")
	argv := []string{u.exe, "-Zunstable-options", "--format=json", "--report-time", "--logfile=" + logfile}
	argv = append(argv, libArgs(x.args.test)...)
	if u.chosen != nil {
		argv = append(append(argv, "--exact"), u.chosen...)
	}
	env := append(slices.Clone(u.env), "RUSTC_BOOTSTRAP=")
	if x.r.Test != "" && !slices.ContainsFunc(x.p.Environ,
		func(v string) bool { return strings.HasPrefix(v, "RUST_BACKTRACE=") }) {
		env = append(env, "RUST_BACKTRACE=1", "RUST_LIB_BACKTRACE=0") // of panics, not of every error value
	}
	l.log.line = func(b []byte) { l.logLine(string(b)) }
	l.t = &task{
		step:   &Step{Argv: argv, Dir: u.dir, Env: env, Reports: []string{logfile}, Phase: Running},
		stdout: l.line, report: func(_ string, data []byte) { l.log.Write(data) },
		end: l.end, watch: true, words: l.raw.String,
	}
	x.then(l.t)
}

// libArgs are a user's arguments of the test program without those that change what we read.
func libArgs(args []string) []string {
	return slices.DeleteFunc(slices.Clone(args), func(a string) bool {
		return a == "-q" || a == "--quiet" || strings.HasPrefix(a, "--format") || strings.HasPrefix(a, "--logfile")
	})
}

func (l *libRun) test(name string) *Test {
	t := &Test{ID: l.u.id + " " + name, Name: name, Suite: l.u.id, File: l.u.source}
	if k, ok := l.known[name]; ok && k.file != "" {
		t.File, t.Line = k.file, k.line
	} else if m := docName.FindStringSubmatch(name); m != nil {
		t.File, t.Line = l.x.in(l.x.base, m[1]), number(m[2])
	}
	return t
}

var docName = lazyregexp.MustCompile(`^(.+?\.(?:rs|md)) - .*\(line (\d+)\)`)

func (l *libRun) line(line string) {
	events := libEvents(line)
	if len(events) == 0 {
		l.raw.Write([]byte(line + "\n"))
	}
	for _, e := range events {
		switch {
		case e.Type == "suite" && (e.Event == "ok" || e.Event == "failed"):
			l.suites = append(l.suites, e)
		case e.Type != "test" || e.Name == "":
		case l.known != nil && l.known[e.Name].name == "", l.known == nil && l.u.chosen != nil &&
			!slices.Contains(l.u.chosen, e.Name):
			// not one of this program's, or not asked for
		case e.Event == "started":
			l.begun[e.Name] = true
			l.x.started(l.test(e.Name))
		case e.Event == "ok" || e.Event == "failed" || e.Event == "ignored":
			if len(l.told[e.Name]) < 10 {
				l.told[e.Name] = append(l.told[e.Name], e)
			}
			if l.known == nil {
				l.logged[e.Name] = e.Event // rustdoc keeps what doc tests write
			}
			l.settle(e.Name, false)
		}
	}
}

var logTime = lazyregexp.MustCompile(` <[0-9.]+m?s>$`)

// logLine reads "ok name", "failed name", "ignored: reason name"; a reason may have lines, the last of which ends with
// the name.
func (l *libRun) logLine(line string) {
	line = logTime.ReplaceAllString(line, "")
	if l.record == "" {
		for _, status := range []string{"ok", "failed", "ignored"} {
			if strings.HasPrefix(line, status+" ") || strings.HasPrefix(line, status+": ") {
				l.record = status
			}
		}
		if l.record == "" {
			return
		}
	}
	name := line[strings.LastIndexByte(line, ' ')+1:]
	if _, ok := l.known[name]; !ok || l.logged[name] != "" {
		return
	}
	l.logged[name], l.record = l.record, ""
	l.settle(name, false)
}

// settle ends a test that both the events and the log have; at the end of the program the log alone is enough.
func (l *libRun) settle(name string, last bool) {
	status, ok := l.logged[name]
	if !ok {
		return
	}
	for _, e := range slices.Backward(l.told[name]) {
		if e.Event != status {
			continue
		}
		if status == "failed" && e.Stdout == "" && e.Message == "" && !l.ended {
			return // --nocapture: why is on standard error, which may come later
		}
		l.tell(name, e)
		return
	}
	if last {
		l.tell(name, libEvent{Name: name, Event: status,
			Message: "its report was broken by what tests wrote to standard output"})
	}
}

func (l *libRun) tell(name string, e libEvent) {
	t := l.test(name)
	e.Stdout = clean(e.Stdout) // of a doc test it is the compiler's, in colours where CARGO_TERM_COLOR asks for them
	t.Duration = time.Duration(e.Seconds * float64(time.Second))
	t.Output = e.Stdout
	switch e.Event {
	case "ok":
		t.Status = Passed
	case "ignored":
		t.Status, t.Reason = Skipped, e.Message
	default:
		t.Status, t.Fails = Failed, true
		l.x.cwd = l.u.dir
		if e.Stdout == "" && e.Message == "" {
			e.Stdout = l.panicked(name)
		}
		t.Failures = []Failure{l.x.libFailure(t, e)}
		if t.Failures[0].Kind == "compile" {
			t.Status = Errored
		}
	}
	l.x.finished(t)
}

// panicked is a test's panic as it was written to standard error, where its output is not captured. Rust names a test's
// thread after it.
func (l *libRun) panicked(name string) string {
	for _, r := range slices.Backward(l.t.reports) {
		if r.Tool == report.RustPanic && (r.Thread == name || len(l.t.reports) == 1) {
			return r.Raw
		}
	}
	return "failed; why is among the run's output, which was not captured (--nocapture): output.txt beside the details"
}

func (l *libRun) end(exit Exit) {
	l.log.Close()
	l.ended = true
	x := l.x
	if len(l.logged) == 0 { // no log at all: a library that does not know of it any more
		for name, events := range l.told {
			l.logged[name] = events[len(events)-1].Event
		}
	}
	for _, name := range slices.Sorted(keysOf(l.logged)) {
		l.settle(name, true)
	}
	open := len(x.open) > 0
	x.unfinished(exit, l.t)
	if l.known == nil && l.u.chosen != nil {
		x.silent++ // the suite's totals are of others as well
		return
	}
	if n := len(l.suites); n > 0 && !open {
		if l.known != nil {
			l.suites = l.suites[n-1:] // the program's own comes last
		}
		for _, s := range l.suites {
			x.own.Passed, x.own.Failed, x.own.Skipped = x.own.Passed+s.Passed, x.own.Failed+s.Failed, x.own.Skipped+s.Ignored
			x.suites++
		}
		return
	}
	x.silent++
	if exit.Canceled || exit.TimedOut {
		return
	}
	missing := 0
	for name := range l.known {
		if l.logged[name] == "" && !l.begun[name] && (l.u.chosen == nil || slices.Contains(l.u.chosen, name)) {
			missing++
		}
	}
	if missing > 0 {
		x.note("%d tests of %s did not run: its process ended before", missing, l.u.id)
	}
	if !open && (exit.Code != 0 || exit.Signal != "") && len(l.told) == 0 {
		x.broken(l.u.id+" (program)", "(program)", l.u.id, x.death(exit, l.t))
	}
}

func keysOf[V any](m map[string]V) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// runOwn runs a program that has a harness of its own: one test, judged by its exit code.
func (x *cargoRun) runOwn(u *cargoUnit) {
	test := &Test{ID: u.id + " (main)", Name: u.target, Suite: u.id, File: u.source}
	t := &task{step: &Step{Argv: append([]string{u.exe}, x.args.test...), Dir: u.dir, Env: u.env, Phase: Running},
		watch: true}
	t.end = func(exit Exit) {
		test.Duration = exit.Duration
		if exit.Signal != "" || exit.TimedOut || exit.Canceled {
			x.silent++
			x.unfinished(exit, t)
			return
		}
		done := *test
		done.Status = Passed
		if exit.Code != 0 {
			f := x.death(exit, t)
			f.Message = strings.Replace(f.Message, " while this test ran", "", 1)
			f.File = orElse(f.File, u.source)
			done.Status, done.Fails, done.Failures = Failed, true, []Failure{f}
			x.own.Failed++
		} else {
			x.own.Passed++
		}
		x.finished(&done)
	}
	x.then(&task{do: func() { x.started(test) }})
	x.then(t)
}

var (
	rustOldSides = lazyregexp.MustCompile("(?s)\n *left: `(.*?)`,\n *right: `(.*?)`(?:: .*)?$")
	rustSides    = lazyregexp.MustCompile("(?s)\n *left: (.*?),?\n *right: (.*)$")
	rustNoted    = lazyregexp.MustCompile(`^test did not panic as expected at (.+):(\d+):(\d+)$`)
	rustErrors   = lazyregexp.MustCompile(`(?m)^Error: (.+)$`)
)

// libFailure is why a test failed: its panic, the error that it returned, what should have panicked, or a doc test's
// compile errors.
func (x *native) libFailure(t *Test, e libEvent) Failure {
	f := Failure{Kind: "assertion", File: t.File, Line: t.Line}
	if m := rustNoted.FindStringSubmatch(e.Message); m != nil {
		f.Message = "test did not panic as expected"
		f.File, f.Line, f.Column = x.in(x.base, m[1]), number(m[2]), number(m[3])
		return f
	}
	if strings.HasPrefix(e.Stdout, "error") || strings.Contains(e.Stdout, "\nerror") {
		if errors := x.compileErrors(e.Stdout, x.rel(x.base)); strings.HasSuffix(t.Suite, "::doc/lib") && len(errors) > 0 {
			return errors[0]
		}
	}
	if r := rustPanicOf(e.Stdout, t.Name); r != nil {
		f.Kind, f.Message = "panic", r.Message
		f.File, f.Line, f.Column, f.Stack = x.in(x.base, r.File), r.Line, r.Column, x.frames(r)
		if strings.HasPrefix(r.Message, "assertion ") {
			f.Kind = "assertion"
			if m := rustOldSides.FindStringSubmatch(r.Message); m != nil {
				f.Actual, f.Expected = unquote(m[1]), unquote(m[2])
			} else if m := rustSides.FindStringSubmatch(r.Message); m != nil {
				f.Actual, f.Expected = unquote(m[1]), unquote(m[2])
			}
		}
		if e.Message != "" { // should_panic with another text
			f.Message = e.Message
		}
		if strings.HasSuffix(t.Suite, "::doc/lib") && f.File == t.File && (doctestOwn(r) || x.comment(f.File, f.Line)) {
			f.Line, f.Column = t.Line, 0 // rustdoc's lines are those of the program that it makes of the text
		}
		if len(f.Stack) > 0 && !x.below(f.File) { // in the standard library: the caller is of interest
			f.File, f.Line, f.Column = f.Stack[0].File, f.Stack[0].Line, 0
		}
		return f
	}
	if m := rustErrors.FindStringSubmatch(e.Stdout); m != nil {
		f.Kind, f.Message = "exception", "the test returned an error: "+m[1]
		return f
	}
	f.Message = orElse(e.Message, orElse(strings.TrimSpace(tail(e.Stdout, 2<<10)), "failed without a message"))
	return f
}

// doctestOwn says whether a panic is of a doc test's own code, by the innermost function that is not the standard
// library's.
func doctestOwn(r *report.Report) bool {
	if len(r.Stacks) == 0 {
		return false
	}
	for _, f := range r.Stacks[0].Frames {
		switch crate, _, _ := strings.Cut(strings.TrimLeft(f.Function, "<"), "::"); crate {
		case "core", "std", "alloc", "__rustc", "rust_begin_unwind":
		default:
			return strings.Contains(f.Function, "_doctest_main")
		}
	}
	return false
}

// comment says whether a line of a file is a comment, or empty.
func (x *native) comment(file string, line int) bool {
	n := 0
	for text := range strings.Lines(string(readSome(x.p.FS, file, 4<<20))) {
		if n++; n == line {
			text = strings.TrimSpace(text)
			return text == "" || strings.HasPrefix(text, "//")
		}
	}
	return true
}

// unquote takes the quotes off a string.
func unquote(s string) string {
	if len(s) > 1 && s[0] == '"' {
		if plain, err := strconv.Unquote(s); err == nil {
			return plain
		}
	}
	return s
}

// rustPanicOf is the panic of a test's own thread, else the last.
func rustPanicOf(text, name string) *report.Report {
	var p report.Parser
	var found *report.Report
	for _, r := range append(p.Write([]byte(text)), p.Close()...) {
		if r.Tool == report.RustPanic && (found == nil || found.Thread != name) {
			found = &r
		}
	}
	return found
}
