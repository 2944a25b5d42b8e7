package iochan

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/strobe-debug/strobe/internal/event"
)

// acceptRelayed is the goroutine of the relay.
func (n *network) acceptRelayed() {
	for {
		c, err := n.relaying.Accept()
		if err != nil {
			return
		}
		if n.faults.now().Refuse {
			n.tell(netEvent{What: "fault", Direction: event.In, Name: "refuse"})
			(&faultyConn{c, n}).quietReset()
			continue
		}
		if n.keep(c) {
			n.wg.Go(func() { n.relayOne(c) })
		}
	}
}

// counted is one direction of a relayed connection.
type counted struct {
	n     int64
	first time.Time
}

// relayOne carries one connection and tells of it, and of the HTTP/1 requests and answers in it.
func (n *network) relayOne(client net.Conn) {
	defer n.drop(client)
	began := time.Now()
	e := netEvent{What: "connection", Direction: event.In, Host: client.RemoteAddr().String()}
	defer func() {
		e.MS = since(began)
		n.tell(e)
	}()
	server, err := n.dial(n.ctx, defaultWithin*time.Millisecond)
	if err != nil {
		e.Error = err.Error()
		return
	}
	if !n.keep(server) {
		return
	}
	defer n.drop(server)
	asked, answered := io.Pipe()
	fromServer, toAnswers := io.Pipe()
	methods := make(chan asking, 1024)
	var parsers, carriers sync.WaitGroup
	parsers.Go(func() { n.readRequests(asked, methods) })
	parsers.Go(func() { n.readAnswers(fromServer, methods) })
	var in, out counted
	carriers.Go(func() { carry(server, client, answered, &in) })
	carriers.Go(func() { carry(client, server, toAnswers, &out) })
	carriers.Wait()
	parsers.Wait()
	e.BytesIn, e.BytesOut = &in.n, &out.n
	if !out.first.IsZero() {
		us := out.first.Sub(began).Microseconds()
		e.FirstByte = &us
	}
}

// carry copies from one side to the other and to who reads along, and ends that side's input when this one ends.
func carry(to, from net.Conn, along *io.PipeWriter, c *counted) {
	defer along.Close()
	buf := make([]byte, 32<<10)
	for {
		k, err := from.Read(buf)
		if k > 0 {
			if c.first.IsZero() {
				c.first = time.Now()
			}
			c.n += int64(k)
			along.Write(buf[:k]) //nolint:errcheck // who reads along takes all until the end
			if _, werr := to.Write(buf[:k]); werr != nil {
				from.Close() // nobody hears it any more
				return
			}
		}
		if err == nil {
			continue
		}
		if f, ok := to.(*faultyConn); ok {
			to = f.Conn
		}
		half, ok := to.(*net.TCPConn)
		if !ok || !errors.Is(err, io.EOF) || half.CloseWrite() != nil {
			to.Close()
		}
		return
	}
}

// asking is a request whose answer is to come.
type asking struct {
	method, path string
	at           time.Time
	req          *http.Request
}

// readRequests tells of the requests in what a client sends; what is no HTTP/1 is read and left alone.
func (n *network) readRequests(r *io.PipeReader, methods chan<- asking) {
	defer io.Copy(io.Discard, r) //nolint:errcheck // the other side must not wait
	defer close(methods)
	b := bufio.NewReader(r)
	for {
		req, err := http.ReadRequest(b)
		if err != nil {
			return
		}
		at := time.Now()
		data, size, err := headOf(req.Body)
		e := netEvent{What: "request", Direction: event.In, Method: req.Method, Host: req.Host, Path: req.RequestURI,
			Proto: req.Proto, Headers: flat(req.Header), Bytes: &size}
		e.setBody(data)
		if err != nil {
			e.Error = "the body was cut off: " + err.Error()
		}
		n.tell(e)
		select {
		case methods <- asking{req.Method, req.RequestURI, at, req}:
		default: // nobody answers a thousand requests that were sent ahead
			return
		}
		if err != nil {
			return
		}
	}
}

// readAnswers tells of the answers.
func (n *network) readAnswers(r *io.PipeReader, methods <-chan asking) {
	defer io.Copy(io.Discard, r) //nolint:errcheck // the other side must not wait
	b := bufio.NewReader(r)
	for {
		if _, err := b.Peek(1); err != nil {
			return
		}
		a, ok := <-methods
		if !ok {
			return
		}
		res, err := http.ReadResponse(b, a.req)
		if err != nil {
			return
		}
		us := time.Since(a.at).Microseconds()
		data, size, err := headOf(res.Body)
		e := netEvent{What: "answer", Direction: event.Out, Method: a.method, Path: a.path, Status: res.StatusCode,
			Proto: res.Proto, Headers: flat(res.Header), Bytes: &size, MS: since(a.at), FirstByte: &us}
		e.setBody(data)
		if err != nil {
			e.Error = "the body was cut off: " + err.Error()
		}
		n.tell(e)
		if err != nil || res.StatusCode == http.StatusSwitchingProtocols {
			return
		}
	}
}

// headOf reads a body to its end and keeps its beginning.
func headOf(r io.ReadCloser) (head []byte, size int64, err error) {
	defer r.Close()
	head, err = io.ReadAll(io.LimitReader(r, maxBody))
	size = int64(len(head))
	if err != nil {
		return head, size, err
	}
	rest, err := io.Copy(io.Discard, r)
	return head, size + rest, err
}
