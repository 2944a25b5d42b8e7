package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"sync/atomic"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/strobe-debug/strobe/internal/fault"
)

// metaClient in a request's _meta is the name of the client for whom a Relay passes the request on. It is heeded where
// Config.Relayed says so: at the end of a socket pair that only a Relay has.
const metaClient = "strobe/client"

// ErrGone is in the chain of what Call returns where the other process has ended, or ends.
var ErrGone = errors.New("the process at the other end has ended")

// Relay passes tools' calls on to a Server in another process, as the messages that they are. Safe for concurrent use.
type Relay struct {
	session *sdk.ClientSession
	replies *ClientTransport
	tokens  atomic.Int64

	mu    sync.Mutex // leaf
	tells map[string]func(text string)
}

// NewRelay greets the server at the other end of conn, which it closes. version is our own.
func NewRelay(ctx context.Context, conn io.ReadWriteCloser, version string) (*Relay, error) {
	r := &Relay{replies: NewClientTransport(conn), tells: map[string]func(string){}}
	c := sdk.NewClient(&sdk.Implementation{Name: "strobe", Version: version}, &sdk.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, req *sdk.ProgressNotificationClientRequest) {
			r.mu.Lock()
			tell := r.tells[fmt.Sprint(req.Params.ProgressToken)]
			r.mu.Unlock()
			if tell != nil {
				tell(req.Params.Message)
			}
		},
	})
	var err error
	if r.session, err = c.Connect(ctx, r.replies, nil); err != nil {
		return nil, errors.Join(fmt.Errorf("greet the other process: %w", err), conn.Close())
	}
	return r, nil
}

// Close ends the connection; calls under way fail.
func (r *Relay) Close() error { return r.session.Close() }

// Call runs a tool for a client and returns its result as the other process wrote it. A tool's error comes back as the
// fault that it was. tell, where it is not nil, hears how the work stands.
func (r *Relay) Call(ctx context.Context, tool, client string, arguments json.RawMessage, tell func(text string)) (json.RawMessage, error) {
	params := &sdk.CallToolParams{Name: tool, Arguments: arguments}
	params.Meta = sdk.Meta{MetaRaw: true, metaClient: client}
	if tell != nil {
		token := strconv.FormatInt(r.tokens.Add(1), 10)
		params.SetProgressToken(token)
		r.mu.Lock()
		r.tells[token] = tell
		r.mu.Unlock()
		defer func() {
			r.mu.Lock()
			delete(r.tells, token)
			r.mu.Unlock()
		}()
	}
	res, err := r.session.CallTool(ctx, params)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("%w: %w", ErrGone, err)
	}
	if raw, ok := r.replies.Result(res); ok {
		return raw, nil
	}
	var f struct{ Code, Message, Hint string }
	b, err := json.Marshal(res.StructuredContent)
	if err == nil && json.Unmarshal(b, &f) == nil && f.Code != "" {
		return nil, fault.New(fault.Code(f.Code), f.Hint, "%s", f.Message)
	}
	return nil, fault.New(fault.InternalError, "This is a bug in Strobe.", "%s gave no result and no error", tool)
}

// Relayed is a result that is JSON already.
type Relayed json.RawMessage

// JSON returns it.
func (r Relayed) JSON() ([]byte, error) { return r, nil }
