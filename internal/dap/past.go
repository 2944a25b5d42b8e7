package dap

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	proto "github.com/google/go-dap"
)

// past is a paused thread looked at as it was when it called or left a recorded function. Nothing runs meanwhile.
type past struct {
	lane  lane
	at    int // which of the thread's recorded events, from 0
	event pastEvent
}

// pastEvent is what is used of a call's recorded begin or end.
type pastEvent struct {
	ID          int64
	EventType   string
	Function    string
	SourceFile  string
	Line        int
	TimestampNs int64
	Arguments   json.RawMessage
	ReturnValue json.RawMessage
}

// pastThing is what an id or a variablesReference of the past means: a frame, or a value with parts.
type pastThing struct {
	event  *pastEvent // of a frame
	result json.RawMessage
	value  json.RawMessage // an object, or a list
}

// pastBase is above all ids that the daemon gives. What is shown of the past counts from there.
const pastBase = 1 << 30

// pastPage is how many events are read at once on the way to a breakpoint.
const pastPage = 500

// lane is whose calls are looked at: a thread's, or by name those of the goroutine that runs on it.
type lane struct {
	tid  int
	name string
}

// laneOf finds it for a paused thread.
func (r *run) laneOf(ctx context.Context, tid int) (lane, error) {
	var st struct {
		PausedThreads []struct {
			ThreadID   int
			ThreadName string
		}
	}
	err := r.s.ask(ctx, "debug_session", map[string]any{"action": "status", "sessionId": r.id}, &st)
	for _, p := range st.PausedThreads {
		if p.ThreadID == tid && strings.HasPrefix(p.ThreadName, "goroutine ") {
			return lane{tid, p.ThreadName}, err
		}
	}
	return lane{tid: tid}, err
}

// calls reads n recorded calls from one on, or those that there are, and says how many these are.
func (r *run) calls(ctx context.Context, l lane, from, n int) (out []pastEvent, total int, err error) {
	args := map[string]any{"sessionId": r.id, "threadId": l.tid, "eventType": []string{"function_enter", "function_exit"}}
	if l.name != "" {
		delete(args, "threadId")
		args["threadName"] = l.name
	}
	for { // an answer may be cut to its size
		var page struct {
			Events     []pastEvent
			TotalCount int
		}
		args["offset"], args["limit"] = from+len(out), n-len(out)
		if err := r.s.ask(ctx, "debug_query", args, &page); err != nil {
			return nil, 0, err
		}
		out = append(out, page.Events...)
		if len(page.Events) == 0 || len(out) >= n || from+len(out) >= page.TotalCount {
			return out, page.TotalCount, nil
		}
	}
}

func (r *run) pastOf(tid int) *past {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pasts[tid]
}

// setPast puts a paused thread at one of its recorded events; nil: back to how it stands.
func (r *run) setPast(tid int, p *past) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if delete(r.pasts, tid); p != nil {
		r.pasts[tid] = p
	}
	if len(r.pasts) == 0 || len(r.things) > maxAtOnce {
		r.things = nil
	}
}

// back moves a paused thread towards what was first: by one event, or to where a breakpoint's function was called.
func (r *run) back(ctx context.Context, tid int, far bool) error {
	if _, is := r.paused[tid]; !is || r.core {
		return fmt.Errorf("thread %d is not paused in a program that is recorded", tid)
	}
	l, err := r.laneOf(ctx, tid)
	if err != nil {
		return err
	}
	_, n, err := r.calls(ctx, l, 0, 1)
	if err != nil {
		return err
	}
	if n == 0 {
		return fmt.Errorf("no call of thread %d is recorded: trace functions first (trace add PATTERN)", tid)
	}
	at := n
	if p := r.pastOf(tid); p != nil {
		at = p.at
	}
	to := max(at-1, 0)
	if far {
		for to = 0; at > 0; {
			from := max(at-pastPage, 0)
			list, _, err := r.calls(ctx, l, from, at-from)
			if err != nil {
				return err
			}
			for i := len(list) - 1; i >= 0; i-- {
				if r.broken(&list[i]) {
					return r.show(ctx, l, from+i)
				}
			}
			at = from
		}
	}
	return r.show(ctx, l, to)
}

// broken reports whether a breakpoint stands in a function that is called.
func (r *run) broken(e *pastEvent) bool {
	for _, g := range r.s.points.groups {
		for _, pt := range g {
			if e.EventType == "function_enter" && pt.row.Function == e.Function && pt.row.Message == "" && e.Function != "" {
				return true
			}
		}
	}
	return false
}

// forth moves a thread that is in the past towards now: by one event, over a call, out of it, or on to a breakpoint.
func (r *run) forth(ctx context.Context, tid int, how string) error {
	p := r.pastOf(tid)
	l, at, depth := p.lane, p.at+1, 0
	if how == "out" || how == "over" && p.event.EventType == "function_enter" {
		depth = 1
	}
	for how != "into" && (depth > 0 || how == "on") {
		list, _, err := r.calls(ctx, l, at, pastPage)
		if err != nil {
			return err
		}
		for i := range list {
			if list[i].EventType == "function_exit" {
				depth--
			} else {
				depth++
			}
			if how != "on" && depth == 0 || how == "on" && r.broken(&list[i]) {
				return r.show(ctx, l, at+i)
			}
		}
		if at += len(list); len(list) < pastPage {
			break
		}
	}
	return r.show(ctx, l, at)
}

// show puts a thread at an event, or behind the last at where it stands, and tells that when the request is answered.
func (r *run) show(ctx context.Context, l lane, at int) error {
	tid := l.tid
	list, _, err := r.calls(ctx, l, at, 1)
	if err != nil {
		return err
	}
	r.telling = &proto.StoppedEventBody{Reason: "step", ThreadId: tid, AllThreadsStopped: r.held,
		Description: "Back from the past: paused as before"}
	if len(list) == 0 {
		r.setPast(tid, nil)
		return nil
	}
	r.setPast(tid, &past{lane: l, at: at, event: list[0]})
	what := "call of "
	if list[0].EventType == "function_exit" {
		what = "return of "
	}
	r.telling.Description = "[past] " + what + list[0].Function
	r.telling.Text = fmt.Sprintf("recorded at %d ns, event %d; nothing runs", list[0].TimestampNs, list[0].ID)
	return nil
}

// tellMove says where a thread is shown now that was not run, behind the answer.
func (s *Server) tellMove() {
	if t := s.run.telling; t != nil {
		s.run.telling = nil
		s.out.event("stopped", *t)
	}
}

func stepBack(ctx context.Context, _ *Server, in *run, a *proto.StepBackArguments) (any, error) {
	return nil, in.back(ctx, a.ThreadId, false)
}

func reverseContinue(ctx context.Context, _ *Server, in *run, a *proto.ReverseContinueArguments) (any, error) {
	return nil, in.back(ctx, a.ThreadId, true)
}

// thing gives what is shown of the past an id.
func (r *run) thing(t pastThing) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.things = append(r.things, t)
	return pastBase + len(r.things) - 1
}

func (r *run) thingOf(id int) (pastThing, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if id -= pastBase; id < 0 || id >= len(r.things) {
		return pastThing{}, errors.New("this was shown of the past, which is not looked at any more")
	}
	return r.things[id], nil
}

// pastStack is a thread's stack as its recorded calls were in each other, the innermost first.
func (r *run) pastStack(ctx context.Context, p *past) (*proto.StackTraceResponseBody, error) {
	var one struct {
		Enter, Exit *pastEvent
		Callers     []pastEvent
	}
	if err := r.s.ask(ctx, "debug_timeline", map[string]any{"sessionId": r.id, "action": "event", "id": p.event.ID},
		&one); err != nil {
		return nil, err
	}
	calls := one.Callers
	if e := cmp.Or(one.Enter, one.Exit); e != nil { // an enter may be dropped by the session's limit
		calls = append([]pastEvent{*e}, calls...)
	}
	out := &proto.StackTraceResponseBody{StackFrames: []proto.StackFrame{}, TotalFrames: len(calls)}
	for i := range calls {
		t := pastThing{event: &calls[i]}
		if i == 0 && p.event.EventType == "function_exit" && one.Exit != nil {
			t.result = one.Exit.ReturnValue
		}
		f := proto.StackFrame{Id: r.thing(t), Name: "[past] " + calls[i].Function}
		if calls[i].SourceFile != "" && calls[i].Line > 0 {
			f.Source, f.Line = source(calls[i].SourceFile), r.s.line(calls[i].Line)
		}
		out.StackFrames = append(out.StackFrames, f)
	}
	return out, nil
}

// pastScopes are a recorded call's arguments, and what it returned where the thread is shown at its end.
func (r *run) pastScopes(id int) (any, error) {
	t, err := r.thingOf(id)
	out := proto.ScopesResponseBody{Scopes: []proto.Scope{}}
	if err != nil || t.event == nil {
		return out, err
	}
	if len(t.event.Arguments) > 0 {
		out.Scopes = append(out.Scopes, proto.Scope{Name: "Arguments", PresentationHint: "arguments",
			VariablesReference: r.thing(pastThing{value: t.event.Arguments})})
	}
	if len(t.result) > 0 {
		out.Scopes = append(out.Scopes, proto.Scope{Name: "Result", PresentationHint: "returnValue",
			VariablesReference: r.thing(pastThing{value: bytes.Join([][]byte{[]byte(`{"result":`), t.result, {'}'}}, nil)})})
	}
	return out, nil
}

// pastVariables are the parts of a recorded value, in their order.
func (r *run) pastVariables(a *proto.VariablesArguments) (any, error) {
	t, err := r.thingOf(a.VariablesReference)
	out := proto.VariablesResponseBody{Variables: []proto.Variable{}}
	if err != nil {
		return nil, err
	}
	list := len(t.value) > 0 && t.value[0] == '['
	if a.Filter == "named" && list || a.Filter == "indexed" && !list {
		return out, nil
	}
	d := json.NewDecoder(bytes.NewReader(t.value))
	d.Token() //nolint:errcheck // the bracket; what is no value has no parts
	for i := 0; d.More(); i++ {
		name := fmt.Sprintf("[%d]", i)
		if !list {
			key, err := d.Token()
			if err != nil {
				return nil, fmt.Errorf("read a recorded value: %w", err)
			}
			name = fmt.Sprint(key)
		}
		var v json.RawMessage
		if err := d.Decode(&v); err != nil {
			return nil, fmt.Errorf("read a recorded value: %w", err)
		}
		if i >= a.Start && (a.Count == 0 || i < a.Start+a.Count) {
			out.Variables = append(out.Variables, r.pastVariable(name, v))
		}
	}
	return out, nil
}

func (r *run) pastVariable(name string, v json.RawMessage) proto.Variable {
	out := proto.Variable{Name: name, Value: string(v),
		PresentationHint: &proto.VariablePresentationHint{Attributes: []string{"readOnly"}}}
	if parts := len(v) > 2 && (v[0] == '{' || v[0] == '['); parts {
		out.VariablesReference = r.thing(pastThing{value: v})
	}
	if runes := []rune(out.Value); len(runes) > maxPastValue {
		out.Value = string(runes[:maxPastValue]) + "…"
	}
	return out
}

// maxPastValue bounds the text of a recorded value whose parts are shown by themselves.
const maxPastValue = 200

// pastEvaluate finds a recorded value by its name or path.
func (r *run) pastEvaluate(ctx context.Context, id int, expression string) (any, error) {
	t, err := r.thingOf(id)
	if err != nil {
		return nil, err
	}
	if t.event == nil {
		return nil, errors.New("this is no frame")
	}
	v := t.result
	if strings.TrimSpace(expression) != "result" || v == nil {
		var m memoryAnswer
		if err := r.s.ask(ctx, "debug_memory", map[string]any{"sessionId": r.id, "eventId": t.event.ID,
			"targets": []any{map[string]any{"expression": expression}}}, &m); err != nil {
			return nil, err
		}
		if len(m.Results) != 1 || m.Results[0].Error != "" {
			return nil, fmt.Errorf("[past] %s is not among what was recorded of %s", expression, t.event.Function)
		}
		if v = m.Results[0].Fields; v == nil {
			v = m.Results[0].Value
		}
	}
	one := r.pastVariable(expression, v)
	return proto.EvaluateResponseBody{Result: one.Value, VariablesReference: one.VariablesReference}, nil
}

var errPast = errors.New("this is the past, which nothing changes: continue leads back to now")
