package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

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
	m.dropImports(entries)
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
		for m.ctx.Err() == nil && m.waitUnlocked(m.ctx, i.ID) != nil { // its worker decodes what it had recorded
		}
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
		SizeBytes: stats.SizeBytes, EventCount: stats.Total(), Core: meta.Core,
	}
	if info.Status == string(Running) || r.Interrupted {
		info.Status = string(Interrupted)
	}
	return info, st.Close()
}
