package iochan

import (
	"context"
	"encoding/base64"
	"encoding/json"

	"github.com/strobe-debug/strobe/internal/event"
)

// Channels that every session has. What comes out of them are kinds of events of their own.

var stdioKind = Kind{
	Name: "stdio", Doc: "Standard input, output and error of the program that was launched.", Always: true,
	Messages: []Spec{
		{"text", "writes to standard input", []Field{{Name: "text", Type: "string", Required: true, Doc: "what is written"},
			{Name: "eof", Type: "boolean", Doc: "then closes it"}}},
		{"bytes", "writes bytes", []Field{{Name: "base64", Type: "string", Required: true, Doc: "what is written"}}},
		{"eof", "closes standard input", nil},
	},
	New: func(string, json.RawMessage) (Channel, error) { return &stdio{}, nil },
}

var traceKind = Kind{
	Name: "trace", Doc: "Calls of traced functions; debug_trace says which.", Always: true,
	New: func(string, json.RawMessage) (Channel, error) { return &calls{name: "trace"}, nil },
}

var socketsKind = Kind{
	Name: "sockets", Always: true,
	Doc: "What the program itself does on the network, by its system calls; recorded while pattern @sockets is traced " +
		"(debug_launch.trace), @sockets:N with the first N bytes of each message.",
	Heard: []Field{
		{Name: "what", Type: "string", Enum: []string{"bind", "listen", "connect", "accept", "send", "receive", "shutdown",
			"close"}, Doc: "a call that would have had to wait is not told"},
		{Name: "direction", Type: "string", Enum: []string{event.In, event.Out}, Doc: "as the target sees it"},
		{Name: "call", Type: "string", Doc: "sendto, read, …; SSL_write and its kin: clear text, beside what was sent"},
		{Name: "fd", Type: "integer", Doc: "descriptor; -1: not known, of clear text"},
		{Name: "connection", Type: "integer", Doc: "its number in the session, from 1 on"},
		{Name: "transport", Type: "string", Doc: "tcp, udp, unix, …"},
		{Name: "local", Type: "string", Doc: "address: HOST:PORT, a path, @NAME"},
		{Name: "peer", Type: "string", Doc: "the other's"},
		{Name: "bytes", Type: "integer", Doc: "that were sent or came; 0: the other has closed"},
		{Name: "durationNs", Type: "integer", Doc: "of the call, where it is known"},
		{Name: "tls", Type: "boolean", Doc: "clear text"},
		{Name: "proto", Type: "string", Doc: "what the message was recognised as: HTTP/1.1, HTTP/2, redis, postgres, TLS"},
		{Name: "method", Type: "string", Doc: "of a request"},
		{Name: "path", Type: "string", Doc: "with its query"},
		{Name: "host", Type: "string", Doc: "that a request names"},
		{Name: "status", Type: "integer", Doc: "of an answer"},
		{Name: "command", Type: "string", Doc: "of Redis or Postgres; passwords are left out"},
		{Name: "answer", Type: "string", Doc: "to one; of HTTP/2 how a call of gRPC ended, or its stream"},
		{Name: "trace", Type: "string", Doc: "that an HTTP request names: traceparent, X-Request-Id and its kin"},
		{Name: "more", Type: "list", Doc: "of further messages in the same bytes: at, method, path, status, command, answer"},
		{Name: "at", Type: "integer", Doc: "where in the bytes it began, of HTTP/2"},
		{Name: "streamId", Type: "integer", Doc: "of HTTP/2"},
		{Name: "ends", Type: "boolean", Doc: "all was sent that this side sends in the stream: streamBytes"},
		{Name: "streamBytes", Type: "integer", Doc: "of the stream's frames"},
		{Name: "error", Type: "string", Doc: "why it failed: ECONNREFUSED"},
		{Name: "text", Type: "string", Doc: "with @sockets:N: the first bytes"},
		{Name: "base64", Type: "string", Doc: "instead of text"},
		{Name: "bytesIn", Type: "integer", Doc: "close: of all of the connection"},
		{Name: "bytesOut", Type: "integer", Doc: "close"},
		{Name: "receives", Type: "integer", Doc: "close: how many calls"},
		{Name: "sends", Type: "integer", Doc: "close"},
		{Name: "atExit", Type: "boolean", Doc: "close: the process ended with it open"},
	},
	New: func(string, json.RawMessage) (Channel, error) { return &calls{name: "sockets"}, nil },
}

var goroutinesKind = Kind{
	Name: "goroutines", Always: true,
	Doc: "What goroutines of a Go program do; recorded while pattern @goroutines is traced. The event's thread is the " +
		"goroutine; of go the one that makes another.",
	Heard: []Field{
		{Name: "what", Type: "string", Enum: []string{"go", "wait", "resume", "end"},
			Doc: "waits for Go channels are told by gochannels, where @channels is traced, too"},
		{Name: "goroutine", Type: "integer", Doc: "go: that was made"},
		{Name: "function", Type: "string", Doc: "go: of it"},
		{Name: "place", Type: "string", Doc: "go: FILE:LINE of the statement"},
		{Name: "reason", Type: "string", Doc: "wait: in the runtime's words"},
		{Name: "on", Type: "string", Doc: "wait: address of a Go channel, or of the word of a mutex, group or the like"},
		{Name: "waitedNs", Type: "integer", Doc: "resume"},
		{Name: "wokenBy", Type: "integer", Doc: "resume: by which goroutine; none: a timer, the network or the runtime"},
	},
	New: func(string, json.RawMessage) (Channel, error) { return &calls{name: "goroutines"}, nil },
}

var threadsKind = Kind{
	Name: "threads", Always: true,
	Doc: "When each thread ran, was kept from a CPU and waited; recorded while pattern @switches is traced. An event " +
		"has many intervals of one thread; view threads sums them.",
	Heard: []Field{
		{Name: "what", Type: "string", Enum: []string{"ran", "lost", "end"}, Doc: "end: nothing more is recorded"},
		{Name: "fromNs", Type: "integer", Doc: "when the first interval begins; they end at the event's time"},
		{Name: "runningNs", Type: "integer"},
		{Name: "runnableNs", Type: "integer", Doc: "kept from a CPU by others"},
		{Name: "blockedNs", Type: "integer", Doc: "with the moment from being woken to getting a CPU"},
		{Name: "switches", Type: "integer", Doc: "away from a CPU"},
		{Name: "preempted", Type: "integer", Doc: "of them, while it could go on"},
		{Name: "then", Type: "string", Doc: "what it does from the end on; none: it has ended"},
		{Name: "waits", Type: "list", Doc: "of those over 20 ms: atNs, when it began; why"},
		{Name: "by", Type: "string", Enum: []string{"perf", "proc"}, Doc: "proc: only sums are exact"},
		{Name: "count", Type: "integer", Doc: "lost: so many records"},
		{Name: "packed", Type: "string", Doc: "the intervals, for exports; verbose"},
	},
	New: func(string, json.RawMessage) (Channel, error) { return &calls{name: "threads"}, nil },
}

var goChannelsKind = Kind{
	Name: "gochannels", Always: true,
	Doc: "What a Go program does to its channels; recorded while pattern @channels is traced. An operation is told at " +
		"its end, and that it has to wait when it begins to.",
	Heard: []Field{
		{Name: "what", Type: "string", Enum: []string{"send", "receive", "select", "close", "try to send", "try to receive",
			"wait to send", "wait to receive", "wait to select"}, Doc: "try: it would have had to wait"},
		{Name: "on", Type: "string", Doc: "the channel's address"},
		{Name: "len", Type: "integer", Doc: "in its buffer before"},
		{Name: "cap", Type: "integer", Doc: "of its buffer"},
		{Name: "cases", Type: "list", Doc: "of a select: send or receive and the address, the first 8"},
		{Name: "more", Type: "integer", Doc: "further cases"},
		{Name: "chosen", Type: "string", Doc: "of cases, or default"},
		{Name: "ok", Type: "boolean", Doc: "of a receive: false where the channel is closed and empty"},
		{Name: "place", Type: "string", Doc: "FILE:LINE"},
		{Name: "waitedNs", Type: "integer", Doc: "for the others"},
		{Name: "wokenBy", Type: "integer", Doc: "by which goroutine; none: a timer or the runtime"},
	},
	New: func(string, json.RawMessage) (Channel, error) { return &calls{name: "gochannels"}, nil },
}

// stdio sends to standard input; output is told by the session's own streams.
type stdio struct{ t Target }

func (*stdio) Name() string { return "stdio" }
func (*stdio) Close() error { return nil }
func (c *stdio) Open(_ context.Context, t Target, _ Out) error {
	c.t = t
	return nil
}

func (c *stdio) Send(ctx context.Context, m Message) (any, error) {
	var b struct {
		Text, Base64 string
		EOF          bool
	}
	if err := m.Into(&b); err != nil {
		return nil, err
	}
	if m.Do == "bytes" {
		raw, err := base64.StdEncoding.DecodeString(b.Base64)
		if err != nil {
			return nil, invalid("Encode it with the standard alphabet and padding.", "base64: %w", err)
		}
		b.Text = string(raw)
	}
	n, err := c.t.Input(ctx, b.Text, b.EOF || m.Do == "eof")
	if err != nil {
		return nil, err
	}
	return map[string]int{"bytes": n}, nil
}

// calls are observed only, by collectors.
type calls struct{ name string }

func (c calls) Name() string                             { return c.name }
func (calls) Open(context.Context, Target, Out) error    { return nil }
func (calls) Close() error                               { return nil }
func (calls) Send(context.Context, Message) (any, error) { return nil, nil }
