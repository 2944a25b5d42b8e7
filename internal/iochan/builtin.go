package iochan

import (
	"context"
	"encoding/base64"
	"encoding/json"
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
	New: func(string, json.RawMessage) (Channel, error) { return &calls{}, nil },
}

var audioKind = Kind{Name: "audio",
	Missing: "sound is not recorded in this version; observe what the program computes with debug_trace"}

var midiKind = Kind{Name: "midi",
	Missing: "MIDI is not connected in this version; trace the program's own handlers with debug_trace"}

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

// calls is observed only.
type calls struct{}

func (calls) Name() string                               { return "trace" }
func (calls) Open(context.Context, Target, Out) error    { return nil }
func (calls) Close() error                               { return nil }
func (calls) Send(context.Context, Message) (any, error) { return nil, nil }
