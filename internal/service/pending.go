package service

import (
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/session"
)

const (
	// pendingFor is how long what is staged waits for their launch: a build fits in, yesterday's do not surprise.
	pendingFor = time.Hour
	// maxPending bounds the table; the oldest entry goes first.
	maxPending = 1000
)

// pendingTable keeps patterns and breakpoints that wait for a launch, by client and project. A connection is no key:
// a client may open a new one for every call.
type pendingTable struct {
	mu      sync.Mutex // leaf lock
	entries map[pendingKey]pendingEntry
	now     func() time.Time
}

type pendingKey struct{ client, root string }

type pendingEntry struct {
	staged
	until time.Time
}

// staged is what a launch begins with.
type staged struct {
	tracing session.Tracing
	points  []collector.Point
}

func newPendingTable() *pendingTable {
	return &pendingTable{entries: map[pendingKey]pendingEntry{}, now: time.Now}
}

func keyOf(c Client, root string) pendingKey { return pendingKey{c.Name, filepath.Clean(root)} }

// change replaces an entry by what f makes of it and returns that.
func (t *pendingTable) change(k pendingKey, f func(staged) staged) staged {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	for key, e := range t.entries {
		if now.After(e.until) {
			delete(t.entries, key)
		}
	}
	next := f(t.entries[k].staged)
	delete(t.entries, k)
	if next.tracing.Empty() && len(next.points) == 0 {
		return next
	}
	for len(t.entries) >= maxPending {
		var oldest pendingKey
		for key, e := range t.entries {
			if o, ok := t.entries[oldest]; !ok || e.until.Before(o.until) {
				oldest = key
			}
		}
		delete(t.entries, oldest)
	}
	t.entries[k] = pendingEntry{next, now.Add(pendingFor)}
	return next
}

// take returns an entry and removes it.
func (t *pendingTable) take(k pendingKey) (taken staged) {
	t.change(k, func(p staged) staged { taken = p; return staged{} })
	return taken
}

// putBack restores what a launch that failed had taken, below what was staged meanwhile.
func (t *pendingTable) putBack(k pendingKey, taken staged) {
	t.change(k, func(next staged) staged {
		tr := &next.tracing
		for _, p := range taken.tracing.Probes {
			if !slices.ContainsFunc(tr.Probes, func(s collector.Probe) bool { return s.Pattern == p.Pattern }) {
				tr.Probes = append(tr.Probes, p)
			}
		}
		for _, w := range taken.tracing.Watches {
			if !slices.ContainsFunc(tr.Watches, func(s collector.Watch) bool { return s.Label == w.Label }) {
				tr.Watches = append(tr.Watches, w)
			}
		}
		if (tr.Sampling == session.Sampling{}) {
			tr.Sampling = taken.tracing.Sampling
		}
		next.points = append(slices.Clone(taken.points), next.points...)
		return next
	})
}
