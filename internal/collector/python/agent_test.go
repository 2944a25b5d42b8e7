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
	b := strobetest.NewBook()
	link, err := agentlink.Listen(agentlink.Options{Sink: b, Depth: 3})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	set := agentlink.Set{Gen: 1, OnFull: "wait", Rules: []agentlink.Rule{{ID: 1, On: "name", Glob: glob, Depth: 3}}}
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
	var first, by string
	for _, in := range strobetest.Pythons(t) {
		p := in.Path
		got := calls(t, p, "lanes.py", "lanes.**")
		if !strings.Contains(got, `lanes.helper {"x":"caught"}`) || !strings.Contains(got, `lanes.helper {"x":9}`) {
			t.Errorf("%s recorded\n%s", p, got)
		}
		if first == "" {
			first, by = got, p
		}
		if diff := cmp.Diff(first, got); diff != "" {
			t.Errorf("%s and %s differ:\n%s", by, p, diff)
		}
	}
}
