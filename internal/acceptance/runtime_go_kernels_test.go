package acceptance

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// TestSoakGoKernels: of the bugs of well known programs by which Go tests its own profile of leaked goroutines
// (runtime/testdata/testgoroutineleakprofile), those goroutines are named that this profile has, and no others.
func TestSoakGoKernels(t *testing.T) {
	strobetest.Soak(t)
	t.Parallel()
	strobetest.NeedPtrace(t)
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	source := filepath.Join(strings.TrimSpace(string(goroot)), "src/runtime/testdata/testgoroutineleakprofile")
	ours, err := os.ReadFile("testdata/golang/kernels.go.txt")
	if err != nil {
		t.Fatal(err)
	}
	s := strobetest.Start(t, nil)
	programs, leaks := 0, 0
	for _, part := range []string{".", "goker"} {
		root := t.TempDir()
		files, err := filepath.Glob(filepath.Join(source, part, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no programs in %s: %v", source, err)
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if filepath.Base(f) == "main.go" {
				b = ours
			}
			if err == nil {
				err = os.WriteFile(filepath.Join(root, filepath.Base(f)), b, 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(root, "go.mod"), []byte("module kernels\n\ngo 1.26\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		bin := filepath.Join(root, "kernels")
		build := exec.Command("go", "build", "-o", bin)
		build.Dir, build.Env = root, append(os.Environ(), "GOEXPERIMENT=goroutineleakprofile")
		if b, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, b)
		}
		list, err := exec.Command(bin).Output()
		if err != nil {
			t.Fatal(err)
		}
		names := strings.Fields(string(list))
		slices.Sort(names)
		for _, name := range names {
			programs++
			leaks += goKernel(t, s, bin, root, name)
		}
	}
	t.Logf("%d programs, %d leaked goroutines", programs, leaks)
	if programs < 80 || leaks < 1000 {
		t.Error("the runtime's profile has hardly any")
	}
}

var leakedGoroutine = regexp.MustCompile(`(?m)^goroutine (\d+)[^\n]*\(leaked\)`)

// goKernel compares what is said of one program while no more leaks.
func goKernel(t *testing.T, s *strobetest.Strobe, bin, root, name string) int {
	t.Helper()
	profile := filepath.Join(t.TempDir(), "profile")
	leaked := func() (ids map[string]bool) {
		b, err := os.ReadFile(profile)
		if err != nil {
			return nil
		}
		ids = map[string]bool{}
		for _, m := range leakedGoroutine.FindAllStringSubmatch(string(b), -1) {
			ids[m[1]] = true
		}
		return ids
	}
	l := s.Launch(t, bin, root, []string{name, profile}, nil)
	defer s.Stop(t, l.SessionID)
	strobetest.Eventually(t, endLimit, "the program is ready", func() bool { return leaked() != nil })
	var st goStuckStatus
	var want map[string]bool
	for again := true; again; {
		want = leaked()
		s.Call(t, "debug_session", args{"action": "status", "sessionId": l.SessionID, "threads": true}, &st)
		if err := os.Remove(profile); err != nil {
			t.Fatal(err)
		}
		strobetest.Eventually(t, endLimit, "the runtime says it again", func() bool { return leaked() != nil })
		again = !maps.Equal(want, leaked())
	}
	all := 0
	for _, d := range st.Deadlocks {
		n := 1 // "goroutine 7 is leaked: …", "12 goroutines are leaked (7, …): …", of which 8 are named
		if _, err := fmt.Sscanf(d.Text, "%d goroutines are leaked", &n); err != nil {
			n = 1
		}
		all += n
		for _, m := range d.Threads {
			if !want[fmt.Sprint(m.ThreadID)] {
				t.Errorf("%s: goroutine %d is named, and not leaked: %s", name, m.ThreadID, d.Text)
			}
		}
	}
	if all != len(want) {
		t.Errorf("%s: %d goroutines are leaked, %d are named: %+v %q", name, len(want), all, st.Deadlocks, st.Warnings)
	}
	return len(want)
}
