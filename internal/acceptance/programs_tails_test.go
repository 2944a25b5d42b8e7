package acceptance

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// tailCalls is how often each function of testdata/tails.S is called by one call of tails_all, and how often it leaves
// by a jump.
var tailCalls = map[string][2]int64{
	"t_direct": {1, 1}, "t_short": {1, 1}, "t_only": {1, 1}, "t_plt": {1, 1}, "t_reg": {1, 1}, "t_mem": {1, 1},
	"t_rip": {1, 1}, "t_cond": {2, 1},
	"t_condshort": {2, 1}, "t_even": {4, 4}, "t_odd": {4, 3}, "t_self": {4, 3}, "t_cold": {2, 0}, "t_switch": {3, 1},
}

// TestTailCalls keeps out exits that are told as unwound, with the time of whatever came next: a function without debug
// information may leave by a jump, to a function that is hooked or not, in this module or another, through a register
// or memory.
func TestTailCalls(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	asm := filepath.Join(strobetest.Root(t), "internal", "acceptance", "testdata", "tails.S")
	path := strobetest.BuildSource(t, "c", "gcc-O2", "tails", `
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) int target(int a, int b) { return a * 3 + b; }
int tails_all(int);
int main(int argc, char **argv) { unsigned sum = 0; for (int i = 0; i < atoi(argv[1]); i++) sum = sum * 17 + tails_all(i); printf("%u\n", sum); return 0; }`, asm, "-no-pie")
	names := []string{}
	for name := range tailCalls {
		names = append(names, name)
	}
	const rounds = 50
	for _, also := range [][]string{nil, {"target", "labs"}} {
		l := s.Launch(t, path, filepath.Dir(path), []string{"50"}, map[string]any{"trace": append(also, names...)})
		s.WaitEnd(t, l.SessionID, time.Minute)
		if got := s.Output(t, l.SessionID, "stdout"); got != "766620212\n" {
			t.Errorf("with %v: the program printed %q", also, got)
		}
		for name, want := range tailCalls {
			var tails, plain, unwound int64
			page := s.Query(t, l.SessionID, map[string]any{"eventType": "function_exit",
				"function": map[string]any{"equals": name}, "limit": 500, "verbose": true})
			for _, e := range page.Events {
				switch {
				case e.Unwound:
					unwound++
				case e.TailCall:
					tails++
				default:
					plain++
				}
			}
			if unwound != 0 || tails != rounds*want[1] || tails+plain != rounds*want[0] {
				t.Errorf("with %v: %s left %d times by a jump, %d by a return, %d unwound; want %d of %d by a jump", also, name,
					tails, plain, unwound, rounds*want[1], rounds*want[0])
			}
		}
		s.Stop(t, l.SessionID)
	}
}
