package acceptance

import (
	"slices"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// TestGoTestsThatDidNotRun: what comes after a test that takes its process down is told; go test is silent about it,
// and so were we.
func TestGoTestsThatDidNotRun(t *testing.T) {
	t.Parallel()
	strobetest.NeedCommand(t, "go")
	s := strobetest.Start(t, nil)
	dir := project(t, map[string]string{"go.mod": "module example.com/ends\n\ngo 1.21\n",
		"ends_test.go": "package ends\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\n" +
			"func TestA(t *testing.T) {}\n\nfunc TestB(t *testing.T) { os.Exit(3) }\n\nfunc TestC(t *testing.T) {}\n\nfunc " +
			"TestD(t *testing.T) {}\n\nfunc BenchmarkE(b *testing.B) {}\n"})
	r := runTests(t, s, args{"projectRoot": dir, "waitMs": 60000})
	if summary(r) != [3]int{1, 1, 0} || !slices.Contains(r.Result.Notes,
		"2 tests of example.com/ends did not run: its process ended before: TestC, TestD") {
		t.Errorf("%+v %+v", r, r.Result)
	}
}
