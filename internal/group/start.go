package group

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/strobe-debug/strobe/internal/fault"
)

// lookEvery is how often a service that is waited for is looked at.
const lookEvery = 50 * time.Millisecond

// Group starts and ends services.
type Group struct {
	// Call runs one of the tools.
	Call func(ctx context.Context, tool string, args map[string]any, into any) error
	// Base are further parameters of a service's launch: projectRoot, env.
	Base func(s *Service) map[string]any
	// Launched is told of each; nil: nobody is.
	Launched func(Started)
}

// Started is a service whose program was launched.
type Started struct {
	*Service  `json:"-"`
	Name      string   `json:"name"`
	SessionID string   `json:"sessionId"`
	PID       int      `json:"pid"`
	Runtime   string   `json:"runtime"`
	Warnings  []string `json:"warnings,omitempty"`
}

// Start starts services in their order, each when what it depends on is ready, and returns when all are. Where one
// does not start, or ctx ends, those that did are ended; what was recorded stays.
func (g *Group) Start(ctx context.Context, services []*Service) (all []Started, err error) {
	for _, s := range services {
		one, err := g.start(ctx, s)
		if one.SessionID != "" {
			all = append(all, one)
		}
		if err == nil {
			continue
		}
		if f := fault.From(err); ctx.Err() == nil {
			err = fault.New(f.Code, f.Hint, "service %s: %s", s.Name, f.Msg)
		}
		if rest := g.Stop(context.WithoutCancel(ctx), all); rest != nil {
			err = errors.Join(err, rest)
		}
		return nil, err
	}
	return all, nil
}

func (g *Group) start(ctx context.Context, s *Service) (one Started, err error) {
	if port := s.ReadyWhen.Port; port != 0 && listens(port) {
		return one, fault.New(fault.LaunchFailed, "End what listens there, or choose another port.",
			"port %d is listened on before it is started", port)
	}
	args := map[string]any{"command": s.Command, "args": s.Args, "cwd": s.Cwd, "name": s.Name, "trace": s.Patterns()}
	for k, v := range g.Base(s) {
		args[k] = v
	}
	if err := g.Call(ctx, "debug_launch", args, &one); err != nil {
		return one, err
	}
	one.Service, one.Name = s, s.Name
	if g.Launched != nil {
		g.Launched(one)
	}
	return one, g.ready(ctx, &one)
}

// Status is how a program stands.
type Status struct {
	Status   string
	ExitCode *int
	Signal   string
}

// Ended reports that the program has.
func (s *Status) Ended() bool { return s.Status != "running" && s.Status != "paused" }

// How says how it stands.
func (s *Status) How() string {
	switch {
	case s.Signal != "":
		return "was ended by " + s.Signal
	case s.ExitCode != nil:
		return fmt.Sprintf("ended with exit code %d", *s.ExitCode)
	}
	return "is " + s.Status
}

// ready waits until a service is.
func (g *Group) ready(ctx context.Context, one *Started) error {
	r := &one.ReadyWhen
	if r.Port == 0 && r.Output == "" && !r.Exits {
		return nil
	}
	ms := cmp.Or(r.TimeoutMs, defaultReadyMs)
	for until := time.Now().Add(time.Duration(ms) * time.Millisecond); ; {
		var st Status // before what it may have done as its last
		err := g.Call(ctx, "debug_session", map[string]any{"action": "status", "sessionId": one.SessionID}, &st)
		is := r.Port == 0 || listens(r.Port)
		if is && r.Output != "" && err == nil {
			is, err = g.said(ctx, one.SessionID, r.Output)
		}
		switch {
		case err != nil:
			return err
		case is && (!r.Exits || st.Ended() && st.ExitCode != nil && *st.ExitCode == 0):
			return nil
		case st.Ended():
			return g.notReady(ctx, one, "it "+st.How()+" before it was ready")
		case time.Now().After(until):
			return g.notReady(ctx, one, fmt.Sprintf("it is not ready after %d ms", ms))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lookEvery):
		}
	}
}

// output asks for what a program has written.
func (g *Group) output(ctx context.Context, id string, filter map[string]any) (texts []string, err error) {
	var page struct{ Events []struct{ Text string } }
	args := map[string]any{"sessionId": id, "eventType": []string{"stdout", "stderr"}}
	for k, v := range filter {
		args[k] = v
	}
	err = g.Call(ctx, "debug_query", args, &page)
	for _, e := range page.Events {
		texts = append(texts, e.Text)
	}
	return texts, err
}

// said reports whether a program has written a text.
func (g *Group) said(ctx context.Context, id, text string) (bool, error) {
	texts, err := g.output(ctx, id, map[string]any{"text": map[string]any{"contains": text}, "limit": 1})
	return len(texts) > 0, err
}

// notReady is why a service is not, with what it wrote at last.
func (g *Group) notReady(ctx context.Context, one *Started, why string) error {
	texts, err := g.output(ctx, one.SessionID, map[string]any{"timeFrom": "-10s", "limit": 500, "maxTokens": 100000})
	wrote := strings.TrimSpace(strings.Join(texts, ""))
	if n := len(wrote) - maxTail; n > 0 {
		wrote = "…" + strings.ToValidUTF8(wrote[n:], "")
	}
	switch {
	case err != nil:
		wrote = "what it wrote could not be read: " + err.Error()
	case wrote == "":
		wrote = "it wrote nothing"
	default:
		wrote = "it wrote: " + wrote
	}
	return fault.New(fault.LaunchFailed, fmt.Sprintf(`What it did: debug_query {"sessionId":"%s","view":"summary"}.`,
		one.SessionID), "%s; %s", why, wrote)
}

// Stop ends services in the reverse of the order in which they were started, and keeps what was recorded.
func (g *Group) Stop(ctx context.Context, all []Started) error {
	var errs []error
	for _, s := range slices.Backward(all) {
		args := map[string]any{"action": "stop", "sessionId": s.SessionID, "retain": true, "graceMs": graceMs}
		if err := g.Call(ctx, "debug_session", args, new(Status)); err != nil {
			errs = append(errs, fmt.Errorf("end service %s: %w", s.Name, err))
		}
	}
	return errors.Join(errs...)
}
