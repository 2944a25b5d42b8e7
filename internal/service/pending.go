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
	// pendingFor is how long staged patterns wait for their launch: a build fits in, yesterday's do not surprise.
	pendingFor = time.Hour
	// maxPending bounds the table; the oldest entry goes first.
	maxPending = 1000
)

// pendingTable keeps patterns that wait for a launch, by client and project. A connection is no key:
// a client may open a new one for every call.
type pendingTable struct {
	mu      sync.Mutex // leaf lock
	entries map[pendingKey]pendingEntry
	now     func() time.Time
}

type pendingKey struct{ client, root string }

type pendingEntry struct {
	tracing session.Tracing
	until   time.Time
}

func newPendingTable() *pendingTable {
	return &pendingTable{entries: map[pendingKey]pendingEntry{}, now: time.Now}
}

func keyOf(c Client, root string) pendingKey { return pendingKey{c.Name, filepath.Clean(root)} }

// change replaces an entry by what f makes of it and returns that.
func (t *pendingTable) change(k pendingKey, f func(session.Tracing) session.Tracing) session.Tracing {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	for key, e := range t.entries {
		if now.After(e.until) {
			delete(t.entries, key)
		}
	}
	next := f(t.entries[k].tracing)
	delete(t.entries, k)
	if next.Empty() {
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
func (t *pendingTable) take(k pendingKey) (taken session.Tracing) {
	t.change(k, func(p session.Tracing) session.Tracing { taken = p; return session.Tracing{} })
	return taken
}

// putBack restores what a launch that failed had taken, below what was staged meanwhile.
func (t *pendingTable) putBack(k pendingKey, taken session.Tracing) {
	t.change(k, func(staged session.Tracing) session.Tracing {
		for _, p := range taken.Probes {
			if !slices.ContainsFunc(staged.Probes, func(s collector.Probe) bool { return s.Pattern == p.Pattern }) {
				staged.Probes = append(staged.Probes, p)
			}
		}
		for _, w := range taken.Watches {
			if !slices.ContainsFunc(staged.Watches, func(s collector.Watch) bool { return s.Label == w.Label }) {
				staged.Watches = append(staged.Watches, w)
			}
		}
		if (staged.Sampling == session.Sampling{}) {
			staged.Sampling = taken.Sampling
		}
		return staged
	})
}
