package daemon

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"sync"
	"time"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/mcp"
)

const (
	// drainTimeout bounds how long a proxy whose client closed its input waits for answers under way:
	// less than the 5 s after which clients send SIGTERM.
	drainTimeout = 4 * time.Second
	// replayTimeout bounds the handshake with a daemon that was started anew.
	replayTimeout = 10 * time.Second
	// maxConnects bounds how often one message is tried on a fresh daemon.
	maxConnects = 3
	// writeTimeout bounds handing one line to a daemon that stopped reading.
	writeTimeout = 30 * time.Second
	// replayID is our own request: no client uses this id.
	replayID = `"strobe-proxy-initialize"`
)

const diedMessage = "the Strobe daemon ended while this call ran; call again: " +
	"sessions whose program was running are listed by debug_session list"

// Proxy is the pipe behind `strobe mcp`. It relays lines of any length unchanged, but for Tier, and reads of them just
// enough (ids, methods) to answer for a daemon that died, and to take up with the next one.
//
// Its goroutines: the caller of Run reads the client; one per daemon connection reads that and ends with it. A reader
// of the client's input may stay parked when ctx ends: the process exits then.
type Proxy struct {
	In      io.Reader
	Out     io.Writer
	Connect func(ctx context.Context) (net.Conn, error) // starts a daemon if there is none
	Hung    func() error                                // explains a daemon that connects but does not answer
	Tier    string                                      // of the tools that are listed: mcp.WithTier

	outMu  sync.Mutex // keeps lines to the client whole; leaf
	connMu sync.Mutex // one connection is made at a time; held while it is made, never with mu held

	mu          sync.Mutex // guards what follows; never held over I/O
	conn        *daemonConn
	inFlight    map[string]*request // by key of the id
	given       map[string]bool     // answered by us although the daemon may still answer
	initialize  []byte              // the client's own message, to replay
	initialized bool                // the client confirmed it
	answered    bool                // by any daemon
	changed     chan struct{}       // closed and replaced when inFlight shrinks
}

// daemonConn is one connection. It is dead when broken is closed.
type daemonConn struct {
	net.Conn
	r      *bufio.Reader
	broken chan struct{}
}

type request struct {
	id   json.RawMessage // as the client wrote it
	line []byte          // kept if the request may be sent twice
	conn *daemonConn     // where it was sent, nil while it is being sent
}

// message is what the proxy reads of a line.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method *string         `json:"method"`
}

// key is the id in one spelling: 1 and 1.0 are the same, as are two escapings of a string.
func (m message) key() string {
	var v any
	if json.Unmarshal(m.ID, &v) != nil {
		return string(m.ID)
	}
	if n, ok := v.(float64); ok && (n != math.Trunc(n) || math.Abs(n) >= 1<<53) {
		return string(m.ID) // a float would take two for one
	}
	return fmt.Sprintf("%T %v", v, v)
}

func (m message) isRequest() bool  { return m.Method != nil && len(m.ID) > 0 && string(m.ID) != "null" }
func (m message) isResponse() bool { return m.Method == nil && len(m.ID) > 0 }

// repeatable reports whether a request may be sent again when it is unknown whether it was carried out.
func (m message) repeatable() bool {
	switch *m.Method {
	case "initialize", "ping", "tools/list", "server/discover":
		return true
	}
	return false
}

// Run relays until the client closes its input or its output breaks. It returns nil then, or what went
// wrong with the client's side. Troubles with the daemon are answers to requests, never its end.
func (p *Proxy) Run(ctx context.Context) error {
	p.inFlight = map[string]*request{}
	p.given = map[string]bool{}
	p.changed = make(chan struct{})
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	lines := make(chan []byte)
	readErr := make(chan error, 1)
	go func() {
		r := bufio.NewReaderSize(p.In, 64<<10)
		for {
			line, err := r.ReadBytes('\n')
			if len(bytes.TrimSpace(line)) > 0 && (err == nil || errors.Is(err, io.EOF)) {
				select {
				case lines <- append(bytes.TrimRight(line, "\r\n"), '\n'):
				case <-ctx.Done():
					return
				}
			}
			if err != nil {
				readErr <- err
				return
			}
		}
	}()
	defer p.hangUp()
	for {
		select {
		case line := <-lines:
			p.fromClient(ctx, cancel, line)
		case err := <-readErr:
			p.drain(ctx)
			if errors.Is(err, io.EOF) {
				return nil
			}
			return fmt.Errorf("read from client: %w", err)
		case <-ctx.Done():
			if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
				return err
			}
			return nil
		}
	}
}

// fromClient sends one line on. It waits for a daemon, but never for an answer.
func (p *Proxy) fromClient(ctx context.Context, cancel context.CancelCauseFunc, line []byte) {
	line = mcp.WithTier(line, p.Tier)
	msgs := scan(line)
	p.mu.Lock()
	conn := p.conn
	var requests []string
	for _, m := range msgs {
		switch {
		case m.isRequest():
			id := m.key()
			r := &request{id: m.ID}
			if m.repeatable() && len(msgs) == 1 {
				r.line = line
			}
			p.inFlight[id] = r
			requests = append(requests, id)
			if *m.Method == "initialize" {
				p.initialize, p.initialized = line, false
				watchdog := time.AfterFunc(replayTimeout, func() { p.notAnswered(cancel, id) })
				context.AfterFunc(ctx, func() { watchdog.Stop() })
			}
		case m.Method != nil && *m.Method == "notifications/initialized":
			p.initialized = true
		}
	}
	p.mu.Unlock()
	if len(requests) == 0 && len(msgs) > 0 {
		// A notification or an answer to a daemon that is gone means nothing to the next one.
		if conn != nil {
			_ = p.deliver(conn, line)
		}
		return
	}
	p.send(ctx, cancel, line, requests)
}

// deliver hands a line to a daemon, or closes the connection. A daemon takes a line only with its end, so
// a failed write was not carried out.
func (p *Proxy) deliver(c *daemonConn, line []byte) error {
	err := c.SetWriteDeadline(time.Now().Add(writeTimeout))
	if err == nil {
		_, err = c.Write(line)
	}
	if err == nil {
		return nil
	}
	c.Close()
	p.mu.Lock()
	if p.conn == c {
		p.conn = nil
	}
	p.mu.Unlock()
	return err
}

// send delivers a line with these requests to a daemon, or answers them with the reason why not.
func (p *Proxy) send(ctx context.Context, cancel context.CancelCauseFunc, line []byte, requests []string) {
	var err error
	for try := range maxConnects {
		if try > 0 {
			select {
			case <-ctx.Done():
				return
			case <-time.After(time.Duration(try*try) * 100 * time.Millisecond):
			}
		}
		var c *daemonConn
		if c, err = p.connected(ctx, cancel); err != nil {
			if fault.CodeOf(err) != fault.InternalError {
				break // a home that cannot be used will not mend itself
			}
			continue
		}
		if err = p.deliver(c, line); err != nil {
			continue
		}
		if !p.sent(c, requests) {
			p.lost(ctx, cancel, c)
		}
		return
	}
	if ctx.Err() == nil {
		p.answerAll(cancel, requests, fault.From(err).Error())
	}
}

// sent notes which daemon has the requests. It returns false if that one died meanwhile: then nobody
// else answers them.
func (p *Proxy) sent(c *daemonConn, requests []string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, id := range requests {
		if r := p.inFlight[id]; r != nil {
			r.conn = c
		}
	}
	// The reader closes broken under mu before it looks at the table: either it sees the entries, or we
	// see that it is closed.
	select {
	case <-c.broken:
		return false
	default:
		return true
	}
}

// notAnswered gives up on a daemon that took a connection and the first message, and does nothing.
func (p *Proxy) notAnswered(cancel context.CancelCauseFunc, id string) {
	p.mu.Lock()
	hung := !p.answered && p.inFlight[id] != nil
	if hung {
		p.given[id] = true
	}
	p.mu.Unlock()
	if hung {
		p.answerAll(cancel, []string{id}, p.Hung().Error())
	}
}

// connected returns the connection in use, or makes one and replays the client's handshake on it.
func (p *Proxy) connected(ctx context.Context, cancel context.CancelCauseFunc) (*daemonConn, error) {
	p.connMu.Lock()
	defer p.connMu.Unlock()
	p.mu.Lock()
	c := p.conn
	replay, confirm := p.initialize, p.initialized
	if !p.answered {
		replay = nil // the client's own is still on its way
	}
	p.mu.Unlock()
	if c != nil {
		return c, nil
	}
	raw, err := p.Connect(ctx)
	if err != nil {
		return nil, err
	}
	c = &daemonConn{Conn: raw, r: bufio.NewReaderSize(raw, 64<<10), broken: make(chan struct{})}
	if replay != nil {
		if err := c.replay(replay, confirm); err != nil {
			c.Close()
			return nil, fault.New(fault.InternalError, "Call again; if it stays, see daemon.log.",
				"the restarted Strobe daemon did not take the connection up: %w", err)
		}
	}
	p.mu.Lock()
	p.conn = c
	p.mu.Unlock()
	go p.fromDaemon(ctx, cancel, c) // ends when c is closed
	return c, nil
}

// replay introduces the client to a new daemon and swallows the answer.
func (c *daemonConn) replay(initialize []byte, confirm bool) error {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(initialize, &m); err != nil {
		return fmt.Errorf("read client's initialize: %w", err)
	}
	m["id"] = json.RawMessage(replayID)
	b, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("encode initialize: %w", err)
	}
	if err := c.SetDeadline(time.Now().Add(replayTimeout)); err != nil {
		return err
	}
	if _, err := c.Write(append(b, '\n')); err != nil {
		return err
	}
	for {
		line, err := c.r.ReadBytes('\n')
		if err != nil {
			return err
		}
		var reply message
		if json.Unmarshal(line, &reply) == nil && string(reply.ID) == replayID {
			break
		}
	}
	if confirm {
		if _, err := io.WriteString(c, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"); err != nil {
			return err
		}
	}
	return c.SetDeadline(time.Time{})
}

// fromDaemon relays one daemon's lines until it is gone, and then answers for it.
func (p *Proxy) fromDaemon(ctx context.Context, cancel context.CancelCauseFunc, c *daemonConn) {
	for {
		line, err := c.r.ReadBytes('\n')
		if err != nil {
			break // an unfinished line is of no use to the client
		}
		msgs := scanReply(line)
		p.mu.Lock()
		late := false
		for _, m := range msgs {
			if m.isResponse() {
				id := m.key()
				late = p.given[id]
				delete(p.given, id)
				delete(p.inFlight, id)
				p.answered = true
			}
		}
		p.wakeLocked()
		p.mu.Unlock()
		if late {
			continue
		}
		if err := p.write(line); err != nil {
			cancel(err)
			break
		}
	}
	c.Close()
	p.mu.Lock()
	if p.conn == c {
		p.conn = nil
	}
	close(c.broken)
	p.mu.Unlock()
	p.lost(ctx, cancel, c)
}

// lost deals with the requests that a dead daemon had: those that do no harm twice go to the next one,
// the others get an error at once.
func (p *Proxy) lost(ctx context.Context, cancel context.CancelCauseFunc, c *daemonConn) {
	var fail []string
	again := map[string][]byte{}
	p.mu.Lock()
	for id, r := range p.inFlight {
		if r.conn != c {
			continue
		}
		if r.line == nil {
			fail = append(fail, id)
			continue
		}
		again[id] = r.line
		r.line, r.conn = nil, nil // once
	}
	p.mu.Unlock()
	p.answerAll(cancel, fail, diedMessage)
	for id, line := range again {
		p.send(ctx, cancel, line, []string{id})
	}
}

// answerAll gives requests that nobody else will answer an error reply.
func (p *Proxy) answerAll(cancel context.CancelCauseFunc, ids []string, why string) {
	text, err := json.Marshal(why)
	if err != nil {
		text = []byte(`"internal error"`)
	}
	for _, id := range ids {
		p.mu.Lock()
		r := p.inFlight[id]
		delete(p.inFlight, id)
		p.wakeLocked()
		p.mu.Unlock()
		if r == nil {
			continue
		}
		reply := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":%s}}`+"\n", r.id, text)
		if err := p.write([]byte(reply)); err != nil {
			cancel(err)
			return
		}
	}
}

func (p *Proxy) write(line []byte) error {
	p.outMu.Lock()
	defer p.outMu.Unlock()
	if _, err := p.Out.Write(line); err != nil {
		return fmt.Errorf("write to client: %w", err)
	}
	return nil
}

func (p *Proxy) wakeLocked() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// drain waits for the answers under way, for a moment.
func (p *Proxy) drain(ctx context.Context) {
	limit := time.After(drainTimeout)
	for {
		p.mu.Lock()
		n, changed := len(p.inFlight), p.changed
		p.mu.Unlock()
		if n == 0 {
			return
		}
		select {
		case <-changed:
		case <-limit:
			return
		case <-ctx.Done():
			return
		}
	}
}

// hangUp closes the connection in use and waits for its reader.
func (p *Proxy) hangUp() {
	p.mu.Lock()
	c := p.conn
	clear(p.inFlight) // the client is gone: nobody to answer
	p.mu.Unlock()
	if c != nil {
		c.Close()
		<-c.broken
	}
}

// scan reads ids and methods of a line: one message or a batch. A line that is no JSON has none; the
// daemon will say so.
func scan(line []byte) []message {
	if t := bytes.TrimLeft(line, " \t"); len(t) > 0 && t[0] == '[' {
		var batch []message
		if json.Unmarshal(line, &batch) != nil {
			return nil
		}
		return batch
	}
	var m message
	if json.Unmarshal(line, &m) != nil {
		return nil
	}
	return []message{m}
}

// scanReply is scan for a line of the daemon's: of an answer as it writes them, which may be long, only the beginning
// is read.
func scanReply(line []byte) []message {
	if rest, ok := bytes.CutPrefix(line, []byte(`{"jsonrpc":"2.0","id":`)); ok {
		id, rest, _ := bytes.Cut(rest, []byte(","))
		if json.Valid(id) && (bytes.HasPrefix(rest, []byte(`"result":`)) || bytes.HasPrefix(rest, []byte(`"error":`))) {
			return []message{{ID: id}}
		}
	}
	return scan(line)
}
