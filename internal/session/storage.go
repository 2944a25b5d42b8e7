package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/settings"
	"github.com/strobe-debug/strobe/internal/sorting"
	"github.com/strobe-debug/strobe/internal/store"
)

// What is kept, and for how long:
//
//   - Sessions that run, and those that somebody asks at the moment, are never deleted.
//   - All others are alike: retained, interrupted by the end of a daemon, or ended and never stopped. One goes
//     storage.retainDays after its end, or after it was imported. Where all files together, those of running sessions
//     included, are over storage.maxBytes, the one that ended first goes first, until the rest is within it.
//   - Where nothing is left to delete, and where the disk has no more than the reserve, recording stops with
//     STORAGE_FULL until there is room. Programs run on.
//   - Each deletion is in daemon.log, in debug_session list for a week, and in the error that asking for it gives.

const (
	// reserveMax and reserveShare: so much of the disk, or such a part of a small one, is left to everybody else, and
	// to the end of what is being recorded.
	reserveMax   = 256 << 20
	reserveShare = 20
	// spaceAge is how long a measured free space counts: at 1 GB/s, less than half the reserve.
	spaceAge = 100 * time.Millisecond
	// tidyBusy and tidyIdle are how often the space is added up, while a program runs and while none does.
	tidyBusy = time.Second
	tidyIdle = 10 * time.Minute
	// sweepEvery is how often sessions are looked through for their age.
	sweepEvery = time.Hour
	// PurgesShown is how long a deletion is told in the list.
	PurgesShown = 7 * 24 * time.Hour
)

// Purge is a session that was deleted because of its age or the space it took.
type Purge = store.Purge

// storage is what Manager knows of the space that sessions take.
type storage struct {
	over atomic.Pointer[error] // set while running sessions alone are over storage.maxBytes
	kick chan struct{}         // capacity 1: look now

	spaceMu sync.Mutex // leaf, held over one statfs
	spaceAt time.Time
	space   error

	sweepMu sync.Mutex // one sweep at a time; taken before Manager.mu
}

// tidy deletes what is too old and what is too much, until the daemon ends.
func (m *Manager) tidy() {
	var swept time.Time
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-m.ctx.Done():
			return
		case <-m.storage.kick:
		case <-timer.C:
		}
		set, _ := m.cfg.Settings.Load("")
		now := time.Now()
		if m.storage.over.Load() != nil || m.diskUse() > set.StorageMaxBytes || now.Sub(swept) >= sweepEvery {
			swept = now
			if err := m.sweepNow(m.ctx, set, now); err != nil && m.ctx.Err() == nil {
				m.log.Warn("delete old sessions", "err", err)
			}
		}
		next := tidyIdle
		if m.closeIdle() {
			next = m.idleAfter
		}
		if m.Busy() || m.storage.over.Load() != nil { // what could not be deleted may be by then
			next = tidyBusy
		}
		timer.Reset(next)
	}
}

// tidyHere is tidy of a worker: whoever has the list deletes what is old, and is told what changed here.
func (m *Manager) tidyHere() {
	timer := time.NewTimer(tidyBusy)
	defer timer.Stop()
	for {
		select {
		case <-m.ctx.Done():
			return
		case <-m.storage.kick:
		case <-timer.C:
		}
		m.closeIdle()
		m.cfg.Link.Changed()
		timer.Reset(tidyBusy)
	}
}

// diskUse returns the bytes of all session files, also of those that are in no list.
func (m *Manager) diskUse() int64 {
	entries, err := os.ReadDir(m.dir)
	if err != nil {
		return 0
	}
	var n int64
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			n += info.Size()
		} else if err == nil && info.IsDir() {
			n += dirBytes(filepath.Join(m.dir, e.Name()))
		}
	}
	return n
}

// dirBytes returns the size of the files in a directory.
func dirBytes(dir string) (n int64) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			n += info.Size()
		}
	}
	return n
}

// sweepNow deletes ended sessions that are too old, then those that ended first until the rest is within the
// space, and notes whether it is. now is what ages are counted to.
func (m *Manager) sweepNow(ctx context.Context, set settings.Settings, now time.Time) error {
	m.storage.sweepMu.Lock()
	defer m.storage.sweepMu.Unlock()
	infos, err := m.index.List(ctx, "")
	if err != nil {
		return fmt.Errorf("list sessions: %w", err)
	}
	end := func(i *Info) int64 { return max(i.EndedAt, i.StartedAt, i.ImportedAt) }
	sorting.By(infos, func(a, b Info) int { return cmp.Compare(end(&a), end(&b)) })
	total := m.diskUse()
	var errs []error
	for i := range infos {
		info := &infos[i]
		age := now.Sub(time.Unix(0, end(info)))
		var why string
		switch {
		case set.StorageRetainDays > 0 && age > time.Duration(set.StorageRetainDays)*24*time.Hour:
			why = fmt.Sprintf("it ended %d days ago, storage.retainDays is %d", int(age.Hours()/24), set.StorageRetainDays)
		case total > set.StorageMaxBytes:
			why = fmt.Sprintf("sessions took %d bytes, storage.maxBytes is %d, and it had ended first", total,
				set.StorageMaxBytes)
		default:
			continue
		}
		size := fileBytes(m.path(info.ID))
		gone, err := m.purge(ctx, info, why, size)
		errs = append(errs, err)
		if gone {
			total -= size
		}
	}
	m.noteSpace(m.diskUse(), set.StorageMaxBytes)
	return errors.Join(errs...)
}

// noteSpace makes running sessions record no more, or again.
func (m *Manager) noteSpace(total, limit int64) {
	if total <= limit {
		if m.storage.over.Swap(nil) != nil {
			m.log.Info("sessions are within storage.maxBytes again", "bytes", total, "limit", limit)
		}
		return
	}
	var err error = fault.New(fault.StorageFull,
		"Stop or delete sessions with debug_session, or raise storage.maxBytes in the user's settings.json.",
		"session files take %d bytes, storage.maxBytes is %d, and none of them can be deleted now", total, limit)
	if m.storage.over.Swap(&err) == nil {
		m.log.Warn("recording stops", "err", err)
	}
}

// fileBytes returns the size of a session's files.
func fileBytes(path string) int64 {
	var n int64
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		if info, err := os.Stat(path + suffix); err == nil {
			n += info.Size()
		}
	}
	return n + dirBytes(store.ReadsDir(path))
}

// purge deletes one session unless it is in use, and reports whether it did.
func (m *Manager) purge(ctx context.Context, i *Info, why string, size int64) (bool, error) {
	if m.fetch(ctx, i.ID) != nil || m.cfg.Locked != nil && m.cfg.Locked(m.path(i.ID)) {
		return false, nil
	}
	m.mu.Lock()
	s := m.sessions[i.ID]
	switch {
	case m.opening[i.ID] != nil, m.reserved[i.ID], m.closed,
		s == nil && i.Status == string(Running),
		s != nil && (s.Live() || !s.Ended() || !s.beginClose(true)):
		m.mu.Unlock()
		return false, nil
	}
	delete(m.sessions, i.ID)
	m.purging[i.ID] = why
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		delete(m.purging, i.ID)
		m.mu.Unlock()
	}()
	if s != nil {
		m.closeEnded(s)
	}
	m.log.Info("old session is deleted", "session", i.ID, "bytes", size, "why", why)
	if err := m.remove(ctx, i.ID); err != nil {
		return false, err
	}
	return true, m.index.AddPurge(ctx, Purge{ID: i.ID, At: time.Now().UnixNano(), Reason: why, SizeBytes: size})
}

// remove deletes files and the list's row. The row goes first: a file without one is found at the next start.
// On a full disk it can only go when the files have made room; a row without a file goes at the next start.
func (m *Manager) remove(ctx context.Context, id string) error {
	err := m.index.Delete(ctx, id)
	if err != nil && fault.CodeOf(err) != fault.StorageFull {
		return fmt.Errorf("delete session %s: %w", id, err)
	}
	if gone := store.RemoveFile(m.path(id)); gone != nil || err == nil {
		return gone
	}
	if err := m.index.Delete(ctx, id); err != nil {
		return fmt.Errorf("delete session %s: its data is gone: %w", id, err)
	}
	return nil
}

// Purges returns the sessions that were deleted for their age or space, newest first.
func (m *Manager) Purges(ctx context.Context) ([]Purge, error) {
	all, err := m.index.Purges(ctx)
	if err != nil {
		return nil, fmt.Errorf("list deleted sessions: %w", err)
	}
	return all, nil
}

// purgeOf returns the deletion of a session, nil if it is none that is remembered.
func (m *Manager) purgeOf(ctx context.Context, id string) *Purge {
	all, err := m.index.Purges(ctx)
	if err != nil {
		return nil
	}
	for i := range all {
		if all[i].ID == id {
			return &all[i]
		}
	}
	return nil
}

// room says why nothing more may be recorded, nil where it may. Sessions' writers ask it before each commit.
func (m *Manager) room() error {
	if err := m.storage.over.Load(); err != nil {
		return *err
	}
	if m.cfg.Space == nil {
		return nil
	}
	st := &m.storage
	st.spaceMu.Lock()
	defer st.spaceMu.Unlock()
	if now := time.Now(); now.Sub(st.spaceAt) >= spaceAge {
		st.space, st.spaceAt = m.diskSpace(), now
	}
	return st.space
}

// diskSpace says whether the disk is down to its reserve. Where that cannot be known the disk itself will say it.
func (m *Manager) diskSpace() error {
	free, size, err := m.cfg.Space(m.dir)
	reserve := min(reserveMax, size/reserveShare)
	if err != nil || free >= reserve {
		return nil
	}
	return fault.New(fault.StorageFull, "Free disk space, delete old sessions with debug_session action delete, or set "+
		"STROBE_HOME to another disk.",
		"the disk of %s has %d MB left, and %d MB of it stay free for others", m.dir, free>>20, reserve>>20)
}

// lookSoon makes tidy look now, and as often as it does while a program runs.
func (m *Manager) lookSoon() {
	select {
	case m.storage.kick <- struct{}{}:
	default:
	}
}

// makeRoom is asked before a launch. Where sessions take too much, old ones go first.
func (m *Manager) makeRoom(ctx context.Context) error {
	set, _ := m.cfg.Settings.Load("")
	if m.cfg.Link != nil { // the daemon makes it, when it gives the id
	} else if m.diskUse() > set.StorageMaxBytes || m.storage.over.Load() != nil {
		if err := m.sweepNow(ctx, set, time.Now()); err != nil {
			m.log.Warn("delete old sessions", "err", err)
		}
	}
	m.storage.spaceMu.Lock()
	m.storage.spaceAt = time.Time{} // what was just deleted counts
	m.storage.spaceMu.Unlock()
	if err := m.room(); err != nil {
		return fmt.Errorf("make room for a session: %w", err)
	}
	return nil
}
