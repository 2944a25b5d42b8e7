package testadapter

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/report"
)

// native is what executions of compiled languages' frameworks share: their steps, one after another, and the tests that
// they told of.
type native struct {
	p    *Project
	r    *Request
	emit func(Event)

	roots []string // p.Root, and what it is without symbolic links
	base  string   // absolute; what relative paths in runtimes' messages are relative to; "": Root
	cwd   string   // absolute; where the tests' program runs, which is what "./" in Rust's stacks stands for; "": base
	tasks []*task  // still to come
	now   *task    // between Next and End
	err   error    // the next answer of Next

	open  map[string]*Test
	order []string // of open
	ended map[string]bool
	count Totals // of what ended
	// apart counts results that the framework has no result for (a compile error, a test cut off): its totals then lack
	// them.
	apart int
}

// task is a step with what is done with what it writes; without a step, do is what there is to do. All funcs may be
// nil.
type task struct {
	step   *Step
	do     func()
	stdout func(line string)
	stderr func(line string)
	report func(name string, data []byte)
	end    func(x Exit)
	// watch looks in both streams for what runtimes say when something goes wrong: panics, sanitizers, checks of
	// libraries.
	watch bool
	// words is what the test that runs has written, where it is known; else it is the end of all output.
	words func() string

	lines   [2]lineSplitter
	last    [2]ring
	parsers [2]report.Parser
	reports []report.Report
}

// maxReports bounds what is kept of one step: the first ones are the cause of the others.
const maxReports = 32

func newNative(p *Project, r *Request, emit func(Event)) native {
	n := native{p: p, r: r, emit: emit, open: map[string]*Test{}, ended: map[string]bool{},
		roots: []string{filepath.Clean(p.Root)}}
	if real, err := filepath.EvalSymlinks(p.Root); err == nil && real != n.roots[0] {
		n.roots = append(n.roots, real)
	}
	return n
}

// then adds a step behind those that are to come.
func (n *native) then(t *task) { n.tasks = append(n.tasks, t) }

// after does something when the steps before it have ended.
func (n *native) after(do func()) { n.then(&task{do: do}) }

func (n *native) Next() (*Step, error) {
	for n.err == nil && len(n.tasks) > 0 && n.tasks[0].step == nil {
		t := n.tasks[0]
		n.tasks = n.tasks[1:]
		t.do()
	}
	if err := n.err; err != nil {
		n.err, n.tasks = nil, nil
		return nil, err
	}
	if len(n.tasks) == 0 {
		n.now = nil
		return nil, nil
	}
	t := n.tasks[0]
	n.now, n.tasks = t, n.tasks[1:]
	for i, f := range []func(string){t.stdout, t.stderr} {
		t.lines[i].line = func(b []byte) {
			if f != nil {
				f(string(b))
			}
		}
	}
	if t.step.Phase != "" {
		n.phase(t.step.Phase, "")
	}
	return t.step, nil
}

func (n *native) Output(s Stream, data []byte) {
	t := n.now
	if t == nil || s > Stderr {
		return
	}
	t.last[s].Write(data)
	if t.watch {
		t.keep(t.parsers[s].Write(data))
	}
	t.lines[s].Write(data)
}

func (t *task) keep(found []report.Report) {
	t.reports = append(t.reports, found[:min(len(found), maxReports-len(t.reports))]...)
}

func (n *native) Report(name string, data []byte) {
	if n.now != nil && n.now.report != nil {
		n.now.report(name, data)
	}
}

func (n *native) End(x Exit) {
	t := n.now
	if t == nil {
		return
	}
	for i := range t.lines {
		t.lines[i].Close()
		if t.watch {
			t.keep(t.parsers[i].Close())
		}
	}
	if t.end != nil {
		t.end(x)
	}
	if x.TimedOut && (t.step.Phase == Compiling || t.step.Builds) && len(n.ended) == 0 && len(n.open) == 0 {
		_, f := x.ended("")
		f.Message += ", before any test ran: " + strings.Join(t.step.Argv, " ")
		n.broken("(build)", "(build)", "", f)
	}
	n.now = nil
	if x.Canceled || x.TimedOut {
		n.tasks = nil
	}
}

func (n *native) phase(p Phase, text string) {
	n.emit(Event{Kind: PhaseChanged, Phase: p, Text: clean(text)})
}

func (n *native) note(format string, args ...any) {
	n.emit(Event{Kind: Note, Text: fmt.Sprintf(format, args...)})
}

// started tells that a test runs, once.
func (n *native) started(t *Test) {
	if n.open[t.ID] != nil || n.ended[t.ID] {
		return
	}
	n.open[t.ID] = t
	n.order = append(n.order, t.ID)
	n.emit(Event{Kind: TestStarted, Test: t})
}

// finished tells what became of a test, once.
func (n *native) finished(t *Test) {
	if n.ended[t.ID] {
		return
	}
	delete(n.open, t.ID)
	n.ended[t.ID] = true
	if t.Fails && !t.Group && len(t.Failures) == 0 {
		t.Failures = []Failure{{Kind: "assertion", Message: "failed without a message", File: t.File, Line: t.Line}}
	}
	for i := range t.Failures {
		f := &t.Failures[i]
		if f.Message = message(f.Message); f.Message == "" {
			f.Message = "failed without a message"
		}
		f.Expected, f.Actual = message(f.Expected), message(f.Actual)
	}
	t.Output, t.Reason = output(t.Output), message(t.Reason)
	switch {
	case t.Group:
	case t.Fails:
		n.count.Failed++
	case t.Status == Skipped || t.Status == Todo:
		n.count.Skipped++
	default:
		n.count.Passed++
	}
	n.emit(Event{Kind: TestEnded, Test: t})
}

// broken tells of what is no test of the framework's: a compile error, a program that cannot be used.
func (n *native) broken(id, name, suite string, failures ...Failure) {
	if n.ended[id] {
		return
	}
	n.apart++
	t := &Test{ID: id, Name: name, Suite: suite, Status: Errored, Fails: true, Failures: failures}
	if len(failures) > 0 {
		t.File, t.Line = failures[0].File, failures[0].Line
	}
	n.finished(t)
}

// totals hands on the framework's own counts, where they speak of the same tests as ours.
func (n *native) totals(own Totals) {
	if n.apart == 0 {
		n.emit(Event{Kind: OwnTotals, Totals: &own})
	}
}

// unfinished ends what still ran when its process did. why is what is known of that, besides x.
func (n *native) unfinished(x Exit, t *task) {
	var running []*Test
	parents := map[string]bool{}
	for _, id := range n.order {
		if test := n.open[id]; test != nil {
			running = append(running, test)
			parents[test.Parent] = true
		}
	}
	n.order = nil
	culprit := ""
	for _, test := range running {
		if t != nil && slices.ContainsFunc(t.reports, func(r report.Report) bool { return r.Thread == test.Name }) {
			culprit = test.Name // Rust names a test's thread after it
		}
	}
	for _, test := range running {
		e := *test
		n.apart++
		if parents[e.ID] {
			e.Group = true
		}
		others := len(running) - len(parents) // parents has "" as well: this counts the others
		if culprit != "" && culprit != e.Name {
			n.cutOff(&e, x, nil, 0)
			if len(e.Failures) > 0 {
				e.Failures[0].Message += "; it was " + culprit + "'s doing"
			}
		} else if culprit != "" {
			n.cutOff(&e, x, t, 0)
		} else {
			n.cutOff(&e, x, t, others)
		}
		n.finished(&e)
	}
}

// cutOff says why a test has no end of its own.
func (n *native) cutOff(test *Test, x Exit, t *task, others int) {
	if x.Canceled {
		test.Status, test.Reason = Skipped, "the run was cancelled while it ran"
		return
	}
	f := n.death(x, t)
	test.Status = Crashed
	if x.TimedOut {
		test.Status, _ = x.ended("")
	}
	if others > 0 && !x.TimedOut {
		f.Message += fmt.Sprintf(" (%d more ran at that time: it may be another's doing)", others)
	}
	if f.File == "" {
		f.File, f.Line = test.File, test.Line
	}
	test.Fails, test.Failures = true, append(test.Failures, f)
}

// death is how a test program ended before its tests did: what its runtime said of it, else its signal or code and last
// words.
func (n *native) death(x Exit, t *task) Failure {
	f := Failure{Kind: "exit", Message: fmt.Sprintf("the process left with code %d while this test ran", x.Code)}
	signal := x.Signal
	if signal == "" {
		signal = shellSignal(x.Code)
	}
	switch {
	case x.TimedOut:
		_, f = x.ended(n.r.limit())
		return f
	case signal != "":
		f = Failure{Kind: "crash", Signal: signal, Message: "the process died of " + signal + " while this test ran"}
	}
	if t == nil {
		return f
	}
	for i := len(t.reports) - 1; i >= 0; i-- { // the last one that is said to be fatal, else the last
		if r := &t.reports[i]; r.Fatal || i == len(t.reports)-1 {
			return n.blame(f, r)
		}
	}
	for _, s := range []Stream{Stderr, Stdout} {
		if s == Stdout && t.words != nil {
			if last := strings.TrimSpace(t.words()); last != "" {
				f.Message += "; it wrote last:\n" + tail(last, 2<<10)
			}
			break
		}
		// A line that our own option causes is not the program's.
		if last := strings.TrimSpace(strings.ReplaceAll(t.last[s].String(), "warning: `--logfile` is deprecated",
			"")); last != "" {
			f.Message += "; it wrote last:\n" + tail(last, 2<<10)
			break
		}
	}
	return f
}

// signals are the names by their numbers on Linux, for codes above 128.
var signals = []string{"", "SIGHUP", "SIGINT", "SIGQUIT", "SIGILL", "SIGTRAP", "SIGABRT", "SIGBUS", "SIGFPE", "SIGKILL",
	"SIGUSR1",
	"SIGSEGV", "SIGUSR2", "SIGPIPE", "SIGALRM", "SIGTERM"}

// shellSignal is the signal that an exit code means, as shells and drivers pass it on; "" where it means none.
func shellSignal(code int) string {
	if code > 128 && code < 128+len(signals) {
		return signals[code-128]
	}
	return ""
}

// blame adds what a runtime said to a failure.
func (n *native) blame(f Failure, r *report.Report) Failure {
	f.Message += ": " + strings.TrimSpace(r.Tool+": "+r.Kind)
	if r.Message != "" {
		f.Message += ": " + r.Message
	}
	f.Stack = n.frames(r)
	f.File, f.Line, f.Column = n.in(n.base, r.File), r.Line, r.Column
	if len(f.Stack) > 0 && !n.below(f.File) {
		f.File, f.Line, f.Column = f.Stack[0].File, f.Stack[0].Line, 0
	}
	return f
}

// frames are the first stack's places in the user's code.
func (n *native) frames(r *report.Report) []Frame {
	var frames []Frame
	if len(r.Stacks) == 0 {
		return nil
	}
	const most = 50 // deeper is a recursion
	for _, f := range r.Stacks[0].Frames {
		dir := n.base
		if n.cwd != "" && strings.HasPrefix(f.File, "./") {
			dir = n.cwd
		}
		if file := n.in(dir, f.File); n.below(file) && len(frames) < most {
			frames = append(frames, Frame{Function: f.Function, File: file, Line: f.Line})
		}
	}
	return frames
}

// rel is a path as tests and failures show it: relative to the root where below it.
func (n *native) rel(name string) string {
	if name == "" || !filepath.IsAbs(name) {
		return strings.TrimPrefix(name, "./")
	}
	name = filepath.Clean(name)
	for _, root := range n.roots {
		if below, ok := strings.CutPrefix(name, strings.TrimSuffix(root, "/")+"/"); ok {
			return below
		}
	}
	return name
}

// in is a path that was given relative to a directory, or to Root where that is "".
func (n *native) in(dir, name string) string {
	if name != "" && !filepath.IsAbs(name) && dir != "" {
		name = filepath.Join(dir, name)
	}
	return n.rel(name)
}

// below says whether a path as rel gives it is one of the project's own.
func (n *native) below(name string) bool { return name != "" && !filepath.IsAbs(name) }

// exists says whether the project has a file.
func (n *native) exists(name string) bool {
	return fs.ValidPath(name) && isFile(n.p.FS, name)
}

func isFile(fsys fs.FS, name string) bool {
	i, err := fs.Stat(fsys, name)
	return err == nil && i.Mode().IsRegular()
}

// readSome reads a project's file up to a limit; nil where there is none.
func readSome(fsys fs.FS, name string, limit int64) []byte {
	f, err := fsys.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	b := make([]byte, 0, 4096)
	for int64(len(b)) < limit {
		b = slices.Grow(b, 4096)
		m, err := f.Read(b[len(b):min(int64(cap(b)), limit)])
		b = b[:len(b)+m]
		if err != nil {
			break
		}
	}
	return b
}
