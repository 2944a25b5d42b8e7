package service

import (
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/strobe-debug/strobe/internal/collector"
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
	probes []collector.Probe
	until  time.Time
}

func newPendingTable() *pendingTable {
	return &pendingTable{entries: map[pendingKey]pendingEntry{}, now: time.Now}
}

func keyOf(c Client, root string) pendingKey { return pendingKey{c.Name, filepath.Clean(root)} }

// change replaces an entry by what f makes of it and returns that.
func (t *pendingTable) change(k pendingKey, f func([]collector.Probe) []collector.Probe) []collector.Probe {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	for key, e := range t.entries {
		if now.After(e.until) {
			delete(t.entries, key)
		}
	}
	next := f(slices.Clone(t.entries[k].probes))
	delete(t.entries, k)
	if len(next) == 0 {
		return nil
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
	return slices.Clone(next)
}

// take returns an entry and removes it.
func (t *pendingTable) take(k pendingKey) (taken []collector.Probe) {
	t.change(k, func(p []collector.Probe) []collector.Probe { taken = p; return nil })
	return taken
}

// putBack restores what a launch that failed had taken, below what was staged meanwhile.
func (t *pendingTable) putBack(k pendingKey, probes []collector.Probe) {
	t.change(k, func(staged []collector.Probe) []collector.Probe {
		for _, p := range probes {
			if !slices.ContainsFunc(staged, func(s collector.Probe) bool { return s.Pattern == p.Pattern }) {
				staged = append(staged, p)
			}
		}
		return staged
	})
}
