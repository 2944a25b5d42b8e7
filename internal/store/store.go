package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/sorting"
)

// ErrClosed is what calls on a closed store return.
var ErrClosed = errors.New("store is closed")

// ErrReadOnly is what writing calls on a store made by Open return.
var ErrReadOnly = errors.New("store was opened for reading")

// Store is one session's events. Safe for concurrent use. Create starts two goroutines, the
// writer and the checkpointer; Close waits for both.
type Store struct {
	path string
	log  *slog.Logger
	meta Meta

	readDB  *sql.DB
	readers readerPool
	cache   hotCache

	commitMu sync.Mutex
	pub      publication   // what a snapshot shows
	changed  chan struct{} // closed and replaced when pub changes

	namesMu   sync.RWMutex
	functions []event.Function
	threads   []event.Thread
	threadOf  map[event.Thread]event.ThreadID
	streams   []event.Stream
	renamed   map[event.ThreadID]struct{} // not yet written
	missing   missing
	code      codeNames
	coverage  coverage

	// formerNames has the threads that had several names. It is replaced, never changed: snapshots share it.
	formerNames map[event.ThreadID][]ThreadName

	result    Result
	resultNew bool   // not yet written
	metaNew   bool   // not yet written
	picture   []byte // not yet written
	nFuncs    atomic.Uint32
	nThreads  atomic.Uint32
	nStreams  atomic.Uint32

	statsMu sync.Mutex
	nest    nester

	recount   sync.Once // Open of an interrupted file: counters from its events
	closeOnce sync.Once
	closeErr  error

	w *writer // nil after Open
}

// publication is one consistent state. Its slices and columns only ever grow behind their ends.
type publication struct {
	sparse, dense []*block
	old           columns // others of dropped blocks that are not in a sparse block yet
	open          columns
	openOwner     *columns // what open is a view of
	oldOwner      *columns
	openKinds     [event.NumKinds]int64
	sealedKinds   [event.NumKinds]int64 // of all blocks ever sealed
	kept          int64                 // calls in dense blocks
	keptBytes     int64                 // of dense blocks
	evicted       int64
	lastID        event.ID
	lastTS        int64
}

// block is one sealed block. It never changes.
type block struct {
	h     *header
	bytes int64 // that it takes in the file; of a session that is being recorded
}

// Create makes the file at path and starts recording. The file must not exist. Errors are
// STORAGE_FULL, PERMISSION_DENIED, or plain.
func Create(path string, m Meta, o Options) (*Store, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("create event store: %w", writeFault(path, err))
	}
	if err := f.Close(); err != nil {
		return nil, fmt.Errorf("create event store: %w", writeFault(path, err))
	}
	s, err := create(path, m, o)
	if err != nil {
		_ = RemoveFile(path) // best effort: the first error is the one that counts
		return nil, fmt.Errorf("create event store: %w", err)
	}
	return s, nil
}

func create(path string, m Meta, o Options) (*Store, error) {
	s := newStore(path, m, o.Logger)
	w := newWriter(s, o)
	if err := w.openFile(context.Background()); err != nil {
		w.closeFile()
		return nil, err
	}
	var err error
	if s.readDB, err = openReaders(path, map[string]string{"mode": "rw"}); err != nil {
		w.closeFile()
		return nil, err
	}
	s.w = w
	w.publishOpen()
	w.start()
	return s, nil
}

func newStore(path string, m Meta, log *slog.Logger) *Store {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	s := &Store{
		path: path, meta: m, log: log.With("session", m.SessionID),
		changed: make(chan struct{}), threadOf: map[event.Thread]event.ThreadID{}, renamed: map[event.ThreadID]struct{}{},
		missing: newMissing(),
	}
	s.setStreams(event.Stdio())
	s.readers.init()
	return s
}

// Path returns the path of the session's file.
func (s *Store) Path() string { return s.path }

// Meta returns what the session was created with, and the PID that was set since.
func (s *Store) Meta() Meta {
	s.namesMu.RLock()
	defer s.namesMu.RUnlock()
	return s.meta
}

// SetPID says which process the program became: a store is created before its program is started. The file
// has it with the next commit.
func (s *Store) SetPID(pid int) {
	s.namesMu.Lock()
	defer s.namesMu.Unlock()
	s.meta.PID, s.metaNew = pid, s.w != nil
}

// Result returns how the recording ended, as far as that is known.
func (s *Store) Result() Result {
	s.namesMu.RLock()
	defer s.namesMu.RUnlock()
	return s.result
}

// SetResult stores how the recording ended. It returns when the file has it.
func (s *Store) SetResult(r Result) error {
	if s.w == nil {
		return ErrReadOnly
	}
	s.namesMu.Lock()
	s.result, s.resultNew = r, true
	s.namesMu.Unlock()
	return s.w.flush(context.Background(), true)
}

// maxPicture bounds what is read: the file may be a stranger's.
const maxPicture = 32 << 20

// SetPicture keeps what a reader has made of the whole recording, for those who open it later. The file has it with the
// next commit.
func (s *Store) SetPicture(data []byte) {
	if s.w == nil {
		return
	}
	s.namesMu.Lock()
	s.picture = data
	s.namesMu.Unlock()
	s.w.touch()
}

// Picture returns what SetPicture was last given and the file has, nil if there is nothing.
func (s *Store) Picture(ctx context.Context) (data []byte, err error) {
	err = s.readDB.QueryRowContext(ctx, "SELECT value FROM meta WHERE key='picture' AND length(value)<=?", maxPicture).
		Scan(&data)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("read the picture: %w", err)
	}
	return data, nil
}

// Function registers a function and returns its ID, dense from 0. Every call makes a new one.
func (s *Store) Function(f event.Function) event.FuncID {
	f.Layout = append([]byte(nil), f.Layout...)
	s.namesMu.Lock()
	defer s.namesMu.Unlock()
	s.functions = append(s.functions, f)
	s.nFuncs.Store(uint32(len(s.functions)))
	return event.FuncID(len(s.functions) - 1)
}

// Thread registers a thread and returns its ID, dense from 0. The same pid, tid and name again
// give the same ID.
func (s *Store) Thread(t event.Thread) event.ThreadID {
	s.namesMu.Lock()
	defer s.namesMu.Unlock()
	if id, ok := s.threadOf[t]; ok {
		return id
	}
	id := event.ThreadID(len(s.threads))
	s.threads = append(s.threads, t)
	s.threadOf[t] = id
	s.nThreads.Store(uint32(len(s.threads)))
	return id
}

// Put stores a batch. It copies, waits while the writer is behind, and may be called from several
// goroutines. What arrives within one commit interval (5 to 50 ms) is sorted by TS, so IDs are
// chronological as far as producers keep up with that. Functions and threads must be
// registered. Calls must be properly nested per thread, and
// each thread's calls put in order. Errors: STORAGE_FULL while the disk is
// full (the batch is not stored), ErrClosed, ErrReadOnly.
func (s *Store) Put(batch []event.Event) error {
	if s.w == nil {
		return ErrReadOnly
	}
	return s.w.put(batch)
}

// Flush returns when everything that was put before is in the file and in the next Snapshot.
func (s *Store) Flush(ctx context.Context) error {
	if s.w == nil {
		return nil
	}
	return s.w.flush(ctx, false)
}

// SetLimits changes how many call events are kept, and how many bytes of them.
func (s *Store) SetLimits(events, bytes int64) {
	if s.w != nil {
		s.w.maxEvents.Store(max(events, 1))
		s.w.maxBytes.Store(max(bytes, 1))
	}
}

// Stats returns the counts of what is visible. It costs two file stats.
func (s *Store) Stats() Stats {
	s.commitMu.Lock()
	p := s.pub
	s.commitMu.Unlock()
	st := Stats{Evicted: p.evicted, LastID: p.lastID, LastTS: p.lastTS, FirstID: p.firstCall()}
	for k := range st.Events {
		st.Events[k] = p.sealedKinds[k] + p.openKinds[k]
	}
	st.Kept = p.kept + p.openKinds[event.FunctionEnter] + p.openKinds[event.FunctionExit]
	st.SizeBytes = FileSize(s.path)
	return st
}

// FileSize returns the size in bytes of the session file at path with its write-ahead log.
func FileSize(path string) int64 {
	var n int64
	for _, suffix := range []string{"", "-wal"} {
		if fi, err := os.Stat(path + suffix); err == nil {
			n += fi.Size()
		}
	}
	return n
}

// IsFile reports whether info is that of the store's own file.
func (s *Store) IsFile(info os.FileInfo) bool {
	own, err := os.Stat(s.path)
	return err == nil && os.SameFile(own, info)
}

// firstCall returns the ID of the oldest call, 0 if there is none.
func (p *publication) firstCall() event.ID {
	for _, b := range p.dense {
		if b.h.firstCall != 0 {
			return b.h.firstCall
		}
	}
	for i := range p.open.n {
		if event.Kind(p.open.kind[i]).IsCall() {
			return p.open.id(i)
		}
	}
	return 0
}

// FuncStats returns the counters of every function that was called, recorded or not, by FuncID.
func (s *Store) FuncStats() []FuncStat {
	s.settleCounts()
	missing := s.Missing()
	s.statsMu.Lock()
	stats := s.nest.copyStats()
	s.statsMu.Unlock()
	stats = withMissing(stats, missing)
	sorting.By(stats, func(a, b FuncStat) int { return cmp.Compare(a.Func, b.Func) })
	return stats
}

// settleCounts counts anew where a killed daemon has left counters that lag behind the events.
func (s *Store) settleCounts() {
	if s.w == nil && s.Result().Interrupted {
		s.recount.Do(s.recountFuncs)
	}
}

// AnyErrors reports whether FuncStats has errors of any function, without a copy of it.
func (s *Store) AnyErrors() bool {
	s.settleCounts()
	s.statsMu.Lock()
	defer s.statsMu.Unlock()
	return slices.ContainsFunc(s.nest.stats, func(f FuncStat) bool { return f.Errors > 0 })
}

// CallCounts are the calls of all functions: those made are the sum of the other three.
type CallCounts struct {
	Made     int64 `json:"made"`
	Recorded int64 `json:"recorded"`
	Sampled  int64 `json:"sampled,omitempty"` // left out, of functions that are called very often
	Dropped  int64 `json:"dropped,omitempty"` // lost, because buffers were full
}

// Calls counts the calls of all functions.
func (s *Store) Calls() CallCounts {
	var c CallCounts
	for _, m := range s.Missing() {
		c.Sampled += m.Sampled
		c.Dropped += m.Dropped
	}
	s.settleCounts()
	s.statsMu.Lock()
	defer s.statsMu.Unlock()
	for i := range s.nest.stats {
		c.Recorded += s.nest.stats[i].Recorded()
	}
	c.Made = c.Recorded + c.Sampled + c.Dropped
	return c
}

// Changed returns a channel that is closed when more becomes visible.
func (s *Store) Changed() <-chan struct{} {
	s.commitMu.Lock()
	defer s.commitMu.Unlock()
	return s.changed
}

// Wait returns when events after afterID are visible, when ctx ends, or with ErrClosed when no
// more can come.
func (s *Store) Wait(ctx context.Context, afterID event.ID) error {
	for {
		s.commitMu.Lock()
		last, ch := s.pub.lastID, s.changed
		s.commitMu.Unlock()
		switch {
		case last > afterID:
			return nil
		case s.w == nil:
			return ErrClosed
		}
		select {
		case <-ch:
		case <-s.w.done:
			// The last commit may have come with the end.
			s.commitMu.Lock()
			last := s.pub.lastID
			s.commitMu.Unlock()
			if last > afterID {
				return nil
			}
			return ErrClosed
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Close writes what is left, turns the file into a single one without a log, and closes it. Snapshots
// must be closed before. It returns STORAGE_FULL if the end could not be written.
func (s *Store) Close() error {
	s.closeOnce.Do(func() {
		if s.w != nil {
			s.closeErr = s.w.close()
		}
		s.readers.close()
		if s.readDB != nil {
			s.closeErr = errors.Join(s.closeErr, s.readDB.Close())
		}
		if s.w != nil {
			s.w.closeFile()
		}
	})
	return s.closeErr
}
