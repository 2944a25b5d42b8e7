package agentlink

import (
	"context"
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
	// Environ is what the environment of an image is to have so that the agent gets in, beside EnvFolder.
	Environ func(img collector.Image, dir string) []string
	// Unreachable says why no agent comes into an image, "" where one does.
	Unreachable  func(img collector.Image) string
	Capabilities func(h *Hello) collector.Capabilities // h is nil before an agent has come
	Log          *slog.Logger
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

	mu       sync.Mutex
	tracing  collector.Tracing
	warnings []string
	closed   bool
}

// Join makes an interpreter's member of a target.
func Join(kind Kind, j collector.Joining) (*Member, error) {
	m := &Member{kind: kind, root: j.Root, full: j.OnFull, byLines: j.Lines != "off"}
	link, err := Listen(Options{Sink: j.Sink, Log: kind.Log, Depth: defaultDepth})
	if err != nil {
		return nil, err
	}
	m.link = link
	return m, nil
}

// Name implements collector.Member.
func (m *Member) Name() string { return m.kind.Name }

// Starts implements collector.Member.
func (m *Member) Starts(img collector.Image, mine bool) []string {
	m.link.rounds.finish(img.PID, "")
	if !mine {
		return nil
	}
	if why := m.kind.Unreachable(img); why != "" {
		m.mu.Lock()
		if w := fmt.Sprintf("functions of process %d (%s) are not traced: %s", img.PID, strings.Join(firstWords(img.Args), " "), why); len(m.warnings) < 5 {
			m.warnings = append(m.warnings, w)
		}
		m.mu.Unlock()
		return nil
	}
	return append(m.kind.Environ(img, m.link.Dir()), EnvFolder+"="+m.link.Dir())
}

func firstWords(args []string) []string { return args[:min(len(args), 4)] }

// Ready implements collector.Member.
func (m *Member) Ready(ctx context.Context, pid int) { m.link.AwaitAgent(ctx, pid) }

// SetTracing implements collector.Member.
func (m *Member) SetTracing(ctx context.Context, t collector.Tracing) (collector.Status, error) {
	m.mu.Lock()
	m.tracing = t
	m.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, applyWithin)
	defer cancel()
	err := m.link.Apply(ctx, Set{Root: m.root, OnFull: m.full, Lines: m.byLines, Rules: rulesOf(t.Probes)})
	return m.state(), err
}

// applyWithin is how long an agent may take to trace a set: a busy interpreter lets it have its turn within
// milliseconds.
const applyWithin = 10 * time.Second

// rulesOf makes rules of patterns. The number of a rule is that of its pattern.
func rulesOf(probes []collector.Probe) []Rule {
	var rules []Rule
	for i, p := range probes {
		r := Rule{ID: i, On: "name", Glob: p.Pattern, Depth: p.Depth}
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
	ctx, cancel := context.WithTimeout(context.Background(), countWithin)
	defer cancel()
	var wg sync.WaitGroup
	for _, a := range m.link.Agents() {
		wg.Go(func() { _ = a.Ask(ctx, "status", nil, nil) }) // its answer is kept as what it said last
	}
	wg.Wait()
	return m.state()
}

// state is what agents have said. What several processes have is that of the one with the most.
func (m *Member) state() collector.Status {
	m.mu.Lock()
	probes, warnings := m.tracing.Probes, slices.Clone(m.warnings)
	m.mu.Unlock()
	st := collector.Status{Later: true, Warnings: append(warnings, m.link.rounds.complaints()...)}
	matched := map[int]int{}
	var known []string
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
	}
	for _, r := range rulesOf(probes) {
		p := collector.ProbeStatus{Pattern: probes[r.ID].Pattern, Matched: matched[r.ID], Hooked: matched[r.ID]}
		if p.Matched == 0 && !r.Not && r.On == "name" && len(known) > 0 {
			p.Warning = fmt.Sprintf("%s matches no %s function that is loaded; one that is loaded later is traced from its first call on", p.Pattern, m.kind.Name)
			if names := near.Parts(r.Glob, known, 3); len(names) > 0 {
				p.Warning += "; did you mean " + strings.Join(names, ", ") + "?"
			}
		}
		st.Probes = append(st.Probes, p)
	}
	return st
}

// Flush implements collector.Member.
func (m *Member) Flush(ctx context.Context) error { return m.link.rounds.flush(ctx) }

// Ended implements collector.Member.
func (m *Member) Ended(pid int) { m.link.rounds.finish(pid, "") }

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

// Threads implements collector.Member.
func (m *Member) Threads(ctx context.Context) ([]collector.ThreadRow, error) {
	var rows []collector.ThreadRow
	agents := m.link.Agents()
	for _, a := range agents {
		var answer struct {
			Threads []struct {
				TID    int    `json:"tid"`
				Name   string `json:"name"`
				Task   string `json:"task"`
				Waits  string `json:"waits"`
				Frames []struct {
					Function string `json:"function"`
					File     string `json:"file"`
					Line     int    `json:"line"`
				} `json:"frames"`
			} `json:"threads"`
		}
		ctx, cancel := context.WithTimeout(ctx, askWithin)
		err := a.Ask(ctx, "threads", nil, &answer)
		cancel()
		if err != nil {
			return rows, err
		}
		for _, t := range answer.Threads {
			row := collector.ThreadRow{ThreadID: t.TID, Name: t.Name, State: "waiting"}
			if t.Task != "" {
				row.ThreadID, row.Name = 0, t.Task
			}
			if len(agents) > 1 {
				row.PID = a.PID
			}
			for _, f := range t.Frames {
				row.Backtrace = append(row.Backtrace, fmt.Sprintf("%s %s:%d", f.Function, f.File, f.Line))
			}
			row.Note = t.Waits
			rows = append(rows, row)
		}
	}
	return rows, nil
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
