package acceptance

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// goVersions are those that are traced, but for the machine's own.
var goVersions = []string{"go1.21.13", "go1.22.12", "go1.23.12", "go1.24.13", "go1.25.7"}

// goProgram builds one of testdata/golang. A flag go1.N chooses another version of Go.
func goProgram(t *testing.T, name string, flags ...string) (bin, root string) {
	t.Helper()
	version := "local"
	if len(flags) > 0 && strings.HasPrefix(flags[0], "go1.") {
		strobetest.NeedNetwork(t)
		version, flags = flags[0], flags[1:]
	}
	strobetest.NeedPtrace(t)
	strobetest.NeedCommand(t, "go")
	root, err := filepath.Abs("testdata/golang")
	if err != nil {
		t.Fatal(err)
	}
	bin = filepath.Join(t.TempDir(), name)
	cmd := exec.Command("go", append(append([]string{"build", "-o", bin}, flags...), "./"+name)...)
	cmd.Dir, cmd.Env = root, append(os.Environ(), "GOFLAGS=-mod=mod", "CGO_ENABLED=1",
		"GOTOOLCHAIN="+version)
	if b, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", name, err, b)
	}
	return bin, root
}

// TestGoCalls: a Go program's calls have their arguments and results, its goroutines are lanes, and a panic that is
// recovered from ends the calls that it left.
func TestGoCalls(t *testing.T) {
	t.Parallel()
	bin, root := goProgram(t, "shop")
	s := strobetest.Start(t, nil)
	l := s.Launch(t, bin, root, nil, args{"trace": []string{"@usercode"}})
	if st := s.WaitEnd(t, l.SessionID, endLimit); st.ExitCode == nil || *st.ExitCode != 0 {
		t.Errorf("the program ended with %+v", st)
	}
	want, err := exec.Command(bin).Output()
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Output(t, l.SessionID, "stdout"); got != string(want) {
		t.Errorf("output %q, want %q", got, want)
	}
	var calls struct {
		Events []struct {
			EventType, Function, ThreadName string
			Arguments, ReturnValue          json.RawMessage
			Unwound                         bool
		}
	}
	s.Call(t, "debug_query", args{"sessionId": l.SessionID, "verbose": true, "limit": 500,
		"eventType": []string{"function_enter", "function_exit"}}, &calls)
	seen := map[string]bool{}
	for _, e := range calls.Events {
		if e.EventType == "function_enter" {
			seen[e.Function+" "+string(e.Arguments)] = true
		} else {
			seen[e.Function+" = "+string(e.ReturnValue)] = true
		}
		if e.Function == "main.step" && !strings.HasPrefix(e.ThreadName, "goroutine ") {
			t.Errorf("main.step is in %q, want a goroutine", e.ThreadName)
		}
	}
	for _, want := range []string{
		`main.add {"a":2,"b":3}`, `main.add = 5`,
		`main.(*Cart).Add = [1,null]`, `main.(*Cart).Add = [0,{"type":"*errors.errorString","value":{"s":"no such item"}}]`,
		`main.find {"items":[{"Name":"pen","Price":1.5,"Tags":["a","b"],"next":null}],"name":"pen"}`,
		`main.find = [null,false]`,
		`main.describe {"v":42}`, `main.describe {"v":{"type":"[]int","value":[1,2]}}`,
		`main.describe {"v":{"type":"time.Duration","value":1000000000}}`, `main.describe = "x"`,
		`main.scale {"x":2.5,"k":2,"on":true}`, `main.scale = 5`,
		`main.each {"f":"main.main.func1","xs":[1,2,3]}`, `main.each = 42`, `main.main.func1 = 21`,
		`main.hooked {"h":{"N":1,"Done":null,"On":{"All":[null,"main.double"]}}}`,
		`main.hooked = {"N":2,"Done":null,"On":{"All":[null,"main.double"]}}`,
		`main.risky = {"r":-1,"err":{"type":"*errors.errorString","value":{"s":"recovered: bottom"}}}`,
	} {
		if !seen[want] {
			t.Errorf("%s is not among the calls", want)
		}
	}
	if t.Failed() {
		for k := range seen {
			t.Log(k)
		}
	}
	if n := s.Count(t, l.SessionID, "function_enter", "main.step"); n != 9 {
		t.Errorf("%d calls of main.step, want 9", n)
	}
	tree := s.Query(t, l.SessionID, args{"view": "tree", "limit": 500}).Tree
	if !strings.Contains(tree, "main.deep(n=0) ✗ panic: bottom") || !strings.Contains(tree, `"goroutine 1"`) {
		t.Errorf("the tree is\n%s", tree)
	}
}

// TestGoTorture: stacks that grow, panics, deferred functions that change results, Goexit, goroutines that change
// threads in the midst of calls, a profiler and the garbage collector at work. The program checks itself, and counts
// some of its calls.
func TestGoTorture(t *testing.T) {
	t.Parallel()
	ways := map[string][]string{"plain": nil, "stripped": {"-ldflags=-s -w"}, "pie": {"-buildmode=pie"},
		"unoptimized": {"-gcflags=-N -l"}}
	builds := maps.Clone(ways)
	if strobetest.Soaks(t, "other versions of Go, and -race") {
		ways["race"] = []string{"-race"}
		builds["race"] = ways["race"]
		for _, version := range goVersions {
			for name, flags := range ways {
				builds[version+" "+name] = append([]string{version}, flags...)
			}
		}
	}
	for name, flags := range builds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bin, root := goProgram(t, "torture", flags...)
			s := strobetest.Start(t, nil)
			l := s.Launch(t, bin, root, []string{"4", "300", "2000"}, args{"trace": []string{"main.**"}, "serializationDepth": 2})
			st := s.WaitEnd(t, l.SessionID, endLimit)
			out := s.Output(t, l.SessionID, "stdout")
			m := regexp.MustCompile(`^ok \d+ mix calls (\d+) `).FindStringSubmatch(out)
			if st.ExitCode == nil || *st.ExitCode != 0 || m == nil {
				t.Fatalf("the program ended with %+v, and wrote %q and %q", st, out, s.Output(t, l.SessionID, "stderr"))
			}
			want, _ := strconv.ParseInt(m[1], 10, 64)
			if n := s.Count(t, l.SessionID, "function_enter", "main.mix"); n != want {
				t.Errorf("%d calls of main.mix, the program made %d", n, want)
			}
			if n := s.Count(t, l.SessionID, "function_exit", "main.mix"); n != want {
				t.Errorf("%d calls of main.mix ended, the program made %d", n, want)
			}
			if !strings.HasSuffix(name, "stripped") {
				var p struct {
					Events []struct{ Arguments struct{ A, B, C uint64 } }
				}
				s.Call(t, "debug_query", args{"sessionId": l.SessionID, "eventType": "function_enter", "verbose": true,
					"function": args{"equals": "main.mix"}, "limit": 500}, &p)
				for _, e := range p.Events {
					if g := e.Arguments; g.C != g.A*31^g.B {
						t.Errorf("main.mix%+v is called with no such c", g)
					}
				}
				if len(p.Events) != 500 {
					t.Errorf("%d calls of main.mix are shown, want 500", len(p.Events))
				}
			}
		})
	}
}

// TestGoLive: a function whose goroutines are interrupted anywhere in it is traced and left alone, again and again, while
// they compute. Some of them are parked in the midst of what a patch overwrites. Where very many others wait, patches
// become wide later, when those were found while the program ran.
func TestGoLive(t *testing.T) {
	for _, waiting := range []string{"0", "30000"} {
		t.Run(waiting, func(t *testing.T) {
			t.Parallel()
			goLive(t, waiting)
		})
	}
}

func goLive(t *testing.T, waiting string) {
	bin, root := goProgram(t, "slow")
	s := strobetest.Start(t, nil)
	l := s.Launch(t, bin, root, []string{"8", waiting}, nil)
	wide := false // of a function that is seldom interrupted at its ends
	for range 50 {
		var st struct{ HookedByBreakpoint int }
		s.Call(t, "debug_trace", args{"sessionId": l.SessionID, "add": []string{"main.work"}}, &st)
		s.Call(t, "debug_trace", args{"sessionId": l.SessionID, "remove": []string{"main.work"}}, nil)
		if wide = st.HookedByBreakpoint == 0; wide {
			break
		}
	}
	if !wide {
		t.Errorf("main.work costs a stop at each call: %q", s.Status(t, l.SessionID).Warnings)
	}
	turns := 0
	for ; turns < 400; turns++ {
		var st struct{ Status, Mode string }
		if s.Status(t, l.SessionID).Status != "running" {
			break
		}
		if s.Try("debug_trace", args{"sessionId": l.SessionID, "add": []string{"main.slow"}}, &st) != nil {
			break // it has ended
		}
		if s.Try("debug_trace", args{"sessionId": l.SessionID, "remove": []string{"main.slow"}}, &st) != nil {
			break
		}
	}
	st := s.WaitEnd(t, l.SessionID, endLimit)
	if out := s.Output(t, l.SessionID, "stdout"); st.ExitCode == nil || *st.ExitCode != 0 || out != "ok\n" {
		t.Errorf("after %d turns the program ended with %+v, and wrote %q and %q", turns, st, out,
			s.Output(t, l.SessionID, "stderr"))
	}
	t.Logf("%d turns", turns)
	if n := s.Count(t, l.SessionID, "function_enter", "main.slow"); turns < 10 || n == 0 {
		t.Errorf("%d turns, %d calls", turns, n)
	}
}

// TestGoStacks: reads of nil that run in a stub become the panics that they are, and calls with next to nothing left of
// their goroutine's stack go on.
func TestGoStacks(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"nilread": "2\n-1\n", "sweep": "ok: leaf 200000, ns1 ns2 rec 100000\n"} {
		bin, root := goProgram(t, name)
		s := strobetest.Start(t, nil)
		l := s.Launch(t, bin, root, nil, args{"trace": []string{"main.**"}})
		st := s.WaitEnd(t, l.SessionID, endLimit)
		if out := s.Output(t, l.SessionID, "stdout"); st.ExitCode == nil || *st.ExitCode != 0 || out != want {
			t.Errorf("%s ended with %+v, and wrote %q, want %q", name, st, out, want)
		}
	}
}

// TestGoEverything: every function of a program of the toolchain, those of the runtime too, and it does what it does.
func TestGoEverything(t *testing.T) {
	t.Parallel()
	bin, root := goProgram(t, "shop", "-ldflags=-s -w")
	s := strobetest.Start(t, nil)
	l := s.Launch(t, bin, root, nil, args{"trace": []string{"**"}, "serializationDepth": 1})
	st := s.WaitEnd(t, l.SessionID, endLimit)
	want, err := exec.Command(bin).Output()
	if err != nil {
		t.Fatal(err)
	}
	if out := s.Output(t, l.SessionID, "stdout"); st.ExitCode == nil || *st.ExitCode != 0 || out != string(want) {
		t.Errorf("it ended with %+v, and wrote %q, want %q", st, out, want)
	}
	var l2 struct{ HookedFunctions int }
	s.Call(t, "debug_session", args{"action": "status", "sessionId": l.SessionID}, &l2)
	if l2.HookedFunctions < 1000 {
		t.Errorf("%d functions were traced, want most of the program's", l2.HookedFunctions)
	}
	fmt.Fprintln(t.Output(), l2.HookedFunctions, "functions")
}
