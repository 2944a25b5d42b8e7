package store

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// keptResults is how many results of a test are remembered.
const keptResults = 20

// TestResult is how one test ended in one run.
type TestResult struct {
	Test     string // its ID
	Duration time.Duration
	Status   string // passed, failed, skipped
}

// Baseline is what is remembered of a test's last 20 results.
type Baseline struct {
	Durations []time.Duration // of those that passed, newest first
	Statuses  []string        // newest first
}

// Median is the middle of the last ten durations of passed runs; 0: there are none.
func (b *Baseline) Median() time.Duration {
	d := slices.Clone(b.Durations[:min(len(b.Durations), 10)])
	if len(d) == 0 {
		return 0
	}
	slices.Sort(d)
	return d[len(d)/2]
}

// AddTestResults remembers a run's results and forgets each test's oldest beyond 20.
func (x *Index) AddTestResults(ctx context.Context, project, framework string, at time.Time, results []TestResult) error {
	tx, err := x.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("remember test results: %w", writeFault(x.path, err))
	}
	defer tx.Rollback() //nolint:errcheck // after a commit there is nothing to undo
	for _, r := range results {
		_, err = tx.ExecContext(ctx, "INSERT OR REPLACE INTO test_results VALUES(?,?,?,?,?,?)", project, framework, r.Test, at.UnixNano(), int64(r.Duration), r.Status)
		if err == nil {
			_, err = tx.ExecContext(ctx, "DELETE FROM test_results WHERE project=? AND framework=? AND test=? AND at_ns <= (SELECT at_ns FROM test_results WHERE project=? AND framework=? AND test=? ORDER BY at_ns DESC LIMIT 1 OFFSET ?)",
				project, framework, r.Test, project, framework, r.Test, keptResults)
		}
		if err != nil {
			return fmt.Errorf("remember the result of %s: %w", r.Test, writeFault(x.path, err))
		}
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("remember test results: %w", writeFault(x.path, err))
	}
	return nil
}

// Baselines returns what is remembered of a project's tests of one framework, by test.
func (x *Index) Baselines(ctx context.Context, project, framework string) (map[string]Baseline, error) {
	rows, err := x.db.QueryContext(ctx, "SELECT test, duration_ns, status FROM test_results WHERE project=? AND framework=? ORDER BY test, at_ns DESC", project, framework)
	if err != nil {
		return nil, fmt.Errorf("read test results: %w", err)
	}
	defer rows.Close()
	out := map[string]Baseline{}
	for rows.Next() {
		var r TestResult
		if err := rows.Scan(&r.Test, &r.Duration, &r.Status); err != nil {
			return nil, fmt.Errorf("read test results: %w", err)
		}
		b := out[r.Test]
		b.Statuses = append(b.Statuses, r.Status)
		if r.Status == "passed" {
			b.Durations = append(b.Durations, r.Duration)
		}
		out[r.Test] = b
	}
	return out, rows.Err()
}
