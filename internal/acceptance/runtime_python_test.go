//go:build linux

package acceptance

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

const shop = `import asyncio
class Order:
    def __init__(self, id, items):
        self.id = id
        self.items = items
    def total(self, tax=0.2):
        return sum([price(i) for i in self.items]) * (1 + tax)
def price(item):
    if item == "broken":
        raise ValueError("no price for " + item)
    return len(item)
def gen(n):
    for i in range(n):
        yield i
async def fetch(n):
    await asyncio.sleep(0.01)
    return n * 2
async def both():
    return await asyncio.gather(fetch(1), fetch(2))
def run():
    o = Order(7, ["apple", "pear"])
    print("total", o.total(0.5))
    print(list(gen(2)))
    print(asyncio.run(both()))
    try:
        Order(8, ["broken"]).total()
    except ValueError as e:
        print("error", e)
run()
`

// durations and ids differ from run to run.
var varying = regexp.MustCompile(`  [\d.]+(ns|µs|ms|s)| #\d+`)

// TestPythonTree: calls with arguments and results, exceptions, generators and coroutines below who runs them, output
// between.
func TestPythonTree(t *testing.T) {
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	for _, in := range strobetest.Pythons(t) {
		t.Run(in.Name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "shop.py", shop, 0o644)
			env := map[string]string{"PYTHONUNBUFFERED": ""} // else each argument of print is written on its own
			l := s.Launch(t, in.Path, dir, []string{"shop.py"}, args{"trace": []string{"@usercode"}, "cwd": dir, "env": env})
			defer s.Stop(t, l.SessionID)
			if st := s.WaitEnd(t, l.SessionID, endLimit); st.ExitCode == nil || *st.ExitCode != 0 {
				t.Errorf("ended %+v", st)
			}
			if out := s.Output(t, l.SessionID, "stdout"); out != "total 13.5\n[0, 1]\n[2, 4]\nerror no price for broken\n" {
				t.Errorf("output %q", out)
			}
			tree := varying.ReplaceAllString(s.Query(t, l.SessionID, args{"view": "tree", "unfold": true}).Tree, "")
			want := `shop.run() → null
  shop.Order.__init__(self=Order{}, id=7, items=["apple", "pear"]) → null
  shop.Order.total(self=Order{id: 7, items: ["apple", "pear"]}, tax=0.5) → 13.5
    shop.price(item="apple") → 5
    shop.price(item="pear") → 4
  stdout: "total 13.5\n"
  shop.gen(n=2) → null
    yield: function="shop.gen" value=0
    yield: function="shop.gen" value=1
  stdout: "[0, 1]\n"
  shop.both() → [2, 4]
  shop.fetch(n=1) → 2
  shop.fetch(n=2) → 4
  stdout: "[2, 4]\n"
  shop.Order.__init__(self=Order{}, id=8, items=["broken"]) → null
  shop.Order.total(self=Order{id: 8, items: ["broken"]}, tax=0.2) ✗ ValueError: no price for broken
    shop.price(item="broken") ✗ ValueError: no price for broken
  stdout: "error no price for broken\n"
`
			if !strings.Contains(tree, want) {
				t.Errorf("tree\n%s\nwant\n%s", tree, want)
			}
		})
	}
}

// TestPythonInterleaved: generators that rest when their caller returns leave its own call alone.
func TestPythonInterleaved(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	for _, in := range strobetest.Pythons(t) {
		t.Run(in.Name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "lazy.py", "def g():\n    yield 1\n    yield 2\ndef two():\n    a, b = g(), g()\n    next(a); "+
				"next(b)\n    return 1\nprint(two())\n", 0o644)
			l := s.Launch(t, in.Path, dir, []string{"lazy.py"}, args{"trace": []string{"@usercode"}, "cwd": dir})
			defer s.Stop(t, l.SessionID)
			s.WaitEnd(t, l.SessionID, endLimit)
			tree := varying.ReplaceAllString(s.Query(t, l.SessionID, args{"view": "tree", "unfold": true}).Tree, "")
			if !strings.Contains(tree, "lazy.two() → 1\n") || strings.Contains(tree, "end of") ||
				strings.Contains(tree, "running") ||
				strings.Count(tree, "lazy.g() ✗ closed\n") != 2 {
				t.Errorf("tree\n%s", tree)
			}
		})
	}
}

const callsBack = `import ctypes, sys
lib = ctypes.CDLL(sys.argv[1])
CB = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)
def back(n):
    return n + 1
cb = CB(back)
def call(n):
    return lib.twice(n, cb)
def main():
    t = 0
    for i in range(10000):
        t += call(i)
    print(t)
main()
`

// TestPythonAndC: in one tree, in its order, a function of C that Python calls and that calls back.
func TestPythonAndC(t *testing.T) {
	strobetest.NeedPtrace(t)
	strobetest.NeedCommand(t, "gcc")
	s := strobetest.Start(t, nil)
	dir := t.TempDir()
	write(t, dir, "x.c", "int half(int n){ return n/2; }\nint twice(int n, int (*cb)(int)) { return half(n) + cb(n) "+
		"* 2; }\n", 0o644)
	write(t, dir, "ext.py", callsBack, 0o644)
	if out, err := exec.Command("gcc", "-g", "-O0", "-fPIC", "-shared", "-o", filepath.Join(dir, "libx.so"),
		filepath.Join(dir, "x.c")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, in := range strobetest.Pythons(t) {
		t.Run(in.Name, func(t *testing.T) {
			l := s.Launch(t, in.Path, dir, []string{"ext.py", filepath.Join(dir, "libx.so")},
				args{"trace": []string{"@usercode"}, "cwd": dir})
			defer s.Stop(t, l.SessionID)
			s.WaitEnd(t, l.SessionID, endLimit)
			for _, fn := range []string{"ext.call", "twice", "half", "ext.back"} {
				if n := s.Count(t, l.SessionID, "function_enter", fn); n != 10000 {
					t.Errorf("%d calls of %s", n, fn)
				}
			}
			p := s.Query(t, l.SessionID, args{"view": "tree", "limit": 500})
			tree := varying.ReplaceAllString(p.Tree, "")
			if !strings.HasPrefix(tree, "ext.main() → null\n  ext.call(n=0) → 2\n    twice(n=0, cb=0x") ||
				!strings.Contains(tree, "\n      half(n=0) → 0\n      ext.back(n=0) → 1\n") || strings.Contains(tree, "thread ") {
				t.Errorf("tree\n%s", tree)
			}
			chains(t, s, l.SessionID, "ext.call twice half", "ext.call twice ext.back")
		})
	}
}

// chains checks every call of a session: the last of each chain stands below the one before with the same n, and so on,
// for each n in turn.
func chains(t *testing.T, s *strobetest.Strobe, id string, want ...string) {
	t.Helper()
	type call struct {
		ID        int64  `json:"id"`
		Function  string `json:"function"`
		Parent    int64  `json:"parentEventId"`
		Arguments struct {
			N int `json:"n"`
		} `json:"arguments"`
	}
	byID, ends := map[int64]call{}, map[string]int{}
	for after, more := int64(0), true; more; {
		var page struct {
			Events      []call
			HasMore     bool
			LastEventID int64
		}
		s.Call(t, "debug_query", args{"sessionId": id, "eventType": "function_enter", "verbose": true, "limit": 500,
			"afterEventId": after}, &page)
		for _, c := range page.Events {
			byID[c.ID] = c
			for _, chain := range want {
				names := strings.Fields(chain)
				if c.Function != names[len(names)-1] {
					continue
				}
				if c.Arguments.N != ends[chain] {
					t.Fatalf("call %d of %s has n %d", ends[chain], c.Function, c.Arguments.N)
				}
				ends[chain]++
				for i, above := len(names)-2, c; i >= 0; i-- {
					if above = byID[above.Parent]; above.Function != names[i] || above.Arguments.N != c.Arguments.N {
						t.Fatalf("%s(%d) stands below %s(%d), not %s", c.Function, c.Arguments.N, above.Function, above.Arguments.N,
							names[i])
					}
				}
			}
		}
		after, more = page.LastEventID, page.HasMore && len(page.Events) > 0
	}
	for _, chain := range want {
		if ends[chain] != 10000 {
			t.Errorf("%d of %s", ends[chain], chain)
		}
	}
}

// TestPythonUntouched: the program sees the environment, the path and the modules that it sees without us.
func TestPythonUntouched(t *testing.T) {
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	dir := t.TempDir()
	write(t, dir, "look.py", `import os, sys, json, subprocess
look = lambda: {"env": {k: v for k, v in sorted(os.environ.items()) if "PYTHON" in k or "STROBE" in k}, "path": sys.path, "argv": sys.argv,
  "flags": str(sys.flags), "hook": sys.excepthook is sys.__excepthook__, "profile": [sys.getprofile(), sys.gettrace()],
  "threads": len(os.listdir("/proc/self/task")) if len(sys.argv) > 1 else 0, "fds": len(os.listdir("/proc/self/fd")) if len(sys.argv) > 1 else 0}
print(json.dumps(look()))
if len(sys.argv) < 3:
    subprocess.run([sys.executable, "look.py", "", "child"])
    print(json.dumps(look()))
    raise SystemExit(3)
`, 0o644)
	for _, in := range strobetest.Pythons(t) {
		for _, env := range []map[string]string{nil, {"PYTHONPATH": "/nowhere:/else"}, {"PYTHONDONTWRITEBYTECODE": "1"}} {
			t.Run(in.Name, func(t *testing.T) {
				plain := exec.Command(in.Path, "look.py")
				plain.Dir, plain.Env = dir, append(os.Environ(), "STROBE_HOME="+s.Home)
				for k, v := range env {
					plain.Env = append(plain.Env, k+"="+v)
				}
				want, _ := plain.Output()
				l := s.Launch(t, in.Path, dir, []string{"look.py"}, args{"trace": []string{"@usercode"}, "cwd": dir, "env": env})
				defer s.Stop(t, l.SessionID)
				if st := s.WaitEnd(t, l.SessionID, endLimit); st.ExitCode == nil || *st.ExitCode != 3 {
					t.Errorf("ended %+v", st)
				}
				own := regexp.MustCompile(`"(threads|fds)": \d+`)
				got := own.ReplaceAllString(s.Output(t, l.SessionID, "stdout"), "")
				if want := own.ReplaceAllString(string(want), ""); got != want {
					t.Errorf("sees\n%s\nwithout us\n%s", got, want)
				}
			})
		}
	}
}

// TestInterpretersCrash: an exception that nobody catches is a crash with its cause, the user's place and the values
// there.
func TestInterpretersCrash(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	programs := map[string]string{"node": `function withdraw(have, n) {
  const left = have - n;
  if (left < 0) throw new RangeError('only ' + have, { cause: new Error('limit') });
}
withdraw(7, 30);
`}
	commands := map[string]string{}
	if node, err := exec.LookPath("node"); err == nil {
		commands["node"] = node
	}
	for _, in := range strobetest.Pythons(t) {
		commands[in.Name], programs[in.Name] = in.Path, `def withdraw(have, n):
    left = have - n
    if left < 0: raise ValueError("only %d" % have) from KeyError("limit")
withdraw(7, 30)
`
	}
	for name, command := range commands {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "bank", programs[name], 0o644)
			l := s.Launch(t, command, dir, []string{"bank"}, args{"trace": []string{"@usercode"}, "cwd": dir})
			defer s.Stop(t, l.SessionID)
			if st := s.WaitEnd(t, l.SessionID, endLimit); st.Status != "crashed" || st.ExitCode == nil || *st.ExitCode != 1 {
				t.Errorf("ended %+v", st)
			}
			var page struct {
				Events []struct {
					Class, Function, ExceptionType, ExceptionMessage string
					Line                                             int
					Locals                                           map[string]any
					Causes                                           []struct{ Relation, ExceptionMessage string }
				}
			}
			s.Call(t, "debug_query", args{"sessionId": l.SessionID, "eventType": "crash"}, &page)
			if len(page.Events) != 1 {
				t.Fatalf("crashes %+v", page)
			}
			e := page.Events[0]
			if e.Class != "uncaught-exception" || e.Function != "bank.withdraw" || e.Line != 3 ||
				e.ExceptionMessage != "only 7" ||
				len(e.Causes) != 1 || !strings.Contains(e.Causes[0].ExceptionMessage, "limit") {
				t.Errorf("crash %+v", e)
			}
			if name != "node" && (e.Locals["left"] != -23.0 || e.Locals["n"] != 30.0) {
				t.Errorf("locals %v", e.Locals)
			}
		})
	}
}

// TestDoctorTracesALine: strobe doctor runs a program of a few lines in each interpreter in PATH, and says that its
// call was recorded; and where none is, that.
func TestDoctorTracesALine(t *testing.T) {
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	code, out := strobe(t, s.Home, "", "doctor")
	for _, interpreter := range []string{"python3", "node"} {
		if !regexp.MustCompile(`(?m)^ok +` + interpreter + ` .*a call was launched, traced and read`).MatchString(out) {
			t.Errorf("strobe doctor = %d, says nothing of %s:\n%s", code, interpreter, out)
		}
	}
	silent := t.TempDir()
	write(t, silent, "python3", "#!/bin/sh\nexit 0\n", 0o755)
	t.Setenv("PATH", silent+":"+os.Getenv("PATH"))
	if _, out := strobe(t, s.Home, "", "doctor"); !regexp.MustCompile(`(?m)^warn +python3 .*no call was recorded`).
		MatchString(out) {
		t.Errorf("of an interpreter that runs nothing:\n%s", out)
	}
}
