package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/fault"
)

// Sessions of one home may live in several processes: the daemon, which has the list, and workers, each of which has
// the sessions of one launch or test run. A worker knows the daemon by a Link, the daemon its workers by Others.

// Link is how a worker's manager reaches the daemon. Its functions are safe for concurrent use.
type Link struct {
	// Reserve takes an id for a launch that begins, within a limit of sessions that run.
	Reserve func(ctx context.Context, binary string, limit int) (id string, err error)
	// Settled says that a launch is over, well or not, and what Changed says.
	Settled func(id string)
	// Changed says that a session came, ended or went.
	Changed func()
}

// Others are the processes that have sessions besides this one. Safe for concurrent use; called without locks of
// Manager's.
type Others interface {
	// Has reports whether another process has a session, and whether its program runs.
	Has(id string) (there, live bool)
	// Live is how many sessions' programs run there.
	Live() int
	// Infos are those sessions as the list shows them, with present counts.
	Infos(ctx context.Context) map[string]Info
	// Leave has the process that has an ended session give it up. False: it is in use there.
	Leave(ctx context.Context, id string) bool
}

// Reserve takes an id for a launch in another process, as its Link asks for it; Settle gives it up when that is over.
func (m *Manager) Reserve(ctx context.Context, binary string, limit int) (string, error) {
	if err := m.makeRoom(ctx); err != nil {
		return "", err
	}
	id, err := m.reserve(ctx, binary, limit)
	if err == nil {
		m.launches.Done() // its process is waited for
		m.lookSoon()
	}
	return id, err
}

// Settle ends a reservation.
func (m *Manager) Settle(id string) {
	m.mu.Lock()
	delete(m.reserved, id)
	m.mu.Unlock()
	m.lookSoon()
}

// elsewhere reports whether another process has a session, and whether its program runs there.
func (m *Manager) elsewhere(id string) (there, live bool) {
	if m.cfg.Others == nil {
		return false, false
	}
	return m.cfg.Others.Has(id)
}

// fetch takes an ended session from another process, so that it can be opened here.
func (m *Manager) fetch(ctx context.Context, id string) error {
	there, live := m.elsewhere(id)
	switch {
	case !there:
		return nil
	case live:
		return fault.New(fault.ValidationError, "Stop it first with debug_session, with retain true.", "session %s runs", id)
	case !m.cfg.Others.Leave(ctx, id):
		return fault.New(fault.ValidationError, "Call again when that is done.", "session %s is in use", id)
	}
	return nil
}

// Living describes the sessions that this manager has open.
type Living struct {
	Info
	Live bool
	Kept bool // nothing of it needs this process: its program, and all its children, have ended
	PIDs []int
}

// Living lists what is open here.
func (m *Manager) Living() []Living {
	m.mu.Lock()
	all := make([]*Session, 0, len(m.sessions))
	for _, s := range m.sessions {
		all = append(all, s)
	}
	m.mu.Unlock()
	out := make([]Living, 0, len(all))
	for _, s := range all {
		l := Living{Info: s.info(), Live: s.Live(), Kept: s.Ended() && s.alone()}
		if s.col != nil {
			l.PIDs = s.col.PIDs()
		}
		out = append(out, l)
	}
	return out
}

// Leave closes ended sessions that nobody uses here, so that another process can open them, and reports whether none is
// left.
func (m *Manager) Leave() bool {
	m.mu.Lock()
	if len(m.reserved) > 0 {
		m.mu.Unlock()
		return false
	}
	var ended, drop []*Session
	for _, s := range m.sessions {
		if s.Ended() && s.alone() {
			ended = append(ended, s)
		}
	}
	m.mu.Unlock()
	ended = m.saved(ended)
	m.mu.Lock()
	for _, s := range ended {
		if m.sessions[s.ID] == s && s.alone() && s.beginClose(true) {
			delete(m.sessions, s.ID)
			drop = append(drop, s)
		}
	}
	left := len(m.sessions)
	m.mu.Unlock()
	for _, s := range drop {
		m.closeEnded(s)
	}
	return left == 0
}

// SetRoom has what is recorded here stop, or go on where err is nil: whoever has the list adds up the space of all.
func (m *Manager) SetRoom(err error) {
	if err == nil {
		m.storage.over.Store(nil)
		return
	}
	m.storage.over.Store(&err)
}

// Room is what others are told with SetRoom.
func (m *Manager) Room() error {
	if err := m.storage.over.Load(); err != nil {
		return *err
	}
	return nil
}

// orphanMax bounds the end of a worker whose daemon has died: what waits is decoded, a minute of it at most.
const orphanMax = 2 * time.Minute

// Orphaned ends the manager of a worker whose daemon has died without ending it: programs run on, unhooked, what they
// had recorded is decoded to its end, and the sessions are interrupted.
func (m *Manager) Orphaned() error {
	ctx, cancel := context.WithTimeout(context.Background(), orphanMax)
	defer cancel()
	return m.closeAll(ctx, StopOptions{Keep: true, Interrupted: true})
}

// Recover makes sessions of another process that died usable, as those of a dead daemon: they are interrupted. It
// returns when they can be asked for, and counts them behind that.
func (m *Manager) Recover(ids []string) {
	ctx := context.Background()
	var dead []Info
	for _, id := range ids {
		info, ok, err := m.index.Get(ctx, id)
		if err != nil || !ok {
			continue
		}
		if info.Status == string(Running) {
			info.Status, info.Retained, info.EndedAt = string(Interrupted), true, time.Now().UnixNano()
			if err := m.index.Update(ctx, info); err != nil {
				m.log.Warn("mark a session as interrupted", "session", id, "err", err)
			}
		}
		dead = append(dead, info)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return
	}
	m.wg.Go(func() { m.recount(dead) })
}

// waitUnlocked waits until no process writes a session's file any more: a worker whose daemon died decodes what it had
// recorded.
func (m *Manager) waitUnlocked(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, recoverWait)
	defer cancel()
	for m.cfg.Locked != nil && m.cfg.Locked(m.path(id)) {
		select {
		case <-ctx.Done():
			return fault.New(fault.SessionNotFound, "Call again: that takes seconds.",
				"what session %s had recorded when its daemon died is still being decoded", id)
		case <-m.ctx.Done():
			return errClosed()
		case <-time.After(20 * time.Millisecond):
		}
	}
	return nil
}

// recoverWait is how long a question waits for that.
const recoverWait = 20 * time.Second

// lock holds a session's file until release, for others to see. Where it cannot be had nothing is held: then nobody
// waits.
func (m *Manager) lock(id string) (release func()) {
	if m.cfg.Lock == nil {
		return func() {}
	}
	release, err := m.cfg.Lock(m.path(id))
	if err != nil {
		m.log.Warn("lock session file", "session", id, "err", err)
		return func() {}
	}
	return release
}

// reserveHere is reserve of a worker: the daemon gives the id.
func (m *Manager) reserveHere(ctx context.Context, binary string, limit int) (string, error) {
	id, err := m.cfg.Link.Reserve(ctx, binary, limit)
	if err != nil {
		return "", err
	}
	m.mu.Lock()
	closed := m.closed
	if !closed {
		m.reserved[id], m.given[id] = true, true
		m.launches.Add(1)
	}
	m.mu.Unlock()
	if closed {
		m.cfg.Link.Settled(id)
		return "", errClosed()
	}
	return id, nil
}

// settled ends a launch of this process.
func (m *Manager) settled(id string) {
	m.mu.Lock()
	delete(m.reserved, id)
	m.mu.Unlock()
	if m.cfg.Link != nil {
		m.cfg.Link.Settled(id)
	}
	m.launches.Done()
}

// closeAll stops every session as o says, and ends the manager.
func (m *Manager) closeAll(ctx context.Context, o StopOptions) error {
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return nil
	}
	m.closed = true
	m.mu.Unlock()
	m.cancel()
	waitFor(ctx, &m.launches)
	err := m.stopAll(ctx, o)
	m.mu.Lock()
	detached := m.detached
	m.mu.Unlock()
	for _, c := range detached {
		c.Close()
	}
	if m.keeper != nil {
		err = errors.Join(err, m.keeper.Close())
	}
	if !waitFor(ctx, &m.wg) {
		err = errors.Join(err, fmt.Errorf("wait for sessions to end: %w", ctx.Err()))
	}
	return errors.Join(err, m.index.Close())
}

// IsCore reports whether a session is one of a core file.
func (m *Manager) IsCore(ctx context.Context, id string) bool {
	info, ok, err := m.index.Get(ctx, id)
	return err == nil && ok && info.Core != nil
}

// Warm does ahead what the next launch needs: all that any needs where files is nil, else these files' symbols.
func (m *Manager) Warm(files []string) {
	if m.keeper != nil {
		if err := m.keeper.Start(); err != nil {
			m.log.Warn("start keeper", "err", err)
		}
	}
	if files == nil {
		if err := m.rehearse(); err != nil {
			m.log.Debug("rehearse a launch", "err", err)
		}
		return
	}
	for _, rt := range m.cfg.Runtimes {
		if w, ok := rt.(collector.Warmer); ok {
			w.Warm(files)
		}
	}
}

// Known are the files whose symbols are there.
func (m *Manager) Known() (files []string) {
	for _, rt := range m.cfg.Runtimes {
		if w, ok := rt.(collector.Warmer); ok {
			files = append(files, w.Known()...)
		}
	}
	return files
}
