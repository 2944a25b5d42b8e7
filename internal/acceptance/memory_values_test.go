package acceptance

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

const heldProgram = `#include <cstdio>
#include <cstring>
#include <string>
#include <unistd.h>
enum Mode { IDLE, BUSY };
struct Point { int x, y; float value; };
struct Deep { Point points[2]; Deep *next; const char *label; };
int counter; unsigned long long big = 1; double rate = 44100; Mode mode; bool done; char name[8] = "start";
Point point = {1, 2, 99.9f}; Point *pointer = &point; Deep deep = {{{1, 2, 3}, {4, 5, 6}}, &deep, "deep"};
std::string text = "some text";
int kept(int n)
{
	int doubled = n * 2; // doubled
	doubled += 1;
	return doubled; // result
}
int main() {
	long r = kept(20);
	while (!done) { counter++; usleep(1000); }
	printf("total %ld %llu %g %d %s %d\n", r, big, rate, mode, name, point.y);
}
`

type memoryValue struct {
	Target, Address, Type, Error string
	Value, Fields                json.RawMessage
	File, Preview                string
	Previous                     json.RawMessage `json:"previousValue"`
}

// TestMemory reads and writes a running program's variables, and a paused thread's.
func TestMemory(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	d := debug(t, s, "gcc-O0", "held", heldProgram, map[string]any{"stopOnEntry": true})
	memory := func(a args) []memoryValue {
		t.Helper()
		a["sessionId"] = d.id
		var r struct{ Results []memoryValue }
		if err := s.Try("debug_memory", a, &r); err != nil {
			t.Fatal(err)
		}
		return r.Results
	}
	targets := func(exprs ...string) (out []any) {
		for _, e := range exprs {
			out = append(out, args{"variable": e})
		}
		return out
	}
	set := func(pairs ...any) (out []any) {
		for i := 0; i < len(pairs); i += 2 {
			out = append(out, args{"expression": pairs[i], "value": pairs[i+1]})
		}
		return out
	}
	d.points(args{"add": []any{args{"file": "held.cpp", "line": lineOf(heldProgram, "// doubled") + 1}}})
	thread := d.next(args{}).PausedThreads[0]
	got := memory(args{"targets": targets("doubled", "n", "doubled * 2 + n", "$rsp", "nothing"),
		"threadId": thread.ThreadID})
	if string(got[0].Value) != "40" || string(got[1].Value) != "20" || string(got[2].Value) != "100" ||
		!strings.HasPrefix(got[4].Error, "VALIDATION_ERROR") {
		t.Errorf("in the paused thread: %+v", got)
	}
	if got = memory(args{"action": "write", "targets": set("doubled", 1000),
		"threadId": thread.ThreadID}); string(got[0].Value) != "1000" {
		t.Errorf("wrote a local: %+v", got)
	}
	d.points(args{"remove": []string{"all"}})
	d.next(args{"waitMs": 0})
	got = memory(args{"targets": targets("rate", "mode", "name", "*pointer", "deep.points[1].y", "text"), "depth": 3})
	for i, want := range []string{"44100", `"IDLE"`, `"start"`, `{"x":1,"y":2,"value":99.9}`, "5", `"some text"`} {
		if v := string(got[i].Value) + string(got[i].Fields); v != want {
			t.Errorf("%s = %s %s, want %s", got[i].Target, v, got[i].Error, want)
		}
	}
	if err := s.Try("debug_memory", args{"sessionId": d.id, "targets": targets("counter", "rate"),
		"poll": args{"intervalMs": 50, "durationMs": 30000}}, nil); err != nil {
		t.Fatal(err)
	}
	refused(t, s, "debug_memory", args{"sessionId": d.id, "targets": targets("counter"),
		"poll": args{"intervalMs": 5, "durationMs": 600}}, "VALIDATION_ERROR")
	got = memory(args{"action": "write", "targets": set("big", "18446744073709551615", "rate", 48000.5, "mode", "BUSY",
		"name", "changed", "pointer->y", -7)})
	for i, want := range []string{"18446744073709551615", "48000.5", `"BUSY"`, `"changed"`, "-7"} {
		if string(got[i].Value) != want {
			t.Errorf("wrote %s: %s %s, want %s", got[i].Target, got[i].Value, got[i].Error, want)
		}
	}
	for _, bad := range []struct {
		expr  string
		value any
		code  string
	}{{"counter", "text", "VALIDATION_ERROR"}, {"counter", 1e10, "VALIDATION_ERROR"}, {"mode", "NONE", "VALIDATION_ERROR"},
		{"name", "much too long", "VALIDATION_ERROR"},
		{"point", 1, "UNSUPPORTED"}, {"counter + 1", 1, "VALIDATION_ERROR"}, {"*(int *)16", 1, "WRITE_FAILED"},
		{"*(char *)kept", 1, ""}} {
		if got = memory(args{"action": "write", "targets": set(bad.expr, bad.value)}); got[0].Error == "" ||
			!strings.HasPrefix(got[0].Error, bad.code) {
			t.Errorf("write %s = %v: %+v, want %s", bad.expr, bad.value, got[0], bad.code)
		}
	}
	var snaps []map[string]any
	strobetest.Eventually(t, endLimit, "ten snapshots, also of what was written", func() bool {
		snaps = d.events("variable_snapshot")
		return len(snaps) >= 10 && strings.Contains(fmt.Sprint(snaps[len(snaps)-1]), "rate:48000.5")
	})
	first, last := snaps[0]["data"].(map[string]any), snaps[len(snaps)-1]["data"].(map[string]any)
	if first["counter"].(float64) >= last["counter"].(float64) || fmt.Sprint(last["rate"]) != "48000.5" {
		t.Errorf("snapshots %v … %v", first, last)
	}
	memory(args{"action": "write", "targets": set("done", true)})
	if out := d.output(); out != "total 1001 18446744073709551615 48000.5 1 changed -7\n" {
		t.Errorf("output %q", out)
	}
}
