// Package midi owns MIDI 1.0 as bytes: messages cut out of a stream and read (midi.go), standard MIDI files (file.go).
// All of it is pure. It stands below the channel midi (internal/iochan), which moves the bytes.
//
// Invariant: no bytes panic us; what is no message is told as such, and not passed over.
package midi

import (
	"encoding/hex"
	"fmt"
	"strings"
)

// Message is one MIDI message. Numbers are those of the wire but for Channel, which is 1 to 16.
type Message struct {
	What       string `json:"what"` // noteOn, noteOff, control, … see Whats
	Channel    int    `json:"midiChannel,omitempty"`
	Key        *int   `json:"key,omitempty"`
	Velocity   *int   `json:"velocity,omitempty"`
	Controller *int   `json:"controller,omitempty"`
	Program    *int   `json:"program,omitempty"`
	Value      *int   `json:"value,omitempty"` // of control, pressure, song position; of pitch -8192 to 8191
	Hex        string `json:"hex,omitempty"`   // of sysex and of bytes that are no message
	Bytes      int    `json:"bytes,omitempty"` // of sysex, where hex is cut
}

// Whats are the kinds of messages.
var Whats = []string{"noteOn", "noteOff", "polyPressure", "control", "program", "pressure", "pitch", "sysex",
	"quarterFrame", "songPosition", "song", "tune", "clock", "start", "continue", "stop", "activeSensing", "reset",
	"bytes"}

const (
	statusSysEx, statusEnd = 0xf0, 0xf7
	maxHex                 = 256
	// maxSysEx bounds what is kept of one, by a program that never ends it.
	maxSysEx = 1 << 20
)

// length is how many data bytes follow a status byte; -1: not known (sysex, undefined).
func length(status byte) int {
	switch {
	case status < 0xc0, status >= 0xe0 && status < 0xf0, status == 0xf2:
		return 2
	case status < 0xe0, status == 0xf1, status == 0xf3:
		return 1
	case status == 0xf6, status >= 0xf8:
		return 0
	}
	return -1
}

var systemNames = map[byte]string{0xf1: "quarterFrame", 0xf2: "songPosition", 0xf3: "song", 0xf6: "tune", 0xf8: "clock",
	0xfa: "start", 0xfb: "continue", 0xfc: "stop", 0xfe: "activeSensing", 0xff: "reset"}

// Decode reads one whole message.
func Decode(b []byte) Message {
	if len(b) == 0 || b[0] < 0x80 || b[0] != statusSysEx && len(b) != 1+length(b[0]) {
		return Message{What: "bytes", Hex: shown(b), Bytes: len(b)}
	}
	num := func(i int) *int {
		v := int(b[i] & 0x7f)
		return &v
	}
	m := Message{Channel: int(b[0]&0xf) + 1}
	switch b[0] >> 4 {
	case 0x8:
		m.What, m.Key, m.Velocity = "noteOff", num(1), num(2)
	case 0x9:
		m.What, m.Key, m.Velocity = "noteOn", num(1), num(2)
		if *m.Velocity == 0 { // the standard's other way to say so
			m.What = "noteOff"
		}
	case 0xa:
		m.What, m.Key, m.Value = "polyPressure", num(1), num(2)
	case 0xb:
		m.What, m.Controller, m.Value = "control", num(1), num(2)
	case 0xc:
		m.What, m.Program = "program", num(1)
	case 0xd:
		m.What, m.Value = "pressure", num(1)
	case 0xe:
		v := *num(1) | *num(2)<<7 - 8192
		m.What, m.Value = "pitch", &v
	default:
		m.Channel = 0
		if b[0] == statusSysEx {
			return Message{What: "sysex", Hex: shown(b), Bytes: len(b)}
		}
		name, ok := systemNames[b[0]]
		if !ok {
			return Message{What: "bytes", Hex: shown(b), Bytes: len(b)}
		}
		m.What = name
		switch len(b) {
		case 2:
			m.Value = num(1)
		case 3:
			v := *num(1) | *num(2)<<7
			m.Value = &v
		}
	}
	return m
}

func shown(b []byte) string {
	if len(b) > maxHex {
		return hex.EncodeToString(b[:maxHex]) + "…"
	}
	return hex.EncodeToString(b)
}

// Parser cuts a stream of bytes into messages: running status, system messages in between, system exclusive in pieces.
// Not safe for concurrent use.
type Parser struct {
	status byte // that data bytes belong to; 0: none
	data   []byte
	stray  []byte // data without a status
}

// Add takes bytes; each is called for each message that is whole, with bytes that it may keep.
func (p *Parser) Add(b []byte, each func(message []byte)) {
	for _, v := range b {
		switch {
		case v >= 0xf8: // anywhere, also within another
			each([]byte{v})
			continue
		case v == statusEnd && p.status == statusSysEx:
			each(append(append([]byte{statusSysEx}, p.data...), v))
			p.status, p.data = 0, nil
			continue
		case v >= 0x80:
			p.Flush(each)
			p.status = v
		case p.status == 0:
			p.stray = append(p.stray, v)
			if len(p.stray) >= maxHex {
				p.Flush(each)
			}
			continue
		default:
			p.data = append(p.data, v)
		}
		switch n := length(p.status); {
		case p.status == statusSysEx:
			if len(p.data) >= maxSysEx {
				p.Flush(each)
			}
		case n < 0: // undefined, or an end without a beginning
			each([]byte{p.status})
			p.status = 0
		case len(p.data) == n:
			each(append([]byte{p.status}, p.data...))
			p.data = nil
			if p.status >= 0xf0 { // running status is of channels only
				p.status = 0
			}
		}
	}
}

// Flush tells what is not whole: a sysex that was cut, a message that another began in.
func (p *Parser) Flush(each func(message []byte)) {
	if len(p.stray) > 0 {
		each(p.stray)
	}
	if p.status == statusSysEx || len(p.data) > 0 {
		// Without its end it is no message: the status is left out, so that it is told as bytes.
		each(append([]byte(nil), p.data...))
		p.status = 0
	}
	p.stray, p.data = nil, nil
}

// Hex reads bytes as f0 7e 7f 09 01 f7.
func Hex(s string) ([]byte, error) {
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err == nil && len(b) == 0 {
		err = fmt.Errorf("no bytes")
	}
	return b, err
}
