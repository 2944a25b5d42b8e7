package session

import (
	"context"
	"runtime/debug"
	"slices"
	"time"

	"github.com/strobe-debug/strobe/internal/sorting"
)

// maxOpenEnded is how many ended sessions keep their store open: enough for a client that compares
// runs, few enough files and memory. Others are opened again when asked for.
const maxOpenEnded = 8

// idleAfter is how long nobody has asked for a session that is closed: who has got it uses it within that time.
const idleAfter = 10 * time.Second

// closeIdle closes the stores of ended sessions that nobody has used for longest. It reports whether some are to be
// closed later.
func (m *Manager) closeIdle() (later bool) {
	m.mu.Lock()
	var ended []*Session
	for _, s := range m.sessions {
		if s.Ended() && s.alone() {
			ended = append(ended, s)
		}
	}
	m.mu.Unlock()
	sorting.By(ended, func(a, b *Session) int { return b.lastUsed().Compare(a.lastUsed()) })
	ended = ended[min(len(ended), maxOpenEnded):]
	idle := slices.DeleteFunc(slices.Clone(ended), func(s *Session) bool { return time.Since(s.lastUsed()) < m.idleAfter })
	saved := m.saved(idle)
	later = len(saved) < len(ended)
	m.mu.Lock()
	var drop []*Session
	for _, s := range saved {
		if m.sessions[s.ID] == s && s.alone() && s.beginClose(true) {
			delete(m.sessions, s.ID)
			m.parting[s.ID] = make(chan struct{})
			drop = append(drop, s)
		}
	}
	m.mu.Unlock()
	for _, s := range drop {
		m.closeEnded(s)
		m.mu.Lock()
		close(m.parting[s.ID])
		delete(m.parting, s.ID)
		m.mu.Unlock()
	}
	// what they held is much, and nothing else may run for long that would have it collected: also mapped files of old
	// builds
	if len(drop) > 0 {
		debug.FreeOSMemory()
	}
	return later
}

// saveLimit bounds how long what an ended session has not written yet holds others up.
const saveLimit = 10 * time.Second

// saved returns those of ended sessions that the disk has whole. On a full disk the others stay open: closed, what they
// have not written would be lost.
func (m *Manager) saved(ended []*Session) []*Session {
	return slices.DeleteFunc(ended, func(s *Session) bool {
		ctx, cancel := context.WithTimeout(context.Background(), saveLimit)
		defer cancel()
		err := s.st.Flush(ctx)
		if err != nil && !s.unsaved.Swap(true) {
			m.log.Warn("a session stays open that cannot be saved", "session", s.ID, "err", err)
		}
		return err != nil
	})
}

// closeEnded closes what an ended session holds open. It has no users and is in no table any more.
func (m *Manager) closeEnded(s *Session) {
	s.closeCore()
	if s.col != nil {
		s.keep() // children may have outlived the program, and been traced otherwise since
		info := s.info()
		if err := s.setResult(&info); err != nil {
			m.log.Warn("save idle session", "session", s.ID, "err", err)
		}
		if err := stopCollector(s.col, false); err != nil {
			m.log.Warn("release collector", "session", s.ID, "err", err)
		}
	}
	if err := s.st.Close(); err != nil {
		m.log.Warn("close idle session", "session", s.ID, "err", err)
	}
	s.unlocked()
}
