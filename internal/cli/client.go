package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/strobe-debug/strobe/internal/daemon"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/mcp"
)

// client is this command's connection to the daemon. Close it.
type client struct {
	session *sdk.ClientSession
	replies *mcp.ClientTransport // nil: results come as text
	people  bool                 // answers are for people: they name commands, not tools
}

// asTools in a context says whether answers are wanted as the tools give them.
type asTools struct{}

// connect reaches the daemon, and starts it if there is none.
func connect(ctx context.Context) (*client, error) { return connectAs(ctx, "strobe-cli") }

// connectAs is connect of a client whose name others see.
func connectAs(ctx context.Context, name string) (*client, error) {
	home, err := daemon.Home()
	if err != nil {
		return nil, err
	}
	// A daemon that ends in this very moment may take a connection and drop it: once more, then.
	var c *client
	for range 2 {
		conn, err2 := daemon.Connect(ctx, home)
		if err2 != nil {
			return nil, err2
		}
		cl := sdk.NewClient(&sdk.Implementation{Name: name, Version: daemon.Version()}, nil)
		t := mcp.NewClientTransport(conn)
		session, err2 := cl.Connect(ctx, t, nil)
		if err2 == nil {
			asIs, _ := ctx.Value(asTools{}).(bool)
			c, err = &client{session, t, !asIs}, nil
			break
		}
		conn.Close()
		err = fmt.Errorf("greet the daemon: %w", err2)
	}
	return c, err
}

func (c *client) Close() { c.session.Close() }

// version returns the daemon's version.
func (c *client) version() string {
	if r := c.session.InitializeResult(); r != nil && r.ServerInfo != nil {
		return r.ServerInfo.Version
	}
	return ""
}

// call runs a tool and returns its structured result as the daemon wrote it. A tool error comes back as
// the fault that it was.
func (c *client) call(ctx context.Context, tool string, args map[string]any) (json.RawMessage, error) {
	raw, err := c.ask(ctx, tool, args)
	if err == nil && c.people {
		raw = spokenInCommands(raw)
	}
	return raw, err
}

func (c *client) ask(ctx context.Context, tool string, args map[string]any) (json.RawMessage, error) {
	params := &sdk.CallToolParams{Name: tool, Arguments: args}
	params.Meta = sdk.Meta{mcp.MetaTextOnly: true, mcp.MetaWhole: true}
	if c.replies != nil {
		params.Meta[mcp.MetaRaw] = true // before the other, for a daemon that knows both
	}
	r, err := c.session.CallTool(ctx, params)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if errors.Is(err, sdk.ErrConnectionClosed) {
			return nil, fault.New(fault.InternalError, "Try again; daemon.log says why.", "the Strobe daemon ended while %s ran",
				tool)
		}
		return nil, fmt.Errorf("call %s: %w", tool, err)
	}
	if c.replies != nil {
		if raw, ok := c.replies.Result(r); ok {
			return raw, nil
		}
	}
	text := ""
	for _, part := range r.Content {
		if t, ok := part.(*sdk.TextContent); ok {
			text = t.Text
			break
		}
	}
	if !r.IsError {
		// The text is the same JSON; unlike the decoded value it keeps large integers exact.
		return json.RawMessage(text), nil
	}
	var f struct{ Code, Message, Hint string }
	b, err := json.Marshal(r.StructuredContent)
	if err == nil && json.Unmarshal(b, &f) == nil && f.Code != "" {
		return nil, fault.New(fault.Code(f.Code), f.Hint, "%s", f.Message)
	}
	return nil, errors.New(text)
}

// callInto runs a tool and decodes its result.
func (c *client) callInto(ctx context.Context, tool string, args map[string]any, result any) error {
	raw, err := c.call(ctx, tool, args)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, result); err != nil {
		return fmt.Errorf("read answer of %s: %w", tool, err)
	}
	return nil
}
