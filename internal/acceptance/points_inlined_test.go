package acceptance

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

const inlinedFirst = `#include <cstdio>
#include <vector>
struct Item { int id; Item *next; };
__attribute__((noinline)) long use(long first, Item *item, const std::vector<int> &list) {
	long size = list.size(); // body: an inlined call begins the function
	asm volatile("" : "+r"(first));
	return size + first + item->id;
}
int main() {
	std::vector<int> list{1, 2, 3};
	long total = 0;
	for (int i = 0; i < 6; i++) {
		Item item{i, nullptr};
		total += use(i, &item, list);
	}
	printf("total %ld\n", total);
}
`

// Names in conditions and messages of a breakpoint at a function that begins with an inlined call were looked for in
// that call.
func TestPointsBeforeInlinedCalls(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	for _, c := range []struct{ variant, condition string }{{"gcc-O2", "first == 4"},
		{"gcc-O2", `first == 4 && $threadName != "x"`}, {"gcc-O0", "first == 4"}} {
		d := debug(t, s, c.variant, "inlinedfirst", inlinedFirst, map[string]any{"stopOnEntry": true})
		r := d.points(args{"add": []any{args{"function": "use", "condition": c.condition},
			args{"function": "use", "message": "{first} {item->id} {list[1]}", "condition": "item->id % 2 == 1"}}})
		for _, row := range slices.Concat(r.Breakpoints, r.Logpoints) {
			if row.Function != "use" || row.Line != lineOf(inlinedFirst, "// body") {
				t.Errorf("%+v: set at %+v", c, row)
			}
		}
		if st := d.next(args{}); len(st.PausedThreads) != 1 || st.PausedThreads[0].Function != "use" ||
			fmt.Sprint(st.PausedThreads[0].Arguments["first"]) != "4" {
			t.Errorf("%+v: %+v, want use with first 4", c, st)
		}
		if st := d.next(args{}); st.Status != "exited" {
			t.Errorf("%+v: then %+v", c, st)
		}
		var got []string
		for _, e := range d.events("logpoint") {
			got = append(got, fmt.Sprint(e["function"], ": ", e["message"]))
		}
		if want := []string{"use: 1 1 2", "use: 3 3 2", "use: 5 5 2"}; !slices.Equal(got, want) {
			t.Errorf("%+v: messages %q, want %q", c, got, want)
		}
		if errs := d.events("condition_error"); len(errs) > 0 {
			t.Errorf("%+v: %v", c, errs)
		}
	}
	path := strobetest.BuildSource(t, "cpp", "gcc-O0", "inlinedfirst", inlinedFirst)
	// where the sources of tests are, too
	l := s.Launch(t, path, filepath.Dir(filepath.Dir(path)), nil, map[string]any{"stopOnEntry": true})
	t.Cleanup(func() { s.Stop(t, l.SessionID) })
	d := &debugged{t, s, l.SessionID}
	refused(t, s, "debug_breakpoint", args{"sessionId": d.id, "add": []any{args{"function": "!use"}}}, "INVALID_PATTERN",
		"takes functions out")
	refused(t, s, "debug_breakpoint", args{"sessionId": d.id,
		"add": []any{args{"function": "use", "message": "here is {nothing}"}}}, "VALIDATION_ERROR",
		"position 9: nothing is not known")
	// use and main; it was of no project
	if r := d.points(args{"add": []any{args{"function": "@usercode", "message": "here"}}}); r.Logpoints[0].Locations != 2 {
		t.Errorf("@usercode: %+v", r)
	}
	d.points(args{"remove": []string{"all"}})
	d.points(args{"add": []any{args{"function": "use", "condition": "item->next->id == 1"}}})
	d.next(args{})
	// said to be an index out of range
	if errs := d.events("condition_error"); len(errs) != 6 || errs[0]["error"] != "a null pointer was followed" {
		t.Errorf("a null pointer in a condition: %v", errs)
	}
}

const twoPauses = `#include <cstdio>
#include <thread>
__attribute__((noinline)) int first(int n) { return n + 1; }
__attribute__((noinline)) int second(int n) { return n + 2; }
int main() {
	int read = 0;
	std::thread reader([&] { char line[8]; if (fgets(line, sizeof line, stdin)) read = second(1); });
	int sum = first(1);
	reader.join();
	printf("total %d\n", sum + read);
}
`

// debug_continue let a thread go on that had paused since the last answer: nobody saw where it stood.
func TestContinueKeepsUnseenPauses(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	d := debug(t, s, "gcc-O0", "twopauses", twoPauses, map[string]any{"stopOnEntry": true, "stdin": "pipe"})
	d.points(args{"add": []any{args{"function": "first"}, args{"function": "second"}}})
	if st := d.next(args{}); len(st.PausedThreads) != 1 || st.PausedThreads[0].Function != "first" {
		t.Fatalf("first %+v", st)
	}
	d.input("go\n")
	strobetest.Eventually(t, endLimit, "the second pause", func() bool {
		list := d.events("pause")
		return len(list) > 0 && list[len(list)-1]["function"] == "second"
	})
	if st := d.next(args{}); len(st.PausedThreads) != 1 || st.PausedThreads[0].Function != "second" {
		t.Errorf("then %+v, want the thread that paused meanwhile", st)
	}
	if st := d.next(args{}); st.Status != "exited" {
		t.Errorf("then %+v, want its end", st)
	}
}
