package acceptance

import (
	"fmt"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

const forcedProgram = `#include <cstdio>
#include <string>
enum Mode { IDLE, BUSY };
int ran;
__attribute__((noinline)) bool ready(int n) { ran++; return n > 100; }
__attribute__((noinline)) double rate(int n) { ran++; return n * 0.5; }
__attribute__((noinline)) Mode mode() { ran++; return IDLE; }
__attribute__((noinline)) long limit(int n, long most, double scale) { ran++; return n > most ? most : (long)(n * scale); }
__attribute__((noinline)) std::string named(int n) { ran++; return std::to_string(n); }
__attribute__((noinline)) void work(int n) { ran += n; }
struct Two { long a, b; };
__attribute__((noinline)) int &slot(int &at, const char *text, Two two) { ran += text[0] + two.a; return at; }
int main() {
	char line[8];
	if (!fgets(line, sizeof line, stdin)) return 1;
	int yes = 0, busy = 0; double sum = 0; long total = 0;
	for (int i = 0; i < 10; i++) {
		yes += ready(i);
		sum += rate(i);
		busy += mode() == BUSY;
		total += limit(i, 5, 2.0);
		work(100);
		named(i);
	}
	printf("total %ld yes %d sum %g busy %d ran %d\n", total, yes, sum, busy, ran);
}
`

// TestForce makes functions return at once and gets arguments changed, with and without a trace on them, and takes it
// back.
func TestForce(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	for _, variant := range []string{"gcc-O0", "gcc-O2"} {
		for _, traced := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s traced %v", variant, traced), func(t *testing.T) {
				launch := map[string]any{"stdin": "pipe"}
				if traced {
					launch["trace"] = []string{"ready", "rate", "mode", "limit", "work"}
				}
				d := debug(t, s, variant, "forced", forcedProgram, launch)
				r := d.points(args{"add": []any{
					args{"function": "ready", "return": true, "condition": "n % 2 == 0"}, args{"function": "rate", "return": 1.5},
					args{"function": "mode", "return": "BUSY"},
					args{"function": "limit", "setArgument": args{"n": 3, "scale": 10}},
					args{"function": "work", "return": nil, "hitCount": 3},
				}})
				if len(r.Breakpoints) != 5 {
					t.Fatalf("points %+v", r)
				}
				var st struct{ Breakpoints []string }
				if s.Call(t, "debug_session", args{"action": "status", "sessionId": d.id}, &st); len(st.Breakpoints) != 5 ||
					!strings.HasSuffix(st.Breakpoints[1], "rate: forced, return 1.5") {
					t.Errorf("status lists %q", st.Breakpoints)
				}
				for _, bad := range []args{{"function": "named", "return": "x"}, {"function": "ready", "return": "maybe"},
					{"function": "limit", "setArgument": args{"none": 1}},
					{"function": "mode", "return": "NONE"}, {"file": "forced.cpp", "line": 5, "return": 1},
					{"function": "slot", "return": 5}, {"function": "slot", "setArgument": args{"at": 5}},
					{"function": "slot", "setArgument": args{"text": "x"}}, {"function": "slot", "setArgument": args{"two": 1}}} {
					var took map[string]any
					if err := s.Try("debug_breakpoint", args{"sessionId": d.id, "add": []any{bad}}, &took); err == nil {
						t.Errorf("%v was taken: %v", bad, took)
					}
				}
				d.input("go\n")
				// ready forced for five calls, rate and mode for all, work once
				if out, want := d.output(), "total 300 yes 5 sum 15 busy 10 ran 925\n"; out != want {
					t.Errorf("output %q, want %q", out, want)
				}
				if logs := d.events("logpoint"); len(logs) != 5+10+10+10+1 ||
					!strings.Contains(fmt.Sprint(logs[0]["message"]), "forced") {
					t.Errorf("%d marks on the timeline: %.200v", len(logs), logs)
				}
				if traced {
					exits := d.events("function_exit")
					n := 0
					for _, e := range exits {
						if e["function"] == "mode" {
							n++
						}
					}
					if n != 10 || len(exits) != 50 {
						t.Errorf("%d exits recorded, %d of mode, want 50 and 10", len(exits), n)
					}
				}
			})
		}
	}
}
