package query

import (
	"math"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/store"
)

// findProcesses learns whether the session has several processes, and since when: then every event says which one it is
// of.
func (a *asker) findProcesses() error {
	a.aloneUntil = math.MaxInt64
	first := a.pid
	for _, t := range a.threads {
		if first == 0 {
			first = t.PID
		}
		a.several = a.several || t.PID != 0 && t.PID != first
	}
	if !a.several {
		return nil
	}
	return a.sn.Scan(a.ctx, store.Filter{Kinds: 1 << event.Process}, store.ScanOptions{}, func(r *store.Row) bool {
		if int(r.Thread) < len(a.threads) && a.threads[r.Thread].PID != a.pid {
			a.aloneUntil = r.TS
			return false
		}
		return true
	})
}

// processOf is the process that an event belongs to; 0 where it cannot be known. What is read from a pipe that several
// processes have may be of any of them.
func (a *asker) processOf(r *store.Row) int32 {
	if r.Thread == event.NoThread && r.Kind.IsOutput() && r.TS >= a.aloneUntil {
		return 0
	}
	return a.thread(r.Thread).PID
}
