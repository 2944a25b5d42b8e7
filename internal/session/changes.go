package session

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"slices"
	"sync"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/event"
)

// The kinds of changes beside those that runtimes see.
const (
	Launched      collector.ChangeKind = "launched"
	Attached      collector.ChangeKind = "attached"
	PointsChanged collector.ChangeKind = "points-changed"
	TraceChanged  collector.ChangeKind = "trace-changed"
	ValueChanged  collector.ChangeKind = "value-changed" // somebody wrote a variable, memory or a register
	HasCrashed    collector.ChangeKind = "crashed"
	HasExited     collector.ChangeKind = "exited"
	HasStopped    collector.ChangeKind = "stopped" // the session ends: nothing follows
	ChangesLost   collector.ChangeKind = "lost"    // a listener was too slow: Lost changes are missing here
)

// Who causes what no client does.
const (
	ByProgram = "program"
	ByStrobe  = "strobe"
)

// Change is one change of a session, as whoever listens hears it.
type Change struct {
	Seq int64  `json:"seq"` // 1, 2, 3, …
	TS  int64  `json:"ts"`  // on the session's clock
	By  string `json:"by"`  // a client's name, ByProgram or ByStrobe
	collector.Change
	Added    []string `json:"added,omitempty"`   // of PointsChanged: ids
	Removed  []string `json:"removed,omitempty"` // and what is not there any more
	Patterns []string `json:"patterns,omitempty"`
	Watches  []string `json:"watches,omitempty"`  // of TraceChanged, as Patterns: all that are in force
	What     []string `json:"what,omitempty"`     // of ValueChanged: the expressions or addresses
	ExitCode *int     `json:"exitCode,omitempty"` // of HasExited
	Signal   string   `json:"signal,omitempty"`   // and of HasCrashed
	Reason   string   `json:"reason,omitempty"`   // of HasCrashed
	Status   Status   `json:"status,omitempty"`   // of HasExited and HasStopped
	Lost     int64    `json:"lost,omitempty"`
}

// maxChanges is how many of a session's last changes are kept for those who listen: who is further behind has lost the
// rest, which is counted. One takes some 300 bytes.
const maxChanges = 4096

// changes are those of one session, in their order.
type changes struct {
	now func() int64

	mu      sync.Mutex // leaf
	kept    []Change   // the last of them; a ring once it is full
	seq     int64      // of the last; 0: it has not begun
	before  []Change   // that came before it began: a program runs before its launch is done
	more    chan struct{}
	closed  bool
	driver  string           // who last had all threads go on or pause
	drivers map[int]string   // who last had one do so
	paused  map[int64]string // why threads are paused that others may be paused with, by Pause.Number
	ending  string           // who ends the program; "": it ends by itself
}

func newChanges(now func() int64) *changes {
	return &changes{now: now, more: make(chan struct{}), drivers: map[int]string{}, paused: map[int64]string{},
		driver: ByStrobe}
}

// begin puts the session's first change before those that came until then.
func (c *changes) begin(kind collector.ChangeKind, by string, pid int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.driver = by
	before := c.before
	c.before = nil
	first := Change{TS: c.now(), By: by, Change: collector.Change{Kind: kind, PID: pid}}
	if len(before) > 0 {
		first.TS = min(first.TS, before[0].TS)
	}
	c.putLocked(first)
	for i := range before {
		if before[i].Pause != nil { // at its entry, which the launch asked for
			before[i].By = by
		}
		c.putLocked(before[i])
	}
}

// put is told a change.
func (c *changes) put(ch Change) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ch.TS = c.now()
	if c.seq == 0 {
		c.before = append(c.before, ch)
		return
	}
	c.putLocked(ch)
}

func (c *changes) putLocked(ch Change) {
	if c.closed {
		return
	}
	c.seq++
	ch.Seq = c.seq
	if len(c.kept) < maxChanges {
		c.kept = append(c.kept, ch)
	} else {
		c.kept[(c.seq-1)%maxChanges] = ch
	}
	close(c.more)
	c.more = make(chan struct{})
}

// close ends it: who listens hears what there is, and then the end.
func (c *changes) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.closed = true
		close(c.more)
	}
}

// drives notes who has a thread, 0 all, go on or pause, before it does.
func (c *changes) drives(tid int, by string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if tid != 0 {
		c.drivers[tid] = by
		return
	}
	c.driver = by
	clear(c.drivers)
}

// seen adds to what a runtime saw who caused it.
func (c *changes) seen(ch collector.Change) {
	c.mu.Lock()
	by := ByProgram
	switch ch.Kind {
	case collector.ThreadPaused:
		p := ch.Pause
		switch {
		case p.With != 0 && c.paused[p.With] != "":
			by = c.paused[p.With]
		case p.Reason == "step" || p.Reason == "until" || p.Reason == "pause" || p.Reason == "entry":
			by = c.driverLocked(ch.TID)
		}
		c.paused[p.Number] = by
	case collector.Resumed, collector.Stepped:
		by = c.driverLocked(ch.TID)
		if ch.Pause != nil {
			delete(c.paused, ch.Pause.Number)
			ch.Pause = nil
		}
	case collector.ThreadEnded:
		delete(c.drivers, ch.TID)
	case collector.ProcessEnded:
		if c.ending != "" {
			by = c.ending
		}
	}
	c.mu.Unlock()
	c.put(Change{By: by, Change: ch})
}

func (c *changes) driverLocked(tid int) string {
	if by := c.drivers[tid]; by != "" {
		return by
	}
	return c.driver
}

// ends notes who ends the program, before it does.
func (c *changes) ends(by string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ending = by
}

func (c *changes) ender() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ending != "" {
		return c.ending
	}
	return ByProgram
}

// Listener hears the changes of a session one after the other. Not safe for concurrent use; nothing has to be closed.
type Listener struct {
	c    *changes
	last int64 // that was heard
}

// Listen hears the changes behind one, by its Seq: 0 all that are still known, -1 those to come. Several may listen,
// each for itself.
func (s *Session) Listen(after int64) *Listener {
	if s.sink == nil { // it had ended before it was opened
		c := newChanges(func() int64 { return 0 })
		c.close()
		return &Listener{c: c}
	}
	l := &Listener{c: s.sink.changes, last: after}
	if after < 0 {
		l.c.mu.Lock()
		l.last = l.c.seq
		l.c.mu.Unlock()
	}
	return l
}

// Next waits for the next change. Of what a listener missed that was too slow it hears the number, in a change of kind
// ChangesLost. io.EOF: the session has ended.
func (l *Listener) Next(ctx context.Context) (Change, error) {
	for {
		ch, more, ok := l.take()
		if ok {
			return ch, nil
		}
		if more == nil {
			return Change{}, io.EOF
		}
		select {
		case <-more:
		case <-ctx.Done():
			return Change{}, ctx.Err()
		}
	}
}

// Heard returns what there is now, at most n changes.
func (l *Listener) Heard(n int) []Change {
	var out []Change
	for len(out) < n {
		ch, _, ok := l.take()
		if !ok {
			break
		}
		out = append(out, ch)
	}
	return out
}

// take returns the next change if it is there, else what is closed when there is one; nil: none follows.
func (l *Listener) take() (ch Change, more chan struct{}, ok bool) {
	c := l.c
	c.mu.Lock()
	defer c.mu.Unlock()
	l.last = min(l.last, c.seq)
	switch lost := c.seq - int64(len(c.kept)) - l.last; {
	case lost > 0:
		l.last += lost
		return Change{Seq: l.last, TS: c.kept[l.last%int64(len(c.kept))].TS, By: ByStrobe,
			Change: collector.Change{Kind: ChangesLost}, Lost: lost}, nil, true
	case l.last < c.seq:
		l.last++
		return c.kept[(l.last-1)%maxChanges], nil, true
	case c.closed:
		return Change{}, nil, false
	}
	return Change{}, c.more, false
}

// Changed implements collector.ChangeSink.
func (k *sink) Changed(c collector.Change) { k.changes.seen(c) }

// change tells those who listen what a client did.
func (s *Session) change(ctx context.Context, ch Change) {
	if s.sink != nil {
		ch.By = caller(ctx)
		s.sink.changes.put(ch)
	}
}

// drives notes that a client has a thread, 0 all, go on or pause.
func (s *Session) drives(ctx context.Context, tid int) {
	if s.sink != nil {
		s.sink.changes.drives(tid, caller(ctx))
	}
}

// pointsChanged tells of points that were set and taken away.
func (s *Session) pointsChanged(ctx context.Context, st *PointState) {
	s.change(ctx, Change{Change: collector.Change{Kind: PointsChanged}, Added: slices.Clone(st.Added),
		Removed: slices.Clone(st.Removed)})
}

// traceChanged tells what is traced from now on.
func (s *Session) traceChanged(ctx context.Context, t Tracing) {
	s.change(ctx, Change{Change: collector.Change{Kind: TraceChanged}, Patterns: Patterns(t.Probes), Watches: t.Labels()})
}

type callerKey struct{}

// WithCaller returns a context in which what is done is a client's.
func WithCaller(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, callerKey{}, name)
}

// caller is the client that a context is of.
func caller(ctx context.Context) string {
	if name, _ := ctx.Value(callerKey{}).(string); name != "" {
		return name
	}
	return ByStrobe
}

// begun is the kind of a session's first change.
func begun(attached bool) collector.ChangeKind {
	if attached {
		return Attached
	}
	return Launched
}

// crashed is put with a word to those who listen.
func (k *sink) crashed(put func(event.Event)) func(event.Event) {
	return func(e event.Event) {
		put(e)
		var m struct{ Signal, Reason string }
		json.Unmarshal(e.Payload, &m) //nolint:errcheck // then it is a crash all the same
		th := k.names.of(e.Thread)
		k.changes.put(Change{By: ByProgram, Change: collector.Change{Kind: HasCrashed, PID: int(th.PID), TID: int(th.TID)},
			Signal: m.Signal, Reason: m.Reason})
	}
}

// exited tells that the program has ended. s.mu is held.
func (s *Session) exited() {
	if s.sink != nil {
		s.sink.changes.put(Change{By: s.sink.changes.ender(), Change: collector.Change{Kind: HasExited, PID: s.meta.PID},
			ExitCode: s.meta.ExitCode, Signal: s.meta.Signal, Status: s.status})
	}
}

// stoppedBy tells that the session ends.
func (s *Session) stoppedBy(by string, status Status) {
	if s.sink != nil {
		s.sink.changes.put(Change{By: by, Change: collector.Change{Kind: HasStopped}, Status: status})
	}
}

// assigned tells what was written of a question.
func (s *Session) assigned(ctx context.Context, q collector.Inspection) func([]collector.Reading,
	error) ([]collector.Reading, error) {
	return func(out []collector.Reading, err error) ([]collector.Reading, error) {
		ch := Change{Change: collector.Change{Kind: ValueChanged, PID: q.PID, TID: q.ThreadID}}
		for i := range out {
			if err == nil && out[i].Err == nil {
				ch.What = append(ch.What, cmp.Or(q.Targets[i].Expr, out[i].Address))
			}
		}
		if len(ch.What) > 0 {
			s.change(ctx, ch)
		}
		return out, err
	}
}

// steppingOr is the thread that goes on, 0 for all that are paused.
func steppingOr(r collector.Resume, paused []collector.Pause) int {
	if tid := steppingThread(r, paused); tid != 0 && !r.All {
		return tid
	}
	return r.Thread
}
