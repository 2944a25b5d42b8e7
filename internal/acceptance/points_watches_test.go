package acceptance

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// watchedProgram changes globals for each line of its input.
const watchedProgram = `
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
struct Clock { int counter; double rate; const char *label; struct Inner { long deep[3]; unsigned flags : 3; } *in; };
static Clock::Inner inner{{10, 20, 30}, 5};
Clock theClock{1, 0.5, "main clock", &inner};
Clock *gClock = &theClock;
std::string gName = "start";
char packed[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
static thread_local int tls = 5;
namespace app { int level = 3; }
__attribute__((noinline)) int tick(int by, int *out, char *buf) {
	gClock->counter += by; inner.deep[1]++; tls++; app::level--; gClock->rate *= 2; *out = by * 2; snprintf(buf, 32, "tick %d", by); gName += "x";
	return gClock->counter;
}
__attribute__((noinline)) int other(int k) { return k + gClock->counter; }
int main() {
	char line[64];
	while (fgets(line, sizeof line, stdin)) {
		int o = 0; char b[32] = "before";
		int r = tick(atoi(line), &o, b);
		printf("%d %d %s %d\n", r, o, b, other(r)); fflush(stdout);
	}
}
`

// TestWatches reads values at calls: members, elements, thread-locals, text, bit-fields, addresses, expressions over
// arguments and results, and floats, which the daemon computes; at functions that are traced later, too.
func TestWatches(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	for _, variant := range []string{"gcc-O0", "gcc-O2"} {
		t.Run(variant, func(t *testing.T) {
			path := strobetest.BuildSource(t, "cpp", variant, "watched", watchedProgram)
			l := s.Launch(t, path, filepath.Dir(path), nil, map[string]any{"stdin": "pipe"})
			defer s.Stop(t, l.SessionID)
			trace := func(args map[string]any) (active []string, err error) {
				args["sessionId"] = l.SessionID
				var out struct{ ActiveWatches []string }
				err = s.Try("debug_trace", args, &out)
				return out.ActiveWatches, err
			}
			watch := func(exprs ...string) map[string]any {
				var add []any
				for _, e := range exprs {
					add = append(add, map[string]any{"expr": e})
				}
				return map[string]any{"add": add}
			}
			w := watch("gClock->counter", "gClock->in->deep[1]", "gClock->label", "gClock->in->flags", "app::level * 2 + 1",
				"tls", "gName",
				"*(int *)(packed + 1)", "gClock->rate * 2", "by + 100", "$return - 1", "gClock->rate > 0.7")
			w["add"] = append(w["add"].([]any), map[string]any{"expr": "k * 2", "label": "twice", "on": []string{"other"}},
				map[string]any{"address": "0x10", "type": "int", "label": "nowhere"})
			active, err := trace(map[string]any{"add": []string{"tick"}, "watches": w, "captureOut": true})
			if err != nil || len(active) != 14 {
				t.Fatalf("active %q: %v", active, err)
			}
			if _, err = trace(map[string]any{"add": []string{"other"}}); err != nil { // from now on it reads what is on it
				t.Fatal(err)
			}
			for _, bad := range []string{"gClok->counter", "gClock->countr", "gClock->(", "gClock->in->deep[", "nothing::here"} {
				if active, err = trace(map[string]any{"watches": watch(bad)}); err == nil ||
					!strings.HasPrefix(err.Error(), "WATCH_FAILED: ") {
					t.Errorf("watch %s: %v", bad, err)
				}
			}
			if active, err = trace(map[string]any{}); err != nil || len(active) != 14 {
				t.Errorf("refused watches left %q: %v", active, err)
			}
			s.Call(t, "debug_session", map[string]any{"action": "input", "sessionId": l.SessionID, "text": "3\n"}, nil)
			var p strobetest.Page
			soon(t, "two calls", func() bool {
				p = s.Query(t, l.SessionID, map[string]any{"eventType": []string{"function_enter", "function_exit"},
					"verbose": true})
				return len(p.Events) == 4
			})
			for i, want := range []string{
				`{"gClock->counter":1,"gClock->in->deep[1]":20,"gClock->label":"main clock","gClock->in->flags":5,"app::level * ` +
					`2 + 1":7,"tls":5,"gName":"start","*(int *)(packed + 1)":84148994,"gClock->rate * 2":1,"by + ` +
					`100":103,"gClock->rate > 0.7":false,"nowhere":"<unreadable>"}`,
				`{"gClock->counter":4,"gClock->in->deep[1]":21,"gClock->label":"main clock","gClock->in->flags":5,"app::level * ` +
					`2 + 1":5,"tls":6,"gName":"startx","*(int *)(packed + 1)":84148994,"gClock->rate * 2":2,"$return - ` +
					`1":3,"gClock->rate > 0.7":true,"nowhere":"<unreadable>"}`,
				`"twice":8,"nowhere":"<unreadable>"}`,
				`"$return - 1":7,`,
			} {
				if got := string(p.Events[i].Watches); !strings.Contains(got, want) {
					t.Errorf("event %d, %s of %s:\n got %s\nwant %s", i, p.Events[i].EventType, p.Events[i].Function, got, want)
				}
			}
			if got := string(p.Events[1].Out); got != `{"out":6,"buf":"tick 3"}` {
				t.Errorf("the exit of tick shows %s", got)
			}
			if active, err = trace(map[string]any{"watches": map[string]any{"remove": []string{"twice", "tls"}}}); err != nil ||
				len(active) != 12 {
				t.Errorf("after removal %q: %v", active, err)
			}
			var many []string
			for i := range 33 {
				many = append(many, fmt.Sprintf("gClock->counter + %d", i))
			}
			if _, err := trace(map[string]any{"watches": watch(many...)}); err == nil ||
				!strings.HasPrefix(err.Error(), "VALIDATION_ERROR") {
				t.Errorf("more than 32 watches: %v", err)
			}
			s.Call(t, "debug_session", map[string]any{"action": "input", "sessionId": l.SessionID, "eof": true}, nil)
			s.WaitEnd(t, l.SessionID, 5*time.Minute)
			if out := s.Output(t, l.SessionID, "stdout"); out != "4 6 tick 3 8\n" {
				t.Errorf("the program wrote %q", out)
			}
		})
	}
}
