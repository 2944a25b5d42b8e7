package cli

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/crash"
)

// sessionShown is what is printed of one session's status.
type sessionShown struct {
	SessionID       string           `json:"sessionId"`
	Status          string           `json:"status"`
	Released        bool             `json:"released"`
	ExitCode        *int             `json:"exitCode"`
	Signal          string           `json:"signal"`
	PID             int              `json:"pid"`
	PIDs            []int            `json:"pids"`
	Runtime         string           `json:"runtime"`
	EventCount      map[string]int64 `json:"eventCount"`
	EventsEvicted   int64            `json:"eventsEvicted"`
	DroppedEvents   int64            `json:"droppedEvents"`
	Redacted        int64            `json:"redacted"`
	HookedFunctions int              `json:"hookedFunctions"`
	TracePatterns   []string         `json:"tracePatterns"`
	Watches         []string         `json:"watches"`
	Breakpoints     []string         `json:"breakpoints"`
	Logpoints       []string         `json:"logpoints"`
	PausedThreads   []shownPause     `json:"pausedThreads"`
	CrashInfo       *crash.Short     `json:"crashInfo"`
	Capabilities    struct {
		RuntimeDetail   string `json:"runtimeDetail"`
		FunctionTracing string `json:"functionTracing"`
	} `json:"capabilities"`
	StoreError string   `json:"storeError"`
	Warnings   []string `json:"warnings"`
}

// printSession shows one session's status: as it is with --json, in lines otherwise.
func (a *app) printSession(raw json.RawMessage) error {
	if a.json {
		return a.printObject(raw)
	}
	var s sessionShown
	if err := json.Unmarshal(raw, &s); err != nil {
		return fmt.Errorf("read session: %w", err)
	}
	row := func(name, text string) {
		if text != "" {
			fmt.Fprintf(a.out, "%-9s %s\n", name, text)
		}
	}
	status := s.Status
	if s.Released {
		status = "released: it runs on, unobserved"
	}
	if s.ExitCode != nil {
		status += fmt.Sprintf(", exit code %d", *s.ExitCode)
	}
	if s.Signal != "" {
		status += ", " + s.Signal
	}
	row("session", s.SessionID)
	row("status", status)
	process := fmt.Sprint(s.PID)
	if len(s.PIDs) > 1 {
		process += fmt.Sprintf(" (now %s)", strings.Trim(fmt.Sprint(s.PIDs), "[]"))
	}
	row("process", process)
	row("program", strings.Trim(s.Runtime+", "+s.Capabilities.RuntimeDetail, ", "))
	var events []string
	for _, kind := range sortedKeys(s.EventCount) {
		events = append(events, fmt.Sprintf("%d %s", s.EventCount[kind], kind))
	}
	if s.DroppedEvents > 0 {
		events = append(events, fmt.Sprintf("%d lost", s.DroppedEvents))
	}
	if s.EventsEvicted > 0 {
		events = append(events, fmt.Sprintf("%d dropped by the session's limit", s.EventsEvicted))
	}
	row("events", strings.Join(events, ", "))
	if s.Redacted > 0 {
		row("secrets", fmt.Sprintf("%d values left out", s.Redacted))
	}
	if len(s.TracePatterns) > 0 {
		row("traced", fmt.Sprintf("%s (%d functions)", strings.Join(s.TracePatterns, "  "), s.HookedFunctions))
	}
	row("watches", strings.Join(s.Watches, ", "))
	for _, p := range append(s.Breakpoints, s.Logpoints...) {
		row("point", p)
	}
	if c := s.CrashInfo; c != nil {
		row("crash", strings.TrimPrefix(c.Signal+": "+c.Reason, ": "))
		if c.Line > 0 {
			row("", fmt.Sprintf("  in %s at %s:%d", c.Function, c.SourceFile, c.Line))
		}
		for _, l := range c.Stack {
			row("", "  "+a.paint(dim, l))
		}
	}
	a.printPauses(s.PausedThreads)
	row("error", s.StoreError)
	a.warn(s.Warnings)
	return nil
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
