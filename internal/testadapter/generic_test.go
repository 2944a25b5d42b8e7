package testadapter_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/strobetest"
	"github.com/strobe-debug/strobe/internal/testadapter"
)

// TestGeneric runs real compilers and programs, and recordings of runners that have no adapter's machine format here.
func TestGeneric(t *testing.T) {
	p := strobetest.ProjectAt(strobetest.Suite(t, "generic"))
	strobetest.NeedCommand(t, "gcc", "rustc", "python3", "make", "sh")
	t.Setenv("LC_ALL", "C")
	for name, command := range map[string][]string{
		"tap":      {"sh", "tap.sh"},
		"automake": {"sh", "-c", "cat automake.txt; exit 2"},
		"runners":  {"sh", "-c", "cat runners.txt; exit 1"},
		"tsc":      {"sh", "-c", "cat tsc.txt >&2; exit 2"},
		"gcc":      {"gcc", "-c", "bad.c"},
		"rustc":    {"rustc", "--crate-type=lib", "bad.rs"},
		"python":   {"python3", "bad.py"},
		"assert":   {"sh", "-c", "gcc -o crash crash.c && exec ./crash"},
		"passes":   {"sh", "-c", "echo 3 passed, 0 failed"},
		"lies":     {"sh", "-c", "echo 'FAIL: one'"},
		"make":     nil,
	} {
		t.Run(name, func(t *testing.T) {
			events := strobetest.RunAdapter(t, testadapter.Generic{}, p, testadapter.Request{Command: command})
			golden(t, "generic/"+name+".txt", told(events), p.Root, "ROOT")
		})
	}
}

// TestGenericSelect: with a place for the name the command selects; without one all runs, and that is said.
func TestGenericSelect(t *testing.T) {
	p := strobetest.ProjectAt(strobetest.Suite(t, "generic"))
	a := testadapter.Generic{}
	r := testadapter.Request{Command: []string{"sh", "-c", `echo "PASS: $0"`, "{test}"}, Test: "one of 'them'"}
	if got := keys(ended(strobetest.RunAdapter(t, a, p, r))); !slices.Equal(got, []string{"one of 'them'"}) {
		t.Errorf("ran %q", got)
	}
	events := strobetest.RunAdapter(t, a, p,
		testadapter.Request{Command: []string{"sh", "-c", "echo PASS: a b; echo FAIL: c; exit 1"}, Test: "a b"})
	if got := keys(ended(events)); !slices.Equal(got, []string{"a b"}) ||
		!strings.Contains(notes(events), "all of it ran") {
		t.Errorf("told %q: %s", got, notes(events))
	}
}

func TestGenericFaults(t *testing.T) {
	empty := strobetest.ProjectAt(t.TempDir())
	for _, c := range []struct {
		r    testadapter.Request
		code fault.Code
	}{
		{testadapter.Request{}, fault.ValidationError},
		{testadapter.Request{Command: []string{"true"}, Level: testadapter.Unit}, fault.Unsupported},
	} {
		_, err := testadapter.Generic{}.Start(empty, &c.r, func(testadapter.Event) {})
		if f := new(fault.Error); !errors.As(err, &f) || f.Code != c.code {
			t.Errorf("Start(%+v) = %v", c.r, err)
		}
	}
}

// TestGenericTimeout: what was told before the end stays, and the command is what timed out.
func TestGenericTimeout(t *testing.T) {
	p := projectOf(mapFS(nil))
	events := replay(t, testadapter.Generic{}, p, testadapter.Request{Command: []string{"run"}},
		recorded{stdout: "PASS: one\nwaiting", exit: testadapter.Exit{TimedOut: true, Signal: "SIGKILL"}})
	golden(t, "generic/timeout.txt", told(events))
}

func FuzzGeneric(f *testing.F) {
	dir := filepath.Join(strobetest.Root(f), "testdata", "suites", "generic")
	for _, name := range []string{"tap.sh", "automake.txt", "runners.txt", "tsc.txt"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	p := projectOf(mapFS(nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		abuse(t, testadapter.Generic{}, p, testadapter.Request{Command: []string{"run"}}, data, testadapter.Exit{Code: 1})
		abuse(t, testadapter.Generic{}, p, testadapter.Request{Command: []string{"run"}, Test: "a"}, data, testadapter.Exit{})
	})
}
