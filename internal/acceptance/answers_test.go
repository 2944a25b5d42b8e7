package acceptance

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// answered is the text of an answer as a client pays for it.
func answered(t *testing.T, s *strobetest.Strobe, tool string, in args) string {
	t.Helper()
	var raw json.RawMessage
	s.Call(t, tool, in, &raw)
	return string(raw)
}

// sharedSource dies below eight calls that have the same large object.
const sharedSource = `#include <map>
#include <string>
#include <vector>
struct Node { int id; std::string name; std::map<std::string, int> attrs; };
struct Context { std::vector<Node> nodes; std::string title; };
int third(Context *c, int n) { volatile int *p = nullptr; return *p + n; }
int second(Context *c, int n) { return third(c, n) + 1; }
int first(Context *c, int n) { return n < 5 ? first(c, n + 1) + 1 : second(c, n) + 1; }
int main() {
  Context c;
  c.title = std::string(300, 't');
  for (int i = 0; i < 40; i++) c.nodes.push_back({i, "node" + std::to_string(i), {{"a", i}, {"b", 2}}});
  return first(&c, 0);
}
`

// deepSource overflows its stack by two functions that call each other.
const deepSource = `#include <stdio.h>
int odd(int n, char *s);
int even(int n, char *s) { char b[4096]; snprintf(b, sizeof b, "%s%d", s, n); return odd(n + 1, b) + b[0]; }
int odd(int n, char *s) { return even(n + 1, s) + s[0]; }
int main() { return even(0, "x"); }
`

// TestCrashAnswersAreShort: the same object in every frame made 114 KB, equal frames of a recursion 75 KB, and every
// answer told the crash again.
func TestCrashAnswersAreShort(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	for _, x := range []struct{ lang, name, source, place, want string }{
		{"cpp", "shared", sharedSource, "third", "<same as c in locals>"},
		{"c", "deep", deepSource, "even", "times those from frame"},
	} {
		id := traced(t, s, x.lang, x.name, x.source, x.place)
		crash := args{"sessionId": id, "eventType": "crash"}
		short := answered(t, s, "debug_query", crash)
		if len(short) > 14<<10 || !strings.Contains(short, x.want) || !strings.Contains(short, `"sourceFile":`) ||
			strings.Contains(short, `"file":`) {
			t.Errorf("%s: %d bytes: %.3000s", x.name, len(short), short)
		}
		for _, name := range []string{`"main"`, `"` + x.place + `"`, `"registers"`, `"lastEvents"`} {
			if !strings.Contains(short, name) {
				t.Errorf("%s: without %s", x.name, name)
			}
		}
		crash["verbose"] = true
		if whole := answered(t, s, "debug_query", crash); strings.Contains(whole, "<same as") ||
			strings.Contains(whole, "folded") || len(whole) < 2*len(short) {
			t.Errorf("%s: verbose is not whole: %d bytes, in short %d", x.name, len(whole), len(short))
		}
		crash["verbose"], crash["maxTokens"] = false, 600
		if least := answered(t, s, "debug_query", crash); len(least) > 4000 || !strings.Contains(least, x.place) ||
			!strings.Contains(least, "SIGSEGV") {
			t.Errorf("%s: %d bytes for 600 tokens: %s", x.name, len(least), least)
		}
		first := answered(t, s, "debug_query", args{"sessionId": id, "limit": 1})
		again := answered(t, s, "debug_query", args{"sessionId": id, "limit": 1})
		if !strings.Contains(first, `"stack":`) || strings.Contains(again, `"stack":`) ||
			!strings.Contains(again, `"signal":"SIGSEGV"`) {
			t.Errorf("%s: the crash is told in full once, then in short; first %s\nthen %s", x.name, first, again)
		}
	}
}

// overloadsSource has four functions of one name.
const overloadsSource = `#include <string>
struct Shape { int sides; int area(int scale) { return sides * scale; } int area(double scale) { return int(sides * scale); } };
int put(int n) { return n; }
int put(const std::string &s) { return s.size(); }
int main() { Shape s{4}; return put(1) + put("two") + s.area(2) + s.area(2.5); }
`

// TestStatsTellOverloads: they were equal rows.
func TestStatsTellOverloads(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	id := traced(t, s, "cpp", "overloads", overloadsSource, "put", "Shape::area")
	stats := s.Query(t, id, args{"view": "stats"}).Stats
	for _, want := range []string{"put(int n)", "double scale", "int scale"} {
		if !strings.Contains(stats, want) {
			t.Errorf("stats without %q:\n%s", want, stats)
		}
	}
	rows := map[string]bool{}
	for line := range strings.Lines(stats) {
		name, _, _ := strings.Cut(line, "  ")
		if rows[name] {
			t.Errorf("two rows of %q:\n%s", name, stats)
		}
		rows[name] = true
	}
}

// TestSummariesHaveValues: a summary had neither arguments nor results, and the verbose form all of them whole.
func TestSummariesHaveValues(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	id := traced(t, s, "cpp", "wide", wideSource, "handle", "permitted", "kindOf", "nameOf")
	short := answered(t, s, "debug_query", args{"sessionId": id})
	for _, want := range []string{`"kind":"WRITE"`, `"user":0`, `"returnValue":200`, `"c":"{host: `} {
		if !strings.Contains(short, want) {
			t.Errorf("a page without %s: %.600s", want, short)
		}
	}
	whole := answered(t, s, "debug_query", args{"sessionId": id, "verbose": true})
	if len(short) > 20<<10 || len(whole) < 2*len(short) {
		t.Errorf("50 events in short have %d bytes, verbose %d", len(short), len(whole))
	}
	cut := s.Query(t, id, args{"verbose": true, "maxTokens": 1000, "limit": 500})
	text := answered(t, s, "debug_query", args{"sessionId": id, "verbose": true, "maxTokens": 1000, "limit": 500})
	if len(text) > 3400 || !cut.HasMore || cut.LastEventID == 0 || !strings.Contains(cut.Hint, "maxTokens") {
		t.Errorf("%d bytes for 1000 tokens: %s", len(text), text)
	}
	seen := map[int64]bool{}
	for after := int64(0); ; {
		p := s.Query(t, id, args{"maxTokens": 400, "limit": 500, "afterEventId": after})
		for _, e := range p.Events {
			if seen[e.ID] {
				t.Fatalf("event %d comes twice", e.ID)
			}
			seen[e.ID] = true
		}
		if !p.HasMore {
			break
		}
		after = p.LastEventID
	}
	if total := int(s.Query(t, id, args{"limit": 1}).TotalCount); len(seen) != total {
		t.Errorf("the cursor reaches %d of %d events", len(seen), total)
	}
	if p := s.Query(t, id, args{"limit": 5000}); !strings.Contains(p.Hint, "limit was cut to 500") {
		t.Errorf("a limit of 5000 is cut without a word: %q", p.Hint)
	}
	for _, tokens := range []int{200, 400, 800} {
		for _, view := range []string{"events", "tree", "stats"} {
			if n := len(answered(t, s, "debug_query",
				args{"sessionId": id, "view": view, "maxTokens": tokens, "limit": 500})); n > 3*tokens+500 {
				t.Errorf("view %s: %d bytes for %d tokens", view, n, tokens)
			}
		}
	}
}

// TestPausesAreSaid: an empty answer did not say that the program is paused, a pause with large values had 40 KB, and
// events named their place file.
func TestPausesAreSaid(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	path := strobetest.BuildSource(t, "cpp", "gcc-O0", "shared", sharedSource)
	l := s.Launch(t, path, strobetest.Root(t), nil, args{"stopOnEntry": true})
	t.Cleanup(func() { s.Stop(t, l.SessionID) })
	if p := s.Query(t, l.SessionID, args{"eventType": "stdout"}); !strings.Contains(p.Hint, "is paused") ||
		!strings.Contains(p.Hint, "debug_continue") {
		t.Errorf("paused before main, an empty answer says %q", p.Hint)
	}
	s.Call(t, "debug_breakpoint", args{"sessionId": l.SessionID, "add": []args{{"function": "second"}}}, nil)
	stop := answered(t, s, "debug_continue", args{"sessionId": l.SessionID, "waitMs": 20000})
	if len(stop) > 8<<10 || !strings.Contains(stop, `"n":5`) || !strings.Contains(stop, `"title"`) {
		t.Errorf("the pause has %d bytes: %.2000s", len(stop), stop)
	}
	if p := s.Query(t, l.SessionID, args{"eventType": "stdout"}); !strings.Contains(p.Hint,
		fmt.Sprintf("second (shared.cpp:%d)", lineOf(sharedSource, "int second"))) {
		t.Errorf("paused, an empty answer says %q", p.Hint)
	}
	pause := answered(t, s, "debug_query", args{"sessionId": l.SessionID, "eventType": "pause"})
	if !strings.Contains(pause, `"sourceFile":"`) || strings.Contains(pause, `"file":`) {
		t.Errorf("the event's place: %.600s", pause)
	}
}
