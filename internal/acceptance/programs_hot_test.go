package acceptance

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// hotProgram calls process_data::step 500,000 times a second, and process_data::validate a thousand times, until its
// stdin ends.
const hotProgram = `
#include <atomic>
#include <cstdio>
#include <ctime>
#include <thread>
#include <string>
struct Limits { int low; int high; };
struct Rules { const char *name; Limits *limits; };
struct Config { int id; Rules *rules; };
namespace process_data {
__attribute__((noinline)) int step(int x) { __asm__ volatile(""); return x + 1; }
__attribute__((noinline)) bool validate(const Config *c, int x, int *rejected) {
	bool ok = x >= c->rules->limits->low && x <= c->rules->limits->high;
	*rejected = ok ? 0 : x;
	return ok;
}
}
int gRounds = 0;
Config *gConfig;
static long long now() { timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1000000000LL + t.tv_nsec; }
int main() {
	std::atomic<bool> end{false};
	Limits limits{10, 5}; // the bug: nothing is valid
	Rules rules{"strict", &limits};
	Config config{7, &rules};
	gConfig = &config;
	std::thread wait([&] { while (getchar() != EOF) {} end = true; });
	long long start = now();
	long calls = 0, validated = 0;
	int x = 0, rejected = 0;
	while (!end) {
		long want = (now() - start) / 2000;
		for (; calls < want; calls++) {
			x = process_data::step(x) & 15;
			if (calls % 500 == 0) { process_data::validate(&config, x, &rejected); validated++; gRounds++; }
		}
		timespec t{0, 500000};
		nanosleep(&t, nullptr);
	}
	wait.join();
	printf("step=%ld validate=%ld\n", calls, validated);
}
`

// TestHotFunctions is the validation scenario of phase 1b: a function that is called 500,000 times a second is sampled,
// and that is said; the pattern is narrowed, everything is recorded again, and the depth shows the nested field that is
// wrong.
func TestHotFunctions(t *testing.T) {
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	path := strobetest.BuildSource(t, "cpp", "gcc-O2", "hot", hotProgram)
	l := s.Launch(t, path, filepath.Dir(path), nil, map[string]any{"stdin": "pipe"})
	defer s.Stop(t, l.SessionID)
	trace := func(args map[string]any) (out struct {
		ActivePatterns  []string
		HookedFunctions int
		Warnings        []string
	}) {
		args["sessionId"] = l.SessionID
		s.Call(t, "debug_trace", args, &out)
		return out
	}
	if r := trace(map[string]any{"add": []string{"process_data::*"}}); r.HookedFunctions != 2 {
		t.Fatalf("hooked %d functions: %v", r.HookedFunctions, r.Warnings)
	}
	soon(t, "a warning of sampling", func() bool {
		return strings.Contains(strings.Join(trace(map[string]any{}).Warnings, "\n"),
			"sampling at 1%: process_data::step is called ")
	})
	p := s.Query(t, l.SessionID, map[string]any{"eventType": "function_enter",
		"function": map[string]any{"equals": "process_data::step"}, "limit": 1})
	if !strings.Contains(string(p.Sampled), `"process_data::step"`) {
		t.Errorf("debug_query says of sampling %q", p.Sampled)
	}
	if n := s.Query(t, l.SessionID, map[string]any{"eventType": "process", "limit": 500}); len(n.Events) == 0 ||
		n.Events[0].What != "sampling" {
		t.Errorf("the timeline has no sampling: %+v", n.Events)
	}
	if r := trace(map[string]any{"remove": []string{"process_data::*"}, "add": []string{"process_data::validate"},
		"serializationDepth": 2}); r.HookedFunctions != 1 {
		t.Fatalf("hooked %d functions: %v", r.HookedFunctions, r.Warnings)
	}
	soon(t, "the end of sampling", func() bool {
		return !strings.Contains(strings.Join(trace(map[string]any{}).Warnings, "\n"), "sampling")
	})
	from := s.Query(t, l.SessionID, map[string]any{"limit": 1, "timeFrom": "-1us"}).LastEventID
	soon(t, "calls with their values", func() bool {
		p = s.Query(t, l.SessionID, map[string]any{"eventType": "function_enter", "afterEventId": from, "verbose": true,
			"limit": 1})
		return len(p.Events) == 1
	})
	if got := string(p.Events[0].Arguments); !strings.Contains(got,
		`"rules":{"name":"strict","limits":"<max depth 2 reached>"}`) {
		t.Errorf("depth 2 shows %s", got)
	}
	trace(map[string]any{"add": []string{"process_data::validate"}, "serializationDepth": 3, "captureOut": true,
		"watches": map[string]any{"add": []any{map[string]any{"variable": "gRounds"},
			map[string]any{"variable": "gConfig->rules->limits->high", "label": "high"}}}})
	from = s.Query(t, l.SessionID, map[string]any{"limit": 1, "timeFrom": "-1us"}).LastEventID
	soon(t, "an exit with what it changed", func() bool {
		p = s.Query(t, l.SessionID, map[string]any{"eventType": []string{"function_enter", "function_exit"},
			"afterEventId": from, "verbose": true, "limit": 4})
		return len(p.Events) == 4
	})
	all := ""
	for _, e := range p.Events {
		all += fmt.Sprintf("%s %s %s\n", e.Arguments, e.Watches, e.Out)
	}
	for _, want := range []string{`"limits":{"low":10,"high":5}`, `"high":5}`, `"gRounds":`, `{"rejected":`} {
		if !strings.Contains(all, want) {
			t.Errorf("depth 3 with watches lacks %s:\n%s", want, all)
		}
	}
	s.Call(t, "debug_session", map[string]any{"action": "input", "sessionId": l.SessionID, "eof": true}, nil)
	s.WaitEnd(t, l.SessionID, 5*time.Minute)
	var step, validate int64
	if _, err := fmt.Sscanf(s.Output(t, l.SessionID, "stdout"), "step=%d validate=%d", &step, &validate); err != nil ||
		step == 0 {
		t.Fatalf("the program wrote %q: %v", s.Output(t, l.SessionID, "stdout"), err)
	}
}

// soon waits for a condition that each try asks the daemon about.
func soon(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); {
		if time.Now().After(end) {
			t.Fatalf("no %s", what)
		}
		<-time.After(20 * time.Millisecond)
	}
}
