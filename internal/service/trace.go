package service

import (
	"context"
	"reflect"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/fault"
)

// TraceParams are the parameters of debug_trace.
type TraceParams struct {
	SessionID          string   `json:"sessionId,omitempty" jsonschema:"absent: stage for the next launch in projectRoot"`
	Add                []string `json:"add,omitempty" jsonschema:"glob on the qualified name: * stops at ::, ** does not; a::b(int); @usercode; @file:NAME; file:GLOB; !PATTERN takes out"`
	Remove             []string `json:"remove,omitempty" jsonschema:"patterns as added; \"*\" alone is all of them"`
	SerializationDepth int      `json:"serializationDepth,omitempty" jsonschema:"how deep values are followed"`
	ProjectRoot        string   `json:"projectRoot,omitempty"`
}

// TraceResult is the answer of debug_trace: the exact state after the call.
type TraceResult struct {
	Mode               string                 `json:"mode"` // pending or runtime
	ActivePatterns     []string               `json:"activePatterns"`
	HookedFunctions    int                    `json:"hookedFunctions"`
	MatchedFunctions   int                    `json:"matchedFunctions"`
	ByBreakpoint       int                    `json:"hookedByBreakpoint,omitempty"` // of hookedFunctions: slower
	Unhookable         []collector.Unhookable `json:"unhookable,omitempty"`         // first 20
	UnhookableCount    int                    `json:"unhookableCount,omitempty"`
	ActiveWatches      []string               `json:"activeWatches"`
	Warnings           []string               `json:"warnings"`
	EventLimit         int64                  `json:"eventLimit"`
	SerializationDepth int                    `json:"serializationDepth"`
	Status             string                 `json:"status,omitempty"`
}

var traceOp = Op{
	Name:    "debug_trace",
	Summary: "Add and remove function traces while the program runs; each call's arguments and result are recorded. Without add and remove: the current state.",
	Doc: "Patterns are globs on the demangled qualified name without parameters. All of a call are checked before any takes effect; removal is done with " +
		"addition in one step. Without sessionId the patterns are kept for this client's next launch in projectRoot, for one hour.",
	Params:  reflect.TypeFor[TraceParams](),
	Results: []reflect.Type{reflect.TypeFor[TraceResult]()},
	Fields:  []Field{{Name: "serializationDepth", Min: 1, Max: 10, Default: 3}},
	Later: map[string]string{
		"watches":  "Trace a function that takes or returns the value.",
		"sampling": "Every call is recorded; trace fewer functions, or set events.maxPerSession.",
	},
	run: typed(trace),
}

func trace(ctx context.Context, s *Service, p *TraceParams) (*TraceResult, error) {
	return nil, fault.New(fault.Unsupported, "", "trace")
}
