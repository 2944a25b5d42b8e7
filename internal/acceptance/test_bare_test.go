package acceptance

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// bareEnd is what a command came to that was run without Strobe.
type bareEnd struct {
	stdout, stderr []byte
	code           int
	signaled       bool
}

func runBare(t *testing.T, dir string, env []string, argv ...string) bareEnd {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.Env = dir, &stdout, &stderr, append(os.Environ(), env...)
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatalf("%q: %v", argv, err)
	}
	return bareEnd{stdout.Bytes(), stderr.Bytes(), cmd.ProcessState.ExitCode(), cmd.ProcessState.ExitCode() < 0}
}

// outputOf is all that a run's commands wrote.
func outputOf(t *testing.T, r *testAnswer) []byte {
	t.Helper()
	if r.Result == nil {
		t.Fatalf("no result: %+v", r)
	}
	b, err := os.ReadFile(filepath.Join(filepath.Dir(r.Result.Details), "output.txt"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestBareCommand: a program that is run as tests ends as it does without Strobe, and writes the same bytes, on each of
// its two streams.
func TestBareCommand(t *testing.T) {
	t.Parallel()
	strobetest.NeedCommand(t, "sh", "awk")
	s := strobetest.Start(t, nil)
	big := "awk 'BEGIN { for (i = 0; i < 200000; i++) printf \"line %d of much output\\n\", i }'"
	few := strings.Replace(big, "200000", "20000", 1)
	for name, tc := range map[string]struct{ script, signal string }{
		"bytes": {`printf 'a\0b\377\303\n\033[31mred\033[0m\r\nlast without an end'; exit 3`, ""},
		"much":  {big + "; exit 42", ""},
		"both":  {few + " & " + strings.Replace(few, "much", "other", 1) + " >&2; wait; printf end; exit 1", ""},
		"well":  {"echo it works", ""},
		"named": {"echo 'PASS: one'; echo 'FAIL: two'; exit 7", ""},
		"gone":  {"echo before; kill -KILL $$", "SIGKILL"},
		"abort": {"echo before >&2; kill -ABRT $$", "SIGABRT"},
		"env":   {"env | grep -v -e '^PWD=' -e '^_=' | sort; pwd; ulimit -a; umask; exec tr a b", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := project(t, map[string]string{"run.sh": tc.script})
			want := runBare(t, dir, []string{"STROBE_HOME=" + s.Home}, "sh", "./run.sh")
			r := runTests(t, s, args{"projectRoot": dir, "command": "sh ./run.sh", "waitMs": 60000})
			got := outputOf(t, &r)
			if want.signaled != (tc.signal != "") || r.Result.Signal != tc.signal || r.Result.ExitCode != max(want.code, 0) {
				t.Errorf("ended with %d %s, without Strobe with %d", r.Result.ExitCode, r.Result.Signal, want.code)
			}
			if name != "both" {
				if all := slices.Concat(want.stdout, want.stderr); !bytes.Equal(got, all) {
					t.Errorf("%d bytes of output, without Strobe %d: %.300q, %.300q", len(got), len(all), got, all)
				}
				return
			}
			// Which stream's bytes come first is nobody's promise. Each stream's order is.
			var stdout, stderr []byte
			for line := range bytes.Lines(got) {
				if bytes.Contains(line, []byte("other")) {
					stderr = append(stderr, line...)
				} else {
					stdout = append(stdout, line...)
				}
			}
			if len(got) != len(want.stdout)+len(want.stderr) || !bytes.Equal(stderr, want.stderr) && !mixed(got, want) {
				t.Errorf("%d bytes of output, without Strobe %d and %d", len(got), len(want.stdout), len(want.stderr))
			}
		})
	}
}

// mixed reports whether some bytes are two streams' in some order: all of both, each in its own.
func mixed(all []byte, want bareEnd) bool {
	const most = 1 << 16 // undecided places
	type place struct{ out, err int }
	now := map[place]bool{{0, 0}: true}
	for _, c := range all {
		next := map[place]bool{}
		for p := range now {
			if p.out < len(want.stdout) && want.stdout[p.out] == c {
				next[place{p.out + 1, p.err}] = true
			}
			if p.err < len(want.stderr) && want.stderr[p.err] == c {
				next[place{p.out, p.err + 1}] = true
			}
		}
		if now = next; len(now) == 0 || len(now) > most {
			return false
		}
	}
	return now[place{len(want.stdout), len(want.stderr)}]
}

// TestBareFrameworks: what tests print is all there under their framework's reporter, too, and the exit code is the
// framework's own.
func TestBareFrameworks(t *testing.T) {
	t.Parallel()
	const lines = 500
	said := func(stream string) (out []string) {
		for i := range lines {
			out = append(out, fmt.Sprintf("%s says number %d \\ \" {}", stream, i))
		}
		return out
	}
	s := strobetest.Start(t, nil)
	for name, tc := range map[string]struct {
		need  []string
		files map[string]string
		args  args
		bare  []string
	}{
		"go": {[]string{"go"}, map[string]string{"go.mod": "module example.com/says\n\ngo 1.21\n",
			"says_test.go": fmt.Sprintf(`package says

import ("fmt"; "os"; "testing")

func TestSays(t *testing.T) {
	for i := 0; i < %d; i++ {
		fmt.Printf("stdout says number %%d \\ \" {}\n", i)
		fmt.Fprintf(os.Stderr, "stderr says number %%d \\ \" {}\n", i)
	}
	t.Error("and fails")
}
`, lines)}, args{"framework": "go", "args": []string{"-count=1"}}, []string{"go", "test", "-count=1", "./..."}},
		"cargo": {[]string{"cargo"}, map[string]string{"Cargo.toml": "[package]\nname = \"says\"\nversion = " +
			"\"0.1.0\"\nedition = \"2021\"\n", "src/lib.rs": fmt.Sprintf(`
#[test] fn says() {
    for i in 0..%d { println!("stdout says number {i} \\ \" {{}}"); eprintln!("stderr says number {i} \\ \" {{}}"); }
    panic!("and fails");
}
`, lines)}, args{"framework": "cargo"}, []string{"cargo", "test"}},
		"unittest": {[]string{"python3"}, map[string]string{"test_says.py": fmt.Sprintf(`
import sys, unittest
class Says(unittest.TestCase):
    def test_says(self):
        for i in range(%d):
            sys.stdout.write("stdout says number %%d \\ \" {}\n" %% i); sys.stdout.flush()
            sys.stderr.write("stderr says number %%d \\ \" {}\n" %% i); sys.stderr.flush()
        self.fail("and fails")
`, lines)}, args{"framework": "unittest"}, []string{"python3", "-m", "unittest"}},
	} {
		t.Run(name, func(t *testing.T) {
			strobetest.NeedCommand(t, tc.need...)
			dir := project(t, tc.files)
			want := runBare(t, dir, nil, tc.bare...)
			tc.args["projectRoot"], tc.args["waitMs"] = dir, 60000
			r := runTests(t, s, tc.args)
			if r.Result == nil || r.Result.Summary.Failed != 1 {
				t.Fatalf("%+v %+v", r, r.Result)
			}
			if r.Result.ExitCode != want.code || want.code == 0 {
				t.Errorf("exit code %d, without Strobe %d", r.Result.ExitCode, want.code)
			}
			got := printed(outputOf(t, &r))
			bare := printed(slices.Concat(want.stdout, want.stderr))
			for _, stream := range []string{"stdout", "stderr"} {
				all := said(stream)
				for what, text := range map[string]string{"with": got, "without": bare} {
					var found []string
					for line := range strings.Lines(text) {
						if strings.HasPrefix(line, stream+" says") {
							found = append(found, strings.TrimSuffix(line, "\n"))
						}
					}
					if !slices.Equal(found, all) {
						t.Errorf("%s %s Strobe: %d lines of %d, or in another order", stream, what, len(found), len(all))
					}
				}
			}
		})
	}
}

// printed is what tests printed, where go test or libtest wrote it as events, too.
func printed(out []byte) string {
	var text strings.Builder
	out = bytes.ReplaceAll(out, []byte("warning: `--logfile` is deprecated"), nil) // without an end of line
	for line := range bytes.Lines(out) {
		var e struct{ Action, Output, Event, Stdout string }
		if bytes.HasPrefix(line, []byte(`{`)) && json.Unmarshal(line, &e) == nil && e.Action+e.Event != "" {
			text.WriteString(e.Output + e.Stdout)
		} else {
			text.Write(line)
		}
	}
	return text.String()
}
