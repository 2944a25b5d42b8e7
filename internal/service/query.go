package service

import (
	"context"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/query"
	"github.com/strobe-debug/strobe/internal/session"
)

var queryOp = Op{
	Name:    "debug_query",
	Summary: "Ask the timeline: output, calls with arguments and results, crashes, and what is odd in them.",
	Doc: "Times are nanoseconds since the session's start. Lists are in chronological order; go on with afterEventId " +
		"= lastEventId. Views of calls: `table` has one row for each call of the function that is called most, or of " +
		"the one asked for, with the paths into arguments and result that vary as columns, what is the same said " +
		"once above, and calls that break what all others keep marked with `!`; order sorts it by a column, fields " +
		"chooses columns. `invariants` says for each function what held in all calls but a few (ranges, null, " +
		"constants, order, equality, what follows from what) and names those, with `against` what held in all calls " +
		"of that session and is broken in this one. `check` takes a claim in the " +
		"expression language over arguments, `result`, `out.X` (at the end), `thrown`, `took` (ns) and `$thread`, `A " +
		"whenever B`, or `A never decreases`, `always grows`, `never grows`, `never repeats`, `never changes`, each " +
		"also `per B, C`: it is proved on this recording, or the first calls that break it are named, or it is said " +
		"why it cannot be told. `summary` tells of the whole session in under 1,000 tokens: processes, crash, " +
		"exceptions, odd results, calls without an end, the end of the output, the functions that were called most " +
		"and took longest. `why` tells of the event that `under` names: the path to it, what its function's other " +
		"calls keep and it does not, the calls beside and below it, the last output before, and how its caller " +
		"ended. `diff` divides each function's calls by a claim (`result < 0`, `$thread == 7`, `$time > 1000000`, " +
		"`this.id == 3`) and says which values tell the two sides apart; with `against` it compares two sessions, and " +
		"leaves out what differs between the other and a second (`B,C`) that ended alike: " +
		"functions, counts, values, calls that did what is new though nothing that they were given is, who made values " +
		"that the other has not, and the first " +
		"call that differs. `object` tells the life of what lies at an " +
		"address: every call that got, returned or held it, who made and freed it, its fields as they changed, and " +
		"who used it after its end; `allocators` names functions of the program's own that make and free. `missing` " +
		"says why a function did not run: the nearest callers that did, or that it is inlined, or not linked. " +
		"`threads` sums when each thread ran, was kept from a CPU and waited, and for what, where the pattern @switches " +
		"is traced. " +
		"`coverage` says which of the user's functions never ran, where the pattern @coverage is traced. `request` " +
		"follows requests (HTTP, gRPC, Redis, Postgres) through all sessions that ran at the time, or those that `against` " +
		"names by commas, where the pattern @sockets is traced: failing ones first, then the slowest, or the one that the " +
		"event `under` was part of; for each hop answer, time, services, addresses, bytes, events, and `~` with the reason " +
		"where its cause is a guess. A question " +
		"sees everything that the program did before it was asked. Values: a pointer that cannot be followed is `0x… " +
		"<unreadable>`; the this of a constructor is its address, for nothing is made yet.",
	ReadOnly: true,
	Params:   reflect.TypeFor[query.Request](),
	Results:  []reflect.Type{reflect.TypeFor[query.Result]()},
	Fields: []Field{
		maxTokensField,
		{Name: "sessionId", Required: true},
		{Name: "argument.name", Required: true},
		{Name: "threadId", Min: 1, Max: maxPID},
		{Name: "pid", Min: 1, Max: maxPID},
		{Name: "minDurationNs", Max: unbounded},
		{Name: "maxDurationNs", Min: 1, Max: unbounded},
		{Name: "under", Min: 1, Max: unbounded},
		{Name: "limit", Min: 1, Max: query.MaxLimit, Default: query.DefaultLimit, Cut: true},
		{Name: "offset", Max: query.MaxOffset},
		{Name: "afterEventId", Max: unbounded - 1},
		{Name: "waitMs", Max: query.MaxWaitMs},
		{Name: "view", Enum: query.Views},
	},
	adjust: func(input *jsonschema.Schema) {
		var kinds []any
		for k := event.FunctionEnter; k < event.NumKinds; k++ {
			kinds = append(kinds, k.String())
		}
		input.Properties["eventType"] = &jsonschema.Schema{
			Types: []string{"string", "array"}, Items: &jsonschema.Schema{Enum: kinds},
		}
		for name, short := range map[string]string{"function": "string", "sourceFile": "string", "text": "string"} {
			input.Properties[name].Type, input.Properties[name].Types = "", []string{short, "object"}
		}
		for _, order := range query.Orders {
			input.Properties["order"].Examples = append(input.Properties["order"].Examples, order)
		}
		input.Properties["view"].Description = query.ViewHelp
		input.Properties["claim"].Description = query.ClaimHelp
		input.Properties["allocators"] = &jsonschema.Schema{Type: "array", Items: &jsonschema.Schema{Type: "object"},
			Description: "of object: [{alloc, free}]"}
		input.Properties["threadName"] = &jsonschema.Schema{Type: "string"}
		for _, filter := range []string{"returnValue", "argument"} {
			for _, bound := range []string{"greaterThan", "lessThan"} {
				input.Properties[filter].Properties[bound].Types = []string{"number", "string"}
			}
		}
		for _, name := range []string{"timeFrom", "timeTo"} {
			input.Properties[name].Types = []string{"integer", "string"}
		}
	},
	run: typed(runQuery),
}

func runQuery(ctx context.Context, s *Service, r *query.Request) (*query.Result, error) {
	if r.View == "request" {
		return s.requests(ctx, r)
	}
	sess, err := s.sessions.Get(ctx, r.SessionID)
	if err != nil {
		return nil, err
	}
	st, use, release, err := sess.Use(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	env := query.Env{Now: sess.Now, Ended: sess.Complete, Traced: sess.Traced, Redacted: sess.Redacted,
		Once: func(what string) bool { return s.said.once(ctx, sess.ID, what) }}
	env.Absent, env.Busy = s.absent, sess.Busy
	env.Paused = func() string { return pausedHint(sess) }
	var late, theirsLate []string
	env.Warnings = func() []string { return slices.Concat(late, theirsLate) }
	until := time.Now().Add(time.Duration(r.WaitMs) * time.Millisecond)
	// Where the store cannot keep up or the disk is full, what is there is still worth an answer.
	env.Flush = func(ctx context.Context) error {
		late = nil
		if err := sess.FlushWithin(ctx, time.Until(until)); err != nil {
			late = []string{fmt.Sprintf("the newest events may be missing: %v", err)}
		}
		return ctx.Err()
	}
	if r.Against != "" && (r.View == "diff" || r.View == "invariants") {
		for i, id := range againstNames(r.Against) {
			other, err := s.sessions.Get(ctx, id)
			if err != nil {
				return nil, err
			}
			theirs, _, done, err := other.Use(ctx)
			if err != nil {
				return nil, err
			}
			defer done()
			if err := other.FlushWithin(ctx, 0); err != nil {
				theirsLate = append(theirsLate, fmt.Sprintf("the newest events of %s may be missing: %v", other.ID, err))
			}
			if i == 0 {
				env.Other = theirs
			} else {
				env.Like = theirs
			}
		}
	}
	res, err := query.Run(use, st, *r, env)
	if err == nil && env.Other != nil && r.View == "diff" {
		s.firstDifference(ctx, r, res)
	}
	if err != nil {
		if cause := context.Cause(use); cause != nil && ctx.Err() == nil {
			return nil, cause // the session was stopped under the question
		}
		return nil, err
	}
	return res, nil
}

// againstNames are the session that another is compared with, and one that ended like it; "" where too few are named.
func againstNames(against string) []string {
	names := strings.SplitN(against, ",", 2)
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	return names
}

// OfSeveral reports parameters of a question about two sessions.
func OfSeveral(params any) bool {
	switch p := params.(type) {
	case *query.Request:
		return p.Against != "" || p.View == "request"
	case *TimelineParams:
		return p.Against != ""
	}
	return false
}

// firstDifference adds the first call in which two sessions differ; that nothing could be aligned is no failure.
func (s *Service) firstDifference(ctx context.Context, r *query.Request, res *query.Result) {
	names := append(againstNames(r.Against), "")
	d, err := s.tests.DiffSessions(ctx, r.SessionID, names[0], names[1])
	switch {
	case err != nil:
		res.Hint = strings.TrimSpace(res.Hint + " No first difference: " + fault.From(err).Msg + ".")
	case d.SameArguments != nil: // what got other arguments is where another input shows, which is no news
		res.First = d.SameArguments
	case d.First != nil:
		res.First = d.First
	default:
		res.Hint = strings.TrimSpace(res.Hint + " Call by call nothing differs in what was recorded.")
	}
}

// pausedHint says where the program is paused: it may be why nothing comes.
func pausedHint(sess *session.Session) string {
	pauses := sess.Pauses()
	if len(pauses) == 0 {
		return ""
	}
	p := &pauses[0]
	at := p.Function
	switch {
	case p.Line > 0:
		at = fmt.Sprintf("%s (%s:%d)", p.Function, filepath.Base(p.File), p.Line)
	case at == "":
		at = p.Reason
	}
	more := ""
	if n := len(pauses) - 1; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("The program is paused: thread %d at %s%s. debug_continue lets it go on.", p.TID, at, more)
}
