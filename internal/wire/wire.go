// Package wire tells what the first bytes of a message on a connection say: HTTP/1 and HTTP/2 requests and answers,
// Redis' and Postgres' commands and answers, TLS. It is pure: bytes in, fields out. The native runtime asks
// it of what a program sent and received (collector/native).
//
// Nothing is guessed from a port. Answers of protocols whose answers could be anything are only read where the
// connection's client spoke the protocol before. What may be a password is never told.
package wire

import (
	"bytes"
	"encoding/binary"
	"strconv"
	"strings"
)

// Message is what the head of one said. Proto is empty where nothing was recognised.
type Message struct {
	Proto   string `json:"proto,omitempty"` // HTTP/1.1, HTTP/2, redis, postgres, TLS
	Method  string `json:"method,omitempty"`
	Path    string `json:"path,omitempty"` // with its query
	Host    string `json:"host,omitempty"`
	Status  int    `json:"status,omitempty"`
	Command string `json:"command,omitempty"` // of Redis or Postgres, cut at MaxCommand bytes
	Answer  string `json:"answer,omitempty"`  // to one: its first line
	Trace   string `json:"trace,omitempty"`   // that an HTTP request names: traceparent, or X-Request-Id and its kin
	More    []Part `json:"more,omitempty"`    // messages that began in the same bytes: pipelining, streams

	// Of HTTP/2; see Part.
	At          int64  `json:"at,omitempty"`
	Stream      uint32 `json:"streamId,omitempty"`
	End         bool   `json:"ends,omitempty"`
	StreamBytes int64  `json:"streamBytes,omitempty"`
}

// Part is the message without those behind it.
func (m *Message) Part() Part {
	return Part{m.At, m.Method, m.Path, m.Status, m.Command, m.Answer, m.Trace, m.Stream, m.End, m.StreamBytes}
}

// Part is a further message of the same protocol.
type Part struct {
	At      int64  `json:"at"` // offset of its first byte
	Method  string `json:"method,omitempty"`
	Path    string `json:"path,omitempty"`
	Status  int    `json:"status,omitempty"`
	Command string `json:"command,omitempty"`
	Answer  string `json:"answer,omitempty"`
	Trace   string `json:"trace,omitempty"`

	// Of HTTP/2, in which Answer is how a call of gRPC, or the stream, ended.
	Stream      uint32 `json:"streamId,omitempty"`
	End         bool   `json:"ends,omitempty"`        // with At ends what its sender sends in it
	StreamBytes int64  `json:"streamBytes,omitempty"` // with End: all that went so in its frames
}

// Conn is what is known of a connection from what went through it. The zero value: nothing.
type Conn struct {
	proto  string
	h2     *[2]frames // what came, what was sent; nil: it is not HTTP/2
	client bool       // of HTTP/2: the program is
}

// MaxCommand bounds Message.Command and Message.Answer.
const MaxCommand = 200

// Look reads the first bytes of a message of size bytes that the program sent (out) or got. The rest of one that came
// in several pieces says nothing, but for HTTP/2, of which more may have what is known behind head: frames, but of
// bodies and the like only their heads.
func (c *Conn) Look(head, more []byte, size int64, out bool) Message {
	if c.h2 != nil {
		m, _ := c.http2(head, more, size, out)
		return m
	}
	m := c.one(head, size)
	if m.Proto == "" {
		if two, ok := c.http2(head, more, size, out); ok {
			return two
		}
	}
	for end := m.end(head); end > 0 && end < len(head); {
		head, size = head[end:], size-int64(end)
		next := c.one(head, size)
		if next.Proto == "" {
			break
		}
		at := int64(end)
		if n := len(m.More); n > 0 {
			at += m.More[n-1].At
		}
		part := next.Part()
		part.At = at
		m.More = append(m.More, part)
		end = next.end(head)
	}
	return m
}

// end is where a message ends, if that is known and within its first bytes; else 0.
func (m *Message) end(head []byte) int {
	switch {
	case m.Proto == "redis":
		return redisEnd(head, 0)
	case strings.HasPrefix(m.Proto, "HTTP/1."):
		return httpEnd(head, m.Status)
	}
	return 0
}

// one reads what begins at the first byte.
func (c *Conn) one(head []byte, size int64) Message {
	for _, read := range []func([]byte, int64) (Message, bool){http, tls, c.redis, c.postgres} {
		if m, ok := read(head, size); ok {
			if m.Proto == "redis" || m.Proto == "postgres" {
				c.proto = m.Proto
			}
			return m
		}
	}
	return Message{}
}

// methods are those that requests begin with.
var methods = []string{"GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "PROPFIND"}

// http reads a request's or an answer's first line, and the host that a request names.
func http(b []byte, _ int64) (m Message, ok bool) {
	line, rest, whole := bytes.Cut(b, []byte("\n"))
	text := strings.TrimSuffix(string(line), "\r")
	if after, found := strings.CutPrefix(text, "HTTP/1."); found && len(after) >= 5 && after[1] == ' ' {
		status, err := strconv.Atoi(after[2:5])
		return Message{Proto: "HTTP/1." + after[:1], Status: status}, err == nil && status >= 100
	}
	method, after, _ := strings.Cut(text, " ")
	known := false
	for _, k := range methods {
		known = known || k == method
	}
	path, proto, _ := strings.Cut(after, " ")
	known = known && (strings.HasPrefix(path, "/") || path == "*" || strings.Contains(path, "://") || method == "CONNECT")
	if !known || path == "" || whole && !strings.HasPrefix(proto, "HTTP/1.") {
		return m, false
	}
	m = Message{Proto: "HTTP/1.1", Method: method, Path: cut(path)}
	if whole {
		m.Proto = proto
	}
	headers(rest, func(name, value string) {
		switch {
		case name == "host":
			m.Host = cut(value)
		case name == "traceparent", tracing[name] && m.Trace == "":
			m.Trace = cut(value)
		}
	})
	return m, true
}

// tracing are headers beside traceparent that services hand on with the requests that they make for one.
var tracing = map[string]bool{"x-request-id": true, "x-correlation-id": true, "x-b3-traceid": true, "b3": true,
	"x-amzn-trace-id": true}

// headers tells the headers in the lines behind the first, by small names, and how long those and the empty line are; 0
// where that is not there.
func headers(rest []byte, tell func(name, value string)) int {
	for at := 0; ; {
		line, _, whole := bytes.Cut(rest[at:], []byte("\n"))
		if at += len(line) + 1; !whole {
			return 0
		}
		name, value, colon := strings.Cut(strings.TrimSpace(string(line)), ":")
		if name == "" && !colon {
			return at
		}
		if !colon {
			return 0
		}
		tell(strings.ToLower(name), strings.TrimSpace(value))
	}
}

// httpEnd is the length of a message of HTTP/1 whose headers are all there and say it; 0 else.
func httpEnd(b []byte, status int) int {
	line, rest, _ := bytes.Cut(b, []byte("\n"))
	length := 0
	if status >= 200 && status != 204 && status != 304 {
		length = -1 // until the connection's end, where nothing says more
	}
	n := headers(rest, func(name, value string) {
		switch name {
		case "content-length":
			var err error
			if length, err = strconv.Atoi(value); err != nil {
				length = -1
			}
		case "transfer-encoding":
			length = -1
		}
	})
	if n == 0 || length < 0 || length > len(rest)-n {
		return 0
	}
	return len(line) + 1 + n + length
}

// tls reads a record's header.
func tls(b []byte, size int64) (m Message, ok bool) {
	if len(b) < 5 || b[0] < 20 || b[0] > 23 || b[1] != 3 || b[2] > 4 {
		return m, false
	}
	length := int64(binary.BigEndian.Uint16(b[3:]))
	return Message{Proto: "TLS"}, length > 0 && length <= 1<<14+2048 && (length+5 <= size || size < 1<<14)
}

// cut shortens a text, at the end of a character.
func cut(s string) string {
	if len(s) <= MaxCommand {
		return strings.ToValidUTF8(s, "?")
	}
	return strings.ToValidUTF8(s[:MaxCommand], "") + "…"
}
