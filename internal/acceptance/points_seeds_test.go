package acceptance

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// The seeds' programs, in the two languages that they are promised for. Each line of input is a round; it ends by
// itself when the counter has come to 999, or with its input.
const seedCPP = `#include <cstdio>
#include <thread>
struct Point { int x, y; double value; };
int g_counter; double g_tempo = 120; int g_sample_rate = 44100;
static Point point{10, 20, 99.9}; Point *g_point_ptr = &point;
namespace audio {
double apply(double v) { return v * 0.5; }
int process(int round, double gain) {
	double out = apply(round * gain); // applies
	int rounded = (int)out; // rounds
	return rounded + round; // result
}
}
static long worker(int id) {
	long sum = 0;
	for (int i = 0; i < 3; i++) sum += audio::process(id + i, 2); // works
	return sum;
}
int main(int argc, char **) {
	char line[16];
	long total = 0, other = 0;
	while (g_counter < 999 && fgets(line, sizeof line, stdin)) {
		g_counter++;
		g_tempo += 1;
		total += audio::process(g_counter, 4); // round
		printf("round %d\n", g_counter); fflush(stdout);
	}
	if (argc > 1) {
		std::thread t([&] { other = worker(100); });
		total += worker(1);
		t.join();
	}
	printf("total %ld %ld\n", total, other);
}
`

const seedRust = `use std::io::{BufRead, Write};
pub struct Point { pub x: i32, pub y: i32, pub value: f64 }
#[no_mangle] pub static mut g_counter: i32 = 0;
#[no_mangle] pub static mut g_tempo: f64 = 120.0;
#[no_mangle] pub static mut g_sample_rate: i32 = 44100;
static POINT: Point = Point { x: 10, y: 20, value: 99.9 };
#[no_mangle] pub static mut g_point_ptr: &Point = &POINT;
pub mod audio {
    #[inline(never)] pub fn apply(v: f64) -> f64 { v * 0.5 }
    #[inline(never)] pub fn process(round: i32, gain: f64) -> i32 {
        let out = apply(round as f64 * gain); // applies
        let mut rounded = [0]; rounded[0] += out as i32; // rounds
        rounded[0] + round // result
    }
}
fn worker(id: i32) -> i64 {
    let mut sum = 0i64;
    for i in 0..3 { sum += audio::process(id + i, 2.0) as i64; } // works
    sum
}
fn main() {
    let (mut total, mut other) = (0i64, 0i64);
    let stdin = std::io::stdin();
    let mut lines = stdin.lock().lines();
    unsafe {
        while std::ptr::read_volatile(std::ptr::addr_of!(g_counter)) < 999 && lines.next().is_some() {
            g_counter += 1;
            g_tempo += 1.0;
            total += audio::process(g_counter, 4.0) as i64; // round
            println!("round {}", std::ptr::read_volatile(std::ptr::addr_of!(g_counter)));
            std::io::stdout().flush().unwrap();
        }
        if g_sample_rate + (*std::ptr::addr_of!(g_point_ptr)).x < 0 { total += 1; }
    }
    if std::env::args().count() > 1 {
        let t = std::thread::spawn(|| worker(100));
        total += worker(1);
        other = t.join().unwrap();
    }
    println!("total {} {}", total, other);
}
`

// seed is one of the two programs.
type seed struct {
	lang, variant, source, file string
	path                        string
}

func seeds(t *testing.T, f func(t *testing.T, p seed)) {
	strobetest.NeedPtrace(t)
	for _, p := range []seed{{lang: "cpp", variant: "gcc-O0", source: seedCPP, file: "seed.cpp"},
		{lang: "rust", variant: "rust-debug", source: seedRust, file: "seed.rs"}} {
		t.Run(p.lang, func(t *testing.T) {
			p.path = strobetest.BuildSource(t, p.lang, p.variant, "seed", p.source)
			f(t, p)
		})
	}
}

func (p *seed) start(t *testing.T, s *strobetest.Strobe, launch args, args ...string) *debugged {
	t.Helper()
	l := s.Launch(t, p.path, filepath.Dir(p.path), args, launch)
	t.Cleanup(func() { s.Stop(t, l.SessionID) })
	return &debugged{t, s, l.SessionID}
}

// fn is a function's full name: Rust's begin with the crate.
func (p *seed) fn(name string) string { return map[string]string{"rust": "seed::"}[p.lang] + name }

func (p *seed) at(text string) args { return args{"file": p.file, "line": lineOf(p.source, text)} }

// round lets the program do one round, and waits for what it writes about it.
func (d *debugged) round(n int) {
	d.t.Helper()
	d.input("go\n")
	strobetest.Eventually(d.t, endLimit, fmt.Sprintf("round %d", n), func() bool {
		return strings.Contains(d.s.Output(d.t, d.id, "stdout"), fmt.Sprintf("round %d\n", n))
	})
}

func (d *debugged) eof() {
	d.t.Helper()
	d.s.Call(d.t, "debug_session", args{"action": "input", "sessionId": d.id, "eof": true}, &struct{}{})
	d.s.WaitEnd(d.t, d.id, endLimit)
}

// values reads globals of a program that runs.
func (d *debugged) values(names ...string) (out []string) {
	d.t.Helper()
	for _, v := range d.memory(args{"targets": named(names...)}) {
		out = append(out, string(v.Value)+string(v.Fields)+v.Error)
	}
	return out
}

// TestSeedsMemory is phase 1e: values of a running program, and polls whose samples stand between the calls that
// changed them.
func TestSeedsMemory(t *testing.T) {
	t.Parallel()
	s := strobetest.Start(t, nil)
	seeds(t, func(t *testing.T, p seed) {
		d := p.start(t, s, args{"stdin": "pipe", "trace": []string{p.fn("audio::process")}})
		d.round(1)
		if got := d.values("g_counter", "g_tempo", "g_sample_rate", "g_point_ptr->x", "g_point_ptr->value"); strings.Join(got,
			" ") != "1 121 44100 10 99.9" {
			t.Errorf("while it waits for input: %q", got)
		}
		if got := d.values("*g_point_ptr"); got[0] != `{"x":10,"y":20,"value":99.9}` {
			t.Errorf("the struct: %q", got)
		}
		s.Call(t, "debug_memory", args{"sessionId": d.id, "targets": named("g_counter"),
			"poll": args{"intervalMs": 50, "durationMs": 10000}}, &struct{}{})
		// at once with the first
		s.Call(t, "debug_memory", args{"sessionId": d.id, "targets": named("g_tempo"),
			"poll": args{"intervalMs": 70, "durationMs": 10000}}, &struct{}{})
		for n := 2; n < 8; n++ {
			d.round(n)
			strobetest.Eventually(t, endLimit, "a sample of the round", func() bool {
				for _, e := range d.events("variable_snapshot") {
					if v, ok := e["data"].(map[string]any)["g_counter"]; ok && v == float64(n) {
						return true
					}
				}
				return false
			})
		}
		strobetest.Eventually(t, endLimit, "five samples of the second poll", func() bool {
			n := 0
			for _, e := range d.events("variable_snapshot") {
				if _, ok := e["data"].(map[string]any)["g_tempo"]; ok {
					n++
				}
			}
			return n >= 5
		})
		var page struct{ Events []map[string]any }
		s.Call(t, "debug_query", args{"sessionId": d.id, "eventType": []string{"variable_snapshot", "function_enter"},
			"limit": 500}, &page)
		calls, tempos := 0, 0
		for _, e := range page.Events {
			if e["eventType"] == "function_enter" {
				calls++
				continue
			}
			data := e["data"].(map[string]any)
			if _, ok := data["g_tempo"]; ok {
				tempos++
			} else if n := int(data["g_counter"].(float64)); n != calls && n != calls+1 { // it is counted before the call
				t.Errorf("a sample of %d after %d calls", n, calls)
			}
		}
		if calls != 7 || tempos < 5 {
			t.Errorf("%d calls and %d samples of the second poll", calls, tempos)
		}
		d.memory(args{"action": "write", "targets": []args{{"variable": "g_counter", "value": 999}}}) // makes the loop end
		d.input("go\n")
		s.WaitEnd(t, d.id, endLimit)
		if out := s.Output(t, d.id, "stdout"); strings.Contains(out, "round 9") || !strings.Contains(out, "total ") {
			t.Errorf("after the write it wrote %q", out)
		}
	})
}

// TestSeedsHunt is phase 2's criterion: from a trace to a breakpoint, a wrong local, a corrected one, a logpoint that
// verifies it.
func TestSeedsHunt(t *testing.T) {
	t.Parallel()
	s := strobetest.Start(t, nil)
	seeds(t, func(t *testing.T, p seed) {
		d := p.start(t, s, args{"stdin": "pipe", "trace": []string{p.fn("audio::process")}})
		d.round(1)
		exits := s.Query(t, d.id, args{"eventType": "function_exit", "verbose": true})
		if len(exits.Events) != 1 || string(exits.Events[0].Return) != "3" {
			t.Fatalf("traced %+v", exits.Events)
		}
		pause := p.at("// result")
		pause["condition"] = "round == 3"
		r := d.points(args{"add": []args{pause}})
		if r.Breakpoints[0].Condition != "round == 3" || r.Breakpoints[0].Line != pause["line"] ||
			!strings.HasPrefix(r.Breakpoints[0].Address, "0x") {
			t.Errorf("the breakpoint: %+v", r.Breakpoints[0])
		}
		d.round(2)
		d.input("go\n")
		th := d.paused(1)[0]
		if th.Line != pause["line"] || fmt.Sprint(th.Locals["rounded"]) != map[string]string{"cpp": "6",
			"rust": "[6]"}[p.lang] || fmt.Sprint(th.Arguments["round"]) != "3" {
			t.Errorf("paused %+v", th)
		}
		// of a binding that is never changed Rust keeps a copy for debuggers alone
		rounded := map[string]string{"cpp": "rounded", "rust": "rounded[0]"}[p.lang]
		got := d.memory(args{"action": "write", "threadId": th.ThreadID,
			"targets": []args{{"variable": rounded, "value": 60}}})[0]
		if string(got.Previous) != "6" || string(got.Value) != "60" {
			t.Errorf("wrote %+v", got)
		}
		log := p.at("// result")
		log["message"] = "round {round} gives {" + rounded + " + round}"
		d.points(args{"add": []args{log}, "remove": r.Added})
		d.next(args{"waitMs": 0})
		d.round(4)
		d.eof()
		exits = s.Query(t, d.id, args{"eventType": "function_exit", "verbose": true})
		if len(exits.Events) != 4 || string(exits.Events[2].Return) != "63" {
			t.Errorf("the third call returned %s of %d", exits.Events[2].Return, len(exits.Events))
		}
		if logs := d.events("logpoint"); len(logs) != 1 || logs[0]["message"] != "round 4 gives 12" {
			t.Errorf("logpoints %v", logs)
		}
		if out := s.Output(t, d.id, "stdout"); !strings.HasSuffix(out, "total 84 0\n") { // 3+6+63+12
			t.Errorf("it wrote %q", out)
		}
	})
}

// TestSeedsBreakpoints: pauses, conditions, hit counts, two threads, two breakpoints in turn, removal, stop.
func TestSeedsBreakpoints(t *testing.T) {
	t.Parallel()
	s := strobetest.Start(t, nil)
	seeds(t, func(t *testing.T, p seed) {
		d := p.start(t, s, args{"stdin": "pipe", "trace": []string{p.fn("audio::process")}})
		hit := p.at("// rounds")
		hit["hitCount"] = 3
		never := p.at("// applies")
		never["condition"] = "round > 1000"
		r := d.points(args{"add": []args{{"function": p.fn("audio::apply")}, hit, never}})
		if len(r.Added) != 3 || r.Breakpoints[0].Function == "" || !strings.HasPrefix(r.Breakpoints[0].Address, "0x") ||
			r.Breakpoints[1].Line != hit["line"] {
			t.Fatalf("breakpoints %+v", r)
		}
		ids := map[string]int{}
		for range 2 { // twice at the function, once in each round
			d.input("go\n")
			ids[d.paused(1)[0].BreakpointID]++
			d.next(args{"waitMs": 0})
			strobetest.Eventually(t, endLimit, "the round",
				func() bool { return len(d.events("pause")) == len(d.events("stdout")) })
		}
		d.input("go\n")
		d.paused(1)
		n := d.next(args{}) // the third round's line
		if len(n.PausedThreads) != 1 || n.PausedThreads[0].Hit != 3 || n.PausedThreads[0].BreakpointID != r.Added[1] ||
			ids[r.Added[0]] != 2 {
			t.Errorf("the third time: %+v, before that %v", n, ids)
		}
		if state := d.points(args{}); state.Breakpoints[0].Hits != 3 || state.Breakpoints[1].Hits != 1 ||
			state.Breakpoints[2].Hits != 0 {
			t.Errorf("counts %+v", state)
		}
		d.points(args{"remove": []string{r.Added[0]}})
		d.next(args{"waitMs": 0})
		d.round(4)
		var status struct{ Breakpoints, Logpoints []string }
		s.Call(t, "debug_session", args{"action": "status", "sessionId": d.id}, &status)
		if len(status.Breakpoints) != 2 {
			t.Errorf("status lists %+v", status)
		}
		d.eof()
		if pauses, calls := len(d.events("pause")), len(d.events("function_enter")); pauses != 4 || calls != 4 {
			t.Errorf("%d pauses and %d calls", pauses, calls)
		}

		two := p.start(t, s, args{"stopOnEntry": true, "trace": []string{p.fn("audio::process")}}, "threads")
		r = two.points(args{"add": []args{{"function": p.fn("audio::process")}, p.at("// rounds")}})
		two.next(args{"waitMs": 0})
		both := two.paused(2)
		if both[0].ThreadID == both[1].ThreadID || !strings.HasSuffix(both[0].Function, "process") {
			t.Errorf("two threads pause: %+v", both)
		}
		// at the next breakpoint, beside the other that waits
		if n := two.next(args{"threadId": both[1].ThreadID}); len(n.PausedThreads) != 2 {
			t.Errorf("one of them goes on: %+v", n)
		}
		two.points(args{"remove": []string{"all"}})
		if n := two.next(args{}); n.Status != "exited" {
			t.Errorf("without breakpoints: %+v", n)
		}
		if out := s.Output(t, two.id, "stdout"); out != "total 12 606\n" {
			t.Errorf("two threads: %q", out)
		}
	})
}

// TestSeedsSteps: each step's place, distinct pauses, the caller of step-out, and what is refused.
func TestSeedsSteps(t *testing.T) {
	t.Parallel()
	s := strobetest.Start(t, nil)
	seeds(t, func(t *testing.T, p seed) {
		d := p.start(t, s, args{"stopOnEntry": true, "stdin": "go\ngo\n"})
		refused(t, s, "debug_continue", args{"sessionId": d.id, "action": "step-sideways"}, "VALIDATION_ERROR")
		d.points(args{"add": []args{p.at("// round\n")}})
		step := func(action, text, function string) {
			t.Helper()
			n := d.next(args{"action": action})
			if len(n.PausedThreads) != 1 {
				t.Fatalf("%s: %+v, want %s", action, n, text)
			}
			if at := n.PausedThreads[0]; at.Line != lineOf(p.source, text) || !strings.HasSuffix(at.Function, function) {
				t.Errorf("%s to %s:%d, want line %d (%s) of %s", action, at.Function, at.Line, lineOf(p.source, text), text,
					function)
			}
		}
		step("continue", "// round\n", "main")
		step("step-into", "// applies", "process")
		step("step-over", "// rounds", "process")
		step("step-over", "// result", "process")
		step("step-out", "// round\n", "main")
		step("step-over", map[string]string{"cpp": "printf(\"round", "rust": "println!(\"round"}[p.lang], "main")
		d.points(args{"remove": []string{"all"}})
		if n := d.next(args{}); n.Status != "exited" {
			t.Errorf("at the end: %+v", n)
		}
		refused(t, s, "debug_continue", args{"sessionId": d.id, "action": "step-over"}, "PROCESS_EXITED")
		if out := s.Output(t, d.id, "stdout"); out != "round 1\nround 2\ntotal 9 0\n" {
			t.Errorf("it wrote %q", out)
		}
		pauses := map[float64]bool{}
		for _, e := range d.events("pause") {
			pauses[e["id"].(float64)] = true
		}
		if len(pauses) != 7 { // entry, the breakpoint, five steps
			t.Errorf("%d pauses on the timeline", len(pauses))
		}
	})
}
