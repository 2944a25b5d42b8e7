// Package session owns runs: one Session is one launched program with its collector, its channels, its clock and its
// store, and every goroutine that belongs to them; Manager is all of them.
//
// In the data path it stands between collector and iochan, which produce events, and store. Its sink brings calls and
// output into one order. It also keeps what outlives a run: the list of sessions and their files under $STROBE_HOME.
//
// A session is running until its first process ends, then exited or crashed, and stays readable until it is stopped or
// deleted. One that a dead daemon left running is interrupted: its file is recovered and readable.
//
// Invariants: a failed launch leaves nothing behind; no lock is held over a launch, a stop, SQL or a call to a
// collector (sink.mu, which makes the order of events, is the exception and is taken by producers only); every step of
// a stop has a bound; counts are read after a flush.
//
// Lock order: Manager.mu before Session.mu; both are held for field access only.
package session

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/iochan"
	"github.com/strobe-debug/strobe/internal/near"
	"github.com/strobe-debug/strobe/internal/settings"
	"github.com/strobe-debug/strobe/internal/store"
)

// Config is what a Manager is given.
type Config struct {
	Home     string // $STROBE_HOME
	Logger   *slog.Logger
	Runtimes []collector.Runtime // asked in this order
	Settings *settings.Loader
	Cores    collector.Cores // opens core files; nil: this build cannot
	Version  string
	// Space returns what is free and what there is in all, in bytes, on the disk of a folder; nil: nobody knows.
	Space func(dir string) (free, size int64, err error)
	// Files returns how many files this process has open and how many it may; nil: nobody knows.
	Files func() (used, limit int)
	// Keeper is the command whose process keeps the files of programs that outlive the daemon; it
	// calls RunKeeper. Empty: such programs get SIGPIPE or SIGHUP.
	Keeper []string
	// DisplayKeeper is the command that has a display of a session's own; it calls display.RunKeeper.
	DisplayKeeper []string

	// Prepare makes ready what readers of a session ask for first, when its program has ended. nil: nothing is.
	Prepare func(ctx context.Context, st *store.Store) error

	Link   *Link  // of a worker: the daemon has the list
	Others Others // of a daemon: its workers; nil: it has none
	// Lock holds a session's file as long as this process writes it, and Locked reports whether any process does. nil:
	// nobody asks.
	Lock   func(path string) (release func(), err error)
	Locked func(path string) bool
}

// RunKeeper is the keeper's process; see iochan.Keeper.
func RunKeeper() error { return iochan.RunKeeper() }

// Manager is all sessions of one daemon. Safe for concurrent use.
//
// Goroutines: per session those of Session; tidy, which deletes old data. Close waits for all.
type Manager struct {
	cfg   Config
	log   *slog.Logger
	dir   string // of session files
	index *store.Index

	keeper *iochan.Keeper // nil: none

	ctx    context.Context // ends with Close: launches and waits under way
	cancel context.CancelFunc
	wg     sync.WaitGroup // tidy and session goroutines

	storage storage

	launches sync.WaitGroup // under way; Add under mu and only while not closed

	mu       sync.Mutex
	sessions map[string]*Session // running, and ended with an open store
	reserved map[string]bool     // ids of launches under way
	// all ids of this daemon's launches: what is on disk may have changed since it was read
	given    map[string]bool
	opening  map[string]*opening      // stores being opened
	parting  map[string]chan struct{} // stores being closed because nobody used them
	detached []*iochan.Conn           // of programs that run on, where there is no keeper
	purging  map[string]string        // sessions that are being deleted to make room
	closed   bool

	idleAfter time.Duration
}

type opening struct {
	done chan struct{}
	s    *Session
	err  error
}

// NewManager opens the list of sessions and recovers what a dead daemon left. Call Close.
func NewManager(cfg Config) (*Manager, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Settings == nil {
		cfg.Settings = settings.NewLoader(cfg.Home)
	}
	m := &Manager{
		cfg: cfg, log: cfg.Logger, dir: filepath.Join(cfg.Home, "sessions"),
		sessions: map[string]*Session{}, reserved: map[string]bool{}, given: map[string]bool{},
		opening: map[string]*opening{}, parting: map[string]chan struct{}{},
		purging: map[string]string{}, idleAfter: idleAfter, storage: storage{kick: make(chan struct{}, 1)},
	}
	if err := os.MkdirAll(m.dir, 0o700); err != nil {
		return nil, fault.New(fault.PermissionDenied, "Make $STROBE_HOME writable, or set it to a directory that is.",
			"make directory for sessions: %w", err)
	}
	var err error
	if m.index, err = store.OpenIndex(filepath.Join(cfg.Home, "strobe.db")); err != nil {
		return nil, fmt.Errorf("open list of sessions: %w", err)
	}
	if len(cfg.Keeper) > 0 {
		m.keeper = iochan.NewKeeper(cfg.Keeper)
	}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	if cfg.Link != nil {
		m.wg.Go(m.tidyHere)
		return m, nil
	}
	if err := m.recoverDead(); err != nil {
		m.index.Close()
		return nil, fmt.Errorf("recover sessions: %w", err)
	}
	m.wg.Go(m.tidy)
	return m, nil
}

// Busy reports whether any session's program runs or is being launched.
func (m *Manager) Busy() bool {
	others := m.liveElsewhere()
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.liveLocked()+others > 0
}

func (m *Manager) liveElsewhere() int {
	if m.cfg.Others == nil {
		return 0
	}
	return m.cfg.Others.Live()
}

func (m *Manager) liveLocked() int {
	n := len(m.reserved)
	for _, s := range m.sessions {
		if s.Live() {
			n++
		}
	}
	return n
}

// reserve takes an id for a launch that begins, within the limit.
func (m *Manager) reserve(ctx context.Context, binary string, limit int) (string, error) {
	if m.cfg.Link != nil {
		return m.reserveHere(ctx, binary, limit)
	}
	return m.reserveNamed(ctx, sessionBase(binary, time.Now()), limit)
}

// reserveNamed is reserve of an id that is base, or begins with it.
func (m *Manager) reserveNamed(ctx context.Context, base string, limit int) (string, error) {
	others := m.liveElsewhere()
	taken, err := m.takenIDs(ctx, base)
	if err != nil {
		return "", err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return "", errClosed()
	}
	if n := m.liveLocked() + others; n >= limit {
		return "", fault.New(fault.SessionLimit,
			"Stop one with debug_session (action list shows them), or raise sessions.max in settings.json.",
			"%d sessions run, the limit is %d", n, limit)
	}
	for i := 1; ; i++ {
		id := base
		if i > 1 {
			id = fmt.Sprintf("%s-%d", base, i)
		}
		if m.sessions[id] == nil && !m.reserved[id] && !m.given[id] && !taken[id] {
			m.reserved[id], m.given[id] = true, true
			m.launches.Add(1)
			return id, nil
		}
	}
}

func errClosed() error {
	return fault.New(fault.InternalError, "Call again: the next daemon starts by itself.", "the daemon is ending")
}

// takenIDs returns the ids on disk and in the list that begin with base.
func (m *Manager) takenIDs(ctx context.Context, base string) (map[string]bool, error) {
	taken := map[string]bool{}
	entries, err := os.ReadDir(m.dir)
	if err != nil {
		return nil, fmt.Errorf("read session files: %w", err)
	}
	for _, e := range entries {
		if id, _, ok := strings.Cut(e.Name(), ".db"); ok && strings.HasPrefix(id, base) {
			taken[id] = true
		}
	}
	infos, err := m.index.List(ctx, "")
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	for _, i := range infos {
		taken[i.ID] = true
	}
	purges, err := m.Purges(ctx) // an id that is asked for later must not mean another session
	if err != nil {
		return nil, err
	}
	for _, p := range purges {
		taken[p.ID] = true
	}
	return taken, nil
}

// maxBinaryName keeps ids, which are file names, well below NAME_MAX.
const maxBinaryName = 64

// sessionBase is {binary}-{YYYY-MM-DD}-{HHhMM} in local time.
func sessionBase(binary string, now time.Time) string {
	return fileName(filepath.Base(binary), maxBinaryName) + now.Format("-2006-01-02-15h04")
}

// fileName makes a name of at most limit bytes that is good for a file.
func fileName(name string, limit int) string {
	name = strings.Map(func(r rune) rune {
		if r == '.' || r == '_' || r == '-' || r == '+' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' &&
			r <= 'Z' {
			return r
		}
		return '_'
	}, name)
	name = strings.TrimLeft(name, ".-")
	if len(name) > limit {
		name = name[:limit]
	}
	if name == "" {
		name = "program"
	}
	return name
}

func (m *Manager) path(id string) string { return filepath.Join(m.dir, id+".db") }

// Get returns a session, opening its file if it ended before.
func (m *Manager) Get(ctx context.Context, id string) (*Session, error) {
	m.mu.Lock()
	for c := m.parting[id]; c != nil; c = m.parting[id] {
		m.mu.Unlock()
		select {
		case <-c:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		m.mu.Lock()
	}
	if s := m.sessions[id]; s != nil {
		m.mu.Unlock()
		s.touch()
		return s, nil
	}
	if m.closed {
		m.mu.Unlock()
		return nil, errClosed()
	}
	if _, going := m.purging[id]; going {
		m.mu.Unlock()
		return nil, m.notFound(ctx, id)
	}
	o, waiting := m.opening[id]
	if !waiting {
		o = &opening{done: make(chan struct{})}
		m.opening[id] = o
	}
	m.mu.Unlock()
	if !waiting {
		o.s, o.err = m.open(context.WithoutCancel(ctx), id)
		m.mu.Lock()
		delete(m.opening, id)
		if o.err == nil && m.closed {
			o.s, o.err = nil, errors.Join(errClosed(), o.s.st.Close())
		}
		if o.err == nil {
			m.sessions[id] = o.s
		}
		m.mu.Unlock()
		close(o.done)
		m.closeIdle()
	}
	select {
	case <-o.done:
		return o.s, o.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// open opens an ended session's file.
func (m *Manager) open(ctx context.Context, id string) (*Session, error) {
	if err := m.fetch(ctx, id); err != nil {
		return nil, err
	}
	if err := m.waitUnlocked(ctx, id); err != nil {
		return nil, err
	}
	info, ok, err := m.index.Get(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("find session %s: %w", id, err)
	}
	if !ok {
		return nil, m.notFound(ctx, id)
	}
	st, err := store.Open(m.path(id))
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil, fault.New(fault.SessionNotFound, "Delete it with debug_session.", "session %s: its file is gone", id)
		}
		return nil, fmt.Errorf("open session %s: %w", id, err)
	}
	return newEnded(m, info, st), nil
}

// notFound explains an unknown id.
func (m *Manager) notFound(ctx context.Context, id string) error {
	if p := m.purgeOf(ctx, id); p != nil {
		return fault.New(fault.SessionNotFound, "debug_session list shows what is left; storage.maxBytes and "+
			"storage.retainDays in the user's settings.json say how much and how long is kept.",
			"session %s was deleted on %s: %s", id, time.Unix(0, p.At).Format(time.DateTime), p.Reason)
	}
	m.mu.Lock()
	why, going := m.purging[id]
	m.mu.Unlock()
	if going {
		return fault.New(fault.SessionNotFound, "debug_session list shows what is left; storage.maxBytes and "+
			"storage.retainDays in the user's settings.json say how much and how long is kept.",
			"session %s is being deleted: %s", id, why)
	}
	var ids []string
	if infos, err := m.List(ctx); err == nil {
		for _, i := range infos {
			if i.ID != id {
				ids = append(ids, i.ID)
			}
		}
	}
	hint := "There is no session; start one with debug_launch."
	if near := near.Names(id, ids, 3); len(near) > 0 {
		hint = "Did you mean " + strings.Join(near, ", ") + "?"
	} else if len(ids) > 0 {
		hint = fmt.Sprintf("The newest is %s; debug_session list shows all %d.", ids[0], len(ids))
	}
	return fault.New(fault.SessionNotFound, hint, "no session %q", id)
}

// Info is one session in a list.
type Info = store.SessionInfo

// List returns every session, newest first.
func (m *Manager) List(ctx context.Context) ([]Info, error) {
	infos, err := m.index.List(ctx, "")
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	m.mu.Lock()
	open := make(map[string]*Session, len(m.sessions))
	for id, s := range m.sessions {
		open[id] = s
	}
	m.mu.Unlock()
	var others map[string]Info
	if m.cfg.Others != nil {
		others = m.cfg.Others.Infos(ctx)
	}
	for i := range infos {
		if s := open[infos[i].ID]; s != nil {
			infos[i] = s.info()
		} else if o, ok := others[infos[i].ID]; ok {
			infos[i] = o
		} else if n := store.FileSize(infos[i].Path); n > 0 { // smaller than at its end: the log is folded into the file
			infos[i].SizeBytes = n
		}
	}
	slices.Reverse(infos)
	return infos, nil
}

// Delete removes an ended session's data.
func (m *Manager) Delete(ctx context.Context, id string) error {
	m.mu.Lock()
	s := m.sessions[id]
	m.mu.Unlock()
	if s != nil {
		if s.Live() {
			return fault.New(fault.ValidationError, "Stop it first with debug_session, action stop.", "session %s runs", id)
		}
		_, err := m.Stop(ctx, id, StopOptions{Kill: true})
		return err
	}
	_, ok, err := m.index.Get(ctx, id)
	if err != nil {
		return fmt.Errorf("find session %s: %w", id, err)
	}
	if !ok {
		return m.notFound(ctx, id)
	}
	return m.remove(ctx, id)
}

// closeTimeout bounds the end of the daemon.
const closeTimeout = 15 * time.Second

// endGrace is how long programs may take to end when the daemon does: whoever stops it waits.
const endGrace = time.Second

// Close stops every session at once: programs are asked to end and killed, or let go if they ran before, data is kept.
// No call succeeds afterwards.
func (m *Manager) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	return m.closeAll(ctx, StopOptions{Kill: true, Keep: true, Grace: endGrace})
}

// stopAll stops every session as o says; those that ran before are let go.
func (m *Manager) stopAll(ctx context.Context, o StopOptions) error {
	m.mu.Lock()
	var all []*Session
	for _, s := range m.sessions {
		all = append(all, s)
	}
	m.mu.Unlock()
	errs := make([]error, len(all))
	var stops sync.WaitGroup
	for i, s := range all {
		stops.Go(func() {
			own := o
			if own.Kill = o.Kill && !s.attached; !own.Kill {
				own.Grace = 0
			}
			if _, errs[i] = m.stop(ctx, s, own); errors.Is(errs[i], errIdle) {
				errs[i] = nil
			}
		})
	}
	stops.Wait()
	return errors.Join(errs...)
}

// waitFor waits for wg as long as ctx lasts. Only at the daemon's end is it given up, so the goroutine
// that is left then is no leak.
func waitFor(ctx context.Context, wg *sync.WaitGroup) bool {
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	select {
	case <-done:
		return true
	case <-ctx.Done():
		return false
	}
}
