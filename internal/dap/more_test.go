package dap_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	proto "github.com/google/go-dap"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// TestPausedTogether pauses all of a program's threads with one breakpoint, steps, and sees threads come and go.
func TestPausedTogether(t *testing.T) {
	const source = `#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
static atomic_int over, ready;
static void *work(void *p) { ready++; while (!over) ; return p; }
static int here(int n) { return n + 1; } // here
int main(void)
{
	pthread_t t[3];
	for (int i = 0; i < 3; i++) pthread_create(&t[i], 0, work, 0);
	while (ready < 3) ;
	int n = here(1);
	over = 1; // behind
	for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
	return n; // joined
}
`
	bin, file := program(t, "together", source, "-pthread")
	s := strobetest.Start(t, nil)
	e := open(t, s.Home)
	started, ended := map[int]bool{}, map[int]bool{}
	e.launch(args{"program": bin, "pauseAll": true}, func() {
		e.breaks(file, args{"line": lineOf(t, source, "// here")}, args{"line": lineOf(t, source, "// joined")})
	})
	for len(started) < 3 {
		started[e.thread("started")] = true
	}
	stop := e.stops("breakpoint")
	thread := stop.ThreadId
	for !stop.AllThreadsStopped { // the others pause a moment later
		stop = event[*proto.StoppedEvent](e, "all stopped", nil).Body
	}
	list := ask[*proto.ThreadsResponse](e, "threads", nil).Body.Threads
	if len(list) != 4 {
		t.Errorf("threads %+v", list)
	}
	for _, th := range list {
		if len(e.stack(th.Id)) == 0 {
			t.Errorf("thread %+v has no stack", th)
		}
	}
	ask[*proto.StepOutResponse](e, "stepOut", args{"threadId": thread})
	for stop = e.stops("step"); !stop.AllThreadsStopped; {
		stop = event[*proto.StoppedEvent](e, "all stopped behind the step", nil).Body
	}
	ask[*proto.ContinueResponse](e, "continue", args{"threadId": thread})
	for len(ended) < 3 {
		ended[e.thread("exited")] = true
	}
	stop = e.stops("breakpoint")
	for id := range started {
		if !ended[id] {
			t.Errorf("thread %d began, and %v ended", id, ended)
		}
	}
	e.refused("stackTrace", args{"threadId": 1})
	ask[*proto.ContinueResponse](e, "continue", args{"threadId": stop.ThreadId})
	e.ends(2)
}

// endless says a line, and goes on until it is told to end, or for ever.
const endless = `#include <signal.h>
#include <stdio.h>
#include <unistd.h>
static volatile int ends, rounds;
static void told(int s) { ends = s; }
int main(void)
{
	setvbuf(stdout, NULL, _IONBF, 0);
	signal(SIGTERM, told);
	puts("begun");
	while (!ends) {
		rounds++;
		usleep(1000); // asleep
	}
	puts("asked to end");
	return 4;
}
`

// TestPauseAndTerminate pauses what runs, evaluates without a frame, and asks it to end.
func TestPauseAndTerminate(t *testing.T) {
	bin, _ := program(t, "endless", endless)
	s := strobetest.Start(t, nil)
	e := open(t, s.Home)
	e.launch(args{"program": bin}, nil)
	event(e, "output", func(o *proto.OutputEvent) bool { return o.Body.Output == "begun\n" })
	if got := e.evaluate(0, "ends", "watch"); got != "0" {
		t.Errorf("ends is %s while it runs", got)
	}
	thread := ask[*proto.ThreadsResponse](e, "threads", nil).Body.Threads[0].Id
	e.refused("next", args{"threadId": thread})
	e.refused("stackTrace", args{"threadId": thread})
	ask[*proto.PauseResponse](e, "pause", args{"threadId": thread})
	stop := e.stops("pause")
	if stop.ThreadId != thread || !stop.AllThreadsStopped {
		t.Errorf("paused %+v", stop)
	}
	frames := e.stack(thread)
	main := frames[len(frames)-1]
	for _, f := range frames {
		if f.Name == "main" {
			main = f
		}
	}
	e.evaluate(main.Id, "rounds", "hover")
	page := ask[*proto.StackTraceResponse](e, "stackTrace", args{"threadId": thread, "startFrame": 1, "levels": 1}).Body
	if len(page.StackFrames) != 1 || page.StackFrames[0].Name != frames[1].Name || page.TotalFrames != len(frames) {
		t.Errorf("frame 1 is %+v, of %+v", page, frames)
	}
	e.refused("evaluate", args{"expression": "nobody", "frameId": main.Id, "context": "hover"})
	e.refused("scopes", args{"frameId": 123456})
	e.refused("source", args{"sourceReference": 1})
	ask[*proto.TerminateResponse](e, "terminate", args{})
	e.ends(4)
	if !strings.HasSuffix(e.said["stdout"], "asked to end\n") {
		t.Errorf("said %q", e.said)
	}
}

// TestRestart begins a program that runs anew, and once more at its breakpoint.
func TestRestart(t *testing.T) {
	bin, file := program(t, "endless", endless)
	s := strobetest.Start(t, nil)
	e := open(t, s.Home)
	e.launch(args{"program": bin}, nil)
	event(e, "output", func(o *proto.OutputEvent) bool { return o.Body.Output == "begun\n" })
	if got := e.breaks(file, args{"line": lineOf(t, endless, "// asleep"), "condition": "rounds == 3"}); !got[0].Verified {
		t.Errorf("set while it runs: %+v", got)
	}
	for range 2 {
		ask[*proto.RestartResponse](e, "restart", args{})
		stop := e.stops("breakpoint")
		if got := e.evaluate(e.stack(stop.ThreadId)[0].Id, "rounds", "watch"); got != "3" {
			t.Errorf("rounds is %s", got)
		}
	}
	for _, m := range e.seen {
		if _, is := m.(*proto.TerminatedEvent); is {
			t.Error("a restart ends the session for the editor")
		}
	}
	ask[*proto.DisconnectResponse](e, "disconnect", args{})
}

// TestSessionOfAnother attaches to a session by its id while another client drives it, and leaves it as it was.
func TestSessionOfAnother(t *testing.T) {
	bin, file := program(t, "endless", endless)
	s := strobetest.Start(t, nil)
	l := s.Launch(t, bin, t.TempDir(), nil, args{"stopOnEntry": true})
	agent := func(tool string, a args) {
		t.Helper()
		a["sessionId"] = l.SessionID
		s.Call(t, tool, a, nil)
	}
	asleep := lineOf(t, endless, "// asleep")
	agent("debug_breakpoint", args{"add": []any{args{"file": file, "line": asleep}}})
	e := open(t, s.Home)
	e.initialize()
	ask[*proto.AttachResponse](e, "attach", args{"sessionId": l.SessionID})
	event[*proto.InitializedEvent](e, "initialized", nil)
	ask[*proto.ConfigurationDoneResponse](e, "configurationDone", nil)
	stop := e.stops("entry")
	shown := event[*proto.BreakpointEvent](e, "the agent's breakpoint", nil).Body
	if shown.Reason != "new" || shown.Breakpoint.Line != asleep || shown.Breakpoint.Source.Path != file {
		t.Errorf("the agent's breakpoint is shown as %+v", shown)
	}
	agent("debug_continue", args{})
	event[*proto.ContinuedEvent](e, "continued by the agent", nil)
	stop = e.stops("breakpoint")
	if stop.HitBreakpointIds[0] != shown.Breakpoint.Id {
		t.Errorf("stopped at %+v, want %d", stop, shown.Breakpoint.Id)
	}
	frame := e.stack(stop.ThreadId)[0]
	agent("debug_memory", args{"action": "write", "targets": []any{args{"variable": "rounds", "value": 50}}})
	event[*proto.InvalidatedEvent](e, "invalidated", nil)
	if got := e.evaluate(frame.Id, "rounds", "watch"); got != "50" {
		t.Errorf("rounds is %s", got)
	}
	agent("debug_trace", args{"add": []any{"told"}})
	event(e, "who traces", func(o *proto.OutputEvent) bool {
		return strings.Contains(o.Body.Output, "strobetest traces told")
	})
	got := e.breaks(file, args{"line": asleep}, args{"line": asleep - 1})
	if got[0].Id != shown.Breakpoint.Id || !got[1].Verified {
		t.Errorf("the agent's breakpoint is set again: %+v, was %d", got, shown.Breakpoint.Id)
	}
	ask[*proto.ContinueResponse](e, "continue", args{"threadId": stop.ThreadId})
	e.stops("breakpoint")
	ask[*proto.DisconnectResponse](e, "disconnect", args{})
	var st struct{ Status string }
	var points struct{ Breakpoints []struct{ Line int } }
	s.Call(t, "debug_session", args{"action": "status", "sessionId": l.SessionID}, &st)
	s.Call(t, "debug_breakpoint", args{"sessionId": l.SessionID}, &points)
	if len(points.Breakpoints) != 1 || points.Breakpoints[0].Line != asleep ||
		st.Status != "running" && st.Status != "paused" {
		t.Errorf("left with %+v, %s", points, st.Status)
	}
	s.Call(t, "debug_session", args{"action": "stop", "sessionId": l.SessionID}, nil)
}

// TestAttachToProcess attaches to a process that runs, and lets it run on.
func TestAttachToProcess(t *testing.T) {
	bin, file := program(t, "endless", endless)
	s := strobetest.Start(t, nil)
	cmd := exec.Command(bin)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	e := open(t, s.Home)
	e.initialize()
	ask[*proto.AttachResponse](e, "attach", args{"processId": cmd.Process.Pid})
	event[*proto.InitializedEvent](e, "initialized", nil)
	e.breaks(file, args{"line": lineOf(t, endless, "// asleep")})
	ask[*proto.ConfigurationDoneResponse](e, "configurationDone", nil)
	stop := e.stops("breakpoint")
	if e.stack(stop.ThreadId)[0].Name != "main" {
		t.Errorf("%+v", e.stack(stop.ThreadId))
	}
	ask[*proto.DisconnectResponse](e, "disconnect", args{})
	if err := cmd.Process.Signal(os.Signal(sigterm)); err != nil {
		t.Fatal(err)
	}
	if cmd.Wait(); cmd.ProcessState.ExitCode() != 4 {
		t.Errorf("it ended with %v", cmd.ProcessState)
	}
}

// TestRepl runs the tools' own words.
func TestRepl(t *testing.T) {
	bin, file := program(t, "shop", shop)
	s := strobetest.Start(t, nil)
	e := open(t, s.Home)
	e.launch(args{"program": bin, "trace": []string{"main"}}, func() {
		e.breaks(file, args{"line": lineOf(t, shop, "sum(&apple")})
	})
	stop := e.stops("breakpoint")
	if got := e.evaluate(0, "trace add sum", "repl"); !strings.Contains(got, "sum") {
		t.Errorf("trace add: %s", got)
	}
	e.refused("evaluate", args{"expression": "trace add sum(", "context": "repl"})
	e.breaks(file, args{"line": lineOf(t, shop, "// the end")})
	ask[*proto.ContinueResponse](e, "continue", args{"threadId": stop.ThreadId})
	e.stops("breakpoint")
	if got := e.evaluate(0, "query tree", "repl"); strings.Count(got, "sum(") != 3 {
		t.Errorf("query tree: %s", got)
	}
	if got := e.evaluate(0, "query stdout", "repl"); !strings.Contains(got, "sold 3 apple") {
		t.Errorf("query stdout: %s", got)
	}
	question := `query {"eventType": "function_enter", "function": "sum", "limit": 1}`
	if got := e.evaluate(0, question, "repl"); !strings.Contains(got, `"hasMore":true`) {
		t.Errorf("query JSON: %s", got)
	}
	if got := e.evaluate(0, "trace remove sum main", "repl"); got != "nothing is traced" {
		t.Errorf("trace remove: %s", got)
	}
	ask[*proto.ContinueResponse](e, "continue", args{"threadId": stop.ThreadId})
	e.ends(7)
}

// TestMemory reads memory, and says where it ends.
func TestMemory(t *testing.T) {
	bin, file := program(t, "shop", shop)
	s := strobetest.Start(t, nil)
	e := open(t, s.Home)
	e.launch(args{"program": bin}, func() { e.breaks(file, args{"line": lineOf(t, shop, "// the product")}) })
	stop := e.stops("breakpoint")
	frame := e.stack(stop.ThreadId)[0].Id
	cents := ask[*proto.EvaluateResponse](e, "evaluate", args{"frameId": frame, "expression": "item->price.cents"}).Body
	got := ask[*proto.ReadMemoryResponse](e, "readMemory", args{"memoryReference": cents.MemoryReference, "count": 4}).Body
	if got.Data != "MgAAAA==" || got.Address != cents.MemoryReference {
		t.Errorf("cents: %+v", got)
	}
	got = ask[*proto.ReadMemoryResponse](e, "readMemory", args{"memoryReference": "0x10", "count": 5000}).Body
	if got.Data != "" || got.UnreadableBytes != 5000 {
		t.Errorf("unreadable memory: %+v", got)
	}
	got = ask[*proto.ReadMemoryResponse](e, "readMemory",
		args{"memoryReference": cents.MemoryReference, "count": 1 << 20, "offset": -2}).Body
	if got.UnreadableBytes == 0 || len(got.Data) < 4 {
		t.Errorf("to the stack's end: %d unreadable, data %d", got.UnreadableBytes, len(got.Data))
	}
	e.refused("readMemory", args{"memoryReference": "item", "count": 4})
	ask[*proto.DisconnectResponse](e, "disconnect", args{})
}

// TestCrash ends with a signal's number, and says why.
func TestCrash(t *testing.T) {
	bin, _ := program(t, "crashes", "int main(void)\n{\n\tvolatile int *p = 0;\n\treturn *p;\n}\n")
	s := strobetest.Start(t, nil)
	e := open(t, s.Home)
	e.launch(args{"program": bin}, nil)
	e.ends(128 + 11)
	if !strings.Contains(e.said["important"], "SIGSEGV") {
		t.Errorf("said %q", e.said)
	}
}
