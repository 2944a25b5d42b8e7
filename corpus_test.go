package strobe_test

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// blockSettings keep every event, so that counts can be compared.
var blockSettings = map[string]any{"events.maxPerSession": 10_000_000}

// TestNeverHurt runs every target twice, by itself and with every function of its source traced,
// and compares what it printed and how it ended. It also wants enters and exits balanced and
// nothing lost.
func TestNeverHurt(t *testing.T) {
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, blockSettings)
	for _, target := range strobetest.Targets {
		for _, variant := range target.SomeVariants(t) {
			t.Run(target.Name+"/"+variant, func(t *testing.T) {
				t.Parallel() // sessions side by side, as they are used
				path := strobetest.Build(t, target.Name, variant)
				root := filepath.Join(strobetest.TargetsDir(t), target.Lang)
				want := strobetest.Run(t, target.Stdin, path, target.Args...)
				if target.Blurred { // prints what differs from run to run, such as addresses
					want.Stdout = anyOutput
				}
				traced(t, s, path, root, target.Stdin, target.Args, want)
			})
		}
	}
}

// anyOutput is wanted of a program whose output is not compared.
const anyOutput = "\x00any"

// traced runs a program with everything below root traced and compares it with want.
func traced(t *testing.T, s *strobetest.Strobe, path, root, stdin string, args []string,
	want strobetest.Result) strobetest.Status {
	t.Helper()
	extra := map[string]any{"trace": []string{"@usercode"}, "onFullBuffer": "block"}
	if stdin != "" {
		extra["stdin"] = stdin
	}
	l := s.Launch(t, path, root, args, extra)
	defer s.Stop(t, l.SessionID)
	st := s.WaitEnd(t, l.SessionID, 5*time.Minute)
	if st.ExitCode == nil || *st.ExitCode != want.Exit {
		t.Errorf("exit %v %s, want %d; stderr %q", deref(st.ExitCode), st.Signal, want.Exit,
			s.Output(t, l.SessionID, "stderr"))
	}
	if got := s.Output(t, l.SessionID, "stdout"); got != want.Stdout && want.Stdout != anyOutput {
		t.Errorf("stdout %q, want %q", got, want.Stdout)
	}
	enters, exits := st.EventCount["function_enter"], st.EventCount["function_exit"]
	if enters == 0 || enters != exits {
		t.Errorf("%d enters and %d exits; warnings %q %q", enters, exits, l.Warnings, st.Warnings)
	}
	if st.DroppedEvents != 0 {
		t.Errorf("%d events dropped although the target waits", st.DroppedEvents)
	}
	return st
}

func deref(p *int) any {
	if p == nil {
		return "none"
	}
	return *p
}

// TestExactCounts compares the store's counts with those that the program keeps itself.
func TestExactCounts(t *testing.T) {
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, blockSettings)
	for _, variant := range []string{"gcc-O0", "gcc-O2"} {
		t.Run("threads/"+variant, func(t *testing.T) {
			path := strobetest.Build(t, "threads", variant)
			l := s.Launch(t, path, strobetest.TargetsDir(t), []string{"3000"},
				map[string]any{"trace": []string{"add", "twice", "step"}, "onFullBuffer": "block"})
			s.WaitEnd(t, l.SessionID, 5*time.Minute)
			defer s.Stop(t, l.SessionID)
			out := s.Output(t, l.SessionID, "stdout")
			counts := readCounts(t, out)
			for _, name := range []string{"add", "twice", "step"} {
				want := counts[name]
				for _, kind := range []string{"function_enter", "function_exit"} {
					if got := s.Count(t, l.SessionID, kind, name); got != want {
						t.Errorf("%s of %s: %d, want %d", kind, name, got, want)
					}
				}
			}
		})
	}
	t.Run("many", func(t *testing.T) {
		m := strobetest.ManyFunctions(t, 20000, 3, "gcc-O0")
		started := time.Now()
		l := s.Launch(t, m.Path, m.Source, []string{"3", "wait"},
			map[string]any{"stdin": "pipe", "onFullBuffer": "block"})
		defer s.Stop(t, l.SessionID)
		s.Query(t, l.SessionID, map[string]any{"eventType": "stdout", "waitMs": 10000})
		hooking := time.Now()
		var tr struct {
			HookedFunctions int `json:"hookedFunctions"`
		}
		s.Call(t, "debug_trace", map[string]any{"sessionId": l.SessionID, "add": []string{"@usercode"}}, &tr)
		took := time.Since(hooking)
		s.Call(t, "debug_session", map[string]any{"action": "input", "sessionId": l.SessionID, "text": "\n"}, nil)
		st := s.WaitEnd(t, l.SessionID, 5*time.Minute)
		t.Logf("launch %v, %d functions hooked in %v, %d enters", hooking.Sub(started), tr.HookedFunctions, took,
			st.EventCount["function_enter"])
		if tr.HookedFunctions < m.Functions {
			t.Errorf("hooked %d functions of %d", tr.HookedFunctions, m.Functions)
		}
		if got, want := st.EventCount["function_enter"], int64(m.Functions*3); got != want {
			t.Errorf("%d enters, want %d", got, want)
		}
		if out := s.Output(t, l.SessionID, "stdout"); out != "ready\n"+m.Output {
			t.Errorf("stdout %q, want %q", out, m.Output)
		}
	})
}

// TestCorporaTraced runs Lua and SQLite with every function of theirs traced.
func TestCorporaTraced(t *testing.T) {
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, blockSettings)
	for _, variant := range []string{"gcc-O0", "gcc-O2"} {
		for name, build := range map[string]func(testing.TB, string) strobetest.Workload{"lua": strobetest.LuaWorkload,
			"sqlite": strobetest.SQLiteWorkload} {
			if (name == "sqlite") != (variant == "gcc-O0") && !strobetest.Soaks(t, name+" at "+variant) {
				continue // each once in usual runs
			}
			t.Run(name+"/"+variant, func(t *testing.T) {
				w := build(t, variant)
				want := strobetest.Run(t, "", w.Path, w.Args...)
				st := traced(t, s, w.Path, w.Source, "", w.Args, want)
				t.Logf("%d functions, %d calls", st.HookedFunctions, st.EventCount["function_enter"])
			})
		}
	}
}

// readCounts reads the NAME=NUMBER words of the last line that a program printed.
func readCounts(t *testing.T, out string) map[string]int64 {
	t.Helper()
	counts := map[string]int64{}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	for _, word := range strings.Fields(lines[len(lines)-1]) {
		name, number, _ := strings.Cut(word, "=")
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			t.Fatalf("read %q in %q: %v", word, out, err)
		}
		counts[name] = n
	}
	return counts
}

// callsOf reads a function's number of calls from view stats.
func callsOf(t *testing.T, stats, function string) int64 {
	t.Helper()
	for line := range strings.SplitSeq(stats, "\n") {
		if f := strings.Fields(line); len(f) > 1 && f[0] == function {
			n, err := strconv.ParseInt(f[1], 10, 64)
			if err != nil {
				t.Fatalf("read %q: %v", line, err)
			}
			return n
		}
	}
	t.Fatalf("no %s in\n%s", function, stats)
	return 0
}

// liveChanges is how often patterns come and go in TestLiveChanges, a twentieth of it in usual runs.
const liveChanges = 1000

// TestLiveChanges adds and removes patterns while eight threads are busy in the very functions. One
// function stays traced throughout, and its count must be exact.
func TestLiveChanges(t *testing.T) {
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, blockSettings)
	rounds, changes := 1, liveChanges/20
	if strobetest.Soaks(t, "59 of 60 turns") {
		rounds, changes = 3, liveChanges
	}
	for _, variant := range []string{"gcc-O0", "gcc-O2"} {
		for round := range rounds {
			t.Run(fmt.Sprintf("%s/%d", variant, round),
				func(t *testing.T) { changeLive(t, s, strobetest.Build(t, "threads", variant), changes) })
		}
	}
}

func changeLive(t *testing.T, s *strobetest.Strobe, path string, changes int) {
	l := s.Launch(t, path, strobetest.TargetsDir(t), []string{"0"},
		map[string]any{"trace": []string{"milestone"}, "stdin": "pipe", "onFullBuffer": "block"})
	defer s.Stop(t, l.SessionID)
	started := time.Now()
	for i := range changes {
		action := "add"
		if i%2 == 1 {
			action = "remove"
		}
		if err := s.Try("debug_trace", map[string]any{"sessionId": l.SessionID, action: []string{"step", "twice"}},
			nil); err != nil {
			t.Fatalf("change %d: %v; %+v", i, err, s.Status(t, l.SessionID))
		}
	}
	took := time.Since(started)
	s.Call(t, "debug_session", map[string]any{"action": "input", "sessionId": l.SessionID, "text": "\n"}, nil)
	st := s.WaitEnd(t, l.SessionID, 5*time.Minute)
	out := s.Output(t, l.SessionID, "stdout")
	counts := readCounts(t, out)
	if st.ExitCode == nil || *st.ExitCode != 0 || counts["ok"] != 1 {
		t.Errorf("exit %v %s, stdout %q", deref(st.ExitCode), st.Signal, out)
	}
	enters, exits := st.EventCount["function_enter"], st.EventCount["function_exit"]
	if enters != exits || st.DroppedEvents != 0 {
		t.Errorf("%d enters, %d exits, %d dropped", enters, exits, st.DroppedEvents)
	}
	// Counters are kept while events are evicted.
	if got := callsOf(t, s.Query(t, l.SessionID, map[string]any{"view": "stats"}).Stats,
		"milestone"); got != counts["milestone"] {
		t.Errorf("%d calls of milestone, want %d", got, counts["milestone"])
	}
	t.Logf("%d changes in %v, %d calls recorded", changes, took, enters)
}
