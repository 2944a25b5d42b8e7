package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"

	"github.com/strobe-debug/strobe/internal/fault"
)

// Between the daemon and the process of a session, calls of tools go over a connection that only these two have, and
// both are this very binary. A message is a line of JSON, its head, and a body of so many bytes as the head says:
// arguments and results, which nobody on the way decodes.

// relayHead begins a message. N is the number of the call that it is about.
type relayHead struct {
	Is   string `json:"is"`
	N    int64  `json:"n,omitempty"`
	Size int    `json:"size,omitempty"` // of the body

	// Of isCall alone.
	Tool   string `json:"tool,omitempty"`
	Client string `json:"client,omitempty"` // for whom
	Tell   bool   `json:"tell,omitempty"`   // somebody wants to hear how the work stands
}

const (
	isReady  = "ready"  // from the other process: it takes calls
	isCall   = "call"   // to it: the body is the arguments
	isCancel = "cancel" // to it
	isTell   = "tell"   // from it: the body is a line for people
	isResult = "result" // from it: the body is the result, as JSON
	isFault  = "fault"  // from it: the body is a wireFault
)

// wireFault is a tool's error on its way.
type wireFault struct {
	Code fault.Code `json:"code"`
	Msg  string     `json:"message"`
	Hint string     `json:"hint"`
}

const (
	// maxHead bounds a head in bytes; its longest part is the name that a client gave itself.
	maxHead = 1 << 20
	// relayBuffer is what is read ahead: there is one for each session, and bodies that are longer are read past it.
	relayBuffer = 8 << 10
)

// relayConn is either end. Safe for concurrent use, but for read.
type relayConn struct {
	c  io.ReadWriteCloser
	r  *bufio.Reader
	mu sync.Mutex // keeps messages whole; leaf
}

func newRelayConn(c io.ReadWriteCloser) *relayConn {
	return &relayConn{c: c, r: bufio.NewReaderSize(c, relayBuffer)}
}

func (c *relayConn) write(h relayHead, body []byte) error {
	h.Size = len(body)
	head, err := json.Marshal(h)
	if err != nil {
		return fmt.Errorf("encode the head of a %s: %w", h.Is, err)
	}
	parts := net.Buffers{append(head, '\n'), body}
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err = parts.WriteTo(c.c)
	return err
}

func (c *relayConn) read() (h relayHead, body []byte, err error) {
	line, err := readLine(c.r, maxHead)
	if err != nil {
		return h, nil, err
	}
	if err := json.Unmarshal(line, &h); err != nil {
		return h, nil, fmt.Errorf("read the head of a message: %w", err)
	}
	if h.Size < 0 || h.Size > maxReply {
		return h, nil, fmt.Errorf("read a message: a body of %d bytes", h.Size)
	}
	body = make([]byte, h.Size)
	_, err = io.ReadFull(c.r, body)
	return h, body, err
}

// ErrGone is in the chain of what Call returns where the other process has ended, or ends.
var ErrGone = errors.New("the process at the other end has ended")

// Relay has another process run tools, which Answer does there. Safe for concurrent use.
//
// Its goroutine reads, and ends with the connection.
type Relay struct {
	conn *relayConn
	gone chan struct{} // closed when nothing comes any more

	mu    sync.Mutex // leaf
	last  int64
	calls map[int64]*relayed
}

// relayed is a call under way.
type relayed struct {
	tell  func(text string)
	reply chan relayReply // capacity 1
}

type relayReply struct {
	is   string
	body []byte
}

// NewRelay waits until the process at the other end of conn takes calls. It closes conn when that is gone, or ctx ends
// before.
func NewRelay(ctx context.Context, conn io.ReadWriteCloser) (*Relay, error) {
	r := &Relay{conn: newRelayConn(conn), gone: make(chan struct{}), calls: map[int64]*relayed{}}
	ready := make(chan struct{}, 1)
	go r.read(ready)
	select {
	case <-ready:
		return r, nil
	case <-r.gone:
		return r, fmt.Errorf("greet the other process: %w", ErrGone)
	case <-ctx.Done():
		conn.Close()
		<-r.gone
		return r, fmt.Errorf("greet the other process: %w", ctx.Err())
	}
}

func (r *Relay) read(ready chan<- struct{}) {
	defer close(r.gone)
	defer r.conn.c.Close()
	for {
		h, body, err := r.conn.read()
		if err != nil {
			return
		}
		if h.Is == isReady {
			select {
			case ready <- struct{}{}:
			default: // nobody waits for a second time
			}
			continue
		}
		r.mu.Lock()
		c := r.calls[h.N]
		if h.Is != isTell {
			delete(r.calls, h.N)
		}
		r.mu.Unlock()
		switch {
		case c == nil: // it was cancelled
		case h.Is != isTell:
			c.reply <- relayReply{h.Is, body}
		case c.tell != nil:
			c.tell(string(body))
		}
	}
}

// Call runs a tool for a client and returns its result as the other process wrote it. A tool's error comes back as the
// fault that it was. tell, where it is not nil, hears how the work stands.
func (r *Relay) Call(ctx context.Context, tool, client string, arguments []byte, tell func(text string)) (
	json.RawMessage, error,
) {
	c := &relayed{tell: tell, reply: make(chan relayReply, 1)}
	r.mu.Lock()
	r.last++
	n := r.last
	r.calls[n] = c
	r.mu.Unlock()
	head := relayHead{Is: isCall, N: n, Tool: tool, Client: client, Tell: tell != nil}
	if err := r.conn.write(head, arguments); err != nil {
		r.forget(n)
		return nil, fmt.Errorf("%w: %w", ErrGone, err)
	}
	select {
	case reply := <-c.reply:
		return reply.result()
	case <-ctx.Done():
		r.forget(n)
		r.conn.write(relayHead{Is: isCancel, N: n}, nil) //nolint:errcheck // it has ended
		return nil, ctx.Err()
	case <-r.gone:
	}
	select {
	case reply := <-c.reply: // its last word
		return reply.result()
	default:
	}
	r.forget(n)
	return nil, ErrGone
}

func (r *Relay) forget(n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.calls, n)
}

func (r relayReply) result() (json.RawMessage, error) {
	if r.is == isResult {
		return r.body, nil
	}
	var f wireFault
	if err := json.Unmarshal(r.body, &f); err != nil || f.Code == "" {
		return nil, fault.New(fault.InternalError, "This is a bug in Strobe.", "a worker gave a %s that says nothing", r.is)
	}
	return nil, fault.New(f.Code, f.Hint, "%s", f.Msg)
}

// Relayed is a result that is JSON already.
type Relayed json.RawMessage

// JSON returns it.
func (r Relayed) JSON() ([]byte, error) { return r, nil }
