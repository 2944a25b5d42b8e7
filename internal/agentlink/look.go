package agentlink

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/value"
)

// LiveThreads implements collector.Stopper: those that are paused. The host knows the others.
func (m *Member) LiveThreads(context.Context) ([]collector.Thread, error) {
	var out []collector.Thread
	for _, c := range m.pausesNow() {
		out = append(out, collector.Thread{PID: c.PID, TID: c.TID, Name: c.ThreadName, Paused: true, Pause: c.Number})
	}
	return out, nil
}

// ref gives out the Ref for an agent's of a pause.
func (m *Member) ref(c *pause, theirs collector.Ref) collector.Ref {
	if theirs == 0 {
		return 0
	}
	m.pauses.mu.Lock()
	defer m.pauses.mu.Unlock()
	return m.pauses.refs.Put(c, int64(theirs))
}

// theirs is the pause and the agent's ref of a Ref.
func (m *Member) theirs(ref collector.Ref) (*pause, int64, error) {
	m.pauses.mu.Lock()
	defer m.pauses.mu.Unlock()
	c, their, ok := m.pauses.refs.Get(ref)
	if !ok {
		return nil, 0, fault.New(fault.NotPaused, "Ask for the frames of a paused thread again.",
			"the thread that ref %d was of has gone on", ref)
	}
	return c, their, nil
}

// ask asks an agent about one of its paused threads.
func (c *pause) ask(ctx context.Context, m string, body map[string]any, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	return asFault(c.a.Ask(ctx, m, body, answer))
}

// Frames implements collector.Stopper.
func (m *Member) Frames(ctx context.Context, thread, from, n int) ([]collector.Frame, int, error) {
	c, err := m.pausedThread(thread)
	if err != nil {
		return nil, 0, err
	}
	var answer struct {
		Frames []struct {
			Ref collector.Ref `json:"ref"`
			Place
			Module string `json:"module"`
			User   bool   `json:"user"`
		} `json:"frames"`
		Total int `json:"total"`
	}
	if err := c.ask(ctx, "frames", map[string]any{"tid": c.TID, "from": from, "n": n}, &answer); err != nil {
		return nil, 0, err
	}
	out := []collector.Frame{}
	for i, f := range answer.Frames {
		out = append(out, collector.Frame{Ref: m.ref(c, f.Ref), Index: from + i, Function: f.Function,
			Location: m.located(f.Place).location(), Module: f.Module, User: f.User})
	}
	return out, answer.Total, nil
}

// Scopes implements collector.Stopper.
func (m *Member) Scopes(ctx context.Context, frame collector.Ref) ([]collector.Scope, error) {
	c, ref, err := m.theirs(frame)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Scopes []collector.Scope `json:"scopes"`
	}
	if err := c.ask(ctx, "scopes", map[string]any{"ref": ref}, &answer); err != nil {
		return nil, err
	}
	for i := range answer.Scopes {
		answer.Scopes[i].Ref = m.ref(c, answer.Scopes[i].Ref)
	}
	return answer.Scopes, nil
}

// Variables implements collector.Stopper.
func (m *Member) Variables(ctx context.Context, of collector.Ref, from, n int) ([]collector.Variable, error) {
	c, ref, err := m.theirs(of)
	if err != nil {
		return nil, err
	}
	if n <= 0 {
		n = value.MaxElems
	}
	var answer struct {
		Variables []collector.Variable `json:"variables"`
	}
	if err := c.ask(ctx, "variables", map[string]any{"ref": ref, "from": from, "n": n}, &answer); err != nil {
		return nil, err
	}
	for i := range answer.Variables {
		v := &answer.Variables[i]
		if v.Ref = m.ref(c, v.Ref); numbered(v.Name) { // as elements are shown everywhere
			v.Name = "[" + v.Name + "]"
		}
	}
	return answer.Variables, nil
}

// numbered reports a name that is a number.
func numbered(name string) bool {
	return name != "" && strings.Trim(name, "0123456789") == ""
}

// valued is an agent's answer that has a value.
type valued struct {
	Variable collector.Variable `json:"variable"`
	Value    json.RawMessage    `json:"value"`
}

// value asks for one value.
func (m *Member) value(ctx context.Context, of collector.Ref, q string, body map[string]any) (v valued, err error) {
	c, ref, err := m.theirs(of)
	if err != nil {
		return v, err
	}
	body["ref"] = ref
	if err := c.ask(ctx, q, body, &v); err != nil {
		return v, err
	}
	v.Variable.Ref = m.ref(c, v.Variable.Ref)
	return v, nil
}

// Evaluate implements collector.Stopper.
func (m *Member) Evaluate(ctx context.Context, frame collector.Ref, expression string) (collector.Variable, error) {
	v, err := m.value(ctx, frame, "evaluate", map[string]any{"text": expression, "depth": 1})
	return v.Variable, err
}

// SetVariable implements collector.Stopper.
func (m *Member) SetVariable(ctx context.Context, of collector.Ref, name, text string) (collector.Variable, error) {
	if inner := strings.TrimSuffix(strings.TrimPrefix(name, "["), "]"); numbered(inner) {
		name = inner
	}
	v, err := m.value(ctx, of, "assign", map[string]any{"name": name, "text": text})
	return v.Variable, err
}

// SetExpression implements collector.Stopper.
func (m *Member) SetExpression(ctx context.Context, frame collector.Ref, expression, text string) (collector.Variable,
	error) {
	v, err := m.value(ctx, frame, "assign", map[string]any{"expression": expression, "text": text})
	return v.Variable, err
}

// Inspect implements collector.Stopper: expressions in a frame of a paused thread.
func (m *Member) Inspect(ctx context.Context, q collector.Inspection) ([]collector.Reading, error) {
	frame, err := m.frameOf(ctx, q)
	if err != nil {
		return nil, err
	}
	out := make([]collector.Reading, len(q.Targets))
	for i, t := range q.Targets {
		out[i] = m.reading(ctx, frame, t.Expr, cmp.Or(q.Depth, pauseDepth))
	}
	return out, nil
}

// Assign implements collector.Stopper.
func (m *Member) Assign(ctx context.Context, q collector.Inspection) ([]collector.Reading, error) {
	frame, err := m.frameOf(ctx, q)
	if err != nil {
		return nil, err
	}
	out := make([]collector.Reading, len(q.Targets))
	q.Depth = cmp.Or(q.Depth, pauseDepth)
	for i, t := range q.Targets { // all are there before any is written
		if out[i] = m.reading(ctx, frame, t.Expr, q.Depth); out[i].Err != nil {
			return out[:i+1], nil
		}
	}
	for i, t := range q.Targets {
		v, err := m.value(ctx, frame, "assign", map[string]any{"expression": t.Expr, "text": m.kind.literal(t.Set)})
		previous := out[i].Value
		if out[i] = read(v, q.Depth, err); err == nil {
			out[i].Previous = &previous
		}
	}
	return out, nil
}

// frameOf is the frame that an inspection is about.
func (m *Member) frameOf(ctx context.Context, q collector.Inspection) (collector.Ref, error) {
	frames, total, err := m.Frames(ctx, q.ThreadID, 0, max(q.Frame+1, lookedFrames))
	if err != nil {
		return 0, err
	}
	at := max(q.Frame, 0)
	if q.Frame < 0 {
		for i, f := range frames {
			if f.User {
				at = i
				break
			}
		}
	}
	if at >= len(frames) {
		return 0, fault.New(fault.ValidationError, "Give a frame of the backtrace.", "the thread has %d frames", total)
	}
	return frames[at].Ref, nil
}

const (
	// lookWithin bounds a question about a paused thread: an expression of the user's is given up by the agent before.
	lookWithin = 8 * time.Second
	// lookedFrames is among how many frames the innermost of the user's code is looked for.
	lookedFrames = 50
)

// reading is an expression's value in a frame.
func (m *Member) reading(ctx context.Context, frame collector.Ref, expression string, depth int) collector.Reading {
	v, err := m.value(ctx, frame, "evaluate", map[string]any{"text": expression, "depth": depth})
	return read(v, depth, err)
}

// read is what an agent's answer says.
func read(v valued, depth int, err error) (r collector.Reading) {
	if err != nil {
		r.Err = err
		return r
	}
	r.Type = v.Variable.Type
	if val, ok := value.NewTree(nil, depth).Exit(v.Value, 0, true); ok {
		r.Value = val
	}
	return r
}
