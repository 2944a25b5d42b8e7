package dap_test

import (
	"strings"
	"syscall"
	"testing"

	proto "github.com/google/go-dap"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

const sigterm = syscall.SIGTERM

// TestEarly sends everything at once, breakpoints before the launch that they are for.
func TestEarly(t *testing.T) {
	bin, file := program(t, "shop", shop)
	s := strobetest.Start(t, nil)
	e := open(t, s.Home)
	e.send("initialize", args{"adapterID": "strobe", "linesStartAt1": false})
	early := e.send("setBreakpoints",
		args{"source": args{"path": file}, "breakpoints": []args{{"line": lineOf(t, shop, "// told") - 1}}})
	e.send("setExceptionBreakpoints", args{"filters": []string{}})
	e.send("launch", args{"program": bin})
	e.send("configurationDone", nil)
	threads := e.send("threads", nil)
	set := e.answer(early).(*proto.SetBreakpointsResponse).Body.Breakpoints[0]
	if set.Verified || set.Message == "" {
		t.Errorf("before there is a program: %+v", set)
	}
	moved := event[*proto.BreakpointEvent](e, "breakpoint", nil).Body
	if moved.Reason != "changed" || !moved.Breakpoint.Verified || moved.Breakpoint.Id != set.Id {
		t.Errorf("when there is one: %+v", moved)
	}
	e.answer(threads)
	stop := e.stops("breakpoint")
	if f := e.stack(stop.ThreadId)[0]; f.Line != lineOf(t, shop, "// told")-1 {
		t.Errorf("lines from 0: %+v", f)
	}
	ask[*proto.DisconnectResponse](e, "disconnect", args{})
}

// TestDisconnects at each moment of a dialogue; no session is left that runs.
func TestDisconnects(t *testing.T) {
	bin, file := program(t, "endless", endless)
	s := strobetest.Start(t, nil)
	steps := []func(e *testEditor){
		func(*testEditor) {},
		func(e *testEditor) { e.send("initialize", args{"adapterID": "strobe"}) },
		func(e *testEditor) { e.send("launch", args{"program": bin}) },
		func(e *testEditor) { event[*proto.InitializedEvent](e, "initialized", nil) },
		func(e *testEditor) {
			at := []args{{"line": lineOf(t, endless, "// asleep")}}
			e.send("setBreakpoints", args{"source": args{"path": file}, "breakpoints": at})
		},
		func(e *testEditor) { e.send("configurationDone", nil) },
		func(e *testEditor) { e.stops("breakpoint") },
	}
	for n := range steps {
		for _, polite := range []bool{true, false} {
			e := open(t, s.Home)
			for _, step := range steps[:n+1] {
				step(e)
			}
			if polite {
				e.answer(e.send("disconnect", args{}))
			} else {
				e.in.Close()
			}
			for range e.from { // it ends
			}
		}
	}
	var list struct {
		Sessions []struct{ SessionID, Status string }
	}
	s.Call(t, "debug_session", args{"action": "list"}, &list)
	for _, one := range list.Sessions {
		if one.Status == "running" || one.Status == "paused" {
			t.Errorf("session %s is %s", one.SessionID, one.Status)
		}
	}
}

// TestRefusals are what a client must not do, each an error and nothing worse.
func TestRefusals(t *testing.T) {
	bin, _ := program(t, "shop", shop)
	s := strobetest.Start(t, nil)
	e := open(t, s.Home)
	e.refused("threads", nil)
	e.refused("launch", args{"program": bin})
	caps := e.initialize()
	if !caps.SupportsStepBack || caps.SupportsRestartFrame || !caps.SupportsCancelRequest {
		t.Errorf("capabilities %+v", caps)
	}
	e.refused("initialize", args{"adapterID": "strobe"})
	for command, a := range map[string]any{
		"threads": nil, "continue": args{"threadId": 1}, "configurationDone": nil, "restart": nil, "stepBack": args{},
		"noSuchCommand": args{}, "": nil, "goto": args{}, "disassemble": args{},
		"setExceptionBreakpoints": args{"filters": []string{"some"}}, "setBreakpoints": args{"source": args{}},
		"attach": args{"sessionId": "nobody"},
	} {
		e.refused(command, a)
	}
	for _, a := range []any{nil, args{}, args{"program": 5}, []int{1}, "text", args{"program": "/no/such/program"},
		args{"program": bin, "args": "text"}} {
		e.refused("launch", a)
	}
	if got := e.refused("attach", args{"pid": "all"}); !strings.Contains(got, "pid") {
		t.Errorf("a pid that is none: %s", got)
	}
	if err := proto.WriteBaseMessage(e.in, []byte(`{"seq": "one", "type": []`)); err != nil {
		t.Fatal(err)
	}
	if f, ok := e.next("an answer to no message").(*proto.ErrorResponse); !ok || f.Success {
		t.Errorf("%+v", f)
	}
	ask[*proto.CancelResponse](e, "cancel", args{"requestId": 9999})
	// Then all is as before.
	ask[*proto.LaunchResponse](e, "launch", args{"program": bin})
	e.refused("launch", args{"program": bin})
	ask[*proto.ConfigurationDoneResponse](e, "configurationDone", nil)
	e.refused("configurationDone", nil)
	e.ends(7)
}

// TestCancelled cancels requests that wait and one that is answered.
func TestCancelled(t *testing.T) {
	bin, file := program(t, "shop", shop)
	s := strobetest.Start(t, nil)
	e := open(t, s.Home)
	e.initialize()
	launch := e.send("launch", args{"program": bin})
	wait := e.send("evaluate", args{"expression": "total"})
	e.send("cancel", args{"requestId": wait})
	var first, got proto.ResponseMessage
	for got == nil || first == nil {
		r, ok := e.next("answers").(proto.ResponseMessage)
		switch {
		case !ok:
		case r.GetResponse().RequestSeq == wait:
			got = r
		case r.GetResponse().RequestSeq == launch:
			first = r
		}
	}
	if f, ok := got.(*proto.ErrorResponse); !ok || f.Message != "cancelled" {
		t.Errorf("cancelled: %+v", got)
	}
	if _, ok := first.(*proto.LaunchResponse); !ok {
		t.Errorf("what is not cancelled: %+v", first)
	}
	e.breaks(file, args{"line": lineOf(t, shop, "// told")})
	ask[*proto.ConfigurationDoneResponse](e, "configurationDone", nil)
	stop := e.stops("breakpoint")
	ask[*proto.CancelResponse](e, "cancel", args{"requestId": launch})
	e.breaks(file)
	ask[*proto.ContinueResponse](e, "continue", args{"threadId": stop.ThreadId})
	e.ends(7)
}
