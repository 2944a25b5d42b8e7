package acceptance

import (
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// The same loop in three languages: it says what came of it, and how long a round took.
const (
	hotC = `#include <stdio.h>
#include <string.h>
#include <time.h>
struct item { int id; const char *name; double weight; };
static volatile long sink;
__attribute__((noinline, noclone)) long work(struct item *it, long i, long limit)
{
	long twice = i * 2 + it->id;
	sink += twice;
	return twice % 7 + (limit > 0); // hot
}
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1e9 + t.tv_nsec; }
int main(void)
{
	char line[64];
	long n;
	while (fgets(line, sizeof line, stdin) && sscanf(line, "%ld", &n) == 1) {
		struct item it = {3, "three", 1.5};
		long total = 0;
		double from = now();
		for (long i = 0; i < n; i++)
			total += work(&it, i, n);
		printf("total %ld ns %.1f\n", total, (now() - from) / n);
		fflush(stdout);
	}
}
`
	hotRust = `use std::io::BufRead;
struct Item { id: i64, name: String, weight: f64 }
#[inline(never)]
fn work(it: &Item, i: i64, limit: i64) -> i64 {
    let twice = i * 2 + it.id;
    std::hint::black_box(&it.weight);
    std::hint::black_box(&it.name);
    std::hint::black_box(twice) % 7 + (limit > 0) as i64 // hot
}
fn main() {
    for line in std::io::stdin().lock().lines() {
        let n: i64 = match line.unwrap().trim().parse() { Ok(n) => n, Err(_) => break };
        let it = Item { id: 3, name: "three".to_string(), weight: 1.5 };
        let from = std::time::Instant::now();
        let mut total = 0;
        for i in 0..n {
            total += work(&it, i, n);
        }
        println!("total {} ns {:.1}", total, from.elapsed().as_nanos() as f64 / n as f64);
    }
}
`
)

func hotTotal(n int) string {
	total := 0
	for i := range n {
		total += (2*i+3)%7 + 1
	}
	return fmt.Sprintf("total %d ", total)
}

// hot is a program with the loop.
type hot struct {
	debugged
	source string
}

func startHot(t *testing.T, s *strobetest.Strobe, lang, variant string, extra map[string]any) *hot {
	t.Helper()
	source := hotC
	if lang == "rust" {
		source = hotRust
	}
	path := strobetest.BuildSource(t, lang, variant, "hot", source)
	launch := map[string]any{"stdin": "pipe"}
	for k, v := range extra {
		launch[k] = v
	}
	l := s.Launch(t, path, filepath.Dir(path), nil, launch)
	t.Cleanup(func() { s.Stop(t, l.SessionID) })
	return &hot{debugged{t, s, l.SessionID}, source}
}

// file is the program's source, by its base name.
func (h *hot) file(lang string) string {
	return map[string]string{"c": "hot.c", "cpp": "hot.cpp", "rust": "hot.rs"}[lang]
}

// TestConditionsInTarget evaluates a condition 2,000,000 times in the program, and pauses when it holds the one time.
func TestConditionsInTarget(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	const rounds = 2_000_000
	for _, c := range []struct{ lang, variant string }{{"c", "gcc-O0"}, {"c", "gcc-O2"}, {"cpp", "gcc-O2"},
		{"rust", "rust-debug"}, {"rust", "rust-release"}} {
		t.Run(c.lang+"-"+c.variant, func(t *testing.T) {
			s := strobetest.Start(t, nil)
			h := startHot(t, s, c.lang, c.variant, nil)
			at := args{"function": map[string]string{"c": "work", "cpp": "work", "rust": "hot::work"}[c.lang]}
			if strings.HasSuffix(c.variant, "O0") {
				at = args{"file": h.file(c.lang), "line": lineOf(h.source, "// hot")}
			}
			at["condition"] = fmt.Sprintf("i == %d && it->id == 3", rounds/2)
			r := h.points(args{"add": []any{at}})
			if !r.Breakpoints[0].InTarget {
				t.Errorf("decided outside: %+v", r.Breakpoints[0])
			}
			h.input(fmt.Sprintln(rounds))
			p := h.paused(1)[0]
			if p.Hit != 1 || fmt.Sprint(p.Arguments["i"]) != fmt.Sprint(float64(rounds/2)) || p.Function != "work" &&
				!strings.HasSuffix(p.Function, "::work") {
				t.Errorf("paused at %+v", p)
			}
			h.next(args{"waitMs": 0})
			if out := h.output(); !strings.HasPrefix(out, hotTotal(rounds)) {
				t.Errorf("output %q, want %q", out, hotTotal(rounds))
			} else {
				t.Log(out)
			}
			never := maps.Clone(at)
			never["condition"] = "i < 0"
			h.points(args{"remove": r.Added, "add": []any{never}})
			h.input(fmt.Sprintln(rounds))
			strobetest.Eventually(t, 20*time.Second, "the second round", func() bool { return len(h.events("stdout")) > 1 })
			t.Log(h.events("stdout")[1]["text"])
			if r := h.points(args{}); r.Breakpoints[0].Hits != 0 {
				t.Errorf("hits: %+v", r.Breakpoints[0])
			}
		})
	}
}

// TestLogpointsInTarget has every round's values in a message, none missing and none twice.
func TestLogpointsInTarget(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	const rounds = 300
	for _, c := range []struct{ lang, variant, function, message, want string }{
		{"c", "gcc-O0", "work", `{i} {it->name} {it->weight * 2} {*it}`, `%d three 3 {id: 3, name: "three", weight: 1.5}`},
		{"c", "gcc-O2", "work", `{i} {it->id} {$rdi == it}`, `%d 3 true`},
		{"rust", "rust-debug", "hot::work", `{i} {it.name} {it.weight}`, `%d three 1.5`},
	} {
		t.Run(c.lang+"-"+c.variant, func(t *testing.T) {
			s := strobetest.Start(t, nil)
			h := startHot(t, s, c.lang, c.variant, map[string]any{"onFullBuffer": "block"})
			r := h.points(args{"add": []any{args{"function": c.function, "message": c.message},
				args{"function": c.function, "message": "odd {i}", "condition": "i % 2 == 1"}}})
			for _, row := range r.Logpoints {
				if !row.InTarget {
					t.Errorf("decided outside: %+v", row)
				}
			}
			h.input(fmt.Sprintln(rounds))
			if out := h.output(); !strings.HasPrefix(out, hotTotal(rounds)) {
				t.Errorf("output %q", out)
			}
			var all, odd []string
			for _, e := range h.all("logpoint") {
				if text := fmt.Sprint(e["message"]); e["breakpointId"] == r.Added[0] {
					all = append(all, text)
				} else {
					odd = append(odd, text)
				}
			}
			if len(all) != rounds || len(odd) != rounds/2 {
				t.Fatalf("%d and %d messages, want %d and %d", len(all), len(odd), rounds, rounds/2)
			}
			for i := range all {
				if want := fmt.Sprintf(c.want, i); all[i] != want {
					t.Fatalf("message %d is %q, want %q", i, all[i], want)
				}
			}
			if odd[7] != "odd 15" {
				t.Errorf("the eighth odd one is %q", odd[7])
			}
			if r := h.points(args{}); r.Logpoints[0].Hits != rounds || r.Logpoints[1].Hits != rounds/2 {
				t.Errorf("hits: %+v", r.Logpoints)
			}
		})
	}
}

// manyHot runs the loop in sixteen threads.
const manyHot = `#include <pthread.h>
#include <stdio.h>
static _Atomic long sum;
__attribute__((noinline, noclone)) long work(long i, long who)
{
	long v = i * 3 + who;
	if (v % 1000 == 0) sum += 1; // rare
	return v & 7;
}
static long rounds;
static void *run(void *p)
{
	long mine = 0, who = (long)p;
	for (long i = 0; i < rounds; i++) mine += work(i, who);
	sum += mine;
	return 0;
}
int main(void)
{
	char line[64];
	while (fgets(line, sizeof line, stdin) && sscanf(line, "%ld", &rounds) == 1) {
		pthread_t t[16];
		for (long k = 0; k < 16; k++) pthread_create(&t[k], 0, run, (void *)k);
		for (long k = 0; k < 16; k++) pthread_join(t[k], 0);
		printf("total %ld\n", sum);
		fflush(stdout);
	}
}
`

func manyTotal(rounds int) string {
	sum := 0
	for who := range 16 {
		for i := range rounds {
			v := i*3 + who
			if v%1000 == 0 {
				sum++
			}
			sum += v & 7
		}
	}
	return fmt.Sprintf("total %d\n", sum)
}

// TestPointsOfManyThreads counts exactly with sixteen threads in one place, while points at that place and next to it
// come and go.
func TestPointsOfManyThreads(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	const rounds, toggles = 2_000_000, 200
	for _, variant := range []string{"gcc-O0", "gcc-O2"} {
		t.Run(variant, func(t *testing.T) {
			s := strobetest.Start(t, nil)
			path := strobetest.BuildSource(t, "c", variant, "many", manyHot)
			l := s.Launch(t, path, filepath.Dir(path), nil, map[string]any{"stdin": "pipe", "onFullBuffer": "block"})
			d := &debugged{t, s, l.SessionID}
			t.Cleanup(func() { s.Stop(t, l.SessionID) })
			first := d.points(args{"add": []any{args{"function": "work", "message": "{who} {i}", "condition": "i % 50000 == 7"},
				args{"function": "work", "condition": "i == 77 && who == 99"}}})
			d.input(fmt.Sprintln(rounds))
			for range toggles {
				r := d.points(args{"add": []any{args{"function": "work", "condition": "who > 20"},
					args{"file": "many.c", "line": lineOf(manyHot, "// rare"), "condition": "v < -5"}}})
				d.points(args{"remove": r.Added})
			}
			if out := d.output(); out != manyTotal(rounds) {
				t.Errorf("output %q, want %q", out, manyTotal(rounds))
			}
			seen := map[string]int{}
			for _, e := range d.all("logpoint") {
				seen[fmt.Sprint(e["message"])]++
			}
			const want = 16 * rounds / 50000
			if len(seen) != want {
				t.Errorf("%d different messages, want %d", len(seen), want)
			}
			for text, n := range seen {
				if n != 1 {
					t.Errorf("%q %d times", text, n)
				}
			}
			r := d.points(args{})
			if r.Logpoints[0].Hits != want || r.Breakpoints[0].Hits != 0 || !r.Logpoints[0].InTarget {
				t.Errorf("after all: %+v", r)
			}
			d.points(args{"remove": first.Added})
			if p := d.events("pause"); len(p) != 0 {
				t.Errorf("%d pauses", len(p))
			}
		})
	}
}

// TestTracedAndPointed has hooks and points in the same bytes, and lets each come and go under the other.
func TestTracedAndPointed(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	for _, variant := range []string{"gcc-O0", "gcc-O2", "gcc-O2-cet"} {
		t.Run(variant, func(t *testing.T) {
			s := strobetest.Start(t, nil)
			h := startHot(t, s, "c", variant, map[string]any{"onFullBuffer": "block"})
			entry := h.address("work")
			logs, calls, outs := 0, 0, 0
			run := func(traced, pointed bool) {
				t.Helper()
				h.input("20\n")
				outs++
				strobetest.Eventually(t, 20*time.Second, "a round", func() bool { return len(h.events("stdout")) >= outs })
				if traced {
					calls += 20
				}
				if pointed {
					logs += 60
				}
				if n := len(h.all("function_enter")); n != calls {
					t.Errorf("%d calls, want %d", n, calls)
				}
				if n := len(h.all("logpoint")); n != logs {
					t.Errorf("%d messages, want %d", n, logs)
				}
			}
			trace := func(how string) {
				t.Helper()
				if err := s.Try("debug_trace", args{"sessionId": h.id, how: []string{"work"}}, nil); err != nil {
					t.Fatal(err)
				}
			}
			points := []any{args{"function": "work", "message": "{i}"},
				args{"address": fmt.Sprintf("%#x", entry), "message": "at {$rsi}"},
				args{"function": "work", "message": "{$rsp > 0}"}}
			r := h.points(args{"add": points})
			run(false, true)
			trace("add")
			run(true, true)
			h.points(args{"remove": r.Added})
			run(true, false)
			r = h.points(args{"add": points})
			run(true, true)
			trace("remove")
			run(false, true)
			h.points(args{"remove": r.Added})
			run(false, false)
			for _, e := range h.events("stdout") {
				if text := fmt.Sprint(e["text"]); !strings.HasPrefix(text, hotTotal(20)) {
					t.Errorf("output %q", text)
				}
			}
		})
	}
}

// TestPausedUnderHooks pauses a thread in the first bytes of a function, traces the function then, and lets the thread
// go on.
func TestPausedUnderHooks(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	for _, condition := range []string{"i == 5", "i == 5 && it->weight < 2.0"} { // decided by the agent, and by the tracer
		for _, variant := range []string{"gcc-O0", "gcc-O2"} {
			t.Run(variant+condition, func(t *testing.T) {
				s := strobetest.Start(t, nil)
				h := startHot(t, s, "c", variant, nil)
				if variant == "gcc-O2" && strings.Contains(condition, "weight") {
					condition = "i * 1.0 == 5.0"
				}
				r := h.points(args{"add": []any{args{"function": "work", "condition": condition}}})
				if strings.Contains(condition, ".0") == r.Breakpoints[0].InTarget {
					t.Errorf("%+v", r.Breakpoints[0])
				}
				h.input("20\n")
				h.paused(1)
				for _, how := range []string{"add", "remove", "add"} {
					if err := s.Try("debug_trace", args{"sessionId": h.id, how: []string{"work"}}, nil); err != nil {
						t.Fatal(err)
					}
				}
				h.next(args{"waitMs": 0})
				if out := h.output(); !strings.HasPrefix(out, hotTotal(20)) {
					t.Errorf("output %q", out)
				}
				if n := len(h.all("function_enter")); n != 14 {
					t.Errorf("%d calls behind the pause, want 14", n)
				}
				if n := len(h.all("pause")); n != 1 {
					t.Errorf("%d pauses, want 1", n)
				}
			})
		}
	}
}

// TestPointsOfChildren has the points of a program in its forked children, and in a library that it loads later.
func TestPointsOfChildren(t *testing.T) {
	strobetest.NeedPtrace(t)
	const source = `#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline, noclone)) long work(long i) { return i * 3; }
int main(void)
{
	long total = 0;
	char line[8];
	if (!fgets(line, sizeof line, stdin)) return 1;
	for (int k = 0; k < 3; k++) {
		if (fork() == 0) {
			for (long i = 0; i < 100; i++) total += work(i + k);
			_exit(total % 100);
		}
	}
	int status, sum = 0;
	while (wait(&status) > 0) sum += WEXITSTATUS(status);
	for (long i = 0; i < 100; i++) total += work(i);
	printf("total %ld %d\n", total, sum);
}
`
	s := strobetest.Start(t, nil)
	path := strobetest.BuildSource(t, "c", "gcc-O2", "children", source)
	l := s.Launch(t, path, filepath.Dir(path), nil, map[string]any{"stdin": "pipe"})
	t.Cleanup(func() { s.Stop(t, l.SessionID) })
	d := &debugged{t, s, l.SessionID}
	d.points(args{"add": []any{args{"function": "work", "message": "{$pid} {i}", "condition": "i % 10 == 3"}}})
	d.input("go\n")
	if out := d.output(); out != "total 14850 150\n" {
		t.Errorf("output %q", out)
	}
	pids := map[string]int{}
	for _, e := range d.all("logpoint") {
		pid, _, _ := strings.Cut(fmt.Sprint(e["message"]), " ")
		pids[pid]++
	}
	if len(pids) != 4 {
		t.Errorf("messages by process: %v", pids)
	}
	for pid, n := range pids {
		if n != 10 {
			t.Errorf("%d messages of %s, want 10", n, pid)
		}
	}
	if r := d.points(args{}); r.Logpoints[0].Hits != 40 {
		t.Errorf("hits %d, want 40", r.Logpoints[0].Hits)
	}
}

// address is where a function of the program begins.
func (h *hot) address(function string) uint64 {
	h.t.Helper()
	r := h.points(args{"add": []any{args{"function": function, "condition": "1 == 2"}}})
	h.points(args{"remove": r.Added})
	var at uint64
	if _, err := fmt.Sscanf(r.Breakpoints[0].Address, "0x%x", &at); err != nil {
		h.t.Fatal(err)
	}
	return at
}

// all returns every event of a kind, page by page.
func (d *debugged) all(kind string) (events []map[string]any) {
	d.t.Helper()
	after := 0.0
	for {
		var page struct {
			Events  []map[string]any
			HasMore bool
		}
		if err := d.s.Try("debug_query", args{"sessionId": d.id, "eventType": kind, "limit": 500, "afterEventId": after},
			&page); err != nil {
			d.t.Fatal(err)
		}
		events = append(events, page.Events...)
		if !page.HasMore || len(page.Events) == 0 {
			return events
		}
		after = page.Events[len(page.Events)-1]["id"].(float64)
	}
}
