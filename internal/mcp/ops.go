package mcp

import (
	"context"
	"fmt"

	"github.com/strobe-debug/strobe/internal/service"
)

// Via may pass a call on to the process that has what it is about. done is false where that is this one.
type Via func(ctx context.Context, c *Call) (result any, done bool, err error)

// Call is one call of an operation, checked.
type Call struct {
	Op        *service.Op
	Params    any
	Arguments []byte // that Params were read from
	Client    service.Client
}

// Tools returns the operations of svc as tools, in the order of the table. via is asked first where it is not nil.
func Tools(svc *service.Service, via Via) ([]Tool, error) {
	var tools []Tool
	for _, op := range service.Ops {
		in, err := op.InputSchema()
		if err != nil {
			return nil, fmt.Errorf("make input schema of %s: %w", op.Name, err)
		}
		tools = append(tools, Tool{
			Name: op.Name, Description: op.Summary, Input: in, Output: op.OutputSchema(),
			ReadOnly: op.ReadOnly, Destructive: op.Destructive,
			Decode: op.Decode,
			Run: func(ctx context.Context, params any) (any, error) {
				client := service.Client{Name: clientName(ctx), Tell: teller(ctx)}
				if via != nil {
					if err := op.Check(params); err != nil {
						return nil, err
					}
					arguments, _ := ctx.Value(argumentsKey{}).([]byte)
					result, done, err := via(ctx, &Call{op, params, arguments, client})
					if done || err != nil {
						return result, err
					}
				}
				return op.Run(service.WithClient(ctx, client), svc, params)
			},
		})
	}
	return tools, nil
}
