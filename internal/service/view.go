package service

import (
	"context"
	"reflect"
	"strconv"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/session"
)

// ViewParams are the parameters of debug_view.
type ViewParams struct {
	SessionID string `json:"sessionId"`
	Action    string `json:"action"`
	ThreadID  int    `json:"threadId,omitempty" jsonschema:"frames, move: whose"`

	Ref collector.Ref `json:"ref,omitempty" jsonschema:"evaluate, scopes: of a frame; variables: of a scope; set: of name"`

	From       int    `json:"from,omitempty" jsonschema:"frames, variables, instructions: the first"`
	Count      int    `json:"count,omitempty" jsonschema:"frames, variables, code: how many"`
	Code       string `json:"code,omitempty" jsonschema:"code: what of it"`
	Address    string `json:"address,omitempty" jsonschema:"instructions, calls, lines, move: 0x…"`
	Before     int    `json:"before,omitempty" jsonschema:"instructions: begin so many before"`
	File       string `json:"file,omitempty" jsonschema:"lines"`
	Line       int    `json:"line,omitempty" jsonschema:"lines"`
	How        string `json:"how,omitempty" jsonschema:"move: by a step over or into calls, or to address"`
	Expression string `json:"expression,omitempty" jsonschema:"evaluate, set"`
	Name       string `json:"name,omitempty" jsonschema:"set: of the variable; functions, globals: how they begin"`
	Value      string `json:"value,omitempty" jsonschema:"set: as the language writes it"`
	After      int64  `json:"after,omitempty" jsonschema:"changes: those behind this seq"`
	WaitMs     int    `json:"waitMs,omitempty" jsonschema:"changes: for the next"`
	Budget
}

// ViewResult is the answer of debug_view, of all actions but changes.
type ViewResult struct {
	Threads   []collector.Thread   `json:"threads,omitempty"`
	Frames    []collector.Frame    `json:"frames,omitempty"`
	Total     int                  `json:"total,omitempty"` // frames that there are
	Scopes    []collector.Scope    `json:"scopes,omitempty"`
	Variables []collector.Variable `json:"variables,omitempty"`
	Variable  *collector.Variable  `json:"variable,omitempty"` // of evaluate and set

	Code *collector.CodeAnswer `json:"code,omitempty"`
}

// viewOp is not offered to models: what it gives in many small answers, others give in one.
var viewOp = Op{
	Name: "debug_view",
	Summary: "For editors and pages: threads, frames, scopes and variables of a paused program, part by part, and every " +
		"change of a session.",
	Doc: "It is called by its name; the list of tools that models are shown does not have it. A ref holds until its " +
		"thread goes on: then it is NOT_PAUSED, and the frames are asked for again. " +
		"Variables gives 100 where count is not given. The value of set is written as in the program's language. " +
		"Action code asks about machine code, paused or not: functions and globals by how their names begin, modules, " +
		"sources, instructions from an address on (or before it), calls of functions in the rest of its line, and lines: " +
		"where in its function a line of file begins. " +
		"Action move moves a paused thread by one instruction, or by a step that enters the function at address alone, or " +
		"has it go on at address (goto), a statement of the function that it stands in, without running anything. " +
		"Action changes tells what became different, in order, with who did it (a client by its name, program or strobe): " +
		"threads and processes begin and end, pause, go on and step, breakpoints and traces " +
		"are set, values written, the program crashes and exits. With waitMs it waits for the next; after is the last that " +
		"was heard. The last 4,096 are kept: of more, lost says how many are missing.",
	Unlisted: true,
	Params:   reflect.TypeFor[ViewParams](),
	Results:  []reflect.Type{reflect.TypeFor[ViewResult](), reflect.TypeFor[ChangesResult]()},
	Fields: []Field{
		maxTokensField, {Name: "sessionId", Required: true},
		{Name: "action", Required: true, Enum: []string{"threads", "frames", "scopes", "variables", "evaluate", "set",
			"code", "move", "changes"}},
		{Name: "how", Enum: []string{"instruction-over", "instruction-into", "function", "goto"}},
		{Name: "code", Enum: []string{"functions", "globals", "modules", "sources", "instructions", "calls", "lines"}},
		{Name: "before", Max: maxViewed},
		{Name: "line", Min: 1, Max: maxLine},
		{Name: "threadId", Min: 1, Max: maxPID},
		{Name: "ref", Min: 1, Max: unbounded},
		{Name: "from", Max: unbounded},
		{Name: "count", Min: 1, Max: maxViewed},
		{Name: "value", Empty: true},
		{Name: "after", Max: unbounded},
		{Name: "waitMs", Max: 60000},
	},
	run: typed(view),
}

// maxViewed is how many frames or variables an answer has.
const maxViewed = 10000

func view(ctx context.Context, s *Service, p *ViewParams) (any, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	if p.Action == "changes" {
		return sessionChanges(ctx, s, p)
	}
	sess, err := s.sessions.Get(ctx, p.SessionID)
	if err != nil {
		return nil, err
	}
	if p.Action == "move" {
		return &ViewResult{}, p.move(ctx, sess)
	}
	r := &ViewResult{}
	return r, sess.View(ctx, func(ctx context.Context, v collector.Viewer, e collector.Evaluator) error {
		return r.fill(ctx, p, v, e)
	})
}

// fill looks at what is asked for.
func (r *ViewResult) fill(ctx context.Context, p *ViewParams, v collector.Viewer, e collector.Evaluator) (err error) {
	switch p.Action {
	case "threads":
		r.Threads, err = v.LiveThreads(ctx)
		return err
	case "frames":
		r.Frames, r.Total, err = v.Frames(ctx, p.ThreadID, p.From, p.Count)
		return err
	case "scopes":
		r.Scopes, err = v.Scopes(ctx, p.Ref)
		return err
	case "variables":
		r.Variables, err = v.Variables(ctx, p.Ref, p.From, p.Count)
		return err
	case "code":
		return r.code(ctx, p, v)
	}
	var one collector.Variable
	switch {
	case e == nil:
		return invalid("debug_memory reads values.", "this program's runtime evaluates nothing in a frame")
	case p.Action == "evaluate":
		one, err = e.Evaluate(ctx, p.Ref, p.Expression)
	case p.Expression != "":
		one, err = e.SetExpression(ctx, p.Ref, p.Expression, p.Value)
	default:
		one, err = e.SetVariable(ctx, p.Ref, p.Name, p.Value)
	}
	r.Variable = &one
	return err
}

// move moves a paused thread; what pauses it next is told by the session's changes.
func (p *ViewParams) move(ctx context.Context, sess *session.Session) error {
	at, err := p.address()
	if err != nil {
		return err
	}
	how := collector.Resume{Thread: p.ThreadID, Step: collector.StepInto, Instruction: p.How != "function"}
	switch {
	case p.How == "goto":
		return sess.Goto(ctx, p.ThreadID, at)
	case p.How == "function":
		how.Into = at
	case p.How == "instruction-over":
		how.Step = collector.StepOver
	}
	_, _, err = sess.Continue(ctx, how, 0)
	return err
}

// address is the one that is given; 0: none.
func (p *ViewParams) address() (uint64, error) {
	if p.Address == "" {
		return 0, nil
	}
	at, err := strconv.ParseUint(p.Address, 0, 64)
	if err != nil {
		return 0, invalid(`Write it as "0x…".`, "address %q", p.Address)
	}
	return at, nil
}

// code answers a question about machine code.
func (r *ViewResult) code(ctx context.Context, p *ViewParams, v collector.Viewer) error {
	c, ok := v.(collector.CodeViewer)
	if !ok {
		return fault.New(fault.Unsupported, "debug_trace finds functions by patterns.",
			"this program's runtime shows no machine code")
	}
	at, err := p.address()
	if err != nil {
		return err
	}
	a, err := c.Code(ctx, collector.CodeQuery{Kind: collector.CodeKind(p.Code), Name: p.Name, At: at,
		From: p.From - p.Before, Count: p.Count, File: p.File, Line: p.Line})
	r.Code = &a
	return err
}

// check refuses what an action lacks.
func (p *ViewParams) check() error {
	switch {
	case p.Action == "move" && (p.ThreadID == 0 || p.How == ""):
		return invalid("Give threadId and how.", "move which thread, and how?")
	case p.Action == "move" && (p.How == "goto" || p.How == "function") && p.Address == "":
		return invalid("Give address, from action code.", "%s needs an address", p.How)
	case p.Action == "frames" && p.ThreadID == 0:
		return invalid("Give threadId; action threads lists them.", "frames of which thread?")
	case (p.Action == "scopes" || p.Action == "variables" || p.Action == "evaluate" || p.Action == "set") && p.Ref == 0:
		return invalid("Give ref, from the answer before.", "action %s needs a ref", p.Action)
	case p.Action == "code" && p.Code == "":
		return invalid("Give code, such as functions.", "what of the code?")
	case p.Action == "evaluate" && p.Expression == "":
		return invalid("Give expression.", "evaluate what?")
	case p.Action == "set" && (p.Expression == "") == (p.Name == ""):
		return invalid("Give one of them.", "set takes an expression, or the name of a variable")
	}
	return nil
}
