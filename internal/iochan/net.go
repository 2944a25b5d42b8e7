package iochan

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/fault"
)

// The net channel is a client of the target's port, a server on the loopback interface that the target can be sent to,
// and, with the option relay, a port in front of the target's through which others can reach it observed. What the
// program does on sockets that it was not given so is not seen.

const (
	defaultWithin = 5000 // milliseconds
	// maxBody bounds what of a body an event shows, and maxRead what is read of one.
	maxBody = 8 << 10
	maxRead = 64 << 20
	// maxConns bounds the connections that one channel has open by connect.
	maxConns = 64
)

var (
	withinField = Field{Name: "withinMs", Type: "integer", Min: 1, Max: 120_000, Default: "5000",
		Doc: "for the target to listen, and then to answer"}
	nameField = Field{Name: "name", Type: "string", Default: "1", Doc: "of the connection"}
)

var netKind = Kind{
	Name: "net", Arg: "PORT",
	Doc: "The network: requests to the port that the target listens on, a server on loopback that answers it (its " +
		"address: variables net.url, net.host, net.port), faults.",
	Options: []Field{{Name: "relay", Type: "boolean",
		Doc: "a loopback port in front of the target's, for other clients: variable net.relay has host:port"}},
	Messages: []Spec{
		{"request", "HTTP to the target; the answer is the message's answer, and an event", []Field{
			{Name: "path", Type: "string", Default: "/", Doc: "with its query"},
			{Name: "url", Type: "string", Doc: "instead of path: to anywhere on loopback"},
			{Name: "method", Type: "string", Default: "GET", Doc: "any"},
			{Name: "headers", Type: "strings", Doc: "of the request"},
			{Name: "body", Type: "string", Doc: "text"},
			{Name: "json", Type: "any", Doc: "instead of body"},
			{Name: "tls", Type: "boolean", Doc: "HTTPS; the certificate is not checked"},
			withinField}},
		{"connect", "opens a TCP connection to the target; what comes is told as receive", []Field{nameField,
			{Name: "udp", Type: "boolean", Doc: "a UDP socket instead; it does not wait for the target"},
			{Name: "webSocket", Type: "string", Doc: "a path: a WebSocket there"},
			withinField}},
		{"send", "sends on a connection", []Field{nameField, {Name: "text", Type: "string", Doc: "what"},
			{Name: "base64", Type: "string", Doc: "instead of text"}}},
		{"close", "closes a connection", []Field{nameField}},
		{"serve", "adds an answer of the server; the first that matches and has times left is given, else 404", []Field{
			{Name: "match", Type: "strings", Doc: "method, path (* stands for anything); none: every request"},
			{Name: "status", Type: "integer", Min: 100, Max: 599, Default: "200", Doc: "of the answer"},
			{Name: "headers", Type: "strings", Doc: "of the answer"},
			{Name: "body", Type: "string", Doc: "text"}, {Name: "json", Type: "any", Doc: "instead of body"},
			{Name: "delayMs", Type: "integer", Max: 120_000, Doc: "before the answer"},
			{Name: "times", Type: "integer", Max: 1 << 30, Default: "0", Doc: "how often; 0: always"}}},
		{"fault", "from now on, on all connections of the channel; none of them: no fault any more", []Field{
			{Name: "delayMs", Type: "integer", Max: 60_000, Doc: "before each piece that the target sends or is sent"},
			{Name: "drop", Type: "boolean", Doc: "bytes vanish, the connection stays"},
			{Name: "reset", Type: "boolean", Doc: "the connection is reset at the next byte"},
			{Name: "refuse", Type: "boolean", Doc: "new connections are closed at once"},
			{Name: "bytesPerSecond", Type: "integer", Min: 1, Max: 1 << 40, Doc: "at most, each way"}}},
	},
	Heard: []Field{
		{Name: "what", Type: "string", Enum: []string{"request", "answer", "connect", "receive", "send", "close",
			"connection", "error", "fault", "serve"}, Doc: "connection: the end of one through the relay"},
		{Name: "direction", Type: "string", Enum: []string{event.In, event.Out}, Doc: "as the target sees it"},
		{Name: "method", Type: "string", Doc: "of a request, and of what it is answered with"},
		{Name: "path", Type: "string", Doc: "with its query"}, {Name: "host", Type: "string", Doc: "as the client said"},
		{Name: "status", Type: "integer", Doc: "of an answer"}, {Name: "proto", Type: "string", Doc: "HTTP/1.1, HTTP/2.0"},
		{Name: "headers", Type: "object", Doc: "by name"},
		{Name: "body", Type: "string", Doc: "at most 8 KB; body.a.b goes into JSON"},
		{Name: "base64", Type: "string", Doc: "instead of body or text, where it is no text"},
		{Name: "bytes", Type: "integer", Doc: "of the body, or of the piece"},
		{Name: "bytesIn", Type: "integer", Doc: "of a connection, to the target"},
		{Name: "bytesOut", Type: "integer", Doc: "of a connection, from the target"},
		{Name: "ms", Type: "integer", Doc: "from the request's beginning to the end"},
		{Name: "firstByteUs", Type: "integer", Doc: "microseconds to the first byte"},
		{Name: "name", Type: "string", Doc: "of the connection"}, {Name: "text", Type: "string", Doc: "that came"},
		{Name: "error", Type: "string", Doc: "why it failed"},
	},
	New: newNetwork,
}

func newNetwork(arg string, options json.RawMessage) (Channel, error) {
	n := &network{conns: map[string]*peer{}, served: make(chan struct{})}
	if arg != "" {
		port, err := strconv.Atoi(arg)
		if err != nil || port < 1 || port > 65535 {
			return nil, invalid("Write net:8080, or net for the one that the target listens on.", "%q is no port", arg)
		}
		n.port, n.arg = port, ":"+arg
	}
	var o struct{ Relay bool }
	if len(options) > 0 {
		if err := json.Unmarshal(options, &o); err != nil {
			return nil, invalid("See debug_channel list.", "options: %w", err)
		}
	}
	n.relay = o.Relay
	return n, nil
}

// network is a net channel.
//
// Locks: mu is a leaf. Goroutines: one for each connection, two for one of the relay; Close ends and waits for all.
type network struct {
	arg    string
	port   int // 0: the only one that the target listens on
	relay  bool
	target Target
	out    Out
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	wg     sync.WaitGroup
	faults faults

	served   chan struct{} // closed when there is an answer to give
	serving  sync.Once     // of served
	server   net.Listener
	http     *http.Server
	relaying net.Listener

	mu     sync.Mutex
	found  string           // where the target listened; looking for that takes long where there are many sockets
	conns  map[string]*peer // by name
	serves []*serving
	live   map[net.Conn]bool
	closed bool
}

// netEvent is what an event of the channel shows.
type netEvent struct {
	What      string            `json:"what"`
	Direction string            `json:"direction"`
	Method    string            `json:"method,omitempty"`
	Host      string            `json:"host,omitempty"`
	Path      string            `json:"path,omitempty"`
	Status    int               `json:"status,omitempty"`
	Proto     string            `json:"proto,omitempty"`
	Headers   map[string]string `json:"headers,omitempty"`
	Body      string            `json:"body,omitempty"`
	Text      string            `json:"text,omitempty"`
	Base64    string            `json:"base64,omitempty"`
	Bytes     *int64            `json:"bytes,omitempty"`
	BytesIn   *int64            `json:"bytesIn,omitempty"`
	BytesOut  *int64            `json:"bytesOut,omitempty"`
	MS        *int64            `json:"ms,omitempty"`
	FirstByte *int64            `json:"firstByteUs,omitempty"`
	Name      string            `json:"name,omitempty"`
	Error     string            `json:"error,omitempty"`
}

func (n *network) Name() string { return "net" + n.arg }

// Open implements Channel: the server listens before the program is there, so that its address can be told to it.
func (n *network) Open(_ context.Context, t Target, out Out) error {
	n.target, n.out = t, out
	n.ctx, n.cancel = context.WithCancel(context.Background())
	n.live = map[net.Conn]bool{}
	var err error
	if n.server, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return noLoopback(err)
	}
	n.http = &http.Server{Handler: http.HandlerFunc(n.answer), ReadHeaderTimeout: time.Minute,
		Protocols: new(http.Protocols)}
	n.http.Protocols.SetHTTP1(true)
	n.http.Protocols.SetUnencryptedHTTP2(true)
	n.wg.Go(func() { n.http.Serve(&faultyListener{n.server, n}) }) //nolint:errcheck // it ends with Close
	if !n.relay {
		return nil
	}
	if n.relaying, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return noLoopback(err)
	}
	n.wg.Go(n.acceptRelayed)
	return nil
}

func noLoopback(err error) error {
	return fault.New(fault.Unsupported, "See whether the loopback interface is up (ip addr).", "listen on loopback: %w",
		err)
}

// Variables implements Variabler.
func (n *network) Variables() map[string]string {
	host, port, err := net.SplitHostPort(n.server.Addr().String())
	if err != nil {
		return nil
	}
	v := map[string]string{"url": "http://" + n.server.Addr().String(), "host": host, "port": port}
	if n.relaying != nil {
		v["relay"] = n.relaying.Addr().String()
	}
	return v
}

// Send implements Channel.
func (n *network) Send(ctx context.Context, m Message) (any, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(n.ctx, cancel)()
	switch m.Do {
	case "request":
		return n.request(ctx, m)
	case "connect":
		return n.connect(ctx, m)
	case "send", "close":
		return n.sendOn(m)
	case "serve":
		return n.serve(m)
	}
	return nil, n.faults.set(m)
}

// Close implements Channel.
func (n *network) Close() error {
	if n.cancel == nil {
		return nil
	}
	n.cancel()
	n.mu.Lock()
	n.closed = true
	for c := range n.live {
		c.Close()
	}
	n.mu.Unlock()
	var errs []error
	if n.http != nil {
		if err := n.http.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	if n.relaying != nil {
		errs = append(errs, n.relaying.Close())
	}
	n.wg.Wait()
	return errors.Join(errs...)
}

// keep notes a connection, which Close closes; false where it did so already.
func (n *network) keep(c net.Conn) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		c.Close()
		return false
	}
	n.live[c] = true
	return true
}

func (n *network) drop(c net.Conn) {
	n.mu.Lock()
	delete(n.live, c)
	n.mu.Unlock()
	c.Close()
}

// dial connects to the target, when it listens. within bounds the wait.
func (n *network) dial(ctx context.Context, within time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	n.mu.Lock()
	addr := n.found
	n.mu.Unlock()
	known := addr != ""
	var err error
	if !known {
		if addr, err = n.listening(ctx, within); err != nil {
			return nil, err
		}
	}
	if n.faults.now().Refuse {
		n.tell(netEvent{What: "fault", Direction: event.In, Error: "refused"})
		return nil, fault.New(fault.WriteFailed, "Send fault without fields to end it.",
			"the connection is refused, as fault says")
	}
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", addr)
	if err == nil || !known {
		n.mu.Lock()
		n.found = addr
		n.mu.Unlock()
	}
	if err != nil && known { // it has moved, or ended
		n.mu.Lock()
		n.found = ""
		n.mu.Unlock()
		return n.dial(ctx, within)
	}
	if err != nil {
		return nil, fault.New(fault.WriteFailed, "See debug_session status: the program may have ended.", "connect to %s: %w",
			addr, err)
	}
	return &faultyConn{Conn: c, n: n}, nil
}

// pollListen is how often a target is looked at that does not listen yet.
const pollListen = 5 * time.Millisecond

// listening waits until the target listens, and returns where.
func (n *network) listening(ctx context.Context, within time.Duration) (string, error) {
	for {
		addr, ports, err := n.look()
		if addr != "" || err != nil {
			return addr, err
		}
		select {
		case <-time.After(pollListen):
		case <-ctx.Done():
			if n.ctx.Err() != nil {
				return "", fault.New(fault.ProcessExited, "Launch it again.", "the channel was closed meanwhile")
			}
			hint := "Raise withinMs, or name its port: net:PORT."
			if len(ports) > 0 {
				hint = "It listens on " + joinInts(ports) + ": name one, net:PORT."
			}
			if len(n.target.PIDs()) == 0 {
				return "", fault.New(fault.ProcessExited, "Launch it again.", "the program has ended and listens nowhere")
			}
			what := "on any port"
			if n.port != 0 {
				what = "on port " + strconv.Itoa(n.port)
			}
			return "", fault.New(fault.ReadFailed, hint, "the program did not listen %s within %v", what, within)
		}
	}
}

// look returns where the target listens, "" for nowhere yet, and the ports that it listens on in all.
func (n *network) look() (addr string, ports []int, err error) {
	for _, l := range listeners(n.target.PIDs()) {
		ports = append(ports, l.port)
		if n.port == 0 || l.port == n.port {
			if addr == "" || l.port == n.port {
				addr = l.dial()
			}
		}
	}
	if n.port == 0 {
		if ports = distinct(ports); len(ports) > 1 {
			return "", ports, invalid("Name one: net:PORT.", "the program listens on several ports: %s", joinInts(ports))
		}
	}
	return addr, ports, nil
}

func (n *network) tell(e netEvent) {
	stream := "answers"
	switch e.What {
	case "request":
		stream = "requests"
	case "connect", "receive", "close", "connection":
		stream = "connections"
	case "fault", "error":
		stream = "faults"
	}
	n.out(Heard{Stream: stream, Direction: e.Direction, What: e})
}

// pointers to what may be 0 and is told all the same
func since(t time.Time) *int64 {
	ms := time.Since(t).Milliseconds()
	return &ms
}

func count(n int) *int64 {
	v := int64(n)
	return &v
}
