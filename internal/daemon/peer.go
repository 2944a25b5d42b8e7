package daemon

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"sync"
)

// peer is one end of the connection over which a daemon and its worker ask each other what they must know besides
// calls. Both are this very binary, and each asks: lines of JSON, a request with a number and a method, its answer with
// the same number. Safe for concurrent use.
//
// Goroutines: read, and one for each request of the other's; they end with the connection.
type peer struct {
	c      net.Conn
	handle func(method string, args json.RawMessage) (reply any, err error)
	gone   chan struct{} // closed when the other end is

	writeMu sync.Mutex // leaf; keeps lines whole

	mu      sync.Mutex // leaf
	last    int64
	waiting map[int64]chan peerLine
}

// peerLine is a request, which has a method, or an answer.
type peerLine struct {
	N      int64           `json:"n"`
	Method string          `json:"method,omitempty"`
	Body   json.RawMessage `json:"body,omitempty"`
	Error  string          `json:"error,omitempty"`
}

var errPeerGone = errors.New("the other process has ended")

func newPeer(c net.Conn, handle func(method string, args json.RawMessage) (any, error)) *peer {
	p := &peer{c: c, handle: handle, gone: make(chan struct{}), waiting: map[int64]chan peerLine{}}
	go p.read()
	return p
}

func (p *peer) read() {
	defer close(p.gone)
	defer p.c.Close()
	dec := json.NewDecoder(bufio.NewReader(p.c))
	for {
		var l peerLine
		if dec.Decode(&l) != nil {
			return
		}
		if l.Method != "" {
			go p.answer(l)
			continue
		}
		p.mu.Lock()
		wait := p.waiting[l.N]
		delete(p.waiting, l.N)
		p.mu.Unlock()
		if wait != nil {
			wait <- l
		}
	}
}

func (p *peer) answer(l peerLine) {
	reply, err := p.handle(l.Method, l.Body)
	out := peerLine{N: l.N}
	if err == nil {
		out.Body, err = json.Marshal(reply)
	}
	if err != nil {
		out.Error = err.Error()
	}
	p.write(&out) //nolint:errcheck // it has ended
}

func (p *peer) write(l *peerLine) error {
	b, err := json.Marshal(l)
	if err != nil {
		return err
	}
	p.writeMu.Lock()
	defer p.writeMu.Unlock()
	_, err = p.c.Write(append(b, '\n'))
	return err
}

// ask asks the other end and decodes its answer into reply, which may be nil.
func (p *peer) ask(ctx context.Context, method string, args, reply any) error {
	body, err := json.Marshal(args)
	if err != nil {
		return fmt.Errorf("encode what is asked: %w", err)
	}
	wait := make(chan peerLine, 1)
	p.mu.Lock()
	p.last++
	n := p.last
	p.waiting[n] = wait
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.waiting, n)
		p.mu.Unlock()
	}()
	if err := p.write(&peerLine{N: n, Method: method, Body: body}); err != nil {
		return fmt.Errorf("%w: %w", errPeerGone, err)
	}
	select {
	case l := <-wait:
		switch {
		case l.Error != "":
			return errors.New(l.Error)
		case reply == nil:
			return nil
		}
		return json.Unmarshal(l.Body, reply)
	case <-p.gone:
		return errPeerGone
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *peer) close() { p.c.Close() } //nolint:errcheck // it has ended
