package acceptance

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// crateCase finds the case in a function's name: r::NAME takes a reference, v::NAME a value, m::NAME returns one.
var crateCase = regexp.MustCompile(`::([rvm]::\w+)$`)

// TestSoakDescribedCrates compares types of crates, from crates.io, with what the crates' public interfaces say, at
// every level of optimization: everything right in a debug build; in release builds right or <optimized out>, never
// wrong.
func TestSoakDescribedCrates(t *testing.T) {
	strobetest.Soak(t)
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	dir, out := t.TempDir(), os.Getenv("STROBE_CRATES_TARGET") // where they are built already, for those who work on them
	if out == "" {
		out = t.TempDir()
	}
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(strobetest.TargetsDir(t), "crates"))); err != nil {
		t.Fatal(err)
	}
	for _, profile := range []string{"dev", "o1", "o2", "release"} {
		t.Run(profile, func(t *testing.T) {
			cmd := exec.Command("cargo", "build", "--quiet", "--profile", profile, "--target-dir", out)
			cmd.Dir = dir
			if text, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, text)
			}
			checkCrates(t, s, filepath.Join(out, strings.Replace(profile, "dev", "debug", 1), "crates"), dir, profile == "dev")
		})
	}
}

func checkCrates(t *testing.T, s *strobetest.Strobe, path, root string, exact bool) {
	l := s.Launch(t, path, root, nil, args{"trace": []string{"crates::*::*::r::*", "crates::*::*::v::*",
		"crates::*::*::m::*"},
		"serializationDepth": 6, "onFullBuffer": "block"})
	defer s.Stop(t, l.SessionID)
	if st := s.WaitEnd(t, l.SessionID, endLimit); st.ExitCode == nil || *st.ExitCode != 0 || st.DroppedEvents != 0 {
		t.Fatalf("%s ended as %+v", path, st)
	}
	right, missing, _ := shownAsPrinted(t, s, l.SessionID, crateCase, exact, true)
	t.Logf("values right %d, optimized out %d", right, missing)
	if missing > right/10 {
		t.Errorf("too little was seen to tell")
	}
}
