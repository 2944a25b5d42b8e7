package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/crash"
	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/iochan"
	"github.com/strobe-debug/strobe/internal/store"
	"github.com/strobe-debug/strobe/internal/ui/display"
)

// Status is a session's state as clients see it.
type Status string

const (
	Running     Status = "running"
	Paused      Status = "paused"
	Exited      Status = "exited"
	Crashed     Status = "crashed"     // ended by a signal that says the program is wrong
	Interrupted Status = "interrupted" // the daemon died while it ran
)

// Bounds of the steps of a session's end.
const (
	// settleQuiet is how long output may be silent after the program's end until nothing more is waited for.
	settleQuiet = 250 * time.Millisecond
	// settleMax ends that wait where a process that was left behind keeps writing.
	settleMax = 2 * time.Second
)

// crashSignals are those whose default action is a core dump (signal(7)), but SIGQUIT, which a user sends.
var crashSignals = map[string]bool{
	"SIGILL": true, "SIGABRT": true, "SIGFPE": true, "SIGSEGV": true, "SIGBUS": true, "SIGSYS": true,
	"SIGTRAP": true, "SIGXCPU": true, "SIGXFSZ": true,
}

// Session is one run. Safe for concurrent use.
//
// Goroutines: watch, which follows the program to its end and its output to theirs; those of the
// connection and the collector. Manager.Stop and Manager.Close end them.
type Session struct {
	ID string

	m       *Manager
	log     *slog.Logger
	st      *store.Store
	sink    *sink               // nil when it was opened from its file, as are the next two
	conn    *iochan.Conn        // reads until every stream ended; nil also where the program was attached to
	col     collector.Collector // of the running or just ended program
	caps    *collector.Capabilities
	dead    deadProcess      // of a core file
	display *display.Display // nil: none of its own

	channels *iochan.Hub // nil when it was opened from its file

	unlock func() // its file, when it is closed; nil: it was not locked

	ctx      context.Context // ends when the store is about to close
	cancel   context.CancelFunc
	stopping chan struct{} // closed when a stop begins
	noted    chan struct{} // closed when the program's end is noted
	over     chan struct{} // closed when its last output is recorded, too, or a stop was first
	watched  chan struct{} // closed when watch has ended

	tracing chan struct{} // a token: who changes probes holds it, so that waiting can be cancelled

	unsaved atomic.Bool // it was told that it stays open

	mu        sync.Mutex
	meta      Info // static parts, and how it ended
	status    Status
	exit      *collector.ExitInfo // of the first process
	traced    Tracing
	points    []collector.Point
	polls     int   // that run
	toldPause int64 // the last pause that an answer told of
	lastPoint int   // number of the last point
	onFull    collector.OnFull
	attached  bool // the program ran before
	warnings  []string
	users     int
	idle      *sync.Cond // on mu: users fell to 0
	closing   bool
	used      time.Time
	stop      *stopCall
	kept      []byte // see keep

	// Of one that was opened from its file.
	was        collector.Status
	storeError error
}

func newSession(m *Manager, meta Info, st *store.Store) *Session {
	s := &Session{
		ID: meta.ID, m: m, log: m.log.With("session", meta.ID), st: st, meta: meta, used: time.Now(),
		stopping: make(chan struct{}), noted: make(chan struct{}), over: make(chan struct{}), watched: make(chan struct{}),
		tracing: make(chan struct{}, 1),
	}
	s.idle = sync.NewCond(&s.mu)
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// newEnded is a session that was opened from its file.
func newEnded(m *Manager, meta Info, st *store.Store) *Session {
	s := newSession(m, meta, st)
	s.status = Status(meta.Status)
	r := st.Result()
	if s.status == Running || r.Interrupted && s.status == "" {
		s.status = Interrupted
	}
	if meta.ExitCode != nil || meta.Signal != "" {
		s.exit = &collector.ExitInfo{Signal: meta.Signal}
		if meta.ExitCode != nil {
			s.exit.Code = *meta.ExitCode
		}
	}
	s.recall(r)
	s.describeCore()
	close(s.watched)
	return s
}

// Live reports whether the program runs.
func (s *Session) Live() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status == Running || s.status == Paused
}

// Ended reports that nothing more can come: the program and every stream ended.
func (s *Session) Ended() bool {
	select {
	case <-s.watched:
		return true
	default:
		return false
	}
}

// alone reports that no process of an ended session lives: children may outlive the program.
func (s *Session) alone() bool { return s.col == nil || len(s.col.PIDs()) == 0 }

// Complete is Ended for a question that waits: not while the session is being stopped, which ends the question itself.
func (s *Session) Complete() bool {
	select {
	case <-s.stopping:
		return false
	default:
		return s.Ended()
	}
}

func (s *Session) lastUsed() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used
}

func (s *Session) touch() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used = time.Now()
}

// ProjectRoot returns the directory that the session was launched for.
func (s *Session) ProjectRoot() string { return s.meta.ProjectRoot }

// PID returns the first process's id.
func (s *Session) PID() int { return s.meta.PID }

// Use keeps the session's store open until release. The returned context also ends when the
// session is stopped; a question that fails then failed because of that.
func (s *Session) Use(ctx context.Context) (st *store.Store, use context.Context, release func(), err error) {
	if s.sink != nil { // settings hold from the next call on
		set, _ := s.m.cfg.Settings.Load(s.ProjectRoot())
		s.st.SetLimits(set.EventsMaxPerSession, set.BytesMaxPerSession)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return nil, nil, nil, s.gone()
	}
	s.users++
	s.used = time.Now()
	use, cancel := context.WithCancelCause(ctx)
	unlink := context.AfterFunc(s.ctx, func() { cancel(s.gone()) })
	var once sync.Once
	return s.st, use, func() {
		once.Do(func() {
			unlink()
			cancel(nil)
			s.mu.Lock()
			defer s.mu.Unlock()
			s.users--
			s.idle.Broadcast()
		})
	}, nil
}

func (s *Session) gone() error {
	return fault.New(fault.SessionNotFound, "debug_session list shows what there is.", "session %s was stopped", s.ID)
}

// beginClose refuses new users. With idleOnly it does so only if there are none, and reports whether it did.
func (s *Session) beginClose(idleOnly bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing || idleOnly && (s.users > 0 || s.stop != nil) {
		return false
	}
	s.closing = true
	s.cancel()
	if s.sink != nil {
		s.sink.changes.close()
	}
	return true
}

// waitUnused waits until no user is left.
func (s *Session) waitUnused(ctx context.Context) error {
	unlink := context.AfterFunc(ctx, func() { s.mu.Lock(); s.idle.Broadcast(); s.mu.Unlock() })
	defer unlink()
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.users > 0 {
		if ctx.Err() != nil {
			return fmt.Errorf("wait for queries to end: %w", ctx.Err())
		}
		s.idle.Wait()
	}
	return nil
}

// Now is the session's clock: nanoseconds since its start; of an ended one, its last moment.
func (s *Session) Now() int64 {
	if s.sink != nil {
		return s.sink.Now()
	}
	return s.st.Stats().LastTS
}

// watch follows the program to its end, then its output.
func (s *Session) watch() {
	defer s.m.lookSoon()
	defer close(s.watched)
	defer s.touch()
	select {
	case <-s.col.Exited():
		s.finish()
		close(s.over)
	case <-s.stopping:
		close(s.over)
		return
	}
	if s.conn == nil {
		return
	}
	select {
	case <-s.conn.Done():
		s.m.closeChannel(s.conn)
		s.closeDisplay()
		s.sink.flushHeld()
		s.saveOrLog()
	case <-s.stopping:
	}
}

// finish records how the program ended, and its last output.
func (s *Session) finish() {
	if !s.noteExit() {
		return // a stop was first, and does the rest
	}
	ctx, cancel := context.WithTimeout(context.Background(), settleMax)
	defer cancel()
	go func() {
		select {
		case <-s.stopping:
			cancel()
		case <-ctx.Done():
		}
	}()
	if s.conn != nil {
		s.conn.Settle(ctx, settleQuiet)
	}
	if s.alone() { // what it left behind may go on with them
		s.closeChannels()
	}
	s.sink.flushHeld()
	s.noteCaps() // who was quick at its end was never asked before
	s.keep()
	s.saveOrLog()
	info := s.info()
	s.log.Info("program ended", "status", info.Status, "signal", info.Signal, "events", info.EventCount)
}

// noteExit records how the program ended. It reports whether this was the first call that did.
func (s *Session) noteExit() bool {
	exit := s.col.Exit()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.exit != nil {
		return false
	}
	s.exit = &exit
	close(s.noted)
	s.meta.EndedAt = time.Now().UnixNano()
	if s.status = Exited; crashSignals[exit.Signal] || s.sink.crashes.hasDied(s.meta.PID) {
		s.status = Crashed
	}
	s.meta.Signal = exit.Signal
	if exit.Signal == "" {
		s.meta.ExitCode = &exit.Code
	}
	s.exited()
	return true
}

// save writes how the session stands into its file, if it is being recorded, and into the list.
func (s *Session) save(ctx context.Context) error {
	info := s.info()
	var err error
	if s.sink != nil { // writes the last events too, also into the reserve that a full disk has
		err = s.setResult(&info)
	}
	return errors.Join(err, s.m.index.Update(ctx, s.info()))
}

func (s *Session) setResult(info *Info) error {
	s.mu.Lock()
	observed := s.kept
	s.mu.Unlock()
	return s.st.SetResult(store.Result{
		Status: info.Status, ExitCode: info.ExitCode, Signal: info.Signal, EndedAt: info.EndedAt, Dropped: s.Dropped(),
		Observed: observed, Redacted: s.Redacted(),
	})
}

func (s *Session) saveOrLog() {
	if err := bounded("save session", stopStoreMax, s.save); err != nil {
		s.log.Warn("program ended", "err", err)
	}
}

// info returns the session as the list shows it, with present counts. The store must be open.
func (s *Session) info() Info {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.infoLocked()
}

func (s *Session) infoLocked() Info {
	info := s.meta
	info.Status = string(s.status)
	if !s.closing {
		stats := s.st.Stats()
		info.SizeBytes, info.EventCount = stats.SizeBytes, stats.Total()
		s.meta.SizeBytes, s.meta.EventCount = info.SizeBytes, info.EventCount
	}
	return info
}

// Dropped returns how many events were lost before they reached the store.
func (s *Session) Dropped() int64 {
	if s.sink != nil {
		return s.sink.dropped.Load()
	}
	return s.st.Result().Dropped
}

// Redacted returns how many values were left out of its events as secrets.
func (s *Session) Redacted() int64 {
	if s.sink != nil {
		return s.sink.redacted.Load()
	}
	return s.st.Result().Redacted
}

// State is a session at one moment.
type State struct {
	Info
	Status     Status
	Exit       *collector.ExitInfo // nil while it runs, and where it is not known
	PIDs       []int
	Events     map[string]int64 // by type, ever recorded
	Total      int64
	Evicted    int64
	Dropped    int64
	Calls      CallCounts
	Trace      collector.Status
	Tracing    Tracing
	Caps       *collector.Capabilities
	StoreError error        // events are not being recorded
	Crash      *crash.Crash // the newest, a fatal one before others
	Warnings   []string
	Points     []collector.Point
	Pauses     []collector.Pause
}

// State flushes and returns how the session stands. A flush that takes too long is a warning. The status
// is that of the call's beginning: whoever sees that the program has ended sees all its events.
func (s *Session) State(ctx context.Context) (*State, error) {
	db, use, release, err := s.Use(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	pauses := s.told(s.Pauses())
	s.offer()
	s.mu.Lock()
	st := &State{Info: s.infoLocked(), Status: s.status, Pauses: pauses, Points: slices.Clone(s.points), Exit: s.exit,
		Events: map[string]int64{}, Caps: s.caps, PIDs: []int{}}
	s.mu.Unlock()
	if st.Status == Running && len(pauses) > 0 {
		st.Status = Paused
	}
	var late []string
	var full error // what was recorded last waits for room on the disk
	if err := s.Flush(use); err != nil && (s.sink == nil || s.sink.err() == nil) {
		if full = err; fault.CodeOf(err) != fault.StorageFull {
			late, full = append(late, fmt.Sprintf("counts may lag: %v", err)), nil
		}
	}
	stats := db.Stats()
	st.Total, st.Evicted, st.Dropped = stats.Total(), stats.Evicted, s.Dropped()
	st.SizeBytes, st.EventCount, st.Calls = stats.SizeBytes, st.Total, db.Calls()
	for k, n := range stats.Events {
		if n > 0 {
			st.Events[event.Kind(k).String()] = n
		}
	}
	st.Trace, st.StoreError = s.traceStatus(), s.storeError
	if s.col != nil {
		if pids := s.col.PIDs(); pids != nil {
			st.PIDs = pids
		}
	}
	if s.sink != nil {
		st.StoreError = cmp.Or(s.sink.err(), full)
	}
	if stats.Events[event.Crash] > 0 {
		if st.Crash, err = newestCrash(use, db); err != nil {
			late = append(late, fmt.Sprintf("crash is not shown: %v", err))
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	st.Tracing = s.traced.clone()
	st.Warnings = append(late, s.warnings...)
	return st, nil
}

// Traced reports whether calls are recorded, if functions were found for that.
func (s *Session) Traced() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.traced.Probes) > 0
}

// offer notes what the target offers now: it is another thing when an interpreter's agent has come.
func (s *Session) offer() {
	if s.col == nil || !s.Live() {
		return
	}
	s.noteCaps()
}

// noteCaps keeps what the target offers, or offered to its end.
func (s *Session) noteCaps() {
	caps := s.col.Capabilities()
	s.mu.Lock()
	s.caps = &caps
	s.mu.Unlock()
}

// Started is State without the flush, for the answer of a launch, which must not wait for anything.
func (s *Session) Started() (*State, error) {
	_, _, release, err := s.Use(context.Background())
	if err != nil {
		return nil, err
	}
	defer release()
	s.mu.Lock()
	defer s.mu.Unlock()
	st := &State{Info: s.meta, Status: s.status, Exit: s.exit, Caps: s.caps, Warnings: s.warnings,
		Tracing: s.traced.clone()}
	st.Trace = s.traceStatus()
	return st, nil
}
