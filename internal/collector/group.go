package collector

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/waits"
)

// Host is a runtime that owns processes: it starts and attaches to them, follows what they start, and ends them.
type Host interface {
	Runtime
	Warmer
	Glancer
	Spinner
	Attacher
	Adviser
}

// Hosted is a target of a host.
type Hosted interface {
	Collector
	Discarder
	ThreadLister
	Debugger
	Inspector
	Assigner
	Looper
	Signaler
	Pauser
	Viewer
	Evaluator
	CodeViewer
	Jumper
}

// Together is a host with the runtimes that may join its targets: several in one tree of processes, and in one process,
// are the normal case.
//
// A runtime that is no host, as that of a system that it cannot trace, stays alone.
func Together(rt Runtime, log func(msg string, args ...any), joiners ...Joiner) Runtime {
	host, ok := rt.(Host)
	if !ok {
		return rt
	}
	return &together{Host: host, joiners: joiners, log: log}
}

type together struct {
	Host
	joiners []Joiner
	log     func(msg string, args ...any)
}

// Launch implements Runtime.
func (t *together) Launch(ctx context.Context, cmd *Command, sink Sink) (Collector, error) {
	full, ok := sink.(fullSink)
	if !ok || cmd.Glance {
		return t.Host.Launch(ctx, cmd, sink)
	}
	g := &Group{t: t, cmd: cmd, sink: full, tracing: cmd.Tracing, mix: mixer{sink: full}}
	g.mix.pull = func() { g.pull(context.Background()) }
	own := *cmd
	own.Starting, own.Numbers = g.starting, new(Numbers)
	g.cmd = &own
	col, err := t.Host.Launch(ctx, &own, groupSink{full, g})
	if err != nil {
		g.closeMembers(context.WithoutCancel(ctx))
		return nil, err
	}
	g.Hosted, ok = col.(Hosted)
	if !ok {
		g.closeMembers(context.WithoutCancel(ctx))
		return col, nil
	}
	if cmd.PID != 0 {
		if err := g.enter(ctx); err != nil {
			g.letGo(ctx)
			return nil, err
		}
		return g, nil
	}
	g.awaitFirst(ctx)
	return g, nil
}

// readyWithin is how long a launch waits for the agent of the program that it starts: it says then what it can do.
const readyWithin = 300 * time.Millisecond

// Group is a target with the runtimes that have joined it. What only its host can do is the host's.
type Group struct {
	Hosted
	t    *together
	cmd  *Command
	sink fullSink
	mix  mixer

	joined  atomic.Bool // there is a member
	fan     fan
	pointMu sync.Mutex // held for a change of points; before mu
	mu      sync.Mutex
	members []Member
	first   map[int]Member // the runtime of a process's newest image
	refused []string       // why a runtime did not join
	stays   []string       // of them: why one stays out of the program that was attached to
	tracing Tracing
	points  []Point // in force
	closed  bool
}

// fullSink is all that a session's sink takes.
type fullSink interface {
	Sink
	WriteSink
	CoverSink
	StreamSink
	SecretSink
	DeathWatcher
	ThreadNamer
	ChangeSink
}

func (g *Group) list() []Member {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.members)
}

// starting hears of an image before it runs, and returns what its environment is to have. The process stands.
func (g *Group) starting(img Image) (add Beside) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return add
	}
	var joined Member
	for _, j := range g.t.joiners {
		if !j.Detect(img) {
			continue
		}
		m := g.memberLocked(j)
		if m == nil {
			continue
		}
		joined = m
		break
	}
	for _, m := range g.members {
		more := m.Starts(img, m == joined)
		add.Env, add.Args = append(add.Env, more.Env...), append(add.Args, more.Args...)
	}
	if g.first == nil {
		g.first = map[int]Member{}
	}
	if joined != nil {
		g.first[img.PID] = joined
	} else {
		delete(g.first, img.PID)
	}
	return add
}

func (g *Group) awaitFirst(ctx context.Context) {
	if g.cmd.StopOnEntry {
		return // nothing of it runs
	}
	if m := g.main(); m != nil {
		ctx, cancel := context.WithTimeout(ctx, readyWithin)
		defer cancel()
		m.Ready(ctx, g.PID())
	}
}

// main is the runtime that has joined the first process, nil if none has.
func (g *Group) main() Member {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.first[g.Hosted.PID()]
}

// SetTracing implements Collector: everybody has the whole set, and traces what is its own.
func (g *Group) SetTracing(ctx context.Context, tracing Tracing) (Status, error) {
	status, err := g.Hosted.SetTracing(ctx, tracing)
	if err != nil {
		return status, err
	}
	g.mu.Lock()
	g.tracing = tracing
	members := slices.Clone(g.members)
	g.mu.Unlock()
	tracing.Probes = slices.Clone(tracing.Probes)
	n := len(tracing.Probes)
	tracing.Probes = slices.DeleteFunc(tracing.Probes, func(p Probe) bool { return p.Planned }) // who can not but deliver
	if len(members) > 0 && len(tracing.Probes) < n {
		status.Warnings = append(status.Warnings, "a plan is of machine code: what "+members[0].Name()+
			" would trace is not told")
	}
	for _, m := range members {
		s, err := m.SetTracing(ctx, tracing)
		if err != nil {
			return status, err
		}
		status.add(s)
	}
	return g.finish(status), nil
}

// Planned implements Planner for what the host can.
func (g *Group) Planned() []PlannedFunction {
	if p, ok := g.Hosted.(Planner); ok {
		return p.Planned()
	}
	return nil
}

// Bursting implements Burster for the host.
func (g *Group) Bursting() bool {
	b, ok := g.Hosted.(Burster)
	return ok && b.Bursting()
}

// Status implements Collector.
func (g *Group) Status() Status {
	status := g.Hosted.Status()
	for _, m := range g.list() {
		status.add(m.Status())
	}
	return g.finish(status)
}

func (g *Group) finish(s Status) Status {
	g.mu.Lock()
	defer g.mu.Unlock()
	s.Warnings = append(s.Warnings, g.refused...)
	if m := g.first[g.PID()]; m != nil {
		for i := range s.Probes {
			if p := &s.Probes[i]; p.Matched == 0 && strings.HasPrefix(p.Pattern, "@exceptions") {
				p.Warning = p.Pattern + " is of C++ and Rust; a call of " + m.Name() + " that an exception leaves shows it"
			}
		}
	}
	return s
}

// add puts what another runtime has traced beside it. What a pattern does not match in one it may in another.
func (s *Status) add(o Status) {
	s.Hooked += o.Hooked
	s.Matched += o.Matched
	s.Fallback += o.Fallback
	s.Unhookable = append(s.Unhookable, o.Unhookable...)
	s.Sampled = append(s.Sampled, o.Sampled...)
	s.Warnings = append(s.Warnings, o.Warnings...)
	s.Later = s.Later || o.Later
	s.Cut.Calls, s.Cut.Functions = s.Cut.Calls+o.Cut.Calls, s.Cut.Functions+o.Cut.Functions
	s.Cut.Most = append(slices.Clone(s.Cut.Most), o.Cut.Most...)
	for _, p := range o.Probes {
		i := slices.IndexFunc(s.Probes, func(q ProbeStatus) bool { return q.Pattern == p.Pattern })
		if i < 0 {
			s.Probes = append(s.Probes, p)
			continue
		}
		q := &s.Probes[i]
		switch {
		case q.Matched == 0: // of two that found nothing, the interpreter knows better what the program is
			q.Warning, q.Near = p.Warning, p.Near
		case p.Matched == 0:
		default:
			q.Warning = strings.TrimSpace(q.Warning + " " + p.Warning)
		}
		q.Matched, q.Hooked = q.Matched+p.Matched, q.Hooked+p.Hooked
		q.Unhookable = append(q.Unhookable, p.Unhookable...)
	}
	for _, w := range o.Watches {
		i := slices.IndexFunc(s.Watches, func(v WatchStatus) bool { return v.Label == w.Label })
		if i < 0 {
			s.Watches = append(s.Watches, w)
			continue
		}
		s.Watches[i].Functions += w.Functions
	}
}

// Flush implements Collector.
func (g *Group) Flush(ctx context.Context) error {
	err := g.Hosted.Flush(ctx)
	if e := g.pull(ctx); err == nil {
		err = e
	}
	g.mix.settle()
	return err
}

// flushMembers delivers what members have, wherever the host is.
func (g *Group) flushMembers(ctx context.Context) {
	if err := g.pull(ctx); err != nil {
		g.t.log("read what agents wrote", "err", err)
	}
	g.mix.release()
}

func (g *Group) pull(ctx context.Context) (err error) {
	for _, m := range g.list() {
		if e := m.Flush(ctx); err == nil {
			err = e
		}
	}
	return err
}

// Stop implements Collector.
func (g *Group) Stop(ctx context.Context, kill bool) error {
	if !kill { // the agents take themselves out while the program runs
		g.closeMembers(ctx)
	}
	err := g.Hosted.Stop(ctx, kill)
	g.closeMembers(ctx)
	return err
}

func (g *Group) closeMembers(ctx context.Context) {
	g.mu.Lock()
	members := g.members
	g.members, g.closed = nil, true
	g.mu.Unlock()
	for _, m := range members {
		m.Close(ctx)
	}
	g.mix.release()
}

// Tasks implements TaskLister.
func (g *Group) Tasks(ctx context.Context) (*TaskReport, error) {
	if l, ok := g.Hosted.(TaskLister); ok {
		return l.Tasks(ctx)
	}
	return &TaskReport{}, nil
}

// Locks implements LockReporter: those of machine code.
func (g *Group) Locks(ctx context.Context) (*LockReport, error) {
	if l, ok := g.Hosted.(LockReporter); ok {
		return l.Locks(ctx)
	}
	return nil, fault.New(fault.Unsupported, "Leave locks out.", "locks of this program are not seen")
}

// Threads implements ThreadLister: beside what the kernel knows stands what the interpreters say.
func (g *Group) Threads(ctx context.Context) (*ThreadReport, error) {
	report, err := g.Hosted.Threads(ctx)
	if err != nil {
		return report, err
	}
	for _, m := range g.list() {
		rows, err := m.Threads(ctx)
		if err != nil {
			continue // it cannot say at present; the kernel's view is there
		}
		report.Deadlocks = append(report.Deadlocks, circles(ctx, m, rows)...)
		for _, row := range rows {
			addRow(report, row)
		}
		if own, ok := m.(Machines); ok && len(rows) > 0 {
			foldOwn(report, own)
		}
	}
	before := len(report.Threads)
	report.Threads = slices.DeleteFunc(report.Threads, func(r ThreadRow) bool { return r.Name == AgentThread })
	report.ThreadCount -= before - len(report.Threads)
	return report, nil
}

// circles are those that threads of an agent's stand in: of locks that the machine code knows nothing of. The threads
// run while they are asked, so only what is seen twice counts.
func circles(ctx context.Context, m Member, rows []ThreadRow) []Deadlock {
	found := waits.Circles(rows)
	if len(found) == 0 {
		return nil
	}
	rows, err := m.Threads(ctx)
	if err != nil {
		return nil
	}
	again := waits.Circles(rows)
	return slices.DeleteFunc(found, func(d Deadlock) bool {
		return !slices.ContainsFunc(again, func(o Deadlock) bool { return d.Same(&o) })
	})
}

// foldOwn makes one row of threads that are in no code of the program's.
func foldOwn(report *ThreadReport, m Machines) {
	row := ThreadRow{Name: "threads in no code of the program", State: waits.Waiting, Backtrace: []string{}}
	report.Threads = slices.DeleteFunc(report.Threads, func(r ThreadRow) bool {
		if r.Name == AgentThread || !m.Machine(&r) {
			return false
		}
		if r.State == waits.Running {
			row.State = r.State
		}
		row.ThreadID, row.PID = cmp.Or(row.ThreadID, r.ThreadID), r.PID
		row.Count += max(r.Count, 1)
		if len(row.Note) < 400 {
			row.Note += cmp.Or(strings.TrimSpace(r.Name), "?") + ", "
		}
		return true
	})
	if row.Count > 0 {
		row.Note = strings.TrimSuffix(row.Note, ", ")
		report.Threads = append(report.Threads, row)
	}
}

// addRow puts an agent's word on a thread beside the kernel's.
func addRow(report *ThreadReport, row ThreadRow) {
	i := slices.IndexFunc(report.Threads, func(r ThreadRow) bool { return row.ThreadID > 0 && r.ThreadID == row.ThreadID })
	if i < 0 {
		if row.ThreadID <= 0 { // the kernel does not count it
			row.ThreadID = 0
			report.ThreadCount += max(row.Count, 1)
		}
		if w := row.WaitingFor; w != nil && w.Owner < 0 {
			w.Owner = 0
		}
		report.Threads = append(report.Threads, row)
		return
	}
	have := &report.Threads[i]
	inner := have.Backtrace[:min(len(have.Backtrace), innerFrames)]
	have.Backtrace = append(slices.Clone(inner), row.Backtrace...)
	have.Name, have.Note, have.At = cmp.Or(row.Name, have.Name), cmp.Or(row.Note, have.Note), row.At
	if w := row.WaitingFor; w != nil && have.State != "running" {
		w.Owner = max(w.Owner, 0)
		have.WaitingFor = w
	}
}

// innerFrames is how much of a thread's machine code is shown above its interpreter's frames: where it waits.
const innerFrames = 2

// AgentThread is what the system knows an agent's own thread by: it is none of the program's.
const AgentThread = "strobe-agent"

// Capabilities implements Collector: those of the runtime that the program itself is of.
func (g *Group) Capabilities() Capabilities {
	host := g.Hosted.Capabilities()
	m := g.main()
	if m == nil {
		g.mu.Lock()
		stays := slices.Clone(g.stays)
		g.mu.Unlock()
		if host.Limitations = append(slices.Clone(host.Limitations), stays...); len(stays) > 0 {
			return host
		}
		for _, m := range g.list() { // of what it starts
			host.RuntimeDetail += "; with " + m.Capabilities().RuntimeDetail
		}
		return host
	}
	c := m.Capabilities()
	c.OutputCapture = host.OutputCapture
	if g.cmd.PID != 0 { // what is not seen of a program that has its files already
		c.Limitations = append(slices.Clone(c.Limitations), host.Limitations...)
	}
	return c
}
