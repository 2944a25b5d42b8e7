package session

import (
	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/store"
)

// Cover implements collector.CoverSink.
func (k *sink) Cover(all []collector.Covered) int {
	rows := make([]store.Covered, len(all))
	for i, c := range all {
		rows[i] = store.Covered{Name: c.Name, File: c.File, Module: c.Module, Line: c.Line, State: c.State}
	}
	return k.st.Cover(rows)
}

// CoveredRan implements collector.CoverSink.
func (k *sink) CoveredRan(id int, ts int64, thread event.ThreadID) {
	k.st.Covered(id, true, ts, thread, "")
}

// CoveredGone implements collector.CoverSink.
func (k *sink) CoveredGone(id int, why string) { k.st.Covered(id, false, 0, 0, why) }
