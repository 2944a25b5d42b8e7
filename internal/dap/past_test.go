package dap_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	proto "github.com/google/go-dap"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// past steps a thread and expects to see it in the past.
func (e *testEditor) past(command string, thread int, want string) {
	e.t.Helper()
	e.answer(e.send(command, args{"threadId": thread}))
	b := event[*proto.StoppedEvent](e, command, nil).Body
	if b.ThreadId != thread || b.Description != want {
		e.t.Fatalf("%s leads to %+v, want %q", command, b, want)
	}
}

// TestStepBack walks through what was recorded of a paused thread, there and back, with the values of then; the program
// does not run meanwhile.
func TestStepBack(t *testing.T) {
	bin, file := program(t, "shop", shop)
	s := strobetest.Start(t, nil)
	e := open(t, s.Home)
	if !e.initialize().SupportsStepBack {
		t.Error("no step back")
	}
	ask[*proto.LaunchResponse](e, "launch", args{"program": bin, "trace": []string{"sum"}})
	event[*proto.InitializedEvent](e, "initialized", nil)
	e.breaks(file, args{"line": lineOf(t, shop, "the end")})
	ask[*proto.ConfigurationDoneResponse](e, "configurationDone", nil)
	thread := e.stops("breakpoint").ThreadId
	e.past("stepBack", thread, "[past] return of sum")
	frames := e.stack(thread)
	if len(frames) != 1 || frames[0].Name != "[past] sum" || frames[0].Source.Path != file {
		t.Fatalf("frames of then %+v", frames)
	}
	given, _ := e.scope(frames[0].Id, "Arguments")
	result, _ := e.scope(frames[0].Id, "Result")
	if given["n"].Value != "3" || result["result"].Value != "150" {
		t.Errorf("arguments %+v, result %+v", given, result)
	}
	item := e.variables(given["item"].VariablesReference)
	price := e.variables(item["price"].VariablesReference)
	if !strings.Contains(item["name"].Value, "apple") || price["cents"].Value != "50" {
		t.Errorf("item of then %+v, price %+v", item, price)
	}
	if got := e.evaluate(frames[0].Id, "n", "hover"); got != "3" {
		t.Errorf("n was %s", got)
	}
	e.refused("evaluate", args{"frameId": frames[0].Id, "expression": "line", "context": "hover"})
	e.refused("setExpression", args{"frameId": frames[0].Id, "expression": "n", "value": "7"})
	e.past("stepBack", thread, "[past] call of sum")
	e.past("stepBack", thread, "[past] return of sum")
	e.past("reverseContinue", thread, "[past] call of sum") // the first
	given, _ = e.scope(e.stack(thread)[0].Id, "Arguments")
	if given["n"].Value != "1" {
		t.Errorf("the first call was %+v", given)
	}
	e.past("stepBack", thread, "[past] call of sum") // there is none before
	e.past("next", thread, "[past] return of sum")
	e.past("next", thread, "[past] call of sum")
	e.past("stepIn", thread, "[past] return of sum")
	ask[*proto.SetFunctionBreakpointsResponse](e, "setFunctionBreakpoints", args{"breakpoints": []args{{"name": "sum"}}})
	e.past("continue", thread, "[past] call of sum")
	given, _ = e.scope(e.stack(thread)[0].Id, "Arguments")
	if given["n"].Value != "3" {
		t.Errorf("the call behind is %+v", given)
	}
	e.past("reverseContinue", thread, "[past] call of sum")
	ask[*proto.SetFunctionBreakpointsResponse](e, "setFunctionBreakpoints", args{"breakpoints": []args{}})
	e.past("continue", thread, "Back from the past: paused as before")
	if f := e.stack(thread)[0]; f.Name != "main" || f.Line != lineOf(t, shop, "the end") {
		t.Errorf("now is %+v", f)
	}
	ask[*proto.ContinueResponse](e, "continue", args{"threadId": thread})
	e.ends(7)
}

// TestStepBackOfScripts does it in programs of interpreters, and where nothing is recorded.
func TestStepBackOfScripts(t *testing.T) {
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	for _, p := range scripted {
		t.Run(p.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), p.file)
			if err := os.WriteFile(file, []byte(p.source), 0o600); err != nil {
				t.Fatal(err)
			}
			e := open(t, s.Home)
			launch := args{"program": p.interpreter(t), "args": []string{file}, "cwd": filepath.Dir(file),
				"trace": []string{"**price"}}
			e.launch(launch, func() {
				e.breaks(file, args{"line": 1 + strings.Count(p.source[:strings.Index(p.source, "taxed")], "\n")})
			})
			thread := e.stops("breakpoint").ThreadId
			e.answer(e.send("stepBack", args{"threadId": thread}))
			stop := event[*proto.StoppedEvent](e, "past", nil).Body
			if !strings.HasPrefix(stop.Description, "[past] return of ") || !strings.HasSuffix(stop.Description, "price") {
				t.Fatalf("stopped %+v", stop)
			}
			frame := e.stack(thread)[0]
			given, _ := e.scope(frame.Id, "Arguments")
			result, _ := e.scope(frame.Id, "Result")
			if given["n"].Value != "2" || result["result"].Value != "10" {
				t.Errorf("arguments %+v, result %+v", given, result)
			}
			e.past("continue", thread, "Back from the past: paused as before")
			ask[*proto.DisconnectResponse](e, "disconnect", args{"terminateDebuggee": true})
		})
	}
	bin, file := program(t, "shop", shop)
	e := open(t, s.Home)
	e.launch(args{"program": bin}, func() { e.breaks(file, args{"line": lineOf(t, shop, "the end")}) })
	thread := e.stops("breakpoint").ThreadId
	if said := e.refused("stepBack", args{"threadId": thread}); !strings.Contains(said, "trace") {
		t.Errorf("without a record: %s", said)
	}
	ask[*proto.ContinueResponse](e, "continue", args{"threadId": thread})
	e.ends(7)
}
