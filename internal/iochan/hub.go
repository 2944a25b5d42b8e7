package iochan

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/secret"
	"github.com/strobe-debug/strobe/internal/value"
)

// Bounds of a session's channels.
const (
	maxChannels = 32
	// maxEarly is how much is kept of what is heard before the program is there.
	maxEarly = 10_000
	// maxSent is how much of a message's text an event shows.
	maxSent = 4 << 10
)

// Hub is the channels of one session. It is made before its program, so that what the program is told of them (the
// address of a server) is known when it starts. Safe for concurrent use.
//
// Locks: adding serialises Add, Remove and Close; mu is a leaf. Neither is held over Send.
type Hub struct {
	root    string
	secrets atomic.Pointer[secret.Names]

	adding sync.Mutex

	mu     sync.Mutex
	target Target
	sink   func(s event.Stream, at int64, payload []byte)
	early  []earlyEvent
	lost   int64 // of early events
	open   []*member
	closed bool
}

type earlyEvent struct {
	stream  event.Stream
	at      int64
	payload []byte
}

// member is one open channel.
type member struct {
	kind *Kind
	name string
	ch   Channel
	sent atomic.Int64
	held atomic.Int64 // heard
}

// NewHub makes the channels of a session whose project is at root. Call Close.
func NewHub(root string) *Hub { return &Hub{root: root} }

// Redact has headers, and fields of bodies, that have such names told without their values; nil: all are told.
func (h *Hub) Redact(names *secret.Names) { h.secrets.Store(names) }

// redacted takes secrets out of an event, and out of a body in it that is JSON or a form.
func redacted(payload []byte, names *secret.Names) []byte {
	if !names.In(payload) {
		return payload
	}
	payload, _ = value.RedactJSON(payload, names)
	var e struct{ Body string }
	if json.Unmarshal(payload, &e) != nil || !names.In([]byte(e.Body)) {
		return payload
	}
	body, n := value.RedactJSON([]byte(e.Body), names)
	if n == 0 { // no JSON, or cut
		parts := strings.Split(e.Body, "&")
		for i, part := range parts {
			if name, v, ok := strings.Cut(part, "="); ok && v != "" && names.Secret(name) {
				parts[i], n = name+"="+secret.Redacted, n+1
			}
		}
		if body = []byte(strings.Join(parts, "&")); n == 0 && strings.HasPrefix(e.Body, "{") {
			body, n = []byte(secret.Redacted), 1
		}
	}
	if n == 0 {
		return payload
	}
	return bytes.Replace(payload, encoded(e.Body), encoded(string(body)), 1)
}

// Bind gives the channels their program, and says where events go. What was heard before is passed on.
func (h *Hub) Bind(t Target, sink func(s event.Stream, at int64, payload []byte)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.target = t
	for _, e := range h.early {
		sink(e.stream, e.at, redacted(e.payload, h.secrets.Load()))
	}
	if h.lost > 0 {
		sink(event.Stream{Channel: "channels", Name: "lost", Media: "json", Direction: event.Out}, Monotonic(),
			fmt.Appendf(nil, `{"what":"lost","count":%d,"why":"heard before the program was there"}`, h.lost))
	}
	h.early, h.sink = nil, sink
}

// hubTarget is the Target that channels are given: the hub's, as soon as there is one.
type hubTarget struct{ h *Hub }

// errNotStarted says that the program of a channel is not there yet.
func errNotStarted() error {
	return fault.New(fault.ProcessExited, "Send it after the launch.", "the program is not there yet")
}

func (t hubTarget) get() Target {
	t.h.mu.Lock()
	defer t.h.mu.Unlock()
	return t.h.target
}

func (t hubTarget) Root() string { return t.h.root }

func (t hubTarget) PIDs() []int {
	if of := t.get(); of != nil {
		return of.PIDs()
	}
	return nil
}

func (t hubTarget) Input(ctx context.Context, text string, eof bool) (int, error) {
	if of := t.get(); of != nil {
		return of.Input(ctx, text, eof)
	}
	return 0, errNotStarted()
}

func (t hubTarget) Signal(ctx context.Context, name string) error {
	if of := t.get(); of != nil {
		return of.Signal(ctx, name)
	}
	return errNotStarted()
}

// Add opens a channel. A name that is open already is refused.
func (h *Hub) Add(ctx context.Context, name string, options json.RawMessage) error {
	h.adding.Lock()
	defer h.adding.Unlock()
	return h.add(ctx, name, options)
}

// add needs adding.
func (h *Hub) add(ctx context.Context, name string, options json.RawMessage) error {
	k, arg, err := KindOf(name)
	if err != nil {
		return err
	}
	fields, err := object("options", options)
	if err != nil {
		return err
	}
	if err := checkFields("options of "+name, k.Options, fields); err != nil {
		return err
	}
	h.mu.Lock()
	n, there, closed := len(h.open), h.findLocked(name) != nil, h.closed
	h.mu.Unlock()
	switch {
	case closed:
		return fault.New(fault.ProcessExited, "Launch it again with debug_launch.",
			"the program has ended, and so have its channels")
	case there:
		return invalid("Use it as it is, or remove it first.", "channel %s is open already", name)
	case n >= maxChannels:
		return invalid("Remove one first.", "%d channels are open, the most that a session may have", n)
	}
	ch, err := k.New(arg, options)
	if err != nil {
		return err
	}
	m := &member{kind: k, name: name, ch: ch}
	if err := ch.Open(ctx, hubTarget{h}, h.hear(m)); err != nil {
		return errors.Join(err, ch.Close())
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open = append(h.open, m)
	return nil
}

func (h *Hub) findLocked(name string) *member {
	for _, m := range h.open {
		if m.name == name {
			return m
		}
	}
	return nil
}

// find returns the channel of that name. A kind's name alone is its only channel. Those that every session has are
// opened when they are first asked for.
func (h *Hub) find(ctx context.Context, name string) (*member, error) {
	h.mu.Lock()
	m := h.findLocked(name)
	var like, all []*member
	for _, o := range h.open {
		all = append(all, o)
		if strings.HasPrefix(o.name, name+":") {
			like = append(like, o)
		}
	}
	h.mu.Unlock()
	if m != nil {
		return m, nil
	}
	if len(like) == 1 {
		return like[0], nil
	}
	k, _, err := KindOf(name)
	if err != nil && len(like) == 0 {
		return nil, err
	}
	if err == nil && k.Always {
		h.adding.Lock()
		defer h.adding.Unlock()
		h.mu.Lock()
		m := h.findLocked(name)
		h.mu.Unlock()
		if m != nil {
			return m, nil
		}
		if err := h.add(ctx, name, nil); err != nil {
			return nil, err
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.findLocked(name), nil
	}
	var names []string
	for _, o := range all {
		names = append(names, o.name)
	}
	hint := fmt.Sprintf("Add it first: debug_channel add, channel %s.", name)
	if len(like) > 1 {
		hint = "Name one of them."
	}
	if len(names) > 0 {
		hint += " Open: " + strings.Join(names, ", ") + "."
	}
	if len(like) > 1 {
		return nil, invalid(hint, "there are several channels %s", name)
	}
	return nil, invalid(hint, "channel %s is not open", name)
}

// Remove closes a channel.
func (h *Hub) Remove(name string) error {
	h.adding.Lock()
	defer h.adding.Unlock()
	h.mu.Lock()
	m := h.findLocked(name)
	h.open = slices.DeleteFunc(h.open, func(o *member) bool { return o == m })
	h.mu.Unlock()
	if m == nil {
		return invalid("debug_channel list shows those that are.", "channel %s is not open", name)
	}
	return m.ch.Close()
}

// Kind returns the kind of an open channel, or of one that every session has.
func (h *Hub) Kind(ctx context.Context, name string) (*Kind, error) {
	m, err := h.find(ctx, name)
	if err != nil {
		return nil, err
	}
	return m.kind, nil
}

// Send checks a message {"do": NAME, …}, notes it on the timeline, and does what it says.
func (h *Hub) Send(ctx context.Context, name string, raw json.RawMessage) (any, error) {
	m, err := h.find(ctx, name)
	if err != nil {
		return nil, err
	}
	msg, err := m.kind.Check(raw)
	if err != nil {
		return nil, err
	}
	m.sent.Add(1)
	h.hear(m)(Heard{Stream: "sent", Direction: event.In, What: m.kind.told(&msg)})
	m.held.Add(-1)
	return m.ch.Send(ctx, msg)
}

// told is a message as its event shows it: what is done first, then its fields in their order, long texts cut.
func (k *Kind) told(m *Message) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(m.Body, &fields) != nil {
		return json.RawMessage("{}")
	}
	out := fmt.Appendf(nil, `{"what":%q`, m.Do)
	for i := range k.Messages {
		if k.Messages[i].Name != m.Do {
			continue
		}
		for _, f := range k.Messages[i].Fields {
			v, ok := fields[f.Name]
			if !ok {
				continue
			}
			var s string
			if len(v) > maxSent && json.Unmarshal(v, &s) != nil {
				s = string(v)
			}
			if len(v) > maxSent {
				v = encoded(cutText(s, maxSent))
			}
			out = append(fmt.Appendf(out, ",%q:", f.Name), v...)
		}
	}
	return append(out, '}')
}

// encoded is JSON without what is for web pages only.
func encoded(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Appendf(nil, `{"what":"error","error":%q}`, err.Error())
	}
	return bytes.TrimSpace(b.Bytes())
}

// cutText shortens a text and says by how much.
func cutText(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	at := limit
	for at > 0 && s[at]&0xc0 == 0x80 {
		at--
	}
	return fmt.Sprintf("%s…(+%d bytes)", s[:at], len(s)-at)
}

// hear is what a channel tells its events to.
func (h *Hub) hear(m *member) Out {
	return func(e Heard) {
		payload := redacted(encoded(e.What), h.secrets.Load())
		if e.At == 0 {
			e.At = Monotonic()
		}
		if e.Stream == "" {
			e.Stream = "in"
		}
		m.held.Add(1)
		s := event.Stream{Channel: m.name, Name: e.Stream, Media: "json", Direction: e.Direction}
		h.mu.Lock()
		sink := h.sink
		if sink == nil {
			if len(h.early) < maxEarly {
				h.early = append(h.early, earlyEvent{s, e.At, payload})
			} else {
				h.lost++
			}
		}
		h.mu.Unlock()
		if sink != nil {
			sink(s, e.At, payload)
		}
	}
}

// Info is one open channel.
type Info struct {
	Channel   string            `json:"channel"`
	Sent      int64             `json:"sent"`
	Heard     int64             `json:"heard"` // events
	Variables map[string]string `json:"variables,omitempty"`
}

// List returns the open channels, in the order in which they were added.
func (h *Hub) List() []Info {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := []Info{}
	for _, m := range h.open {
		i := Info{Channel: m.name, Sent: m.sent.Load(), Heard: m.held.Load()}
		if v, ok := m.ch.(Variabler); ok {
			i.Variables = v.Variables()
		}
		out = append(out, i)
	}
	return out
}

// Variables are what channels have to say: net.url, net:8080.port.
func (h *Hub) Variables() map[string]string {
	out := map[string]string{}
	for _, i := range h.List() {
		kind, _, _ := strings.Cut(i.Channel, ":")
		for name, v := range i.Variables {
			out[i.Channel+"."+name] = v
			if _, there := out[kind+"."+name]; !there {
				out[kind+"."+name] = v
			}
		}
	}
	return out
}

// Environment is what the program needs in its environment to meet its channels.
func (h *Hub) Environment() map[string]string {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := map[string]string{}
	for _, m := range h.open {
		if e, ok := m.ch.(Environer); ok {
			maps.Copy(out, e.Environment())
		}
	}
	return out
}

// Flush tells what happened before the call.
func (h *Hub) Flush(ctx context.Context) {
	h.mu.Lock()
	all := slices.Clone(h.open)
	h.mu.Unlock()
	for _, m := range all {
		if f, ok := m.ch.(Flusher); ok {
			f.Flush(ctx)
		}
	}
}

// Close closes every channel; none can be added after it.
func (h *Hub) Close() error {
	h.adding.Lock()
	defer h.adding.Unlock()
	h.mu.Lock()
	all := h.open
	h.open, h.closed = nil, true
	h.mu.Unlock()
	var errs []error
	for _, m := range all {
		errs = append(errs, m.ch.Close())
	}
	return errors.Join(errs...)
}
