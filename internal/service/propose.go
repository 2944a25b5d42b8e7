package service

import (
	"context"
	"strings"

	"github.com/strobe-debug/strobe/internal/query"
	"github.com/strobe-debug/strobe/internal/scenario"
	"github.com/strobe-debug/strobe/internal/session"
)

// maxRecorded bounds the events that a proposal is made from.
const maxRecorded = 20_000

// proposeScenario makes a scenario of what a session recorded.
func proposeScenario(ctx context.Context, s *Service, id string) (*Proposal, error) {
	sess, err := s.sessions.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	st, err := sess.State(ctx)
	if err != nil {
		return nil, err
	}
	r := scenario.Recorded{PID: int32(st.PID), Launch: map[string]any{"command": st.Command,
		"projectRoot": st.ProjectRoot}}
	if len(st.Args) > 0 {
		r.Launch["args"] = st.Args
	}
	if st.Cwd != "" {
		r.Launch["cwd"] = st.Cwd
	}
	if p := session.Patterns(st.Tracing.Probes); len(p) > 0 {
		r.Launch["trace"] = p
	}
	ask := query.Request{SessionID: id, EventType: query.Kinds{"channel", "stdout", "stderr", "process"},
		Limit: query.MaxLimit, Verbose: true}
	more := true
	for more && len(r.Events) < maxRecorded {
		res, err := runQuery(ctx, s, &ask)
		if err != nil {
			return nil, err
		}
		r.Events = append(r.Events, res.Events...)
		last := res.LastEventID
		ask.AfterEventID, more = &last, res.HasMore && len(res.Events) > 0
	}
	calls, err := runQuery(ctx, s, &query.Request{SessionID: id, View: "stats", SourceFile: &query.FileFilter{
		Contains: strings.TrimSuffix(st.ProjectRoot, "/") + "/"}})
	if err != nil {
		return nil, err
	}
	r.Calls = calls.Rows
	raw, err := scenario.Propose(r)
	if err != nil {
		return nil, err
	}
	p := &Proposal{Scenario: raw, Hint: "Save it under .strobe/scenarios and take out what is not meant. " +
		"The launch's env and stdin are not recorded: add them."}
	if more {
		p.Hint += " It is of the first events only: the session has more."
	}
	return p, nil
}
