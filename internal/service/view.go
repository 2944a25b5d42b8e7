package service

import (
	"context"
	"reflect"

	"github.com/strobe-debug/strobe/internal/collector"
)

// ViewParams are the parameters of debug_view.
type ViewParams struct {
	SessionID string `json:"sessionId"`
	Action    string `json:"action"`
	ThreadID  int    `json:"threadId,omitempty" jsonschema:"frames: whose"`

	Ref collector.Ref `json:"ref,omitempty" jsonschema:"evaluate, scopes: of a frame; variables: of a scope; set: of name"`

	From       int    `json:"from,omitempty" jsonschema:"frames, variables: the first"`
	Count      int    `json:"count,omitempty" jsonschema:"frames, variables: how many"`
	Expression string `json:"expression,omitempty" jsonschema:"evaluate, set"`
	Name       string `json:"name,omitempty" jsonschema:"set: of the variable"`
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
}

// viewOp is not offered to models: what it gives in many small answers, others give in one.
var viewOp = Op{
	Name: "debug_view",
	Summary: "For editors and pages: threads, frames, scopes and variables of a paused program, part by part, and every " +
		"change of a session.",
	Doc: "It is called by its name; the list of tools that models are shown does not have it. A ref holds until its " +
		"thread goes on: then it is NOT_PAUSED, and the frames are asked for again. " +
		"Variables gives 100 where count is not given. The value of set is written as in the program's language. " +
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
			"changes"}},
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

// check refuses what an action lacks.
func (p *ViewParams) check() error {
	switch {
	case p.Action == "frames" && p.ThreadID == 0:
		return invalid("Give threadId; action threads lists them.", "frames of which thread?")
	case (p.Action == "scopes" || p.Action == "variables" || p.Action == "evaluate" || p.Action == "set") && p.Ref == 0:
		return invalid("Give ref, from the answer before.", "action %s needs a ref", p.Action)
	case p.Action == "evaluate" && p.Expression == "":
		return invalid("Give expression.", "evaluate what?")
	case p.Action == "set" && (p.Expression == "") == (p.Name == ""):
		return invalid("Give one of them.", "set takes an expression, or the name of a variable")
	}
	return nil
}
