package native

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/inspect"
	"github.com/strobe-debug/strobe/internal/snapshot"
)

var (
	_ collector.Viewer     = (*target)(nil)
	_ collector.Evaluator  = (*target)(nil)
	_ collector.CodeViewer = (*target)(nil)
)

// viewed is a paused thread that is looked into.
type viewed struct {
	*inspect.View
	c    *pause
	view *snapshot.Process
	th   *snapshot.Thread
}

// viewOf looks into a paused thread.
func (t *target) viewOf(c *pause) (*viewed, error) {
	t.probeMu.Lock()
	view, err := c.p.view()
	t.probeMu.Unlock()
	if err != nil {
		return nil, err
	}
	th := c.shownThread()
	return &viewed{inspect.NewView(view, th, func(thing inspect.Thing) collector.Ref { return t.putRef(c, thing) }), c,
		view, th}, nil
}

// putRef gives out a Ref that holds while the pause does.
func (t *target) putRef(c *pause, thing inspect.Thing) collector.Ref {
	t.refMu.Lock()
	defer t.refMu.Unlock()
	if t.pauseOf(c.th) != c { // it goes on; takePause was, or waits for this
		return 0
	}
	return t.refs.Put(c, thing)
}

// dropRefs forgets what a thread showed that goes on.
func (t *target) dropRefs(c *pause) {
	t.refMu.Lock()
	defer t.refMu.Unlock()
	t.refs.Drop(c)
}

// refOf looks into the thread that a Ref is of.
func (t *target) refOf(ref collector.Ref) (*viewed, inspect.Thing, error) {
	t.refMu.Lock()
	c, thing, ok := t.refs.Get(ref)
	t.refMu.Unlock()
	if !ok {
		return nil, thing, fault.New(fault.NotPaused, "Ask for the frames of a paused thread again.",
			"the thread that ref %d was of has gone on", ref)
	}
	v, err := t.viewOf(c)
	return v, thing, err
}

// LiveThreads implements collector.Viewer.
func (t *target) LiveThreads(ctx context.Context) (out []collector.Thread, err error) {
	t.awaitAnnounced()
	err = t.tracer.Do(ctx, func() error {
		for _, th := range t.byNumber() {
			one := collector.Thread{PID: th.p.pid, TID: th.tid}
			if c := t.pauseOf(th); c != nil {
				one.Paused, one.Pause = true, c.Number
			}
			out = append(out, one)
		}
		return nil
	})
	for i := range out {
		out[i].Name = threadName(out[i].PID, out[i].TID)
	}
	return out, err
}

// Frames implements collector.Viewer.
func (t *target) Frames(_ context.Context, tid, from, n int) ([]collector.Frame, int, error) {
	t.awaitAnnounced()
	for _, p := range t.processes() {
		if c := t.pauseFor(p, tid); c != nil && tid != 0 {
			v, err := t.viewOf(c)
			if err != nil {
				return nil, 0, err
			}
			frames, total := v.Frames(from, n)
			return frames, total, nil
		}
	}
	return nil, 0, fault.New(fault.NotPaused, "Pause it with debug_continue action pause.", "thread %d is not paused", tid)
}

// Scopes implements collector.Viewer.
func (t *target) Scopes(_ context.Context, frame collector.Ref) ([]collector.Scope, error) {
	v, thing, err := t.refOf(frame)
	if err != nil {
		return nil, err
	}
	return v.Scopes(thing)
}

// Variables implements collector.Viewer.
func (t *target) Variables(_ context.Context, of collector.Ref, from, n int) ([]collector.Variable, error) {
	v, thing, err := t.refOf(of)
	if err != nil {
		return nil, err
	}
	return v.Variables(thing, from, n)
}

// Evaluate implements collector.Evaluator.
func (t *target) Evaluate(_ context.Context, frame collector.Ref, src string) (collector.Variable, error) {
	v, thing, err := t.refOf(frame)
	if err != nil {
		return collector.Variable{}, err
	}
	return v.Evaluate(thing.Frame, src)
}

// SetVariable implements collector.Evaluator.
func (t *target) SetVariable(ctx context.Context, of collector.Ref, name, text string) (collector.Variable, error) {
	v, thing, err := t.refOf(of)
	if err != nil {
		return collector.Variable{}, err
	}
	src, err := v.Target(thing, name)
	if err != nil {
		return collector.Variable{}, err
	}
	out, err := t.setIn(ctx, v, thing.Frame, src, text)
	out.Name = name
	return out, err
}

// SetExpression implements collector.Evaluator.
func (t *target) SetExpression(ctx context.Context, frame collector.Ref, src, text string) (collector.Variable, error) {
	v, thing, err := t.refOf(frame)
	if err != nil {
		return collector.Variable{}, err
	}
	return t.setIn(ctx, v, thing.Frame, src, text)
}

// Code implements collector.CodeViewer.
func (t *target) Code(_ context.Context, q collector.CodeQuery) (collector.CodeAnswer, error) {
	view, _, _, err := t.inspected(collector.Inspection{Frame: -1, PID: q.PID})
	if err != nil {
		return collector.CodeAnswer{}, err
	}
	return inspect.Code(view, q)
}

func (t *target) setIn(ctx context.Context, v *viewed, frame int, src, text string) (collector.Variable, error) {
	w := &writer{ctx: ctx, t: t, p: v.c.p, c: v.c, th: v.th}
	q := collector.Inspection{ThreadID: v.c.TID, Frame: frame,
		Targets: []collector.InspectTarget{{Expr: src, Set: literal(text)}}}
	out, err := inspect.Write(v.view, v.th, q, w)
	if err == nil {
		err = out[0].Err
	}
	if err != nil {
		return collector.Variable{}, err
	}
	if v, err = t.viewOf(v.c); err != nil { // of a register, the thread is another one now
		return collector.Variable{}, err
	}
	return v.Evaluate(frame, src)
}

// literal is a value as a person writes it, as JSON.
func literal(text string) json.RawMessage {
	text = strings.TrimSpace(text)
	switch {
	case text == "nullptr" || text == "NULL":
		return json.RawMessage("null")
	case json.Valid([]byte(text)):
		return json.RawMessage(text)
	case len(text) > 2 && text[0] == '\'' && text[len(text)-1] == '\'':
		text = text[1 : len(text)-1]
	}
	if _, err := strconv.ParseInt(text, 0, 64); err == nil { // 0x10
		return json.RawMessage(`"` + text + `"`)
	}
	b, _ := json.Marshal(text)
	return b
}
