package daemon

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/mcp"
	"github.com/strobe-debug/strobe/internal/service"
)

// route passes a call on to the worker that has what it is about: mcp.Via.
func (f *front) route(ctx context.Context, c *mcp.Call) (result any, done bool, err error) {
	switch c.Op.Name {
	case "debug_launch", "debug_test":
		params, err := c.Params()
		if err != nil {
			return nil, true, err
		}
		if p, ok := params.(*service.LaunchParams); ok && p.Group != "" {
			if err = p.Check(); err == nil {
				result, err = f.group(ctx, c.Client, p)
			}
			return result, true, err
		} else if ok {
			result, err = f.launch(ctx, c, p)
			return result, true, err
		}
		return f.test(ctx, c, params.(*service.TestParams))
	}
	id := c.Session()
	if c.Op.Name == "debug_test_scenario" {
		params, err := c.Params()
		if err != nil {
			return nil, true, err
		}
		p := params.(*service.ScenarioParams)
		if err := p.Check(); err != nil {
			return nil, true, err
		}
		if id = cmp.Or(id, p.From); id == "" {
			result, err = f.scenario(ctx, c)
			return result, true, err
		}
	}
	if id == "" || ofSeveral(c) {
		return nil, false, nil
	}
	w, err := f.owner(ctx, f.sessions, id)
	if err != nil {
		return nil, true, err
	}
	if w == nil && looksInto(c) && f.svc.Sessions().IsCore(ctx, id) { // what is read there is not ours to trust
		if w, err = f.take(ctx); err != nil {
			return nil, true, err
		}
		f.mu.Lock()
		f.sessions[id] = w
		f.mu.Unlock()
		defer f.planSpare()
	}
	if w == nil {
		return nil, false, nil
	}
	result, err = f.pass(ctx, w, c)
	return result, true, err
}

// ofSeveral reports a question about two sessions, which workers have of their own: it is for us.
func ofSeveral(c *mcp.Call) bool {
	if c.Op.Name != "debug_query" && c.Op.Name != "debug_timeline" {
		return false
	}
	params, err := c.Params()
	if err != nil {
		return false // who runs it will say so
	}
	return service.OfSeveral(params)
}

// looksInto reports a question to a process's memory.
func looksInto(c *mcp.Call) bool {
	if c.Op.Name != "debug_memory" && c.Op.Name != "debug_session" {
		return false
	}
	params, err := c.Params()
	if err != nil {
		return false // who runs it will say so
	}
	switch p := params.(type) {
	case *service.MemoryParams:
		return true
	case *service.SessionParams:
		return p.Action == "status" && p.Threads
	}
	return false
}

// launch has a worker of its own make the session.
func (f *front) launch(ctx context.Context, c *mcp.Call, p *service.LaunchParams) (any, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	if p.PID != 0 {
		f.mu.Lock()
		own := slices.ContainsFunc(f.allLocked(), func(w *remote) bool { return w.pid() == p.PID })
		f.mu.Unlock()
		if own {
			return nil, fault.New(fault.AttachFailed, "Choose another process.", "process %d is one of this daemon's own", p.PID)
		}
		for _, l := range f.living(ctx) {
			if l.Live && slices.Contains(l.PIDs, p.PID) {
				return nil, fault.New(fault.AttachFailed,
					fmt.Sprintf("Use that session: debug_trace adds patterns while it runs. To begin anew, stop it first "+
						"(debug_session stop with kill false, sessionId %s).", l.ID),
					"process %d belongs to session %s already", p.PID, l.ID)
			}
		}
	}
	w, err := f.take(ctx)
	if err != nil {
		return nil, err
	}
	defer f.next(w)
	staged, err := f.svc.TakeStaged(c.Client.Name, p.ProjectRoot)
	if err == nil && len(staged) > 0 {
		err = w.ask(askStage, stageArgs{c.Client.Name, p.ProjectRoot, staged}, nil)
	}
	if err != nil {
		f.uncount(w)
		f.drop(w)
		return nil, fmt.Errorf("hand over what is staged: %w", err)
	}
	result, err := f.pass(ctx, w, c)
	if err == nil {
		return result, nil
	}
	if len(staged) == 0 {
		f.reuse(w)
		return nil, err
	}
	f.drop(w) // it has kept what was staged
	if put := f.svc.PutStaged(c.Client.Name, p.ProjectRoot, staged); put != nil {
		f.log.Warn("stage again what a failed launch had taken", "error", put)
	}
	return nil, err
}

// scenario has a worker of its own launch the program of a scenario and run it.
func (f *front) scenario(ctx context.Context, c *mcp.Call) (any, error) {
	w, err := f.take(ctx)
	if err != nil {
		return nil, err
	}
	defer f.next(w)
	result, err := f.pass(ctx, w, c)
	if err != nil {
		f.reuse(w)
	}
	return result, err
}

func (f *front) uncount(w *remote) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w.calls--
}

// drop ends a worker that has nothing.
func (f *front) drop(w *remote) {
	if !f.leave(w) {
		f.log.Warn("a worker does not leave", "worker", w.pid())
	}
}

// test gives runs that are observed to a worker: all commands and sessions of one run are in one process.
func (f *front) test(ctx context.Context, c *mcp.Call, p *service.TestParams) (result any, done bool, err error) {
	if p.TestRunID != "" {
		w, err := f.owner(ctx, f.runs, p.TestRunID)
		if w == nil || err != nil {
			return nil, err != nil, err
		}
		result, err = f.pass(ctx, w, c)
		w.ask(askTold, nil, nil) //nolint:errcheck // it has ended
		return result, true, err
	}
	if p.Action != "" && p.Action != "run" && p.Action != "compare" || len(p.Sessions) > 0 {
		return nil, false, nil
	}
	place := service.Place(p.ProjectRoot)
	for _, r := range f.svc.KeptRuns() {
		if !r.Ended && r.Project == place { // which says so
			w, err := f.owner(ctx, f.runs, r.ID)
			if w == nil || err != nil {
				break
			}
			result, err = f.pass(ctx, w, c)
			return result, true, err
		}
	}
	if len(p.TracePatterns) == 0 && p.Watches == nil && p.Action != "compare" || f.svc.RunsIn(place) {
		return nil, false, nil
	}
	w, err := f.take(ctx)
	if err != nil {
		return nil, true, err
	}
	defer f.planSpare()
	result, err = f.pass(ctx, w, c)
	w.ask(askTold, nil, nil) //nolint:errcheck // it has ended
	if err != nil {
		f.reuse(w)
	}
	return result, true, err
}
