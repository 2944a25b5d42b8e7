package acceptance

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// The calls of bench/programs/pace.c: all are made equally often.
var paceFunctions = []string{"step", "walk", "leaf", "check"}

// TestCountsUnderLoad compares counts with those of the program, which knows how often it called: from eight threads
// that do nothing else, whose rings are full all the time, and at 1,000,000 events a second.
func TestCountsUnderLoad(t *testing.T) {
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, map[string]any{"events.maxPerSession": 10_000_000})
	file := filepath.Join(strobetest.Root(t), "bench", "programs", "pace.c")
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	path := strobetest.BuildSource(t, "c", "gcc-O2", "pace", string(source))
	for _, args := range [][]string{{"8", "0", "100000"}, {"4", "500", "1000"}} {
		t.Run(args[1], func(t *testing.T) {
			l := s.Launch(t, path, filepath.Dir(path), args, map[string]any{"trace": paceFunctions, "onFullBuffer": "block"})
			defer s.Stop(t, l.SessionID)
			st := s.WaitEnd(t, l.SessionID, 5*time.Minute)
			var pairs, ms int64
			out := s.Output(t, l.SessionID, "stdout")
			if _, err := fmt.Sscanf(out, "pairs=%d ms=%d", &pairs, &ms); err != nil {
				t.Fatalf("read %q: %v", out, err)
			}
			if st.DroppedEvents != 0 || st.EventCount["function_enter"] != pairs || st.EventCount["function_exit"] != pairs {
				t.Errorf("%v and %d dropped, want %d of each", st.EventCount, st.DroppedEvents, pairs)
			}
			for _, f := range paceFunctions {
				for _, kind := range []string{"function_enter", "function_exit"} {
					if got := s.Count(t, l.SessionID, kind, f); got != pairs/4 {
						t.Errorf("%d %ss of %s, want %d", got, kind, f, pairs/4)
					}
				}
			}
		})
	}
}

// TestCountsOfManyFunctions traces 20,000 functions from the first instruction.
func TestCountsOfManyFunctions(t *testing.T) {
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, map[string]any{"events.maxPerSession": 10_000_000})
	const rounds = 5
	m := strobetest.ManyFunctions(t, 20000, 3, "gcc-O0")
	l := s.Launch(t, m.Path, m.Source, []string{strconv.Itoa(rounds)},
		map[string]any{"trace": []string{"@usercode"}, "onFullBuffer": "block"})
	defer s.Stop(t, l.SessionID)
	st := s.WaitEnd(t, l.SessionID, 5*time.Minute)
	want := int64(m.Functions*rounds + 1) // and main
	if st.DroppedEvents != 0 || st.EventCount["function_enter"] != want || st.EventCount["function_exit"] != want {
		t.Errorf("%v and %d dropped, want %d of each", st.EventCount, st.DroppedEvents, want)
	}
	for _, f := range []string{"f00000", "f07777", "f19999"} {
		if got := s.Count(t, l.SessionID, "function_enter", f); got != rounds {
			t.Errorf("%d calls of %s, want %d", got, f, rounds)
		}
	}
}
