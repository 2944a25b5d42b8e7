package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxLine bounds one message from a client in bytes. Longer ones are skipped and answered with an error.
const maxLine = 64 << 20

// lineTransport speaks newline-delimited JSON. Unlike the SDK's own it survives a line that is no
// JSON-RPC: it answers that line with an error and reads on.
type lineTransport struct{ c *lineConn }

func (t lineTransport) Connect(context.Context) (sdk.Connection, error) { return t.c, nil }

func newLineConn(c io.ReadWriteCloser) *lineConn {
	return &lineConn{c: c, r: bufio.NewReaderSize(c, 64<<10)}
}

type lineConn struct {
	c       io.ReadWriteCloser
	r       *bufio.Reader
	waiting []jsonrpc.Message // the rest of a batch; only Read touches it
	held    held

	oddOnce sync.Once
	odd     atomic.Pointer[string] // what stands before an id that the SDK would change; nil: there was none

	writeMu sync.Mutex // leaf; keeps lines whole
}

func (c *lineConn) SessionID() string { return "" }
func (c *lineConn) Close() error      { return c.c.Close() }

// Read returns the next message. It is not called concurrently with itself.
func (c *lineConn) Read(context.Context) (jsonrpc.Message, error) {
	for {
		if len(c.waiting) > 0 {
			m := c.waiting[0]
			c.waiting = c.waiting[1:]
			return m, nil
		}
		line, err := readLine(c.r, maxLine)
		if errors.Is(err, errLineTooLong) {
			if err := c.refuse(jsonrpc.CodeInvalidRequest, fmt.Sprintf("message of more than %d MiB", maxLine>>20)); err != nil {
				return nil, err
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		if err := c.decode(line); err != nil {
			return nil, err
		}
	}
}

// decode queues the messages of one line. Batches, which some protocol versions have, are answered one
// by one. The error is a failure to answer, not one of the line.
func (c *lineConn) decode(line []byte) error {
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return nil
	}
	if !json.Valid(line) {
		return c.refuse(jsonrpc.CodeParseError, "message is not JSON")
	}
	parts := []json.RawMessage{line}
	if line[0] == '[' {
		if err := json.Unmarshal(line, &parts); err != nil || len(parts) == 0 {
			return c.refuse(jsonrpc.CodeInvalidRequest, "empty batch")
		}
	}
	for _, p := range parts {
		m, err := jsonrpc.DecodeMessage(c.plainID(p))
		if err != nil {
			if err := c.refuse(jsonrpc.CodeInvalidRequest, err.Error()); err != nil {
				return err
			}
			continue
		}
		c.waiting = append(c.waiting, m)
	}
	return nil
}

// refuse answers a line whose id is unknown, as JSON-RPC wants it: with id null.
func (c *lineConn) refuse(code int64, msg string) error {
	b, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": nil,
		"error": map[string]any{"code": code, "message": msg},
	})
	if err != nil {
		return fmt.Errorf("encode error reply: %w", err)
	}
	return c.writeLine(b)
}

func (c *lineConn) Write(_ context.Context, m jsonrpc.Message) error {
	if r, ok := m.(*jsonrpc.Response); ok && r.Error != nil {
		// The SDK sends its own plain errors with code 0, which JSON-RPC does not have.
		if w := (*jsonrpc.Error)(nil); !errors.As(r.Error, &w) {
			r = &jsonrpc.Response{ID: r.ID, Extra: r.Extra,
				Error: &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: r.Error.Error()}}
			m = r
		}
	}
	b, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return fmt.Errorf("encode message: %w", err)
	}
	return c.writeLine(c.held.take(c.oddID(b))...)
}

// writeLine writes one message, which comes in parts: a reader gets it as one.
func (c *lineConn) writeLine(parts ...[]byte) error {
	line := net.Buffers(append(parts, []byte{'\n'}))
	c.writeMu.Lock()
	defer c.writeMu.Unlock()
	if _, err := line.WriteTo(c.c); err != nil {
		return fmt.Errorf("write message: %w", err)
	}
	return nil
}

var errLineTooLong = errors.New("line too long")

// readLine returns the next line without its end. An unfinished last line is dropped: its writer died
// in the middle of it. A line longer than limit is read to its end and gives errLineTooLong.
func readLine(r *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	long := false
	for {
		part, err := r.ReadSlice('\n')
		if !long && len(line)+len(part) > limit {
			long, line = true, nil
		}
		if !long {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil:
			return nil, err
		case long:
			return nil, errLineTooLong
		}
		return line[:len(line)-1], nil
	}
}
