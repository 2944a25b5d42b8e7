package acceptance

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

const pluginHost = `#include <cstdio>
#include <dlfcn.h>
static int before(int n) { return n + 1; }
int main(int argc, char **argv) {
	int sum = before(1);
	for (int i = 0; i < 3; i++) {
		void *lib = dlopen(argv[1], RTLD_NOW);
		if (!lib) { puts(dlerror()); return 1; }
		auto work = (int (*)(int))dlsym(lib, "plug_work");
		sum += work(i);
		dlclose(lib);
	}
	printf("sum %d\n", sum);
}
`

const pluginLibrary = `extern "C" int plug_work(int n) {
	int twice = n * 2; // twice
	return twice + 1; // result
}
`

// TestPointsOfLaterLibraries sets breakpoints and logpoints, by function and by line, in a library that is loaded and
// unloaded again.
func TestPointsOfLaterLibraries(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	strobetest.NeedCommand(t, "g++")
	s := strobetest.Start(t, nil)
	dir := t.TempDir()
	lib, source := filepath.Join(dir, "libplugin.so"), filepath.Join(dir, "plugin.cpp")
	if err := os.WriteFile(source, []byte(pluginLibrary), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("g++", "-g", "-O0", "-shared", "-fPIC", "-o", lib, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	path := strobetest.BuildSource(t, "cpp", "gcc-O0", "pluginhost", pluginHost, "-ldl")
	root := filepath.Dir(path)
	for _, staged := range []bool{false, true} {
		add := []args{{"function": "plug_work", "message": "work {n}"},
			{"file": "plugin.cpp", "line": lineOf(pluginLibrary, "// result"), "condition": "n == 1"}, {"function": "before"}}
		d := &debugged{t: t, s: s}
		if staged {
			var r pointsResult
			s.Call(t, "debug_breakpoint", args{"projectRoot": root, "add": append(add, args{"function": "no_such_thing"})}, &r)
			if len(r.Breakpoints) != 3 || len(r.Logpoints) != 1 || len(r.Added) != 4 || r.Added[0] != "lp-1" ||
				r.Added[2] != "bp-3" {
				t.Errorf("staged: %+v", r)
			}
			s.Call(t, "debug_breakpoint", args{"projectRoot": root, "remove": []string{"bp-4"}}, &r)
			if len(r.Breakpoints) != 2 || len(r.Logpoints) != 1 {
				t.Errorf("staged, one removed: %+v", r)
			}
			var l struct {
				SessionID             string
				Breakpoints, Warnings []string
			}
			s.Call(t, "debug_launch", args{"command": path, "args": []string{lib}, "projectRoot": root}, &l)
			if len(l.Breakpoints) != 3 || len(l.Warnings) != 2 || !strings.Contains(l.Warnings[1], "plugin.cpp") {
				t.Errorf("launched with %+v", l)
			}
			d.id = l.SessionID
			d.paused(1)
			// there was one of the entry, at which the client was paused no more
			if p := d.events("pause"); len(p) != 1 || p[0]["reason"] != "breakpoint" {
				t.Errorf("pauses of the staged run: %v", p)
			}
			s.Call(t, "debug_breakpoint", args{"projectRoot": root}, &r)
			if len(r.Breakpoints)+len(r.Logpoints) != 0 {
				t.Errorf("after the launch there are staged %+v", r)
			}
		} else {
			d.id = s.Launch(t, path, root, []string{lib}, args{"stopOnEntry": true}).SessionID
			refused(t, s, "debug_breakpoint", args{"sessionId": d.id, "add": []args{add[1]}}, "NO_CODE_AT_LINE", "pending")
			add[0]["pending"], add[1]["pending"] = true, true
			if r := d.points(args{"add": add}); !strings.Contains(r.Breakpoints[0].Note, "nowhere yet") ||
				r.Breakpoints[0].Line != lineOf(pluginLibrary, "// result") {
				t.Errorf("pending: %+v", r)
			}
			d.next(args{"waitMs": 0})
		}
		paused := func() (st standing) {
			strobetest.Eventually(t, endLimit, "a pause", func() bool {
				s.Call(t, "debug_session", args{"action": "status", "sessionId": d.id}, &st)
				return len(st.PausedThreads) == 1
			})
			return st
		}
		if st := paused(); !strings.Contains(st.PausedThreads[0].Function, "before") {
			t.Errorf("first %+v", st)
		}
		if st := d.next(args{}); len(st.PausedThreads) != 1 ||
			st.PausedThreads[0].Line != lineOf(pluginLibrary, "// result") || st.PausedThreads[0].Locals["twice"] != 2.0 {
			t.Errorf("in the library: %+v", st)
		}
		r := d.points(args{})
		if at := r.Breakpoints[0]; at.Hits != 1 || at.Locations != 1 || !strings.Contains(at.Function, "plug_work") {
			t.Errorf("in the library: %+v", r)
		}
		d.next(args{"waitMs": 0})
		s.WaitEnd(t, d.id, endLimit)
		if logs := d.events("logpoint"); len(logs) != 3 || logs[2]["message"] != "work 2" {
			t.Errorf("logpoints %v", logs)
		}
		if out := s.Output(t, d.id, "stdout"); out != "sum 11\n" {
			t.Errorf("it wrote %q", out)
		}
		s.Stop(t, d.id)
	}
}
