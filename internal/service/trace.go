package service

import (
	"context"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/session"
)

// TraceParams are the parameters of debug_trace.
type TraceParams struct {
	SessionID          string   `json:"sessionId,omitempty" jsonschema:"absent: stage for the next launch in projectRoot"`
	Add                []string `json:"add,omitempty"` // described by traceOp.adjust
	Remove             []string `json:"remove,omitempty"`
	SerializationDepth int      `json:"serializationDepth,omitempty" jsonschema:"depth of values"`
	CaptureOut         *bool    `json:"captureOut,omitempty" jsonschema:"pointees of arguments at the exit"`

	Watches *WatchesParam `json:"watches,omitempty" jsonschema:"read at each call, e.g. variable gClock->counter"`

	Sampling    *SamplingParam `json:"sampling,omitempty" jsonschema:"over 100000 calls/s: auto, off, {rate}"`
	ProjectRoot string         `json:"projectRoot,omitempty"`
	Plan        bool           `json:"plan,omitempty" jsonschema:"only tell what it would trace"`
	Budget
}

// TraceResult is the answer of debug_trace: the exact state after the call.
type TraceResult struct {
	Mode             string      `json:"mode"` // pending or runtime
	ActivePatterns   []string    `json:"activePatterns"`
	HookedFunctions  int         `json:"hookedFunctions"`
	MatchedFunctions int         `json:"matchedFunctions"`
	ByBreakpoint     int         `json:"hookedByBreakpoint,omitempty"` // of hookedFunctions: slower
	Unhookable       []NotHooked `json:"unhookable,omitempty"`         // by reason
	UnhookableCount  int         `json:"unhookableCount,omitempty"`
	ActiveWatches    []string    `json:"activeWatches"`
	Warnings         []string    `json:"warnings"`
	EventLimit       int64       `json:"eventLimit"`
	// of a plan: calls of what would be traced, the most first
	CallsPerSecond     int64          `json:"callsPerSecond,omitempty"`
	Planned            []PlannedCalls `json:"planned,omitempty"`
	SerializationDepth int            `json:"serializationDepth"`
	Status             string         `json:"status,omitempty"`
}

var traceOp = Op{
	adjust: func(input *jsonschema.Schema) { // longer than a line has room for
		input.Properties["add"].Description = "glob on the qualified name: * stops at ::, ** not; a::b(int); " +
			"@usercode; @file:NAME; file:GLOB; @exceptions; @coverage: what runs; " +
			"@sockets; @switches; Go: @goroutines, @channels; !PATTERN takes out"
	},
	Name: "debug_trace",
	Summary: "Add and remove function traces while the program runs; each call's arguments and result are recorded. " +
		"Without add and remove: the current state.",
	Doc: "Patterns are globs on the demangled qualified name without parameters. All of a call are checked before any " +
		"takes effect; removal is done with " +
		"addition in one step; a session has at most 1,000. Without sessionId the patterns are kept for this client's next " +
		"launch in projectRoot, for one hour.",
	Params:  reflect.TypeFor[TraceParams](),
	Results: []reflect.Type{reflect.TypeFor[TraceResult]()},
	Fields: []Field{{Name: "add", Empty: true}, {Name: "serializationDepth", Min: 1, Max: 10, Default: 3},
		maxTokensField},
	run: typed(trace),
}

// NotHooked are functions that could not be hooked for one reason.
type NotHooked struct {
	Function string   `json:"function"`        // the first of them
	Also     []string `json:"also,omitempty"`  // the next
	Count    int      `json:"count,omitempty"` // all of them, where there are several
	Reason   string   `json:"reason"`
}

// How many functions that could not be hooked an answer names.
const (
	maxUnhookable  = 20 // reasons
	namedOfAReason = 8
)

// byReason groups what could not be hooked: twenty times the same sentence say no more than once.
func byReason(list []collector.Unhookable) (groups []NotHooked, count int) {
	at := make(map[string]int)
	for _, u := range list {
		i, ok := at[u.Reason]
		if !ok {
			at[u.Reason] = len(groups)
			groups = append(groups, NotHooked{Function: u.Function, Reason: u.Reason, Count: 1})
			continue
		}
		g := &groups[i]
		if g.Count++; len(g.Also) < namedOfAReason-1 {
			g.Also = append(g.Also, u.Function)
		}
	}
	for i := range groups {
		if groups[i].Count == 1 {
			groups[i].Count = 0
		}
	}
	return groups[:min(len(groups), maxUnhookable)], len(list)
}

// shorten leaves out of an answer to a change what this client was told of the session before; asking for the state
// tells all of it again.
func (r *TraceResult) shorten(ctx context.Context, s *said, session string) {
	var groups []NotHooked
	for _, g := range r.Unhookable {
		if s.once(ctx, session, fmt.Sprintf("unhookable %d %s %s", g.Count, g.Function, g.Reason)) {
			groups = append(groups, g)
		}
	}
	r.Unhookable = groups
	var again int
	if r.Warnings, again = s.fresh(ctx, session, r.Warnings); again > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%d warnings as before: debug_trace without add and remove tells them",
			again))
	}
}

func trace(ctx context.Context, s *Service, p *TraceParams) (*TraceResult, error) {
	if err := s.checkPatterns(p.Add); err != nil {
		return nil, err
	}
	if p.SessionID == "" && p.Plan {
		return nil, invalid("debug_launch with stopOnEntry first, then plan in its session.",
			"plan needs a program that runs: sessionId is absent")
	}
	if p.SessionID == "" {
		return s.stage(ctx, p)
	}
	sess, err := s.sessions.Get(ctx, p.SessionID)
	if err != nil {
		return nil, err
	}
	if p.ProjectRoot != "" && filepath.Clean(p.ProjectRoot) != sess.ProjectRoot() {
		return nil, invalid("Leave it out.", "projectRoot of session %s is %s and cannot change", sess.ID, sess.ProjectRoot())
	}
	change, err := p.change()
	if err != nil {
		return nil, err
	}
	if p.Plan {
		return plan(ctx, sess, change)
	}
	t, err := sess.Trace(ctx, change)
	if err != nil {
		return nil, err
	}
	r := describeTrace(sess, t)
	if len(p.Add)+len(p.Remove) > 0 || p.Watches != nil || p.Sampling != nil {
		r.shorten(ctx, &s.said, sess.ID)
	}
	return r, nil
}

// stage keeps patterns for the client's next launch in the project.
func (s *Service) stage(ctx context.Context, p *TraceParams) (*TraceResult, error) {
	if p.ProjectRoot == "" {
		return nil, invalid("Give sessionId to trace a running program, or projectRoot to stage patterns for the next "+
			"launch there.",
			"sessionId and projectRoot are both absent")
	}
	if !filepath.IsAbs(p.ProjectRoot) {
		return nil, invalid("Give the absolute path of the project's directory.", "projectRoot %q is not an absolute path",
			p.ProjectRoot)
	}
	set, warnings := s.settings.Load(p.ProjectRoot)
	change, err := p.change()
	if err != nil {
		return nil, err
	}
	var missing []string
	next := s.pending.change(keyOf(clientOf(ctx), p.ProjectRoot), func(next staged) staged {
		next.tracing, missing, err = next.tracing.Change(change, set.SerializationDepth)
		return next
	}).tracing
	if err != nil {
		return nil, err
	}
	probes := next.Probes
	r := &TraceResult{
		Mode: "pending", ActivePatterns: session.Patterns(probes), ActiveWatches: next.Labels(),
		Warnings: append(append([]string{}, warnings...), missing...), EventLimit: set.EventsMaxPerSession,
		SerializationDepth: set.SerializationDepth,
		Status:             "Nothing is staged. Add patterns, or pass sessionId for a running session.",
	}
	if len(probes) > 0 {
		r.SerializationDepth = probes[len(probes)-1].Depth
		r.Status = "Staged: in force from the first instruction of the next debug_launch in this projectRoot by this " +
			"client, for 1 hour, whatever the connection."
	}
	return r, nil
}

// recordsExceptions reports whether the pattern @exceptions found a runtime to watch.
func recordsExceptions(probes []collector.ProbeStatus) bool {
	return slices.ContainsFunc(probes, func(p collector.ProbeStatus) bool {
		return p.Pattern == "@exceptions" && p.Hooked > 0
	})
}

func describeTrace(sess *session.Session, t *session.TraceState) *TraceResult {
	probes := t.Tracing.Probes
	r := &TraceResult{
		Mode: "runtime", ActivePatterns: session.Patterns(probes), HookedFunctions: t.Hooked, MatchedFunctions: t.Matched,
		ByBreakpoint: t.Fallback, ActiveWatches: t.Tracing.Labels(),
		Warnings: append(append([]string{}, t.Warnings...), t.Status.Warnings...), EventLimit: t.EventLimit,
		SerializationDepth: 3,
	}
	r.Unhookable, r.UnhookableCount = byReason(t.Unhookable)
	r.Warnings = appendProbeWarnings(r.Warnings, t.Probes)
	r.Warnings = appendWatchWarnings(r.Warnings, t.Watches)
	r.Warnings = appendSampled(r.Warnings, t.Sampled)
	r.Warnings = appendCut(r.Warnings, t.Cut)
	if n := len(probes); n > 0 {
		r.SerializationDepth = probes[n-1].Depth
	}
	switch {
	case !sess.Live():
		r.Status = "The program has ended; its events can still be queried."
	case len(probes) == 0:
		r.Status = "Nothing is traced. Add patterns, for example @usercode for all functions under projectRoot."
	case t.Hooked == 0 && recordsExceptions(t.Probes):
		r.Status = "Exceptions are recorded, no function is traced. Query them with eventType: exception."
	case t.Hooked == 0 && asideRecorded(t.Probes) != "":
		r.Status = asideRecorded(t.Probes)
	case t.Hooked == 0:
		r.Status = "No function is hooked: see warnings and unhookable."
	default:
		r.Status = fmt.Sprintf(`%d functions are traced. When they were called, what is odd: debug_query {"view":"summary",`+
			`"waitMs":5000}; calls: debug_query {"view":"tree"}.`, t.Hooked)
	}
	return r
}

// asides are where patterns that match no function are recorded, and how that is asked for.
var asides = []struct{ pattern, recorded string }{
	{"@sockets", "What the program does on the network is recorded: debug_query, channel: sockets."},
	{"@locks", "Orders of locks, and waits for them, are recorded: debug_session status with locks."},
	{"@switches", "When threads run and wait is recorded: debug_query {\"view\":\"threads\"}."},
	{"@goroutines", "What goroutines do is recorded: debug_query, channel: " + collector.GoroutinesChannel + "."},
	{"@channels", "What is done to Go's channels is recorded: debug_query, channel: " + collector.GoChannelsChannel + "."},
}

// asideRecorded says what is recorded where no function is traced, "" where nothing is.
func asideRecorded(probes []collector.ProbeStatus) string {
	for _, a := range asides {
		if slices.ContainsFunc(probes, func(p collector.ProbeStatus) bool {
			return p.Hooked > 0 && strings.HasPrefix(p.Pattern, a.pattern)
		}) {
			return a.recorded
		}
	}
	return ""
}
