package acceptance

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// heard are the messages that a client got of its calls.
type heard chan string

// until waits for a message.
func (h heard) until(t *testing.T, want string) {
	t.Helper()
	var all []string
	strobetest.Eventually(t, endLimit, "a message like "+want, func() bool {
		for {
			select {
			case text := <-h:
				if all = append(all, text); regexp.MustCompile(want).MatchString(text) {
					return true
				}
			default:
				return false
			}
		}
	})
	t.Logf("%q", all)
}

const longTests = `package long

import (
	"os"
	"testing"
	"time"
)

func wait(name string) {
	for file := os.Getenv(name); file != ""; <-time.After(10 * time.Millisecond) {
		if _, err := os.Stat(file); err == nil {
			return
		}
	}
}

func TestFirst(t *testing.T) {}

func TestWaits(t *testing.T) { wait("GATE1") }

func TestMany(t *testing.T) {
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wait("GATE2")
		})
	}
}
`

// TestRunTellsProgress: a client that gave a token hears how its run stands, through the stdio proxy; and status has a
// word for a test that is quiet and slower than usual, and counts the tests that it does not list.
func TestRunTellsProgress(t *testing.T) {
	t.Parallel()
	strobetest.NeedCommand(t, "go")
	s := strobetest.Start(t, nil)
	dir := project(t, map[string]string{"go.mod": "module example.com/long\n\ngo 1.21\n", "long_test.go": longTests})
	runTests(t, s, args{"projectRoot": dir, "waitMs": 60000}) // so that usual durations are known
	told := make(heard, 1000)
	watcher := strobetest.ConnectListening(t, s.Home, func(text string) { told <- text })
	gates := t.TempDir()
	env := map[string]string{"GATE1": filepath.Join(gates, "1"), "GATE2": filepath.Join(gates, "2")}
	answer := make(chan error, 1)
	go func() {
		answer <- watcher.CallListening(t.Context(), "debug_test",
			args{"projectRoot": dir, "env": env, "args": []string{"-parallel=5"}, "waitMs": 60000})
	}()
	told.until(t, `^running: 1 passed, 0 failed, 0 skipped; \d+(\.\d)? s in example.com/long::TestWaits`)
	var list struct{ Runs []struct{ TestRunID string } }
	s.Call(t, "debug_test", args{"action": "list"}, &list)
	type standing struct {
		Progress *struct {
			Warnings     []string
			Stuck        []stuckTest
			TotalRunning int
			CurrentTests []struct{ Name string }
		}
	}
	status := func(what string, ok func(p standing) bool) (now standing) {
		strobetest.Eventually(t, endLimit, what, func() bool {
			now = standing{}
			s.Call(t, "debug_test", args{"action": "status", "testRunId": list.Runs[0].TestRunID, "waitMs": 200}, &now)
			return now.Progress == nil || ok(now)
		})
		if now.Progress == nil {
			t.Fatalf("it ended without %s", what)
		}
		return now
	}
	now := status("a warning", func(p standing) bool { return len(p.Progress.Warnings) > 0 })
	if !strings.Contains(now.Progress.Warnings[0], "TestWaits: quiet for 1") || len(now.Progress.Stuck) > 0 {
		t.Errorf("%+v", now.Progress)
	}
	if err := os.WriteFile(env["GATE1"], nil, 0o600); err != nil {
		t.Fatal(err)
	}
	now = status("five subtests at once", func(p standing) bool { return p.Progress.TotalRunning >= 5 })
	if len(now.Progress.CurrentTests) != 3 || len(now.Progress.Warnings) > 0 {
		t.Errorf("%+v", now.Progress)
	}
	told.until(t, `^running: 2 passed, .* others`)
	if err := os.WriteFile(env["GATE2"], nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := <-answer; err != nil {
		t.Fatal(err)
	}
}

// TestRunTellsCompiling: what is compiled is told, too.
func TestRunTellsCompiling(t *testing.T) {
	t.Parallel()
	strobetest.NeedCommand(t, "cargo")
	s := strobetest.Start(t, nil)
	gate := filepath.Join(t.TempDir(), "gate")
	dir := project(t, map[string]string{"Cargo.toml": cargoManifest, "src/lib.rs": "#[test] fn passes() {}\n",
		"build.rs": "fn main() { while !std::path::Path::new(&std::env::var(\"GATE\").unwrap()).exists() { " +
			"std::thread::sleep(std::time::Duration::from_millis(10)); } }\n"})
	told := make(heard, 1000)
	watcher := strobetest.ConnectListening(t, s.Home, func(text string) { told <- text })
	answer := make(chan error, 1)
	go func() {
		answer <- watcher.CallListening(t.Context(), "debug_test",
			args{"projectRoot": dir, "env": map[string]string{"GATE": gate}, "waitMs": 60000})
	}()
	told.until(t, `^compiling.*; \d+(\.\d)? s$`)
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := <-answer; err != nil {
		t.Fatal(err)
	}
}
