package native

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/ptrace"
	"github.com/strobe-debug/strobe/internal/waits"
)

var _ collector.ThreadLister = (*target)(nil)

// Bounds of a look at a target's threads.
const (
	maxThreads = 5000 // that are looked at
	// secondLook is after how long a circle of waits must still be there, unmoved, to be called a deadlock. A lock that is
	// handed on takes microseconds, and a thread that was just woken gets a CPU well within it.
	secondLook = 50 * time.Millisecond
	maxLooks   = 3 // at threads that moved between the two
)

// Threads tells what every thread of the target does. Threads that wait are read without a stop where the stack can be
// followed without all registers; others are stopped for some ten microseconds each, unnoticed.
func (t *target) Threads(ctx context.Context) (*waits.Report, error) {
	if t.released.Load() {
		return nil, fault.New(fault.ProcessExited, "Attach to it with debug_launch pid.", "process %d was let go", t.pid)
	}
	for n := 1; ; n++ {
		s, err := t.survey(ctx)
		if err != nil {
			return nil, err
		}
		deadlocks := waits.Analyze(s.threads, s.procs)
		if len(deadlocks) > 0 {
			still, moved, err := s.confirm(ctx, deadlocks)
			if err != nil {
				return nil, err
			}
			if moved && n < maxLooks {
				continue
			}
			deadlocks = still
		}
		if err := t.lookAtSpins(ctx, s); err != nil {
			return nil, err
		}
		r := waits.Summarize(s.threads, s.procs, deadlocks)
		r.ThreadCount += s.skipped
		r.NotShown += s.skipped
		return r, nil
	}
}

// survey is one look at all threads.
type survey struct {
	threads []*waits.Thread
	procs   map[int]*waits.Process
	seen    map[int]*seen // by thread
	looks   []*look
	skipped int
}

func (t *target) survey(ctx context.Context) (*survey, error) {
	s := &survey{procs: map[int]*waits.Process{}, seen: map[int]*seen{}}
	for _, p := range t.processes() {
		if p.dead.Load() || p.detached.Load() {
			continue
		}
		l, err := p.look(ctx, maxThreads-len(s.threads))
		switch {
		case errors.Is(err, ptrace.ErrClosed):
			return nil, fault.New(fault.ProcessExited, "debug_query shows what was recorded.", "process %d has ended", t.pid)
		case err != nil && ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil && p.endedBefore(err):
			continue
		case err != nil:
			return nil, err
		}
		s.procs[p.pid] = l.asked()
		s.skipped += l.skipped
		s.looks = append(s.looks, l)
		for _, one := range l.seen {
			s.threads = append(s.threads, one.thread)
			s.seen[one.thread.TID] = one
		}
	}
	return s, nil
}

// confirm looks at the threads of suspected deadlocks a second time, and returns those in which nothing has moved
// meanwhile: no thread ran, and who owns what is the same. moved: others have.
func (s *survey) confirm(ctx context.Context, suspects []waits.Deadlock) (still []waits.Deadlock, moved bool,
	err error) {
	before := map[int]glance{}
	for i := range suspects {
		for _, m := range suspects[i].Threads {
			if one := s.seen[m.ThreadID]; one != nil {
				before[m.ThreadID] = one.glance()
			}
		}
	}
	timer := time.NewTimer(secondLook)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return nil, false, ctx.Err()
	}
	again := waits.Analyze(s.threads, s.procs) // the locks as they are now
	for i := range suspects {
		d := &suspects[i]
		same := slices.ContainsFunc(again, func(o waits.Deadlock) bool { return d.Same(&o) })
		for _, m := range d.Threads {
			one := s.seen[m.ThreadID]
			same = same && one != nil && before[m.ThreadID].ok && one.glance() == before[m.ThreadID] &&
				place(before[m.ThreadID].call) == place(one.call)
		}
		if same {
			still = append(still, *d)
		} else {
			moved = true
		}
	}
	return still, moved, nil
}

// place is a thread's line in /proc without the number of the system call, which changes when the kernel restarts it.
func place(call string) string {
	_, rest, _ := strings.Cut(call, " ")
	return rest
}
