package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/strobe-debug/strobe/internal/session"
)

// Has implements session.Others.
func (f *front) Has(id string) (there, live bool) {
	has := func() (*remote, bool) {
		f.mu.Lock()
		defer f.mu.Unlock()
		w := f.sessions[id]
		return w, w != nil && w.liveLocked(id)
	}
	w, live := has()
	if live && w.ask(askTold, nil, nil) == nil { // it may have ended this moment
		w, live = has()
	}
	return w != nil, live
}

// Live implements session.Others.
func (f *front) Live() (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for w := range f.workers {
		for _, s := range w.have.Sessions {
			if s.Live {
				n++
			}
		}
	}
	return n
}

// infosMax bounds the question of how sessions stand: a worker that does not answer is shown as it was listed.
const infosMax = time.Second

// living asks all workers for their sessions.
func (f *front) living(ctx context.Context) (all []session.Living) {
	f.mu.Lock()
	workers := f.allLocked()
	spare := f.spare
	f.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, infosMax)
	defer cancel()
	replies := make([][]session.Living, len(workers))
	var asked sync.WaitGroup
	for i, w := range workers {
		if w != spare {
			asked.Go(func() {
				w.peer.ask(ctx, askInfos, nil, &replies[i]) //nolint:errcheck // it is shown as it was listed
			})
		}
	}
	asked.Wait()
	for _, some := range replies {
		all = append(all, some...)
	}
	return all
}

// Infos implements session.Others.
func (f *front) Infos(ctx context.Context) map[string]session.Info {
	out := map[string]session.Info{}
	for _, l := range f.living(ctx) {
		out[l.ID] = l.Info
	}
	return out
}

// socketsMax bounds the question for what a session did to sockets, which its worker reads from its store.
const socketsMax = 30 * time.Second

// Sockets asks the worker that has a session for service.Service.Sockets.
func (f *front) Sockets(ctx context.Context, id string, under int64) (raw json.RawMessage, there bool, err error) {
	w, err := f.owner(ctx, f.sessions, id)
	if w == nil || err != nil {
		return nil, err != nil, err
	}
	defer f.uncount(w)
	ctx, cancel := context.WithTimeout(ctx, socketsMax)
	defer cancel()
	var r socketsReply
	if err := w.peer.ask(ctx, askSockets, socketsArgs{id, under}, &r); err != nil {
		return nil, true, fmt.Errorf("ask for the sockets of session %s: %w", id, err)
	}
	return r.Calls, true, r.Fault.err()
}

// leaveWait is how long a worker may take to give up a session: one that has just ended settles.
const leaveWait = 3 * time.Second

// Leave implements session.Others.
func (f *front) Leave(ctx context.Context, id string) bool {
	for until := time.Now().Add(leaveWait); ; {
		f.mu.Lock()
		w := f.sessions[id]
		f.mu.Unlock()
		if w == nil || f.leave(w) {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(10 * time.Millisecond):
		}
		if time.Now().After(until) {
			return false
		}
	}
}

// fileRoom waits until a worker may be started, within the limit of files: those that are about to end give theirs
// back.
func (f *front) fileRoom(ctx context.Context) error {
	for until := time.Now().Add(leaveWait); ; {
		err := f.svc.Sessions().FileRoom()
		if err == nil || !f.ending() || time.Now().After(until) {
			return err
		}
		f.kick()
		select {
		case <-ctx.Done():
			return err
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// ending reports whether a worker ends, or has nothing any more.
func (f *front) ending() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for w := range f.workers {
		if w != f.spare && w.reported && (w.leaving != nil || len(w.have.Sessions) == 0 && !w.have.Busy) {
			return true
		}
	}
	return false
}
