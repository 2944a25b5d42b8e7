package iochan

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/websocket"
)

// body is what a message's body, json, text or base64 say.
type body struct {
	Body, Text, Base64 string
	JSON               json.RawMessage
}

func (b *body) bytes() ([]byte, error) {
	switch {
	case b.Base64 != "":
		raw, err := base64.StdEncoding.DecodeString(b.Base64)
		if err != nil {
			return nil, invalid("Encode it with the standard alphabet and padding.", "base64: %w", err)
		}
		return raw, nil
	case len(b.JSON) > 0:
		return b.JSON, nil
	}
	return []byte(b.Body + b.Text), nil
}

// request sends an HTTP request and tells of its answer.
func (n *network) request(ctx context.Context, m Message) (any, error) {
	r := struct {
		Path, URL, Method string
		Headers           map[string]string
		TLS               bool
		WithinMs          int
		body
	}{Path: "/", Method: "GET", WithinMs: defaultWithin}
	if err := m.Into(&r); err != nil {
		return nil, err
	}
	content, err := r.bytes()
	if err != nil {
		return nil, err
	}
	within := time.Duration(r.WithinMs) * time.Millisecond
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	address := "http://localhost" + r.Path
	if r.URL != "" {
		address = r.URL
	} else if n.port != 0 {
		address = "http://localhost:" + strconv.Itoa(n.port) + r.Path
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, address, bytes.NewReader(content))
	if err != nil || !loopback(req.URL.Hostname()) {
		return nil, invalid("Give path for the target, or a url on localhost.",
			"%.80q is no address on this machine", address)
	}
	if len(r.JSON) > 0 {
		req.Header.Set("Content-Type", "application/json")
	}
	for name, v := range r.Headers {
		if strings.EqualFold(name, "host") {
			req.Host = v
		}
		req.Header.Set(name, v)
	}
	conn, err := n.reach(ctx, req, r.URL != "", r.TLS || req.URL.Scheme == "https", within)
	if err != nil {
		return nil, n.failed(r.Method, r.Path, began, err)
	}
	defer conn.Close()
	res, first, err := exchange(ctx, conn, req)
	if err != nil {
		return nil, n.failed(r.Method, r.Path, began, err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, maxRead))
	e := netEvent{What: "answer", Direction: event.Out, Method: r.Method, Path: r.Path, Status: res.StatusCode,
		Proto: res.Proto, Headers: flat(res.Header), Bytes: count(len(data)), MS: since(began)}
	us := first.Microseconds()
	e.FirstByte = &us
	e.setBody(data)
	if err != nil {
		e.Error = "the body was cut off: " + err.Error()
	}
	n.tell(e)
	return e, nil
}

// reach connects to where a request goes: the target, or anywhere on this machine.
func (n *network) reach(ctx context.Context, req *http.Request, elsewhere, secure bool, within time.Duration) (net.Conn,
	error) {
	var c net.Conn
	var err error
	if elsewhere {
		port := req.URL.Port()
		if port == "" {
			port = "80"
		}
		var d net.Dialer
		c, err = d.DialContext(ctx, "tcp", net.JoinHostPort(req.URL.Hostname(), port))
	} else {
		c, err = n.dial(ctx, within)
	}
	if err != nil || !secure {
		return c, err
	}
	t := tls.Client(c, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // whatever the target shows, on loopback
	if err := t.HandshakeContext(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return t, nil
}

// exchange sends a request, and reads its answer's head; first is how long that took to begin. When ctx ends, so does
// the connection, and the reading of the body.
func exchange(ctx context.Context, c net.Conn, req *http.Request) (*http.Response, time.Duration, error) {
	context.AfterFunc(ctx, func() { c.SetDeadline(time.Unix(1, 0)) }) //nolint:errcheck // it is over then
	began := time.Now()
	req.Close = req.Header.Get("Connection") == ""
	sent := make(chan error, 1)
	go func() { sent <- req.Write(c) }() // an answer may come before all is sent
	r := bufio.NewReader(c)
	_, err := r.Peek(1)
	first := time.Since(began)
	var res *http.Response
	for err == nil {
		res, err = http.ReadResponse(r, req)
		if err != nil || res.StatusCode >= 200 || res.StatusCode == http.StatusSwitchingProtocols {
			break // else it is only told that one is to come
		}
	}
	if err != nil {
		c.Close()
		if e := <-sent; e != nil {
			err = errors.Join(err, e)
		}
		if ctx.Err() != nil {
			err = ctx.Err()
		} else if errors.Is(err, io.EOF) {
			err = errors.New("the program closed the connection without an answer")
		}
	}
	return res, first, err
}

// failed tells that no answer came, and why.
func (n *network) failed(method, path string, began time.Time, err error) error {
	n.tell(netEvent{What: "error", Direction: event.Out, Method: method, Path: path, MS: since(began), Error: err.Error()})
	var f *fault.Error
	switch {
	case errors.As(err, &f):
		return f
	case errors.Is(err, context.DeadlineExceeded):
		return fault.New(fault.ReadFailed, "debug_session status with threads shows what it waits for; or raise withinMs.",
			"%s %s: the program took the connection and did not answer in %d ms", method, path, *since(began))
	}
	return fault.New(fault.ReadFailed, "See debug_query for what the program did meanwhile.", "%s %s: %w", method,
		path, err)
}

func (e *netEvent) setBody(data []byte) {
	if isText(data) {
		e.Body = cutText(string(data), maxBody)
		return
	}
	e.Base64 = base64.StdEncoding.EncodeToString(data[:min(len(data), maxBody)])
}

// flat has one text for each header.
func flat(h http.Header) map[string]string {
	out := make(map[string]string, len(h))
	for name, v := range h {
		out[name] = cutText(strings.Join(v, ", "), 1<<10)
	}
	return out
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// peer is a connection that connect opened.
type peer struct {
	conn net.Conn
	ws   *websocket.Conn // nil: a stream of bytes
}

// connect opens a connection, of which a goroutine tells what comes.
func (n *network) connect(ctx context.Context, m Message) (any, error) {
	r := struct {
		Name      string
		UDP       bool
		WebSocket string
		WithinMs  int
	}{Name: "1", WithinMs: defaultWithin}
	if err := m.Into(&r); err != nil {
		return nil, err
	}
	n.mu.Lock()
	there, many := n.conns[r.Name] != nil, len(n.conns) >= maxConns
	n.mu.Unlock()
	if there || many {
		return nil, invalid("Close it first, or give another name.", "connection %q is open, of %d", r.Name, maxConns)
	}
	within := time.Duration(r.WithinMs) * time.Millisecond
	var p peer
	var err error
	switch {
	case r.UDP && n.port == 0:
		return nil, invalid("Add net:PORT.", "a UDP socket needs the port of the target")
	case r.UDP:
		p.conn, err = net.Dial("udp", net.JoinHostPort("127.0.0.1", strconv.Itoa(n.port)))
	default:
		p.conn, err = n.dial(ctx, within)
	}
	if err == nil && r.WebSocket != "" {
		if p.ws, err = websocket.Upgrade(p.conn, r.WebSocket, within); err != nil {
			p.conn.Close()
		}
	}
	if err != nil {
		return nil, n.failed("connect", r.WebSocket, time.Now(), err)
	}
	if !n.keep(p.conn) {
		return nil, errNotStarted()
	}
	n.mu.Lock()
	n.conns[r.Name] = &p
	n.mu.Unlock()
	n.wg.Go(func() { n.receive(r.Name, &p) })
	return map[string]string{"name": r.Name, "local": p.conn.LocalAddr().String(),
		"remote": p.conn.RemoteAddr().String()}, nil
}

// receive tells what comes on a connection until it ends.
func (n *network) receive(name string, p *peer) {
	began := time.Now()
	total := 0
	buf := make([]byte, maxBody)
	var err error
	for err == nil {
		var data []byte
		if p.ws != nil {
			data, err = p.ws.Read()
		} else {
			var k int
			k, err = p.conn.Read(buf)
			data = buf[:k]
		}
		if len(data) > 0 {
			total += len(data)
			e := netEvent{What: "receive", Direction: event.Out, Name: name, Bytes: count(len(data))}
			if isText(data) {
				e.Text = cutText(string(data), maxBody)
			} else {
				e.Base64 = base64.StdEncoding.EncodeToString(data[:min(len(data), maxBody)])
			}
			n.tell(e)
		}
	}
	n.mu.Lock()
	if n.conns[name] == p {
		delete(n.conns, name)
	}
	n.mu.Unlock()
	n.drop(p.conn)
	e := netEvent{What: "close", Direction: event.Out, Name: name, BytesOut: count(total), MS: since(began)}
	if !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) {
		e.Error = err.Error()
	}
	n.tell(e)
}

// sendOn sends on a connection, or closes it.
func (n *network) sendOn(m Message) (any, error) {
	r := struct {
		Name string
		body
	}{Name: "1"}
	if err := m.Into(&r); err != nil {
		return nil, err
	}
	n.mu.Lock()
	p := n.conns[r.Name]
	var names []string
	for name := range n.conns {
		names = append(names, name)
	}
	n.mu.Unlock()
	if p == nil {
		slices.Sort(names)
		return nil, fault.New(fault.WriteFailed, "Send connect first. Open: "+strings.Join(names, ", ")+".",
			"connection %q is not open", r.Name)
	}
	if m.Do == "close" {
		return nil, p.conn.Close()
	}
	data, err := r.bytes()
	if err != nil {
		return nil, err
	}
	p.conn.SetWriteDeadline(time.Now().Add(defaultWithin * time.Millisecond)) //nolint:errcheck // the write says so
	if p.ws != nil {
		err = p.ws.Write(data)
	} else {
		_, err = p.conn.Write(data)
	}
	if err != nil {
		return nil, fault.New(fault.WriteFailed, "See debug_query: the program may have closed it.", "send on %q: %w",
			r.Name, err)
	}
	return map[string]int{"bytes": len(data)}, nil
}
