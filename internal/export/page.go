package export

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/strobe-debug/strobe/internal/crash"
	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/record"
	"github.com/strobe-debug/strobe/internal/sorting"
	"github.com/strobe-debug/strobe/internal/store"
	"github.com/strobe-debug/strobe/internal/value"
)

// Bounds of a page. What is beyond them is counted on it.
const (
	// PageCalls calls are in the tree of a page unless told otherwise: some megabytes, which a browser opens at once.
	PageCalls     = 5000
	pageOutput    = 256 << 10 // bytes of the first output, and as many of the newest
	pageOthers    = 500       // events that are neither calls nor output
	pageErrors    = 200       // kinds of errors
	pageFunctions = 50
	pageCrashes   = 10
	pageLine      = 4 << 10 // bytes of one line of output
)

// Page is a self-contained HTML page about a session, for people: how it ended, its crash, errors, a timeline of each
// thread, the hottest functions, the first calls as a tree, output. It needs no network and has no script. It is not
// among the Formats: of a long session it shows a part.
func Page(calls int) *Format {
	return &Format{Name: "html", Extension: ".html", About: "a page that any browser opens",
		stream: func(ctx context.Context, s *session, w *bufio.Writer) error { return writePage(ctx, s, w, calls) }}
}

// page is what a page shows.
type page struct {
	Title, Command, Strobe string
	Started                string
	Ended                  string
	Lines                  []string // of the report
	Kinds                  []pageCount
	Crashes                []*pageCrash
	MoreCrashes            int64
	Errors                 []*pageError
	MoreErrors             int64
	Functions              []pageFunction
	MoreFunctions          int
	Timeline               *timeline
	Trees                  []*pageTree
	Shown, MoreCalls       int64
	Output                 []pageOutputLine
	Others                 []pageOther
	MoreOthers             int64
}

type pageCount struct {
	Name string
	N    int64
}

type pageError struct {
	Function, Thrown string // that of the first
	Varied           bool   // others differ in numbers
	Calls            int64
	First            event.ID // the end of the first
	Call             event.ID // and its begin, where the tree has it
	At               int64
}

type pageFunction struct {
	Name, Place                          string
	Calls, Errors, Total, Self, P50, P99 int64
}

type pageOther struct {
	ID         event.ID
	At         int64
	Kind, Text string
}

type pageCrash struct {
	*crash.Crash
	Thread string
	At     int64
	Raw    string // where it does not read
}

// Values are those of the place where it crashed, if the stack does not show them.
func (c *pageCrash) Values() value.Object {
	for i := range c.Backtrace {
		if len(c.Backtrace[i].Arguments)+len(c.Backtrace[i].Locals) > 0 {
			return nil
		}
	}
	return c.Locals
}

// pageMaker reads a session once.
type pageMaker struct {
	*session
	page
	limit   int64 // of calls in the tree
	begun   int64 // calls whose begin is in the session
	tree    treeMaker
	lines   *timeline
	output  outputMaker
	errors  map[[2]string]*pageError
	open    []record.Stack[openCall] // by thread; the last one: of none
	shown   int64                    // events
	dropped int64                    // events of calls that the tree has no place for
}

// openCall is a call that has begun.
type openCall struct {
	fn    event.FuncID
	start int64
	node  *pageCall // nil: not in the tree
}

func writePage(ctx context.Context, s *session, w *bufio.Writer, calls int) error {
	lanes, err := s.sn.Lanes(ctx)
	if err != nil {
		return fmt.Errorf("list threads: %w", err)
	}
	first, err := s.firstCall(ctx)
	if err != nil {
		return fmt.Errorf("find the first call: %w", err)
	}
	p := &pageMaker{session: s, limit: int64(calls), errors: map[[2]string]*pageError{},
		open: make([]record.Stack[openCall], len(s.tracks)+1), lines: newTimeline(s, lanes, first),
		tree: treeMaker{byThread: map[event.ThreadID]*pageTree{}}}
	if p.begun, err = s.sn.Count(ctx, store.Filter{Kinds: 1 << event.FunctionEnter}); err != nil {
		return fmt.Errorf("count calls: %w", err)
	}
	if err := s.scan(ctx, store.Filter{}, func(r *store.Row) error { p.row(r); return ctx.Err() }); err != nil {
		return err
	}
	p.finish()
	return p.write(w)
}

func (p *pageMaker) row(r *store.Row) {
	lane := &p.open[min(int64(r.Thread), int64(len(p.open)-1))]
	switch {
	case r.Kind == event.FunctionEnter:
		lane.Begin(r.ID, openCall{r.Func, r.TS, p.begin(r)})
	case r.Kind == event.FunctionExit:
		depth := len(lane.Open())
		c := lane.End(r.Enter, func(openCall) {})
		if c == nil {
			c = &openCall{fn: r.Func, start: r.TS - r.Duration}
		} else {
			depth = len(lane.Open())
		}
		p.end(c, r)
		p.lines.call(r.Thread, depth, c.start, r.TS, p.calls.Function(c.fn).Name, r.Flags)
	default:
		p.other(r)
	}
}

// digits are what errors that are alike differ in.
var digits = regexp.MustCompile(`[0-9]+`)

// begin puts a call into the tree while there is room.
func (p *pageMaker) begin(r *store.Row) *pageCall {
	if p.Shown >= p.limit {
		p.dropped++
		return nil
	}
	p.Shown++
	p.shown++
	f := p.calls.Function(r.Func)
	c := &pageCall{ID: r.ID, At: r.TS, Name: valid(f.Name), Arguments: f.Arguments(r).Short(argumentRoom), open: true}
	if f.File != "" {
		c.Place = fmt.Sprintf("%s:%d", valid(f.File), f.Line)
	}
	if w := f.Watches(r); len(w) > 0 {
		c.Notes = append(c.Notes, "watched: "+w.Short(argumentRoom))
	}
	c.Notes = append(c.Notes, flagNames(r.Flags)...)
	p.tree.add(p.session, r, c)
	return c
}

// end fills in how a call ended, in the tree and among the errors.
func (p *pageMaker) end(c *openCall, r *store.Row) {
	e := p.session.end(r)
	name := p.calls.Function(r.Func).Name
	if e.unwound && r.Flags&event.AtEnd == 0 {
		key := [2]string{name, digits.ReplaceAllString(e.thrown, "0")}
		err := p.errors[key]
		if err == nil && len(p.errors) >= pageErrors {
			p.MoreErrors++
		} else if err == nil {
			err = &pageError{Function: valid(name), Thrown: valid(e.thrown), First: r.ID, At: r.TS}
			if c.node != nil {
				err.Call = c.node.ID
			}
			p.errors[key] = err
		}
		if err != nil {
			err.Calls++
			err.Varied = err.Varied || err.Thrown != valid(e.thrown)
		}
	}
	if c.node == nil {
		p.dropped++
		return
	}
	p.shown++
	c.node.open, c.node.Span = false, r.TS-c.start
	switch {
	case e.unwound && r.Flags&event.AtEnd != 0:
		c.node.Ended = "ended with its thread"
	case e.unwound:
		c.node.Error, c.node.Ended = true, cmp.Or(valid(e.thrown), "left without a result")
	case e.lost:
		c.node.Ended = "end not recorded"
	case e.has:
		c.node.Result = e.result.Short(argumentRoom)
	}
	if out := p.calls.Function(r.Func).Out(r); len(out) > 0 {
		c.node.Notes = append(c.node.Notes, "at the end: "+out.Short(argumentRoom))
	}
}

// other keeps an event that is no call.
func (p *pageMaker) other(r *store.Row) {
	switch {
	case r.Kind.IsOutput():
		p.lines.output(r)
		p.output.add(p.session, r)
		p.tree.output(r)
		return
	case r.Kind == event.Crash:
		p.lines.crash(r)
		p.crash(r)
		return
	case len(p.Others) >= pageOthers:
		p.MoreOthers++
		p.report.leave("other events", fmt.Sprintf("the page lists the first %d", pageOthers))
		return
	}
	p.shown++
	text := ""
	if r.Kind.IsBytes() {
		text = valid(string(r.Payload[:min(len(r.Payload), pageLine)]))
	} else if v, err := value.ParseJSON(r.Payload); err == nil {
		text = v.Object().Short(2 * argumentRoom)
	} else {
		text = valid(string(r.Payload[:min(len(r.Payload), pageLine)]))
	}
	p.Others = append(p.Others, pageOther{r.ID, r.TS, p.eventName(r), text})
}

func (p *pageMaker) crash(r *store.Row) {
	if len(p.Crashes) >= pageCrashes {
		p.MoreCrashes++
		p.report.leave("crashes", fmt.Sprintf("the page shows the first %d", pageCrashes))
		return
	}
	p.shown++
	c := &pageCrash{At: r.TS}
	if t, ok := p.track(r.Thread); ok {
		c.Thread = fmt.Sprintf("%s (thread %d of process %d)", t.name, t.TID, t.PID)
	}
	var err error
	if c.Crash, err = crash.Parse(r.Payload); err != nil {
		c.Crash, c.Raw = &crash.Crash{Reason: "a crash that does not read"}, valid(string(r.Payload))
	}
	p.Crashes = append(p.Crashes, c)
}

// finish puts together what the page shows.
func (p *pageMaker) finish() {
	for i := range p.open {
		stack := &p.open[i]
		for c := stack.Pop(); c != nil; c = stack.Pop() {
			p.lines.call(event.ThreadID(i), len(stack.Open()), c.start, p.lastTS, p.calls.Function(c.fn).Name, 0)
			if c.node != nil {
				c.node.Ended = "has not ended"
			}
		}
	}
	p.lines.finish()
	p.Timeline = p.lines
	p.Trees = p.tree.all
	p.MoreCalls = p.begun - p.Shown
	p.shown += p.output.finish(&p.page, &p.report)
	if p.dropped > 0 {
		note(&p.report.LeftOut, "begins and ends of calls", fmt.Sprintf(
			"the tree has the first %d calls; timeline, functions and errors are of all", p.Shown), p.dropped)
	}
	p.report.Written = p.shown
	for _, e := range p.errors {
		p.Errors = append(p.Errors, e)
	}
	sorting.By(p.Errors, func(a, b *pageError) int {
		return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.First, b.First))
	})
	p.functions()
	p.head()
}

func (p *pageMaker) functions() {
	stats := p.st.FuncStats()
	sorting.By(stats, func(a, b store.FuncStat) int { return cmp.Compare(b.SelfNs, a.SelfNs) })
	p.MoreFunctions = max(len(stats)-pageFunctions, 0)
	for i := range stats[:min(len(stats), pageFunctions)] {
		st := &stats[i]
		f := p.calls.Function(st.Func)
		row := pageFunction{Name: valid(f.Name), Calls: st.Made(), Errors: st.Errors, Total: st.TotalNs, Self: st.SelfNs,
			P50: st.Quantile(0.5), P99: st.Quantile(0.99)}
		if f.File != "" {
			row.Place = fmt.Sprintf("%s:%d", valid(f.File), f.Line)
		}
		p.Functions = append(p.Functions, row)
	}
}

func (p *pageMaker) head() {
	p.Title, p.Strobe = valid(p.meta.SessionID), valid(p.meta.Version)
	p.Command = valid(strings.Join(append([]string{p.meta.Command}, p.meta.Args...), " "))
	p.Started = time.Unix(0, p.meta.StartedAt).UTC().Format("2006-01-02 15:04:05 UTC")
	res := p.st.Result()
	p.Ended = valid(res.Status)
	switch {
	case res.Interrupted && (res.Status == "" || res.Status == "running"):
		p.Ended = "recorded so far"
	case res.Signal != "":
		p.Ended += ", " + valid(res.Signal)
	case res.ExitCode != nil:
		p.Ended += fmt.Sprintf(", exit code %d", *res.ExitCode)
	}
	p.Ended += " after " + span(p.lastTS)
	events := p.st.Stats().Events
	for k := event.KindNone + 1; k < event.NumKinds; k++ {
		if events[k] > 0 {
			p.Kinds = append(p.Kinds, pageCount{k.String(), events[k]})
		}
	}
	p.Lines = p.report.Lines()
}

// span is a time in nanoseconds with three digits and its unit.
func span(ns int64) string {
	d := time.Duration(ns)
	for unit := time.Duration(1); ; unit *= 10 {
		if d.Abs() < 1000*unit {
			return d.Round(unit).String()
		}
	}
}

// at is a moment of the session.
func at(ns int64) string { return fmt.Sprintf("%.6f s", float64(ns)/1e9) }
