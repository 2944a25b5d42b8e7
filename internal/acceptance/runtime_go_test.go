package acceptance

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// TestGoIsNotHooked: functions of Go run on small stacks, which a hook could overflow. They are left alone, the answer
// says why, and the program does what it does.
func TestGoIsNotHooked(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	strobetest.NeedCommand(t, "go")
	dir := project(t, map[string]string{"go.mod": "module example.com/deep\n\ngo 1.21\n", "main.go": `package main

import "fmt"

//go:noinline
func twice(n int) int { return 2 * n }

//go:noinline
func deep(n int) int { if n == 0 { return 0 }; return twice(n) - n + deep(n-1) - (n - 1) }

func main() { fmt.Println(deep(100000)) }
`})
	cmd := exec.Command("go", "build", "-o", "deep", ".")
	cmd.Dir = dir
	if b, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, b)
	}
	s := strobetest.Start(t, nil)
	var l struct {
		SessionID       string
		HookedFunctions int
		Unhookable      []struct{ Function, Reason string }
	}
	s.Call(t, "debug_launch", args{"command": filepath.Join(dir, "deep"), "projectRoot": dir, "trace": []string{"main.*"}},
		&l)
	// One row a reason: all of its functions have this one.
	if l.HookedFunctions != 0 || len(l.Unhookable) != 1 || !strings.Contains(l.Unhookable[0].Reason, "goroutine") {
		t.Errorf("%+v", l)
	}
	strobetest.Eventually(t, endLimit, "its output", func() bool {
		p := s.Query(t, l.SessionID, args{"eventType": "stdout"})
		return len(p.Events) > 0 && strings.Contains(*p.Events[0].Text, "100000")
	})
}
