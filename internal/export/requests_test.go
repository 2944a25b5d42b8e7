package export

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/exchange"
	"github.com/strobe-debug/strobe/internal/store"
	"github.com/strobe-debug/strobe/internal/wire"
)

// TestRequestSpans: a request that a program asks of another one, which makes two calls for it, and in the inner one
// asks a third that was not recorded: one trace, whose ids are those of traceparent and the same each time.
func TestRequestSpans(t *testing.T) {
	const trace, asker = "0123456789abcdef0123456789abcdef", "00000000000000a1"
	front, back := newStore(t, 0), newStore(t, 0)
	for _, st := range []*store.Store{front, back} {
		st.Thread(event.Thread{PID: 10, TID: 10, Name: "app"})
	}
	f, g := back.Function(event.Function{Name: "handle"}), back.Function(event.Function{Name: "look"})
	row := func(ts int64, kind event.Kind, fn event.FuncID) event.Event {
		return event.Event{TS: ts, Kind: kind, Func: fn}
	}
	put(t, front, []event.Event{{TS: 1, Kind: event.Stdout, Payload: []byte("x")}})
	put(t, back, []event.Event{row(10, event.FunctionEnter, f), row(20, event.FunctionExit, f), // before
		row(210, event.FunctionEnter, f), row(220, event.FunctionEnter, g), row(280, event.FunctionExit, g),
		row(320, event.FunctionExit, f)}) // after its answer
	call := func(session int, id, end int64, what string, conn int, local, peer string, m wire.Message) *exchange.Call {
		return &exchange.Call{Session: session, ID: id, End: end, What: what, Connection: conn, Transport: "tcp", Local: local,
			Peer: peer, Bytes: 10, Message: m}
	}
	ask := wire.Message{Proto: "HTTP/1.1", Method: "GET", Path: "/buy", Trace: "00-" + trace + "-" + asker + "-01"}
	answer, redis := wire.Message{Proto: "HTTP/1.1", Status: 500}, wire.Message{Proto: "redis", Command: "GET k"}
	deeper := call(1, 900, 230, "send", 2, "c:3", "d:4", redis)
	deeper.Parent = 4
	calls := []*exchange.Call{call(0, 1, 100, "send", 1, "a:1", "b:2", ask), call(1, 1, 200, "receive", 1, "b:2", "a:1", ask),
		deeper, call(1, 901, 270, "receive", 2, "c:3", "d:4", wire.Message{Proto: "redis", Answer: "$1 v"}),
		call(1, 5, 300, "send", 1, "b:2", "a:1", answer), call(0, 2, 400, "receive", 1, "a:1", "b:2", answer)}
	type span struct {
		TraceID, SpanID, ParentSpanID, Name, StartTimeUnixNano, EndTimeUnixNano string
		Kind                                                                    int
		Status                                                                  struct{ Code int }
	}
	var first string
	for range 2 {
		var file bytes.Buffer
		done, err := Requests(t.Context(), []*store.Store{front, back}, exchange.Join(calls), &file)
		if err != nil {
			t.Fatal(err)
		}
		if first == "" {
			first = file.String()
		} else if file.String() != first {
			t.Errorf("the second time %s, the first %s", file.String(), first)
		}
		if fmt.Sprint(*done) != "{1 2 5 0}" {
			t.Errorf("wrote %+v", *done)
		}
	}
	names, got := map[string]string{"": "-"}, ""
	var all []span
	for line := range strings.Lines(first) {
		var d struct {
			ResourceSpans []struct{ ScopeSpans []struct{ Spans []span } }
		}
		if err := json.Unmarshal([]byte(line), &d); err != nil {
			t.Fatal(err)
		}
		all = append(all, d.ResourceSpans[0].ScopeSpans[0].Spans...)
	}
	for _, s := range all {
		names[s.SpanID] = fmt.Sprint(s.Name, s.Kind)
	}
	at := func(s string) string { return strings.TrimLeft(strings.TrimPrefix(s, "1700000000"), "0") }
	for _, s := range all {
		if s.TraceID != trace || s.Kind == 3 && s.Name == "GET /buy" && s.SpanID != asker {
			t.Errorf("ids of %+v", s)
		}
		got += fmt.Sprintf("%s in %s %s-%s %d;", names[s.SpanID], names[s.ParentSpanID], at(s.StartTimeUnixNano),
			at(s.EndTimeUnixNano), s.Status.Code)
	}
	want := "GET /buy3 in - 100-400 2;handle1 in GET /buy2 210-320 0;look1 in handle1 220-280 0;" +
		"GET /buy2 in GET /buy3 200-300 2;GET k3 in look1 230-270 0;"
	if got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
