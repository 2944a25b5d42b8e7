package dap_test

import (
	"encoding/json"
	"strings"
	"testing"

	proto "github.com/google/go-dap"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// TestOwnRequests: an extension traces, asks, and draws by requests of Strobe's own, of the program that is debugged.
func TestOwnRequests(t *testing.T) {
	bin, file := program(t, "shop", shop)
	s := strobetest.Start(t, nil)
	e := open(t, s.Home)
	e.launch(args{"program": bin}, func() { e.breaks(file, args{"line": lineOf(t, shop, "sum(&apple")}) })
	stop := e.stops("breakpoint")
	var traced struct{ HookedFunctions int }
	own(e, "strobe/trace", args{"add": []string{"sum"}}, &traced)
	if traced.HookedFunctions != 1 {
		t.Errorf("strobe/trace: %+v", traced)
	}
	e.refused("strobe/query", args{"sessionId": "another"})
	e.refused("strobe/query", args{"view": "no such view"})
	e.breaks(file, args{"line": lineOf(t, shop, "// the end")})
	ask[*proto.ContinueResponse](e, "continue", args{"threadId": stop.ThreadId})
	e.stops("breakpoint")
	var asked struct{ TotalCount int }
	own(e, "strobe/query", args{"eventType": "function_exit", "function": "sum"}, &asked)
	if asked.TotalCount != 3 {
		t.Errorf("strobe/query: %+v", asked)
	}
	var lanes struct{ Lanes []struct{ Calls int } }
	own(e, "strobe/timeline", args{"action": "lanes"}, &lanes)
	if len(lanes.Lanes) != 1 || lanes.Lanes[0].Calls != 3 {
		t.Errorf("strobe/timeline: %+v", lanes)
	}
	ask[*proto.ContinueResponse](e, "continue", args{"threadId": stop.ThreadId})
	e.ends(7)
}

// own asks one of Strobe's own requests.
func own(e *testEditor, command string, a args, into any) {
	e.t.Helper()
	if err := json.Unmarshal(ask[*ownResponse](e, command, a).Body, into); err != nil {
		e.t.Fatal(err)
	}
}

// TestProgress: an editor that shows what takes long is told of it, from its beginning to its end.
func TestProgress(t *testing.T) {
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	e := open(t, s.Home)
	ask[*proto.InitializeResponse](e, "initialize", args{"adapterID": "strobe", "supportsProgressReporting": true})
	launch := e.send("launch", args{"program": strobetest.Binary(t), "args": []string{"--version"},
		"trace": []string{"github.com/strobe-debug/strobe/internal/collector/**"}})
	begun := event[*proto.ProgressStartEvent](e, "the beginning", nil)
	if b := begun.Body; b.RequestId != launch || !b.Cancellable || !strings.Contains(b.Title, "program") {
		t.Errorf("begun: %+v", b)
	}
	if ended := event[*proto.ProgressEndEvent](e, "the end", nil); ended.Body.ProgressId != begun.Body.ProgressId {
		t.Errorf("ended: %+v", ended.Body)
	}
	ask[*proto.DisconnectResponse](e, "disconnect", args{"terminateDebuggee": true})
}
