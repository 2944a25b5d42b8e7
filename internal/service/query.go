package service

import (
	"context"
	"fmt"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/query"
)

var queryOp = Op{
	Name:    "debug_query",
	Summary: "Ask the timeline: output, calls with arguments and results, crashes. view tree shows who called what; stats sums up per function.",
	Doc: "Times are nanoseconds since the session's start. Lists are in chronological order; go on with afterEventId = lastEventId. " +
		"A question sees everything that the program did before it was asked.",
	ReadOnly: true,
	Params:   reflect.TypeFor[query.Request](),
	Results:  []reflect.Type{reflect.TypeFor[query.Result]()},
	Fields: []Field{
		{Name: "sessionId", Required: true},
		{Name: "argument.name", Required: true},
		{Name: "limit", Default: query.DefaultLimit, Max: query.MaxLimit, SchemaOnly: true},
		{Name: "waitMs", Max: query.MaxWaitMs, SchemaOnly: true},
		{Name: "order", Enum: query.Orders},
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
		for _, name := range []string{"timeFrom", "timeTo"} {
			input.Properties[name].Types = []string{"integer", "string"}
		}
	},
	run: typed(runQuery),
}

func runQuery(ctx context.Context, s *Service, r *query.Request) (*query.Result, error) {
	sess, err := s.sessions.Get(ctx, r.SessionID)
	if err != nil {
		return nil, err
	}
	st, use, release, err := sess.Use(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	// Where the store cannot keep up or the disk is full, what is there is still worth an answer.
	env := query.Env{Now: sess.Now, Ended: sess.Complete}
	if err := sess.Flush(use); err != nil && use.Err() == nil {
		env.Warnings = append(env.Warnings, fmt.Sprintf("the newest events may be missing: %v", err))
	}
	env.Flush = func(ctx context.Context) error {
		sess.Flush(ctx) //nolint:errcheck // said above; the next look sees what is late
		return ctx.Err()
	}
	res, err := query.Run(use, st, *r, env)
	if err != nil {
		if cause := context.Cause(use); cause != nil && ctx.Err() == nil {
			return nil, cause // the session was stopped under the question
		}
		return nil, err
	}
	return res, nil
}
