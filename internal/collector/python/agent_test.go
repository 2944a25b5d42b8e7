package python

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/strobe-debug/strobe/internal/agentlink"
	"github.com/strobe-debug/strobe/internal/strobetest"
)

// calls runs a program of testdata below an agent and returns what was recorded of it.
func calls(t *testing.T, interpreter, program, glob string) string {
	t.Helper()
	return callsBy(t, interpreter, program, agentlink.Rule{ID: 1, On: "name", Glob: glob, Depth: 3})
}

func callsBy(t *testing.T, interpreter, program string, rule agentlink.Rule) string {
	t.Helper()
	b := strobetest.NewBook()
	link, err := agentlink.Listen(agentlink.Options{Sink: b, Depth: 3})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	root, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	set := agentlink.Set{Gen: 1, Root: root, OnFull: "wait", Rules: []agentlink.Rule{rule}}
	if err := link.Apply(ctx, set); err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.Abs("agent")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, interpreter, filepath.Join("testdata", program))
	cmd.Env = append(os.Environ(), "PYTHONPATH="+dir, "PYTHONPYCACHEPREFIX="+t.TempDir(), agentlink.EnvFolder+"="+
		link.Dir())
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%s %s: %v, and it printed %q", interpreter, program, err, out)
	}
	link.Close()
	return b.Calls()
}

// TestVersionsAgree: both back ends, in all versions, tell the same of generators, context managers and tasks.
func TestVersionsAgree(t *testing.T) {
	for program, known := range map[string][]string{
		"lanes":  {`lanes.helper {"x":"caught"}`, `lanes.helper {"x":9}`},
		"nested": {`nested.leaf {"x":"one rests"}`, `nested.leaf {"x":"end"}`},
	} {
		var first, by string
		for _, in := range strobetest.Pythons(t) {
			p := in.Path
			got := calls(t, p, program+".py", program+".**")
			for _, want := range known {
				if !strings.Contains(got, want) {
					t.Errorf("%s recorded no %s in\n%s", p, want, got)
				}
			}
			if first == "" {
				first, by = got, p
			}
			if diff := cmp.Diff(first, got); diff != "" {
				t.Errorf("%s and %s differ:\n%s", by, p, diff)
			}
		}
	}
}

// TestOwnTypes: members that the user's types have in common with exceptions in C are told, types die as without us and
// keys of theirs are never compared.
func TestOwnTypes(t *testing.T) {
	for _, in := range strobetest.Pythons(t) {
		got := calls(t, in.Path, "owntypes.py", "owntypes.**")
		for _, want := range []string{`"v":{"end":5,"start":3,"text":"t"}`, `"v":{"start":1,"stop":2,"step":null}`} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %s in\n%.2000s", in.Name, want, got)
			}
		}
	}
}

// TestCells: functions of a notebook's cells are the user's, though they are in no file below the root.
func TestCells(t *testing.T) {
	for _, in := range strobetest.Pythons(t) {
		got := callsBy(t, in.Path, "cells.py", agentlink.Rule{ID: 1, On: "user", Depth: 3})
		want := []string{"cells.run"}
		if in.Name == "3.12" || in.Name == "3.13" || in.Name == "3.14" {
			want = append(want, `cells.in_cell {"x":4}`)
		}
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("%s: no %s in\n%s", in.Name, w, got)
			}
		}
		if strings.Contains(got, "cells.elsewhere") {
			t.Errorf("%s: what is in no file is not all the user's:\n%s", in.Name, got)
		}
	}
}

// TestEndCompilesNothing: at the end of a program nothing is put back, which would take as long as its start.
func TestEndCompilesNothing(t *testing.T) {
	for _, in := range strobetest.Pythons(t) {
		calls(t, in.Path, "ends.py", "ends.**")
	}
}

// TestWideValues: a function that is handed a large graph in each call tells all of it at first, then what is near; the
// next function has its first call told whole.
func TestWideValues(t *testing.T) {
	for _, in := range strobetest.Pythons(t)[:1] {
		var walks, onces []string
		large := 0
		for line := range strings.Lines(calls(t, in.Path, "wide.py", "wide.**")) {
			if strings.Contains(line, `wide.walk {"node"`) {
				walks = append(walks, line)
				if len(line) > 1000 {
					large++
				}
			}
			if strings.Contains(line, "wide.once {") {
				onces = append(onces, line)
			}
		}
		if len(walks) != 3000 || len(onces) != 1 || !strings.Contains(walks[2999], `"text":"text 2999","flag":false`) ||
			!strings.Contains(walks[2999], `"id":59,"label":"node 59"`) {
			t.Fatalf("%s: %d walks, the last %q", in.Name, len(walks), walks[max(0, len(walks)-1):])
		}
		if large > 30 { // 51 of a budget that made programs twenty times slower
			t.Errorf("%s: %d calls are told at length", in.Name, large)
		}
		if first, last, whole := len(walks[0]), len(walks[2999]), len(onces[0]); first < 4000 || last > 600 || whole < 4000 {
			t.Errorf("%s: %d bytes in the first call, %d in the last, %d in the other's", in.Name, first, last, whole)
		}
	}
}

// TestFieldsInOrder: what tells an object from others stands before names that are its own business.
func TestFieldsInOrder(t *testing.T) {
	for _, in := range strobetest.Pythons(t)[:1] {
		got := calls(t, in.Path, "order.py", "order.show")
		for _, want := range []string{
			`"v":{"method":"GET","path":"/items/7","environ":{"HOME":"/"},"_state":"private"}`,
			`"v":{"id":1,"name":"row 1","_state":{"adding":false}}`,
		} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %s in\n%s", in.Name, want, got)
			}
		}
	}
}

// TestLibraries: objects of frameworks and frames of data say what they are.
func TestLibraries(t *testing.T) {
	if !strobetest.Soaks(t, "pandas, Django, Starlette and SQLAlchemy") {
		return
	}
	python := strobetest.PythonWith(t, "pandas==3.1.1", "django==5.2.19", "starlette==1.10.0", "sqlalchemy==2.1.9")
	got := calls(t, python, "libraries.py", "libraries.show")
	for _, want := range []string{
		`"t":"pandas.DataFrame","v":"(2, 2) day, store"`, `"t":"pandas.Series","v":"(2,) float64 [1.5, 2.0]"`,
		`"t":"numpy.ndarray","v":"(3,) int64 [0, 1, 2]"`, `"t":"numpy.ndarray","v":"(9,) int64"`,
		`"v":{"method":"GET","path":"/items/7",`, `"v":{"status_code":201,"_container":[`,
		`"v":{"method":"PUT","path":"/b",`, `"v":{"id":7,"note":"n","_sa_instance_state":{"$":"depth"`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
}
