//go:build linux

package acceptance

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/daemon"
	"github.com/strobe-debug/strobe/internal/strobetest"
)

// family is testdata/tree.c, built.
func family(t testing.TB, variant string) string {
	t.Helper()
	source, err := os.ReadFile(filepath.Join("testdata", "tree.c"))
	if err != nil {
		t.Fatal(err)
	}
	return strobetest.BuildSource(t, "c", variant, "tree", string(source))
}

// told reads what the processes of a family say they called, by process.
func told(t testing.TB, report string) map[int]int64 {
	t.Helper()
	b, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	calls := map[int]int64{}
	for line := range strings.Lines(string(b)) {
		var pid int
		var n int64
		if _, err := fmt.Sscan(line, &pid, &n); err != nil {
			t.Fatalf("read report line %q: %v", line, err)
		}
		calls[pid] += n
	}
	return calls
}

// process is one process event.
type process struct {
	What      string `json:"what"`
	PID       int    `json:"pid"`
	ParentPID int    `json:"parentPid"`
	Command   string `json:"command"`
	ExitCode  *int   `json:"exitCode"`
	Signal    string `json:"signal"`
}

// processEvents returns the session's process events, page by page.
func processEvents(t testing.TB, s *strobetest.Strobe, id string) []process {
	t.Helper()
	var all []process
	for after := int64(0); ; {
		var page struct {
			Events      []process
			HasMore     bool
			LastEventID int64
		}
		s.Call(t, "debug_query", args{"sessionId": id, "eventType": "process", "limit": 500, "afterEventId": after}, &page)
		all = append(all, page.Events...)
		if !page.HasMore || len(page.Events) == 0 {
			return all
		}
		after = page.LastEventID
	}
}

// checkFamily compares the calls of every process with what it says itself, and its events with each other: each
// process but the first begins once and ends once.
func checkFamily(t testing.TB, s *strobetest.Strobe, id, report string, first int) []process {
	t.Helper()
	want := told(t, report)
	var total int64
	for _, pid := range slices.Sorted(maps.Keys(want)) {
		total += want[pid]
		for _, kind := range []string{"function_enter", "function_exit"} {
			got := s.Query(t, id, args{"eventType": kind, "function": args{"equals": "work"}, "pid": pid, "limit": 1}).TotalCount
			if got != want[pid] {
				t.Errorf("process %d has %d %ss, want %d", pid, got, kind, want[pid])
			}
		}
	}
	if got := s.Count(t, id, "function_enter", "work"); got != total {
		t.Errorf("%d calls in all, want %d", got, total)
	}
	begun, ended := map[int]int{first: 1}, map[int]int{}
	events := processEvents(t, s, id)
	for _, e := range events {
		switch e.What {
		case "fork", "vfork":
			begun[e.PID]++
			if begun[e.ParentPID] == 0 {
				t.Errorf("process %d was forked by %d, which is not known", e.PID, e.ParentPID)
			}
		case "exit":
			ended[e.PID]++
			if e.ExitCode == nil && e.Signal == "" {
				t.Errorf("process %d ended somehow", e.PID)
			}
		}
	}
	for pid, n := range begun {
		if n != 1 || ended[pid] != 1 {
			t.Errorf("process %d began %d times and ended %d times", pid, n, ended[pid])
		}
	}
	if len(ended) != len(begun) {
		t.Errorf("%d processes began and %d ended", len(begun), len(ended))
	}
	return events
}

// TestFamilies counts calls in processes made in every way, by hot hooks and by breakpoints.
func TestFamilies(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	prog := family(t, "gcc-O2")
	for _, c := range []struct {
		mode, n  string
		children int
		code     int
	}{
		{"fork", "20", 20, 0}, {"exec", "10", 10, 0}, {"spawn", "10", 10, 0}, {"vfork", "10", 10, 0}, {"clone", "0", 5, 0},
		{"sibling", "0", 2, 0},
		{"thread-exec", "0", 0, 7}, {"memfd", "0", 1, 0}, {"signal", "5", 5, 0}, {"threads", "10", 10, 0},
		{"double", "8", 16, 0},
	} {
		for _, patterns := range [][]string{{"work", "many", "forked"}, {"work"}} {
			t.Run(c.mode+fmt.Sprint(len(patterns)), func(t *testing.T) {
				report := filepath.Join(t.TempDir(), "report")
				l := s.Launch(t, prog, filepath.Dir(prog), []string{report, c.mode, c.n},
					args{"trace": patterns, "onFullBuffer": "block"})
				defer s.Stop(t, l.SessionID)
				st := s.WaitEnd(t, l.SessionID, endLimit)
				if st.ExitCode == nil || *st.ExitCode != c.code || st.DroppedEvents != 0 || len(st.Warnings) != 0 {
					t.Errorf("ended as %+v, stderr %q", st, s.Output(t, l.SessionID, "stderr"))
				}
				waitTree(t, s, l.SessionID)
				events := checkFamily(t, s, l.SessionID, report, l.PID)
				n := 0
				for _, e := range events {
					if e.What == "fork" || e.What == "vfork" {
						n++
					}
				}
				if n != c.children {
					t.Errorf("%d children, want %d", n, c.children)
				}
			})
		}
	}
}

// waitTree waits until the last process of a session has ended.
func waitTree(t testing.TB, s *strobetest.Strobe, id string) {
	t.Helper()
	deadline := time.Now().Add(endLimit)
	for len(s.Status(t, id).PIDs) > 0 {
		if time.Now().After(deadline) {
			t.Fatalf("processes %v still run", s.Status(t, id).PIDs)
		}
		s.Query(t, id, args{"eventType": "process", "text": args{"contains": "no such text"}, "waitMs": 20})
	}
}

// TestForkBomb runs a tree of 511 processes, of which each calls, forks and reaps.
func TestForkBomb(t *testing.T) {
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	serves(t, s, daemon.HolderPID(s.Home))
	pid := daemon.HolderPID(s.Home)
	prog, report := family(t, "gcc-O2"), filepath.Join(t.TempDir(), "report")
	l := s.Launch(t, prog, filepath.Dir(prog), []string{report, "bomb", "8"},
		args{"trace": []string{"work"}, "onFullBuffer": "block"})
	st := s.WaitEnd(t, l.SessionID, endLimit)
	if st.ExitCode == nil || *st.ExitCode != 0 || st.DroppedEvents != 0 {
		t.Errorf("ended as %+v, stderr %q", st, s.Output(t, l.SessionID, "stderr"))
	}
	waitTree(t, s, l.SessionID)
	if n := len(told(t, report)); n != 511 {
		t.Errorf("%d processes reported, want 511", n)
	}
	if events := checkFamily(t, s, l.SessionID, report, l.PID); len(events) != 2*510+1 {
		t.Errorf("%d process events, want %d", len(events), 2*510+1)
	}
	s.Stop(t, l.SessionID)
	serves(t, s, pid)
}
