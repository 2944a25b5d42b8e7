package acceptance

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// againstSource takes another way where its argument is above five.
const againstSource = `#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) int rate(int k, int base) { return base + (k > 5 ? 7 : 0); }
__attribute__((noinline)) int discount(int k) { return k / 2; }
__attribute__((noinline)) int step(int i) { return i * 3; }
static int odd;
struct line { int price; };
struct order { struct line line; };
struct bill { struct order order; };
__attribute__((noinline)) int pay(struct bill *b) { return b != 0; }
__attribute__((noinline)) int level(int i) { return odd && i == 13 ? -40 : i % 4; }
int main(int argc, char **argv) {
  int k = atoi(argv[1]), sum = 0;
  for (int i = 0; i < 20; i++) sum += step(i);
  for (int i = 0; i < 20; i++) sum += rate(k, 100);
  odd = k > 5;
  struct bill bill = {{{k > 5 ? 31 : 17}}};
  for (int i = 0; i < 20; i++) sum += pay(&bill);
  for (int i = 0; i < 20; i++) sum += level(i);
  if (k > 5) sum += discount(k);
  return printf("%d\n", sum) == 0;
}
`

// TestAgainst: two sessions, one that has ended and is kept and one that has not been stopped, laid side by side.
func TestAgainst(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	path := strobetest.BuildSource(t, "c", "gcc-O0", "against", againstSource)
	var ids []string
	for _, k := range []string{"9", "2"} {
		l := s.Launch(t, path, strobetest.Root(t), []string{k},
			args{"trace": []string{"rate", "discount", "step", "level", "pay", "main"}})
		s.WaitEnd(t, l.SessionID, 30*time.Second)
		ids = append(ids, l.SessionID)
	}
	defer s.Stop(t, ids[1])
	s.Call(t, "debug_session", args{"action": "stop", "sessionId": ids[0], "retain": true}, nil)
	for _, order := range [][2]int{{0, 1}, {1, 0}} {
		var r struct {
			Text, Hint string
			First      json.RawMessage
		}
		s.Call(t, "debug_query", args{"sessionId": ids[order[0]], "view": "diff", "against": ids[order[1]]}, &r)
		a, b := "a", "b"
		if order[0] == 1 {
			a, b = b, a
		}
		for _, want := range []string{"only in " + a + ": discount ×1", "rate: 20 in a, 20 in b", "107 in " + a, "100 in " + b,
			"line.price", "calls(discount)=0", "2 functions called as often"} {
			if !strings.Contains(r.Text, want) {
				t.Errorf("%s against %s does not say %q:\n%s\n%s", a, b, want, r.Text, r.Hint)
			}
		}
		// What a call gave is new, and what it was given is not.
		if news := "new in a, from nothing new:\n  level #"; strings.Contains(r.Text, news) != (a == "a") {
			t.Errorf("%s against %s, %q:\n%s", a, b, news, r.Text)
		}
		// The same arguments and another result tell more than other arguments before it.
		if !strings.Contains(string(r.First), "main > level") {
			t.Errorf("first difference: %s (%s)", r.First, r.Hint)
		}
		if n := len(r.Text) + len(r.First) + len(r.Hint); n > 3000 {
			t.Errorf("%d bytes", n)
		}
	}
	var r struct{ Text, Hint string }
	s.Call(t, "debug_query", args{"sessionId": ids[0], "view": "invariants", "against": ids[1]}, &r)
	for _, want := range []string{"level: 20 calls, 20 there", "result >= 0, not #", "(result=-40"} {
		if !strings.Contains(r.Text, want) || strings.Contains(r.Text, "rate:") {
			t.Errorf("invariants against the other session do not say %q:\n%s\n%s", want, r.Text, r.Hint)
		}
	}
	if err := s.Try("debug_query", args{"sessionId": ids[1], "view": "diff", "against": "nope"}, nil); err == nil ||
		!strings.Contains(err.Error(), "SESSION_NOT_FOUND") {
		t.Errorf("against a session that is not there: %v", err)
	}
}
