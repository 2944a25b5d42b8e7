package agentlink

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/fault"
)

// Point is a breakpoint or logpoint: docs/agentlink.md, Points.
type Point struct {
	ID        string `json:"id"`
	Function  string `json:"function,omitempty"`
	File      string `json:"file,omitempty"`
	Line      int    `json:"line,omitempty"`
	Condition string `json:"condition,omitempty"`
	HitCount  int64  `json:"hitCount,omitempty"`
	Message   string `json:"message,omitempty"`
	TID       int    `json:"tid,omitempty"`
}

// PointState is what an agent says of a point.
type PointState struct {
	ID        string  `json:"id"`
	Locations []Place `json:"locations"`
	Hits      int64   `json:"hits"`
	Error     string  `json:"error"` // it is wrong in itself
	Why       string  `json:"why"`   // it is nowhere yet
	Note      string  `json:"note"`
}

// Place is a line of a function.
type Place struct {
	Function string `json:"function"`
	File     string `json:"file"`
	Line     int    `json:"line"`
}

func (p Place) location() collector.Location {
	return collector.Location{Function: p.Function, File: p.File, Line: p.Line}
}

// SetPoints implements collector.Stopper.
func (m *Member) SetPoints(ctx context.Context, points []collector.Point) ([]collector.PointStatus, error) {
	m.mu.Lock()
	before := m.points
	m.mu.Unlock()
	apply := func(points []collector.Point) error {
		return m.change(ctx, func() { m.points = slices.Clone(points) })
	}
	if err := apply(points); err != nil {
		return nil, err
	}
	for _, ap := range m.link.applied() {
		for _, st := range ap.Points {
			if st.Error == "" || slices.ContainsFunc(before, func(p collector.Point) bool { return p.ID == st.ID }) {
				continue
			}
			if err := apply(before); err != nil {
				return nil, err
			}
			return nil, fault.New(fault.ValidationError, "Mend it: it is read as "+m.kind.Name+" reads it there.", "%s",
				st.Error)
		}
	}
	return m.pointStates(), nil
}

// Points implements collector.Stopper.
func (m *Member) Points() []collector.PointStatus {
	m.mu.Lock()
	none := len(m.points) == 0
	m.mu.Unlock()
	if none {
		return nil
	}
	m.askStatus()
	return m.pointStates()
}

// pointStates is what agents said of the points last.
func (m *Member) pointStates() []collector.PointStatus {
	m.mu.Lock()
	points := m.points
	m.mu.Unlock()
	out := make([]collector.PointStatus, 0, len(points))
	for _, p := range points {
		one := collector.PointStatus{ID: p.ID, InTarget: true}
		why := "nowhere yet: it is set when its code is loaded"
		if p.Function == collector.PointUncaught || p.Function == collector.PointExceptions {
			why = "wherever one is raised"
		}
		for _, st := range m.link.points(p.ID) {
			one.Hits += st.Hits
			for _, at := range st.Locations {
				if l := m.located(at).location(); !slices.Contains(one.Locations, l) {
					one.Locations = append(one.Locations, l)
				}
			}
			one.Note, why = cmp.Or(st.Note, one.Note), cmp.Or(st.Why, why)
		}
		if len(one.Locations) == 0 && one.Note == "" {
			one.Note = why
		}
		out = append(out, one)
	}
	return out
}

// wire is the points as agents have them.
func wire(points []collector.Point) []Point {
	out := []Point{}
	for _, p := range points {
		out = append(out, Point{ID: p.ID, Function: p.Function, File: p.File, Line: p.Line, Condition: p.Condition,
			HitCount: p.HitCount, Message: p.Message, TID: p.Thread})
	}
	return out
}

func (m *Member) point(id string) (collector.Point, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.IndexFunc(m.points, func(p collector.Point) bool { return p.ID == id })
	if i < 0 {
		return collector.Point{}, false
	}
	return m.points[i], true
}

// refusal is an agent's answer to a question that it cannot answer.
type refusal struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func (r *refusal) Error() string { return r.Message }

// asFault makes a client's error of an agent's.
func asFault(err error) error {
	var r *refusal
	if !errors.As(err, &r) {
		return err
	}
	switch r.Code {
	case "not-paused":
		return fault.New(fault.NotPaused, "debug_session status lists pausedThreads.", "%s", r.Message)
	case "cannot":
		return fault.New(fault.Unsupported, "debug_session status has what this program's runtime offers.", "%s", r.Message)
	case "raised":
		return fault.New(fault.ReadFailed, "Mend the expression.", "it raised %s", r.Message)
	}
	return fault.New(fault.ValidationError, "Mend it.", "%s", r.Message)
}

// Stops implements collector.Stopper.
func (m *Member) Stops() bool {
	agents := m.link.Agents()
	can := func(a *Agent) bool { return a.can("points") }
	return m.kind.Points && (len(agents) == 0 || slices.ContainsFunc(agents, can))
}
