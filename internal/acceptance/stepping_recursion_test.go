package acceptance

import (
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

const stepRecursion = `#include <stdio.h>
static long fib(long n) {
  if (n < 2) return n;
  return fib(n - 1) + fib(n - 2); // calls itself
}
static volatile long watched;
static void nothing(void) {}
static void write_often(void) {
  for (long i = 1; i <= 5000; i++) watched = i;
}
int main(void) {
  long v = fib(21); // begins
  for (int i = 0; i < 3000; i++) nothing(); // often
  write_often(); // then
  printf("%ld %ld\n", v, watched); // prints
  return 0;
}
`

// TestStepOverRecursion steps over a line whose calls come to the same return address tens of thousands of times, each
// a trap by a debug register, and has as many writes watched. Virtual machines tell one in some thousand of these traps
// as another's: as a step's, as an int1's. The program was given a SIGTRAP of its own then, and ended.
func TestStepOverRecursion(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	d := stepped(t, s, "steprecursion", stepRecursion, args{}, "// begins")
	d.resume("step-into", "if (n < 2)", stepRecursion)
	d.resume("step-over", "// calls itself", stepRecursion)
	d.resume("step-over", "}", stepRecursion)
	d.resume("step-over", "// often", stepRecursion)
	d.resume("step-over", "// then", stepRecursion)
	d.points(args{"add": []args{{"variable": "watched"}}})
	var st standing
	s.Call(t, "debug_continue", args{"sessionId": d.id, "action": "continue", "waitMs": 15000}, &st)
	s.WaitEnd(t, d.id, endLimit)
	if out := s.Output(t, d.id, "stdout"); out != "10946 5000\n" {
		t.Errorf("it wrote %q", out)
	}
	if n := s.Query(t, d.id, args{"eventType": "variable_write", "limit": 1}).TotalCount; n != 5000 {
		t.Errorf("%d writes were told, want 5000", n)
	}
}
