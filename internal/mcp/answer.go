package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"

	"github.com/strobe-debug/strobe/internal/fault"
)

// Answer runs the tools that the Relay at the other end of conn calls, any number at once, until that is gone or ctx
// ends. Then it cancels those under way, waits for them, and returns what was wrong with the connection, if that was
// not its end. It closes conn.
//
// Its goroutines: one for each call, and one for each that tells how its work stands.
func Answer(ctx context.Context, conn io.ReadWriteCloser, tools []Tool, log *slog.Logger) error {
	a := &answerer{
		conn: newRelayConn(conn), log: log, tools: map[string]Tool{}, cancels: map[int64]context.CancelFunc{},
	}
	for _, t := range tools {
		a.tools[t.Name] = t
	}
	ctx, cancel := context.WithCancel(ctx)
	defer a.wg.Wait()
	defer cancel()
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	if err := a.conn.write(relayHead{Is: isReady}, nil); err != nil {
		return fmt.Errorf("greet the daemon: %w", err)
	}
	for {
		h, body, err := a.conn.read()
		switch {
		case errors.Is(err, io.EOF) || err != nil && ctx.Err() != nil:
			return nil
		case err != nil:
			return fmt.Errorf("read a call: %w", err)
		case h.Is == isCall:
			a.begin(ctx, h, body)
		case h.Is == isCancel:
			a.mu.Lock()
			if c := a.cancels[h.N]; c != nil {
				c()
			}
			a.mu.Unlock()
		}
	}
}

type answerer struct {
	conn  *relayConn
	log   *slog.Logger
	tools map[string]Tool
	wg    sync.WaitGroup

	mu      sync.Mutex // leaf
	cancels map[int64]context.CancelFunc
}

func (a *answerer) begin(ctx context.Context, h relayHead, arguments []byte) {
	ctx, cancel := context.WithCancel(context.WithValue(ctx, clientKey{}, h.Client))
	a.mu.Lock()
	a.cancels[h.N] = cancel
	a.mu.Unlock()
	a.wg.Go(func() {
		is, body := a.answer(ctx, h, arguments)
		a.mu.Lock()
		delete(a.cancels, h.N)
		a.mu.Unlock()
		cancel()
		a.conn.write(relayHead{Is: is, N: h.N}, body) //nolint:errcheck // the daemon has ended
	})
}

func (a *answerer) answer(ctx context.Context, h relayHead, arguments []byte) (is string, body []byte) {
	if h.Tell {
		call, end := new(progress).begin(ctx, func(ctx context.Context, _ int, text string) error {
			return a.conn.write(relayHead{Is: isTell, N: h.N}, []byte(text))
		})
		defer end()
		ctx = call
	}
	t, ok := a.tools[h.Tool]
	if !ok {
		return asFault(fault.New(fault.InternalError, "This is a bug in Strobe.", "this worker has no tool %s", h.Tool))
	}
	result, err := run(ctx, a.log, t, arguments)
	if err != nil {
		return asFault(err)
	}
	body, err = compact(result)
	if err != nil {
		a.log.Error("encode result", "tool", t.Name, "error", err)
		return asFault(err)
	}
	return isResult, body
}

func asFault(err error) (is string, body []byte) {
	f := fault.From(err)
	body, err = json.Marshal(wireFault{f.Code, cut(f.Msg, maxErrorText), cut(f.Hint, maxErrorText)})
	if err != nil {
		body = nil // two texts and a word always encode
	}
	return isFault, body
}
