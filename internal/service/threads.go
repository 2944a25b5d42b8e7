package service

import (
	"context"

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
	r.Capabilities = nil
	r.Threads, r.ThreadCount, r.ThreadsNotShown, r.Deadlocks = report.Threads, report.ThreadCount, report.NotShown,
		report.Deadlocks
	return nil
}
