package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/strobe-debug/strobe/internal/group"
	"github.com/strobe-debug/strobe/internal/mcp"
	"github.com/strobe-debug/strobe/internal/service"
)

// group launches the programs of a file, each in a worker of its own: debug_launch with group.
func (f *front) group(ctx context.Context, client service.Client, p *service.LaunchParams) (any, error) {
	file := p.Group
	if !filepath.IsAbs(file) {
		file = filepath.Join(p.ProjectRoot, file)
	}
	services, err := group.Read(file)
	if err != nil {
		return nil, err
	}
	g := &group.Group{
		Call: func(ctx context.Context, tool string, args map[string]any, into any) error {
			return f.call(ctx, client, tool, args, into)
		},
		Base: func(s *group.Service) map[string]any {
			return map[string]any{"projectRoot": p.ProjectRoot, "env": s.Env}
		},
	}
	all, err := g.Start(ctx, services)
	if err != nil {
		return nil, err
	}
	r := &service.GroupResult{NextSteps: fmt.Sprintf(`Once requests went through them: debug_query {"sessionId":"%s",`+
		`"view":"request","waitMs":5000}. Each at the end, last first: debug_session {"action":"stop"}.`, all[0].SessionID)}
	for _, s := range all {
		r.Sessions = append(r.Sessions, service.GroupSession{Name: s.Name, SessionID: s.SessionID, PID: s.PID,
			Runtime: s.Runtime, Warnings: s.Warnings})
	}
	return r, nil
}

// call runs a tool as a client's call would.
func (f *front) call(ctx context.Context, client service.Client, tool string, args map[string]any, into any) error {
	raw, err := json.Marshal(args)
	if err != nil {
		return fmt.Errorf("encode a call of %s: %w", tool, err)
	}
	c := &mcp.Call{Op: service.Find(tool), Arguments: raw, Client: client}
	result, done, err := f.route(ctx, c)
	if !done && err == nil {
		var params any
		if params, err = c.Params(); err == nil {
			result, err = c.Op.Run(service.WithClient(ctx, client), f.svc, params)
		}
	}
	if err != nil {
		return err
	}
	if there, ok := result.(mcp.Relayed); ok {
		raw = []byte(there)
	} else {
		raw, err = json.Marshal(result)
	}
	if err == nil {
		err = json.Unmarshal(raw, into)
	}
	if err != nil {
		return fmt.Errorf("read the answer of %s: %w", tool, err)
	}
	return nil
}
