package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/strobe-debug/strobe/internal/settings"
	"github.com/strobe-debug/strobe/internal/store"
)

// recoverDead makes what a dead daemon left usable: sessions that say running become interrupted, files
// that are not in the list are taken in, rows without a file go.
func (m *Manager) recoverDead() error {
	ctx := context.Background()
	dead, err := m.index.MarkInterrupted(ctx)
	if err != nil {
		return fmt.Errorf("mark interrupted sessions: %w", err)
	}
	m.wg.Go(func() { m.recount(dead) }) // opening a large file takes a while
	infos, err := m.index.List(ctx, "")
	if err != nil {
		return fmt.Errorf("list sessions: %w", err)
	}
	listed := map[string]bool{}
	for _, i := range infos {
		listed[i.ID] = true
		if _, err := os.Stat(m.path(i.ID)); errors.Is(err, os.ErrNotExist) {
			if err := m.index.Delete(ctx, i.ID); err != nil {
				return fmt.Errorf("delete session %s: %w", i.ID, err)
			}
		}
	}
	entries, err := os.ReadDir(m.dir)
	if err != nil {
		return fmt.Errorf("read session files: %w", err)
	}
	for _, e := range entries {
		if id, ok := strings.CutSuffix(e.Name(), ".db"); ok && !listed[id] && e.Type().IsRegular() {
			m.adopt(ctx, id)
		}
	}
	return nil
}

// recount writes counts and the last moment of interrupted sessions into the list.
func (m *Manager) recount(dead []Info) {
	for _, i := range dead {
		m.log.Info("session was interrupted", "session", i.ID)
		s, err := m.Get(m.ctx, i.ID)
		if m.ctx.Err() != nil {
			return
		}
		if err == nil {
			info := s.info()
			info.EndedAt = info.StartedAt + s.st.Stats().LastTS
			s.mu.Lock()
			s.meta.EndedAt = info.EndedAt
			s.mu.Unlock()
			err = m.index.Update(m.ctx, info)
		}
		if err != nil {
			m.log.Warn("an interrupted session cannot be read", "session", i.ID, "err", err)
		}
	}
}

// adopt lists a file that a daemon left before it could. One that cannot be read stays where it is.
func (m *Manager) adopt(ctx context.Context, id string) {
	info, err := m.inspect(id)
	if err == nil {
		err = m.index.Register(ctx, info)
	}
	if err != nil {
		m.log.Warn("a session file cannot be read", "session", id, "err", err)
		return
	}
	m.log.Info("session file was taken in", "session", id)
}

func (m *Manager) inspect(id string) (Info, error) {
	st, err := store.Open(m.path(id))
	if err != nil {
		return Info{}, err
	}
	meta, r, stats := st.Meta(), st.Result(), st.Stats()
	info := Info{
		ID: id, Command: meta.Command, Args: meta.Args, ProjectRoot: meta.ProjectRoot, Cwd: meta.Cwd, PID: meta.PID,
		Path: m.path(id), StartedAt: meta.StartedAt, EndedAt: cmp.Or(r.EndedAt, meta.StartedAt+stats.LastTS),
		Status: cmp.Or(r.Status, string(Interrupted)), ExitCode: r.ExitCode, Signal: r.Signal,
		SizeBytes: stats.SizeBytes, EventCount: stats.Total(),
	}
	if info.Status == string(Running) || r.Interrupted {
		info.Status = string(Interrupted)
	}
	return info, st.Close()
}

// sweep deletes data over the limits, in the background, one sweep at a time.
func (m *Manager) sweep(set settings.Settings) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.sweeping || m.closed {
		return
	}
	m.sweeping = true
	m.wg.Go(func() {
		if err := m.sweepNow(m.ctx, set, time.Now()); err != nil && m.ctx.Err() == nil {
			m.log.Warn("delete old sessions", "err", err)
		}
		m.mu.Lock()
		m.sweeping = false
		m.mu.Unlock()
	})
}

// sweepNow deletes ended sessions that are too old, then the oldest until the rest is within the space.
// Sessions that are open, because they run or someone reads them, are left alone.
func (m *Manager) sweepNow(ctx context.Context, set settings.Settings, now time.Time) error {
	infos, err := m.index.List(ctx, "")
	if err != nil {
		return fmt.Errorf("list sessions: %w", err)
	}
	var total int64
	var ended []Info
	m.mu.Lock()
	for _, i := range infos {
		total += i.SizeBytes
		if m.sessions[i.ID] == nil && m.opening[i.ID] == nil && i.Status != string(Running) {
			ended = append(ended, i)
		}
	}
	m.mu.Unlock()
	slices.SortFunc(ended, func(a, b Info) int { return cmp.Compare(a.StartedAt, b.StartedAt) })
	for _, i := range ended {
		age := now.Sub(time.Unix(0, max(i.EndedAt, i.StartedAt)))
		tooOld := set.StorageRetainDays > 0 && age > time.Duration(set.StorageRetainDays)*24*time.Hour
		if !tooOld && total <= set.StorageMaxBytes {
			continue
		}
		m.log.Info("old session is deleted", "session", i.ID, "bytes", i.SizeBytes, "tooOld", tooOld)
		if err := m.remove(ctx, i.ID); err != nil {
			return err
		}
		total -= i.SizeBytes
	}
	return nil
}
