package page

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// maxPage is how large the page may be in all.
const maxPage = 500_000

// TestPageIsFresh: what is embedded is what web/ makes, whose types are right in make soak.
func TestPageIsFresh(t *testing.T) {
	strobetest.NeedTime(t)
	goals, packages := []string{"all"}, []string{"esbuild@0.28.2"}
	if strobetest.Soaks(t, "the types of web/") {
		goals, packages = append(goals, "check"), append(packages, "typescript@5.9.3")
	}
	out := strobetest.MakeBundles(t, "../../web", packages, goals...)
	made, err := os.ReadDir(out)
	if err != nil {
		t.Fatal(err)
	}
	have := files()
	if len(made) != len(have) {
		t.Errorf("%d files are made, %d embedded", len(made), len(have))
	}
	size := 0
	for _, f := range made {
		want, err := os.ReadFile(filepath.Join(out, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := have[f.Name()]; !ok || !bytes.Equal(got, want) {
			t.Errorf("%s is not of web/: make -C web, and go test -run Packed ./internal/page -update", f.Name())
		}
		size += len(want)
	}
	if size > maxPage {
		t.Errorf("the page has %d bytes, more than %d", size, maxPage)
	}
}
