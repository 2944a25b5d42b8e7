package daemon

import (
	"context"
	"encoding/json"
	"net/rpc"
	"time"

	"github.com/strobe-debug/strobe/internal/session"
)

// Has implements session.Others.
func (f *front) Has(id string) (there, live bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w := f.sessions[id]
	return w != nil, w != nil && w.liveLocked(id)
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
	replies := make([]InfosReply, len(workers))
	calls := make([]*rpc.Call, len(workers))
	for i, w := range workers {
		if w != spare {
			calls[i] = w.asked.Go("Worker.Infos", None{}, &replies[i], make(chan *rpc.Call, 1))
		}
	}
	for i, c := range calls {
		if c == nil {
			continue
		}
		select {
		case <-c.Done:
		case <-ctx.Done():
			continue
		}
		var some []session.Living
		if c.Error == nil && json.Unmarshal(replies[i].JSON, &some) == nil {
			all = append(all, some...)
		}
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

// Leave implements session.Others.
func (f *front) Leave(_ context.Context, id string) bool {
	f.mu.Lock()
	w := f.sessions[id]
	f.mu.Unlock()
	return w == nil || f.leave(w)
}
