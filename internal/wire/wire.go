// Package wire tells what the first bytes of a message on a connection say: HTTP/1 requests and answers, HTTP/2's
// beginning, Redis' and Postgres' commands and answers, TLS. It is pure: bytes in, fields out. The native runtime asks
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
}

// Conn is what is known of a connection from what went through it. The zero value: nothing.
type Conn struct{ proto string }

// MaxCommand bounds Message.Command and Message.Answer.
const MaxCommand = 200

// Look reads the first bytes of a message of size bytes. The rest of one that came in several pieces says nothing.
func (c *Conn) Look(head []byte, size int64) Message {
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
	if bytes.HasPrefix(b, []byte("PRI * HTTP/2.0\r\n")) {
		return Message{Proto: "HTTP/2"}, true
	}
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
	for len(rest) > 0 {
		if line, rest, whole = bytes.Cut(rest, []byte("\n")); !whole {
			break
		}
		name, value, colon := strings.Cut(strings.TrimSpace(string(line)), ":")
		if !colon {
			break
		}
		if strings.EqualFold(name, "host") {
			m.Host = cut(strings.TrimSpace(value))
			break
		}
	}
	return m, true
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
