package strobetest

import (
	"encoding/json"
	"strings"
	"testing"
)

// moment is an event as debug_query tells it.
type moment struct {
	ID         int64                      `json:"id"`
	EventType  string                     `json:"eventType"`
	Function   string                     `json:"function"`
	SourceFile string                     `json:"sourceFile"`
	Line       int                        `json:"line"`
	Text       string                     `json:"text"`
	PID        int                        `json:"pid"`
	ThreadID   int                        `json:"threadId"`
	ThreadName string                     `json:"threadName"`
	Parent     int64                      `json:"parentEventId"`
	Enter      int64                      `json:"enterEventId"`
	DurationNs int64                      `json:"durationNs"`
	Arguments  map[string]json.RawMessage `json:"arguments"`
	Return     json.RawMessage            `json:"returnValue"`
	Unwound    bool                       `json:"unwound"`
	Exception  json.RawMessage            `json:"exception"`
	Value      json.RawMessage            `json:"value"`
}

// called is a call with its end.
type called struct {
	moment
	name  string // without the program's, as Order.total in every language
	exit  *moment
	above *called
}

// timeline is all that happened in a session, in its order.
type timeline struct {
	moments []*moment
	calls   []*called
	byID    map[int64]*called
}

// timeline reads a session.
func (p *program) timeline(t testing.TB) *timeline {
	t.Helper()
	tl := &timeline{byID: map[int64]*called{}}
	for after := int64(0); ; {
		var page struct {
			Events      []*moment `json:"events"`
			HasMore     bool      `json:"hasMore"`
			LastEventID int64     `json:"lastEventId"`
		}
		p.r.s.Call(t, "debug_query", map[string]any{"sessionId": p.id, "verbose": true, "limit": 500, "afterEventId": after},
			&page)
		tl.moments = append(tl.moments, page.Events...)
		if !page.HasMore || len(page.Events) == 0 {
			break
		}
		after = page.LastEventID
	}
	for _, m := range tl.moments {
		switch m.EventType {
		case "function_enter":
			c := &called{moment: *m, name: p.plain(m.Function), above: tl.byID[m.Parent]}
			tl.calls, tl.byID[m.ID] = append(tl.calls, c), c
		case "function_exit":
			if c := tl.byID[m.Enter]; c != nil {
				c.exit = m
			}
		}
	}
	return tl
}

// plain is a function's name as it is in every language.
func (p *program) plain(name string) string {
	name = strings.TrimPrefix(name, p.name+".")
	switch p.r.sub.Lang {
	case "c":
		return strings.ReplaceAll(name, "_", ".")
	case "go":
		return strings.ReplaceAll(strings.TrimPrefix(name, "main."), "function", "func")
	}
	if class, ok := strings.CutSuffix(name, ".new"); ok && p.r.sub.Lang == "java" {
		return class + ".constructor"
	}
	return strings.ReplaceAll(name, "__init__", "constructor")
}

// of are the calls of a function.
func (tl *timeline) of(name string) (calls []*called) {
	for _, c := range tl.calls {
		if c.name == name {
			calls = append(calls, c)
		}
	}
	return calls
}

// one is the only call of a function.
func (tl *timeline) one(t testing.TB, name string) *called {
	t.Helper()
	calls := tl.of(name)
	if len(calls) != 1 {
		t.Fatalf("%d calls of %s, want one", len(calls), name)
	}
	if calls[0].exit == nil {
		t.Fatalf("the call of %s has no end", name)
	}
	return calls[0]
}

// callers are the names of those that a call stands below, the innermost first.
func (c *called) callers() string {
	var names []string
	for a := c.above; a != nil; a = a.above {
		names = append(names, a.name)
	}
	return strings.Join(names, " ")
}

func (c *called) arg(name string) string { return string(c.Arguments[name]) }
func (c *called) result() string         { return string(c.exit.Return) }

// wantCall checks a call's argument n and result.
func wantCall(t testing.TB, c *called, argument, value, result string) {
	t.Helper()
	if got := c.arg(argument); got != value {
		t.Errorf("%s: argument %s = %s, want %s", c.name, argument, got, value)
	}
	if got := c.result(); result != "" && got != result {
		t.Errorf("%s: result %s, want %s", c.name, got, result)
	}
}

// names are those of the calls that hold, in their order.
func (tl *timeline) names(holds func(c *called) bool) string {
	var names []string
	for _, c := range tl.calls {
		if holds(c) {
			names = append(names, c.name)
		}
	}
	return strings.Join(names, " ")
}
