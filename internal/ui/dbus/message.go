package dbus

import (
	"encoding/binary"
	"fmt"
)

// Types of messages.
const (
	typeCall   = 1
	typeReturn = 2
	typeError  = 3
	typeSignal = 4
)

// Fields of a header.
const (
	fieldPath        = 1
	fieldInterface   = 2
	fieldMember      = 3
	fieldError       = 4
	fieldReplySerial = 5
	fieldDestination = 6
	fieldSender      = 7
	fieldSignature   = 8
)

// maxMessage is the specification's own bound of a message, 128 MB; ours is less: no answer that we ask for has more.
const maxMessage = 64 << 20

// Message is one message that came.
type Message struct {
	Type      byte
	Path      string
	Interface string
	Member    string
	Error     string // its name, of an error
	Sender    string
	Signature string
	Body      Reader

	serial, replySerial uint32
}

// Err is what an error reply says, nil for any other.
func (m *Message) Err() error {
	if m.Type != typeError {
		return nil
	}
	text := ""
	if len(m.Signature) > 0 && m.Signature[0] == 's' {
		b := m.Body
		text = b.String()
	}
	return &Error{Name: m.Error, Text: text}
}

// Error is an error reply.
type Error struct{ Name, Text string }

func (e *Error) Error() string { return e.Name + ": " + e.Text }

// Builder makes the body of a call. Values are little endian.
type Builder struct{ b []byte }

func (w *Builder) align(n int) {
	for len(w.b)%n != 0 {
		w.b = append(w.b, 0)
	}
}

// Byte adds a y.
func (w *Builder) Byte(v byte) { w.b = append(w.b, v) }

// Uint32 adds a u.
func (w *Builder) Uint32(v uint32) {
	w.align(4)
	w.b = binary.LittleEndian.AppendUint32(w.b, v)
}

// Int32 adds an i.
func (w *Builder) Int32(v int32) { w.Uint32(uint32(v)) }

// Bool adds a b.
func (w *Builder) Bool(v bool) {
	n := uint32(0)
	if v {
		n = 1
	}
	w.Uint32(n)
}

// Uint64 adds a t, or the bits of a d.
func (w *Builder) Uint64(v uint64) {
	w.align(8)
	w.b = binary.LittleEndian.AppendUint64(w.b, v)
}

// String adds an s or an o.
func (w *Builder) String(s string) {
	w.Uint32(uint32(len(s)))
	w.b = append(append(w.b, s...), 0)
}

// Signature adds a g.
func (w *Builder) Signature(s string) { w.b = append(append(append(w.b, byte(len(s))), s...), 0) }

// call is the bytes of a method call.
func call(serial uint32, dest, path, iface, member, sig string, body []byte, noReply bool) []byte {
	w := &Builder{b: make([]byte, 0, 192+len(body))}
	flags := byte(0)
	if noReply {
		flags = 1
	}
	w.b = append(w.b, 'l', typeCall, flags, 1)
	w.Uint32(uint32(len(body)))
	w.Uint32(serial)
	w.Uint32(0) // length of the fields
	field := func(code byte, sig, v string) {
		w.align(8)
		w.Byte(code)
		w.Signature(sig)
		if sig == "g" {
			w.Signature(v)
		} else {
			w.String(v)
		}
	}
	field(fieldPath, "o", path)
	if iface != "" {
		field(fieldInterface, "s", iface)
	}
	field(fieldMember, "s", member)
	field(fieldDestination, "s", dest)
	if sig != "" {
		field(fieldSignature, "g", sig)
	}
	binary.LittleEndian.PutUint32(w.b[12:], uint32(len(w.b)-16))
	w.align(8)
	return append(w.b, body...)
}

// sizeOf is how long the message is that begins with these 16 bytes.
func sizeOf(head []byte) (int, error) {
	order, err := orderOf(head[0])
	if err != nil {
		return 0, err
	}
	body, fields := order.Uint32(head[4:]), order.Uint32(head[12:])
	if body > maxMessage || fields > maxMessage {
		return 0, fmt.Errorf("read message: %d bytes of body and %d of fields", body, fields)
	}
	return 16 + (int(fields)+7)&^7 + int(body), nil
}

func orderOf(mark byte) (binary.ByteOrder, error) {
	switch mark {
	case 'l':
		return binary.LittleEndian, nil
	case 'B':
		return binary.BigEndian, nil
	}
	return nil, fmt.Errorf("read message: byte order %q", mark)
}

// parse reads a whole message. It keeps b.
func parse(b []byte) (*Message, error) {
	order, err := orderOf(b[0])
	if err != nil {
		return nil, err
	}
	m := &Message{Type: b[1], serial: order.Uint32(b[8:])}
	fields := int(order.Uint32(b[12:]))
	if 16+fields > len(b) {
		return nil, fmt.Errorf("read message: fields of %d bytes in %d", fields, len(b))
	}
	r := Reader{b: b[:16+fields], at: 16, order: order}
	for r.at < len(r.b) && r.bad == nil {
		r.align(8)
		code := r.Byte()
		switch sig := r.Signature(); {
		case code == fieldReplySerial && sig == "u":
			m.replySerial = r.Uint32()
		case code == fieldSignature && sig == "g":
			m.Signature = r.Signature()
		case sig == "s" || sig == "o":
			s := r.String()
			switch code {
			case fieldPath:
				m.Path = s
			case fieldInterface:
				m.Interface = s
			case fieldMember:
				m.Member = s
			case fieldError:
				m.Error = s
			case fieldSender:
				m.Sender = s
			}
		default:
			r.Skip(sig)
		}
	}
	if r.bad != nil {
		return nil, r.bad
	}
	m.Body = Reader{b: b[min((16+fields+7)&^7, len(b)):], order: order}
	return m, nil
}
