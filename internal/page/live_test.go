package page_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// slowly makes a call for each line that it reads.
const slowly = `
#include <cstdio>
int answered = 0;
int inner(int n) { return n + 1; }
int answer(int n) { answered = inner(n); return answered; }
int outer() {
  char line[80];
  while (std::fgets(line, sizeof line, stdin)) {
    std::printf("%d\n", answer(answered));
    std::fflush(stdout);
  }
  return answered;
}
int main() { return outer() == 0; }
`

// TestPageFollows opens the page while a program runs: what is new is drawn without being asked for, a call that has
// not ended is drawn as open, a pause is marked, and the end is told.
func TestPageFollows(t *testing.T) {
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	bin := strobetest.BuildSource(t, "cpp", "gcc-O0", "slowly", slowly)
	l := s.Launch(t, bin, t.TempDir(), nil,
		args{"stdin": "pipe", "trace": []string{"outer", "answer", "inner", "main"}})
	id := l.SessionID
	send := func(text string) {
		t.Helper()
		s.Call(t, "debug_session", args{"action": "input", "sessionId": id, "text": text}, nil)
	}
	link := begin(t, s, id)
	link.Fragment = ""
	d := drive(t, link)
	s.Query(t, id, args{"eventType": "function_enter", "function": "outer", "waitMs": 20000})
	d.open("s=" + id)
	var got drawn
	// until waits for a picture that satisfies a condition.
	until := func(what string, is func() bool) {
		t.Helper()
		for deadline := time.Now().Add(30 * time.Second); ; {
			got = drawn{}
			if d.do(args{"do": "shown"}, &got); is() {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s is not drawn within 30 s: %+v", what, got)
			}
		}
	}
	calls := func(name string, open bool) (n int) {
		for _, sp := range got.Spans {
			if sp.Function == name && (sp.Calls == 0) == open {
				n += max(1, sp.Calls)
			}
		}
		return n
	}
	until("a call that goes on", func() bool { return calls("outer", true) == 1 && calls("main", true) == 1 })
	for n := 1; n <= 3; n++ {
		send("again\n")
		until(fmt.Sprintf("call %d", n), func() bool { return calls("answer", false) == n })
	}
	s.Call(t, "debug_breakpoint", args{"sessionId": id, "add": []args{{"function": "inner"}}}, nil)
	send("again\n")
	s.Query(t, id, args{"eventType": "pause", "waitMs": 20000})
	until("a pause", func() bool {
		for _, m := range got.Marks {
			if m.EventType == "pause" {
				return calls("answer", true) == 1
			}
		}
		return false
	})
	d.do(args{"do": "wait", "of": ".status", "text": "paused"}, nil)
	var found []string
	if d.do(args{"do": "axe"}, &found); len(found) > 0 {
		t.Errorf("axe-core, of a session that is paused: %v", found)
	}
	s.Call(t, "debug_breakpoint", args{"sessionId": id, "remove": []string{"bp-1"}}, nil)
	s.Call(t, "debug_continue", args{"sessionId": id, "action": "continue"}, nil)
	s.Call(t, "debug_session", args{"action": "input", "sessionId": id, "text": "", "eof": true}, nil)
	d.do(args{"do": "wait", "of": ".status", "text": "exited with 0"}, nil)
	until("the end", func() bool { return calls("main", false) == 1 && calls("outer", true) == 0 })
}
