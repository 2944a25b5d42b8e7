//go:build linux && amd64

package hunt

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
	path := strobetest.BuildSource(t, lang, "gcc-O1", "hunt-"+strings.TrimSuffix(file, ext), string(source), "-pthread")
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

// TestFinds: eight programs that fail once in hundreds of runs, each by another kind of race.
func TestFinds(t *testing.T) {
	for _, file := range []string{"1_lostupdate.c", "2_checkact.c", "3_aba.cc", "4_missedsignal.c", "5_dcl.cc", "6_uaf.c",
		"7_order.c", "8_atomicity.cc"} {
		t.Run(file, func(t *testing.T) {
			r := hunted(t, built(t, file), Options{Within: 2 * time.Minute, Runs: 1500})
			if !r.Found {
				t.Fatal("nothing was found")
			}
			h := r.Plan.Holds[len(r.Plan.Holds)-1]
			if h.Function == "" || h.Line == 0 || h.Instruction == "" {
				t.Errorf("held at %+v", h)
			}
			if len(r.Meanwhile) == 0 {
				t.Error("nothing is told of the others")
			}
		})
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
	source := func(name, text string, flags ...string) *Program {
		path := strobetest.BuildSource(t, "c", "gcc-O1", name, text, flags...)
		return &Program{Path: path, Dir: t.TempDir(), Env: os.Environ(), Root: filepath.Dir(path)}
	}
	const fine = "int n; int main(int argc, char **argv) { n = argc; return n - 1; }\n"
	for want, p := range map[string]*Program{
		"no debug information":     source("hunt-bare", fine, "-g0"),
		"fails in each run":        source("hunt-fails", "int n; int main(void) { n = 3; return n; }\n"),
		"no function of the":       {Path: "/bin/true", Root: "/nowhere"},
		"Go program":               {Path: strobetest.Binary(t), Root: "/"},
		"no such file":             {Path: "/nowhere/at/all", Root: "/"},
		"more than the timeout":    source("hunt-slow", "#include <unistd.h>\nint n; int main(void) { usleep(300000); return n; }\n"),
		"one thread alone comes":   source("hunt-alone", fine),
		"the program's own signal": source("hunt-dies", "int n; int main(void) { *(volatile int *)0 = n; return 0; }\n"),
	} {
		o := Options{Within: time.Minute}
		if strings.HasSuffix(want, "timeout") {
			o.Timeout = 50 * time.Millisecond
		}
		began := time.Now()
		r, err := Hunt(context.Background(), p, o)
		t.Logf("%s: %v", want, time.Since(began))
		switch {
		case strings.HasPrefix(want, "one thread"):
			if err != nil || r.Found || !strings.Contains(r.Note, want) {
				t.Errorf("%s: %+v, %v", want, r, err)
			}
		case want == "the program's own signal": // nor is one
			if err != nil || r.Plain != "killed by SIGSEGV" {
				t.Errorf("%s: %+v, %v", want, r, err)
			}
		case want == "fails in each run": // an exit code that is always the same is no failure
			if err != nil || r.Plain != "exit code 3" {
				t.Errorf("%s: %+v, %v", want, r, err)
			}
		case want == "no function of the":
			if err == nil {
				t.Errorf("%s: %+v", want, r)
			}
		case err == nil || !strings.Contains(err.Error(), want):
			t.Errorf("%s: %+v, %v", want, r, err)
		}
	}
}

func FuzzJumpSlot(f *testing.F) {
	f.Add([]byte{0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25, 1, 0, 0, 0})
	f.Fuzz(func(_ *testing.T, code []byte) {
		jumpSlot(code, 0x1000)
		sitesOf(nil, 0x1000, code)
	})
}
