//go:build linux

package acceptance

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"hash"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// sum is an output's length and hash.
type sum struct {
	n    int64
	hash hash.Hash
}

func (s *sum) String() string { return fmt.Sprintf("%d bytes, %x", s.n, s.hash.Sum(nil)[:8]) }

func (s *sum) Write(p []byte) (int, error) {
	s.n += int64(len(p))
	return s.hash.Write(p)
}

// recorded returns what debug_query gives of a stream, page by page with the cursor, without keeping it.
func recorded(t *testing.T, s *strobetest.Strobe, id, stream string) *sum {
	t.Helper()
	got := &sum{hash: sha256.New()}
	last := int64(0)
	for {
		p := s.Query(t, id, args{"eventType": stream, "limit": 100, "afterEventId": last, "verbose": true})
		for _, e := range p.Events {
			if e.ID <= last {
				t.Fatalf("event %d came after %d", e.ID, last)
			}
			last = e.ID
			if e.Text != nil {
				io.WriteString(got, *e.Text)
				continue
			}
			b, err := base64.StdEncoding.DecodeString(e.Bytes)
			if err != nil {
				t.Fatal(err)
			}
			got.Write(b)
		}
		if !p.HasMore {
			return got
		}
	}
}

// alone runs the program as a shell would and returns what it writes.
func alone(t *testing.T, path string, arg ...string) *sum {
	t.Helper()
	want := &sum{hash: sha256.New()}
	cmd := exec.Command(path, arg...)
	cmd.Stdout = want
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	return want
}

// Output is byte for byte what the program wrote.
func TestOutputByteForByte(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	for _, arg := range [][]string{{"utf8"}, {"nul"}, {"partial"}, {"silent"}, {"both", "20000"}, {"line", "100000000"}} {
		t.Run(strings.Join(arg, " "), func(t *testing.T) { exact(t, s, arg) })
	}
}

// A gigabyte, which is more than any queue holds.
func TestSoakOutput(t *testing.T) {
	strobetest.Soak(t)
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	exact(t, s, []string{"flood", "1000000000"})
	exact(t, s, []string{"line", "1000000000"})
}

// exact runs the output target under observation and alone, and compares.
func exact(t *testing.T, s *strobetest.Strobe, arg []string) {
	path := strobetest.Build(t, "output", "gcc-O2")
	started := time.Now()
	l := s.Launch(t, path, filepath.Dir(path), arg, nil)
	if st := s.WaitEnd(t, l.SessionID, 5*endLimit); st.ExitCode == nil || *st.ExitCode != 0 || st.DroppedEvents != 0 {
		t.Errorf("ended as %+v", st)
	}
	ended := time.Since(started)
	want := alone(t, path, arg...)
	if got := recorded(t, s, l.SessionID, "stdout"); got.String() != want.String() {
		t.Errorf("stdout = %v, want %v", got, want)
	}
	if arg[0] == "both" {
		if got := recorded(t, s, l.SessionID, "stderr"); got.n != want.n {
			t.Errorf("stderr = %v, want as many bytes as stdout", got)
		}
	}
	if want.n > 1<<20 {
		t.Logf("%d MB: ended after %v, read after %v", want.n>>20, ended.Round(time.Millisecond),
			time.Since(started).Round(time.Millisecond))
	}
	s.Stop(t, l.SessionID)
}

// The command line passes on what the program writes while it runs, and ends as it does.
func TestRunPassesOutputOn(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	path := strobetest.Build(t, "output", "gcc-O2")
	got := &sum{hash: sha256.New()}
	cmd := exec.Command(s.Bin, "run", "--", path, "flood", "50000000")
	cmd.Env = append(os.Environ(), "STROBE_HOME="+s.Home)
	cmd.Stdout = got
	started := time.Now()
	if err := cmd.Run(); err != nil {
		t.Errorf("strobe run: %v", err)
	}
	t.Logf("%d MB in %v", got.n>>20, time.Since(started).Round(time.Millisecond))
	if want := alone(t, path, "flood", "50000000"); got.String() != want.String() {
		t.Errorf("stdout = %v, want %v", got, want)
	}
}

// A million calls push each other out of a small store, and no line of output.
func TestOutputIsNeverEvicted(t *testing.T) {
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, map[string]any{"events.maxPerSession": 1000})
	path := strobetest.BuildSource(t, "c", "gcc-O2", "lines", `#include <stdio.h>
__attribute__((noinline)) int f(int n) { __asm__ volatile(""); return n; }
int main(void) {
	for (int i = 0; i < 500; i++) {
		for (int k = 0; k < 100; k++) f(k);
		printf("line %d\n", i);
	}
	return 0;
}
`)
	l := s.Launch(t, path, filepath.Dir(path), nil, args{"trace": []string{"f"}, "onFullBuffer": "block"})
	st := s.WaitEnd(t, l.SessionID, endLimit)
	var want strings.Builder
	for i := range 500 {
		fmt.Fprintf(&want, "line %d\n", i)
	}
	if got := s.Output(t, l.SessionID, "stdout"); got != want.String() {
		t.Errorf("stdout has %d bytes, want %d", len(got), want.Len())
	}
	if n := st.EventCount["function_enter"]; n != 50_000 {
		t.Errorf("%d calls were recorded, want 50000", n)
	}
	var evicted struct{ EventsEvicted int64 }
	s.Call(t, "debug_session", args{"action": "status", "sessionId": l.SessionID}, &evicted)
	if evicted.EventsEvicted < 90_000 {
		t.Errorf("%d events were evicted, want nearly all of 100000", evicted.EventsEvicted)
	}
}

// show prints what a launched program finds around it.
const show = `for a in "$@"; do echo "arg=$a"; done; pwd; echo "A=$A B=$B PWD=$PWD"; test -t 0 && echo tty0; test ` +
	`-t 1 && echo tty1; cat; exit 42`

func TestLaunchSurroundings(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	tools := filepath.Join(root, "tools")
	if err := os.Mkdir(tools, 0o755); err != nil {
		t.Fatal(err)
	}
	script := write(t, tools, "show-it", "#!/bin/sh\n"+show+"\n", 0o755)
	for _, c := range []struct {
		name, command string
		in            args
		want          string
	}{
		{"path", script, args{}, tools + "\nA= B= PWD=" + tools + "\n"},
		{"relative path", "tools/show-it", args{}, tools + "\nA= B= PWD=" + tools + "\n"},
		{"relative to cwd", "./show-it", args{"cwd": "tools"}, tools + "\nA= B= PWD=" + tools + "\n"},
		{"PATH of the program", "show-it", args{"env": args{"PATH": "/none:" + tools + ":" + os.Getenv("PATH")}},
			root + "\nA= B= PWD=" + root + "\n"},
		{"args and env", script, args{"args": []string{"", "a b", "*", "ä\n"}, "env": args{"A": "1 2", "B": "=x"},
			"cwd": root},
			"arg=\narg=a b\narg=*\narg=ä\n\n" + root + "\nA=1 2 B==x PWD=" + root + "\n"},
		{"stdin text", script, args{"stdin": "some text\nwithout end"}, tools + "\nA= B= PWD=" + tools +
			"\nsome text\nwithout end"},
		{"terminal", script, args{"terminal": true, "stdin": "typed\n"}, "tty0\r\ntty1\r\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := s.Launch(t, c.command, root, nil, c.in)
			if c.in["terminal"] == true {
				// The text's own end may have ended the program already.
				if err := s.Try("debug_session", args{"action": "input", "sessionId": l.SessionID, "eof": true}, nil); err != nil &&
					!strings.Contains(err.Error(), "PROCESS_EXITED") {
					t.Error(err)
				}
			}
			st := s.WaitEnd(t, l.SessionID, endLimit)
			out := s.Output(t, l.SessionID, "stdout")
			if c.in["terminal"] == true {
				if !strings.Contains(out, c.want) || strings.Count(out, "typed\r\n") != 2 {
					t.Errorf("terminal shows %q, want %q and typed twice", out, c.want)
				}
			} else if out != c.want {
				t.Errorf("output = %q, want %q", out, c.want)
			}
			if st.ExitCode == nil || *st.ExitCode != 42 {
				t.Errorf("ended as %+v, want exit code 42", st)
			}
		})
	}
}

// Input goes to a running program in pieces, and its end with it.
func TestInputLater(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	l := s.Launch(t, "cat", t.TempDir(), nil, args{"stdin": "pipe"})
	want := ""
	for i := range 5 {
		text := fmt.Sprintf("piece %d\x00\n", i)
		want += text
		s.Call(t, "debug_session", args{"action": "input", "sessionId": l.SessionID, "text": text}, nil)
		strobetest.Eventually(t, endLimit, "the answer", func() bool { return s.Output(t, l.SessionID, "stdout") == want })
	}
	s.Call(t, "debug_session", args{"action": "input", "sessionId": l.SessionID, "text": "last", "eof": true}, nil)
	if st := s.WaitEnd(t, l.SessionID, endLimit); st.ExitCode == nil || *st.ExitCode != 0 {
		t.Errorf("ended as %+v", st)
	}
	if got := s.Output(t, l.SessionID, "stdout"); got != want+"last" {
		t.Errorf("output = %q, want %q", got, want+"last")
	}
}

// Every way to end is told apart.
func TestEndings(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	path := strobetest.Build(t, "ending", "gcc-O0")
	for _, c := range []struct {
		arg    []string
		status string
		code   int
		signal string
	}{
		{[]string{"exit", "0"}, "exited", 0, ""},
		{[]string{"exit", "255"}, "exited", 255, ""},
		{[]string{"quick", "7"}, "exited", 7, ""},
		{[]string{"main", "3"}, "exited", 3, ""},
		{[]string{"signal", "15"}, "exited", 0, "SIGTERM"},
		{[]string{"signal", "9"}, "exited", 0, "SIGKILL"},
		{[]string{"signal", "6"}, "crashed", 0, "SIGABRT"},
		{[]string{"abort"}, "crashed", 0, "SIGABRT"},
		{[]string{"segv"}, "crashed", 0, "SIGSEGV"},
		{[]string{"ill"}, "crashed", 0, "SIGILL"},
	} {
		for _, trace := range [][]string{nil, {"@usercode"}} {
			l := s.Launch(t, path, strobetest.TargetsDir(t), c.arg, args{"trace": append([]string{}, trace...)})
			st := s.WaitEnd(t, l.SessionID, endLimit)
			if st.Status != c.status || st.Signal != c.signal || (st.ExitCode == nil) != (c.signal != "") ||
				st.ExitCode != nil && *st.ExitCode != c.code {
				t.Errorf("%v, traced %v: ended as %+v, want %+v", c.arg, trace, st, c)
			}
			if out := s.Output(t, l.SessionID, "stdout"); out != "before the end\n" {
				t.Errorf("%v, traced %v: wrote %q", c.arg, trace, out)
			}
			if n := s.Count(t, l.SessionID, "function_enter", "deep"); trace != nil && n != 5 {
				t.Errorf("%v: %d calls of deep, want 5", c.arg, n)
			}
			s.Stop(t, l.SessionID)
		}
	}
}
