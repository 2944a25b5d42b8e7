package query

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/exchange"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/store"
)

// SocketsChannel has what programs do to their sockets: collector.SocketsChannel.
const SocketsChannel = "sockets"

// maxSocketCalls bounds what is read of one session, newest first, and maxUnderCalls the functions' calls that are
// looked through for those that requests led to.
const (
	maxSocketCalls = 200_000
	maxUnderCalls  = 5_000_000
)

// SocketCalls are what a session's processes did to their sockets, so that they can be put together with those of
// others, and go from one process to another.
type SocketCalls struct {
	SessionID string
	Name      string // that it was launched with, "": none
	Service   string // what it calls itself
	BootID    string
	StartMono int64
	Ended     bool
	Calls     []*exchange.Call `json:",omitempty"`
	Names     map[int64]string `json:",omitempty"` // of functions, by the calls that Calls name
	Older     int64            `json:",omitempty"` // that were left out
	Lost      bool             `json:",omitempty"` // something of the session was
	// Of the event that was asked for: when it was, on which thread. Until 0: it is no call of a function.
	UnderFrom, UnderUntil int64  `json:",omitempty"`
	UnderThread           uint32 `json:",omitempty"`
}

// ReadSockets reads them from a session that was flushed. under: an event that is asked for; 0: none.
func ReadSockets(ctx context.Context, st *store.Store, under int64) (*SocketCalls, error) {
	sn, err := st.Snapshot(ctx)
	if err != nil {
		return nil, fmt.Errorf("take snapshot: %w", err)
	}
	defer sn.Close()
	m := st.Meta()
	s := &SocketCalls{SessionID: m.SessionID, Service: m.Service, BootID: m.BootID, StartMono: m.StartMono,
		Ended: st.Result().Status != "", Lost: st.Stats().Events[event.Dropped] > 0}
	f, err := compile(Request{SessionID: m.SessionID, Under: under, View: "request"})
	if err != nil {
		return nil, err
	}
	a := newAsker(ctx, st, sn, f)
	if err := a.socketCalls(s); err != nil {
		return nil, err
	}
	if err := a.functionsOf(s); err != nil {
		return nil, err
	}
	if under == 0 {
		return s, nil
	}
	row, err := a.one(under)
	if err == nil && row == nil {
		return nil, fault.New(fault.ValidationError, "Give the id of an event: a #id of view tree, or of view events with "+
			"channel sockets.", "under: there is no event %d: ids go from 1 to %d", under, sn.LastID())
	}
	if err != nil {
		return nil, err
	}
	s.UnderThread, s.UnderFrom = uint32(row.Thread), s.StartMono+row.TS
	if row.Kind == event.FunctionEnter {
		exit, err := a.exitOf(row)
		if err != nil {
			return nil, err
		}
		s.UnderUntil = 1<<63 - 1
		if exit != nil {
			s.UnderUntil = s.StartMono + exit.TS
		}
	}
	return s, nil
}

// socketCalls reads the events of channel sockets.
func (a *asker) socketCalls(s *SocketCalls) error {
	if a.st.Stats().Events[event.Channel] == 0 {
		return nil
	}
	var bad error
	p := part{filter: store.Filter{Kinds: 1 << event.Channel}, cold: true}
	err := a.sn.Scan(a.ctx, p.filter, store.ScanOptions{Cold: true, Reverse: true}, func(row *store.Row) bool {
		if a.stream(row).Channel != SocketsChannel {
			return true
		}
		if len(s.Calls) == maxSocketCalls {
			s.Older++
			return true
		}
		c := &exchange.Call{}
		if bad = json.Unmarshal(row.Payload, c); bad != nil {
			return false
		}
		c.ID, c.Parent, c.End, c.PID, c.Thread = row.ID, row.Parent, s.StartMono+row.TS, a.thread(row.Thread).PID,
			uint32(row.Thread)
		s.Calls = append(s.Calls, c)
		return true
	})
	if err == nil {
		err = a.ctx.Err()
	}
	if bad != nil {
		err = bad
	}
	if err != nil {
		return fmt.Errorf("read what went over sockets: %w", err)
	}
	slices.Reverse(s.Calls)
	return nil
}

// functionsOf names the functions that sent and received, and finds what was called first for each request.
func (a *asker) functionsOf(s *SocketCalls) error {
	if len(s.Calls) == 0 || a.st.Stats().Events[event.FunctionEnter] == 0 {
		return nil
	}
	s.Names = map[int64]string{}
	waiting, next, seen := map[event.ThreadID]*exchange.Call{}, 0, 0
	f := store.Filter{Kinds: 1 << event.FunctionEnter}
	wanted := map[int64]bool{}
	for _, c := range s.Calls {
		if c.Parent != 0 {
			wanted[c.Parent] = true
		}
	}
	err := a.sn.Scan(a.ctx, f, store.ScanOptions{Times: true}, func(row *store.Row) bool {
		for ; next < len(s.Calls) && s.Calls[next].ID < row.ID; next++ {
			c := s.Calls[next]
			delete(waiting, event.ThreadID(c.Thread))
			if c.What == "receive" && (c.Method != "" || c.Command != "") {
				waiting[event.ThreadID(c.Thread)] = c
			}
		}
		if c := waiting[row.Thread]; c != nil {
			c.Below, wanted[row.ID] = row.ID, true
			delete(waiting, row.Thread)
		}
		if wanted[row.ID] {
			s.Names[row.ID] = cut(a.fn(row.Func).Name, maxFunctionName)
		}
		seen++
		return seen < maxUnderCalls
	})
	if err != nil {
		return fmt.Errorf("read calls: %w", err)
	}
	return nil
}

// maxFunctionName bounds a function's name in a line of a request, in bytes.
const maxFunctionName = 80
