package acceptance

import (
	_ "embed"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

//go:embed testdata/loops_test.go.txt
var loopGoTests string

func loopGoProject(t *testing.T) string {
	t.Helper()
	return project(t, map[string]string{"go.mod": "module rounds\n\ngo 1.25\n", "rounds_test.go": loopGoTests})
}

// TestEndlessGo runs Go tests that go round for ever, each in its way: they are told as stuck while they run, with the
// function and its lines.
func TestEndlessGo(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	strobetest.NeedCommand(t, "go")
	endlessGo(t, map[string]string{
		"TestEmpty":   "rounds.TestEmpty",
		"TestList":    "rounds.find",
		"TestDefault": "rounds.TestDefault",
		"TestParent":  "rounds.TestParent.func1",
		"TestTwo":     "rounds.TestTwo.func1",
		"TestNaps":    "rounds.TestNaps",
		"TestYield":   "rounds.TestYield",
	})
}

func TestSoakEndlessGo(t *testing.T) {
	strobetest.Soak(t)
	endlessGo(t, map[string]string{
		"TestFlag":         "rounds.TestFlag",
		"TestCounted":      "rounds.TestCounted",
		"TestBeside":       "rounds.TestBeside",
		"TestUnmoved":      "rounds.TestUnmoved",
		"TestNumbers":      "rounds.TestNumbers",
		"TestLocked":       "rounds.TestLocked",
		"TestEmptyChannel": "rounds.TestEmptyChannel",
		"TestInterface":    "rounds.TestInterface",
		"TestGeneric":      "rounds.until",
		"TestSearch":       "rounds.TestSearch",
		"TestLongNaps":     "rounds.TestLongNaps",
		"TestNapsBeside":   "rounds.TestNapsBeside",
	})
}

// endlessGo runs tests, each with the function that goes round.
func endlessGo(t *testing.T, tests map[string]string) {
	s := strobetest.Start(t, nil)
	for name, want := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := seenStuck(t, s, args{"projectRoot": loopGoProject(t), "args": []string{"-run=^" + name + "$", "-parallel=3"},
				"timeout": 120000})
			if !strings.HasPrefix(st.Diagnosis, "infinite loop: goroutine ") ||
				!strings.Contains(st.Diagnosis, ": "+want+" (rounds_test.go:") || !strings.HasPrefix(st.Name, "rounds::"+name) {
				t.Errorf("%+v, want %s", st, want)
			}
			found := false
			for _, l := range st.Threads {
				found = found || strings.Contains(l.Name, "[in an infinite loop]") &&
					strings.Contains(strings.Join(l.Stack, "\n"), want+" (rounds_test.go:")
			}
			if len(st.Threads) > 10 || !found {
				t.Errorf("%+v, want a stack with %s", st, want)
			}
		})
	}
}

// TestBusyGoIsNotEndless runs Go tests that compute, or look for a while at what another goroutine or a timer changes:
// none is ever called stuck.
func TestBusyGoIsNotEndless(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	strobetest.NeedCommand(t, "go")
	busyGo(t, "Flag", "Polling", "Naps", "Chain")
}

func TestSoakBusyGoIsNotEndless(t *testing.T) {
	strobetest.Soak(t)
	busyGo(t, "AfterFunc", "Count", "Network", "Clock", "Sum", "Random", "Garbage", "Yield", "CountedNaps", "DeadlineNaps",
		"FileNaps")
}

func busyGo(t *testing.T, names ...string) {
	s := strobetest.Start(t, nil)
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			neverStuck(t, s, args{"projectRoot": loopGoProject(t), "args": []string{"-run=^TestSlow" + name + "$"}})
		})
	}
}
