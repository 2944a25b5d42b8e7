package iochan

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/near"
)

// Channel is one way in which a target meets the world, open in one session. Its methods may be called at once; none
// holds the target up.
type Channel interface {
	Name() string // as it was added: net:8080
	// Open says whether the channel can work here, as a fault if it cannot, and begins to observe. out may be called
	// until Close returns.
	Open(ctx context.Context, t Target, out Out) error
	// Send does what a message says; it was checked against the kind's Messages. The answer is encoded as JSON; nil: there
	// is none.
	Send(ctx context.Context, m Message) (any, error)
	// Close ends observing, tells what was heard and not yet told, and waits until nothing of the channel is left.
	Close() error
}

// Flusher is a Channel that hears late: Flush tells what happened before the call.
type Flusher interface{ Flush(ctx context.Context) }

// Variabler is a Channel with values that scenarios and a program's environment can name: net's are url, host, port.
type Variabler interface{ Variables() map[string]string }

// Environer is a Channel of a launch without which the program would not meet it: these variables are put into its
// environment, where the launch does not set them.
type Environer interface{ Environment() map[string]string }

// Target is the program that channels are of, as the session gives it. Before the program is launched all but Root
// answer ErrNotStarted, or nothing.
type Target interface {
	Root() string // the project's directory, absolute
	PIDs() []int  // living processes
	Input(ctx context.Context, text string, eof bool) (int, error)
	Signal(ctx context.Context, name string) error
}

// Out takes what a channel heard.
type Out func(h Heard)

// Heard is one event of a channel.
type Heard struct {
	Stream    string // of the channel, "in" if it is empty
	Direction string // event.In or event.Out, as the target sees it
	At        int64  // when, on CLOCK_MONOTONIC; 0: now
	What      any    // encodes to a JSON object with the member "what"
}

// Message is what is sent to a channel, after checking.
type Message struct {
	Do   string
	Body json.RawMessage // an object of the message's fields
}

// Into reads the message's fields.
func (m *Message) Into(v any) error {
	if err := json.Unmarshal(m.Body, v); err != nil {
		return fault.New(fault.ValidationError, "See debug_channel list.", "%s: %w", m.Do, err)
	}
	return nil
}

// Kind is a sort of channels: one entry of Kinds. Help, checks, schema and documents come from it.
type Kind struct {
	Name     string
	Doc      string // one sentence
	Arg      string // what stands behind the colon of a channel's name; "": nothing can
	NeedsArg bool
	Always   bool // open in every session
	Options  []Field
	Messages []Spec
	Heard    []Field // members of what it observes; nil: debug_query's own filters are asked with
	New      func(arg string, options json.RawMessage) (Channel, error)
}

// Spec is one message of a kind.
type Spec struct {
	Name   string
	Doc    string
	Fields []Field
}

// Field is a member of a message or of an event.
type Field struct {
	Name     string
	Type     string // string, integer, number, boolean, object, strings: an object of texts
	Doc      string
	Required bool
	Enum     []string
	Min, Max int64 // of integers; both 0: any
	Default  string
}

// Kinds is the list of kinds.
var Kinds = []*Kind{&stdioKind, &traceKind, &netKind, &socketsKind, &goroutinesKind, &goChannelsKind, &threadsKind,
	&fileKind, &processKind, &audioKind, &midiKind}

// KindOf returns the kind of a channel's name, and what stands behind its colon.
func KindOf(name string) (k *Kind, arg string, err error) {
	head, arg, colon := strings.Cut(name, ":")
	for _, k := range Kinds {
		if k.Name != head {
			continue
		}
		switch {
		case colon && k.Arg == "":
			return nil, "", invalid("Leave it out.", "channel %s takes nothing behind a colon, and has %q", head, arg)
		case colon && arg == "", !colon && k.NeedsArg:
			return nil, "", invalid("Write "+head+":"+k.Arg+".", "channel %q lacks %s", name, k.Arg)
		}
		return k, arg, nil
	}
	var names []string
	for _, k := range Kinds {
		names = append(names, k.Usage())
	}
	hint := "Channels: " + strings.Join(names, ", ") + "."
	if n := near.Names(head, KindNames(), 1); len(n) > 0 {
		hint = "Did you mean " + n[0] + "? " + hint
	}
	return nil, "", invalid(hint, "there is no channel %q", name)
}

// KindNames lists the kinds' names.
func KindNames() []string {
	var names []string
	for _, k := range Kinds {
		names = append(names, k.Name)
	}
	return names
}

// Usage is how a channel of the kind is named.
func (k *Kind) Usage() string {
	switch {
	case k.Arg == "":
		return k.Name
	case k.NeedsArg:
		return k.Name + ":" + k.Arg
	}
	return k.Name + "[:" + k.Arg + "]"
}

func invalid(hint, format string, args ...any) error {
	return fault.New(fault.ValidationError, hint, format, args...)
}

// Check reads a message {"do": NAME, …} and refuses it as a whole, with the field that is wrong.
func (k *Kind) Check(raw json.RawMessage) (Message, error) {
	fields, err := object("message", raw)
	if err != nil {
		return Message{}, err
	}
	var do string
	if json.Unmarshal(fields["do"], &do) != nil || do == "" {
		return Message{}, invalid("Messages: "+k.help()+".", `message lacks "do", which says what is to be done`)
	}
	delete(fields, "do")
	return k.CheckFields(do, fields)
}

// CheckFields is Check of a message that was taken apart.
func (k *Kind) CheckFields(do string, fields map[string]json.RawMessage) (Message, error) {
	for i := range k.Messages {
		if s := &k.Messages[i]; s.Name == do {
			if err := checkFields(k.Name+"."+do, s.Fields, fields); err != nil {
				return Message{}, err
			}
			body, err := json.Marshal(fields)
			return Message{Do: do, Body: body}, err
		}
	}
	if len(k.Messages) == 0 {
		return Message{}, invalid("Ask it with debug_query.", "channel %s can only be observed", k.Name)
	}
	return Message{}, invalid("Messages: "+k.help()+".", "channel %s takes no message %q", k.Name, do)
}

func (k *Kind) help() string {
	var all []string
	for i := range k.Messages {
		all = append(all, k.Messages[i].Usage())
	}
	return strings.Join(all, ", ")
}

// Usage is a message in short: request(path, url, method=GET).
func (s *Spec) Usage() string {
	var all []string
	for _, f := range s.Fields {
		name := f.Name
		switch {
		case f.Required:
			name += "!"
		case f.Default != "":
			name += "=" + f.Default
		}
		all = append(all, name)
	}
	return s.Name + "(" + strings.Join(all, ", ") + ")"
}

// object reads an object's fields.
func object(what string, raw json.RawMessage) (map[string]json.RawMessage, error) {
	raw = bytes.TrimSpace(raw)
	fields := map[string]json.RawMessage{}
	if len(raw) == 0 || string(raw) == "null" {
		return fields, nil
	}
	if raw[0] != '{' || json.Unmarshal(raw, &fields) != nil {
		return nil, invalid("Give an object.", "%s is no JSON object", what)
	}
	return fields, nil
}

func checkFields(where string, specs []Field, fields map[string]json.RawMessage) error {
	names := make([]string, 0, len(fields))
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names)
	var known []string
	for _, f := range specs {
		known = append(known, f.Name)
		if raw, ok := fields[f.Name]; f.Required && (!ok || string(raw) == "null") {
			return invalid(f.Doc, "%s of %s is required", f.Name, where)
		}
	}
	for _, name := range names {
		i := slices.Index(known, name)
		if i < 0 {
			hint := "Fields: " + strings.Join(known, ", ") + "."
			if n := near.Names(name, known, 1); len(n) > 0 {
				hint = "Did you mean " + n[0] + "? " + hint
			}
			if len(known) == 0 {
				hint = "Leave it out."
			}
			return invalid(hint, "unknown field %q in %s", name, where)
		}
		if string(fields[name]) == "null" {
			delete(fields, name)
			continue
		}
		if err := specs[i].check(where, fields[name]); err != nil {
			return err
		}
	}
	return nil
}

// check tests one value.
func (f *Field) check(where string, raw json.RawMessage) error {
	var s string
	var n int64
	var b bool
	var o map[string]json.RawMessage
	var texts map[string]string
	var err error
	switch f.Type {
	case "string":
		if err = json.Unmarshal(raw, &s); err == nil && f.Enum != nil && !slices.Contains(f.Enum, s) {
			return invalid("Allowed: "+strings.Join(f.Enum, ", ")+".", "%s of %s = %q", f.Name, where, s)
		}
	case "integer":
		if err = json.Unmarshal(raw, &n); err == nil && f.Max > f.Min && (n < f.Min || n > f.Max) {
			return invalid(fmt.Sprintf("%d to %d.", f.Min, f.Max), "%s of %s = %d", f.Name, where, n)
		}
	case "number":
		err = json.Unmarshal(raw, new(float64))
	case "boolean":
		err = json.Unmarshal(raw, &b)
	case "strings":
		err = json.Unmarshal(raw, &texts)
	case "object":
		err = json.Unmarshal(raw, &o)
	}
	if err != nil {
		return invalid(fmt.Sprintf("Send it as %s.", typeName(f.Type)), "%s of %s is %.60s", f.Name, where, raw)
	}
	return nil
}

func typeName(t string) string {
	switch t {
	case "strings":
		return "an object of texts"
	case "object", "integer":
		return "an " + t
	}
	return "a " + t
}
