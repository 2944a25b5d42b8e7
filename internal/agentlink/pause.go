package agentlink

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/value"
)

// pause is a thread that an agent holds.
type pause struct {
	collector.Pause
	a *Agent
	n int64 // the agent's number of it
}

// pausedMessage says that a thread stands.
type pausedMessage struct {
	TID       int             `json:"tid"`
	N         int64           `json:"n"`
	Name      string          `json:"name"`
	Point     string          `json:"point"`
	Reason    string          `json:"reason"`
	Hit       int64           `json:"hit"`
	Frames    []Place         `json:"frames"`
	More      int             `json:"more"`
	Arguments json.RawMessage `json:"arguments"`
	Locals    json.RawMessage `json:"locals"`
	Result    json.RawMessage `json:"result"`
	ResultOf  string          `json:"resultOf"`
	Note      string          `json:"note"`
}

// pauses are a member's paused threads.
type pauses struct {
	mu      sync.Mutex
	all     []*pause
	changed chan struct{}
	asked   map[*Agent]*pause // the pause for whose sake all others of a process are paused
	with    string            // the step whose end pauses the others again
	refs    collector.Refs[*pause, int64]
}

func (p *pauses) signalLocked() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// told hears what agents say unasked.
func (m *Member) told(a *Agent, kind string, line []byte) {
	switch kind {
	case "paused":
		var msg pausedMessage
		if err := json.Unmarshal(line, &msg); err != nil || msg.TID == 0 {
			m.kind.Log.Warn("an agent's message of a pause makes no sense", "pid", a.PID, "err", err)
			return
		}
		m.pausedBy(a, &msg)
	case "resumed":
		var msg struct{ N int64 }
		if json.Unmarshal(line, &msg) == nil {
			m.went(a, collector.StepNone, msg.N)
		}
	}
}

// pauseDepth is how deep agents follow what a pause shows.
const pauseDepth = 2

// pausedBy notes that a thread stands, and says so on the timeline behind what led there.
func (m *Member) pausedBy(a *Agent, msg *pausedMessage) {
	layout := value.NewTree(nil, pauseDepth)
	c := &pause{a: a, n: msg.N}
	c.PID, c.TID, c.ThreadName, c.PointID, c.Reason, c.Hit = a.PID, msg.TID, msg.Name, msg.Point, msg.Reason, msg.Hit
	c.Arguments, c.Locals, c.ResultOf, c.Note = layout.Enter(msg.Arguments), layout.Enter(msg.Locals), msg.ResultOf,
		msg.Note
	if len(msg.Result) > 0 {
		if v, ok := layout.Exit(msg.Result, 0, true); ok {
			c.Result = &v
		}
	}
	for i, f := range msg.Frames {
		if f = m.located(f); i == 0 {
			c.Location = f.location()
		}
		c.Backtrace = append(c.Backtrace, fmt.Sprintf("#%d %s (%s:%d)", i, f.Function, filepath.Base(f.File), f.Line))
	}
	if msg.More > 0 {
		c.Backtrace = append(c.Backtrace, fmt.Sprintf("… %d more", msg.More))
	}
	ctx, cancel := context.WithTimeout(context.Background(), askWithin)
	_ = m.link.rounds.flush(ctx) // what led there comes first
	cancel()
	m.pauses.mu.Lock()
	with := m.pauses.asked[a]
	if with != nil && msg.Reason == "pause" {
		c.Reason, c.With, c.PointID = fmt.Sprintf("with thread %d", with.TID), with.Number, with.PointID
	}
	m.pauses.mu.Unlock()
	if c.With == 0 {
		m.pauseEvent(c)
	}
	c.Number = m.numbers.Pause()
	m.pauses.mu.Lock()
	if gone(a) {
		m.pauses.mu.Unlock()
		return
	}
	m.pauses.all = append(m.pauses.all, c)
	m.pauses.signalLocked()
	m.pauses.mu.Unlock()
	shown := c.Pause
	shown.Arguments, shown.Locals, shown.Result = nil, nil, nil
	m.tell(collector.Change{Kind: collector.ThreadPaused, PID: c.PID, TID: c.TID, Pause: &shown})
	if c.With == 0 && m.pausesAll(c.PointID) {
		m.pauseOthers(c)
	}
}

func (m *Member) tell(c collector.Change) {
	if s, ok := m.sink.(collector.ChangeSink); ok {
		s.Changed(c)
	}
}

// pauseEvent puts a pause on the timeline.
func (m *Member) pauseEvent(c *pause) {
	members := map[string]any{"reason": c.Reason}
	for name, text := range map[string]string{"breakpointId": c.PointID, "function": c.Function, "file": c.File,
		"note": c.Note} {
		if text != "" {
			members[name] = text
		}
	}
	if c.Line > 0 {
		members["line"] = c.Line
	}
	if len(c.Backtrace) > 0 {
		members["backtrace"] = c.Backtrace
	}
	for name, o := range map[string]value.Object{"arguments": c.Arguments, "locals": c.Locals} {
		if len(o) > 0 {
			members[name] = o
		}
	}
	payload, err := json.Marshal(members)
	if err != nil {
		return
	}
	payload, _ = value.RedactJSON(payload, m.link.opts.Secrets)
	thread := namedThread(m.sink, event.Thread{PID: int32(c.PID), TID: int32(c.TID), Name: c.ThreadName})
	m.sink.Events([]event.Event{{TS: m.sink.Now(), Kind: event.Pause, Thread: thread, Payload: payload}})
}

// pausesAll reports whether what a pause is of pauses the other threads, too.
func (m *Member) pausesAll(id string) bool {
	if p, ok := m.point(id); ok {
		return p.AllThreads
	}
	m.pauses.mu.Lock()
	defer m.pauses.mu.Unlock()
	return id != "" && id == m.pauses.with
}

// pauseOthers pauses the other threads of a paused one's process, for its sake.
func (m *Member) pauseOthers(c *pause) {
	m.pauses.mu.Lock()
	m.pauses.asked[c.a] = c
	m.pauses.mu.Unlock()
	go func() { // its answer comes by who has called this
		ctx, cancel := context.WithTimeout(context.Background(), askWithin)
		defer cancel()
		if err := c.a.Ask(ctx, "pause", nil, nil); err != nil {
			m.kind.Log.Warn("the other threads could not be paused", "pid", c.PID, "err", err)
		}
	}()
}

// went notes that threads of an agent go on: those whose numbers of pauses are given.
func (m *Member) went(a *Agent, step collector.Step, numbers ...int64) {
	var gone []*pause
	m.pauses.mu.Lock()
	m.pauses.all = slices.DeleteFunc(m.pauses.all, func(c *pause) bool {
		if c.a != a || !slices.Contains(numbers, c.n) {
			return false
		}
		gone = append(gone, c)
		m.pauses.refs.Drop(c)
		if m.pauses.asked[a] == c {
			delete(m.pauses.asked, a)
		}
		return true
	})
	if len(gone) > 0 {
		m.pauses.signalLocked()
	}
	m.pauses.mu.Unlock()
	for _, c := range gone {
		ch := collector.Change{Kind: collector.Resumed, PID: c.PID, TID: c.TID, Pause: &c.Pause}
		if step != collector.StepNone && step != "" {
			ch.Kind, ch.Step = collector.Stepped, step
		}
		m.tell(ch)
	}
}

// left forgets the pauses of an agent that is gone: its threads go on, or are no more.
func (m *Member) left(a *Agent) {
	m.pauses.mu.Lock()
	defer m.pauses.mu.Unlock()
	delete(m.pauses.asked, a)
	n := len(m.pauses.all)
	m.pauses.all = slices.DeleteFunc(m.pauses.all, func(c *pause) bool {
		if c.a == a {
			m.pauses.refs.Drop(c)
		}
		return c.a == a
	})
	if len(m.pauses.all) != n {
		m.pauses.signalLocked()
	}
}

func (m *Member) pausesNow() []*pause {
	m.pauses.mu.Lock()
	defer m.pauses.mu.Unlock()
	return slices.Clone(m.pauses.all)
}

// Paused implements collector.Stopper.
func (m *Member) Paused() []collector.Pause {
	var out []collector.Pause
	for _, c := range m.pausesNow() {
		out = append(out, c.Pause)
	}
	return out
}

// PauseChanged implements collector.Stopper.
func (m *Member) PauseChanged() <-chan struct{} {
	m.pauses.mu.Lock()
	defer m.pauses.mu.Unlock()
	return m.pauses.changed
}

// HasThread implements collector.Stopper.
func (m *Member) HasThread(tid int) bool { return m.agentOf(tid) != nil }

// agentOf is the agent in whose process a thread is.
func (m *Member) agentOf(tid int) *Agent {
	for _, a := range m.link.Agents() {
		if _, err := os.Stat(fmt.Sprintf("/proc/%d/task/%d", a.PID, tid)); err == nil {
			return a
		}
	}
	return nil
}

// pausedThread is the pause of a thread, with 0 the newest.
func (m *Member) pausedThread(tid int) (*pause, error) {
	all := m.pausesNow()
	for _, c := range slices.Backward(all) {
		if tid == 0 || c.TID == tid {
			return c, nil
		}
	}
	if tid == 0 {
		return nil, fault.New(fault.NotPaused, "debug_session status lists pausedThreads; set a breakpoint with "+
			"debug_breakpoint.", "no thread is paused")
	}
	return nil, fault.New(fault.NotPaused, "debug_session status lists pausedThreads.", "thread %d is not paused", tid)
}

// Resume implements collector.Stopper.
func (m *Member) Resume(ctx context.Context, r collector.Resume) error {
	if r.Instruction || r.Into != 0 {
		return fault.New(fault.Unsupported, "Step by statement.", "an interpreter's thread has no step by machine code")
	}
	first, err := m.pausedThread(r.Thread)
	if err != nil {
		return err
	}
	all := m.pausesNow()
	told := slices.DeleteFunc(slices.Clone(all), func(c *pause) bool { return r.Told > 0 && c.By() > r.Told })
	if len(told) == 0 {
		told = all
	}
	if r.Thread == 0 && len(told) > 0 {
		first = told[len(told)-1]
	}
	rest := slices.DeleteFunc(slices.Clone(told), func(c *pause) bool { return c == first })
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	steps := r.Step != collector.StepNone && r.Step != ""
	if steps && !r.All || r.Thread != 0 && !steps {
		rest = nil // they stay
	}
	if err := m.letGo(ctx, rest); err != nil {
		return err
	}
	if steps || r.Line != 0 {
		return m.step(ctx, first, r)
	}
	return m.letGo(ctx, []*pause{first})
}

// letGo lets threads go on.
func (m *Member) letGo(ctx context.Context, picked []*pause) error {
	tids, numbers := map[*Agent][]int{}, map[*Agent][]int64{}
	for _, c := range picked {
		tids[c.a], numbers[c.a] = append(tids[c.a], c.TID), append(numbers[c.a], c.n)
	}
	for a, list := range tids {
		if err := a.Ask(ctx, "go", map[string]any{"tids": list}, nil); err != nil && !gone(a) {
			return asFault(err)
		}
		m.went(a, collector.StepNone, numbers[a]...)
	}
	return nil
}

// hows are the names of steps in messages.
var hows = map[collector.Step]string{collector.StepOver: "over", collector.StepInto: "into", collector.StepOut: "out"}

// step lets one thread go on by a step, or until a line.
func (m *Member) step(ctx context.Context, c *pause, r collector.Resume) error {
	body := map[string]any{"tid": c.TID, "how": hows[r.Step], "system": r.System}
	if r.Line != 0 {
		body["how"], body["file"], body["line"], body["id"] = "line", cmp.Or(r.File, c.File), r.Line, m.numbers.Until()
	} else {
		id := m.numbers.Step()
		body["id"] = id
		m.pauses.mu.Lock()
		if m.pauses.with = ""; r.All {
			m.pauses.with = id
		}
		m.pauses.mu.Unlock()
	}
	if err := c.a.Ask(ctx, "step", body, nil); err != nil {
		return asFault(err)
	}
	m.went(c.a, r.Step, c.n)
	return nil
}

// PauseNow implements collector.Stopper.
func (m *Member) PauseNow(ctx context.Context, thread int) ([]collector.LaterPause, error) {
	agents := m.link.Agents()
	if thread != 0 {
		agents = []*Agent{m.agentOf(thread)}
	}
	var mu sync.Mutex
	var later []collector.LaterPause
	var wg sync.WaitGroup
	errs := make([]error, len(agents))
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	for i, a := range agents {
		if a == nil || !a.can("points") {
			continue
		}
		wg.Go(func() {
			var answer struct {
				Later []struct {
					TID int    `json:"tid"`
					Why string `json:"why"`
				} `json:"later"`
			}
			if errs[i] = a.Ask(ctx, "pause", map[string]any{"tid": thread}, &answer); errs[i] != nil && gone(a) {
				errs[i] = nil
			}
			mu.Lock()
			defer mu.Unlock()
			for _, l := range answer.Later {
				later = append(later, collector.LaterPause{TID: l.TID, Why: l.Why})
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return later, asFault(err)
		}
	}
	if len(agents) == 0 {
		return nil, fault.New(fault.ProcessExited, "debug_query shows what was recorded.", "no process of %s is there",
			m.kind.Name)
	}
	return later, nil
}
