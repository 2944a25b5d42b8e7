package mcp

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/strobe-debug/strobe/internal/service"
)

// Via may pass a call on to the process that has what it is about. done is false where that is this one.
type Via func(ctx context.Context, c *Call) (result any, done bool, err error)

// Call is one call of an operation as it came.
type Call struct {
	Op        *service.Op
	Arguments []byte // of any content
	Client    service.Client
}

// Params reads and checks the arguments.
func (c *Call) Params() (any, error) { return c.Op.Decode(c.Arguments) }

// Session returns the session that the arguments name, or "". Nothing else of them is looked at.
func (c *Call) Session() string {
	var named struct {
		ID string `json:"sessionId"`
	}
	if len(c.Arguments) == 0 || json.Unmarshal(c.Arguments, &named) != nil {
		return "" // what is wrong with them, whoever reads them will say
	}
	return named.ID
}

// Tools returns the operations of svc as tools, in the order of the table. via is asked first where it is not nil.
func Tools(svc *service.Service, via Via) ([]Tool, error) {
	var tools []Tool
	for _, op := range service.Ops {
		in, err := op.InputSchema()
		if err != nil {
			return nil, fmt.Errorf("make input schema of %s: %w", op.Name, err)
		}
		t := Tool{
			Name: op.Name, Description: op.Summary, Input: in, Output: op.OutputSchema(),
			ReadOnly: op.ReadOnly, Destructive: op.Destructive, Unlisted: op.Unlisted,
			Pictures: op.Pictures,
			Decode:   op.Decode,
			Run: func(ctx context.Context, params any) (any, error) {
				return op.Run(service.WithClient(ctx, client(ctx)), svc, params)
			},
		}
		if via != nil {
			t.Via = func(ctx context.Context, arguments []byte) (any, bool, error) {
				return via(ctx, &Call{op, arguments, client(ctx)})
			}
		}
		tools = append(tools, t)
	}
	return tools, nil
}

func client(ctx context.Context) service.Client {
	return service.Client{Name: clientName(ctx), Tell: teller(ctx)}
}
