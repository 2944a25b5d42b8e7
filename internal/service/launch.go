package service

import (
	"cmp"
	"context"
	"reflect"
	"strings"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/session"
)

// LaunchParams are the parameters of debug_launch.
type LaunchParams struct {
	Command string   `json:"command,omitempty"`
	PID     int      `json:"pid,omitempty" jsonschema:"attach to it instead"`
	Group   string   `json:"group,omitempty" jsonschema:"file of services"`
	Args    []string `json:"args,omitempty"`
	Cwd     string   `json:"cwd,omitempty" jsonschema:"default: a path's directory, else projectRoot"`

	ProjectRoot string            `json:"projectRoot" jsonschema:"absolute; what @usercode means"`
	Env         map[string]string `json:"env,omitempty"`
	Stdin       string            `json:"stdin,omitempty" jsonschema:"text; pipe: debug_session input"`
	Terminal    bool              `json:"terminal,omitempty"`

	TerminalSize       string   `json:"terminalSize,omitempty" jsonschema:"default 80x24"`
	SymbolsPath        string   `json:"symbolsPath,omitempty"`
	Core               string   `json:"core,omitempty" jsonschema:"core file instead"`
	Trace              []string `json:"trace,omitempty" jsonschema:"patterns; see debug_trace"`
	SerializationDepth int      `json:"serializationDepth,omitempty"`
	Channels           []string `json:"channels,omitempty"`
	StopOnEntry        bool     `json:"stopOnEntry,omitempty"`

	OnFullBuffer string `json:"onFullBuffer,omitempty" jsonschema:"when full"`
	LineBuffer   string `json:"lineBuffer,omitempty" jsonschema:"stdout by lines"`
	Name         string `json:"name,omitempty"`
	KeepSecrets  bool   `json:"keepSecrets,omitempty"`

	Display     string `json:"display,omitempty"`
	DisplaySize string `json:"displaySize,omitempty"`
	Budget
}

// LaunchResult is the answer of debug_launch.
type LaunchResult struct {
	SessionID              string                 `json:"sessionId"`
	PID                    int                    `json:"pid"`
	Runtime                string                 `json:"runtime"`
	Capabilities           collector.Capabilities `json:"capabilities"`
	PendingPatternsApplied int                    `json:"pendingPatternsApplied,omitempty"`
	Breakpoints            []string               `json:"breakpoints,omitempty"` // of those that were staged: ids
	// this and the next three: with patterns
	HookedFunctions  *int        `json:"hookedFunctions,omitempty"`
	MatchedFunctions *int        `json:"matchedFunctions,omitempty"`
	Unhookable       []NotHooked `json:"unhookable,omitempty"` // by reason
	UnhookableCount  int         `json:"unhookableCount,omitempty"`
	Warnings         []string    `json:"warnings,omitempty"`
	NextSteps        string      `json:"nextSteps,omitempty"`
}

// GroupResult is the answer of debug_launch with group.
type GroupResult struct {
	Sessions  []GroupSession `json:"sessions"` // in the order in which they were started
	NextSteps string         `json:"nextSteps"`
}

// GroupSession is a service that was started.
type GroupSession struct {
	Name      string   `json:"name"`
	SessionID string   `json:"sessionId"`
	PID       int      `json:"pid"`
	Runtime   string   `json:"runtime"`
	Warnings  []string `json:"warnings,omitempty"`
}

var launchOp = Op{
	Name:    "debug_launch",
	Summary: "Start a program under observation: its output is recorded, traces are added while it runs.",
	Doc: "Starts a program and records its output, and the calls that the patterns in `trace` select, on one timeline. " +
		"The program runs with the daemon's environment with `env` laid over it (give variables that matter in `env`: the " +
		"daemon may " +
		"have been started by another shell). `command` with a slash is a path, relative to `cwd` or else to projectRoot; " +
		"without one it is looked up in the " +
		"PATH that the program itself will see. Answers as soon as the program runs; with patterns, as soon as its " +
		"libraries are loaded and hooked. " +
		"With `display` virtual the program gets a display of its own (Xvfb, a message bus, accessibility, openbox), " +
		"which debug_ui reads and debug_ui_action drives and which ends with the session; the desktop is never touched. " +
		"With user it gets the one that the daemon sees. " +
		"With `group` a YAML or JSON file's programs are started, each when those that it depends on are ready, as of " +
		"`strobe up`: all of them, or none. " +
		"With `core` nothing is run: the session is the dead process, with the crash event that observing it would have " +
		"given, and debug_memory reads its values. " +
		"Values of parameters, fields, keys and headers that are called as secrets (password, token, api_key) are " +
		"`<redacted>`; setting secrets.names says which, `keepSecrets` records them. " +
		"`command` may have been moved since, but must be the same build. Cores may be compressed with zstd or gzip.",
	Destructive: false,
	Params:      reflect.TypeFor[LaunchParams](),
	Results:     []reflect.Type{reflect.TypeFor[LaunchResult](), reflect.TypeFor[GroupResult]()},
	Fields: []Field{
		maxTokensField,
		{Name: "pid", Min: 1, Max: maxPID},
		{Name: "stdin", Empty: true},
		{Name: "args", Empty: true},
		{Name: "env", Empty: true},
		{Name: "trace", Empty: true}, // an empty pattern has a code of its own
		{Name: "projectRoot", Required: true},
		{Name: "serializationDepth", Min: 1, Max: 10, Default: 3},
		{Name: "onFullBuffer", Enum: []string{"wait", "drop", "block"}, Default: "wait"},
		{Name: "display", Enum: []string{"virtual", "user"}},
		{Name: "displaySize", Default: "1280x800"},
		{Name: "lineBuffer", Enum: []string{"auto", "always", "off"}, Default: "auto"},
	},
	run: typed(launch),
}

func launch(ctx context.Context, s *Service, p *LaunchParams) (*LaunchResult, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	if p.Group != "" {
		return nil, fault.New(fault.Unsupported, "Ask the daemon.", "this process has one launch's session")
	}
	if p.Core != "" {
		return openCore(ctx, s, p)
	}
	columns, rows, err := terminalSize(p.TerminalSize)
	if err != nil {
		return nil, err
	}
	if err := s.checkPatterns(p.Trace); err != nil {
		return nil, err
	}
	set, _ := s.settings.Load(p.ProjectRoot)
	key := keyOf(clientOf(ctx), p.ProjectRoot)
	pending := s.pending.take(key)
	change, err := traceChange(p.Trace, nil, p.SerializationDepth, nil, nil, nil)
	if err != nil {
		s.pending.putBack(key, pending)
		return nil, err
	}
	tracing, _, err := pending.tracing.Change(change, set.SerializationDepth)
	if err != nil {
		s.pending.putBack(key, pending)
		return nil, err
	}
	start := func() (*session.Session, error) {
		return s.sessions.Attach(ctx, session.AttachRequest{PID: p.PID, ProjectRoot: p.ProjectRoot,
			SymbolsPath: p.SymbolsPath, Tracing: tracing, OnFullBuffer: p.OnFullBuffer, Name: p.Name,
			KeepSecrets: p.KeepSecrets})
	}
	if p.PID == 0 {
		start = func() (*session.Session, error) {
			r := p.request(tracing)
			r.Columns, r.Rows = columns, rows
			r.QuietEntry = !r.StopOnEntry
			r.StopOnEntry = r.StopOnEntry || len(pending.points) > 0
			return s.launchOn(ctx, r, p.Channels)
		}
	}
	if p.PID != 0 && len(p.Channels) > 0 {
		s.pending.putBack(key, pending)
		return nil, invalid("Add them with debug_channel once it is attached to.", "channels belong to command")
	}
	sess, err := start()
	if err != nil {
		s.pending.putBack(key, pending)
		return nil, p.commandLine(err)
	}
	s.said.forget(sess.ID)
	res, err := p.launched(sess, len(pending.tracing.Probes), len(tracing.Probes) > 0)
	if err == nil { // what is told here need not be told again by debug_trace
		(&TraceResult{Unhookable: res.Unhookable, Warnings: res.Warnings}).shorten(ctx, &s.said, sess.ID)
	}
	if err == nil && len(pending.points) > 0 {
		err = p.setStaged(ctx, sess, pending.points, res)
	}
	return res, err
}

// Check refuses what does not go together.
func (p *LaunchParams) Check() error {
	alone := LaunchParams{Group: p.Group, ProjectRoot: p.ProjectRoot, Budget: p.Budget}
	switch {
	case p.Group != "" && !reflect.DeepEqual(*p, alone):
		return invalid("Write it into the file, of each service.", "group goes with projectRoot alone")
	case p.Group != "":
		return nil
	case p.Command == "" && p.PID == 0:
		return invalid("Give command, or pid to attach to a running process.", "command is missing")
	case p.Command != "" && p.PID != 0:
		return invalid("Give one of them.", "command and pid are both given")
	case p.DisplaySize != "" && p.Display != "virtual":
		return invalid("Give display virtual.", "displaySize is of a virtual display")
	case p.PID != 0 && p.Display != "":
		return invalid("Leave it out.", "display belongs to command: process %d has its own already", p.PID)
	case p.TerminalSize != "" && !p.Terminal:
		return invalid("Give terminal true.", "terminalSize is of a terminal")
	case p.PID != 0 && (len(p.Args) > 0 || p.Cwd != "" || len(p.Env) > 0 || p.Stdin != "" || p.Terminal || p.StopOnEntry):
		return invalid("Leave them out.", "args, cwd, env, stdin, terminal and stopOnEntry belong to command: process %d "+
			"runs already", p.PID)
	}
	return nil
}

// request is the launch of a program with these patterns.
func (p *LaunchParams) request(tracing session.Tracing) session.LaunchRequest {
	r := session.LaunchRequest{
		Command: p.Command, Args: p.Args, Cwd: p.Cwd, ProjectRoot: p.ProjectRoot, Env: p.Env, Stdin: p.Stdin,
		Terminal: p.Terminal, SymbolsPath: p.SymbolsPath, Tracing: tracing, OnFullBuffer: p.OnFullBuffer,
		LineBuffer: p.LineBuffer, Name: p.Name, KeepSecrets: p.KeepSecrets, StopOnEntry: p.StopOnEntry,
		Display: p.Display, DisplaySize: p.DisplaySize,
	}
	if p.Stdin == "pipe" {
		r.Stdin, r.KeepStdin = "", true
	}
	return r
}

// launched is the answer for a session that has just begun.
func (p *LaunchParams) launched(sess *session.Session, pending int, traced bool) (*LaunchResult, error) {
	state, err := sess.Started()
	if err != nil {
		return nil, err
	}
	res := &LaunchResult{
		SessionID: sess.ID, PID: state.PID, Runtime: state.Runtime, PendingPatternsApplied: pending,
		Warnings: launchWarnings(state),
	}
	if state.Caps != nil {
		res.Capabilities = *state.Caps
		res.Runtime = cmp.Or(state.Caps.Runtime, res.Runtime)
	}
	res.NextSteps = `Output, and what next: debug_query {"view":"summary","waitMs":2000}. Calls: debug_trace ` +
		`{"add":["@usercode"]}. At the end: debug_session {"action":"stop"}.`
	if p.StopOnEntry {
		res.NextSteps = "The program is paused before main: debug_breakpoint sets breakpoints, debug_continue lets it go " +
			"on, or steps into main."
	}
	if traced {
		t := &state.Trace
		res.HookedFunctions, res.MatchedFunctions = &t.Hooked, &t.Matched
		res.Unhookable, res.UnhookableCount = byReason(t.Unhookable)
		res.NextSteps = `What is odd: debug_query {"view":"summary","waitMs":5000}. Calls: debug_query ` +
			`{"view":"tree"}. At the end: debug_session {"action":"stop"}.`
		if aside := asideRecorded(t.Probes); t.Hooked == 0 && aside != "" {
			res.NextSteps = aside
		} else if t.Hooked == 0 && !t.Later {
			res.NextSteps = "No function is hooked: see warnings and unhookable; debug_trace changes patterns while it runs, " +
				"debug_query shows output."
		}
	}
	return res, nil
}

func launchWarnings(state *session.State) []string {
	w := append([]string{}, state.Warnings...)
	w = append(w, state.Trace.Warnings...)
	return appendProbeWarnings(w, state.Trace.Probes)
}

// appendProbeWarnings adds what there is to say of single patterns. A warning that does not name its pattern is given
// it.
func appendProbeWarnings(w []string, probes []collector.ProbeStatus) []string {
	for _, p := range probes {
		switch {
		case p.Warning == "":
		case strings.Contains(p.Warning, p.Pattern):
			w = append(w, p.Warning)
		default:
			w = append(w, p.Pattern+": "+p.Warning)
		}
	}
	return w
}

// hasNotRun says which patterns a program that has ended was traced with in vain: while it ran, what they name might
// have been loaded later. Where something was traced it is not known of which pattern.
func hasNotRun(state *session.State) (w []string) {
	live := state.Status == session.Running || state.Status == session.Paused || len(state.PIDs) > 0
	if live || state.Calls.Made > 0 || state.Trace.Hooked > 0 {
		return nil
	}
	for _, p := range state.Trace.Probes {
		if strings.HasPrefix(p.Pattern, "!") || strings.HasPrefix(p.Pattern, "@") {
			continue
		}
		text := "no function that " + p.Pattern + " names has run"
		if len(p.Near) > 0 {
			text += "; did you mean " + strings.Join(p.Near, ", ") + "?"
		}
		w = append(w, text)
	}
	return w
}

// checkPatterns tests all patterns before any takes effect.
func (s *Service) checkPatterns(patterns []string) error {
	for _, p := range patterns {
		if p == "" {
			return fault.New(fault.InvalidPattern, "Leave it out, or use ** for every function.", "a pattern is empty")
		}
		if err := s.cfg.ParsePattern(p); err != nil {
			if fault.CodeOf(err) == fault.InternalError {
				return fault.New(fault.InvalidPattern, "See debug_trace for the pattern language.", "pattern %q: %w", p, err)
			}
			return err
		}
	}
	return nil
}
