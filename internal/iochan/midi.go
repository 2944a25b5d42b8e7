package iochan

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/midi"
)

// The midi channel sends MIDI to the target and tells what it sends, by JACK (jackd's, or PipeWire's) or by two named
// pipes that the target is told to open as its device.

const midiPipes = "pipes"

var (
	midiChannel = Field{Name: "midiChannel", Type: "integer", Min: 1, Max: 16, Default: "1", Doc: "which"}
	midiWithin  = Field{Name: "withinMs", Type: "integer", Max: 600_000, Default: "5000",
		Doc: "for the target to have a MIDI input"}
	midiValue = func(name, doc string) Field {
		return Field{Name: name, Type: "integer", Required: true, Max: 127, Doc: doc}
	}
)

var midiKind = Kind{
	Name: "midi", Arg: "WAY",
	Doc: "MIDI to and from the program. midi:private is by the session's own PipeWire, as JACK (add it at the launch; " +
		"audio:private has the same one); midi by the user's JACK; midi:pipes by named pipes, variables midi.in and " +
		"midi.out, which the program opens as its devices.",
	Options: []Field{{Name: "client", Type: "string",
		Doc: "of midi: the program's name in JACK, where JACK does not say whose a client is"}},
	Messages: []Spec{
		{"note", "a note on; off after ms, and then it returns", []Field{midiValue("key", "60 is middle C, 69 is 440 Hz"),
			{Name: "velocity", Type: "integer", Max: 127, Default: "100", Doc: "0: only off"},
			{Name: "ms", Type: "integer", Max: 600_000, Default: "500", Doc: "how long; 0: until it is sent off"},
			midiChannel, midiWithin}},
		{"control", "a controller", []Field{midiValue("controller", "its number: 7 volume, 64 pedal"),
			midiValue("value", "what it is"), midiChannel, midiWithin}},
		{"pitch", "bends the pitch", []Field{{Name: "value", Type: "integer", Required: true, Min: -8192, Max: 8191,
			Doc: "0 is none"}, midiChannel, midiWithin}},
		{"program", "chooses an instrument", []Field{midiValue("program", "from 0 on"), midiChannel, midiWithin}},
		{"clock", "ticks, 24 to a quarter note", []Field{{Name: "bpm", Type: "number", Required: true, Doc: "quarter notes " +
			"a minute"}, {Name: "ticks", Type: "integer", Min: 1, Max: 100_000, Default: "24", Doc: "how many"}, midiWithin}},
		{"start", "as a sequencer starts", []Field{midiWithin}}, {"stop", "and stops", []Field{midiWithin}},
		{"continue", "and goes on", []Field{midiWithin}},
		{"bytes", "any message, as sysex: f0 7e 7f 09 01 f7", []Field{{Name: "hex", Type: "string", Required: true,
			Doc: "its bytes"}, midiWithin}},
		{"file", "plays a standard MIDI file, and returns at its end", []Field{{Name: "file", Type: "string", Required: true,
			Doc: "absolute, or from the project's directory"}, midiWithin}},
	},
	Heard: []Field{
		{Name: "what", Type: "string", Enum: append(slices.Clone(midi.Whats), "connect", "lost"),
			Doc: "connect: a port of the program; clock: the first, and when bpm changes by 2 %"},
		{Name: "midiChannel", Type: "integer", Doc: "1 to 16"},
		{Name: "key", Type: "integer", Doc: "of noteOn, noteOff, polyPressure: 60 is middle C"},
		{Name: "velocity", Type: "integer", Doc: "of noteOn, noteOff"},
		{Name: "controller", Type: "integer", Doc: "of control"}, {Name: "program", Type: "integer", Doc: "of program"},
		{Name: "value", Type: "integer", Doc: "of control, pitch, pressure, songPosition"},
		{Name: "bpm", Type: "number", Doc: "of clock, over the last 24"},
		{Name: "hex", Type: "string", Doc: "of sysex, and of bytes that are no message; 256 at most"},
		{Name: "bytes", Type: "integer", Doc: "how many these are"},
		{Name: "port", Type: "string", Doc: "of connect"}, {Name: "why", Type: "string", Doc: "of lost"},
		{Name: "count", Type: "integer", Doc: "of lost: messages"},
	},
	New: func(arg string, options json.RawMessage) (Channel, error) {
		if arg != "" && arg != private && arg != midiPipes {
			return nil, invalid("midi, midi:private or midi:pipes.", "channel midi:%s: there is no such way", arg)
		}
		m := &midiIO{arg: arg, connected: make(chan struct{})}
		if len(options) > 0 {
			if err := json.Unmarshal(options, m); err != nil {
				return nil, invalid("See debug_channel list.", "options: %w", err)
			}
		}
		return m, nil
	},
}

// midiWay moves messages. Its owner is told of what comes from one goroutine, which close waits for.
type midiWay interface {
	send(message []byte) error
	variables() map[string]string
	environment() map[string]string
	close() error
}

// midiIO is a midi channel. Goroutines are its way's, and those of Send.
type midiIO struct {
	Client string

	arg  string
	root string
	t    Target
	out  Out
	way  midiWay

	sending sync.Mutex // over one message's bytes

	mu        sync.Mutex
	connected chan struct{} // closed when the target has an input
	is        bool

	// The way's goroutine only:
	parser midi.Parser
	ticks  []int64 // the newest, of clock
	bpm    float64
}

// Name implements Channel.
func (m *midiIO) Name() string {
	if m.arg != "" {
		return "midi:" + m.arg
	}
	return "midi"
}

// Open implements Channel.
func (m *midiIO) Open(ctx context.Context, t Target, out Out) error {
	m.t, m.out, m.root = t, out, t.Root()
	var err error
	if m.arg == midiPipes {
		m.way, err = openPipes(m)
	} else {
		m.way, err = openJack(ctx, m)
	}
	return err
}

// Environment implements Environer.
func (m *midiIO) Environment() map[string]string { return m.way.environment() }

// Variables implements Variabler.
func (m *midiIO) Variables() map[string]string { return m.way.variables() }

// Close implements Channel.
func (m *midiIO) Close() error {
	if m.way == nil {
		return nil
	}
	return m.way.close()
}

// joined is told when the target has an input that we are connected with.
func (m *midiIO) joined() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.is {
		m.is = true
		close(m.connected)
	}
}

// heard takes bytes that the target sent.
func (m *midiIO) heard(at int64, b []byte) {
	m.parser.Add(b, func(message []byte) {
		e := struct {
			midi.Message
			BPM float64 `json:"bpm,omitempty"`
		}{Message: midi.Decode(message)}
		if e.What == "clock" {
			var tell bool
			if e.BPM, tell = m.tick(at); !tell {
				return
			}
		}
		m.out(Heard{Stream: "sends", Direction: event.Out, At: at, What: e})
	})
}

// tick takes one of the clock and says whether it is told.
func (m *midiIO) tick(at int64) (bpm float64, tell bool) {
	const quarter = 24
	if n := len(m.ticks); n > 0 && at-m.ticks[n-1] > int64(time.Second) { // it had stopped
		m.ticks, m.bpm = m.ticks[:0], 0
	}
	m.ticks = append(m.ticks, at)
	if len(m.ticks) == 1 {
		return 0, true
	}
	if len(m.ticks) <= quarter {
		return 0, false
	}
	m.ticks = m.ticks[len(m.ticks)-quarter-1:]
	bpm = rounded(float64(time.Minute) / float64(max(1, at-m.ticks[0])))
	tell = math.Abs(bpm-m.bpm) > 0.02*bpm
	if tell {
		m.bpm = bpm
	}
	return bpm, tell
}

func (m *midiIO) lost(count int, why string) {
	m.out(Heard{Stream: "sends", Direction: event.Out, What: map[string]any{"what": "lost", "count": count, "why": why}})
}

// midiBody is the fields of all messages.
type midiBody struct {
	Key, Controller, Value, Program     int
	Velocity, Ms, MIDIChannel, WithinMs *int
	Ticks                               *int
	BPM                                 float64
	Hex, File                           string
}

// Send implements Channel.
func (m *midiIO) Send(ctx context.Context, msg Message) (any, error) {
	var b midiBody
	if err := msg.Into(&b); err != nil {
		return nil, err
	}
	events, err := m.events(msg.Do, &b)
	if err != nil {
		return nil, err
	}
	if err := m.await(ctx, time.Duration(orElse(b.WithinMs, 5000))*time.Millisecond); err != nil {
		return nil, err
	}
	began := time.Now()
	for i, e := range events {
		if err := sleepUntil(ctx, began.Add(e.At)); err != nil {
			if i > 0 { // no note stays
				m.silence(events[:i])
			}
			return nil, err
		}
		if err := m.send(e.Bytes); err != nil {
			return nil, fault.New(fault.WriteFailed, "Add the channel again.", "send to the program: %w", err)
		}
	}
	return map[string]any{"messages": len(events)}, nil
}

func (m *midiIO) send(b []byte) error {
	m.sending.Lock()
	defer m.sending.Unlock()
	return m.way.send(b)
}

// silence ends the notes that were begun.
func (m *midiIO) silence(sent []midi.Event) {
	on := map[[2]byte]bool{}
	for _, e := range sent {
		if len(e.Bytes) == 3 && e.Bytes[0]>>4 == 0x9 {
			on[[2]byte{e.Bytes[0] & 0xf, e.Bytes[1]}] = e.Bytes[2] > 0
		} else if len(e.Bytes) == 3 && e.Bytes[0]>>4 == 0x8 {
			delete(on, [2]byte{e.Bytes[0] & 0xf, e.Bytes[1]})
		}
	}
	for k, is := range on {
		if is {
			m.send([]byte{0x80 | k[0], k[1], 0}) //nolint:errcheck // the call's own error counts
		}
	}
}

func sleepUntil(ctx context.Context, at time.Time) error {
	wait := time.Until(at)
	if wait <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// events are the bytes of a message, with their times.
func (m *midiIO) events(do string, b *midiBody) ([]midi.Event, error) {
	on := byte(orElse(b.MIDIChannel, 1) - 1)
	one := func(all ...byte) []midi.Event { return []midi.Event{{Bytes: all}} }
	switch do {
	case "note":
		velocity, ms := orElse(b.Velocity, 100), orElse(b.Ms, 500)
		if velocity == 0 {
			return one(0x80|on, byte(b.Key), 0), nil
		}
		out := one(0x90|on, byte(b.Key), byte(velocity))
		if ms > 0 {
			off := []byte{0x80 | on, byte(b.Key), 0}
			out = append(out, midi.Event{At: time.Duration(ms) * time.Millisecond, Bytes: off})
		}
		return out, nil
	case "control":
		return one(0xb0|on, byte(b.Controller), byte(b.Value)), nil
	case "pitch":
		v := b.Value + 8192
		return one(0xe0|on, byte(v&0x7f), byte(v>>7)), nil
	case "program":
		return one(0xc0|on, byte(b.Program)), nil
	case "start", "stop", "continue":
		return one(map[string]byte{"start": 0xfa, "continue": 0xfb, "stop": 0xfc}[do]), nil
	case "clock":
		if b.BPM < 1 || b.BPM > 1000 {
			return nil, invalid("1 to 1000.", "bpm = %g", b.BPM)
		}
		var out []midi.Event
		for i := range orElse(b.Ticks, 24) {
			at := time.Duration(float64(i) * float64(time.Minute) / b.BPM / 24)
			out = append(out, midi.Event{At: at, Bytes: []byte{0xf8}})
		}
		return out, nil
	case "bytes":
		raw, err := midi.Hex(b.Hex)
		if err != nil {
			return nil, invalid("Write it so: f0 7e 7f 09 01 f7.", "hex %.40q: %w", b.Hex, err)
		}
		var out []midi.Event
		var p midi.Parser
		p.Add(raw, func(b []byte) { out = append(out, midi.Event{Bytes: b}) })
		var rest int
		p.Flush(func(b []byte) { rest += len(b) })
		if rest > 0 || len(out) == 0 || slices.ContainsFunc(out, func(e midi.Event) bool {
			return midi.Decode(e.Bytes).What == "bytes"
		}) {
			return nil, invalid("A message begins with 80 or more; a sysex ends with f7.", "%.40q is no whole message", b.Hex)
		}
		return out, nil
	}
	return m.readFile(b.File)
}

func (m *midiIO) readFile(file string) ([]midi.Event, error) {
	if !filepath.IsAbs(file) {
		file = filepath.Join(m.root, file)
	}
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil, invalid("Name a standard MIDI file.", "%s cannot be read as MIDI", file)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, invalid("Name a standard MIDI file.", "%w", err)
	}
	all, err := midi.ReadFile(data)
	if err != nil {
		return nil, invalid("Name a standard MIDI file.", "%s: %w", file, err)
	}
	return all, nil
}

// await waits until the target has an input.
func (m *midiIO) await(ctx context.Context, within time.Duration) error {
	over := time.NewTimer(within)
	defer over.Stop()
	select {
	case <-m.connected:
		return nil
	case <-over.C:
		hint := "Send it when the program has opened its MIDI input, or wait longer: withinMs."
		if m.arg == "" && m.Client == "" {
			hint += " Where JACK does not say whose a client is: option client."
		}
		return fault.New(fault.WriteFailed, hint, "the program has no MIDI input within %v", within)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// midiPort is one of JACK's ports, of which a client says in a line: name, flags, process.
type midiPort struct {
	name  string
	input bool
	pid   int
}

func (p *midiPort) client() string {
	name, _, _ := strings.Cut(p.name, ":")
	return name
}

func parsePorts(text []byte) (all []midiPort) {
	for line := range bytes.Lines(text) {
		parts := strings.Split(strings.TrimSuffix(string(line), "\n"), "\t")
		if len(parts) != 3 {
			continue
		}
		flags, err := strconv.Atoi(parts[1])
		if err != nil || flags&3 == 0 {
			continue
		}
		pid, err := strconv.Atoi(parts[2])
		if err != nil {
			pid = 0
		}
		all = append(all, midiPort{parts[0], flags&1 != 0, pid})
	}
	return all
}
