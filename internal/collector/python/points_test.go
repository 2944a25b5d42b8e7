package python

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/strobe-debug/strobe/internal/agentlink"
	"github.com/strobe-debug/strobe/internal/event"
)

// TestSteps: where each kind of step ends.
func TestSteps(t *testing.T) {
	for _, test := range []struct {
		name, part, point string
		how               []string
		want              []string
		printed           string
	}{
		{"over", "steps", "steps", []string{"over", "over"},
			[]string{"breakpoint main_steps steps", "step main_steps after", "step main_steps print"}, "6"},
		{"a call over several lines is one statement", "steps", "call", []string{"over", "over"},
			[]string{"breakpoint shop call", "step shop back", "step main_steps after"}, "6"},
		{"into", "steps", "shop", []string{"into", "over", "over", "into", "over", "over"},
			[]string{"breakpoint shop shop", "step Order.__init__ init", "step Order.__init__ 13", "step shop first",
				"step Order.total total", "step Order.total each", "step Order.total add"}, "6"},
		{"out", "steps", "total", []string{"out", "out", "out", "out"},
			[]string{"breakpoint Order.total total", "step shop first Order.total=3", "breakpoint Order.total total",
				"step shop argument Order.total=6", "step main_steps steps shop=6"}, "6"},
		{"recursion", "recursion", "deeper", []string{"over", "over"},
			[]string{"breakpoint fact deeper", "breakpoint fact deeper", "breakpoint fact deeper"}, "24"},
		{"out of recursion", "recursion", "one", []string{"out", "over", "over", "out"},
			[]string{"breakpoint fact one", "step fact deeper fact=1", "step fact times", "step fact times",
				"step fact deeper fact=6"}, "24"},
		{"generator", "generator", "yield", []string{"over", "over", "over", "over"},
			[]string{"breakpoint numbers yield", "step numbers numbers", "breakpoint numbers yield", "step numbers numbers",
				"step numbers exhausted"}, "10 [0, 1, 4]"},
		{"out of a generator's caller", "generator", "generator", []string{"over", "into", "over"},
			[]string{"breakpoint main_generator generator", "step main_generator for", "step numbers numbers",
				"step numbers yield"}, "10 [0, 1, 4]"},
		{"comprehension", "generator", "squares", []string{"over"},
			[]string{"breakpoint main_generator squares", "step main_generator gave"}, "10 [0, 1, 4]"},
		{"await", "async", "fetch", []string{"over", "over", "over", "over"},
			[]string{"breakpoint main_async.fetch fetch", "step main_async.fetch sleep", "step main_async.fetch fetched",
				"step main_async.run task", "step main_async.run got"}, "x?!"},
		{"into a coroutine", "async", "await", []string{"into"},
			[]string{"breakpoint main_async.run await", "step main_async.fetch fetch"}, "x?!"},
		{"an exception leaves", "errors", "fails", []string{"over", "over", "over"},
			[]string{"breakpoint fails fails", "step guarded except", "step guarded handler", "step guarded guarded"}, ""},
		{"over what fails", "errors", "try", []string{"over"}, []string{"breakpoint guarded try", "step guarded except"}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			pointVersions(t, func(t *testing.T, interpreter string) {
				d := debug(t, interpreter, test.part, line(test.point))
				p := d.paused()
				got := []string{d.at(p)}
				for _, how := range test.how {
					p = d.step(p, how)
					got = append(got, d.at(p))
				}
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("%s steps (-want +got):\n%s", test.part, diff)
				}
				if err := d.link.Apply(d.context(), d.set(nil)); err != nil {
					t.Fatal(err)
				}
				d.resume(p)
				if test.printed != "" {
					d.end(test.printed)
				}
			})
		})
	}
}

// TestPointsKinds: functions by globs, lines by ends of paths, conditions, hit counts, threads' ids, lines without
// code.
func TestPointsKinds(t *testing.T) {
	pointVersions(t, func(t *testing.T, interpreter string) {
		d := debug(t, interpreter, "steps",
			agentlink.Point{ID: "f", Function: "Order.t*", Condition: "rate == 2"},
			agentlink.Point{ID: "n", File: "testdata/points.py", Line: lineOf("total") - 1, HitCount: 2},
			agentlink.Point{ID: "none", Function: "nothing.**"},
			agentlink.Point{ID: "bad", File: "points.py", Line: 3, Condition: "1 +"})
		p := d.paused()
		if p.Point != "f" || p.Hit != 1 || d.at(p) != "breakpoint Order.total total" || string(p.Arguments["rate"]) != "2" {
			t.Errorf("the first pause is of %s, hit %d, at %s with %s", p.Point, p.Hit, d.at(p), p.Arguments)
		}
		var a struct{ Points []status }
		d.ask("status", nil, &a)
		want := map[string]string{"f": "points.Order.total 1 ", "n": "points.Order.total 1 ",
			"none": " 0 nothing that is loaded has it yet: it takes effect when that comes"}
		for _, s := range a.Points {
			function := ""
			for _, l := range s.Locations {
				function = l.Function
			}
			if got := fmt.Sprintf("%s %d %s", function, s.Hits, s.Why); s.ID != "bad" && got != want[s.ID] {
				t.Errorf("status of %s: %q, want %q", s.ID, got, want[s.ID])
			}
			if s.ID == "bad" && !strings.HasPrefix(s.Error, "its condition is no Python") {
				t.Errorf("status of a bad condition: %q", s.Error)
			}
			if s.ID == "n" && !strings.Contains(s.Note, "has no code") {
				t.Errorf("note of a line without code: %q", s.Note)
			}
		}
		d.resume(p)
		d.end("6")
	})
}

// TestLogpoints: messages stand among the records, a condition that raises is told once, nothing pauses.
func TestLogpoints(t *testing.T) {
	pointVersions(t, func(t *testing.T, interpreter string) {
		d := debug(t, interpreter, "loop",
			agentlink.Point{ID: "l", File: "points.py", Line: lineOf("loop"), Message: "i={i} {{}} {total:03d} {[i, 'x']!r}",
				Condition: "i > 17"},
			agentlink.Point{ID: "e", File: "points.py", Line: lineOf("loop"), Condition: "i / 0"})
		d.end("190")
		d.link.Close()
		var got []string
		for _, e := range d.book.All() {
			if e.Kind == event.Logpoint || e.Kind == event.ConditionError {
				got = append(got, string(e.Payload))
			}
		}
		want := []string{
			`"breakpointId":"e","condition":"i / 0","error":"ZeroDivisionError: division by zero"`,
			`"breakpointId":"l","message":"i=18 {} 153 [18, 'x']"`,
			`"breakpointId":"l","message":"i=19 {} 171 [19, 'x']"`,
		}
		if len(got) != len(want) {
			t.Fatalf("logged %q", got)
		}
		for i := range want {
			if !strings.Contains(got[i], want[i]) || !strings.Contains(got[i], `"function":"points.main_loop"`) {
				t.Errorf("record %d is %s, want %s", i, got[i], want[i])
			}
		}
	})
}

// TestExceptionPoints: all exceptions where they are raised, and those that nobody catches.
func TestExceptionPoints(t *testing.T) {
	pointVersions(t, func(t *testing.T, interpreter string) {
		d := debug(t, interpreter, "errors", agentlink.Point{ID: "all", Function: "@exceptions",
			Condition: "kind is not OSError"},
			agentlink.Point{ID: "un", Function: "@uncaught"})
		for _, want := range []string{"all KeyError: 'bad'", "all ValueError: bad", "un OSError: bad"} {
			p := d.paused()
			if got := p.Point + " " + p.Note; got != want || d.at(p) != "exception fails fails" {
				t.Errorf("a pause is %q at %s, want %q", got, d.at(p), want)
			}
			d.resume(p)
		}
	})
}

// TestLook: scopes, parts, pages, evaluation and assignment, with no code of the user's run for what is shown.
func TestLook(t *testing.T) {
	pointVersions(t, func(t *testing.T, interpreter string) {
		d := debug(t, interpreter, "values", line("inner"))
		p := d.paused()
		top, outer := d.scopes(p, 0), d.scopes(p, 1)
		names := func(ref int) (out []string) {
			for _, v := range d.variables(ref, 0, 0) {
				out = append(out, v.Name+"="+v.Value)
			}
			return out
		}
		if diff := cmp.Diff([]string{"argument=1", "rest=(2,)", "key=3"}, names(top["arguments"])[:3]); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]string{"nested=3", "number=7"}, sorted(names(top["closure"]))); diff != "" {
			t.Error(diff)
		}
		if got := names(top["globals"]); !slices.Contains(got, "level=1") {
			t.Errorf("globals are %v", got)
		}
		found := map[string]variable{}
		for _, v := range d.variables(outer["locals"], 0, 0) {
			found[v.Name] = v
		}
		if v := found["many"]; v.Count != 250 || !v.List || v.Type != "list" {
			t.Errorf("many is %+v", v)
		}
		if page := d.variables(found["many"].Ref, 240, 5); len(page) != 5 || page[0].Name != "240" ||
			page[0].Eval != "many[240]" {
			t.Errorf("a page of many is %+v", page)
		}
		parts := d.variables(found["order"].Ref, 0, 0)
		if len(parts) != 2 || parts[1].Name != "prices" || parts[1].Eval != "order.prices" ||
			found["order"].Value != "Order(name='o', prices=[5])" {
			t.Errorf("order is %+v of %+v", found["order"], parts)
		}
		if keys := d.variables(found["mapping"].Ref, 0, 0); len(keys) != 2 || keys[0].Name != "'one'" ||
			keys[1].Eval != "mapping[2]" {
			t.Errorf("mapping is %+v", keys)
		}
		for text, want := range map[string]string{
			"argument + nested":                   "4",
			"[x + argument for x in range(3)]":    "[1, 2, 3]",
			"(lambda n: n + nested)(1)":           "4",
			"__import__('threading').get_ident()": "",
			"1 / 0":                               "error: ZeroDivisionError: division by zero",
			"argument +":                          "error: SyntaxError: ",
			"secret = 5":                          "None",
		} {
			if got := d.evaluate(top["frame"], text); !strings.HasPrefix(got, want) {
				t.Errorf("%s is %s, want %s", text, got, want)
			}
		}
		for _, a := range []struct {
			ref        int
			name, text string
			want       string
		}{
			{top["arguments"], "argument", "10", "10"},
			{top["closure"], "nested", "100", "100"},
			{top["globals"], "level", "nested + 1", "101"},
			{outer["locals"], "text", "'set'", "'set'"},
			{found["mapping"].Ref, "'one'", "[4]", "[4]"},
			{found["order"].Ref, "name", "'renamed'", "'renamed'"},
			{found["many"].Ref, "249", "0", "0"},
			{top["locals"], "nothing", "1", "error: the frame has no variable nothing"},
			{top["arguments"], "key", "1 / 0", "error: ZeroDivisionError: division by zero"},
		} {
			if got := d.value("assign", a.ref, map[string]any{"name": a.name, "text": a.text}); got != a.want {
				t.Errorf("%s = %s gives %s, want %s", a.name, a.text, got, a.want)
			}
		}
		if got := d.value("assign", outer["frame"],
			map[string]any{"expression": "mapping[2][0]", "text": "33"}); got != "33" {
			t.Errorf("mapping[2][0] = 33 gives %s", got)
		}
		d.resume(p)
		// local = 10 + 100, then nested is 101, and the answer 110 + 101 + 7 + 3.
		d.end("221 set True 250 {'one': [4], 2: [33]} renamed 101 101")
		if err := d.agent.Ask(d.context(), "variables", map[string]any{"ref": top["locals"]}, nil); err == nil {
			t.Error("a ref is good behind the end")
		}
	})
}

func sorted(s []string) []string {
	slices.Sort(s)
	return s
}

// TestPauseBusy: a loop that calls nothing stands, and its condition is set from outside.
func TestPauseBusy(t *testing.T) {
	pointVersions(t, func(t *testing.T, interpreter string) {
		d := debug(t, interpreter, "busy")
		await(t, d.cmd.Args[3])
		var a struct{ Later []struct{ TID int } }
		d.ask("pause", map[string]any{"tid": 0}, &a)
		p := d.paused()
		if p.Reason != "pause" || p.TID != d.cmd.Process.Pid || len(a.Later) != 0 {
			t.Errorf("paused %+v, later %v", p, a)
		}
		for _, f := range p.Frames {
			if strings.Contains(f.File, "/agent/") {
				t.Errorf("a frame of ours is shown: %+v", f)
			}
		}
		ref := d.scopes(p, len(p.Frames)-2)
		if got := d.value("assign", ref["locals"], map[string]any{"name": "go", "text": "False"}); got != "False" {
			t.Errorf("go = False gives %s", got)
		}
		d.resume(p)
		d.end("done")
	})
}

// await waits until a file is there.
func await(t *testing.T, path string) {
	t.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for end := time.Now().Add(pointsWithin); time.Now().Before(end); <-ticker.C {
		if _, err := os.Stat(path); err == nil {
			return
		}
	}
	t.Fatalf("%s does not come", path)
}

// TestThreads: others run on and are paused later, what waits for a lock of a paused thread is given up and goes on.
func TestThreads(t *testing.T) {
	pointVersions(t, func(t *testing.T, interpreter string) {
		d := debug(t, interpreter, "threads", line("held"))
		p := d.paused()
		if p.Name != "works" || p.TID == d.cmd.Process.Pid {
			t.Errorf("paused %s, %d", p.Name, p.TID)
		}
		var a struct {
			Later []struct {
				TID int
				Why string
			}
		}
		d.ask("pause", nil, &a)
		// The main thread may still come from the thread's start, and stand.
		if n := len(a.Later); n == 0 || n > 2 || !strings.Contains(a.Later[n-1].Why, "threading.") {
			t.Errorf("later are %+v", a.Later)
		}
		ref := d.scopes(p, 0)["frame"]
		if got := d.evaluate(ref, "lock.acquire()"); !strings.HasPrefix(got, "error: thread") ||
			!strings.Contains(got, "5 s") {
			t.Errorf("an expression that waits for its own lock gives %q", got)
		}
		if err := d.agent.Ask(d.context(), "step", map[string]any{"tid": 1}, nil); err == nil {
			t.Error("a step of no thread is answered")
		}
		d.link.Close() // all goes on, but for the lock that nobody gives back
	})
}

// TestSignals: a handler runs while its thread stands.
func TestSignals(t *testing.T) {
	pointVersions(t, func(t *testing.T, interpreter string) {
		d := debug(t, interpreter, "signal", line("here"))
		p := d.paused()
		if err := d.cmd.Process.Signal(syscall.SIGUSR1); err != nil {
			t.Fatal(err)
		}
		await(t, d.cmd.Args[3])
		d.resume(p)
		d.end("seen 1 1")
	})
}

// TestForked: a child of a process one thread of which stands goes on, and its points pause it.
func TestForked(t *testing.T) {
	pointVersions(t, func(t *testing.T, interpreter string) {
		d := debug(t, interpreter, "fork", line("stands"), line("child"))
		first, second := d.paused(), d.paused()
		if first.agent == second.agent {
			t.Errorf("both pauses are of process %d", first.agent.PID)
		}
		if got := []string{d.at(first), d.at(second)}; !slices.Contains(got, "breakpoint main_fork.stands stands") ||
			!slices.Contains(got, "breakpoint main_fork.child_work child") {
			t.Errorf("paused at %v", got)
		}
		d.resume(first)
		d.resume(second)
		d.end("0")
	})
}

// TestLinkEnds: what stands goes on when the link is closed.
func TestLinkEnds(t *testing.T) {
	pointVersions(t, func(t *testing.T, interpreter string) {
		d := debug(t, interpreter, "steps", line("first"))
		d.paused()
		d.link.Close()
		d.end("6")
	})
}

// TestOwnTrace: a trace function of the program's own stays.
func TestOwnTrace(t *testing.T) {
	pointVersions(t, func(t *testing.T, interpreter string) {
		d := debug(t, interpreter, "own", agentlink.Point{ID: "never", Function: "nothing"})
		if err := os.WriteFile(d.cmd.Args[len(d.cmd.Args)-1], nil, 0o600); err != nil { // it waits for that
			t.Fatal(err)
		}
		d.end("True True")
	})
}
