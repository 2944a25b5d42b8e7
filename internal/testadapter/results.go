package testadapter

import (
	"cmp"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// results follows the tests of one execution: each starts and ends once, and what never ended becomes a result at the
// end.
type results struct {
	p     *Project
	roots []string // p.Root, and what it is with symbolic links resolved
	emit  func(Event)
	// keep says which tests were asked for, where the framework runs or reports more than that; nil: all.
	keep func(t *Test) bool

	open   map[string]*Test
	order  []string // of open
	ended  map[string]bool
	failed int
	// The framework's own counts, and what is to be added and taken away so that they are of the tests that are told: it
	// does not count everything that goes wrong, and it counts as skipped what was not asked for.
	own            *Totals
	several        bool // commands whose counts are of different tests
	extra, dropped Totals
	// crash reads more of a crash from what the process wrote last; may be nil.
	crash func(last string) (message string, frames []Frame)
}

func newResults(p *Project, emit func(Event)) *results {
	r := &results{p: p, roots: []string{filepath.Clean(p.Root)}, emit: emit, open: map[string]*Test{},
		ended: map[string]bool{}}
	if real, err := filepath.EvalSymlinks(p.Root); err == nil && real != r.roots[0] {
		r.roots = append(r.roots, real)
	}
	return r
}

// rel is a path as tests and failures show it: relative to the root where below it. Addresses of modules become paths.
func (r *results) rel(name string) string {
	if strings.HasPrefix(name, "file:") {
		if u, err := url.Parse(name); err == nil && u.Path != "" {
			name = u.Path
		}
	}
	if !filepath.IsAbs(name) {
		return name
	}
	name = filepath.Clean(name)
	for _, root := range r.roots {
		if below, ok := strings.CutPrefix(name, strings.TrimSuffix(root, "/")+"/"); ok {
			return below
		}
	}
	return name
}

// absolute is a path that a framework gave relative to the directory it ran in.
func absolute(dir, name string) string {
	if name == "" || filepath.IsAbs(name) || strings.Contains(name, "://") {
		return name
	}
	return filepath.Join(dir, name)
}

// wanted says whether a test was asked for; what goes wrong outside of tests, in brackets, always is.
func (r *results) wanted(t *Test) bool {
	return r.keep == nil || strings.HasPrefix(t.ID, "(") || r.keep(t)
}

func (r *results) started(t *Test) {
	if r.open[t.ID] != nil || r.ended[t.ID] || !r.wanted(t) {
		return
	}
	r.open[t.ID] = t
	r.order = append(r.order, t.ID)
	r.emit(Event{Kind: TestStarted, Test: t})
}

// forget takes back that a test began; it has no result.
func (r *results) forget(id string) {
	delete(r.open, id)
	r.order = slices.DeleteFunc(r.order, func(other string) bool { return other == id })
}

// finished tells a test's result, once.
func (r *results) finished(t *Test) {
	if r.ended[t.ID] {
		return
	}
	if !r.wanted(t) {
		r.dropped.add(t)
		r.forget(t.ID)
		return
	}
	delete(r.open, t.ID)
	r.ended[t.ID] = true
	if t.Group {
		t.Fails, t.Failures = false, nil // its subtests say it
	}
	if t.Fails && len(t.Failures) == 0 {
		t.Failures = []Failure{{Kind: "assertion", Message: "failed without a message"}}
	}
	for i := range t.Failures {
		f := &t.Failures[i]
		f.Message = message(f.Message)
		if f.Message == "" {
			f.Message = cmp.Or(f.Kind, "failed") + " without a message"
		}
		if f.File == "" {
			f.File, f.Line = t.File, t.Line
		}
		if f.Line == 0 && f.File == t.File {
			f.Line = lineIn(f.Message, t.File)
		}
		f.Expected, f.Actual = message(f.Expected), message(f.Actual)
	}
	t.Output, t.Reason = output(t.Output), message(t.Reason)
	if t.Fails && !t.Group {
		r.failed++
	}
	r.emit(Event{Kind: TestEnded, Test: t})
}

// troubled tells what went wrong outside of any test: a file that does not load, a hook, the run as a whole.
func (r *results) troubled(id, file string, f Failure) {
	r.uncounted(&Test{ID: id, Name: id, File: file, Status: Errored, Fails: true, Failures: []Failure{f}})
}

// uncounted tells a result that the framework does not count.
func (r *results) uncounted(t *Test) {
	if !r.ended[t.ID] {
		r.extra.add(t) // one that is left out is taken away again
	}
	r.finished(t)
}

// add counts a test.
func (t *Totals) add(x *Test) {
	switch {
	case x.Group || x.Part && !x.Fails:
	case x.Fails:
		t.Failed++
	case x.Status == Skipped || x.Status == Todo:
		t.Skipped++
	default:
		t.Passed++
	}
}

// lineIn is the line of a file that a message names, as "a.js:3:1" or "a.js: unexpected (3:1)", of a file that cannot
// be parsed; 0 where it names none.
func lineIn(text, file string) int {
	if file == "" {
		return 0
	}
	at := regexp.MustCompile(regexp.QuoteMeta(strings.ToValidUTF8(filepath.Base(file), "\uFFFD")) +
		`(?::(\d+)|: [^\n]*\((\d+):\d+\))`)
	m := at.FindStringSubmatch(text)
	if m == nil {
		return 0
	}
	n, err := strconv.Atoi(m[1] + m[2])
	if err != nil {
		return 0
	}
	return n
}

func (r *results) note(format string, args ...any) {
	r.emit(Event{Kind: Note, Text: fmt.Sprintf(format, args...)})
}

// over hands on the framework's own counts, where they are of the same tests as ours.
func (r *results) over() {
	if r.own != nil && !r.several {
		r.own.Passed += r.extra.Passed - r.dropped.Passed
		r.own.Failed += r.extra.Failed - r.dropped.Failed
		r.own.Skipped += r.extra.Skipped - r.dropped.Skipped
		r.emit(Event{Kind: OwnTotals, Totals: r.own})
	}
	r.own, r.extra, r.dropped = nil, Totals{}, Totals{} // of this step
}

// limit is the time of the whole run, as messages give it.
func (r *Request) limit() string {
	if r.Timeout <= 0 {
		return ""
	}
	return " (" + r.Timeout.String() + ")"
}

// unfinished ends what was running when the process did. last is what it wrote last.
func (r *results) unfinished(x Exit, limit string, last string) {
	var innermost []*Test
	for _, id := range r.order {
		if t := r.open[id]; t != nil {
			innermost = append(innermost, t)
		}
	}
	parents := map[string]bool{}
	for _, t := range innermost {
		parents[t.Parent] = true
	}
	for _, t := range innermost {
		e := *t
		if parents[t.ID] { // the one that ran is below it
			e.Group, e.Status, e.Fails = true, Crashed, true
			e.Failures = []Failure{{Kind: "exit", Message: "ended while a subtest ran"}}
		} else {
			r.stopped(&e, x, limit, last)
		}
		r.uncounted(&e)
	}
}

// ended is the status of what ran when the run was ended by us, and why it was.
func (x Exit) ended(limit string) (Status, Failure) {
	if x.Stuck != "" {
		return Stuck, Failure{Kind: "stuck", Message: "it cannot go on, and was ended: " + x.Stuck}
	}
	return TimedOut, Failure{Kind: "timeout", Message: "still running when the time of the whole run was over" + limit}
}

func (r *results) stopped(t *Test, x Exit, limit, last string) {
	f := Failure{File: t.File, Line: t.Line}
	switch {
	case x.Canceled:
		t.Status, t.Reason = Skipped, "the run was cancelled while it ran"
		return
	case x.TimedOut:
		t.Status, f = x.ended(limit)
		f.File, f.Line = t.File, t.Line
	case x.Signal != "":
		t.Status, f.Kind, f.Signal = Crashed, "crash", x.Signal
		f.Message = "the process died of " + x.Signal + " while this test ran"
	default:
		t.Status, f.Kind = Crashed, "exit"
		f.Message = fmt.Sprintf("the process left with code %d while this test ran", x.Code)
	}
	if r.crash != nil {
		why, frames := r.crash(last)
		if f.Stack = r.userFrames(frames); len(f.Stack) > 0 {
			f.File, f.Line = f.Stack[0].File, f.Stack[0].Line
		}
		if why != "" {
			f.Message, last = f.Message+": "+why, ""
		}
	}
	if last = strings.TrimSpace(last); last != "" && !x.TimedOut {
		f.Message += "; its last output:\n" + tail(last, 2<<10)
	}
	t.Fails, t.Failures = true, append(t.Failures, f)
}

// userFrames keeps the frames of the user's code, with paths as they are shown.
func (r *results) userFrames(frames []Frame) []Frame {
	const most = 50 // deeper is a recursion
	var kept []Frame
	for _, f := range frames {
		if !userFile(f.File) || len(kept) == most {
			continue
		}
		f.File = r.rel(f.File)
		kept = append(kept, f)
	}
	return kept
}

// foreign are parts of paths that belong to frameworks and runtimes.
var foreign = []string{"/node_modules/", "/site-packages/", "/dist-packages/", "/lib/python3", "/.yarn/", "/.pnpm/",
	"/.deno/", "/deno/npm/"}

// userFile says whether a place is of the project or another file of the user's, and not of a framework or runtime.
func userFile(name string) bool {
	if name == "" || strings.HasPrefix(name, "<") || strings.HasPrefix(name, "[") {
		return false
	}
	if scheme, _, ok := strings.Cut(name, ":"); ok && scheme != "file" && !strings.Contains(scheme, "/") {
		return false // node:internal/…, ext:…, https://…
	}
	if strings.HasPrefix(name, "internal/") || strings.HasPrefix(filepath.Base(name), reporterPrefix) {
		return false
	}
	return !slices.ContainsFunc(foreign, func(part string) bool { return strings.Contains(name, part) })
}

// reporterPrefix begins the names of our own files in Request.Dir.
const reporterPrefix = "strobe_"
