//go:build linux && amd64

package hunt

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

func searched(t *testing.T, p *Program, o RaceOptions) *Races {
	t.Helper()
	r, err := FindRaces(context.Background(), p, o)
	if err != nil {
		t.Fatal(err)
	}
	b, _ := json.Marshal(r)
	t.Logf("%s", b)
	return r
}

// TestRaces: the lines that race by their programs' own comments, and no others.
func TestRaces(t *testing.T) {
	for file, variables := range map[string]string{
		"counter.c": "hits", "halflocked.c": "head", "stats.cc": "st.n st.sum", "publish.c": "ready published",
		"rare.c": "errors", "bits.c": "flags.a",
	} {
		t.Run(file, func(t *testing.T) {
			p := built(t, filepath.Join("races", file))
			source, err := os.ReadFile(filepath.Join("testdata", "races", file))
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(string(source), "\n")
			r := searched(t, p, RaceOptions{Within: time.Minute})
			found := map[string]bool{}
			for _, race := range r.Races {
				if race.Atomic {
					t.Errorf("told as an atomic: %+v", race)
				}
				found[race.Variable] = true
				for _, a := range []*Access{&race.Held, race.Other} {
					if a != nil && (a.Line == 0 || !strings.Contains(lines[a.Line-1], "// races")) {
						t.Errorf("%+v: line %d has no race", race, a.Line)
					}
				}
			}
			for _, v := range strings.Fields(variables) {
				if !found[v] {
					t.Errorf("the race on %s was not found", v)
				}
			}
			one := strings.Fields(variables)[0]
			name, _, _ := strings.Cut(one, ".")
			for _, race := range searched(t, p, RaceOptions{Within: 2 * time.Second, On: name}).Races {
				if !strings.HasPrefix(race.Variable, name) {
					t.Errorf("on %s: %+v", name, race)
				}
			}
			if _, err := FindRaces(t.Context(), p, RaceOptions{On: "nowhere"}); err == nil {
				t.Error("races on a variable that is not there were looked for")
			}
		})
	}
}

// TestNoRaces: what is right is not told as wrong, and ends as by itself.
func TestNoRaces(t *testing.T) {
	for file, ends := range map[string]string{"races/clean.c": "exit code 3", "races/atomics.cc": "exit code 0",
		"1_right.c": "exit code 0", "2_right.c": "exit code 0", "5_right.cc": "exit code 0", "8_right.cc": "exit code 0"} {
		t.Run(file, func(t *testing.T) {
			r := searched(t, built(t, file), RaceOptions{Within: 20 * time.Second})
			for _, race := range r.Races {
				if !race.Atomic {
					t.Errorf("told: %+v", race)
				}
			}
			if r.Ends != ends || r.Holds == 0 {
				t.Errorf("it ends with %s, after %d holds", r.Ends, r.Holds)
			}
		})
	}
}

// TestInside: of a command, the program of the project with the most threads, as the command begins it.
func TestInside(t *testing.T) {
	two, alone := built(t, "6_uaf.c"), strobetest.BuildSource(t, "c", "gcc-O1", "hunt-one", "int main(void) { return 0; }\n")
	dir := t.TempDir()
	root, err := strobetest.CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	script := &Program{Path: "/bin/sh", Dir: "/", Env: os.Environ(), Root: root, Args: []string{"-c",
		`A=b "$0" && cd "$1" && C=d exec "$2" x 'y z'`, alone, dir, two.Path}}
	p, what, err := Inside(t.Context(), script)
	if err != nil {
		t.Fatal(err)
	}
	if p.Path != two.Path || !slices.Equal(p.Args, []string{"x", "y z"}) || p.Dir != dir || p.Root != root ||
		!slices.Contains(p.Env, "C=d") || slices.Contains(p.Env, "A=b") || !strings.Contains(what, two.Path) {
		t.Errorf("%s: %+v", what, p)
	}
	if p, what, err := Inside(t.Context(), two); err != nil || p != two || what != "" {
		t.Errorf("of a program: %+v, %q, %v", p, what, err)
	}
	script.Args = []string{"-c", "/bin/true; /bin/echo"}
	if _, _, err := Inside(t.Context(), script); err == nil || !strings.Contains(err.Error(), "none of the 3 programs") {
		t.Errorf("of a command that runs nothing of the project: %v", err)
	}
}
