package service

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/strobe-debug/strobe/internal/query"
	"github.com/strobe-debug/strobe/internal/session"
)

// maxTogether bounds the sessions that a request is followed through without being named.
const maxTogether = 32

// socketsElsewhere is a session.Others that can ask other processes for what their sessions did to sockets.
type socketsElsewhere interface {
	// Sockets is the answer of Service.Sockets there; there: another process has the session.
	Sockets(ctx context.Context, id string, under int64) (raw json.RawMessage, there bool, err error)
}

// Sockets reads what a session's processes did to their sockets.
func (s *Service) Sockets(ctx context.Context, id string, under int64) (*query.SocketCalls, error) {
	if o, ok := s.cfg.Others.(socketsElsewhere); ok {
		if raw, there, err := o.Sockets(ctx, id, under); there && err == nil {
			out := &query.SocketCalls{}
			if err := json.Unmarshal(raw, out); err != nil {
				return nil, fmt.Errorf("read what %s did to sockets: %w", id, err)
			}
			return out, nil
		} else if there {
			return nil, err
		}
	}
	sess, err := s.sessions.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	st, use, release, err := sess.Use(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	if err := sess.FlushWithin(ctx, 0); err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return query.ReadSockets(use, st, under)
}

// requests is view request of debug_query: over the sessions that were named, or that ran at the same time.
func (s *Service) requests(ctx context.Context, r *query.Request) (*query.Result, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	until := time.Now().Add(time.Duration(r.WaitMs) * time.Millisecond)
	for {
		res, err := s.requestsNow(ctx, r)
		if err != nil || res.TotalCount > 0 || !time.Now().Before(until) {
			return res, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(min(requestsEvery, time.Until(until))):
		}
	}
}

// requestsEvery is how often a question that waits is asked anew.
const requestsEvery = 200 * time.Millisecond

func (s *Service) requestsNow(ctx context.Context, r *query.Request) (*query.Result, error) {
	first, err := s.Sockets(ctx, r.SessionID, r.Under)
	if err != nil {
		return nil, err
	}
	sets := []*query.SocketCalls{first}
	all, err := s.sessions.List(ctx)
	if err != nil {
		return nil, err
	}
	others, late := together(all, r)
	for _, id := range others {
		one, err := s.Sockets(ctx, id, 0)
		switch {
		case err != nil && (r.Against != "" || ctx.Err() != nil):
			return nil, err
		case err != nil:
			late = append(late, fmt.Sprintf("%s could not be read: %v.", id, err))
		default:
			sets = append(sets, one)
		}
	}
	for _, one := range sets {
		for i := range all {
			if all[i].ID == one.SessionID {
				one.Name = all[i].Name
			}
		}
	}
	res, err := query.Requests(*r, sets)
	if err == nil && len(late) > 0 {
		res.Hint = strings.TrimSpace(res.Hint + " " + strings.Join(late, " "))
	}
	return res, err
}

// together are the sessions beside the one that was asked.
func together(all []session.Info, r *query.Request) (ids, notes []string) {
	if r.Against != "" {
		for id := range strings.SplitSeq(r.Against, ",") {
			if id = strings.TrimSpace(id); id != "" && id != r.SessionID && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
		return ids, nil
	}
	end := func(o *session.Info) int64 {
		if o.EndedAt == 0 {
			return 1<<63 - 1
		}
		return o.EndedAt
	}
	i := slices.IndexFunc(all, func(o session.Info) bool { return o.ID == r.SessionID })
	if i < 0 {
		return nil, nil
	}
	type run struct{ pid, startedAt int64 } // which may have been imported beside what was recorded here
	seen := map[run]bool{{int64(all[i].PID), all[i].StartedAt}: true}
	for _, imported := range []bool{false, true} {
		for k := range all {
			o := &all[k]
			of := run{int64(o.PID), o.StartedAt}
			if o.Core != nil || o.ImportedAt != 0 != imported || seen[of] || o.StartedAt > end(&all[i]) ||
				end(o) < all[i].StartedAt {
				continue
			}
			if len(ids) == maxTogether {
				return ids, []string{fmt.Sprintf("More than %d sessions ran at the time: against names those that count.",
					maxTogether)}
			}
			ids, seen[of] = append(ids, o.ID), true
		}
	}
	return ids, nil
}
