package wire

import (
	"bytes"
	"encoding/binary"
	"strings"
)

// Numbers that a client of Postgres begins with, instead of a version of the protocol.
const (
	pgVersion3   = 3 << 16
	pgSSLRequest = 80877103
	pgGSSRequest = 80877104
)

// postgres reads what a client begins with, queries, and where it has begun so, what the server answers.
func (c *Conn) postgres(b []byte, size int64) (m Message, ok bool) {
	if len(b) < 5 {
		return m, false
	}
	m.Proto = "postgres"
	if length := binary.BigEndian.Uint32(b); len(b) >= 8 && int64(length) == size {
		switch v := binary.BigEndian.Uint32(b[4:]); {
		case v == pgSSLRequest || v == pgGSSRequest:
			m.Command = "encryption?"
			return m, true
		case v>>16 == pgVersion3>>16:
			words := strings.Split(strings.TrimRight(string(b[8:]), "\x00"), "\x00")
			m.Command = cut("startup " + strings.Join(words, " "))
			return m, true
		}
	}
	if c.proto != "postgres" && (b[0] != 'Q' || int64(binary.BigEndian.Uint32(b[1:]))+1 != size) {
		return m, false
	}
	for len(b) >= 5 {
		n := int64(binary.BigEndian.Uint32(b[1:]))
		if n < 4 || n > 1<<30 {
			break
		}
		body := b[5:min(n+1, int64(len(b)))]
		text, _, _ := bytes.Cut(body, []byte{0})
		switch b[0] {
		case 'Q':
			m.Command = cut(string(text))
		case 'P':
			if _, query, found := bytes.Cut(body, []byte{0}); found {
				query, _, _ = bytes.Cut(query, []byte{0})
				m.Command = cut(string(query))
			}
		case 'p':
			m.Command = "password …"
		case 'X':
			m.Command = "terminate"
		case 'C':
			m.Answer = cut(string(text))
		case 'E':
			m.Answer = cut("error " + pgError(body))
		}
		if m.Command != "" || m.Answer != "" {
			return m, true
		}
		if n+1 > int64(len(b)) {
			break
		}
		b = b[n+1:]
	}
	return m, c.proto == "postgres"
}

// pgError is the code and the message of an error's fields.
func pgError(b []byte) string {
	var code, text string
	for _, f := range strings.Split(string(b), "\x00") {
		if len(f) > 1 && f[0] == 'C' {
			code = f[1:]
		}
		if len(f) > 1 && f[0] == 'M' {
			text = f[1:]
		}
	}
	return strings.TrimSpace(code + " " + text)
}
