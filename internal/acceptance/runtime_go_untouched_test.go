package acceptance

import (
	"bytes"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// TestGoTextRestored: when its patterns are gone every byte of a Go program's code is what its file says, though
// goroutines were interrupted anywhere in its functions, and it goes on.
func TestGoTextRestored(t *testing.T) {
	t.Parallel()
	bin, root := goProgram(t, "slow")
	s := strobetest.Start(t, map[string]any{"output.recordWrites": "off"}) // its probes stand while it is observed
	l := s.Launch(t, bin, root, []string{"4"}, nil)
	before := readText(t, l.PID)
	asOnDisk(t, before)
	for range 3 {
		seen := s.Count(t, l.SessionID, "function_enter", "main.slow")
		s.Call(t, "debug_trace", args{"sessionId": l.SessionID, "add": []string{"main.**", "math.**"}}, nil)
		strobetest.Eventually(t, endLimit, "a call", func() bool {
			return s.Count(t, l.SessionID, "function_enter", "main.slow") > seen
		})
		if !differs(readText(t, l.PID), before) {
			t.Error("code was not changed by a pattern: the test sees nothing")
		}
		s.Call(t, "debug_trace", args{"sessionId": l.SessionID, "remove": []string{"main.**", "math.**"}}, nil)
		strobetest.Eventually(t, 2*time.Second, "all code to be what it was",
			func() bool { return !differs(readText(t, l.PID), before) })
	}
	if st := s.WaitEnd(t, l.SessionID, endLimit); st.ExitCode == nil || *st.ExitCode != 0 {
		t.Errorf("it ended with %+v", st)
	}
}

// What a traceback has that is another in each run: addresses, offsets, and how long goroutines waited. Two runs without
// tracing differ in them as well.
var tracebackNoise = regexp.MustCompile(`0x[0-9a-f]+\??|goroutine \d+|, \d+ minutes| m=\d+`)

// traceback is what a program wrote when it ended, in which the code of its own functions is a name.
func traceback(text string) string { return tracebackNoise.ReplaceAllString(text, "N") }

// TestGoTracebacks: what a Go program writes when it panics, faults, overflows its stack or waits for itself is what it
// writes untraced, frame by frame; and on SIGQUIT all frames are the program's own.
func TestGoTracebacks(t *testing.T) {
	t.Parallel()
	bin, root := goProgram(t, "crashes")
	s := strobetest.Start(t, nil)
	for _, how := range []string{"panic", "other", "again", "nil", "overflow", "asleep"} {
		var want bytes.Buffer
		cmd := exec.Command(bin, how)
		cmd.Stderr = &want
		if err := cmd.Run(); err == nil || cmd.ProcessState.ExitCode() != 2 {
			t.Fatalf("%s ends with %v", how, cmd.ProcessState)
		}
		l := s.Launch(t, bin, root, []string{how}, args{"trace": []string{"main.**"}})
		st := s.WaitEnd(t, l.SessionID, endLimit)
		got := s.Output(t, l.SessionID, "stderr")
		if st.ExitCode == nil || *st.ExitCode != 2 || traceback(got) != traceback(want.String()) {
			t.Errorf("%s ended with %+v and wrote\n%s\nwant\n%s", how, st, got, want.String())
		}
	}
	frame := regexp.MustCompile(`^(main|runtime|fmt|time|sync|syscall|os|internal/[\w/]+)\.\S+\(.*\)$|^\t\S+\.(go|s):\d+`)
	other := regexp.MustCompile(`^(SIGQUIT: quit|PC=|goroutine \d+|created by |\tgoroutine running on other thread; stack unavailable$|r[0-9a-z]+ +0x|rflags |[cdefgs]s  |$|` +
		`-----|\.\.\.additional frames|exit status)`)
	turns := 2
	if strobetest.Soaks(t, "most signals") {
		turns = 100
	}
	for range turns {
		l := s.Launch(t, bin, root, []string{"quit"}, args{"trace": []string{"main.**"}})
		strobetest.Eventually(t, endLimit, "the program is ready", func() bool {
			return strings.Contains(s.Output(t, l.SessionID, "stdout"), "ready")
		})
		if err := syscall.Kill(l.PID, syscall.SIGQUIT); err != nil {
			t.Fatal(err)
		}
		st := s.WaitEnd(t, l.SessionID, endLimit)
		text := s.Output(t, l.SessionID, "stderr")
		for line := range strings.Lines(text) {
			if line = strings.TrimSuffix(line, "\n"); !frame.MatchString(line) && !other.MatchString(line) {
				t.Errorf("a traceback has the line %q", line)
			}
		}
		if n := strings.Count(text, "main.descend("); st.ExitCode == nil || *st.ExitCode != 2 || n != 5 {
			t.Errorf("it ended with %+v, %d calls of descend are in its traceback, want 5:\n%s", st, n, text)
		}
	}
}

// TestGoLinkedC: every function of a program whose C code Go's linker took in, or another one, with what each leaves of
// symbols and debug information, and it does what it does.
func TestGoLinkedC(t *testing.T) {
	t.Parallel()
	strobetest.NeedCommand(t, "gcc")
	builds := []string{"-s -w", "-linkmode=external -w"}
	if strobetest.Soaks(t, "other ways to link it") {
		builds = append(builds, "", "-w", "-linkmode=external", "-linkmode=external -s -w")
	}
	for _, flags := range builds {
		bin, root := goProgram(t, "resolver", "-ldflags="+flags)
		want, err := exec.Command(bin).Output()
		if err != nil {
			t.Fatal(err)
		}
		s := strobetest.Start(t, nil)
		l := s.Launch(t, bin, root, nil, args{"trace": []string{"**"}, "serializationDepth": 1})
		st := s.WaitEnd(t, l.SessionID, endLimit)
		if got := s.Output(t, l.SessionID, "stdout"); st.ExitCode == nil || *st.ExitCode != 0 || got != string(want) {
			t.Errorf("%q: it ended with %+v, and wrote %q, want %q", flags, st, got, want)
		}
		if st.HookedFunctions < 1000 {
			t.Errorf("%q: %d functions were traced, want most of the program's", flags, st.HookedFunctions)
		}
	}
}

// TestGoCgo: calls of Go by C and of C by Go, on goroutines and on threads of C's, are one tree, and each is there.
func TestGoCgo(t *testing.T) {
	t.Parallel()
	strobetest.NeedCommand(t, "gcc")
	builds := [][]string{nil}
	if strobetest.Soaks(t, "other ways to build it") {
		builds = append(builds, []string{"-gcflags=-N -l"}, []string{"-buildmode=pie"})
	}
	for _, flags := range builds {
		bin, root := goProgram(t, "cgo", flags...)
		want, err := exec.Command(bin).Output()
		if err != nil {
			t.Fatal(err)
		}
		s := strobetest.Start(t, nil)
		l := s.Launch(t, bin, root, nil, args{"trace": []string{"main.*", "cDown", "cSum"}})
		st := s.WaitEnd(t, l.SessionID, endLimit)
		if got := s.Output(t, l.SessionID, "stdout"); st.ExitCode == nil || *st.ExitCode != 0 || got != string(want) {
			t.Errorf("%q: it ended with %+v, and wrote %q, want %q", flags, st, got, want)
		}
		// cDown of 20 and of 10 to 13 on goroutines, of 6 fifty times on each of eight threads of C's: every second
		// call is Go's.
		cs, gos := int64(11+6+6+7+7+400*4), int64(10+5+6+6+7+400*3)
		for name, n := range map[string]int64{"main.down": gos, "cDown": cs, "cSum": 100, "main.sum": 1} {
			if got := s.Count(t, l.SessionID, "function_enter", name); got != n {
				t.Errorf("%q: %d calls of %s, want %d", flags, got, name, n)
			}
			if got := s.Count(t, l.SessionID, "function_exit", name); got != n {
				t.Errorf("%q: %d calls of %s ended, want %d", flags, got, name, n)
			}
		}
		tree := s.Query(t, l.SessionID, args{"view": "tree", "unfold": true, "limit": 500}).Tree
		depth := func(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }
		lines := strings.Split(tree, "\n")
		at := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(strings.TrimSpace(l), "cDown(n=20)") })
		deeper := 0
		for i := at + 1; at >= 0 && i < len(lines) && depth(lines[i]) > depth(lines[at]); i++ {
			if name, _, _ := strings.Cut(strings.TrimSpace(lines[i]), "("); name == "cDown" || name == "main.down" {
				deeper++
			}
		}
		if deeper < 10 {
			t.Errorf("%q: below cDown(n=20) are %d calls of both:\n%s", flags, deeper, tree)
		}
	}
}
