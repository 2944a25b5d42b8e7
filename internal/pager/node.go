package pager

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// member is one of an object's, in its order.
type member struct {
	name string
	raw  json.RawMessage
}

// elements parses an array.
func elements(raw json.RawMessage) (all []json.RawMessage, err error) {
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, fmt.Errorf("read array: %w", err)
	}
	return all, nil
}

// members parses an object and keeps the order.
func members(raw json.RawMessage) (all []member, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if _, err := d.Token(); err != nil {
		return nil, fmt.Errorf("read object: %w", err)
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, fmt.Errorf("read member: %w", err)
		}
		text, ok := name.(string)
		if !ok {
			return nil, fmt.Errorf("read member: %v is no name", name)
		}
		m := member{name: text}
		if err := d.Decode(&m.raw); err != nil {
			return nil, fmt.Errorf("read member %q: %w", text, err)
		}
		all = append(all, m)
	}
	return all, nil
}

// size is what a member takes with its name and a comma.
func (m *member) size() int { return len(quoted(m.name)) + len(m.raw) + 2 }

func joinMembers(all []member) json.RawMessage {
	b := []byte{'{'}
	for i := range all {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, quoted(all[i].name)...), ':'), all[i].raw...)
	}
	return append(b, '}')
}

func joinElements(all []json.RawMessage) json.RawMessage {
	return append(append([]byte{'['}, bytes.Join(asBytes(all), []byte{','})...), ']')
}

func asBytes(all []json.RawMessage) [][]byte {
	out := make([][]byte, len(all))
	for i := range all {
		out[i] = all[i]
	}
	return out
}

// quoted is a text as JSON, without escaping what only HTML would need.
func quoted(s string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(s) != nil {
		return []byte(`""`) // a text always encodes
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

// kind is the first byte of a value: { [ " or of a number, true, false, null.
func kind(raw json.RawMessage) byte {
	if raw = bytes.TrimLeft(raw, " \t\r\n"); len(raw) == 0 {
		return 0
	}
	return raw[0]
}
