//go:build linux

package symbol

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// The folder of indexes stays within its limit, and keeps those that were used last. It was never pruned: each build of
// a program added one.
func TestCacheIsPruned(t *testing.T) {
	dir := t.TempDir()
	start := time.Now().Add(-time.Hour)
	for i := range 20 {
		name := filepath.Join(dir, string(rune('a'+i)))
		if err := os.WriteFile(name, make([]byte, 100), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(name, start, start.Add(time.Duration(i)*time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	noteUse(filepath.Join(dir, "a"))
	left := func() string {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		names := ""
		for _, e := range entries {
			names += e.Name()
		}
		return names
	}
	if pruneCache(dir, 2000); len(left()) != 20 {
		t.Errorf("within the limit, %s are left", left())
	}
	if pruneCache(dir, 1000); left() != "aopqrst" || !strings.Contains(left(), "a") || !strings.Contains(left(), "t") {
		t.Errorf("over the limit, %s are left", left())
	}
}

// A module that nobody has any more gives its mapping back by itself: programs are rebuilt, and the daemon stays.
func TestMappingOfAnOldBuildIsGivenBack(t *testing.T) {
	bin := strobetest.BuildSource(t, "c", "gcc-O0", "rebuilt", "int main(void) { return 0; }\n")
	copied := filepath.Join(t.TempDir(), "rebuilt-program")
	b, err := os.ReadFile(bin)
	if err == nil {
		err = os.WriteFile(copied, b, 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	mapped := func() bool {
		maps, err := os.ReadFile("/proc/self/maps")
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(string(maps), copied)
	}
	func() {
		m, err := Open(copied, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.BytesAt(m.Functions()[0].Low, 1); err != nil || !mapped() {
			t.Errorf("an open module: %v, mapped %v", err, mapped())
		}
		runtime.KeepAlive(m)
	}()
	strobetest.Eventually(t, time.Minute, "the mapping to go", func() bool { runtime.GC(); return !mapped() })
}
