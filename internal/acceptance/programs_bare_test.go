package acceptance

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

const bareProgram = `#include <stdio.h>
struct Part { long a, b, c; };
__attribute__((noinline)) long many(long a, long b, long c, long d, long e, long f, long g, struct Part p) { return a + 2 * b + 3 * c + d + e + f + 100 * g + 1000 * p.c; }
__attribute__((noinline)) struct Part made(long n, double x, long a, long b, long c, long d, long e) { struct Part p = {n, (long)x, a + b + c + d + e}; return p; }
__attribute__((noinline)) void nothing(void) { puts("nothing"); }
int main(int argc, char **argv) {
	struct Part p = made(argc, 2.5, 3, 4, 5, 6, 7);
	nothing();
	printf("%ld %ld\n", many(1, 2, 3, 4, 5, 6, 7, p), p.a + p.b);
}
`

// TestBareDebugInfo traces functions of which debug information has the name and the lines alone, as -g1 makes it and
// Rust's library is built: nothing says that they have no parameters. Their stack arguments were once taken for none,
// and lost.
func TestBareDebugInfo(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	for _, variant := range []string{"gcc-O0", "gcc-O2", "clang-O0", "clang-O2"} {
		t.Run(variant, func(t *testing.T) {
			path := strobetest.BuildSource(t, "c", variant, "bare", bareProgram, "-g1")
			want, err := exec.Command(path).Output()
			if err != nil {
				t.Fatal(err)
			}
			l := s.Launch(t, path, filepath.Dir(filepath.Dir(path)), nil, args{"trace": []string{"@usercode"}})
			defer s.Stop(t, l.SessionID)
			if said := strings.Join(l.Warnings, "\n"); !strings.Contains(said, "line tables only") {
				t.Errorf("nobody is told why there are no values: %q", said)
			}
			s.WaitEnd(t, l.SessionID, endLimit)
			if out := s.Output(t, l.SessionID, "stdout"); out != string(want) {
				t.Errorf("traced it writes %q, untraced %q", out, want)
			}
			if n := s.Query(t, l.SessionID, args{"eventType": "function_exit"}).TotalCount; n != 4 {
				t.Errorf("%d calls", n)
			}
		})
	}
}
