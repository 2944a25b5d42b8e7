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
	Command            string            `json:"command" jsonschema:"path, or name in PATH"`
	Args               []string          `json:"args,omitempty"`
	Cwd                string            `json:"cwd,omitempty" jsonschema:"default: command's directory if a path, else projectRoot"`
	ProjectRoot        string            `json:"projectRoot" jsonschema:"absolute; what @usercode means"`
	Env                map[string]string `json:"env,omitempty" jsonschema:"added to the environment"`
	Stdin              string            `json:"stdin,omitempty" jsonschema:"text, or \"pipe\": send it with debug_session input"`
	Terminal           bool              `json:"terminal,omitempty" jsonschema:"run in a pseudo-terminal"`
	SymbolsPath        string            `json:"symbolsPath,omitempty" jsonschema:"file or directory with debug info"`
	Trace              []string          `json:"trace,omitempty" jsonschema:"patterns from the start; see debug_trace"`
	SerializationDepth int               `json:"serializationDepth,omitempty"`
	OnFullBuffer       string            `json:"onFullBuffer,omitempty" jsonschema:"drop counts lost calls, block makes the program wait"`
	Name               string            `json:"name,omitempty" jsonschema:"label"`
}

// LaunchResult is the answer of debug_launch.
type LaunchResult struct {
	SessionID              string                 `json:"sessionId"`
	PID                    int                    `json:"pid"`
	Runtime                string                 `json:"runtime"`
	Capabilities           collector.Capabilities `json:"capabilities"`
	PendingPatternsApplied int                    `json:"pendingPatternsApplied,omitempty"`
	HookedFunctions        *int                   `json:"hookedFunctions,omitempty"` // this and the next three: with patterns
	MatchedFunctions       *int                   `json:"matchedFunctions,omitempty"`
	Unhookable             []collector.Unhookable `json:"unhookable,omitempty"` // first 20
	UnhookableCount        int                    `json:"unhookableCount,omitempty"`
	Warnings               []string               `json:"warnings,omitempty"`
	NextSteps              string                 `json:"nextSteps,omitempty"`
}

var launchOp = Op{
	Name:    "debug_launch",
	Summary: "Start a program under observation. Its output is recorded from the first byte; add traces while it runs.",
	Doc: "Starts a program and records its output, and the calls that the patterns in `trace` select, on one timeline. " +
		"The program runs with the daemon's environment with `env` laid over it (give variables that matter in `env`: the daemon may " +
		"have been started by another shell). `command` with a slash is a path, relative to `cwd` or else to projectRoot; without one it is looked up in the " +
		"PATH that the program itself will see. Answers as soon as the program runs; with patterns, as soon as its libraries are loaded and hooked.",
	Destructive: false,
	Params:      reflect.TypeFor[LaunchParams](),
	Results:     []reflect.Type{reflect.TypeFor[LaunchResult]()},
	Fields: []Field{
		{Name: "command", Required: true},
		{Name: "projectRoot", Required: true},
		{Name: "serializationDepth", Min: 1, Max: 10, Default: 3},
		{Name: "onFullBuffer", Enum: []string{"drop", "block"}, Default: "drop"},
	},
	Later: map[string]string{
		"stopOnEntry": "Stage patterns in trace instead: they are in force from the first instruction.",
		"pid":         "Start the program with command; attaching to a running process comes later.",
	},
	run: typed(launch),
}

func launch(ctx context.Context, s *Service, p *LaunchParams) (*LaunchResult, error) {
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
	tracing, _, err := pending.Change(change, set.SerializationDepth)
	if err != nil {
		s.pending.putBack(key, pending)
		return nil, err
	}
	r := session.LaunchRequest{
		Command: p.Command, Args: p.Args, Cwd: p.Cwd, ProjectRoot: p.ProjectRoot, Env: p.Env, Stdin: p.Stdin,
		Terminal: p.Terminal, SymbolsPath: p.SymbolsPath, Tracing: tracing, OnFullBuffer: p.OnFullBuffer, Name: p.Name,
	}
	if p.Stdin == "pipe" {
		r.Stdin, r.KeepStdin = "", true
	}
	sess, err := s.sessions.Launch(ctx, r)
	if err != nil {
		s.pending.putBack(key, pending)
		return nil, err
	}
	state, err := sess.Started()
	if err != nil {
		return nil, err
	}
	res := &LaunchResult{
		SessionID: sess.ID, PID: state.PID, Runtime: state.Runtime, PendingPatternsApplied: len(pending.Probes),
		Warnings: launchWarnings(state),
	}
	if state.Caps != nil {
		res.Capabilities = *state.Caps
		res.Runtime = cmp.Or(state.Caps.Runtime, res.Runtime)
	}
	res.NextSteps = "debug_query shows output; debug_trace adds functions while it runs; debug_session stop ends it."
	if len(tracing.Probes) > 0 {
		t := &state.Trace
		res.HookedFunctions, res.MatchedFunctions = &t.Hooked, &t.Matched
		res.Unhookable, res.UnhookableCount = firstUnhookable(t.Unhookable)
		res.NextSteps = "debug_query (view tree) shows calls and output; debug_session stop ends it."
		if t.Hooked == 0 {
			res.NextSteps = "No function is hooked: see warnings and unhookable; debug_trace changes patterns while it runs, debug_query shows output."
		}
	}
	return res, nil
}

func launchWarnings(state *session.State) []string {
	w := append([]string{}, state.Warnings...)
	w = append(w, state.Trace.Warnings...)
	return appendProbeWarnings(w, state.Trace.Probes)
}

// appendProbeWarnings adds what there is to say of single patterns. A warning that does not name its pattern is given it.
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
