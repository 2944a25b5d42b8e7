package session

import (
	"bytes"
	"encoding/json"
)

// members writes a JSON object in order.
type members struct{ b bytes.Buffer }

func (m *members) add(name string, v any) {
	if m.b.Len() > 0 {
		m.b.WriteByte(',')
	}
	enc := json.NewEncoder(&m.b)
	enc.SetEscapeHTML(false)
	enc.Encode(name)
	m.b.Truncate(m.b.Len() - 1)
	m.b.WriteByte(':')
	enc.Encode(v) // of our own types: cannot fail
	m.b.Truncate(m.b.Len() - 1)
}

// text adds a text that is not empty.
func (m *members) text(name, v string) {
	if v != "" {
		m.add(name, v)
	}
}

func (m *members) json() json.RawMessage {
	return append(append([]byte{'{'}, m.b.Bytes()...), '}')
}
