package acceptance

import (
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// TestGoLimit: the limit of a command that compiles before it runs tests is that of its tests; it was the compiler's,
// of half an hour.
func TestGoLimit(t *testing.T) {
	t.Parallel()
	strobetest.NeedCommand(t, "go")
	s := strobetest.Start(t, nil)
	dir := project(t, map[string]string{"go.mod": "module example.com/hangs\n\ngo 1.21\n",
		"hangs_test.go": "package hangs\n\nimport \"testing\"\n\nfunc TestHangs(t *testing.T) {\n\tfor {\n\t}\n}\n"})
	r := runTests(t, s, args{"projectRoot": dir, "timeout": 2000, "waitMs": 60000})
	if r.Status != "completed" || r.Result.Summary.Failed != 1 || r.Result.Failures[0].Status != "timeout" ||
		r.Result.Summary.Stuck != 1 ||
		!strings.Contains(r.Result.Stuck[0].Diagnosis, "time is up") {
		t.Errorf("%+v %+v", r, r.Result)
	}
}
