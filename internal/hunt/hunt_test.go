//go:build linux && amd64

package hunt

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/ptrace"
	"github.com/strobe-debug/strobe/internal/strobetest"
)

// built builds a program of testdata.
func built(t *testing.T, file string) *Program {
	t.Helper()
	strobetest.NeedPtrace(t)
	source, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	lang, ext := "c", filepath.Ext(file)
	if ext == ".cc" {
		lang = "cpp"
	}
	path := strobetest.BuildSource(t, lang, "gcc-O1", "hunt-"+strings.TrimSuffix(filepath.Base(file), ext),
		string(source), "-pthread")
	return &Program{Path: path, Dir: t.TempDir(), Env: os.Environ(), Root: filepath.Dir(path)}
}

func hunted(t *testing.T, p *Program, o Options) *Result {
	t.Helper()
	r, err := Hunt(context.Background(), p, o)
	if err != nil {
		t.Fatal(err)
	}
	b, _ := json.Marshal(r)
	t.Logf("%s", b)
	return r
}

// TestFinds: ten programs that fail or hang once in hundreds of runs, each by another kind of race.
func TestFinds(t *testing.T) {
	// Where the race is: one of the holds is there, or right before a call that leads there.
	silent := 0
	for file, functions := range map[string]string{
		"1_lostupdate.c": "get set deposit w", "2_checkact.c": "take has w", "3_aba.cc": "pop", "4_missedsignal.c": "w is_ready",
		"5_dcl.cc": "get load_name", "6_uaf.c": "use u", "7_order.c": "init_self main", "8_atomicity.cc": "Q::front Q::pop Q::empty consume",
		"9_lostwakeup.cc": "Queue::pop", "10_inversion.c": "move_ab move_ba one two",
	} {
		t.Run(file, func(t *testing.T) {
			r := hunted(t, built(t, file), Options{Within: 2 * time.Minute, Runs: 1500, Timeout: time.Second})
			if !r.Found {
				t.Fatal("nothing was found")
			}
			there := func(h Hold) bool {
				return slices.Contains(strings.Fields(functions), h.Function) && h.Line > 0 && h.Instruction != ""
			}
			if !slices.ContainsFunc(r.Plan.Holds, there) {
				t.Errorf("held at %+v, want one of %s", r.Plan.Holds, functions)
			}
			if len(r.Meanwhile) == 0 {
				silent++
				if len(r.Plan.Holds) == 1 { // of several holds no thread may be left to do anything
					t.Error("nothing is told of the others")
				}
			}
		})
	}
	if silent > 1 {
		t.Errorf("of %d programs nothing is told of what the others did", silent)
	}
}

// TestRightProgramsDoNotFail: the same, put right; and one with signals at any moment and children of all kinds.
func TestRightProgramsDoNotFail(t *testing.T) {
	runs := 60
	if strobetest.Soaks(t, "hunts of 1,000 runs") {
		runs = 1000
	}
	for file, ends := range map[string]string{"1_right.c": "exit code 0", "2_right.c": "exit code 0",
		"4_right.c": "exit code 0", "5_right.cc": "exit code 0", "8_right.cc": "exit code 0", "busy.c": "exit code 7"} {
		t.Run(file, func(t *testing.T) {
			r := hunted(t, built(t, file), Options{Within: time.Hour, Runs: runs})
			if r.Found || r.Plain != ends || r.Runs < runs || r.Threads < 2 {
				t.Errorf("found %v, ends with %s, %d runs", r.Found, r.Plain, r.Runs)
			}
		})
	}
}

// TestPlans: what was found is found again by its plan, and not in another program.
func TestPlans(t *testing.T) {
	p := built(t, "6_uaf.c")
	r := hunted(t, p, Options{Within: time.Minute})
	if !r.Found {
		t.Fatal("nothing was found")
	}
	file := filepath.Join(t.TempDir(), "plan.json")
	b, err := json.Marshal(r.Plan)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
	plan, err := ReadPlan(file)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Again(context.Background(), p, plan, Options{})
	if err != nil || !again.Found {
		t.Errorf("again: %+v, %v", again, err)
	}
	if _, err := Again(context.Background(), built(t, "7_order.c"), plan, Options{}); err == nil ||
		!strings.Contains(err.Error(), "built anew") {
		t.Errorf("in another program: %v", err)
	}
	for _, bad := range []string{"", "[]", "{}", `{"program": "x", "holds": []}`} {
		if err := os.WriteFile(file, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadPlan(file); err == nil || !strings.Contains(err.Error(), "is no plan") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestWhatCannotBeHunted says why.
func TestWhatCannotBeHunted(t *testing.T) {
	strobetest.NeedPtrace(t)
	program := func(name, text string, flags ...string) *Program {
		path := strobetest.BuildSource(t, "c", "gcc-O1", name, text, flags...)
		return &Program{Path: path, Dir: t.TempDir(), Env: os.Environ(), Root: filepath.Dir(path)}
	}
	const fine = "int n; int main(int argc, char **argv) { n = argc; return n - 1; }\n"
	const says = "#include <stdio.h>\nint n; int main(void) { puts(\"oh no\"); return n; }\n"
	const slow = "#include <unistd.h>\nint n; int main(void) { usleep(300000); return n; }\n"
	for _, c := range []struct {
		want string
		p    *Program
		o    Options
	}{
		{"no debug information", program("hunt-bare", fine, "-g0"), Options{}},
		{"no debug information", &Program{Path: "/bin/true", Root: "/nowhere"}, Options{}},
		{"is a Go program", &Program{Path: strobetest.Binary(t), Root: "/"}, Options{}},
		{"no such file", &Program{Path: "/nowhere/at/all", Root: "/"}, Options{}},
		{"more than the timeout", program("hunt-slow", slow), Options{Timeout: 50 * time.Millisecond}},
		{"fails in each run", program("hunt-says", says), Options{Fails: regexp.MustCompile("oh n.")}},
	} {
		if r, err := Hunt(context.Background(), c.p, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v, %v, want %s", r, err, c.want)
		}
	}
	// How it always ends is no failure, whatever it is; and one thread has nobody to race with.
	for _, c := range []struct{ name, text, plain string }{
		{"hunt-alone", fine, "exit code 0"},
		{"hunt-three", "int n; int main(void) { n = 3; return n; }\n", "exit code 3"},
		{"hunt-dies", "int n; int main(void) { *(volatile int *)0 = n; return 0; }\n", "killed by SIGSEGV"},
	} {
		r, err := Hunt(context.Background(), program(c.name, c.text), Options{})
		if err != nil || r.Found || r.Plain != c.plain || !strings.Contains(r.Note, "one thread alone comes") {
			t.Errorf("%s: %+v, %v", c.name, r, err)
		}
	}
}

// TestNothingIsLeft: a run that is killed since it hangs takes its children with it, and so does a hunt that is ended.
func TestNothingIsLeft(t *testing.T) {
	p := built(t, "hangs.c")
	mark := filepath.Join(p.Dir, "children")
	p.Args = []string{mark}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_, _, err := run(ctx, p, 0, work{}, time.Hour)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a run that is ended: %v", err)
	}
	e, _, err := run(context.Background(), p, 0, work{}, 500*time.Millisecond)
	if err != nil || !e.Hang {
		t.Errorf("a run that hangs: %+v, %v", e, err)
	}
	b, err := os.ReadFile(mark)
	if err != nil {
		t.Fatal(err)
	}
	children := strings.Fields(string(b))
	if len(children) != 2 {
		t.Errorf("%d children began, want one in each run", len(children))
	}
	for _, child := range children {
		strobetest.Eventually(t, time.Minute, "the child "+child+" to end", func() bool {
			pid, err := strconv.Atoi(child)
			return err == nil && ptrace.Ends(pid)
		})
	}
}

func FuzzJumpSlot(f *testing.F) {
	f.Add([]byte{0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25, 1, 0, 0, 0})
	f.Fuzz(func(_ *testing.T, code []byte) {
		jumpSlot(code, 0x1000)
		sitesOf(nil, 0x1000, code)
	})
}
