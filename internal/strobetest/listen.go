package strobetest

import (
	"context"
	"fmt"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// ConnectListening is Connect for a client whose calls by CallListening ask to hear how they stand: told gets each
// message, on another goroutine.
func ConnectListening(t testing.TB, home string, told func(message string)) *Strobe {
	t.Helper()
	s := &Strobe{Bin: Binary(t), Home: home, options: &sdk.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
			if r.Params.ProgressToken == listenToken {
				told(r.Params.Message)
			}
		},
	}}
	s.connect(t, nil)
	return s
}

// listenToken names the calls of CallListening.
const listenToken = "how does it stand"

// CallListening calls a tool with a progress token. A tool error is an error.
func (s *Strobe) CallListening(ctx context.Context, tool string, args map[string]any) error {
	p := &sdk.CallToolParams{Name: tool, Arguments: args}
	p.SetProgressToken(listenToken)
	r, err := s.session.CallTool(ctx, p)
	if err != nil {
		return fmt.Errorf("call %s: %w", tool, err)
	}
	if r.IsError {
		return fmt.Errorf("call %s: %v", tool, r.StructuredContent)
	}
	return nil
}
