package query

import (
	"context"
	"fmt"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/sorting"
	"github.com/strobe-debug/strobe/internal/store"
)

// Lanes are the lanes of a session, in the order in which threads are listed.
type Lanes struct {
	Lanes   []LaneRow `json:"lanes"`
	Newest  int64     `json:"newest"` // the newest event's time
	LastID  int64     `json:"lastId"`
	Evicted int64     `json:"evicted,omitempty"` // calls that the session's limit dropped
	Over    bool      `json:"over"`              // nothing more comes
}

// LaneRow is one lane: a thread, or a task on it.
type LaneRow struct {
	Lane     event.ThreadID `json:"lane"`
	PID      int32          `json:"pid"`
	ThreadID int32          `json:"threadId"`
	Name     string         `json:"name"`
	Task     bool           `json:"task,omitempty"` // a coroutine or generator
	Calls    int64          `json:"calls"`
	Events   int64          `json:"events"`
	From     int64          `json:"from"` // at least all of it is in
	To       int64          `json:"to"`
}

// ListLanes returns the lanes that have events. It does not flush.
func ListLanes(ctx context.Context, st *store.Store) (*Lanes, error) {
	sn, err := st.Snapshot(ctx)
	if err != nil {
		return nil, fmt.Errorf("take snapshot: %w", err)
	}
	defer sn.Close()
	lanes, err := sn.Lanes(ctx)
	if err != nil {
		return nil, fmt.Errorf("list lanes: %w", err)
	}
	r := &Lanes{Lanes: []LaneRow{}, Newest: sn.LastTS(), LastID: sn.LastID(), Evicted: st.Stats().Evicted}
	threads := sn.Threads()
	for _, l := range lanes {
		t := threads[l.Thread]
		_, task := event.SplitLane(t.Name)
		r.Lanes = append(r.Lanes, LaneRow{Lane: l.Thread, PID: t.PID, ThreadID: t.TID, Name: t.Name, Task: task != "",
			Calls: l.Calls, Events: l.Events, From: l.From, To: l.To})
	}
	sorting.By(r.Lanes, func(x, y LaneRow) int { return threads[x.Lane].Compare(threads[y.Lane]) })
	return r, nil
}
