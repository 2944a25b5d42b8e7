package service

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/session"
	"github.com/strobe-debug/strobe/internal/value"
)

// BreakpointParams are the parameters of debug_breakpoint.
type BreakpointParams struct {
	SessionID   string       `json:"sessionId,omitempty" jsonschema:"absent: stage for the next launch in projectRoot"`
	Add         []PointParam `json:"add,omitempty"`
	Remove      []string     `json:"remove,omitempty" jsonschema:"ids, or all"`
	ProjectRoot string       `json:"projectRoot,omitempty"`
	Budget
}

// PointParam is one breakpoint or logpoint to set.
type PointParam struct {
	Function string `json:"function,omitempty" jsonschema:"pattern as in debug_trace: every match; @uncaught, @exceptions"`
	File     string `json:"file,omitempty" jsonschema:"path or its end; with line"`
	Line     int    `json:"line,omitempty"`
	Address  string `json:"address,omitempty"`
	Variable string `json:"variable,omitempty" jsonschema:"who changes it: variable_write events"`

	Access    string    `json:"access,omitempty" jsonschema:"of variable: write, readwrite"`
	Pause     bool      `json:"pause,omitempty" jsonschema:"of variable: pause too"`
	Condition string    `json:"condition,omitempty" jsonschema:"e.g. n > 3 && p->id == 7"`
	Return    JSONValue `json:"return,omitzero" jsonschema:"of function: return this at once; null of void"`

	SetArgument map[string]JSONValue `json:"setArgument,omitempty" jsonschema:"of function: by parameter"`
	HitCount    int64                `json:"hitCount,omitempty" jsonschema:"pause at this hit only"`
	Message     string               `json:"message,omitempty" jsonschema:"logpoint: text with {expr}"`
	Thread      int                  `json:"thread,omitempty"`
	AllThreads  bool                 `json:"allThreads,omitempty" jsonschema:"pause the others too"`
	Pending     bool                 `json:"pending,omitempty" jsonschema:"may be loaded later"`
}

// BreakpointResult is the answer of debug_breakpoint: every point after the call.
type BreakpointResult struct {
	Breakpoints   []PointRow  `json:"breakpoints"`
	Logpoints     []PointRow  `json:"logpoints"`
	Added         []string    `json:"added,omitempty"`
	Removed       []string    `json:"removed,omitempty"`
	PausedThreads []PausedRow `json:"pausedThreads,omitempty"`
	Hint          string      `json:"hint,omitempty"`
}

// PointRow is one breakpoint or logpoint.
type PointRow struct {
	ID        string               `json:"id"`
	Variable  string               `json:"variable,omitempty"`
	Function  string               `json:"function,omitempty"` // of its first place, as are the next three
	File      string               `json:"file,omitempty"`
	Line      int                  `json:"line,omitempty"`
	Address   string               `json:"address,omitempty"`
	Locations int                  `json:"locations"`
	More      []collector.Location `json:"otherLocations,omitempty"`
	Condition string               `json:"condition,omitempty"`
	HitCount  int64                `json:"hitCount,omitempty"`
	Message   string               `json:"message,omitempty"`
	Forces    string               `json:"forces,omitempty"` // return V, or parameters
	Hits      int64                `json:"hits"`
	// decided in the program itself: next to free while it does not hold
	InTarget bool   `json:"inTarget,omitempty"`
	Tracer   string `json:"decidedOutside,omitempty"` // why not
	Note     string `json:"note,omitempty"`
}

// PausedRow is one paused thread.
type PausedRow struct {
	ThreadID     int          `json:"threadId"`
	ThreadName   string       `json:"threadName,omitempty"`
	PID          int          `json:"pid,omitempty"`
	BreakpointID string       `json:"breakpointId,omitempty"`
	Reason       string       `json:"reason"` // breakpoint, step, until, entry, data, with thread N
	Hit          int64        `json:"hit,omitempty"`
	Function     string       `json:"function,omitempty"`
	File         string       `json:"file,omitempty"`
	Line         int          `json:"line,omitempty"`
	Address      string       `json:"address,omitempty"`
	Backtrace    []string     `json:"backtrace,omitempty"`
	Arguments    value.Object `json:"arguments,omitempty"`
	Locals       value.Object `json:"locals,omitempty"`
	Result       *value.Value `json:"result,omitempty"`   // behind step-out: what the function returned
	ResultOf     string       `json:"resultOf,omitempty"` // which function
	Note         string       `json:"note,omitempty"`
	Cut          string       `json:"cut,omitempty"` // how to see values whole that were shortened
}

var breakpointOp = Op{
	Name: "debug_breakpoint",
	Summary: "Pause at functions, lines or addresses, or log a message there (logpoint). Without add and " +
		"remove: the list.",
	Doc: "Only the thread that comes there pauses. A line without code takes the next that has, and says so. All of a " +
		"call are checked before any is set. " +
		"At most 50 breakpoints and 100 logpoints. debug_continue lets paused threads go on. Without sessionId they are " +
		"kept for this client's next launch in projectRoot, " +
		"for one hour, and set before its main runs.",
	Params:  reflect.TypeFor[BreakpointParams](),
	Results: []reflect.Type{reflect.TypeFor[BreakpointResult]()},
	Fields: []Field{
		maxTokensField,
		{Name: "add.line", Min: 1, Max: maxLine},
		{Name: "add.access", Enum: []string{"write", "readwrite"}},
		{Name: "add.hitCount", Min: 1, Max: unbounded},
		{Name: "add.thread", Min: 1, Max: maxPID},
	},
	run: typed(breakpoint),
}

// maxLine is more lines than a file has that a compiler takes.
const maxLine = math.MaxInt32

func breakpoint(ctx context.Context, s *Service, p *BreakpointParams) (*BreakpointResult, error) {
	points := make([]collector.Point, 0, len(p.Add))
	for i := range p.Add {
		pt, err := p.Add[i].point()
		if err != nil {
			return nil, err
		}
		points = append(points, pt)
	}
	if p.SessionID == "" {
		return s.stagePoints(ctx, p, points)
	}
	sess, err := s.sessions.Get(ctx, p.SessionID)
	if err != nil {
		return nil, err
	}
	st, err := sess.ChangePoints(ctx, points, p.Remove)
	if err != nil {
		return nil, err
	}
	r := &BreakpointResult{Breakpoints: []PointRow{}, Logpoints: []PointRow{}, Added: st.Added, Removed: st.Removed,
		PausedThreads: pausedRows(st.Pauses)}
	for i := range st.Points {
		row := pointRow(&st.Points[i], statusOf(st.Status, st.Points[i].ID))
		if st.Points[i].Message != "" {
			r.Logpoints = append(r.Logpoints, row)
		} else {
			r.Breakpoints = append(r.Breakpoints, row)
		}
	}
	if len(st.Added) > 0 {
		r.Hint = "debug_query with eventType pause or logpoint and waitMs waits for the next; debug_session status shows " +
			"where threads are paused."
	}
	return r, nil
}

func statusOf(list []collector.PointStatus, id string) collector.PointStatus {
	for _, st := range list {
		if st.ID == id {
			return st
		}
	}
	return collector.PointStatus{ID: id}
}

func pointRow(p *collector.Point, st collector.PointStatus) PointRow {
	r := PointRow{ID: p.ID, Variable: p.Variable, Condition: p.Condition, HitCount: p.HitCount, Message: p.Message,
		Forces: forcesOf(p), Hits: st.Hits, Note: st.Note, InTarget: st.InTarget, Tracer: st.Why,
		Locations: len(st.Locations)}
	if len(st.Locations) == 0 {
		r.Function, r.File, r.Line = p.Function, p.File, p.Line
		if r.Note == "" {
			r.Note = "nowhere yet: it is set when a library with it is loaded"
		}
		return r
	}
	first := st.Locations[0]
	r.Function, r.File, r.Line, r.Address, r.More = first.Function, first.File, first.Line, first.Address, st.Locations[1:]
	return r
}

// point checks one point's form.
func (p *PointParam) point() (collector.Point, error) {
	out := collector.Point{Function: p.Function, File: p.File, Line: p.Line, Condition: p.Condition, HitCount: p.HitCount,
		Message: p.Message,
		Thread:  p.Thread, AllThreads: p.AllThreads, Pending: p.Pending}
	ways := 0
	for _, given := range []bool{p.Function != "", p.File != "" || p.Line != 0, p.Address != "", p.Variable != ""} {
		if given {
			ways++
		}
	}
	const hint = "Give function, or file and line, or address, or variable."
	switch {
	case ways != 1:
		return out, invalid(hint, "a breakpoint needs exactly one place, and %d are given", ways)
	case (p.File == "") != (p.Line == 0):
		return out, invalid(hint, "file and line belong together")
	case p.Line < 0 || p.HitCount < 0:
		return out, invalid("Use 1 or more.", "line and hitCount cannot be negative")
	case p.HitCount > 0 && p.Message != "":
		return out, invalid("Leave one of them out, or use condition.", "hitCount is for breakpoints, not for logpoints")
	}
	if p.Variable != "" {
		if p.Condition != "" || p.Message != "" || p.HitCount > 0 {
			return out, invalid("Leave them out.", "condition, message and hitCount are not for data breakpoints")
		}
		if p.Access != "" && p.Access != "write" && p.Access != "readwrite" {
			return out, invalid("Use write or readwrite.", "access %q", p.Access)
		}
		out.Variable, out.Reads, out.Pause = p.Variable, p.Access == "readwrite", p.Pause
		return out, nil
	}
	if p.Return.raw != nil || p.SetArgument != nil {
		if p.Function == "" || p.Message != "" || p.Return.raw != nil && p.SetArgument != nil {
			return out, invalid("Give function with one of them.",
				"return and setArgument are for functions, one at a time, without message")
		}
		if p.Return.raw != nil {
			out.Return = string(p.Return.raw)
		} else {
			b, err := json.Marshal(p.SetArgument)
			if err != nil {
				return out, invalid("Give {parameter: value}.", "setArgument: %v", err)
			}
			out.SetArguments = string(b)
		}
	}
	if p.Access != "" || p.Pause {
		return out, invalid("Give variable.", "access and pause are for data breakpoints")
	}
	if p.Address != "" {
		a, err := strconv.ParseUint(p.Address, 0, 64)
		if err != nil || a == 0 {
			return out, invalid(`Write it as "0x…".`, "address %q", p.Address)
		}
		out.Address = a
	}
	return out, nil
}

func pausedRows(pauses []collector.Pause) []PausedRow {
	rows := make([]PausedRow, 0, len(pauses))
	for _, p := range pauses {
		r := PausedRow{ThreadID: p.TID, ThreadName: p.ThreadName, PID: p.PID, BreakpointID: p.PointID, Reason: p.Reason,
			Hit:      p.Hit,
			Function: p.Function, File: p.File, Line: p.Line, Backtrace: p.Backtrace, Arguments: p.Arguments, Locals: p.Locals,
			Result: p.Result, ResultOf: p.ResultOf, Note: p.Note}
		if p.Line == 0 {
			r.Address = p.Address
		}
		r.fit(pausedBytes / min(len(pauses), pausedShare))
		rows = append(rows, r)
	}
	return rows
}

// What the values of paused threads take in an answer: one pointer may lead to the whole program.
const (
	pausedBytes = 6 << 10
	pausedShare = 6 // threads, beyond which each has the same
)

// fit cuts the row's values to limit bytes.
func (r *PausedRow) fit(limit int) {
	if r.Result != nil {
		if n := len(r.Result.AppendJSON(nil)); n > limit/2 {
			if o, _ := (value.Object{{Name: "result", Value: *r.Result}}).Fit(limit / 2); len(o) > 0 {
				r.Result, r.Cut = &o[0].Value, "the result is cut (…)"
			}
		}
		limit -= len(r.Result.AppendJSON(nil))
	}
	args, locals := len(r.Arguments.AppendJSON(nil)), len(r.Locals.AppendJSON(nil))
	if args+locals <= limit {
		return
	}
	if args > limit/2 {
		args = max(limit/2, limit-locals-8*len(r.Locals)) // sizes are estimates
	}
	r.Arguments, _ = r.Arguments.Fit(args)
	r.Locals, _ = r.Locals.Fit(limit - args)
	r.Cut = "large values are cut (…): debug_memory reads one, or a part of it, whole"
}

// ContinueParams are the parameters of debug_continue.
type ContinueParams struct {
	SessionID string `json:"sessionId"`
	Action    string `json:"action,omitempty"`
	ThreadID  int    `json:"threadId,omitempty" jsonschema:"default: all"`
	All       bool   `json:"allThreads,omitempty" jsonschema:"steps move all"`
	System    bool   `json:"standardLibrary,omitempty" jsonschema:"step-into enters it"`
	Until     string `json:"until,omitempty" jsonschema:"FILE:LINE to run to"`
	WaitMs    *int   `json:"waitMs,omitempty" jsonschema:"for the next pause"`
	Budget
}

// ContinueResult is the answer of debug_continue: how the program stands now.
type ContinueResult struct {
	Status        string      `json:"status"` // running, paused, exited, crashed
	PausedThreads []PausedRow `json:"pausedThreads"`

	// of action pause: threads that could not stand at once
	PausesLater []collector.LaterPause `json:"pausesLater,omitempty"`
	ExitCode    *int                   `json:"exitCode,omitempty"`
	Signal      string                 `json:"signal,omitempty"`
	Hint        string                 `json:"hint,omitempty"`
}

// defaultWait is how long debug_continue waits for the next pause.
const defaultWait = 2 * time.Second

var continueOp = Op{
	Name:    "debug_continue",
	Summary: "Let paused threads go on or step, or pause running ones now; answers where they pause.",
	Doc: "pause stops threadId, or all, wherever they are, and does not wait for a breakpoint; system calls go on " +
		"with their threads. Steps move one thread, others run on. step-into passes the standard library; step-out gives " +
		"the result. Threads that paused since the last answer stay, and are in the answer. With waitMs 0 it " +
		"answers at once.",
	Params:  reflect.TypeFor[ContinueParams](),
	Results: []reflect.Type{reflect.TypeFor[ContinueResult]()},
	Fields: []Field{
		maxTokensField,
		{Name: "sessionId", Required: true},
		{Name: "action", Enum: []string{"continue", "step-over", "step-into", "step-out", actionPause}, Default: "continue"},
		{Name: "threadId", Min: 1, Max: maxPID},
		{Name: "waitMs", Max: 60000, Default: 2000},
	},
	run: typed(resume),
}

// actionPause is the action of debug_continue that lets nothing go on.
const actionPause = "pause"

func resume(ctx context.Context, s *Service, p *ContinueParams) (*ContinueResult, error) {
	sess, err := s.sessions.Get(ctx, p.SessionID)
	if err != nil {
		return nil, err
	}
	if p.Action == actionPause {
		return pauseNow(ctx, sess, p)
	}
	wait := defaultWait
	if p.WaitMs != nil {
		wait = time.Duration(*p.WaitMs) * time.Millisecond
	}
	how := collector.Resume{Thread: p.ThreadID, Step: collector.Step(p.Action), All: p.All, System: p.System}
	if p.All && how.Step == collector.StepNone {
		how.Thread = 0
	}

	if p.Until != "" {
		file, line, ok := strings.Cut(p.Until, ":")
		n, err := strconv.Atoi(line)
		if !ok || file == "" || err != nil || n <= 0 || how.Step != collector.StepNone && how.Step != "" {
			return nil, invalid(`Write it as "parser.c:120", with action continue.`, "until %q with action %s", p.Until,
				p.Action)
		}
		how.File, how.Line = file, n
	}
	status, pauses, err := sess.Continue(ctx, how, wait)
	if err != nil {
		return nil, err
	}
	r := &ContinueResult{Status: string(status), PausedThreads: pausedRows(pauses)}
	switch status {
	case session.Running:
		r.Hint = fmt.Sprintf("Nothing paused within %v; debug_query with eventType pause and waitMs waits longer.", wait)
		if how.Step != collector.StepNone && how.Step != "" {
			r.Hint = "The step still runs, or its thread has ended or has no source left to step to; debug_query with " +
				"eventType pause and waitMs waits longer."
		}
	case session.Exited, session.Crashed:
		if st, err := sess.State(ctx); err == nil {
			r.ExitCode, r.Signal = st.ExitCode, st.Signal
		}
	}
	return r, nil
}

// pauseNow pauses threads wherever they are.
func pauseNow(ctx context.Context, sess *session.Session, p *ContinueParams) (*ContinueResult, error) {
	if p.Until != "" || p.System {
		return nil, invalid("Leave them out.", "until and standardLibrary are for threads that go on")
	}
	status, pauses, later, err := sess.PauseNow(ctx, p.ThreadID)
	if err != nil {
		return nil, err
	}
	r := &ContinueResult{Status: string(status), PausedThreads: pausedRows(pauses), PausesLater: later}
	if len(later) > 0 {
		r.Hint = "debug_session status shows when the others have paused."
	}
	return r, nil
}

// forcesOf says what a point makes calls do.
func forcesOf(p *collector.Point) string {
	if p.Return != "" {
		return "return " + p.Return
	}
	return p.SetArguments
}

// pointPlace is where a point was asked for, in a word.
func pointPlace(p *collector.Point) string {
	switch {
	case p.Variable != "":
		return "variable " + p.Variable
	case p.Function != "":
		return p.Function
	case p.File != "":
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	return fmt.Sprintf("0x%x", p.Address)
}
