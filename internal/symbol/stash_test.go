//go:build linux

package symbol

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// Sections of a compressed debug file are unpacked once, and not taken where what is kept is damaged.
func TestUnpackedSectionsAreKept(t *testing.T) {
	source := "int main(void) { return 0; }\n"
	for i := range 6000 {
		source += fmt.Sprintf("int f%d(int a, int b) { return a * b; }\n", i)
	}
	bin := strobetest.BuildSource(t, "c", "gcc-O0", "stash", source)
	dir := t.TempDir()
	prog, dbg := filepath.Join(dir, "prog"), filepath.Join(dir, "prog.debug")
	for _, c := range [][]string{
		{"objcopy", "--only-keep-debug", "--compress-debug-sections=zlib", bin, dbg},
		{"objcopy", "--strip-debug", "--add-gnu-debuglink=" + dbg, bin, prog},
	} {
		if out, err := exec.Command(c[0], c[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", c, err, out)
		}
	}
	cache := filepath.Join(dir, "cache")
	used := 0 // sections that were not unpacked
	line := func() int {
		t.Helper()
		m, err := Open(prog, Options{CacheDir: cache})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		if problems := m.Problems(); len(problems) > 0 {
			t.Fatal(problems)
		}
		for i := range m.Functions() {
			if f := &m.Functions()[i]; f.Name == "main" {
				_, n, ok := m.LineFor(f.Low)
				if !ok {
					t.Fatal("no line of main")
				}
				used = len(m.dbg.held.also)
				return n
			}
		}
		t.Fatal("no main")
		return 0
	}
	if n := line(); n != 1 || used != 0 {
		t.Errorf("main is at line %d, %d sections were there before", n, used)
	}
	kept, err := filepath.Glob(filepath.Join(cache, stashFolder, "*.debug_info-*"))
	if err != nil || len(kept) != 1 {
		t.Fatalf("kept %v, %v", kept, err)
	}
	data, release := openStash(kept[0])
	if release == nil {
		t.Fatal("what is kept cannot be read")
	}
	size := len(data)
	release()
	if n := line(); n != 1 || used == 0 {
		t.Errorf("main is at line %d with what is kept, of which %d sections were used", n, used)
	}
	for name, damage := range map[string]func(b []byte) []byte{
		"a changed byte": func(b []byte) []byte { b[size/2] ^= 1; return b },
		"cut short":      func(b []byte) []byte { return b[:size/2] },
		"empty":          func([]byte) []byte { return nil },
		"zeros":          func(b []byte) []byte { return make([]byte, len(b)) },
	} {
		whole, err := os.ReadFile(kept[0])
		if err == nil {
			err = os.WriteFile(kept[0], damage(whole), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		if n := line(); n != 1 {
			t.Errorf("%s: main is at line %d", name, n)
		}
		if again, release := openStash(kept[0]); release == nil || len(again) != size {
			t.Errorf("%s: what is kept was not made again: %d bytes", name, len(again))
		} else {
			release()
		}
	}
}
