package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

func TestProjectOf(t *testing.T) {
	root := strobetest.Root(t)
	built := strobetest.Build(t, "ending", "gcc-O0") // in a cache, from testdata/targets
	old := strobetest.Build(t, "ending", "gcc-O2-dwarf4")
	tmp, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	bare := filepath.Join(tmp, "bin", "bare")
	if err := os.MkdirAll(filepath.Dir(bare), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(bare, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	empty := t.TempDir()
	targets := strobetest.TargetsDir(t)
	for _, c := range []struct{ name, dir, command, want string }{
		{"program below the directory", tmp, "bin/bare", tmp},
		{"program in the directory", filepath.Dir(bare), "./bare", filepath.Dir(bare)},
		{"source below the directory", filepath.Join(targets, "c"), built, repository(filepath.Join(targets, "c"))},
		{"both elsewhere", empty, built, repository(filepath.Join(targets, "c"))},
		{"both elsewhere, DWARF 4", empty, old, repository(filepath.Join(targets, "c"))},
		{"no debug information", empty, bare, filepath.Dir(bare)},
		{"from PATH", tmp, "sh", tmp},
		{"missing", tmp, "./none", tmp},
	} {
		if got := projectOf(c.dir, c.command); got != c.want {
			t.Errorf("%s: projectOf(%s, %s) = %s, want %s", c.name, c.dir, c.command, got, c.want)
		}
	}
	if !under(root, repository(targets)) {
		t.Logf("the tree is no repository of its own: %s", repository(targets))
	}
}

// FuzzSourcesOf reads programs of which a part was overwritten.
func FuzzSourcesOf(f *testing.F) {
	good, err := os.ReadFile(strobetest.Build(f, "ending", "gcc-O0"))
	if err != nil {
		f.Fatal(err)
	}
	for at := 0; at < len(good); at += len(good) / 64 {
		f.Add(at, []byte{0xff, 0xff, 0xff, 0x7f, 0})
	}
	path := filepath.Join(f.TempDir(), "program")
	f.Fuzz(func(t *testing.T, at int, b []byte) {
		bad := append([]byte{}, good...)
		copy(bad[(at%len(bad)+len(bad))%len(bad):], b)
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		sourcesOf(path)
	})
}
