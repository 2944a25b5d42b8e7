package testrun

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/strobe-debug/strobe/internal/testadapter"
)

// placed is a test whose files are named from the project's root on. Where the tests are a package's of a repository
// with several, the adapter names them from that package on.
func (r *Run) placed(t *testadapter.Test) *testadapter.Test {
	if r.Detected.Dir == "" || r.Detected.Dir == "." {
		return t
	}
	one := *t
	one.File, one.Failures = r.place(t.File), slices.Clone(t.Failures)
	for i := range one.Failures {
		f := &one.Failures[i]
		f.File, f.Stack = r.place(f.File), slices.Clone(f.Stack)
		for j := range f.Stack {
			f.Stack[j].File = r.place(f.Stack[j].File)
		}
	}
	return &one
}

func (r *Run) place(file string) string {
	if file == "" || filepath.IsAbs(file) {
		return file
	}
	whole := filepath.Join(r.Detected.Dir, file)
	if _, err := os.Stat(filepath.Join(r.Request.ProjectRoot, whole)); err != nil {
		return file
	}
	return whole
}
