package service

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/query"
	"github.com/strobe-debug/strobe/internal/ui"
)

// UIParams are the parameters of debug_ui.
type UIParams struct {
	SessionID string        `json:"sessionId,omitempty"`
	PID       int           `json:"pid,omitempty" jsonschema:"instead: a process in no session"`
	Mode      string        `json:"mode,omitempty"`
	ID        string        `json:"id,omitempty" jsonschema:"this element alone"`
	Depth     int           `json:"depth,omitempty"`
	All       bool          `json:"all,omitempty" jsonschema:"also hidden ones"`
	Since     string        `json:"since,omitempty" jsonschema:"stamp: what changed"`
	WaitFor   *ui.Condition `json:"waitFor,omitempty"`
	Verbose   bool          `json:"verbose,omitempty" jsonschema:"as JSON"`
	Budget
}

// UIResult is the answer of debug_ui.
type UIResult struct {
	Tree     string     `json:"tree,omitempty"` // a line is an element: role#id [name] (WxH+X+Y) states
	Nodes    []*UINode  `json:"nodes,omitempty"`
	Stamp    string     `json:"stamp"`
	Stats    UIStats    `json:"stats"`
	Picture  *UIPicture `json:"picture,omitempty"`
	TimedOut bool       `json:"timedOut,omitempty"` // what was waited for did not come
	Hint     string     `json:"hint,omitempty"`
}

// UIStats are the counts of a look.
type UIStats struct {
	Nodes     int   `json:"axNodes"`
	Vision    int   `json:"visionNodes"`
	Merged    int   `json:"mergedNodes"`
	Hidden    int   `json:"hidden,omitempty"` // not shown, and not looked into
	Silent    int   `json:"silent,omitempty"` // did not answer
	Cut       int   `json:"cut,omitempty"`    // not looked at for their number
	LatencyMs int64 `json:"latencyMs"`
}

// UINode is an element in verbose answers.
type UINode struct {
	ID       string    `json:"id"`
	Role     string    `json:"role"`
	Name     string    `json:"name,omitempty"`
	Text     string    `json:"text,omitempty"`
	Value    *ui.Value `json:"value,omitempty"`
	Bounds   []int     `json:"bounds,omitempty"` // x, y, width, height
	States   []string  `json:"states,omitempty"`
	Hidden   int       `json:"hiddenChildren,omitempty"`
	Children []*UINode `json:"children,omitempty"`
}

// Bounds of debug_ui.
const (
	uiTokens   = 4000 // of a tree, where nobody says
	maxUIDepth = 100
	maxUIWait  = 60_000
	firstLook  = 5 * time.Second // a program that was just launched has until then to show a window
)

var uiOp = Op{
	Name:    "debug_ui",
	Summary: "See a program's user interface as text or picture. An id stays while its element does.",
	Doc: "Reads the windows of all processes of a session by accessibility, on Linux under X11 and Wayland. A line " +
		"of the tree is one element, two blanks deeper than what it is in: id, name in brackets, place on the screen, " +
		"states, val and text. Boxes without a name, labels that repeat what they are in, and what is hidden are folded " +
		"away; rows beyond a screenful are counted. A password reads as `<redacted>`. With `since`, the tree is lines of " +
		"what changed (~), came (+) and went (-) since that answer. `waitFor` looks until an element fits all that is " +
		"given (or, with gone, none does; value is a part of its text, or its number); timeoutMs is 5000. A picture " +
		"is of the session's windows, or with `id` of one element, also where another window covers it; `scale` says " +
		"how much smaller it is. Programs without accessibility (Tk) show their windows only: a picture and the " +
		"action's `at` work. Where a Wayland compositor does not tell places of windows (all but sway), places are " +
		"relative to the window, and pictures, pointer and mostly keys UNSUPPORTED: launch with display virtual.",
	ReadOnly: true,
	Pictures: true,
	Params:   reflect.TypeFor[UIParams](),
	Results:  []reflect.Type{reflect.TypeFor[UIResult]()},
	Later:    map[string]string{"vision": "Ask for mode screenshot and look at it: Strobe itself reads no pictures yet."},
	Fields: []Field{
		maxTokensField,
		{Name: "pid", Min: 1, Max: maxPID},
		{Name: "mode", Enum: []string{"tree", "screenshot", "both"}, Default: "tree"},
		{Name: "depth", Min: 1, Max: maxUIDepth},
		{Name: "waitFor.timeoutMs", Max: maxUIWait},
	},
	run: typed(lookAtUI),
}

func lookAtUI(ctx context.Context, s *Service, p *UIParams) (*UIResult, error) {
	if (p.SessionID == "") == (p.PID == 0) {
		return nil, invalid("Give one of them.", "neither sessionId nor pid says whose interface")
	}
	began := time.Now()
	one, err := s.panel(ctx, p.SessionID, p.PID)
	if err != nil {
		return nil, err
	}
	seen, timedOut, err := p.look(ctx, one)
	if err != nil {
		return nil, err
	}
	one.looked()
	r := &UIResult{Stamp: seen.Stamp, TimedOut: timedOut}
	nodes := seen.Windows
	if p.ID != "" {
		n, err := seen.Find(p.ID)
		if err != nil {
			return nil, err
		}
		nodes = []*ui.Node{n}
	}
	if p.Mode != "screenshot" {
		if err := r.fill(ctx, p, one, seen, nodes); err != nil {
			return nil, err
		}
	}
	if p.Mode == "screenshot" || p.Mode == "both" {
		if r.Picture, err = takePicture(ctx, one, nodes, p.ID != ""); err != nil {
			return nil, err
		}
	}
	r.Stats = UIStats{Nodes: seen.Nodes, Silent: seen.Silent, Cut: seen.Cut, LatencyMs: time.Since(began).Milliseconds()}
	for _, n := range seen.Windows {
		n.Walk(func(n *ui.Node) bool { r.Stats.Hidden += n.Hidden; return true })
	}
	r.Hint = p.hint(r, seen)
	return r, nil
}

// look looks once, or until what is waited for is there. A program that has just begun is given time for its first
// window.
func (p *UIParams) look(ctx context.Context, one *panel) (*ui.Seen, bool, error) {
	if p.WaitFor != nil {
		limit := time.Duration(p.WaitFor.TimeoutMs) * time.Millisecond
		if limit == 0 {
			limit = firstLook
		}
		seen, held, err := one.WaitFor(ctx, *p.WaitFor, limit)
		return seen, !held && err == nil, err
	}
	seen, err := one.Look(ctx, p.All)
	if err != nil || len(seen.Windows) > 0 {
		return seen, false, err
	}
	if seen, _, err = one.WaitFor(ctx, ui.Condition{}, firstLook); err != nil {
		return nil, false, err
	}
	if len(seen.Windows) == 0 {
		return nil, false, fault.New(fault.UIQueryFailed, "Wait for it with waitFor; debug_query shows what the program "+
			"wrote.", "no process of it shows a window")
	}
	return seen, false, nil
}

// fill writes the tree, or what is other in it than before.
func (r *UIResult) fill(ctx context.Context, p *UIParams, one *panel, seen *ui.Seen, nodes []*ui.Node) error {
	tokens := p.MaxTokens
	if tokens == 0 {
		tokens = uiTokens
	}
	limit := tokens * query.TokenBytes
	switch {
	case p.Since != "":
		old, err := one.Since(ctx, p.Since)
		if err != nil {
			return err
		}
		d := seen.Shot.Since(old)
		text, left := d.Text(limit)
		if r.Tree = text; left > 0 {
			r.Hint = fmt.Sprintf("%d more changes do not fit: ask with more maxTokens, or without since.", left)
		}
		if d.Len() == 0 {
			r.Tree = "(no change since " + p.Since + ")"
		}
	case p.Verbose:
		left := limit
		r.Nodes = nodesOf(nodes, p.Depth, &left)
		if left < 0 {
			r.Hint = "Cut for its size: ask with more maxTokens, with depth, or with an id."
		}
	default:
		w := ui.Write(nodes, p.Depth, p.All, limit)
		if r.Tree = w.Text; w.Left > 0 {
			r.Hint = fmt.Sprintf("%d elements do not fit: ask with more maxTokens, with depth, or with an id.", w.Left)
		}
	}
	return nil
}

// hint says what the answer does not explain by itself.
func (p *UIParams) hint(r *UIResult, seen *ui.Seen) string {
	hints := []string{}
	if r.Hint != "" {
		hints = append(hints, r.Hint)
	}
	if r.TimedOut {
		hints = append(hints, "What was waited for is not there; this is what is.")
	}
	if len(seen.Bare) > 0 {
		hints = append(hints, fmt.Sprintf("Process %d shows windows and nothing in them to accessibility (Tk, SDL and games "+
			"have none; a program that has just started may be late): mode screenshot, and debug_ui_action at {x,y}.",
			seen.Bare[0]))
	}
	if seen.Relative {
		hints = append(hints, "Places are relative to the window: this Wayland compositor does not tell where windows are.")
	}
	if seen.Silent > 0 {
		hints = append(hints, fmt.Sprintf("%d elements did not answer in %v: the program hangs or is busy; debug_session "+
			"status with threads says what it does.", seen.Silent, ui.DefaultTimeout))
	}
	if seen.Cut > 0 {
		hints = append(hints, fmt.Sprintf("%d elements were not looked at.", seen.Cut))
	}
	return strings.Join(hints, " ")
}

// nodesOf is a tree as JSON, as far as the bytes last.
func nodesOf(nodes []*ui.Node, depth int, left *int) []*UINode {
	var out []*UINode
	for _, n := range nodes {
		u := &UINode{ID: n.ID, Role: string(n.Role), Name: n.Name, Text: n.Text, Value: n.Value, States: ui.Words(n),
			Hidden: n.Hidden}
		if !n.Rect.Empty() {
			u.Bounds = []int{n.Rect.X, n.Rect.Y, n.Rect.W, n.Rect.H}
		}
		b, err := json.Marshal(u)
		if *left -= len(b); err != nil || *left < 0 {
			*left = -1
			return out
		}
		out = append(out, u)
		if depth != 1 {
			u.Children = nodesOf(n.Children, max(0, depth-1), left)
		}
	}
	return out
}

// looked notes that the program shows itself: from now on it idles until somebody acts.
func (p *panel) looked() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.idle == 0 && p.sess != nil {
		p.idle = p.sess.Now()
	}
}
