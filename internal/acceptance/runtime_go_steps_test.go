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
