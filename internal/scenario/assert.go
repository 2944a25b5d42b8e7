package scenario

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/query"
)

const (
	// pollValue is how often a value is read that is waited for: nothing tells of its change.
	pollValue = 20 * time.Millisecond
	// maxNear is how many events a failure shows, maxLook among how many they are chosen, and maxShown how much of one.
	maxNear  = 3
	maxLook  = 500
	maxShown = 600
	// maxPages bounds how many pages a capture looks through for the newest.
	maxPages = 200
)

func (r *runner) assert(ctx context.Context, s *Step, vars map[string]json.RawMessage) error {
	fields, err := r.fields(s, vars)
	if err != nil {
		return err
	}
	c, err := s.condition(fields)
	if err != nil { // for what a variable holds: all else was checked
		f := fault.From(err)
		return &Failure{At: s.At, Step: s.Raw, Expected: "a condition that can be read", Actual: f.Msg, Hint: f.Hint}
	}
	if c.main {
		pid := int64(r.w.PID())
		c.request.PID = &pid
	}
	if s.Kind == "waitFor" && c.withinMs == 0 {
		c.withinMs = r.s.StepTimeoutMs
	}
	switch {
	case c.value != "":
		return r.assertValue(ctx, s, c)
	case c.newest:
		r.mu.Lock()
		answer := r.answer
		r.mu.Unlock()
		if answer != nil {
			return assertAnswer(s, c, answer)
		}
	}
	return r.assertEvents(ctx, s, c)
}

// assertAnswer looks at the newest answer.
func assertAnswer(s *Step, c *condition, answer json.RawMessage) error {
	missed, _ := c.filter.Misses(answer)
	if len(missed) == 0 {
		return nil
	}
	return &Failure{At: s.At, Step: s.Raw, Expected: "the newest answer: " + describe(c),
		Actual: strings.Join(missed, "; "), Nearest: []Near{{Event: shown(answer)}}}
}

func (r *runner) assertValue(ctx context.Context, s *Step, c *condition) error {
	end := time.Now().Add(time.Duration(c.withinMs) * time.Millisecond)
	for {
		v, err := r.w.Value(ctx, c.value)
		if err == nil {
			missed, _ := c.filter.Misses(json.RawMessage(`{"value":` + string(v) + `}`))
			if len(missed) == 0 {
				return nil
			}
			err = errors.New(c.value + " = " + string(shown(v)))
		}
		wait := min(pollValue, time.Until(end))
		if wait <= 0 || ctx.Err() != nil {
			f := &Failure{At: s.At, Step: s.Raw, Expected: c.value + ": " + describe(c), Actual: err.Error()}
			var known *fault.Error
			if errors.As(err, &known) {
				f.Actual, f.Hint = string(known.Code)+": "+known.Msg, known.Hint
			}
			return f
		}
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-ctx.Done():
		}
		t.Stop()
	}
}

// base is the time from which on a condition counts.
func (r *runner) base(c *condition) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.since == "do" {
		return r.lastDo
	}
	return r.start
}

func moment(ns int64) query.Moment { return query.Moment(strconv.FormatInt(ns, 10)) }

// assertEvents counts events, and waits for more of them as long as it may.
func (r *runner) assertEvents(ctx context.Context, s *Step, c *condition) error {
	base := r.base(c)
	end := time.Now().Add(time.Duration(c.withinMs) * time.Millisecond)
	for {
		seen, err := r.w.Last(ctx, false)
		if err != nil {
			return r.interrupted(ctx, s, err)
		}
		ask := c.request
		ask.TimeFrom, ask.Limit = moment(base), 1
		res, err := r.w.Ask(ctx, ask)
		if err != nil {
			return r.interrupted(ctx, s, err)
		}
		n, left := res.TotalCount, time.Until(end)
		over := left <= 0 || r.w.Ended()
		switch {
		case c.max >= 0 && n > c.max:
			return r.failed(ctx, s, c, base, n, res)
		case n >= c.min && (over || c.min > 0): // none, and at most so many, are known at the end only
			return nil
		case over:
			return r.failed(ctx, s, c, base, n, res)
		}
		ask.AfterEventID, ask.WaitMs = &seen, int(min(left.Milliseconds()+1, query.MaxWaitMs))
		if _, err := r.w.Ask(ctx, ask); err != nil {
			return r.interrupted(ctx, s, err)
		}
	}
}

// interrupted is an error of a question: where the run's time is up, the step has failed.
func (r *runner) interrupted(ctx context.Context, s *Step, err error) error {
	if ctx.Err() != nil {
		return &Failure{At: s.At, Step: s.Raw, Expected: "to be answered in time", Actual: "the run's time was up"}
	}
	return err
}

// failed says what there was instead.
func (r *runner) failed(ctx context.Context, s *Step, c *condition, base, n int64, res *query.Result) error {
	f := &Failure{At: s.At, Step: s.Raw, Expected: c.how() + " of " + c.channel + ": " + describe(c)}
	f.Actual = fmt.Sprintf("%d", n)
	if c.withinMs > 0 {
		f.Actual += fmt.Sprintf(" in %d ms", c.withinMs)
	}
	if r.w.Ended() {
		f.Actual += "; the program has ended"
	}
	if n > 0 { // too few or too many: these are they
		f.Nearest = r.newest(ctx, c.request, base)
		return f
	}
	f.Hint, f.Nearest = res.Hint, r.near(ctx, c, base)
	return f
}

// newest shows the last events of a question.
func (r *runner) newest(ctx context.Context, ask query.Request, base int64) []Near {
	events := r.look(ctx, ask, base)
	var out []Near
	for i := len(events) - 1; i >= 0 && len(out) < maxNear; i-- {
		out = append(out, Near{Event: eventJSON(&events[i])})
	}
	return out
}

// look returns the last events of a question, some hundreds at most.
func (r *runner) look(ctx context.Context, ask query.Request, base int64) (events []query.Event) {
	ask.WaitMs, ask.Limit, ask.TimeFrom = 0, maxLook, moment(base)
	for range maxPages {
		res, err := r.w.Ask(ctx, ask)
		if err != nil || len(res.Events) == 0 {
			return events
		}
		events = append(events, res.Events...)
		events = events[max(0, len(events)-maxLook):]
		if !res.HasMore {
			return events
		}
		next := res.LastEventID
		ask.AfterEventID = &next
	}
	return events
}

// near chooses the events that miss the fewest of the conditions.
func (r *runner) near(ctx context.Context, c *condition, base int64) []Near {
	ask := c.request
	if len(c.filter) == 0 { // calls and output: those without the conditions on values
		if ask.ReturnValue == nil && ask.Argument == nil && ask.Text == nil {
			return nil // the question's own hint names what there is
		}
		ask.ReturnValue, ask.Argument, ask.Text = nil, nil, nil
		return r.newest(ctx, ask, base)
	}
	ask.Message = nil
	type scored struct {
		near   Near
		misses int
	}
	var all []scored
	events := r.look(ctx, ask, base)
	for i := len(events) - 1; i >= 0; i-- {
		if events[i].Stream == "sent" { // by the scenario
			continue
		}
		raw := eventJSON(&events[i])
		missed, _ := c.filter.Misses(ownMembers(&events[i]))
		all = append(all, scored{Near{raw, missed}, len(missed)})
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].misses < all[j].misses })
	var out []Near
	for i := range all[:min(len(all), maxNear)] {
		out = append(out, all[i].near)
	}
	return out
}

// ownMembers is an event's own object.
func ownMembers(e *query.Event) json.RawMessage {
	out := map[string]json.RawMessage{}
	for _, m := range e.Data {
		out[m.Name] = m.Value
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return nil
	}
	return raw
}

func eventJSON(e *query.Event) json.RawMessage {
	raw, err := e.MarshalJSON()
	if err != nil {
		return nil
	}
	return shown(raw)
}

// shown shortens what an answer shows of an event: long ones become a text that says how long they were.
func shown(raw json.RawMessage) json.RawMessage {
	if len(raw) <= maxShown {
		return raw
	}
	return quoted(fmt.Sprintf("%s…(+%d bytes)", strings.ToValidUTF8(string(raw[:maxShown]), ""), len(raw)-maxShown))
}

// describe is a condition's filters as they were written.
func describe(c *condition) string {
	if len(c.given) == 0 {
		return "any"
	}
	raw, err := json.Marshal(c.given)
	if err != nil {
		return "?"
	}
	return string(raw)
}

// source is where a capture takes its value from.
type source struct {
	path    string // of the newest answer
	take    string // of the newest event
	pattern *regexp.Regexp
	value   string
	cond    *condition
}

// source reads a capture's from.
func (s *Step) source() (*source, error) { return s.sourceOf(s.fields["from"]) }

func (s *Step) sourceOf(raw json.RawMessage) (*source, error) {
	var out source
	if json.Unmarshal(raw, &out.path) == nil {
		return &out, nil
	}
	fields, err := members(s.At+".from", raw)
	if err != nil {
		return nil, err
	}
	var pattern string
	own := map[string]json.RawMessage{}
	for _, name := range []string{"take", "pattern", "value"} {
		if v, ok := fields[name]; ok {
			own[name] = v
			delete(fields, name)
		}
	}
	if err := fill(s.At+".from", own, map[string]any{"take": &out.take, "pattern": &pattern,
		"value": &out.value}); err != nil {
		return nil, err
	}
	if pattern != "" {
		if out.pattern, err = regexp.Compile(pattern); err != nil {
			return nil, invalid("RE2; its first group is taken.", "%s.from.pattern: %v", s.At, err)
		}
	}
	if out.value != "" {
		return &out, nil
	}
	inner := *s
	inner.At = s.At + ".from"
	out.cond, err = inner.condition(map[string]json.RawMessage{"waitFor": mustObject(fields)})
	return &out, err
}

func mustObject(fields map[string]json.RawMessage) json.RawMessage {
	raw, err := json.Marshal(fields)
	if err != nil {
		return json.RawMessage("{}")
	}
	return raw
}

func (r *runner) capture(ctx context.Context, s *Step, vars map[string]json.RawMessage) error {
	fields, err := r.fields(s, vars)
	if err != nil {
		return err
	}
	src, err := s.sourceOf(fields["from"])
	if err != nil {
		return err
	}
	text, found, err := r.take(ctx, src)
	if err != nil {
		return err
	}
	if found != "" {
		return &Failure{At: s.At, Step: s.Raw, Expected: "something to capture as " + s.name, Actual: found}
	}
	if src.pattern != nil {
		m := src.pattern.FindStringSubmatch(text)
		if m == nil {
			return &Failure{At: s.At, Step: s.Raw, Expected: "a match of " + src.pattern.String(),
				Actual: "none in " + string(shown(quoted(text)))}
		}
		text = m[len(m)-1]
		if len(m) > 1 {
			text = m[1]
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.vars[s.name] = quoted(text)
	if r.captured == nil {
		r.captured = map[string]any{}
	}
	r.captured[s.name] = shown(quoted(text))
	return nil
}

// take returns the text that a capture is of, or why there is none.
func (r *runner) take(ctx context.Context, src *source) (text, lacks string, err error) {
	if src.value != "" {
		v, err := r.w.Value(ctx, src.value)
		if err != nil {
			return "", fault.From(err).Error(), nil
		}
		var s string
		if json.Unmarshal(v, &s) == nil {
			return s, "", nil
		}
		return string(v), "", nil
	}
	if src.path != "" {
		r.mu.Lock()
		answer := r.answer
		r.mu.Unlock()
		if answer == nil {
			return "", "nothing was answered yet", nil
		}
		path := strings.TrimPrefix(strings.TrimPrefix(src.path, "answer"), ".")
		text, ok := query.Member(answer, path)
		if !ok {
			return "", fmt.Sprintf("the answer has no %s: %s", path, shown(answer)), nil
		}
		return text, "", nil
	}
	ask := src.cond.request
	ask.Verbose = true
	events := r.look(ctx, ask, r.base(src.cond))
	if len(events) == 0 {
		return "", "no event is so: " + describe(src.cond), nil
	}
	raw, err := events[len(events)-1].MarshalJSON()
	if err != nil {
		return "", "", err
	}
	text, ok := query.Member(raw, src.take)
	if !ok {
		return "", fmt.Sprintf("the event has no %s: %s", src.take, shown(raw)), nil
	}
	return text, "", nil
}
