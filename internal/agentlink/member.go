package agentlink

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/near"
)

// Kind is what one interpreter's runtime has of its own.
type Kind struct {
	Name string // python
	// Environ is what the environment of an image is to have so that the agent gets in, beside EnvFolder; nil: that is
	// not how it does.
	Environ func(img collector.Image, dir string) []string
	// Arguments is what an image is to have behind its name so that the agent gets in; nil: nothing.
	Arguments func(img collector.Image, dir string) []string
	// Answer answers what an agent asks or tells that is of its runtime alone; nil: it does nothing of that. It is called
	// for one message after another of an agent, with the set that is in force. An answer that is nil is not sent.
	Answer func(a *Agent, set Set, m string, line []byte) (answer any)
	// Complete adds what the runtime knows to what an agent says of a set, between two calls of Answer; nil: nothing.
	Complete func(a *Agent, set Set, said *Applied)
	// Unreachable says why no agent comes into an image, "" where one does.
	Unreachable func(img collector.Image) string
	// Enter brings the agent into a process that runs, for the folder dir; nil where nothing does, which Stays says.
	Enter func(ctx context.Context, img collector.Image, in collector.Injector, dir string) error
	Stays func(img collector.Image) string
	// what is to be said of an agent that was brought in; nil, "": nothing
	Entered      func(h *Hello) string
	Capabilities func(h *Hello) collector.Capabilities // h is nil before an agent has come
	// Points: its agents pause threads. Else a program of it is debugged as one of machine code.
	Points bool
	// File is a source file as its user knows it, of what an agent says of it; nil: that is the same.
	File func(root, said string) string
	// Literal writes a JSON value as the language does; nil: it is the same there.
	Literal func(v json.RawMessage) string
	// Machine is collector.Machines; nil: there are none.
	Machine func(row *collector.ThreadRow) bool
	Log     *slog.Logger
}

func (k *Kind) literal(v json.RawMessage) string {
	if k.Literal == nil {
		return string(v)
	}
	return k.Literal(v)
}

// located has places with the files that the user knows.
func (m *Member) located(p Place) Place {
	if m.kind.File != nil {
		p.File = m.kind.File(m.root, p.File)
	}
	return p
}

// defaultDepth is how deep values are followed where no pattern says.
const defaultDepth = 3

// Member is an interpreter's part of a target: collector.Member. Safe for concurrent use.
type Member struct {
	kind    Kind
	link    *Link
	root    string
	full    collector.OnFull
	byLines bool
	sink    collector.Sink
	numbers *collector.Numbers
	pauses  pauses

	changing sync.Mutex // held while what is in force changes
	mu       sync.Mutex
	tracing  collector.Tracing
	points   []collector.Point
	warnings []string
	closed   bool
}

// Join makes an interpreter's member of a target.
func Join(kind Kind, j collector.Joining) (*Member, error) {
	if kind.Log == nil {
		kind.Log = slog.New(slog.DiscardHandler)
	}
	m := &Member{kind: kind, root: j.Root, full: j.OnFull, byLines: j.Lines != "off", sink: j.Sink,
		numbers: cmp.Or(j.Numbers, new(collector.Numbers))}
	m.pauses.changed, m.pauses.asked = make(chan struct{}), map[*Agent]*pause{}
	link, err := Listen(Options{Sink: j.Sink, Log: kind.Log, Depth: defaultDepth, Told: m.told, Left: m.left,
		Foreign: m.foreign, Secrets: j.Secrets, kind: &m.kind})
	if err != nil {
		return nil, err
	}
	m.link = link
	return m, nil
}

// Name implements collector.Member.
func (m *Member) Name() string { return m.kind.Name }

// Starts implements collector.Member.
func (m *Member) Starts(img collector.Image, mine bool) (add collector.Beside) {
	m.link.rounds.replaced(img.PID)
	if !mine {
		return add
	}
	if why := m.kind.Unreachable(img); why != "" {
		m.mu.Lock()
		if w := fmt.Sprintf("functions of process %d (%s) are not traced: %s", img.PID,
			strings.Join(firstWords(img.Args), " "), why); len(m.warnings) < 5 {
			m.warnings = append(m.warnings, w)
		}
		m.mu.Unlock()
		return add
	}
	if m.kind.Arguments != nil {
		add.Args = m.kind.Arguments(img, m.link.Dir())
	}
	if m.kind.Environ != nil {
		add.Env = append(m.kind.Environ(img, m.link.Dir()), EnvFolder+"="+m.link.Dir())
	}
	return add
}

func firstWords(args []string) []string { return args[:min(len(args), 4)] }

// Ready implements collector.Member.
func (m *Member) Ready(ctx context.Context, pid int) { m.link.AwaitAgent(ctx, pid) }

// SetTracing implements collector.Member.
func (m *Member) SetTracing(ctx context.Context, t collector.Tracing) (collector.Status, error) {
	err := m.change(ctx, func() { m.tracing = t })
	return m.state(), err
}

// change makes what f changes be in force. f holds m.mu.
func (m *Member) change(ctx context.Context, f func()) error {
	m.changing.Lock()
	defer m.changing.Unlock()
	m.mu.Lock()
	f()
	set := Set{Root: m.root, OnFull: m.full, Lines: m.byLines, Rules: rulesOf(m.tracing.Probes), Points: wire(m.points)}
	m.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, applyWithin)
	defer cancel()
	return m.link.Apply(ctx, set)
}

// applyWithin is how long is waited for agents to trace a set: a busy interpreter lets its agent have its turn within
// milliseconds.
const applyWithin = 3 * time.Second

// rulesOf makes rules of patterns. The number of a rule is that of its pattern.
func rulesOf(probes []collector.Probe) []Rule {
	var rules []Rule
	for i, p := range probes {
		r := Rule{ID: i, On: "name", Glob: p.Pattern, Depth: p.Depth, Given: p.Given}
		if rest, ok := strings.CutPrefix(r.Glob, "!"); ok {
			r.Glob, r.Not = rest, true
		}
		switch {
		case r.Glob == "@usercode":
			r.On, r.Glob = "user", ""
		case strings.HasPrefix(r.Glob, "@file:"):
			r.On, r.Glob = "contains", strings.TrimPrefix(r.Glob, "@file:")
		case strings.HasPrefix(r.Glob, "file:"):
			r.On, r.Glob = "path", strings.TrimPrefix(r.Glob, "file:")
		case strings.HasPrefix(r.Glob, "@"), strings.ContainsAny(r.Glob, "(<"), strings.Contains(r.Glob, "::"):
			continue // of machine code alone
		}
		rules = append(rules, r)
	}
	return rules
}

// countWithin bounds how long a status waits for agents to count: what they have said before stands for those that are
// late.
const countWithin = 300 * time.Millisecond

// Status implements collector.Member. Functions are hooked as they are loaded, so that the agents are asked again.
func (m *Member) Status() collector.Status {
	m.askStatus()
	return m.state()
}

func (m *Member) askStatus() {
	ctx, cancel := context.WithTimeout(context.Background(), countWithin)
	defer cancel()
	var wg sync.WaitGroup
	for _, a := range m.link.Agents() {
		wg.Go(func() { _ = a.Ask(ctx, "status", nil, nil) }) // its answer is kept as what it said last
	}
	wg.Wait()
}

// state is what agents have said. What several processes have is that of the one with the most.
func (m *Member) state() collector.Status {
	m.mu.Lock()
	probes, warnings := m.tracing.Probes, slices.Clone(m.warnings)
	m.mu.Unlock()
	st := collector.Status{Later: true, Warnings: append(warnings, m.link.rounds.complaints()...)}
	for _, pid := range m.link.behind() {
		st.Warnings = append(st.Warnings,
			fmt.Sprintf("process %d has not taken it yet: it stands, or lets nobody else have its turn; it does when it goes on",
				pid))
	}
	matched := map[int]int{}
	var known, told []string
	for _, ap := range m.link.applied() {
		st.Hooked, st.Matched = max(st.Hooked, ap.Functions), max(st.Matched, ap.Functions+len(ap.Unhookable))
		for _, r := range ap.Rules {
			matched[r.ID] = max(matched[r.ID], r.Matched)
		}
		for _, u := range ap.Unhookable {
			st.Unhookable = append(st.Unhookable, collector.Unhookable{Function: u.Function, Reason: u.Reason})
		}
		for _, w := range ap.Warnings {
			if w != "" && !slices.Contains(st.Warnings, w) {
				st.Warnings = append(st.Warnings, w)
			}
		}
		known = append(known, ap.Near...)
		st.Cut.Calls += ap.Cut.Calls
		st.Cut.Functions = max(st.Cut.Functions, ap.Cut.Functions)
		if len(st.Cut.Most) == 0 {
			st.Cut.Most = ap.Cut.Most
		}
	}
	for _, r := range rulesOf(probes) {
		n := matched[r.ID]
		if n == 0 && !r.Not && r.On == "name" {
			if told == nil {
				told = m.link.rounds.told()
				known = append(known, told...)
			}
			for _, name := range told {
				if Named(r.Glob, name) {
					n++
				}
			}
		}
		p := collector.ProbeStatus{Pattern: probes[r.ID].Pattern, Matched: n, Hooked: n}
		if p.Matched == 0 && !r.Not && r.On == "name" && len(known) > 0 {
			p.Warning = fmt.Sprintf(
				"%s matches no %s function that is loaded; one that is loaded later is traced from its first call on", p.Pattern,
				m.kind.Name)
			if p.Near = near.Parts(r.Glob, known, 3); len(p.Near) > 0 {
				p.Warning += "; did you mean " + strings.Join(p.Near, ", ") + "?"
			}
		}
		st.Probes = append(st.Probes, p)
	}
	return st
}

// Flush implements collector.Member.
func (m *Member) Flush(ctx context.Context) error { return m.link.rounds.flush(ctx) }

// Ended implements collector.Member.
func (m *Member) Ended(pid int) {
	m.link.rounds.finish(pid, "")
	m.link.ended(pid)
}

// Capabilities implements collector.Member.
func (m *Member) Capabilities() collector.Capabilities {
	m.link.mu.Lock()
	h := m.link.came
	m.link.mu.Unlock()
	if agents := m.link.Agents(); len(agents) > 0 {
		h = &agents[0].Hello
	}
	return m.kind.Capabilities(h)
}

// askWithin bounds a question to an agent: it answers while the program runs.
const askWithin = 2 * time.Second

// Threads implements collector.Member. Agents that do not answer are left out: the kernel's view of theirs is there.
func (m *Member) Threads(ctx context.Context) ([]collector.ThreadRow, error) {
	agents := m.link.Agents()
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	answers := make([]threadsAnswer, len(agents))
	errs := make([]error, len(agents))
	var wg sync.WaitGroup
	for i, a := range agents {
		wg.Go(func() { errs[i] = a.Ask(ctx, "threads", nil, &answers[i]) })
	}
	wg.Wait()
	var rows []collector.ThreadRow
	for i, a := range agents {
		for _, t := range answers[i].Threads {
			if t.Held != "" && t.Owner == 0 {
				t.Owner = answers[i].numberOf(t.Held)
			}
			row := t.row()
			if len(agents) > 1 {
				row.PID = a.PID
			}
			rows = append(rows, row)
		}
	}
	if len(rows) == 0 {
		return nil, errors.Join(errs...)
	}
	return rows, nil
}

// threadsAnswer is what an agent says of its process's threads.
type threadsAnswer struct {
	Threads []threadAnswer `json:"threads"`
}

// numberOf is the thread that alone has a name; 0: none.
func (a *threadsAnswer) numberOf(name string) (tid int) {
	for i := range a.Threads {
		if t := &a.Threads[i]; t.Name == name {
			if tid != 0 {
				return 0
			}
			tid = t.TID
		}
	}
	return tid
}

// threadAnswer is one thread, or several tasks that do the same.
type threadAnswer struct {
	TID    int    `json:"tid"` // below 0: of a thread that the kernel does not know
	Name   string `json:"name"`
	Task   string `json:"task"`
	Count  int    `json:"count"`
	Waits  string `json:"waits"` // in words
	Kind   string `json:"kind"`  // what it waits for: collector.ThreadWait
	On     string `json:"on"`
	Owner  int    `json:"owner"` // the thread that has it; below 0 as above
	Held   string `json:"held"`  // its name, where the kernel does not know it
	Timed  bool   `json:"timed"`
	Runs   bool   `json:"runs"`
	Frames []struct {
		Place
		System bool `json:"system"` // none of the program's own
	} `json:"frames"`
}

// Machine implements collector.Machines.
func (m *Member) Machine(row *collector.ThreadRow) bool {
	return m.kind.Machine != nil && m.kind.Machine(row)
}

func (t *threadAnswer) row() collector.ThreadRow {
	row := collector.ThreadRow{ThreadID: t.TID, Name: t.Name, State: "waiting", Note: t.Waits, Count: t.Count}
	if t.Runs {
		row.State = "running"
	}
	if t.Task != "" {
		row.ThreadID, row.Name = min(t.TID, 0), t.Task
	}
	if t.Kind != "" {
		row.WaitingFor = &collector.ThreadWait{Kind: t.Kind, Name: t.On, Owner: t.Owner, Timed: t.Timed}
		if t.Owner != 0 {
			row.WaitingFor.OwnerKnownBy = "lock"
		}
	}
	if t.Held != "" && t.Owner <= 0 {
		row.Note = "held by " + t.Held
	}
	for _, f := range t.Frames {
		row.Backtrace = append(row.Backtrace, fmt.Sprintf("%s %s:%d", f.Function, f.File, f.Line))
		if row.At == "" && !f.System {
			row.At = row.Backtrace[len(row.Backtrace)-1]
		}
	}
	return row
}

// Close implements collector.Member.
func (m *Member) Close(context.Context) {
	m.mu.Lock()
	closed := m.closed
	m.closed = true
	m.mu.Unlock()
	if !closed {
		m.link.Close()
	}
}
