package service

import (
	"context"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/query"
)

// absent asks the program's files for a question's answer.
func (s *Service) absent(ctx context.Context, q query.AbsentQuestion) (*query.Absent, error) {
	if s.cfg.Absent == nil {
		return &query.Absent{Unread: []string{"programs are not read on this system"}}, nil
	}
	found, err := s.cfg.Absent(ctx, collector.AbsentQuestion{Name: q.Name, Paths: q.Paths})
	if err != nil {
		return nil, err
	}
	out := &query.Absent{More: found.More, Near: found.Near, Read: found.Read, Unread: found.Unread}
	for _, f := range found.Found {
		out.Found = append(out.Found, query.StaticFunction(f))
	}
	for _, f := range found.NoCode {
		out.NoCode = append(out.NoCode, query.StaticFunction(f))
	}
	for _, c := range found.Callers {
		out.Callers = append(out.Callers, query.StaticCall(c))
	}
	return out, nil
}
