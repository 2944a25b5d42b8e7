package acceptance

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

const stepOwn = `#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>
static int twice(int a) {
  return a * 2;
}
struct Named {
  std::string name;
  int n;
  Named(std::string s, int k) : name(s), n(k) {}
  int size() const {
    return (int)name.size() + n;
  }
};
template <class T> T more(const T &t) {
  return t + t;
}
int main() {
  std::vector<int> v;
  v.push_back(twice(4));
  std::string s = more(std::string("ab"));
  s += std::to_string(v[0]);
  std::map<std::string, int> m;
  m[s] = twice(v.back());
  Named one(s, 3);
  auto two = std::make_unique<Named>("x", twice(1));
  std::function<int(int)> f = twice;
  v.push_back(f(2));
  v.push_back(std::max(twice(3), one.size()));
  std::sort(v.begin(), v.end(), [](int a, int b) { return a < b; });
  printf("%s %d %d\n", s.c_str(), m[s], two->size() + v[0]);
  return 0;
}
`

const stepOwnRust = `
use std::collections::HashMap;
#[derive(Clone)]
struct Named {
    name: String,
    n: usize,
}
impl Named {
    fn size(&self) -> usize {
        let own = self.name.len();
        own + self.n
    }
}
fn twice(a: usize) -> usize {
    let b = a + a;
    b
}
fn main() {
    let mut v: Vec<usize> = Vec::new();
    v.push(twice(4));
    let one = Named { name: String::from("abc"), n: twice(1) };
    let mut m = HashMap::new();
    m.insert(one.name.clone(), one.size());
    v.push(one.clone().size());
    v.sort();
    println!("{:?} {}", v, m["abc"]);
}
`

// TestStepIntoOwn: a step into functions enters the program's own and not those of the standard library: as gdb's where
// that is told to skip them.
func TestStepIntoOwn(t *testing.T) {
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	t.Setenv("STEP_SKIP", "^std:: ^__gnu_cxx:: ^core:: ^alloc:: ^hashbrown:: ^<.*as.core:: ^<.*as.alloc::")
	for _, c := range []struct{ lang, variant, source, main string }{
		{"cpp", "gcc-O0", stepOwn, "main"},
		{"cpp", "clang-O0", stepOwn, "main"},
		{"rust", "rust-debug", stepOwnRust, "stepown::main"},
	} {
		t.Run(c.variant, func(t *testing.T) {
			path := strobetest.BuildSource(t, c.lang, c.variant, "stepown", c.source)
			want := untilMainEnds(stepNames(gdbSteps(t, path, c.main, []string{"step"}, "")["step"]))
			got := untilMainEnds(stepNames(stepsOf(t, s, path, c.main, "own", nil)))
			if len(want) > 1 && want[0] != got[0] && want[1] == got[0] {
				want = want[1:]
			}
			if d := difference(want, asGDBEnters(want, got)); d != "" {
				t.Error(d)
			}
			for _, name := range []string{"twice", "size"} {
				if !slices.ContainsFunc(got, func(s string) bool { return strings.HasSuffix(s, " "+name) }) {
					t.Errorf("%s was not entered: %q", name, got)
				}
			}
		})
	}
	path := strobetest.BuildSource(t, "cpp", "gcc-O2", "stepown", stepOwn)
	for _, name := range stepNames(stepsOf(t, s, path, "main", "own", nil)) {
		line, n := 0, 0
		if n, _ = fmt.Sscanf(name, "%d", &line); n == 1 && line > strings.Count(stepOwn, "\n") {
			t.Errorf("gcc-O2: a step leads to %q", name)
		}
	}
}

const stepResults = `#include <stdio.h>
#include <string>
#include <vector>
struct Pair { int a; double b; };
struct Large { long n[4]; };
enum Colour { red, green };
static int one(int x) { return x + 1; }
static double half(int x) { return x / 2.0; }
static float third(int x) { return x / 4.0f; }
static long double wide(int x) { return x + 0.5L; }
static bool odd(int x) { return x & 1; }
static Pair pair(int x) { Pair p = {x, x + 0.25}; return p; }
static Large large(long x) { Large l = {{x, x + 1, x + 2, x + 3}}; return l; }
static std::string text(int x) { return "text " + std::to_string(x); }
static std::vector<int> list(int x) { return {x, x + 1}; }
static Colour colour(int x) { return x ? green : red; }
static const char *name(int x) { return x ? "some" : "none"; }
static unsigned long long most(int x) { return ~0ull - x; }
static void nothing(int x) { printf("%d\n", x); }
static int fall(int n) { return n ? n + fall(n - 1) : 0; }
int main() {
  int sum = one(1);
  sum += half(3);
  sum += third(1);
  sum += wide(2);
  sum += odd(3);
  sum += pair(7).a;
  sum += large(5).n[1];
  sum += text(9).size();
  sum += list(4).size();
  sum += colour(1);
  sum += name(1)[0];
  sum += most(1);
  nothing(2);
  sum += fall(3);
  printf("%d\n", sum);
}
`

// TestStepOutResults: a step out of a function says what it returned, also where that is traced and where its caller
// has no source.
func TestStepOutResults(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	want := []string{"one=2", "half=1.5", "third=0.25", "wide=2.5", "odd=true", `pair={"a":7,"b":7.25}`,
		`large={"n":[5,6,7,8]}`, `text="text 9"`, "list=[4,5]",
		`colour="green"`, `name="some"`, "most=18446744073709551614", "=", "fall=6"}
	for _, variant := range []string{"gcc-O0", "clang-O0", "gcc-O2"} {
		for _, trace := range [][]string{nil, {"*"}} {
			source := stepResults
			if variant == "gcc-O2" {
				source = strings.ReplaceAll(source, "\nstatic ", "\n__attribute__((noipa)) ")
			}
			path := strobetest.BuildSource(t, "cpp", variant, "stepresults", source)
			l := s.Launch(t, path, filepath.Dir(path), nil, args{"stopOnEntry": true, "trace": trace})
			d := &debugged{t, s, l.SessionID}
			var names []args
			for _, name := range []string{"one", "half", "third", "wide", "odd", "pair", "large", "text", "list", "colour",
				"name", "most", "nothing"} {
				names = append(names, args{"function": name})
			}
			d.points(args{"add": append(names, args{"function": "fall", "hitCount": 1})})
			var got []string
			for range want {
				var st struct {
					PausedThreads []struct {
						Result             json.RawMessage
						ResultOf, Function string
					}
				}
				s.Call(t, "debug_continue", args{"sessionId": l.SessionID, "waitMs": 20000}, &st)
				s.Call(t, "debug_continue", args{"sessionId": l.SessionID, "action": "step-out", "waitMs": 20000}, &st)
				if len(st.PausedThreads) != 1 || st.PausedThreads[0].Function != "main" {
					t.Fatalf("%s, traced %v: behind %q: %+v", variant, trace, got, st)
				}
				p := st.PausedThreads[0]
				name, _, _ := strings.Cut(p.ResultOf, "[")
				got = append(got, name+"="+string(p.Result))
			}
			want := slices.Clone(want)
			if variant == "clang-O0" { // which does not describe std::string
				want[slices.Index(want, `text="text 9"`)] = `text="<optimized out>"`
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s, traced %v:\n%s\nwant\n%s", variant, trace, got, want)
			}
			s.Stop(t, l.SessionID)
		}
	}
}

// TestEntryPlace: a program that is paused before main says where that is, and what is known of it; each step leads
// into main.
func TestEntryPlace(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	early := "#include <stdexcept>\n#include <cstdio>\nstruct E { E() { try { throw std::runtime_error(\"x\"); } catch " +
		"(...) { puts(\"early\"); } } } e;\n" +
		"int main() {\n  int a = 1;\n  printf(\"%d\\n\", a);\n}\n"
	for _, c := range []struct {
		lang, variant, source, function string
		line, first                     int
		strip                           bool
	}{
		{"cpp", "gcc-O0", early, "main", 4, 5, false},
		{"cpp", "clang-O0", early, "main", 4, 5, false},
		{"c", "gcc-O0-static", "#include <stdio.h>\n\nint main(void) {\n  puts(\"x\");\n  return 0;\n}\n", "main", 3, 4,
			false},
		{"rust", "rust-debug", "mod deeper {\n    pub fn main() { println!(\"no\"); }\n}\n\nfn main() {\n    " +
			"deeper::main();\n}\n", "entryplace::main", 5, 6, false},
		{"rust", "rust-release", "fn main() {\n    println!(\"{}\", std::env::args().count());\n}\n", "entryplace::main", 1,
			2, false},
		{"c", "gcc-O1", "int main(void) { return 0; }\n", "", 0, 0, true},
	} {
		flags := []string{}
		if c.variant == "gcc-O0-static" {
			c.variant, flags = "gcc-O0", []string{"-static"}
		}
		for _, action := range []string{"step-over", "step-into", "step-out"} {
			path := strobetest.BuildSource(t, c.lang, c.variant, "entryplace", c.source, flags...)
			if c.strip {
				bare := filepath.Join(t.TempDir(), "bare")
				if out, err := exec.Command("strip", "-o", bare, path).CombinedOutput(); err != nil {
					t.Fatalf("strip: %v\n%s", err, out)
				}
				path = bare
			}
			l := s.Launch(t, path, filepath.Dir(path), nil, args{"stopOnEntry": true})
			var st struct {
				PausedThreads []struct {
					Reason, Function, File, Note string
					Line                         int
					Backtrace                    []string
				}
			}
			s.Call(t, "debug_session", args{"sessionId": l.SessionID, "action": "status"}, &st)
			if len(st.PausedThreads) != 1 {
				t.Fatalf("%s: %+v", c.variant, st)
			}
			p := st.PausedThreads[0]
			if p.Reason != "entry" || c.function != "" && p.Function != c.function || p.Line != c.line && !c.strip ||
				p.Note == "" || len(p.Backtrace) == 0 {
				t.Errorf("%s: at the entry %+v, want %s:%d", c.variant, p, c.function, c.line)
			}
			err := s.Try("debug_continue", args{"sessionId": l.SessionID, "action": action, "waitMs": 20000}, &st)
			switch {
			case c.strip:
				if err == nil || !strings.Contains(err.Error(), "NO_DEBUG_SYMBOLS") {
					t.Errorf("stripped: %s: %v", action, err)
				}
			case err != nil || len(st.PausedThreads) != 1 || st.PausedThreads[0].Function != c.function ||
				st.PausedThreads[0].Line != c.first:
				t.Errorf("%s: %s from the entry: %v %+v, want line %d", c.variant, action, err, st, c.first)
			}
			s.Stop(t, l.SessionID)
		}
	}
}

// TestStepAllThreads: with allThreads a step that needs another paused thread comes to its end, and the others are
// paused again; without it, it waits.
func TestStepAllThreads(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	source := `#include <pthread.h>
#include <stdio.h>
static volatile int turn;
static void *other(void *a) {
  for (int i = 0; i < 100000000 && turn < 100; i++) {
    if (turn == 1) turn = 2;
    if (turn == 3) turn = 4;
  }
  return a;
}
static void wait_for(int n) {
  turn = n;
  while (turn == n) ;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, other, 0);
  turn = 0; // begins
  wait_for(1); // first
  wait_for(3); // second
  turn = 100; // last
  pthread_join(t, 0);
  puts("done");
  return 0;
}
`
	source = strings.ReplaceAll(strings.ReplaceAll(source, "i < 100000000 && ", ""), "int i = 0; turn", "; turn")
	source = strings.ReplaceAll(source, "turn < 100; i++", "turn < 100;")
	d := stepped(t, s, "stepall", source, args{}, "// begins")
	d.points(args{"remove": []string{"all"},
		"add": []args{{"file": "stepall.cpp", "line": lineOf(source, "// first"), "allThreads": true}}})
	var st standing
	s.Call(t, "debug_continue", args{"sessionId": d.id, "waitMs": 15000}, &st)
	both := func(line string) {
		t.Helper()
		strobetest.Eventually(t, endLimit, "both threads paused", func() bool {
			s.Call(t, "debug_session", args{"action": "status", "sessionId": d.id}, &st)
			return len(st.PausedThreads) == 2
		})
		if !slices.ContainsFunc(st.PausedThreads,
			func(p pausedThread) bool { return p.Function == "main" && p.Line == lineOf(source, line) }) {
			t.Fatalf("%+v, want one at %s", st, line)
		}
	}
	both("// first")
	main := st.PausedThreads[slices.IndexFunc(st.PausedThreads,
		func(p pausedThread) bool { return p.Function == "main" })].ThreadID
	s.Call(t, "debug_continue", args{"sessionId": d.id, "action": "step-over", "threadId": main, "allThreads": true,
		"waitMs": 15000}, &st)
	both("// second")
	s.Call(t, "debug_continue", args{"sessionId": d.id, "action": "step-over", "threadId": main, "waitMs": 300}, &st)
	if len(st.PausedThreads) != 1 {
		t.Fatalf("a step that waits for a paused thread: %+v", st)
	}
	s.Call(t, "debug_continue", args{"sessionId": d.id, "allThreads": true, "waitMs": 15000}, &st)
	s.Call(t, "debug_continue", args{"sessionId": d.id, "allThreads": true, "waitMs": 0}, &struct{}{})
	s.WaitEnd(t, d.id, endLimit)
	if out := s.Output(t, d.id, "stdout"); out != "done\n" {
		t.Errorf("it wrote %q", out)
	}
}
