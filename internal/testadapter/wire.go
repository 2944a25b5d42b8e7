package testadapter

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/strobe-debug/strobe/internal/lazyregexp"
	"github.com/strobe-debug/strobe/internal/packed"
)

// packedReporters are the files of reporters/: go test -run Packed -update ./internal/testadapter makes it.
//
//go:embed reporters.zst
var packedReporters []byte

var reporterFiles = packed.Embedded(packedReporters)

// reporter is one of our own files, to be written into Request.Dir.
func reporter(name string) []byte { return packed.File(reporterFiles, name) }

// wireEvent is a line that our reporters write. They stand in reporters/ and say what the framework told them; what it
// means is worked out here, so that it is tested without the framework.
type wireEvent struct {
	E string `json:"e"` // start, end, forget, attempt, note, totals, done; file, filedone: a file of tests runs
	wireTest
	Text                    string
	Names                   []string
	Passed, Failed, Skipped int
}

type wireTest struct {
	ID, Name, Suite, Parent, File string
	Line                          int
	Status                        Status
	Fails                         bool
	MS                            float64
	Reason                        string
	Attempts                      int
	Flaky, Group, Part            bool
	Failures                      []wireFailure
	Output                        string
	// Uncounted: the framework does not count it among its tests.
	Uncounted bool
}

type wireFailure struct {
	Kind, Message, Expected, Actual, File, Signal string
	Line, Column                                  int
	Stack                                         string // as V8 writes it
	Frames                                        []Frame
}

// scripted is an execution of a framework that our own reporter tells about, in one step or a few.
type scripted struct {
	p   *Project
	r   *Request
	res *results
	// steps are run in turn; more is asked when they are over, for what could not be found by the first.
	steps []*Step
	more  func(x *scripted) []*Step
	// wire reads an event before it is handed on; nil: as it is.
	wire func(e *wireEvent)
	// exits explains an exit code with nothing said in the report; "" is no trouble.
	exits func(x Exit) string

	lines    lineSplitter
	out, err ring
	text     int        // how much of the output is kept; 0: a ring's own limit
	held     []wireTest // ends that are final only if nothing follows
	files    []string   // that run, where the framework tells it
	seen     int        // events of tests, in all steps
	done     bool
	bad      int // lines that cannot be read
}

func (x *scripted) Next() (*Step, error) {
	for len(x.steps) == 0 && x.more != nil {
		more := x.more
		x.more = nil // it may name a further one
		x.steps = more(x)
	}
	if len(x.steps) == 0 {
		return nil, nil
	}
	step := x.steps[0]
	x.steps = x.steps[1:]
	x.done, x.out, x.err = false, ring{limit: x.text}, ring{limit: x.text}
	x.lines = lineSplitter{line: x.line}
	return step, nil
}

func (x *scripted) Output(s Stream, data []byte) {
	if s == Stdout {
		x.out.Write(data)
	} else {
		x.err.Write(data)
	}
}

func (x *scripted) Report(_ string, data []byte) { x.lines.Write(data) }

func (x *scripted) line(b []byte) {
	if len(bytes.TrimSpace(b)) == 0 {
		return
	}
	var e wireEvent
	if err := json.Unmarshal(b, &e); err != nil {
		x.bad++
		return
	}
	if x.wire != nil {
		x.wire(&e)
	}
	x.event(&e)
}

func (x *scripted) event(e *wireEvent) {
	switch e.E {
	case "start":
		x.seen++
		x.res.started(x.test(&e.wireTest))
	case "end":
		x.seen++
		t := x.test(&e.wireTest)
		if e.Uncounted {
			x.res.uncounted(t)
		} else {
			x.res.finished(t)
		}
	case "forget": // it began and was not among those that were asked for
		x.res.forget(e.ID)
	case "attempt": // a result that a further attempt may change
		x.seen++
		x.held = append(x.held, e.wireTest)
	case "file":
		x.files = append(x.files, e.File)
	case "filedone":
		x.files = slices.DeleteFunc(x.files, func(name string) bool { return name == e.File })
	case "note":
		x.res.note("%s", message(e.Text))
	case "totals":
		x.res.own = &Totals{Passed: e.Passed, Failed: e.Failed, Skipped: e.Skipped}
	case "done":
		x.done = true
	}
}

// test makes a test of what a reporter said of it.
func (x *scripted) test(w *wireTest) *Test {
	t := &Test{ID: w.ID, Name: cmp.Or(w.Name, w.ID), Suite: w.Suite, Parent: w.Parent, Group: w.Group, Part: w.Part,
		File: x.res.rel(w.File), Line: w.Line, Status: w.Status, Fails: w.Fails,
		Duration: time.Duration(w.MS * float64(time.Millisecond)), Reason: w.Reason, Attempts: max(w.Attempts, 1),
		Flaky: w.Flaky, Output: w.Output}
	for _, f := range w.Failures {
		t.Failures = append(t.Failures, x.failure(f))
	}
	return t
}

func (x *scripted) failure(w wireFailure) Failure {
	w.Message, _, _ = strings.Cut(w.Message, "\nRequire stack:") // Node's, of files of the framework
	f := Failure{Kind: w.Kind, Message: w.Message, Expected: w.Expected, Actual: w.Actual, Signal: w.Signal,
		File: x.res.rel(w.File), Line: w.Line, Column: w.Column}
	frames := w.Frames
	columns := map[Frame]int{}
	if len(frames) == 0 {
		frames, columns = v8Stack(w.Stack)
	}
	f.Stack = x.res.userFrames(frames)
	if f.File == "" && len(f.Stack) > 0 {
		f.File, f.Line = f.Stack[0].File, f.Stack[0].Line
		for at, column := range columns {
			if x.res.rel(at.File) == f.File && at.Line == f.Line && at.Function == f.Stack[0].Function {
				f.Column = column
			}
		}
	}
	return f
}

func (x *scripted) End(exit Exit) {
	x.lines.Close()
	if x.bad > 0 || x.lines.cut > 0 {
		x.res.note("%d lines of the report could not be read, %d were longer than %d bytes", x.bad, x.lines.cut, MaxLine)
		x.bad = 0
	}
	limit := x.r.limit()
	for i := len(x.held) - 1; i >= 0; i-- {
		x.res.finished(x.test(&x.held[i])) // once: of several attempts the last
	}
	x.held = nil
	open := len(x.res.open)
	if exit.TimedOut {
		open += x.busy(exit, limit)
	}
	x.res.unfinished(exit, limit, x.last())
	if open > 0 && !x.done && !exit.TimedOut && !exit.Canceled && x.r.Test == "" {
		x.res.note("the process that runs all tests ended there: tests that come after it did not run")
	}
	x.files = nil
	if open == 0 && !exit.Canceled {
		x.trouble(exit, limit)
	}
	x.res.over()
}

// busy tells of files that still ran and none of whose tests is known to: a test that never lets go of its thread keeps
// its runtime from telling that it began.
func (x *scripted) busy(exit Exit, limit string) int {
	n := 0
	status, f := exit.ended(limit)
	says := "this file was " + f.Message
	if status == Stuck {
		says = "this file: " + f.Message
	}
	for _, name := range x.files {
		file := x.res.rel(name)
		known := false
		for _, t := range x.res.open {
			known = known || t.File == file
		}
		if known || x.res.ended[file] || !x.res.wanted(&Test{ID: file, Status: Errored}) {
			continue
		}
		n++
		x.res.uncounted(&Test{ID: file, Name: file, File: file, Status: status, Fails: true, Attempts: 1,
			Failures: []Failure{{Kind: f.Kind, File: file,
				Message: says + "; which of its tests is not known: one that keeps its thread busy keeps its runtime from " +
					"telling that it began"}}})
	}
	return n
}

// trouble tells how the process ended where no test explains it: it must not look like success.
func (x *scripted) trouble(exit Exit, limit string) {
	f := Failure{Kind: "exit"}
	why := ""
	if x.exits != nil {
		why = x.exits(exit)
	}
	switch {
	case exit.TimedOut:
		if f.Kind, f.Message = "timeout", "the time of the whole run was over"+limit; exit.Stuck != "" {
			_, f = exit.ended(limit)
		}
		f.Message += ", and no test was running"
	case exit.Signal != "":
		f.Kind, f.Signal, f.Message = "crash", exit.Signal, "the test process died of "+exit.Signal+" and no test was running"
	case why != "":
		f.Message = why
	case !x.done:
		f.Message = fmt.Sprintf("the test process left with code %d before the run was over, and no test was running",
			exit.Code)
	case exit.Code != 0 && x.res.failed+x.res.dropped.Failed == 0 && x.exits == nil:
		f.Message = fmt.Sprintf("the test process left with code %d although no test failed", exit.Code)
	default:
		return
	}
	if last := x.last(); last != "" {
		x.placed(&f, last)
		f.Message += "; its last output:\n" + last
	}
	x.res.troubled("(run)", "", f)
}

// parseError is the line that Node begins with when a file cannot be parsed.
var parseError = lazyregexp.MustCompile(`(?m)(?:^|\s)(?:file://)?(/[^\n:]+):(\d+)$`)

// placed gives a failure the place in the user's code that the last output names.
func (x *scripted) placed(f *Failure, last string) {
	frames, _ := v8Stack(last)
	if m := parseError.FindStringSubmatch(last); m != nil {
		if n, err := strconv.Atoi(m[2]); err == nil {
			frames = append([]Frame{{File: m[1], Line: n}}, frames...)
		}
	}
	if f.Stack = x.res.userFrames(frames); len(f.Stack) > 0 {
		f.File, f.Line = f.Stack[0].File, f.Stack[0].Line
	}
}

// last is what the process wrote last, errors before other output.
func (x *scripted) last() string {
	const most = 8 << 10
	if s := tail(x.err.String(), most); firstLine(s) != "" {
		return s
	}
	return tail(x.out.String(), most)
}

// inDir is a path of one of an execution's own files.
func inDir(r *Request, name string) string { return filepath.Join(r.Dir, name) }

// config is what our reporters are told: a file beside them, so that the environment of the tests stays as it is.
func config(values map[string]any) []byte {
	b, err := json.Marshal(values)
	if err != nil {
		panic(err) // strings, numbers and lists of them
	}
	return b
}
