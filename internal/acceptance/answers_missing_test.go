package acceptance

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// missingSource never comes to parse_hex: its caller's caller ran, and did not come to the call.
const missingSource = `#include <stdio.h>
#include <stdlib.h>
static inline __attribute__((always_inline)) int twice(int k) { return 2 * k; }
__attribute__((noinline)) int parse_hex(int k) { return k + 16; }
__attribute__((noinline)) int parse_num(int k) { return k > 3 ? parse_hex(k) : k; }
__attribute__((noinline)) int parse_opt(int k) { return k ? parse_num(k) : 1; }
__attribute__((noinline)) int handler(int k) { return k; }
static int (*volatile table[2])(int) = {handler, parse_opt};
int main(int argc, char **argv) {
  int sum = parse_opt(0) + twice(argc);
  if (argc > 9) sum += table[argc % 2](sum);
  return printf("%d\n", sum) == 0;
}
`

// TestMissing: why a function did not run, from the program's files and what ran, also when the program is gone.
func TestMissing(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	path := strobetest.BuildSource(t, "c", "gcc-O1", "missing", missingSource)
	root := filepath.Dir(strobetest.SourceOf(t, "c", "missing", missingSource))
	l := s.Launch(t, path, root, nil, args{"trace": []string{"@coverage"}})
	s.WaitEnd(t, l.SessionID, 30*time.Second)
	s.Call(t, "debug_session", args{"action": "stop", "sessionId": l.SessionID, "retain": true}, nil)
	for function, want := range map[string][]string{
		"parse_hex": {"parse_hex (missing.c:4, in missing): it never ran", "nearest callers that ran",
			"parse_opt (ran at least once) calls parse_num at missing.c:6", "parse_num calls parse_hex at missing.c:5"},
		"twice":     {"twice (missing.c:3) has no code of its own in missing: "},
		"handler":   {"nothing calls it directly: only through a pointer"},
		"parse_opt": {"parse_opt ran: at least once"},
		"parse_hax": {"is not linked into missing", "did you mean parse_hex"},
	} {
		r := s.Query(t, l.SessionID, args{"view": "missing", "function": function})
		for _, w := range want {
			if !strings.Contains(r.Text, w) {
				t.Errorf("missing %s does not say %q:\n%s", function, w, r.Text)
			}
		}
	}
}
