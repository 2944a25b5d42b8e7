//go:build linux

package acceptance

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// withTally is the example runtime, and a client of a binary that has it.
func withTally(t *testing.T) (*strobetest.Strobe, example) {
	t.Helper()
	strobetest.NeedPtrace(t)
	for _, e := range examples(t) {
		if e.Name == "tally" {
			return strobetest.StartBinary(t, strobetest.BinaryWith(t, exampleTag), nil), e
		}
	}
	t.Fatal("there is no example that is called tally")
	return nil, example{}
}

// launchTally starts one of the suite's programs.
func launchTally(t *testing.T, s *strobetest.Strobe, e example, name string, given []string,
	extra args) strobetest.Launched {
	t.Helper()
	in := args{"cwd": t.TempDir()}
	for k, v := range extra {
		in[k] = v
	}
	program := filepath.Join(e.Programs, name+".tally")
	l := s.Launch(t, e.Interpreter.Path, e.Programs, append([]string{program}, given...), in)
	t.Cleanup(func() { s.Stop(t, l.SessionID) })
	return l
}

// TestTallyAndC: in one tree, functions of C that a program of the example's language calls, and what they call back; an
// exception that leads through them ends each.
func TestTallyAndC(t *testing.T) {
	s, e := withTally(t)
	l := launchTally(t, s, e, "both", []string{filepath.Join(e.folder, "libeach.so")},
		args{"trace": []string{"@usercode", "each", "once"}})
	s.WaitEnd(t, l.SessionID, endLimit)
	tree := varying.ReplaceAllString(s.Query(t, l.SessionID, args{"view": "tree", "unfold": true, "limit": 500}).Tree, "")
	var shape []string
	for _, line := range strings.Split(tree, "\n") {
		name, rest, call := strings.Cut(line, "(")
		if result := ""; call {
			if _, result, _ = strings.Cut(rest, " → "); result == "" && strings.Contains(rest, "✗") {
				result = "✗"
			}
			shape = append(shape, fmt.Sprintf("%s %s", name, strings.Fields(result + " -")[0]))
		}
	}
	square := "\n          once 0\n            both.square 0\n          once 1\n            both.square 1"
	want := "both.main null\n  each 3\n    once 1\n      both.inner 1\n        each 1" + square +
		"\n    once 2\n      both.inner 2\n        each 1" + square +
		"\n  both.guarded \"not\n    each 0\n      once 0\n        both.risky 0\n      once 0\n        both.risky ✗"
	if got := strings.Join(shape, "\n"); !strings.HasPrefix(got, want) {
		t.Errorf("got\n%s\nwant\n%s\nof\n%s", got, want, tree)
	}
}

// TestForeignAgent: an agent of another version is let go, its program runs as it would, and that is told.
func TestForeignAgent(t *testing.T) {
	s, e := withTally(t)
	l := launchTally(t, s, e, "ends", []string{"code"},
		args{"trace": []string{"@usercode"}, "env": args{"TALLY_AGENT_SPEAKS": "2"}})
	if st := s.WaitEnd(t, l.SessionID, endLimit); st.ExitCode == nil || *st.ExitCode != 3 {
		t.Errorf("ended %+v", st)
	}
	var st struct{ Warnings []string }
	s.Call(t, "debug_session", args{"action": "status", "sessionId": l.SessionID}, &st)
	if said := strings.Join(st.Warnings, "\n"); !strings.Contains(said, "speaks version 2 of agentlink, and strobe 1") {
		t.Errorf("warnings %q", said)
	}
}

// TestAgentDies: a program whose agent loses its socket runs on without it, and what was recorded stays.
func TestAgentDies(t *testing.T) {
	s, e := withTally(t)
	l := launchTally(t, s, e, "rounds", nil, args{"trace": []string{"@usercode"}, "stdin": "pipe"})
	round := func(n int) {
		t.Helper()
		s.Call(t, "debug_session", args{"action": "input", "sessionId": l.SessionID, "text": "go\n"}, nil)
		strobetest.Eventually(t, endLimit, "the round", func() bool {
			return strings.Contains(s.Output(t, l.SessionID, "stdout"), fmt.Sprintf("round %d\n", n))
		})
	}
	round(1)
	cutSocket(t, l.PID)
	round(2)
	round(3)
	s.Call(t, "debug_session", args{"action": "input", "sessionId": l.SessionID, "eof": true}, nil)
	if st := s.WaitEnd(t, l.SessionID, endLimit); st.ExitCode == nil || *st.ExitCode != 5 {
		t.Errorf("ended %+v", st)
	}
	if n := s.Count(t, l.SessionID, "function_enter", "rounds.beta"); n < 1 || n > 2 {
		t.Errorf("%d calls of beta, want those before the agent's end", n)
	}
}

// cutSocket ends the connection of the agent in a process, whose descriptor stands above the program's.
func cutSocket(t *testing.T, pid int) {
	t.Helper()
	const high = 700
	names, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil {
		t.Fatal(err)
	}
	process, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(process)
	for _, name := range names {
		n, err := strconv.Atoi(filepath.Base(name))
		if to, e := os.Readlink(name); err != nil || e != nil || n < high || !strings.HasPrefix(to, "socket:") {
			continue
		}
		fd, err := unix.PidfdGetfd(process, n, 0)
		if err != nil {
			strobetest.Lack(t, "descriptors of other processes cannot be had: %v", err)
		}
		defer unix.Close(fd)
		if err := unix.Shutdown(fd, unix.SHUT_RDWR); err != nil {
			t.Error(err)
		}
		return
	}
	t.Fatal("the agent has no socket")
}
