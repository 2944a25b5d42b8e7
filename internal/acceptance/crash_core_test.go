//go:build linux

package acceptance

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// coreOf runs a program to its death and returns the core that the kernel wrote, "" where it wrote none.
func coreOf(t *testing.T, r *crashRun) string {
	t.Helper()
	pattern, err := os.ReadFile("/proc/sys/kernel/core_pattern")
	if err != nil || bytes.ContainsAny(pattern, "|/") {
		strobetest.Lack(t, "the kernel does not write cores into the working directory: core_pattern is %q", pattern)
	}
	dir := t.TempDir()
	cmd := exec.Command("sh", append([]string{"-c", `ulimit -c unlimited && exec "$0" "$@"`, r.path}, r.args...)...)
	cmd.Dir, cmd.Env = dir, os.Environ()
	cmd.Run() //nolint:errcheck // it dies
	found, _ := filepath.Glob(filepath.Join(dir, "core*"))
	if len(found) == 0 {
		return ""
	}
	return found[0]
}

// coreless are ways of the corpus whose core has not what the live process has, and why.
var coreless = map[string]string{"killed": "the signal may be another process's"}

// TestCoresTellTheSame: the crash event of a core is that of the process when it is watched: for each way of the corpus
// to crash.
func TestCoresTellTheSame(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	text, marks := crashSource(t, "faults.c")
	all := strobetest.Soaks(t, "three of four ways in each build")
	for i, variant := range []string{"gcc-O0", "clang-O2"} {
		t.Run(variant, func(t *testing.T) {
			path := strobetest.BuildSource(t, "c", variant, "faults", text, "-fstack-protector-all", "-U_FORTIFY_SOURCE",
				"-D_FORTIFY_SOURCE=2")
			n := 0
			for k, way := range waysOf(text) {
				if !all && k%4 != 2*i {
					continue
				}
				if _, dies := marks[way]; !dies || coreless[way] != "" || slices.Contains(childWays, way) || way == "fortify" &&
					variant == "gcc-O0" {
					continue
				}
				r := crashRun{path: path, args: []string{way}}
				core := coreOf(t, &r)
				if core == "" {
					if handledWays[way] == "" {
						t.Errorf("%s: no core was written", way)
					}
					continue
				}
				n++
				sameAsLive(t, s, &r, way, core, marks[way], variant != "gcc-O0")
			}
			t.Logf("%d cores", n)
		})
	}
}

var madeName = regexp.MustCompile(`strobe-crash-\w+`)

func sameAsLive(t *testing.T, s *strobetest.Strobe, r *crashRun, way, core string, m mark, optimized bool) {
	t.Helper()
	cache, err := strobetest.CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	live := r.under(t, s, false)
	var l strobetest.Launched
	s.Call(t, "debug_launch", args{"command": r.path, "core": core, "projectRoot": cache}, &l)
	defer s.Stop(t, l.SessionID)
	dead := crashesOf(t, s, l.SessionID)
	if len(dead) != 1 || len(live.crashes) != 1 {
		t.Errorf("%s: %d crashes of the core, %d live", way, len(dead), len(live.crashes))
		return
	}
	c, want := &dead[0], &live.crashes[0]
	c.is(t, way, m, optimized)
	reason := func(text string) string { // without what differs from run to run
		return madeName.ReplaceAllString(numbers.ReplaceAllString(text, "#"), "strobe-crash-#")
	}
	if c.Signal != want.Signal || c.Code != want.Code || c.Access != want.Access || c.Fatal != want.Fatal ||
		(c.EndedBy != "") != (want.EndedBy != "") ||
		c.Function != want.Function || c.Recursion != "" != (want.Recursion != "") ||
		reason(c.Reason) != reason(want.Reason) {
		t.Errorf("%s: of the core %.700s\nlive %.700s", way, c.raw, want.raw)
	}
	a, b := lines(c.Backtrace), lines(want.Backtrace)
	if n := comparable[way]; n > 0 {
		a, b = a[:min(n, len(a))], b[:min(n, len(b))]
	}
	if !slices.Equal(a, b) {
		t.Errorf("%s: stack of the core\n%s\nlive\n%s", way, strings.Join(a, "\n"), strings.Join(b, "\n"))
	}
	if len(c.Threads) != len(want.Threads) {
		t.Errorf("%s: %d other threads, live %d", way, len(c.Threads), len(want.Threads))
	}
	if c.PID == 0 || c.ThreadID == 0 {
		t.Errorf("%s: process %d, thread %d", way, c.PID, c.ThreadID)
	}
}

const coreProgram = `
#include <pthread.h>
#include <stdlib.h>
struct item { int id; const char *name; };
struct item stock[2] = {{7, "nuts"}, {9, "bolts"}};
static int sold = 3;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t ready;
static void *sell(void *p) {
	pthread_barrier_wait(&ready);
	pthread_mutex_lock(&lock);
	return p;
}
__attribute__((noinline)) int price(struct item *i, int *of) {
	int twice = i->id * 2;
	return *of + twice;
}
int main(int argc, char **argv) {
	pthread_t t;
	pthread_mutex_lock(&lock);
	pthread_barrier_init(&ready, 0, 2);
	pthread_create(&t, 0, sell, 0);
	pthread_barrier_wait(&ready);
	return price(&stock[argc], 0);
}
`

// memoryOf reads values with debug_memory: by target, its value as JSON, or the error's code.
func memoryOf(t *testing.T, s *strobetest.Strobe, id string, more args, names ...string) map[string]string {
	t.Helper()
	var targets []args
	for _, n := range names {
		targets = append(targets, args{"expression": n})
	}
	in := args{"sessionId": id, "targets": targets}
	for k, v := range more {
		in[k] = v
	}
	var r struct {
		Results []struct {
			Target        string
			Value, Fields json.RawMessage
			Error         string
		}
	}
	s.Call(t, "debug_memory", in, &r)
	out := map[string]string{}
	for _, v := range r.Results {
		code, _, _ := strings.Cut(v.Error, ":")
		out[v.Target] = string(v.Value) + string(v.Fields) + code
	}
	return out
}

// TestCoreSession: a session of a core file is like any that has ended, outlives its daemon, and can be read as long as
// the core is there.
func TestCoreSession(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := strobetest.BuildSource(t, "c", "gcc-O0", "shop", coreProgram)
	core := coreOf(t, &crashRun{path: path})
	if core == "" {
		strobetest.Lack(t, "no core was written")
	}
	s := strobetest.Start(t, nil)
	code, out := strobe(t, s.Home, "", "core", "--project", dir, path, core)
	for _, says := range []string{"SIGSEGV: null pointer: read of address 0x0", "in price at ",
		"#0 price(i={\"id\":9,\"name\":\"bolts\"}, of=null) at shop.c:16", "twice=18", "sell (shop.c:1", "session shop-"} {
		if code != 0 || !strings.Contains(out, says) {
			t.Errorf("strobe core: exit %d, no %q in\n%s", code, says, out)
		}
	}
	_, id, _ := strings.Cut(out, "session ")
	id = strings.TrimSpace(id)
	check := func(when string) {
		t.Helper()
		st := s.Status(t, id)
		if st.Status != "crashed" || st.Signal != "SIGSEGV" || len(st.PIDs) != 0 || st.EventCount["crash"] != 1 {
			t.Errorf("%s: status = %+v", when, st)
		}
		var more struct {
			CrashInfo    struct{ Function string }
			Capabilities struct{ FunctionTracing, RuntimeDetail string }
			Threads      []struct{ State string }
		}
		s.Call(t, "debug_session", args{"action": "status", "sessionId": id}, &more)
		if more.CrashInfo.Function != "price" || more.Capabilities.FunctionTracing != "none" ||
			!strings.Contains(more.Capabilities.RuntimeDetail, "core of shop") {
			t.Errorf("%s: status = %+v", when, more)
		}
		s.Call(t, "debug_session", args{"action": "status", "sessionId": id, "threads": true}, &more)
		if len(more.Threads) != 2 {
			t.Errorf("%s: threads = %+v", when, more.Threads)
		}
		got := memoryOf(t, s, id, nil, "twice", "i->name", "sold", "stock[0]", "stokc", "*of")
		for name, want := range map[string]string{"twice": "18", "i->name": `"bolts"`, "sold": "3",
			"stock[0]": `{"id":7,"name":"nuts"}`, "stokc": "VALIDATION_ERROR", "*of": "READ_FAILED"} {
			if got[name] != want {
				t.Errorf("%s: %s = %s, want %s", when, name, got[name], want)
			}
		}
		if got := memoryOf(t, s, id, args{"frame": 1}, "argc")["argc"]; got != "1" {
			t.Errorf("%s: main's argc = %s", when, got)
		}
	}
	check("at first")
	refused(t, s, "debug_trace", args{"sessionId": id, "add": []string{"price"}}, "UNSUPPORTED", "core file")
	refused(t, s, "debug_memory", args{"sessionId": id, "targets": []args{}}, "VALIDATION_ERROR")
	refused(t, s, "debug_memory", args{"sessionId": id, "targets": []args{{"address": "0x10"}}}, "VALIDATION_ERROR",
		"type or size")
	refused(t, s, "debug_memory", args{"sessionId": id, "frame": 99, "targets": []args{{"variable": "x"}}},
		"VALIDATION_ERROR", "frame 99")
	refused(t, s, "debug_launch", args{"command": path, "core": core, "projectRoot": dir, "trace": []string{"x"}},
		"VALIDATION_ERROR", "not run")
	refused(t, s, "debug_launch", args{"command": path, "core": filepath.Join(dir, "none"), "projectRoot": dir},
		"LAUNCH_FAILED", "does not exist")
	refused(t, s, "debug_launch", args{"command": core, "core": path, "projectRoot": dir}, "VALIDATION_ERROR", "no core")

	s.StopDaemon(t)
	s = strobetest.Connect(t, s.Home)
	check("after the daemon ended")

	if err := os.Remove(core); err != nil {
		t.Fatal(err)
	}
	check("while the core is held open")
	s.StopDaemon(t)
	s = strobetest.Connect(t, s.Home)
	refused(t, s, "debug_memory", args{"sessionId": id, "targets": []args{{"variable": "sold"}}}, "LAUNCH_FAILED",
		"does not exist")
	if st := s.Status(t, id); st.Status != "crashed" || len(crashesOf(t, s, id)) != 1 {
		t.Errorf("without the core: %+v", st)
	}
	s.Call(t, "debug_session", args{"action": "delete", "sessionId": id}, nil)
	refused(t, s, "debug_session", args{"action": "status", "sessionId": id}, "SESSION_NOT_FOUND")
}

const livesProgram = `
#include <stdio.h>
struct point { int x, y; struct point *next; };
struct point far = {5, 6, 0}, near = {1, 2, &far};
static long turns;
__thread int own = 4;
int main(void) {
	int c;
	puts("ready");
	fflush(stdout);
	while ((c = getchar()) != EOF) turns += c == '+';
	return 0;
}
`

// TestMemoryOfARunningProgram: globals are read while it runs, as they are then.
func TestMemoryOfARunningProgram(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	path := strobetest.BuildSource(t, "c", "gcc-O0", "lives", livesProgram)
	l := s.Launch(t, path, filepath.Dir(path), nil, args{"stdin": "pipe"})
	strobetest.Eventually(t, endLimit, "its first line",
		func() bool { return strings.Contains(s.Output(t, l.SessionID, "stdout"), "ready") })
	got := memoryOf(t, s, l.SessionID, nil, "near", "near.next->y + 1", "turns", "own")
	if got["near"] != `{"x":1,"y":2,"next":{"x":5,"y":6,"next":null}}` || got["near.next->y + 1"] != "7" ||
		got["turns"] != "0" || got["own"] != "UNSUPPORTED" {
		t.Errorf("values = %v", got)
	}
	s.Call(t, "debug_session", args{"action": "input", "sessionId": l.SessionID, "text": "+++"}, nil)
	strobetest.Eventually(t, endLimit, "three turns",
		func() bool { return memoryOf(t, s, l.SessionID, nil, "turns")["turns"] == "3" })
	refused(t, s, "debug_memory", args{"sessionId": l.SessionID, "frame": 0, "targets": []args{{"variable": "c"}}},
		"NOT_PAUSED", "no thread")
	s.Call(t, "debug_session", args{"action": "input", "sessionId": l.SessionID, "eof": true}, nil)
	if st := s.WaitEnd(t, l.SessionID, endLimit); st.ExitCode == nil || *st.ExitCode != 0 {
		t.Errorf("end = %+v", st)
	}
	refused(t, s, "debug_memory", args{"sessionId": l.SessionID, "targets": []args{{"variable": "turns"}}},
		"PROCESS_EXITED")
}
