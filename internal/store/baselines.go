package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
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

// Bounds of how results are written, which is a part of what every run of tests takes.
const (
	rowsAtOnce = 100 // of one INSERT
	// with no more results than this each test's oldest go at once; with more, all go together, when there are a half
	// too many
	fewResults = 100
	spare      = keptResults / 2
)

// AddTestResults remembers a run's results and forgets each test's oldest beyond 20: of a large run not every time.
func (x *Index) AddTestResults(ctx context.Context, project, framework string, at time.Time,
	results []TestResult) error {
	tx, err := x.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("remember test results: %w", writeFault(x.path, err))
	}
	defer tx.Rollback() //nolint:errcheck // after a commit there is nothing to undo
	for rows := range slices.Chunk(results, rowsAtOnce) {
		values := make([]any, 0, 6*len(rows))
		for _, r := range rows {
			values = append(values, project, framework, r.Test, at.UnixNano(), int64(r.Duration), r.Status)
		}
		marks := strings.Repeat(",(?,?,?,?,?,?)", len(rows))[1:]
		if _, err := tx.ExecContext(ctx, "INSERT OR REPLACE INTO test_results VALUES"+marks, values...); err != nil {
			return fmt.Errorf("remember test results: %w", writeFault(x.path, err))
		}
	}
	if err := forget(ctx, tx, project, framework, results); err != nil {
		return fmt.Errorf("forget old test results: %w", writeFault(x.path, err))
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("remember test results: %w", writeFault(x.path, err))
	}
	return nil
}

// forget deletes results that are too old to be wanted.
func forget(ctx context.Context, tx *sql.Tx, project, framework string, results []TestResult) error {
	if len(results) <= fewResults {
		for _, r := range results {
			if _, err := tx.ExecContext(ctx, "DELETE FROM test_results WHERE project=? AND framework=? AND test=? AND at_ns "+
				"<= (SELECT at_ns FROM test_results WHERE project=? AND framework=? AND test=? ORDER BY at_ns DESC LIMIT "+
				"1 OFFSET ?)",
				project, framework, r.Test, project, framework, r.Test, keptResults); err != nil {
				return err
			}
		}
		return nil
	}
	var all, tests int
	if err := tx.QueryRowContext(ctx, "SELECT count(*), count(DISTINCT test) FROM test_results WHERE project=? AND "+
		"framework=?", project, framework).Scan(&all, &tests); err != nil || all <= tests*(keptResults+spare) {
		return err
	}
	_, err := tx.ExecContext(ctx, `DELETE FROM test_results WHERE project=? AND framework=? AND (test, at_ns) IN
(SELECT test, at_ns FROM (SELECT test, at_ns, row_number() OVER (PARTITION BY test ORDER BY at_ns DESC) AS age
	FROM test_results WHERE project=? AND framework=?) WHERE age > ?)`,
		project, framework, project, framework, keptResults)
	return err
}

// Baselines returns what is remembered of a project's tests of one framework, by test.
func (x *Index) Baselines(ctx context.Context, project, framework string) (map[string]Baseline, error) {
	rows, err := x.db.QueryContext(ctx, "SELECT test, duration_ns, status FROM test_results WHERE project=? AND "+
		"framework=? ORDER BY test, at_ns DESC", project, framework)
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
		if len(b.Statuses) == keptResults {
			continue // to be forgotten
		}
		b.Statuses = append(b.Statuses, r.Status)
		if r.Status == "passed" {
			b.Durations = append(b.Durations, r.Duration)
		}
		out[r.Test] = b
	}
	return out, rows.Err()
}
