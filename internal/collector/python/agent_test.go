package python

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/strobe-debug/strobe/internal/agentlink"
	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/strobetest"
)

// book is a sink that keeps calls as text.
type book struct {
	collector.Sink
	mu        sync.Mutex
	functions []event.Function
	threads   []event.Thread
	lines     []string
	logs      []string // what logpoints told
}

func (b *book) Function(f event.Function) event.FuncID {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.functions = append(b.functions, f)
	return event.FuncID(len(b.functions) - 1)
}

func (b *book) Thread(t event.Thread) event.ThreadID {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.threads = append(b.threads, t)
	return event.ThreadID(len(b.threads) - 1)
}

func (b *book) Events(batch []event.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range batch {
		if e.Kind == event.Logpoint {
			b.logs = append(b.logs, string(e.Payload))
		}
		if e.Kind.IsCall() {
			b.lines = append(b.lines, fmt.Sprintf("%s %s %s", e.Kind, b.functions[e.Func].Name, e.Payload))
		}
	}
}

func (b *book) Dropped(int64)         {}
func (b *book) Crash(collector.Crash) {}
func (b *book) Now() int64            { return time.Now().UnixNano() }
func (b *book) StartMono() int64      { return 0 }

// calls runs a program of testdata below an agent and returns what was recorded of it.
func calls(t *testing.T, interpreter, program, glob string) string {
	t.Helper()
	b := &book{}
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
	cmd.Env = append(os.Environ(), "PYTHONPATH="+dir, "PYTHONPYCACHEPREFIX="+t.TempDir(), agentlink.EnvFolder+"="+link.Dir())
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%s %s: %v, and it printed %q", interpreter, program, err, out)
	}
	link.Close()
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Join(b.lines, "\n")
}

// interpreters returns every CPython from 3.8 on that is installed here.
func interpreters(t *testing.T) []string {
	t.Helper()
	found, _ := filepath.Glob(filepath.Join(os.Getenv("HOME"), ".pyenv/versions/3.*/bin/python3"))
	if p, err := exec.LookPath("python3"); err == nil {
		found = append(found, p)
	}
	var able []string
	for _, p := range found {
		if exec.Command(p, "-c", "import sys; sys.exit(sys.version_info < (3, 8))").Run() == nil {
			able = append(able, p)
		}
	}
	if len(able) == 0 {
		strobetest.Lack(t, "no CPython 3.8 or newer is here")
	}
	return able
}

// TestVersionsAgree: both back ends, in all versions, tell the same of generators, context managers and tasks.
func TestVersionsAgree(t *testing.T) {
	var first, by string
	for _, p := range interpreters(t) {
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
