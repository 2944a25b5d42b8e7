package acceptance

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// goStepped is where steps lead in one goroutine, each as function and line.
func goStepped(t *testing.T, s *strobetest.Strobe, bin, root string, trace []string, at, action string, n int) (
	places []string, last json.RawMessage, of string) {
	t.Helper()
	l := s.Launch(t, bin, root, nil, args{"stopOnEntry": true, "trace": trace})
	defer s.Stop(t, l.SessionID)
	d := &debugged{t, s, l.SessionID}
	d.points(args{"add": []args{{"function": at, "hitCount": 1}}})
	goroutine, how := "", "continue"
	for i := range n {
		var st struct {
			Status        string
			PausedThreads []struct {
				ThreadID                       int
				ThreadName, Function, ResultOf string
				Line                           int
				Result                         json.RawMessage
			}
		}
		a := args{"sessionId": l.SessionID, "action": how, "waitMs": 20000}
		s.Call(t, "debug_continue", a, &st)
		if len(st.PausedThreads) != 1 {
			t.Fatalf("%s %s: behind %q: %+v", at, action, places, st)
		}
		p := st.PausedThreads[0]
		if goroutine == "" {
			goroutine = p.ThreadName
		}
		if p.ThreadName != goroutine || goroutine[:10] != "goroutine " {
			t.Errorf("%s: step %d of %q is of %q", at, i, goroutine, p.ThreadName)
		}
		places = append(places, fmt.Sprintf("%s:%d", p.Function[len("main."):], p.Line))
		last, of, how = p.Result, p.ResultOf, action
	}
	return places, last, of
}

// TestGoSteps: a step stays with its goroutine, which waits for channels, changes threads and has its stack moved
// meanwhile; leads into functions that were deferred when there is a panic, and behind what recovered from it; and shows
// what a function returned.
func TestGoSteps(t *testing.T) {
	t.Parallel()
	s := strobetest.Start(t, nil)
	bin, root := goProgram(t, "steps", "-gcflags=-N -l")
	for _, trace := range [][]string{nil, {"@usercode"}} {
		for _, c := range []struct {
			at, action string
			want       []string
		}{
			{"main.busy", "step-over", []string{"busy:31", "busy:32", "busy:33", "busy:34", "busy:35", "busy:36", "busy:37",
				"busy:38", "busy:39", "busy:40", "busy:41", "busy:42", "busy:44", "busy:45"}},
			{"main.fails", "step-over", []string{"fails:59", "fails:60", "fails:65", "fails.func1:60", "fails.func1:61",
				"fails.func1:62", "fails.func1:64", "fails:67", "fails:66"}},
			{"main.main", "step-into", []string{"main:91", "main:92", "main:93", "main:94", "main:95"}},
			{"main.note", "step-out", []string{"note:52", "busy:45"}},
			{"main.pair.area", "step-into", []string{"pair.area:87", "pair.area:88", "main:102"}},
		} {
			got, _, _ := goStepped(t, s, bin, root, trace, c.at, c.action, len(c.want))
			if !slices.Equal(got, c.want) {
				t.Errorf("%s %s, traced %q:\n%q, want\n%q", c.at, c.action, trace, got, c.want)
			}
		}
		_, result, of := goStepped(t, s, bin, root, trace, "main.many", "step-out", 2)
		if want := `[7,"7",{"a":7,"b":1.5},{"type":"*errors.errorString","value":{"s":"value out of range"}}]`; of !=
			"main.many" || string(result) != want {
			t.Errorf("%s returned %s, want %s", of, result, want)
		}
		_, result, of = goStepped(t, s, bin, root, trace, "main.grow", "step-out", 2)
		if of != "main.grow" || string(result) != "125250" {
			t.Errorf("%s returned %s, want 125250", of, result)
		}
	}
}

// TestGoPoints: in a Go program names mean what they do in its source (a package's variables, with and without the
// package, and those that live in the heap), a data breakpoint tells each write, and a call is made to return a value.
func TestGoPoints(t *testing.T) {
	t.Parallel()
	s := strobetest.Start(t, nil)
	bin, root := goProgram(t, "steps", "-gcflags=-N -l")
	l := s.Launch(t, bin, root, nil, args{"stopOnEntry": true})
	d := &debugged{t, s, l.SessionID}
	d.points(args{"add": []args{{"variable": "main.sum", "pause": false}, {"function": "main.grow", "return": 7},
		{"function": "main.note", "condition": "id == 3 && sum >= 0 && main.sum == sum", "message": "{id} {sum - main.sum}"},
		{"file": "main.go", "line": 98}}})
	if st := d.next(args{}); st.Status != "paused" {
		t.Fatalf("%+v", st)
	}
	var read struct {
		Results []struct {
			Value json.RawMessage
			Error string
		}
	}
	s.Call(t, "debug_memory", args{"sessionId": l.SessionID, "action": "read", "targets": []args{{"variable": "sum"},
		{"variable": "wg.state.v"}}}, &read)
	// of eight goroutines, each with twice its number, 7, and 1
	if len(read.Results) != 2 || string(read.Results[0].Value) != "120" || string(read.Results[1].Value) != "0" {
		t.Errorf("read %+v, want 120 and 0", read)
	}
	d.next(args{})
	s.WaitEnd(t, l.SessionID, endLimit)
	if n := s.Count(t, l.SessionID, "variable_write", ""); n != 8 {
		t.Errorf("%d writes of main.sum are told, want 8", n)
	}
	var page struct{ Events []struct{ Message string } }
	s.Call(t, "debug_query", args{"sessionId": l.SessionID, "eventType": "logpoint"}, &page)
	said := map[string]int{}
	for _, e := range page.Events {
		said[e.Message]++
	}
	if len(said) != 2 || said["3 0"] != 1 || said["forced to return 7"] != 8 {
		t.Errorf("it is said %v, want 3 0 once, and eight times that a call was forced", said)
	}
	if out := s.Output(t, l.SessionID, "stdout"); out != "120 recovered: too much 7 7 {7 1.5} value out of range 10.5\n" {
		t.Errorf("it printed %q", out)
	}
}
