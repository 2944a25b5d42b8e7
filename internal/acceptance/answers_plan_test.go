package acceptance

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// planSource calls one function some thousand times a second, one about a hundred times, and one never.
const planSource = `#include <stdio.h>
#include <time.h>
static volatile int sum;
__attribute__((noinline)) int busy(int k) { sum += k; return k; }
__attribute__((noinline)) int calm(int k) { sum -= k; return k; }
__attribute__((noinline)) int idle(int k) { return k * sum; }
static void rest(void) { struct timespec t = {0, 1000000}; nanosleep(&t, 0); }
int main(void) {
  puts("ready"); fflush(stdout);
  for (int i = 0; ; i++) {
    for (int k = 0; k < 200; k++) busy(k);
    if (i % 8 == 0) calm(i);
    rest();
    if (sum == 12345678) idle(i);
  }
}
`

// TestPlan: a plan says what would be hooked and how often it is called, records nothing, leaves nothing, and what is
// traced already goes on.
func TestPlan(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	path := strobetest.BuildSource(t, "c", "gcc-O0", "planned", planSource)
	l := s.Launch(t, path, strobetest.Root(t), nil, args{"trace": []string{"calm"}})
	defer s.Stop(t, l.SessionID)
	s.Query(t, l.SessionID, args{"eventType": "function_exit", "waitMs": 30000})
	before := codeOf(t, l.PID, path)
	var plan struct {
		Mode            string
		ActivePatterns  []string
		HookedFunctions int
		CallsPerSecond  int64
		Planned         []struct {
			Function       string
			CallsPerSecond int64
		}
		Status   string
		Warnings []string
	}
	for range 50 { // on a busy machine the program may not have had a turn in a sample
		plan.Planned, plan.Warnings, plan.CallsPerSecond = nil, nil, 0
		s.Call(t, "debug_trace", args{"sessionId": l.SessionID, "plan": true,
			"add": []string{"busy", "idle", "nosuch_thing"}}, &plan)
		if len(plan.Planned) > 0 {
			break
		}
	}
	if plan.Mode != "plan" || plan.HookedFunctions != 3 || !strings.HasPrefix(plan.Status, "Nothing is installed.") {
		t.Errorf("plan = %+v", plan)
	}
	if len(plan.Planned) != 1 || plan.Planned[0].Function != "busy" || plan.CallsPerSecond < 10 ||
		plan.CallsPerSecond > 1_000_000 {
		t.Errorf("planned = %+v, %d calls a second", plan.Planned, plan.CallsPerSecond)
	}
	if w := strings.Join(plan.Warnings, " "); !strings.Contains(w, "nosuch_thing") {
		t.Errorf("warnings do not name the pattern that matches nothing: %q", w)
	}
	if after := codeOf(t, l.PID, path); after != before {
		t.Errorf("the program's code is not as it was before")
	}
	var state struct{ ActivePatterns []string }
	s.Call(t, "debug_trace", args{"sessionId": l.SessionID}, &state)
	if fmt.Sprint(state.ActivePatterns) != "[calm]" {
		t.Errorf("active patterns = %v", state.ActivePatterns)
	}
	if n := s.Query(t, l.SessionID, args{"function": "busy"}).TotalCount; n != 0 {
		t.Errorf("%d events of what was only planned", n)
	}
	calm := s.Query(t, l.SessionID, args{"function": "calm", "limit": 1}).LastEventID
	if r := s.Query(t, l.SessionID, args{"function": "calm", "afterEventId": calm, "waitMs": 30000}); r.TotalCount == 0 {
		t.Errorf("calm has no event after %d: its trace does not go on", calm)
	}
}

// codeOf is the program's code as it stands in the process.
func codeOf(t *testing.T, pid int, path string) string {
	t.Helper()
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		t.Fatal(err)
	}
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		t.Fatal(err)
	}
	defer mem.Close()
	var code []byte
	for line := range strings.Lines(string(maps)) {
		var lo, hi int64
		if !strings.Contains(line, " r-xp ") || !strings.Contains(line, path) {
			continue
		}
		if _, err := fmt.Sscanf(line, "%x-%x", &lo, &hi); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, hi-lo)
		if _, err := mem.ReadAt(b, lo); err != nil {
			t.Fatal(err)
		}
		code = append(code, b...)
	}
	return string(code)
}
