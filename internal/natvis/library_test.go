package natvis

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TestLibraryOfFilesThatAreNone: a pipe, a directory and a file that is too large are told, and nothing waits for them.
func TestLibraryOfFilesThatAreNone(t *testing.T) {
	root := t.TempDir()
	good := `<AutoVisualizer><Type Name="a"><DisplayString>b</DisplayString></Type></AutoVisualizer>`
	for name, data := range map[string][]byte{"good.natvis": []byte(good),
		"large.natvis": bytes.Repeat([]byte(" "), MaxFile+1)} {
		if err := os.WriteFile(filepath.Join(root, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(root, "pipe.natvis"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/zero", filepath.Join(root, "endless.natvis")); err != nil {
		t.Fatal(err)
	}
	s := NewLibrary("").For(root)
	if len(s.Files) != 1 {
		t.Errorf("%d files read, want 1", len(s.Files))
	}
	all := strings.Join(s.Summary(), "\n")
	for _, part := range []string{"pipe.natvis", "a named pipe", "endless.natvis", "large.natvis"} {
		if !strings.Contains(all, part) {
			t.Errorf("%q is not told: %s", part, all)
		}
	}
}

// TestLibraryOfLargeProjects: that not all of a large project was looked through is told where it has descriptions, and
// nowhere else.
func TestLibraryOfLargeProjects(t *testing.T) {
	root := t.TempDir()
	for i := range maxEntries + 1 {
		if err := os.Mkdir(filepath.Join(root, "f"+strconv.Itoa(i)), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if said := NewLibrary("").For(root).Summary(); len(said) != 0 {
		t.Errorf("a project without descriptions is told %q", said)
	}
	good := `<AutoVisualizer><Type Name="a"><DisplayString>b</DisplayString></Type></AutoVisualizer>`
	if err := os.WriteFile(filepath.Join(root, "a.natvis"), []byte(good), 0o600); err != nil {
		t.Fatal(err)
	}
	if all := strings.Join(NewLibrary("").For(root).Summary(), "\n"); !strings.Contains(all, "looked through") {
		t.Errorf("what was not looked through is not told: %s", all)
	}
}
