package store

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"
)

func testIndex(t testing.TB) *Index {
	t.Helper()
	x, err := OpenIndex(filepath.Join(t.TempDir(), "index.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return x
}

func addResults(t testing.TB, x *Index, run, tests int) {
	t.Helper()
	var results []TestResult
	for i := range tests {
		results = append(results, TestResult{Test: fmt.Sprintf("tests/test_some.py::TestOf::test_number_%d", i),
			Duration: time.Duration(run), Status: "passed"})
	}
	if err := x.AddTestResults(t.Context(), "/project", "pytest", time.Unix(int64(run), 0), results); err != nil {
		t.Fatal(err)
	}
}

// TestBaselinesForget: of each test the newest 20 results are told, however many run at once, and there are never many
// more.
func TestBaselinesForget(t *testing.T) {
	for _, tests := range []int{1, 2*fewResults + 50} {
		x := testIndex(t)
		for run := 1; run <= 2*keptResults+spare; run++ {
			addResults(t, x, run, tests)
			b, err := x.Baselines(t.Context(), "/project", "pytest")
			if err != nil || len(b) != tests {
				t.Fatalf("run %d: %d tests, %v; want %d", run, len(b), err, tests)
			}
			for name, one := range b {
				if want := min(run, keptResults); len(one.Statuses) != want || len(one.Durations) != want ||
					one.Durations[0] != time.Duration(run) {
					t.Fatalf("run %d: %s has %d results, the newest of run %d", run, name, len(one.Statuses), one.Durations[0])
				}
			}
			var all int
			if err := x.db.QueryRowContext(t.Context(), "SELECT count(*) FROM test_results").Scan(&all); err != nil ||
				all > tests*(keptResults+spare) {
				t.Fatalf("run %d: %d rows of %d tests are kept (%v)", run, all, tests, err)
			}
		}
	}
}

// BenchmarkAddTestResults is what a run of 1,000 tests pays at its end.
func BenchmarkAddTestResults(b *testing.B) {
	x := testIndex(b)
	run := 0
	for ; run < keptResults; run++ {
		addResults(b, x, run, 1000)
	}
	b.ReportAllocs()
	for b.Loop() {
		addResults(b, x, run, 1000)
		run++
	}
}

// BenchmarkBaselines is what it pays at its begin.
func BenchmarkBaselines(b *testing.B) {
	x := testIndex(b)
	for run := range keptResults {
		addResults(b, x, run, 1000)
	}
	for b.Loop() {
		if _, err := x.Baselines(b.Context(), "/project", "pytest"); err != nil {
			b.Fatal(err)
		}
	}
}
