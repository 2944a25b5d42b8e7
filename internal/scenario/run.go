package scenario

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/query"
)

// World is the session that a scenario runs on. Its methods may be called at once.
type World interface {
	AddChannel(ctx context.Context, name string, options json.RawMessage) error
	Open() []string // channels
	Send(ctx context.Context, channel string, message json.RawMessage) (any, error)
	// Ask is debug_query; it waits as WaitMs says.
	Ask(ctx context.Context, r query.Request) (*query.Result, error)
	// Value is what an expression over the program's memory is now, as JSON.
	Value(ctx context.Context, expression string) (json.RawMessage, error)
	Variables() map[string]string
	PID() int // of the program's first process
	Ended() bool
	// Last is the id of the newest event; with flush, after all that was done has come to the timeline.
	Last(ctx context.Context, flush bool) (int64, error)
	Now() int64 // the session's clock, nanoseconds
}

// Result is what came of a run.
type Result struct {
	Passed    bool           `json:"passed"`
	Steps     int64          `json:"steps"` // that were run, those of repeat each time
	DurMs     int64          `json:"ms"`
	Failed    *Failure       `json:"failed,omitempty"`
	SessionID string         `json:"sessionId"`
	Events    Range          `json:"events"` // that came meanwhile
	Status    string         `json:"status,omitempty"`
	Vars      map[string]any `json:"captured,omitempty"`
	StepMs    []int64        `json:"stepMs"` // how long the outermost steps took
	Warnings  []string       `json:"warnings,omitempty"`
}

// Range is of event ids.
type Range struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

// Failure is the first step that failed.
type Failure struct {
	Index    int             `json:"index"` // of the outermost steps
	At       string          `json:"at"`
	Step     json.RawMessage `json:"step"`
	Expected string          `json:"expected"`
	Actual   string          `json:"actual"`
	Nearest  []Near          `json:"nearest,omitempty"` // what did happen, the nearest first
	Hint     string          `json:"hint,omitempty"`
}

// Near is an event that is not what was expected.
type Near struct {
	Event   json.RawMessage `json:"event"`
	Differs []string        `json:"differs,omitempty"`
}

func (f *Failure) Error() string { return f.At + ": " + f.Actual }

// Run runs a scenario, whose channels are opened first. An error is one of the run itself; a step that fails is in the
// result.
func Run(ctx context.Context, s *Scenario, w World) (*Result, error) {
	began := time.Now()
	r := &runner{s: s, w: w, vars: map[string]json.RawMessage{}}
	maps.Copy(r.vars, s.Vars)
	open := w.Open()
	for _, c := range s.Channels {
		there := false
		for _, name := range open {
			there = there || name == c.Channel
		}
		if !there {
			if err := w.AddChannel(ctx, c.Channel, c.Options); err != nil {
				return nil, err
			}
		}
	}
	first, err := w.Last(ctx, true)
	if err != nil {
		return nil, err
	}
	r.start = w.Now()
	r.lastDo = r.start
	res := &Result{Passed: true}
	for i := range s.Steps {
		at := time.Now()
		err := r.step(ctx, &s.Steps[i], r.vars)
		res.StepMs = append(res.StepMs, time.Since(at).Milliseconds())
		var f *Failure
		if errors.As(err, &f) {
			f.Index = i
			res.Passed, res.Failed = false, f
			break
		}
		if err != nil {
			return nil, err
		}
	}
	res.Steps, res.DurMs = r.count.Load(), time.Since(began).Milliseconds()
	last, err := w.Last(context.WithoutCancel(ctx), true)
	if err != nil {
		return nil, err
	}
	res.Events = Range{first + 1, last}
	res.Vars = r.captured
	return res, nil
}

// runner is one run. mu guards what steps in parallel share.
type runner struct {
	s     *Scenario
	w     World
	count atomic.Int64
	start int64 // when the run began, on the session's clock

	mu       sync.Mutex
	vars     map[string]json.RawMessage
	captured map[string]any
	lastDo   int64           // when the newest do began
	answer   json.RawMessage // the newest
}

// step runs one step.
func (r *runner) step(ctx context.Context, s *Step, vars map[string]json.RawMessage) error {
	if n := r.count.Add(1); n > maxRuns {
		return &Failure{At: s.At, Step: s.Raw, Expected: "an end", Actual: fmt.Sprintf("%d steps were run", n)}
	}
	if ctx.Err() != nil {
		return &Failure{At: s.At, Step: s.Raw, Expected: "to be reached in time", Actual: "the run's time was up before it"}
	}
	switch s.Kind {
	case "do":
		return r.do(ctx, s, vars)
	case "wait":
		t := time.NewTimer(time.Duration(s.ms) * time.Millisecond)
		defer t.Stop()
		select {
		case <-t.C:
			return nil
		case <-ctx.Done():
			return &Failure{At: s.At, Step: s.Raw, Expected: "to wait", Actual: "the run's time was up"}
		}
	case "waitFor", "assert":
		return r.assert(ctx, s, vars)
	case "repeat":
		return r.repeat(ctx, s, vars)
	case "parallel":
		return r.parallel(ctx, s, vars)
	case "capture":
		return r.capture(ctx, s, vars)
	}
	return nil // a note
}

func (r *runner) repeat(ctx context.Context, s *Step, vars map[string]json.RawMessage) error {
	for i := range s.count {
		inner := r.scope(vars)
		inner["i"] = json.RawMessage(fmt.Sprint(i + 1))
		for j := range s.steps {
			if err := r.step(ctx, &s.steps[j], inner); err != nil {
				var f *Failure
				if errors.As(err, &f) {
					f.At = fmt.Sprintf("%s (round %d)", f.At, i+1)
				}
				return err
			}
		}
	}
	return nil
}

// scope is a copy of variables: i is each round's own. What is captured goes to all.
func (r *runner) scope(vars map[string]json.RawMessage) map[string]json.RawMessage {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := maps.Clone(r.vars)
	if i, ok := vars["i"]; ok {
		out["i"] = i
	}
	return out
}

func (r *runner) parallel(ctx context.Context, s *Step, vars map[string]json.RawMessage) error {
	errs := make([]error, len(s.branches))
	var wg sync.WaitGroup
	for i, branch := range s.branches {
		wg.Go(func() {
			for j := range branch {
				if errs[i] = r.step(ctx, &branch[j], r.scope(vars)); errs[i] != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// all are the variables that a step can name.
func (r *runner) all(vars map[string]json.RawMessage) map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	for name, v := range r.w.Variables() {
		out[name] = quoted(v)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.Copy(out, r.vars)
	if i, ok := vars["i"]; ok {
		out["i"] = i
	}
	return out
}

// fields are a step's, with what its variables hold.
func (r *runner) fields(s *Step, vars map[string]json.RawMessage) (map[string]json.RawMessage, error) {
	if !strings.Contains(string(s.Raw), "${") {
		return maps.Clone(s.fields), nil
	}
	all := r.all(vars)
	out := map[string]json.RawMessage{}
	for name, raw := range s.fields {
		v, err := expand(raw, all)
		if err != nil {
			return nil, &Failure{At: s.At, Step: s.Raw, Expected: "variables that there are", Actual: fault.From(err).Error()}
		}
		out[name] = v
	}
	return out, nil
}

// stepTime bounds a step that has no bound of its own.
func (r *runner) stepTime(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, time.Duration(r.s.StepTimeoutMs)*time.Millisecond)
}

func (r *runner) do(ctx context.Context, s *Step, vars map[string]json.RawMessage) error {
	fields, err := r.fields(s, vars)
	if err != nil {
		return err
	}
	expectError := false
	if raw, ok := fields["expectError"]; ok {
		if json.Unmarshal(raw, &expectError) != nil {
			return invalid("true or false.", "%s: expectError is %.40s", s.At, raw)
		}
		delete(fields, "expectError")
	}
	if k, err := kindOf(s.channel); err == nil {
		fit(k, s.action, fields)
	}
	fields["do"] = quoted(s.action)
	message, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	before := r.w.Now()
	if fields["withinMs"] == nil { // else it has a bound of its own
		var cancel context.CancelFunc
		ctx, cancel = r.stepTime(ctx)
		defer cancel()
	}
	answer, err := r.w.Send(ctx, s.channel, message)
	r.mu.Lock()
	r.lastDo = before
	if answer != nil && err == nil {
		if raw, err := json.Marshal(answer); err == nil {
			r.answer = raw
		}
	}
	r.mu.Unlock()
	switch {
	case expectError && err == nil:
		raw, _ := json.Marshal(answer)
		return &Failure{At: s.At, Step: s.Raw, Expected: "that it fails", Actual: "it did not: " + string(raw)}
	case expectError || err == nil:
		return nil
	}
	f := fault.From(err)
	actual := f.Error()
	if ctx.Err() != nil && f.Code == fault.InternalError {
		actual = fmt.Sprintf("it was not done in %d ms", r.s.StepTimeoutMs)
	}
	return &Failure{At: s.At, Step: s.Raw, Expected: "that it can be done", Actual: actual, Hint: f.Hint}
}
