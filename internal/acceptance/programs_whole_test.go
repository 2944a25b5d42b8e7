//go:build linux

package acceptance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// wholeLimit bounds one run of a whole program, traced or not.
const wholeLimit = 5 * time.Minute

// TestSoakWholePrograms runs programs that were not made for it, as their users do: with @usercode traced and every
// default they print the same, end the same, leave the same files and pass their own tests as untraced. Values of 200
// calls of each are compared with what gdb reads there. STROBE_WHOLE names one of them, or a few with commas.
func TestSoakWholePrograms(t *testing.T) {
	strobetest.Soak(t)
	strobetest.NeedPtrace(t)
	strobetest.NeedCommand(t, "gdb")
	// A program's first calls are compared, and a session forgets those first.
	s := strobetest.Start(t, args{"events.maxPerSession": 40_000_000})
	only := os.Getenv("STROBE_WHOLE")
	for _, w := range slices.Concat(strobetest.Wholes, strobetest.MoreWholes) {
		if only != "" && !strings.Contains(","+only+",", ","+w.Name+",") {
			continue
		}
		t.Run(w.Name, func(t *testing.T) { runWhole(t, s, w) })
	}
}

func runWhole(t *testing.T, s *strobetest.Strobe, w strobetest.Whole) {
	b := strobetest.BuildWhole(t, w)
	dir := filepath.Join(t.TempDir(), "run")
	blurred := make([]*regexp.Regexp, len(w.Blurred))
	for i, p := range w.Blurred {
		blurred[i] = regexp.MustCompile(p)
	}
	t.Run("script", func(t *testing.T) {
		compareWhole(t, s, b, w.Script, blurred, func() string { return freshFolder(t, dir, w.Files) })
	})
	if w.Suite != "" {
		t.Run("suite", func(t *testing.T) {
			compareWhole(t, s, b, w.Suite, blurred, func() string { return b.Source })
		})
	}
	t.Run("values", func(t *testing.T) {
		compareWithGDB(t, s, w, b, func() string { return freshFolder(t, dir, w.Files) })
	})
}

// freshFolder makes dir anew with these files.
func freshFolder(t *testing.T, dir string, files map[string]string) string {
	t.Helper()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// compareWhole runs a script untraced and traced, each in what folder gives, and compares.
func compareWhole(t *testing.T, s *strobetest.Strobe, b strobetest.Built, script string, blurred []*regexp.Regexp,
	folder func() string) {
	clear := func(text string) string {
		for _, p := range blurred {
			text = p.ReplaceAllString(text, "")
		}
		return text
	}
	dir := folder()
	started := time.Now()
	want := runScript(t, b, dir, script)
	plain := time.Since(started)
	dir = folder()
	started = time.Now()
	l := s.Launch(t, "/bin/sh", b.Source, []string{"-c", script}, args{"cwd": dir, "trace": []string{"@usercode"},
		"env": map[string]any{"P": b.Program, "S": b.Source}})
	defer s.Stop(t, l.SessionID)
	st := s.WaitEnd(t, l.SessionID, wholeLimit)
	traced := time.Since(started)
	if st.ExitCode == nil || *st.ExitCode != want.Exit {
		t.Errorf("exit %+v %s, want %d", st.ExitCode, st.Signal, want.Exit)
	}
	for stream, text := range map[string]string{"stdout": want.Stdout, "stderr": want.Stderr} {
		if got := clear(s.Output(t, l.SessionID, stream)); got != clear(text) {
			t.Errorf("%s differs: %s", stream, firstDifference(got, clear(text)))
		}
	}
	stats := s.Query(t, l.SessionID, args{"view": "stats"})
	if st.EventCount["function_enter"] == 0 && st.DroppedEvents == 0 {
		t.Errorf("nothing was traced: %+v", st)
	}
	if st.DroppedEvents != 0 {
		t.Errorf("%d calls dropped", st.DroppedEvents)
	}
	tree := s.Query(t, l.SessionID, args{"view": "tree"})
	t.Logf("untraced %v, traced %v; %d functions, %d enters, %d exits, %d dropped; stats %d bytes, tree %d bytes; "+
		"warnings %q", plain.Round(time.Millisecond),
		traced.Round(time.Millisecond), st.HookedFunctions, st.EventCount["function_enter"], st.EventCount["function_exit"],
		st.DroppedEvents,
		len(stats.Stats), len(tree.Tree), st.Warnings)
}

// runScript runs a script by hand.
func runScript(t *testing.T, b strobetest.Built, dir, script string) strobetest.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), wholeLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "P="+b.Program, "S="+b.Source)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		t.Fatalf("run untraced: %v %v; stderr %q", err, ctx.Err(), stderr.String())
	}
	return strobetest.Result{Stdout: stdout.String(), Stderr: stderr.String(), Exit: cmd.ProcessState.ExitCode()}
}

// firstDifference shows two texts where they part.
func firstDifference(got, want string) string {
	n := 0
	for n < len(got) && n < len(want) && got[n] == want[n] {
		n++
	}
	around := func(s string) string { return s[max(0, min(len(s), n)-60):min(len(s), n+100)] }
	return fmt.Sprintf("%d bytes, want %d; at %d: %q, want %q", len(got), len(want), n, around(got), around(want))
}
