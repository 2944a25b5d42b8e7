package service

import (
	"context"
	"reflect"
	"time"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/query"
	"github.com/strobe-debug/strobe/internal/ui"
)

// UIActionParams are the parameters of debug_ui_action.
type UIActionParams struct {
	SessionID string     `json:"sessionId"`
	Action    string     `json:"action"`
	ID        string     `json:"id,omitempty"`
	Title     string     `json:"title,omitempty" jsonschema:"or its name"`
	Role      string     `json:"role,omitempty"`
	At        *ui.Point  `json:"at,omitempty" jsonschema:"a place"`
	Value     string     `json:"value,omitempty"`
	Text      string     `json:"text,omitempty"`
	Item      string     `json:"item,omitempty" jsonschema:"File > Open"`
	Direction string     `json:"direction,omitempty"`
	Amount    int        `json:"amount,omitempty"`
	To        *ui.Target `json:"to,omitempty"`
	Key       string     `json:"key,omitempty" jsonschema:"Return, ctrl+s"`
	Modifiers []string   `json:"modifiers,omitempty"`
	Verify    *bool      `json:"verify,omitempty"`
	TimeoutMs int        `json:"timeoutMs,omitempty"`
	Budget
}

// UIActionResult is the answer of debug_ui_action.
type UIActionResult struct {
	Done         bool     `json:"done"` // what was wanted was seen afterwards
	Method       string   `json:"method,omitempty"`
	Before       string   `json:"before,omitempty"`
	After        string   `json:"after,omitempty"`
	Changed      []string `json:"changed,omitempty"` // ~ changed, + came, - went
	ChangedCount int      `json:"changedCount,omitempty"`
	Ran          []string `json:"ran,omitempty"` // traced functions that ran for it and not while the program idled
	RanCount     int      `json:"ranCount,omitempty"`
	EventID      int64    `json:"eventId"`
	Stamp        string   `json:"stamp,omitempty"`
	Tried        []string `json:"tried,omitempty"`
	LatencyMs    int64    `json:"latencyMs"`
	Hint         string   `json:"hint,omitempty"`
}

// Bounds of debug_ui_action.
const (
	changedShown = 10
	maxTurns     = 100
	maxTyped     = 10_000
	maxPlace     = 1_000_000 // beyond every screen: what is not on one of the program's windows is refused by itself
	maxActing    = 30 * time.Second
)

var uiActionOp = Op{
	Name:    "debug_ui_action",
	Summary: "Do what a user would; done only if that can be seen afterwards.",
	Doc: "Uses accessibility first, then pointer and keyboard, and reads back whether it worked: `done` false says " +
		"what was tried and what is there now. Text may be any Unicode. `changed` are elements that are other than " +
		"before (~), came (+) and went (-), at most 10. `amount` is turns of the wheel (3). `item` is what is " +
		"selected, or scrolled to; in menus a path. The action is a `ui_action` event, what changed a `ui_change` " +
		"event: debug_query with afterEventId and view tree shows what the program did because of it. `ran` names, of " +
		"the traced functions, those that ran for the action and never while nothing was done, in the order in which " +
		"they began: the handler of a button is first, or nearly. What worked where the first way did not is " +
		"remembered for the program (`$STROBE_HOME/cache/motor`) and method is learned the next time.",
	Params:  reflect.TypeFor[UIActionParams](),
	Results: []reflect.Type{reflect.TypeFor[UIActionResult]()},
	Fields: []Field{
		maxTokensField,
		{Name: "sessionId", Required: true},
		{Name: "action", Required: true, Enum: []string{"click", "double_click", "right_click", "set_value", "type", "select",
			"scroll", "drag", "key", "hover"}},
		{Name: "direction", Enum: []string{"up", "down", "left", "right"}},
		{Name: "value", Empty: true},
		{Name: "amount", Min: 1, Max: maxPlace},
		{Name: "at.x", Max: maxPlace},
		{Name: "at.y", Max: maxPlace},
		{Name: "to.x", Max: maxPlace},
		{Name: "to.y", Max: maxPlace},
		{Name: "timeoutMs", Min: 1, Max: maxPlace},
		{Name: "verify", Default: true},
	},
	run: typed(actOnUI),
}

// Streams of the channel ui.
var (
	uiActions = event.Stream{Channel: "ui", Name: "action", Media: "json", Direction: event.In}
	uiChanges = event.Stream{Channel: "ui", Name: "change", Media: "json", Direction: event.Out}
)

// uiActionEvent is what is on the timeline of an action.
type uiActionEvent struct {
	Action  string    `json:"action"`
	Element string    `json:"element,omitempty"`
	At      *ui.Point `json:"at,omitempty"`
	Value   string    `json:"value,omitempty"`
	Item    string    `json:"item,omitempty"`
	Key     string    `json:"key,omitempty"`
	Typed   string    `json:"typed,omitempty"`
}

// uiChangeEvent is what is on the timeline of what changed, together for an action.
type uiChangeEvent struct {
	Count    int      `json:"count"`
	Elements []string `json:"elements,omitempty"`
	Action   int64    `json:"actionEventId,omitempty"`
}

func actOnUI(ctx context.Context, s *Service, p *UIActionParams) (*UIActionResult, error) {
	if len(p.Text) > maxTyped {
		return nil, invalid("Type it in parts, or use set_value.", "text has %d bytes, more than %d", len(p.Text), maxTyped)
	}
	if p.Amount > maxTurns || time.Duration(p.TimeoutMs)*time.Millisecond > maxActing {
		return nil, invalid("Do it in parts.", "amount is at most %d, and timeoutMs %d", maxTurns, maxActing.Milliseconds())
	}
	began := time.Now()
	one, err := s.panel(ctx, p.SessionID, 0)
	if err != nil {
		return nil, err
	}
	one.looked()
	r := &UIActionResult{Changed: []string{}}
	var start, idle int64
	out, err := one.Do(ctx, ui.Intent{Action: p.Action, ID: p.ID, Title: p.Title, Role: p.Role, At: p.At, Value: p.Value,
		Text: p.Text, Item: p.Item, Direction: p.Direction, Amount: p.Amount, To: p.To, Key: p.Key, Modifiers: p.Modifiers,
		Blind: p.Verify != nil && !*p.Verify, Timeout: time.Duration(p.TimeoutMs) * time.Millisecond,
		Begin: func(line string) (err error) {
			idle = one.acts()
			start = one.sess.Now()
			r.EventID, err = one.sess.Note(ctx, uiActions, p.event(line))
			return err
		}})
	if err != nil {
		return nil, err
	}
	r.Done, r.Method, r.Before, r.After, r.Tried, r.Hint = out.Done, out.Method, out.Before, out.After, out.Tried, out.Why
	r.Stamp = out.Stamp
	if r.Done {
		r.Tried = nil
	}
	r.change(ctx, one, out.Diff)
	if ran, err := one.ran(ctx, r.EventID, start, idle); err != nil {
		r.Hint += " What ran for it is not known: " + err.Error()
	} else {
		r.Ran, r.RanCount = ran.Lines, ran.Count
	}
	one.acted()
	r.LatencyMs = time.Since(began).Milliseconds()
	return r, nil
}

// event is the action on the timeline. What is typed into passwords is not there.
func (p *UIActionParams) event(line string) uiActionEvent {
	e := uiActionEvent{Action: p.Action, Element: ui.Short(line), At: p.At, Value: ui.Short(p.Value), Item: p.Item,
		Key: p.Key, Typed: ui.Short(p.Text)}
	if len(line) > 4 && line[:4] == "pwd#" {
		e.Typed, e.Value = "", ""
		if p.Text+p.Value != "" {
			e.Typed = ui.Redacted
		}
	}
	return e
}

// change tells what is other, and puts it on the timeline.
func (r *UIActionResult) change(ctx context.Context, one *panel, d *ui.Diff) {
	if d == nil || d.Len() == 0 {
		return
	}
	r.ChangedCount = d.Len()
	r.Changed = d.Lines(changedShown)
	if r.ChangedCount == len(r.Changed) {
		r.ChangedCount = 0
	}
	_, err := one.sess.Note(ctx, uiChanges, uiChangeEvent{Count: d.Len(), Elements: r.Changed, Action: r.EventID})
	if err != nil && one.sess.Live() {
		r.Hint += " The change is not on the timeline: " + err.Error()
	}
}

// acts returns since when nobody has done anything, on the session's clock.
func (p *panel) acts() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.idle
}

// acted notes that what an action caused is over: the program idles again.
func (p *panel) acted() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle, p.used = p.sess.Now(), time.Now()
}

// ran asks what ran for an action.
func (p *panel) ran(ctx context.Context, action event.ID, start, idle int64) (query.Ran, error) {
	st, use, release, err := p.sess.Use(ctx)
	if err != nil {
		return query.Ran{}, err
	}
	defer release()
	if err := p.sess.FlushWithin(use, 0); err != nil && use.Err() != nil {
		return query.Ran{}, use.Err()
	}
	return query.RanFor(use, st, action, start, idle)
}
