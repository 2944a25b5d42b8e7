package acceptance

import (
	"strings"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// likeSource has a value that each run has of its own, one that is computed from what is given, and one that is handed
// on; what is owed is first wrong in the innermost function.
const likeSource = `#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((noinline)) int ticket(int i) { return getpid() % 100000 * 40 + i; }
__attribute__((noinline)) int fee(int i) { return i * 3 + 1; }
__attribute__((noinline)) int pass_on(int fee) { return fee; }
__attribute__((noinline)) int owed(int i, int bad) { return i == 13 && bad ? -7 : i; }
__attribute__((noinline)) int bill(int i, int bad) { return owed(i, bad); }
__attribute__((noinline)) int ledger(int i) { return i; }
struct page { int sum; };
__attribute__((noinline)) void turn(struct page *p) { if (p == 0) abort(); }
int main(int argc, char **argv) {
  int k = atoi(argv[1]), sum = 0;
  for (int i = 0; i < 20; i++) sum += ticket(i);
  for (int i = 0; i < 20; i++) sum += pass_on(fee(k > 5 && i == 7 ? 500 : i));
  for (int i = 0; i < 20; i++) {
    struct page page = {i == 13 && k > 5 ? -9 : i};
    turn(&page);
  }
  for (int i = 0; i < 20; i++) sum += ledger(bill(i, k > 5));
  return printf("%d\n", sum) == 0;
}
`

// TestAgainstLike: what differs between two runs that ended alike is not told of a third, and of a wrong value it is
// told who made it first.
func TestAgainstLike(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	path := strobetest.BuildSource(t, "c", "gcc-O0", "like", likeSource)
	var ids []string
	s.Call(t, "debug_trace", args{"projectRoot": strobetest.Root(t), "add": []string{"turn"}, "captureOut": true}, nil)
	for _, k := range []string{"9", "2", "2"} {
		l := s.Launch(t, path, strobetest.Root(t), []string{k},
			args{"trace": []string{"ticket", "fee", "pass_on", "owed", "bill", "ledger", "turn"}})
		s.WaitEnd(t, l.SessionID, 30*time.Second)
		defer s.Stop(t, l.SessionID)
		ids = append(ids, l.SessionID)
	}
	both := ids[1] + ", " + ids[2]
	var r struct{ Text, Hint string }
	s.Call(t, "debug_query", args{"sessionId": ids[0], "view": "diff", "against": ids[1]}, &r)
	if !strings.Contains(r.Text, "ticket") {
		t.Errorf("against one session ticket is not told of:\n%s", r.Text)
	}
	s.Call(t, "debug_query", args{"sessionId": ids[0], "view": "diff", "against": both}, &r)
	_, made, _ := strings.Cut(r.Text, "made in a, not in b, and not given:\n")
	if strings.Contains(r.Text, "ticket") || !strings.Contains(made, "  fee #") || !strings.Contains(made, "result=1501") ||
		strings.Contains(made, "pass_on #") {
		t.Errorf("against two sessions that ended alike:\n%s\n%s", r.Text, r.Hint)
	}
	s.Call(t, "debug_query", args{"sessionId": ids[0], "view": "invariants", "against": both}, &r)
	if !strings.HasPrefix(r.Text, "first to end with what broke one: owed #") || strings.Contains(r.Text, "ticket") ||
		!strings.Contains(r.Text, "out.p.sum") {
		t.Errorf("invariants against both:\n%s\n%s", r.Text, r.Hint)
	}
	if err := s.Try("debug_query", args{"sessionId": ids[0], "view": "diff", "against": ids[1] + ",nope"}, nil); err == nil ||
		!strings.Contains(err.Error(), "SESSION_NOT_FOUND") {
		t.Errorf("against a second session that is not there: %v", err)
	}
}
