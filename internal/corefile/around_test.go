//go:build linux && amd64

package corefile

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/strobetest"
)

// What is wrong with the files around a core is said, and costs no more than it must.
func TestFilesThatAreNotThere(t *testing.T) {
	program := strobetest.BuildSource(t, "c", "gcc-O0", "dies", threadsSource, "-Wl,--build-id")
	core := kernelCore(t, program, "1")
	dir := t.TempDir()
	ask := func(binary, core string) (*Core, error) {
		c, err := New("", dir, nil).OpenCore(context.Background(),
			collector.CoreRequest{Core: core, Binary: binary, ProjectRoot: dir})
		if err != nil {
			return nil, err
		}
		t.Cleanup(func() { c.Close() })
		return c.(*Core), nil
	}
	other := strobetest.BuildSource(t, "c", "gcc-O2", "dies", threadsSource, "-Wl,--build-id")
	if _, err := ask(other, core); fault.CodeOf(err) != fault.ValidationError ||
		strings.Count(err.Error(), "build-id") != 1 || !strings.Contains(err.Error(), "Give "+program) {
		t.Errorf("another build: %v", err)
	}
	moved := filepath.Join(dir, "moved")
	data, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(moved, data, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := ask(moved, core)
	if err != nil {
		t.Fatal(err)
	}
	if k := crash(t, c); k.Function != "deref" || k.Line != 17 {
		t.Errorf("moved: %s:%d", k.Function, k.Line)
	}
	readGlobals(t, c, false)

	// Half of the core: the stack, at its end, is gone.
	raw, err := os.ReadFile(core)
	if err != nil {
		t.Fatal(err)
	}
	half := filepath.Join(dir, "half")
	if err := os.WriteFile(half, raw[:len(raw)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	if c, err = ask(program, half); err != nil {
		t.Fatal(err)
	}
	if w := strings.Join(c.Describe().Warnings, "\n"); !strings.Contains(w, "cut off") {
		t.Errorf("warnings = %s", w)
	}
	if k := crash(t, c); k.Signal != "SIGSEGV" || len(k.Backtrace) == 0 || k.Backtrace[0].Function != "deref" {
		t.Errorf("half: %+v", k.Backtrace)
	}

	packed := filepath.Join(dir, "core.zst")
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	small := enc.EncodeAll(raw, nil)
	if err := os.WriteFile(packed, small, 0o600); err != nil {
		t.Fatal(err)
	}
	if c, err = ask(program, packed); err != nil {
		t.Fatal(err)
	}
	if k := crash(t, c); k.Function != "deref" {
		t.Errorf("packed: %s", k.Function)
	}
	for name, tc := range map[string]struct {
		data []byte
		code fault.Code
	}{
		"cut.zst":  {small[:len(small)/2], fault.LaunchFailed},
		"core.lz4": {[]byte("\x04\x22\x4d\x18xxxx"), fault.Unsupported},
		"core.xz":  {[]byte("\xfd7zXZ\x00xx"), fault.Unsupported},
		"core.gz":  {[]byte("\x1f\x8bxxxx"), fault.LaunchFailed},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, tc.data, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ask(program, path); fault.CodeOf(err) != tc.code || fault.From(err).Hint == "" {
			t.Errorf("%s: %v, want %s", name, err, tc.code)
		}
	}
	if _, err := ask(program, filepath.Join(dir, "none")); fault.CodeOf(err) != fault.LaunchFailed {
		t.Errorf("no core: %v", err)
	}
	if _, err := ask(core, program); fault.CodeOf(err) != fault.ValidationError {
		t.Errorf("swapped: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "core-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

const libSource = `__attribute__((noinline)) int lib_read(int *p) { return *p; }
int lib_call(int n) { return lib_read((int *)(long)n) + 1; }
`

const usesSource = `int lib_call(int);
int main(int argc, char **argv) { (void)argv; return lib_call(argc - 1); }
`

// A library that is gone or was built again costs its names only, and is said.
func TestLibraries(t *testing.T) {
	strobetest.NeedCommand(t, "gcc")
	dir := t.TempDir()
	build := func(args ...string) {
		t.Helper()
		if out, err := exec.Command("gcc", append([]string{"-g", "-O0", "-Wl,--build-id"},
			args...)...).CombinedOutput(); err != nil {
			t.Fatalf("gcc: %v\n%s", err, out)
		}
	}
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	so, program := filepath.Join(dir, "libcallee.so"), filepath.Join(dir, "uses")
	build("-shared", "-fPIC", write("lib.c", libSource), "-o", so)
	build(write("uses.c", usesSource), so, "-o", program)
	core := kernelCore(t, program)
	k := crash(t, open(t, program, core))
	if k.Function != "lib_read" || k.Line != 1 || len(k.own("lib.c")) != 2 || len(k.own("uses.c")) != 1 {
		t.Errorf("with the library: %s %+v", k.Function, k.Backtrace)
	}
	keep := filepath.Join(dir, "sysroot")
	if err := os.Mkdir(keep, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(so, filepath.Join(keep, "libcallee.so")); err != nil {
		t.Fatal(err)
	}
	lacks := func(says string) {
		t.Helper()
		c := open(t, program, core)
		if w := strings.Join(c.Describe().Warnings, "\n"); !strings.Contains(w, "libcallee.so") ||
			!strings.Contains(w, says) || len(c.Describe().Warnings) != 1 {
			t.Errorf("warnings = %s, want %q", w, says)
		}
		if k := crash(t, c); k.Signal != "SIGSEGV" || !slices.Equal(k.own("uses.c"), []string{"2"}) {
			t.Errorf("without the library: %+v", k.Backtrace)
		}
	}
	lacks("no such file")
	build("-O2", "-shared", "-fPIC", filepath.Join(dir, "lib.c"), "-o", so)
	lacks("another version: build-id ")
	c, err := New("", dir, nil).OpenCore(context.Background(),
		collector.CoreRequest{Core: core, Binary: program, ProjectRoot: dir, SymbolsPath: keep})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if k := crash(t, c.(*Core)); k.Function != "lib_read" || len(c.Describe().Warnings) != 0 {
		t.Errorf("with symbolsPath: %s %q", k.Function, c.Describe().Warnings)
	}
}

// A core of 64 threads.
func TestSixtyFourThreads(t *testing.T) {
	program := strobetest.BuildSource(t, "c", "gcc-O0", "dies", threadsSource)
	core := kernelCore(t, program, "63")
	start := time.Now()
	c := open(t, program, core)
	opened := time.Since(start)
	crash(t, c)
	t.Logf("64 threads: opened in %v, crash after %v", opened, time.Since(start))
}
