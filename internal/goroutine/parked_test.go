//go:build linux && amd64

package goroutine

import (
	_ "embed"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/ptrace"
	"github.com/strobe-debug/strobe/internal/strobetest"
)

//go:embed testdata/spin.go.txt
var spinProgram string

// TestParked: where goroutines go on that the runtime has interrupted is seen, and they are among those that may be so.
func TestParked(t *testing.T) {
	strobetest.NeedPtrace(t)
	t.Run("this", func(t *testing.T) { testParked(t, "") })
	for _, version := range []string{"go1.21.13", "go1.22.12", "go1.23.12", "go1.24.13", "go1.25.5"} {
		t.Run(version, func(t *testing.T) {
			strobetest.Soak(t)
			strobetest.NeedNetwork(t)
			testParked(t, version)
		})
	}
}

func testParked(t *testing.T, version string) {
	r := start(t, build(t, version, spinProgram, "-ldflags=-s -w"), nil)
	pid := r.cmd.Process.Pid
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	strobetest.Eventually(t, 10*time.Second, "it stands", func() bool {
		return strings.HasPrefix(ptrace.StatusField(pid, "State"), "T")
	})
	f, ok := r.p.table.named("main.spin")["main.spin"]
	if !ok {
		t.Fatal("it has no main.spin")
	}
	suspects, err := r.p.Suspects()
	if err != nil {
		t.Fatal(err)
	}
	for name, of := range map[string][]uint64{"all": nil, "suspects": suspects} {
		found := 0
		err := r.p.Parked(of, func(word uint64) {
			if r.p.Has(word) && word-r.p.text > uint64(f.entry) && word-r.p.text < uint64(f.end) {
				found++
			}
		})
		if err != nil || found != 3 && found != 4 { // one of four may be running
			t.Errorf("%s: %d goroutines are seen in main.spin, %v", name, found, err)
		}
	}
}
