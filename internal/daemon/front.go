package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/mcp"
	"github.com/strobe-debug/strobe/internal/service"
	"github.com/strobe-debug/strobe/internal/sorting"
)

const (
	// keptWorkers may keep an ended session open for longer than endedSoon, so that questions need not open it again.
	keptWorkers = 8
	endedSoon   = 10 * time.Second
	endedLate   = time.Minute
	// recoverTime is how long an answer waits until what a dead worker left can be asked for.
	recoverTime = 5 * time.Second
)

// front is the daemon's side of its workers: it passes each call on to the worker that has what the call is about, and
// answers itself for what has ended. Nothing that a target, its symbols or its records do to a worker reaches it. Safe
// for concurrent use.
//
// Goroutines: tend, starts of workers, and for each worker one that waits for its end: Close waits for these. Those of
// its peer and its relay end with their connections.
type front struct {
	home string
	log  *slog.Logger
	svc  *service.Service // set once, before the first call

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	wg     sync.WaitGroup
	look   chan struct{} // capacity 1: tend looks now

	mu       sync.Mutex
	workers  map[*remote]bool
	sessions map[string]*remote // also those whose launch is under way
	runs     map[string]*remote // test runs that go on
	spare    *remote            // started ahead
	starting chan struct{}      // closed when the next spare is there, or cannot be; nil: none is being started
	planned  bool               // the next spare is started after spareDelay
	room     error              // what workers were told last
	files    []string           // whose symbols launches needed lately
	closed   bool
}

func newFront(home string, log *slog.Logger) *front {
	f := &front{home: home, log: log, workers: map[*remote]bool{}, sessions: map[string]*remote{},
		runs: map[string]*remote{}, look: make(chan struct{}, 1)}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	return f
}

// begin starts what front does by itself, when the service is there.
func (f *front) begin(svc *service.Service) {
	f.svc = svc
	f.wg.Go(f.tend)
	f.planSpare()
}

// Busy reports whether something runs in any process.
func (f *front) Busy() bool {
	f.mu.Lock()
	runs := len(f.runs)
	f.mu.Unlock()
	return runs > 0 || f.svc.Busy()
}

// Close ends every worker, with the programs that it launched, and then the service.
func (f *front) Close(ctx context.Context) error {
	f.mu.Lock()
	f.closed = true
	all := f.allLocked()
	f.mu.Unlock()
	f.cancel()
	for _, w := range all {
		f.wg.Go(func() {
			w.ask(askClose, nil, nil) //nolint:errcheck // it has ended
			select {
			case <-w.gone:
			case <-ctx.Done():
				f.log.Warn("a worker does not end", "worker", w.pid())
				w.kill()
			}
		})
	}
	f.wg.Wait()
	return f.svc.Close(ctx)
}

func (f *front) allLocked() []*remote {
	all := make([]*remote, 0, len(f.workers))
	for w := range f.workers {
		all = append(all, w)
	}
	return all
}

// tend ends workers of which nothing is needed, and tells the others whether there is room to record.
func (f *front) tend() {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-f.ctx.Done():
			return
		case <-tick.C:
		case <-f.look:
		}
		f.tellRoom()
		f.mu.Lock()
		idle := f.allLocked()
		sorting.By(idle, func(a, b *remote) int { return b.used.Compare(a.used) })
		f.mu.Unlock()
		idle = slices.DeleteFunc(idle, func(w *remote) bool { return !f.idle(w, endedSoon) })
		for i, w := range idle {
			if i >= keptWorkers || f.idle(w, endedLate) {
				f.leave(w)
			}
		}
	}
}

// kick has tend look at once.
func (f *front) kick() {
	select {
	case f.look <- struct{}{}:
	default:
	}
}

// idle reports a worker that has had nothing to do for so long and has nothing that needs it; one without sessions at
// once.
func (f *front) idle(w *remote, long time.Duration) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if w == f.spare || w.calls > 0 || w.have.Busy || w.leaving != nil || !w.reported {
		return false
	}
	for _, s := range w.have.Sessions {
		if !s.Kept {
			return false
		}
	}
	for _, o := range f.sessions { // a launch under way
		if o == w && len(w.have.Sessions) == 0 {
			return false
		}
	}
	return len(w.have.Sessions) == 0 || time.Since(w.used) > long
}

func (f *front) tellRoom() {
	err := f.svc.Sessions().Room()
	f.mu.Lock()
	same := (err == nil) == (f.room == nil)
	f.room = err
	all := f.allLocked()
	f.mu.Unlock()
	for _, w := range all {
		if !same {
			w.ask(askRoom, onWire(err), nil) //nolint:errcheck // it has ended
		}
	}
}

// leave has a worker give up what has ended, and end. False: it cannot.
func (f *front) leave(w *remote) bool {
	f.mu.Lock()
	if w.calls > 0 || w.leaving != nil || w == f.spare {
		f.mu.Unlock()
		return false
	}
	w.leaving = make(chan struct{})
	f.mu.Unlock()
	var left bool
	err := w.ask(askLeave, nil, &left)
	if err == nil && left {
		w.peer.close() // it waits for that
		select {
		case <-w.gone:
		case <-time.After(stopTimeout):
			w.kill()
			<-w.gone
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	close(w.leaving)
	if w.leaving = nil; !left {
		w.used = time.Now()
	}
	return err == nil && left
}

// take returns a worker for something new: the one that was started ahead, or another.
func (f *front) take(ctx context.Context) (*remote, error) {
	for {
		f.mu.Lock()
		if f.closed {
			f.mu.Unlock()
			return nil, fault.New(fault.InternalError, "Call again: the next daemon starts by itself.", "the daemon is ending")
		}
		if w := f.spare; w != nil {
			f.spare = nil
			w.calls++ // until the call is passed on
			f.mu.Unlock()
			return w, nil
		}
		wait := f.starting
		f.mu.Unlock()
		if wait == nil {
			if err := f.fileRoom(ctx); err != nil {
				return nil, err
			}
			w, err := f.start(func(w *remote) { w.calls++ })
			if err != nil {
				return nil, fault.New(fault.EngineFailed, "See daemon.log; `strobe doctor` says what this machine lacks.",
					"start a process for the session: %w", err)
			}
			return w, nil
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// planSpare starts the worker that the next launch takes, soon. A launch before that starts its own.
func (f *front) planSpare() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed || f.planned || f.spare != nil || f.starting != nil {
		return
	}
	f.planned = true
	time.AfterFunc(spareDelay, f.startSpare)
}

// startSpare starts the worker that the next launch takes.
func (f *front) startSpare() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.planned = false
	if f.closed || f.spare != nil || f.starting != nil {
		return
	}
	done := make(chan struct{})
	f.starting = done
	f.wg.Go(func() {
		w, err := f.start(func(w *remote) { w.calls++ }) // it is not idle until it is the spare
		if err != nil && f.ctx.Err() == nil {
			f.log.Error("start a worker ahead", "error", err)
		}
		if w != nil {
			w.ask(askWarm, nil, nil) //nolint:errcheck // it has ended
		}
		f.mu.Lock()
		if f.starting = nil; f.workers[w] { // else it has ended already
			f.spare = w
			w.calls--
		}
		files := f.files
		f.mu.Unlock()
		close(done)
		if w != nil && len(files) > 0 {
			w.ask(askWarm, files, nil) //nolint:errcheck // it has ended
		}
	})
}

// maxFiles is how many files' symbols a worker reads ahead: a program, and its libraries.
const maxFiles = 24

// next starts the worker of the next launch, behind one that w made: it is likely to need the same symbols.
func (f *front) next(w *remote) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return
	}
	f.wg.Go(func() {
		var files []string
		if w.ask(askKnown, nil, &files) == nil && len(files) > 0 {
			f.mu.Lock()
			f.files = files[:min(len(files), maxFiles)]
			f.mu.Unlock()
		}
		f.planSpare()
	})
}

// reuse keeps a worker whose launch failed as the next spare, or ends it.
func (f *front) reuse(w *remote) {
	f.mu.Lock()
	for _, o := range f.sessions {
		if o == w {
			f.mu.Unlock()
			return
		}
	}
	if f.spare == nil && f.starting == nil && !f.closed && f.workers[w] && w.leaving == nil &&
		len(w.have.Sessions)+len(w.have.Runs) == 0 {
		f.spare = w
		f.mu.Unlock()
		return
	}
	f.mu.Unlock()
	f.leave(w)
}

// pass gives a call to a worker that was taken or has what the call is about: its calls were counted. It counts them
// down.
func (f *front) pass(ctx context.Context, w *remote, c *mcp.Call) (any, error) {
	defer func() {
		f.mu.Lock()
		w.calls--
		w.used = time.Now()
		f.mu.Unlock()
	}()
	var tell func(string)
	if c.Client.Tell != nil {
		var mu sync.Mutex
		said := ""
		tell = func(text string) {
			mu.Lock()
			first := said == ""
			said = text
			mu.Unlock()
			if first {
				c.Client.Tell(func() (string, string) {
					mu.Lock()
					defer mu.Unlock()
					return said, said
				})
			}
		}
	}
	raw, err := w.relay.Call(ctx, c.Op.Name, c.Client.Name, c.Arguments, tell)
	if errors.Is(err, mcp.ErrGone) {
		return nil, f.died(w, c)
	}
	if err != nil {
		return nil, err
	}
	return mcp.Relayed(raw), nil
}

// died is the error of a call whose worker has ended.
func (f *front) died(w *remote, c *mcp.Call) error {
	select {
	case <-w.gone:
	case <-time.After(recoverTime):
	}
	f.mu.Lock()
	how, closed := w.how, f.closed
	f.mu.Unlock()
	if closed {
		return fault.New(fault.InternalError, "Call again: the next daemon starts by itself.", "the daemon is ending")
	}
	hint := "Its program runs on unobserved, if it had one. What was recorded until then can be asked for with " +
		"debug_query; debug_launch starts anew. The log is " + LogPath(f.home) + "."
	if c.Op.Name == "debug_launch" {
		hint = "Nothing else is affected. Call again; if it happens again, leave out trace to see whether the program's " +
			"symbols are the reason. The log is " + LogPath(f.home) + "."
	}
	return fault.New(fault.EngineFailed, hint, "the process that had this session ended (%s) while %s ran", how, c.Op.Name)
}

// owner returns the worker that has a session or a run, with its calls counted; nil: none has. It waits for one that is
// about to give it up.
func (f *front) owner(ctx context.Context, of map[string]*remote, id string) (*remote, error) {
	for {
		f.mu.Lock()
		w := of[id]
		if w == nil || w.leaving == nil {
			if w != nil {
				w.calls++
			}
			f.mu.Unlock()
			return w, nil
		}
		wait := w.leaving
		f.mu.Unlock()
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// reserved, settled and told are what a worker asks.

func (f *front) reserve(w *remote, a reserveArgs) (string, error) {
	id, err := f.svc.Sessions().Reserve(f.ctx, a.Binary, a.Limit)
	if err == nil {
		f.mu.Lock()
		f.sessions[id] = w
		f.mu.Unlock()
	}
	return id, err
}

func (f *front) settled(w *remote, id string) {
	f.mu.Lock()
	if f.sessions[id] == w && !w.hasLocked(id) {
		delete(f.sessions, id)
	}
	f.mu.Unlock()
	f.svc.Sessions().Settle(id)
}

// told takes in what lives in a worker.
func (f *front) told(w *remote, h haveArgs) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range w.have.Sessions {
		if f.sessions[s.ID] == w && !slices.ContainsFunc(h.Sessions, func(n haveSession) bool { return n.ID == s.ID }) {
			delete(f.sessions, s.ID)
		}
	}
	w.have, w.reported = h, true
	if len(h.Sessions) == 0 && !h.Busy {
		time.AfterFunc(20*time.Millisecond, f.kick) // the call that took the last one away has its answer then
	}
	for _, s := range h.Sessions {
		f.sessions[s.ID] = w
	}
	for _, r := range h.Runs {
		f.svc.KeepRun(r)
		if f.runs[r.ID] = w; r.Ended {
			delete(f.runs, r.ID)
		}
	}
}

// lost takes a worker that has ended out of everything, and makes what it left usable.
func (f *front) lost(w *remote, state *os.ProcessState) {
	var ids, runs []string
	f.mu.Lock()
	clean := w.leaving != nil || f.closed
	w.how = "no reason known"
	if state != nil {
		w.how = state.String()
	}
	for id, o := range f.sessions {
		if o == w {
			ids = append(ids, id)
			delete(f.sessions, id)
		}
	}
	for id, o := range f.runs {
		if o == w {
			runs = append(runs, id)
			delete(f.runs, id)
		}
	}
	delete(f.workers, w)
	was := f.spare == w
	if was {
		f.spare = nil
	}
	how := w.how
	f.mu.Unlock()
	for _, id := range ids {
		f.svc.Sessions().Settle(id)
	}
	if clean {
		return
	}
	f.log.Error(diedLine, "worker", w.pid(), "how", how, "sessions", strings.Join(ids, " "), "runs",
		strings.Join(runs, " "))
	for _, id := range runs {
		f.svc.LoseRun(id, fmt.Sprintf("%s: the process that had this run ended (%s); the log is %s", fault.EngineFailed, how,
			LogPath(f.home)))
	}
	f.svc.Sessions().Recover(ids)
	if was {
		time.AfterFunc(time.Second, f.startSpare) // one that cannot live is not started again and again at once
	}
}

// diedLine begins a line of the log that says so.
const diedLine = "a session's process died"
