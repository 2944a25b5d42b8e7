package acceptance

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// pausedProgram works in rounds, in two threads when it is asked to, and says at its end what came out.
const pausedProgram = `#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
struct Part { int id; std::string name; };
template <class T> T scaled(T n, int by) {
	T r = n * by; // scaled
	return r;
}
static int step(Part &part, int i)
{
	int sum = 0;
	for (int k = 0; k < 3; k++)
		sum += scaled(k, i) + (int)scaled(0.5 * k, 2); // inner

	return sum + part.id; // last
}
static int divide(int a, int b)
{
	int zero = b - b;
	return a + b + zero; // divided
}
static long rounds(int n, int id)
{
	Part part{id, "part " + std::to_string(id)};
	long total = 0;
	for (int i = 0; i < n; i++) {
		total += step(part, i); // round
		total += divide(i, id);
	}
	return total;
}
int main(int argc, char **argv)
{
	char line[8];
	if (!fgets(line, sizeof line, stdin)) return 1;
	long other = 0;
	std::thread t;
	if (argc > 1) t = std::thread([&] { other = rounds(10, 8); });
	long total = rounds(10, 7);
	if (argc > 1) t.join();
	printf("total %ld %ld\n", total, other);
}
`

type pausedThread struct {
	ThreadID     int
	BreakpointID string
	Reason       string
	Hit          int
	Function     string
	Line         int
	Backtrace    []string
	Arguments    map[string]any
	Locals       map[string]any
	Result       any
	ResultOf     string
	Note         string
}

type standing struct {
	Status        string
	ExitCode      *int
	PausedThreads []pausedThread
	PausesLater   []struct {
		ThreadID int
		Why      string
	}
}

type pointRow struct {
	ID, Function, File, Note, Condition, Address string
	Line, Locations, Hits                        int
	InTarget                                     bool
	DecidedOutside                               string
}

type pointsResult struct {
	Breakpoints, Logpoints []pointRow
	Added                  []string
}

// lineOf is the number of the line of a source that has a text.
func lineOf(source, text string) int {
	return 1 + strings.Count(source[:strings.Index(source, text)], "\n")
}

// debugged is a program under the debugger's tools.
type debugged struct {
	t  *testing.T
	s  *strobetest.Strobe
	id string
}

func debug(t *testing.T, s *strobetest.Strobe, variant, name, source string, launch map[string]any,
	args ...string) *debugged {
	t.Helper()
	path := strobetest.BuildSource(t, "cpp", variant, name, source)
	l := s.Launch(t, path, filepath.Dir(path), args, launch)
	t.Cleanup(func() { s.Stop(t, l.SessionID) })
	return &debugged{t, s, l.SessionID}
}

func (d *debugged) points(args args) (r pointsResult) {
	d.t.Helper()
	args["sessionId"] = d.id
	if err := d.s.Try("debug_breakpoint", args, &r); err != nil {
		d.t.Fatal(err)
	}
	return r
}

func (d *debugged) next(a args) (r standing) {
	d.t.Helper()
	a["sessionId"] = d.id
	if a["waitMs"] == nil {
		a["waitMs"] = 20000
	}
	if err := d.s.Try("debug_continue", a, &r); err != nil {
		d.t.Fatal(err)
	}
	return r
}

func (d *debugged) input(text string) {
	d.t.Helper()
	if err := d.s.Try("debug_session", args{"action": "input", "sessionId": d.id, "text": text}, nil); err != nil {
		d.t.Fatal(err)
	}
}

// paused waits for n paused threads.
func (d *debugged) paused(n int) []pausedThread {
	d.t.Helper()
	var st standing
	strobetest.Eventually(d.t, 20*time.Second, fmt.Sprintf("%d paused threads", n), func() bool {
		st = standing{}
		if err := d.s.Try("debug_session", args{"action": "status", "sessionId": d.id}, &st); err != nil {
			d.t.Fatal(err)
		}
		return len(st.PausedThreads) >= n
	})
	if st.Status != "paused" {
		d.t.Errorf("status %s with paused threads", st.Status)
	}
	return st.PausedThreads
}

// events returns a kind's events.
func (d *debugged) events(kind string) []map[string]any {
	d.t.Helper()
	var page struct{ Events []map[string]any }
	if err := d.s.Try("debug_query", args{"sessionId": d.id, "eventType": kind, "limit": 500}, &page); err != nil {
		d.t.Fatal(err)
	}
	return page.Events
}

// output waits for the program's end and returns what it wrote.
func (d *debugged) output() (text string) {
	d.t.Helper()
	strobetest.Eventually(d.t, 20*time.Second, "the program's last line", func() bool {
		text = ""
		for _, e := range d.events("stdout") {
			text += fmt.Sprint(e["text"])
		}
		return strings.Contains(text, "total")
	})
	return text
}

const (
	oneTotal = "total 350 0\n"
	twoTotal = "total 350 370\n"
)

// TestBreakpoints pauses a program at functions and lines, by conditions and hits, and lets it run to the end that it
// has untraced.
func TestBreakpoints(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	line := func(text string) int { return lineOf(pausedProgram, text) }
	d := debug(t, s, "gcc-O0", "paused", pausedProgram,
		map[string]any{"stdin": "pipe", "trace": []string{"step", "divide"}})
	r := d.points(args{"add": []any{
		args{"function": "divide", "condition": "a == 6 && b == 7"},
		args{"file": "paused.cpp", "line": line("// last"), "hitCount": 3},
		args{"file": "paused.cpp", "line": line("// inner") + 1},
		args{"file": "paused.cpp", "line": line("// round"), "message": "round {i} of {part.name}: {total}"},
		args{"function": "scaled<*>", "condition": "n > 1000"},
		args{"function": "divide", "condition": "a / (b - 7) > 0"},
	}})
	if len(r.Breakpoints) != 5 || len(r.Logpoints) != 1 || r.Breakpoints[1].Line != line("// last") ||
		!strings.Contains(r.Breakpoints[2].Note, "has no code") ||
		r.Breakpoints[3].Locations != 2 {
		t.Fatalf("points: %+v", r)
	}
	d.points(args{"remove": []string{r.Added[2]}})
	d.input("go\n")
	p := d.paused(1)[0]
	if p.BreakpointID != r.Added[1] || p.Function != "step" || p.Hit != 3 || fmt.Sprint(p.Locals["sum"]) != "9" ||
		len(p.Backtrace) < 3 || !strings.HasPrefix(p.Backtrace[2], "#2 main") {
		t.Errorf("paused at %+v, want the third time at the end of step", p)
	}
	n := d.next(args{})
	if n.Status != "paused" || n.PausedThreads[0].Function != "divide" ||
		fmt.Sprint(n.PausedThreads[0].Arguments["a"]) != "6" {
		t.Errorf("then %+v, want divide(6, 7)", n)
	}
	if n = d.next(args{}); n.Status != "exited" || n.ExitCode == nil || *n.ExitCode != 0 {
		t.Errorf("then %+v, want its end", n)
	}
	if out := d.output(); out != oneTotal {
		t.Errorf("output %q, want %q", out, oneTotal)
	}
	logs := d.events("logpoint")
	if len(logs) != 10 || logs[4]["message"] != "round 4 of part 7: 92" {
		t.Errorf("%d log messages, the fifth %v", len(logs), logs[min(4, len(logs)-1)])
	}
	if errs := d.events("condition_error"); len(errs) != 10 || !strings.Contains(fmt.Sprint(errs[0]["error"]), "zero") {
		t.Errorf("%d condition errors: %.300s", len(errs), fmt.Sprint(errs))
	}
	if calls := len(d.events("function_enter")); calls != 20 {
		t.Errorf("%d calls traced beside the breakpoints, want 20", calls)
	}
	if p := d.events("pause"); len(p) != 2 {
		t.Errorf("%d pause events, want 2", len(p))
	}
}

// TestBreakpointsOfThreads pauses two threads independently of each other, and lets go of the program while both are
// paused.
func TestBreakpointsOfThreads(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	d := debug(t, s, "gcc-O0", "paused", pausedProgram, map[string]any{"stopOnEntry": true, "stdin": "go\n"}, "two")
	if p := d.paused(1)[0]; p.Reason != "entry" {
		t.Errorf("paused %+v, want before main", p)
	}
	r := d.points(args{"add": []any{args{"function": "divide"}}})
	d.next(args{})
	both := d.paused(2)
	if both[0].ThreadID == both[1].ThreadID || both[0].Function != "divide" || both[1].Function != "divide" {
		t.Fatalf("paused %+v", both)
	}
	for range 3 {
		n := d.next(args{"threadId": both[0].ThreadID})
		if n.Status != "paused" || len(n.PausedThreads) != 2 {
			t.Errorf("after one went on: %+v", n)
		}
	}
	refused(t, s, "debug_continue", args{"sessionId": d.id, "threadId": 1}, "NOT_PAUSED")
	d.points(args{"remove": r.Added})
	if n := d.next(args{}); n.Status != "exited" {
		t.Errorf("without breakpoints: %+v", n)
	}
	if out := d.output(); out != twoTotal {
		t.Errorf("output %q, want %q", out, twoTotal)
	}
}

// TestBadBreakpoints asks for what cannot be, and finds nothing changed.
func TestBadBreakpoints(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	d := debug(t, s, "gcc-O0", "paused", pausedProgram, map[string]any{"stdin": "pipe"})
	d.points(args{"add": []any{args{"function": "divide"}}})
	for _, tc := range []struct {
		point args
		code  string
		says  string
	}{
		{args{"function": "divid"}, "VALIDATION_ERROR", "divide"},
		{args{"function": "a::::b"}, "INVALID_PATTERN", ""},
		{args{"file": "paused.cpp", "line": 9000}, "NO_CODE_AT_LINE", "last line with code"},
		{args{"file": "nothing.cpp", "line": 1}, "NO_CODE_AT_LINE", "nothing.cpp"},
		{args{"file": "paused.cpp"}, "VALIDATION_ERROR", "belong together"},
		{args{"function": "divide", "line": 3}, "VALIDATION_ERROR", ""},
		{args{"function": "divide", "condition": "a =="}, "VALIDATION_ERROR", "position"},
		{args{"function": "divide", "condition": "c > 1"}, "VALIDATION_ERROR", "c"},
		{args{"function": "divide", "message": "{a"}, "VALIDATION_ERROR", "brace"},
		{args{"address": "0x10"}, "VALIDATION_ERROR", "no function"},
		{args{}, "VALIDATION_ERROR", "exactly one place"},
	} {
		refused(t, s, "debug_breakpoint", args{"sessionId": d.id, "add": []any{args{"function": "step"}, tc.point}}, tc.code,
			tc.says)
	}
	refused(t, s, "debug_breakpoint", args{"sessionId": d.id, "remove": []string{"bp-77"}}, "VALIDATION_ERROR", "bp-77")
	refused(t, s, "debug_continue", args{"sessionId": d.id}, "NOT_PAUSED")
	if r := d.points(args{}); len(r.Breakpoints) != 1 || r.Breakpoints[0].Function != "divide" {
		t.Errorf("after refusals there are %+v", r.Breakpoints)
	}
	many := []any{}
	for range 50 {
		many = append(many, args{"function": "step"})
	}
	refused(t, s, "debug_breakpoint", args{"sessionId": d.id, "add": many}, "VALIDATION_ERROR", "at most 50")
}

const writtenProgram = `#include <cstdio>
#include <thread>
#include <unistd.h>
#include <sys/wait.h>
struct State { int a; double b; char c[4]; };
int counter; State state; long long big;
void bump(int by) { counter += by; } // bump
void other() { state.b = 2.5; counter = 100; } // other
int local_user() {
	int x = 1; // first
	x += 2;
	x *= 3;
	return x;
}
int main() {
	getchar();
	for (int i = 0; i < 3; i++) bump(i + 1);
	std::thread t(other); t.join();
	state.b = 7; // seven
	big = 1LL << 40;
	int r = local_user();
	r += local_user();
	if (!fork()) { bump(1000); _exit(0); }
	wait(nullptr);
	printf("total %d %d\n", counter, r);
}
`

// TestDataBreakpoints asks who changes globals and a local, in every thread and in a child.
func TestDataBreakpoints(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	line := func(text string) int { return lineOf(writtenProgram, text) }
	d := debug(t, s, "gcc-O0", "written", writtenProgram, map[string]any{"stdin": "pipe"})
	r := d.points(args{"add": []any{args{"variable": "counter"}, args{"variable": "state.b"},
		args{"variable": "big", "pause": true}, args{"file": "written.cpp", "line": line("// first")}}})
	refused(t, s, "debug_breakpoint", args{"sessionId": d.id, "add": []any{args{"variable": "state"}}}, "VALIDATION_ERROR",
		"4")
	refused(t, s, "debug_breakpoint", args{"sessionId": d.id, "add": []any{args{"variable": "nothing"}}},
		"VALIDATION_ERROR", "nothing")
	d.input("x\n")
	if p := d.paused(1)[0]; p.BreakpointID != r.Added[2] || p.Reason != "data" || p.Function != "main" ||
		p.Line != line("big = 1LL") && p.Line != line("big = 1LL")+1 {
		t.Errorf("paused %+v, want where big was written", p)
	}
	if n := d.next(args{}); n.Status != "paused" || n.PausedThreads[0].Function != "local_user" {
		t.Fatalf("then %+v", n)
	}
	d.points(args{"add": []any{args{"variable": "x"}}, "remove": r.Added[3:]})
	if n := d.next(args{}); n.Status != "exited" {
		t.Errorf("then %+v, want its end", n)
	}
	if out := d.output(); out != "total 100 18\n" {
		t.Errorf("output %q", out)
	}
	var got []string
	for _, e := range d.events("variable_write") {
		if e["access"] == "none" {
			got = append(got, fmt.Sprintf("%v ends", e["variable"]))
			continue
		}
		got = append(got, fmt.Sprintf("%v %v>%v in %v", e["variable"], e["oldValue"], e["newValue"], e["function"]))
	}
	for i := range got { // what was there before is anything
		if strings.HasPrefix(got[i], "x ") && strings.HasSuffix(got[i], ">1 in local_user") {
			got[i] = "x >1 in local_user"
		}
	}
	want := "counter 0>1 in bump, counter 1>3 in bump, counter 3>6 in bump, state.b 0>2.5 in other, counter 6>100 in " +
		"other, state.b 2.5>7 in main, " +
		"big 0>1.099511627776e+12 in main, x >1 in local_user, x 1>3 in local_user, x 3>9 in local_user, x ends, counter " +
		"100>1100 in bump"
	if text := strings.Join(got, ", "); text != want {
		t.Errorf("writes:\n%s\nwant\n%s", text, want)
	}
}
