package session

import (
	"context"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/fault"
)

// Threads tells what the running program's threads do, or those of a core file did, and which are in a deadlock.
// PROCESS_EXITED when it does not run, UNSUPPORTED where its runtime cannot tell.
func (s *Session) Threads(ctx context.Context) (*collector.ThreadReport, error) {
	_, use, release, err := s.Use(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	if s.meta.Core != nil {
		c, err := s.openCore(use)
		if err != nil {
			return nil, err
		}
		return c.Threads(use)
	}
	if s.col == nil || !s.Live() {
		return nil, fault.New(fault.ProcessExited, "Query its events with debug_query.",
			"the program of session %s has ended", s.ID)
	}
	lister, ok := s.col.(collector.ThreadLister)
	if !ok {
		return nil, fault.New(fault.Unsupported, "Leave threads out.", "threads of a %s program cannot be listed",
			s.col.Capabilities().Runtime)
	}
	return lister.Threads(use)
}

// Locks tells in which order the program takes its locks, and who waits for which. It has them recorded from now on
// where they were not: then began is true, and there is no report.
func (s *Session) Locks(ctx context.Context) (report *collector.LockReport, began bool, err error) {
	_, use, release, err := s.Use(ctx)
	if err != nil {
		return nil, false, err
	}
	defer release()
	if s.col == nil {
		return nil, false, fault.New(fault.ProcessExited, "Launch it again with trace [\"@locks\"].",
			"the locks of session %s are not kept", s.ID)
	}
	l, ok := s.col.(collector.LockReporter)
	if !ok {
		return nil, false, fault.New(fault.Unsupported, "Leave locks out.", "locks of a %s program are not seen",
			s.col.Capabilities().Runtime)
	}
	if report, err = l.Locks(use); err != nil && fault.CodeOf(err) == fault.ValidationError && s.Live() {
		_, err = s.Trace(ctx, TraceChange{Add: []string{"@locks"}})
		return nil, err == nil, err
	}
	return report, false, err
}

// Tasks are what runs on the program's threads, where that says more than these; nil where it does not.
func (s *Session) Tasks(ctx context.Context) (*collector.TaskReport, error) {
	_, use, release, err := s.Use(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	l, ok := s.col.(collector.TaskLister)
	if !ok || !s.Live() {
		return nil, nil
	}
	return l.Tasks(use)
}

// Loops is collector.Looper's, of the session's program; nothing where its runtime cannot tell.
func (s *Session) Loops(ctx context.Context, before any) (loops []collector.Loop, after any, err error) {
	_, use, release, err := s.Use(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer release()
	if l, ok := s.col.(collector.Looper); ok && s.Live() {
		return l.Loops(use, before)
	}
	return nil, nil, nil
}
