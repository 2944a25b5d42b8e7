package page

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// maxPage is how large the page may be in all.
const maxPage = 500_000

// TestPageIsFresh: what is embedded is what web/ makes, whose types are right in make soak.
func TestPageIsFresh(t *testing.T) {
	strobetest.NeedTime(t)
	strobetest.NeedCommand(t, "make", "node")
	goals, packages := []string{"all"}, []string{"esbuild@0.28.2"}
	if strobetest.Soaks(t, "the types of web/") {
		goals, packages = append(goals, "check"), append(packages, "typescript@5.9.3")
	}
	modules := strobetest.NodePackages(t, packages...)
	web, out := t.TempDir(), t.TempDir()
	if err := os.CopyFS(filepath.Join(web, "src"), os.DirFS("../../web/src")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"Makefile", "tsconfig.json", "package.json"} {
		b, err := os.ReadFile("../../web/" + name)
		if err == nil {
			err = os.WriteFile(filepath.Join(web, name), b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(modules, filepath.Join(web, "node_modules")); err != nil {
		t.Fatal(err)
	}
	for _, goal := range goals {
		cmd := exec.Command("make", "-C", web, "-o", "node_modules", "OUT="+out, goal)
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("make %s: %v\n%s", goal, err, said)
		}
	}
	made, err := os.ReadDir(out)
	if err != nil {
		t.Fatal(err)
	}
	have, err := fs.ReadDir(files, "dist")
	if err != nil {
		t.Fatal(err)
	}
	if len(made) != len(have) {
		t.Errorf("%d files are made, %d embedded", len(made), len(have))
	}
	size := 0
	for _, f := range made {
		want, err := os.ReadFile(filepath.Join(out, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		got, err := files.ReadFile("dist/" + f.Name())
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not of web/: make -C web (%v)", f.Name(), err)
		}
		size += len(want)
	}
	if size > maxPage {
		t.Errorf("the page has %d bytes, more than %d", size, maxPage)
	}
}
