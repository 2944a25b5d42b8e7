package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/store"
)

// kept is what a session's file says of its observation besides events, so that whoever opens it later is told the
// same.
type kept struct {
	Tracing    Tracing
	Trace      collector.Status
	WatchErrs  map[int]string // by the index of Trace.Watches
	Points     []collector.Point
	Caps       *collector.Capabilities
	Warnings   []string
	StoreError string
}

// maxKeptUnhookable is how many functions that could not be hooked are kept by name.
const maxKeptUnhookable = 1000

// keep describes the observation as it stands.
func (s *Session) keep() {
	k := kept{Trace: s.col.Status(), WatchErrs: map[int]string{}}
	k.Trace.Watches = slices.Clone(k.Trace.Watches)
	for i := range k.Trace.Watches {
		if w := &k.Trace.Watches[i]; w.Err != nil {
			k.WatchErrs[i], w.Err = w.Err.Error(), nil
		}
	}
	k.Trace.Probes = slices.Clone(k.Trace.Probes)
	for i := range k.Trace.Probes {
		k.Trace.Probes[i].Unhookable = nil // Trace has them, too
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	k.Tracing, k.Points, k.Caps, k.Warnings = s.traced, s.points, s.caps, s.warnings
	if n := len(k.Trace.Unhookable); n > maxKeptUnhookable {
		k.Trace.Unhookable = k.Trace.Unhookable[:maxKeptUnhookable]
		k.Warnings = append(slices.Clone(k.Warnings),
			fmt.Sprintf("%d functions could not be hooked; the first %d are kept", n, maxKeptUnhookable))
	}
	if err := s.sink.err(); err != nil {
		k.StoreError = err.Error()
	}
	b, err := json.Marshal(k)
	if err != nil {
		s.log.Warn("keep state of session", "err", err)
		return
	}
	s.kept = b
}

// recall takes up what keep left in the file.
func (s *Session) recall(r store.Result) {
	var k kept
	if len(r.Observed) == 0 {
		return
	}
	if err := json.Unmarshal(r.Observed, &k); err != nil {
		s.warnings = append(s.warnings, fmt.Sprintf("what was traced is not known: %v", err))
		return
	}
	for i := range k.Trace.Watches {
		if text := k.WatchErrs[i]; text != "" {
			k.Trace.Watches[i].Err = errors.New(text)
		}
	}
	s.traced, s.points, s.caps, s.was = k.Tracing, k.Points, k.Caps, k.Trace
	s.warnings = append(s.warnings, k.Warnings...)
	if k.StoreError != "" {
		s.storeError = errors.New(k.StoreError)
	}
}

// traceStatus is what became of the patterns.
func (s *Session) traceStatus() collector.Status {
	if s.col == nil {
		return s.was
	}
	return s.col.Status()
}
