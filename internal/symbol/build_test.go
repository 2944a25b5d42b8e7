package symbol

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

func TestMain(m *testing.M) {
	panicsPass = true
	code := m.Run()
	if builtDir != "" {
		os.RemoveAll(builtDir)
	}
	os.Exit(code)
}

var (
	builtMu  sync.Mutex
	builtDir string
	built    = map[string]string{}
)

// build compiles a source of testdata once per command line and returns the program's path.
func build(t testing.TB, source string, compiler string, flags ...string) string {
	t.Helper()
	strobetest.NeedTime(t)
	builtMu.Lock()
	defer builtMu.Unlock()
	key := strings.Join(append([]string{source, compiler}, flags...), " ")
	if p, ok := built[key]; ok {
		return p
	}
	if builtDir == "" {
		dir, err := os.MkdirTemp("", "symbol-test-")
		if err != nil {
			t.Fatal(err)
		}
		builtDir = dir
	}
	dir, err := os.MkdirTemp(builtDir, "b")
	if err != nil {
		t.Fatal(err)
	}
	src, err := filepath.Abs(filepath.Join("testdata", source))
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "prog")
	args := append(append([]string{}, flags...), "-o", out, src)
	cmd := exec.Command(compiler, args...)
	cmd.Dir = dir
	if b, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", key, err, b)
	}
	built[key] = out
	return out
}

func run(t testing.TB, name string, args ...string) string {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.Command(name, args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, stderr.String())
	}
	return string(out)
}

func open(t testing.TB, path string, o Options) *Module {
	t.Helper()
	m, err := Open(path, o)
	if err != nil {
		t.Fatalf("Open(%s): %v", path, err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// byName returns the functions of that name.
func byName(m *Module, name string) []*Function {
	var out []*Function
	for i := range m.Functions() {
		if m.Functions()[i].Name == name {
			out = append(out, &m.Functions()[i])
		}
	}
	return out
}

func one(t testing.TB, m *Module, name string) *Function {
	t.Helper()
	fs := byName(m, name)
	if len(fs) != 1 {
		t.Fatalf("%d functions are named %q, want 1; have %s", len(fs), name, strings.Join(names(m), " | "))
	}
	return fs[0]
}

func names(m *Module) []string {
	var out []string
	for _, f := range m.Functions() {
		if f.HasDWARF {
			out = append(out, f.Name)
		}
	}
	return out
}
