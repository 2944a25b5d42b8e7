package service

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/session"
)

// addThreads puts what the program's threads do into a status. A program that has ended has none: a warning says so.
func addThreads(ctx context.Context, sess *session.Session, r *StatusResult) error {
	report, err := sess.Threads(ctx)
	if fault.CodeOf(err) == fault.ProcessExited && err != nil {
		r.Warnings = append(r.Warnings, "no threads: the program has ended; a crash shows its last stacks in crashInfo and "+
			"debug_query eventType crash")
		return nil
	}
	if err != nil {
		return err
	}
	if err := addTasks(ctx, sess, r, report); err != nil {
		return err
	}
	r.Capabilities = nil
	r.Threads, r.ThreadCount, r.ThreadsNotShown, r.Deadlocks = report.Threads, report.ThreadCount, report.NotShown,
		report.Deadlocks
	return nil
}

// addLocks puts what is known of the program's locks into a status.
func addLocks(ctx context.Context, sess *session.Session, r *StatusResult) error {
	report, began, err := sess.Locks(ctx)
	if err != nil {
		return err
	}
	if began {
		r.Warnings = append(r.Warnings, "locks are recorded from now on (@locks): ask again when the program has done more; "+
			"what threads hold already is not known")
	}
	r.Capabilities, r.Locks = nil, report
	return nil
}

// addTasks puts tasks in the place of the threads that run them. Threads of theirs that do something else stay.
func addTasks(ctx context.Context, sess *session.Session, r *StatusResult, report *collector.ThreadReport) error {
	tasks, err := sess.Tasks(ctx)
	if err != nil || tasks == nil {
		return err
	}
	r.Warnings = append(r.Warnings, tasks.Notes...)
	if len(tasks.Of) == 0 {
		return nil
	}
	away := 0
	report.Threads = slices.DeleteFunc(report.Threads, func(row collector.ThreadRow) bool {
		if row.PID != 0 && !tasks.Of[row.PID] || !tasks.Carriers[row.ThreadID] && !ofRuntime(row.Backtrace) {
			return false
		}
		away += max(row.Count, 1)
		return true
	})
	report.Threads = append(tasks.Rows, report.Threads...)
	report.ThreadCount += tasks.Count - away
	report.NotShown += tasks.NotShown
	report.Deadlocks = append(report.Deadlocks, tasks.Deadlocks...)
	r.Warnings = append(r.Warnings, fmt.Sprintf("goroutines are shown by their numbers, not the %d threads that run them",
		away))
	return nil
}

// ofRuntime reports a stack of nothing but Go's runtime.
func ofRuntime(stack []string) bool {
	return !slices.ContainsFunc(stack, func(f string) bool {
		return !strings.HasPrefix(f, "runtime.") && !strings.HasPrefix(f, "internal/runtime/")
	})
}
