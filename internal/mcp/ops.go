package mcp

import (
	"context"
	"fmt"

	"github.com/strobe-debug/strobe/internal/service"
)

// Tools returns the operations of svc as tools, in the order of the table.
func Tools(svc *service.Service) ([]Tool, error) {
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
				return op.Run(service.WithClient(ctx, service.Client{Name: clientName(ctx), Tell: teller(ctx)}), svc, params)
			},
		})
	}
	return tools, nil
}
