package acceptance

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// namesOne and namesTwo are two files of one program whose variables have the same names, as statics do.
const (
	namesOne = `static int level = 1;
namespace a { int depth = 10; struct Made { static int count; }; int Made::count = 100;
int one(int n) { level += 1; return n + level + depth + Made::count; } }
`
	namesTwo = `#include <stdio.h>
static int level = 50;
namespace a { int one(int n); }
namespace b { int depth = 20; struct Made { static int count; int two(int n); }; int Made::count = 200;
int Made::two(int n) {
  level += 1; // two
  return n + level + depth + count;
} }
int main() {
  int t = 0;
  b::Made m;
  for (int i = 0; i < 3; i++)
    t += a::one(i) + m.two(i);
  printf("%d %d\n", t, level); // prints
}
`
)

// TestNamesMeanWhatIsNear reads names that several variables have, where a thread is paused, in conditions and messages
// that the agent and the tracer decide, in watches, and in data breakpoints. The first file's were once meant
// everywhere.
func TestNamesMeanWhatIsNear(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	strobetest.NeedCommand(t, "g++")
	dir := project(t, map[string]string{"one.cpp": namesOne, "two.cpp": namesTwo})
	path := filepath.Join(dir, "names")
	cmd := exec.Command("g++", "-g", "-O0", "one.cpp", "two.cpp", "-o", path)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "LC_ALL=C")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	s := strobetest.Start(t, nil)
	l := s.Launch(t, path, dir, nil, args{"stopOnEntry": true})
	t.Cleanup(func() { s.Stop(t, l.SessionID) })
	d := &debugged{t, s, l.SessionID}
	s.Call(t, "debug_trace", args{"sessionId": d.id, "add": []string{"a::one", "b::Made::two"},
		"watches": args{"add": []args{{"expr": "level", "label": "level"}}}}, nil)
	r := d.points(args{"add": []args{
		{"function": "a::one", "message": "one {level} {depth}"},
		{"function": "b::Made::two", "message": "two {level} {depth} {count} {a::depth}"},
		{"function": "b::Made::two", "message": "{$threadName} {level} {depth} {count}"},
		{"function": "b::Made::two", "condition": "level == 51 && depth == 20 && count == 200"},
	}})
	if !r.Logpoints[0].InTarget || r.Logpoints[2].InTarget {
		t.Errorf("decided in the program %+v, want the first; not the third, which names the thread", r.Logpoints)
	}
	if st := d.next(args{}); len(st.PausedThreads) != 1 || st.PausedThreads[0].Line != lineOf(namesTwo, "// two") {
		t.Fatalf("paused at %+v, want where the condition holds", st)
	}
	read := func(frame int, names ...string) (out []string) {
		for _, n := range names {
			var r struct{ Results []memoryValue }
			s.Call(t, "debug_memory", args{"sessionId": d.id, "frame": frame, "targets": []args{{"variable": n}}}, &r)
			out = append(out, string(r.Results[0].Value)+r.Results[0].Error)
		}
		return out
	}
	if got, want := read(0, "level", "depth", "count", "a::depth", "one.cpp::level"),
		[]string{"51", "20", "200", "10", "3"}; !slices.Equal(got, want) {
		t.Errorf("read %q, want %q", got, want)
	}
	if got, want := read(1, "level", "i"), []string{"51", "1"}; !slices.Equal(got, want) {
		t.Errorf("read in main %q, want %q", got, want)
	}
	d.points(args{"add": []args{{"variable": "level"}}})
	d.next(args{})
	s.WaitEnd(t, d.id, endLimit)
	var got []string
	for _, e := range d.events("logpoint") {
		got = append(got, fmt.Sprint(e["message"]))
	}
	want := []string{"one 1 10", "two 50 20 200 10", "names 50 20 200", "one 2 10", "two 51 20 200 10", "names 51 20 200",
		"one 3 10", "two 52 20 200 10", "names 52 20 200"}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("messages %q, want %q", got, want)
	}
	got = nil
	for _, e := range d.events("variable_write") {
		got = append(got, fmt.Sprintf("%v>%v %v", e["oldValue"], e["newValue"], e["function"]))
	}
	if want := []string{"51>52 b::Made::two", "52>53 b::Made::two"}; !slices.Equal(got, want) {
		t.Errorf("writes %q, want %q", got, want)
	}
	watched := map[string][]string{}
	var page struct{ Events []map[string]any }
	s.Call(t, "debug_query", args{"sessionId": d.id, "eventType": "function_enter", "verbose": true}, &page)
	for _, e := range page.Events {
		name := fmt.Sprint(e["function"])
		watched[name] = append(watched[name], strings.Trim(fmt.Sprint(e["watchValues"]), "map[]"))
	}
	if got, want := fmt.Sprint(watched), "map[a::one:[level:1 level:2 level:3] b::Made::two:[level:50 level:51 "+
		"level:52]]"; got != want {
		t.Errorf("watched %s, want %s", got, want)
	}
}

const shadowedProgram = `#include <cstdio>
#include <stdexcept>
struct Obj { int id; long value; Obj *next; };
int count = 1000;
Obj *head;
__attribute__((noinline)) int shadow(int n) {
  int count = n;
  for (int i = 0; i < 3; i++) count += i; // shadow
  return count;
}
__attribute__((noinline)) int thrower(int n) {
  int c = n;
  c += 1; // thrower
  if (n > 1) throw std::runtime_error("left");
  return c;
}
__attribute__((noinline)) int over(int n) {
  volatile int a[64];
  for (int i = 0; i < 64; i++) a[i] = n + i;
  return a[5];
}
__attribute__((noinline)) void touch(Obj *p, long v) {
  p->value = v; // touch
}
int main() {
  Obj second{2, 20, nullptr}, *first = new Obj{1, 10, &second};
  head = first;
  int s = shadow(5);
  count += 7;
  try { thrower(2); } catch (std::exception &) { s += over(3); }
  touch(first, 11);
  head = first->next;
  s += over(9); // moved
  touch(first, 12);
  touch(head, 21);
  printf("total %d %d\n", s, count);
}
`

// TestDataBreakpointsOfLocals watches a local that hides a global of its name, one whose function is left by an
// exception, and what a pointer leads to, which stays where it is when the pointer changes and its function returns.
func TestDataBreakpointsOfLocals(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	line := func(text string) int { return lineOf(shadowedProgram, text) }
	for _, c := range []struct {
		at, variable string
		more         []args // set where the program is at line "moved"
		want         []string
	}{
		{"// shadow", "count", nil, []string{"5>6 shadow", "6>8 shadow", "ends"}},
		{"// thrower", "c", nil, []string{"2>3 thrower", "ends"}},
		{"// touch", "p->value", []args{{"function": "main", "message": "x"}}, []string{"10>11 touch", "11>12 touch"}},
		{"// touch", "head->value", []args{{"function": "main", "message": "x"}}, []string{"10>11 touch", "11>12 touch"}},
	} {
		d := debug(t, s, "gcc-O0", "shadowed", shadowedProgram, args{"stopOnEntry": true})
		at := d.points(args{"add": []args{{"file": "shadowed.cpp", "line": line(c.at)},
			{"file": "shadowed.cpp", "line": line("// moved")}}})
		d.next(args{})
		d.points(args{"add": []args{{"variable": c.variable}}, "remove": at.Added[:1]})
		if st := d.next(args{}); len(st.PausedThreads) != 1 || st.PausedThreads[0].Line != line("// moved") {
			t.Fatalf("%s: then %+v", c.variable, st)
		}
		d.points(args{"add": c.more})
		d.next(args{})
		s.WaitEnd(t, d.id, endLimit)
		var got []string
		for _, e := range d.events("variable_write") {
			if e["access"] == "none" {
				got = append(got, "ends")
				continue
			}
			got = append(got, fmt.Sprintf("%v>%v %v", e["oldValue"], e["newValue"], e["function"]))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s at %s: writes %q, want %q", c.variable, c.at, got, c.want)
		}
	}
}
