package pulse

import (
	"bytes"
	"encoding/binary"
	"errors"
)

// packet is a message that is being written.
type packet []byte

func (p packet) num(v uint32) packet { return binary.BigEndian.AppendUint32(append(p, 'L'), v) }

func (p packet) text(s string) packet {
	if s == "" {
		return append(p, 'N')
	}
	return append(append(append(p, 't'), s...), 0)
}

func (p packet) flag(v bool) packet {
	if v {
		return append(p, '1')
	}
	return append(p, '0')
}

func (p packet) flags(all ...bool) packet {
	for _, v := range all {
		p = p.flag(v)
	}
	return p
}

func (p packet) blob(b []byte) packet {
	return append(binary.BigEndian.AppendUint32(append(p, 'x'), uint32(len(b))), b...)
}

func (p packet) properties(all map[string]string) packet {
	p = append(p, 'P')
	for name, v := range all {
		b := append([]byte(v), 0)
		p = p.text(name).num(uint32(len(b))).blob(b)
	}
	return append(p, 'N')
}

// spec is a sample specification with its channel map: float32, little-endian.
func (p packet) spec(s Spec) packet {
	p = append(p, 'a', formatFloat32LE, byte(s.Channels))
	p = binary.BigEndian.AppendUint32(p, uint32(s.Rate))
	p = append(p, 'm', byte(s.Channels))
	for i := range s.Channels {
		if i < len(s.Positions) {
			p = append(p, s.Positions[i])
		} else {
			p = append(p, byte(i)) // mono, front left and so on
		}
	}
	return p
}

// volume is full on all channels.
func (p packet) volume(channels int) packet {
	p = append(p, 'v', byte(channels))
	for range channels {
		p = binary.BigEndian.AppendUint32(p, volumeNorm)
	}
	return p
}

const (
	formatFloat32LE = 5
	volumeNorm      = 0x10000
	none            = 0xffffffff // no index; also: the server's default
)

// Spec says how samples are laid out.
type Spec struct {
	Rate, Channels int
	Positions      []byte // of the channels: 0 mono, 1 front left, 2 front right, …
}

// errCut says that a packet is not what the protocol says.
var errCut = errors.New("the sound server sent a packet that is cut or not understood")

// reader takes a packet apart. After an error all its values are zero.
type reader struct {
	b   []byte
	err error
}

func (r *reader) take(tag byte, n int) []byte {
	if r.err != nil || len(r.b) < 1+n || r.b[0] != tag {
		r.err = errCut
		return make([]byte, n)
	}
	v := r.b[1 : 1+n]
	r.b = r.b[1+n:]
	return v
}

func (r *reader) num() uint32 { return binary.BigEndian.Uint32(r.take('L', 4)) }
func (r *reader) usec()       { r.take('U', 8) }

func (r *reader) text() string {
	if len(r.b) > 0 && r.b[0] == 'N' {
		r.b = r.b[1:]
		return ""
	}
	end := bytes.IndexByte(r.b, 0)
	if r.err != nil || end < 1 || r.b[0] != 't' {
		r.err = errCut
		return ""
	}
	s := string(r.b[1:end])
	r.b = r.b[end+1:]
	return s
}

func (r *reader) flag() bool {
	if r.err != nil || len(r.b) == 0 || r.b[0] != '0' && r.b[0] != '1' {
		r.err = errCut
		return false
	}
	v := r.b[0] == '1'
	r.b = r.b[1:]
	return v
}

func (r *reader) spec() (s Spec) {
	b := r.take('a', 6)
	s.Channels, s.Rate = int(b[1]), int(binary.BigEndian.Uint32(b[2:]))
	n := r.take('m', 1)
	s.Positions = r.raw(int(n[0]))
	if r.err == nil && (s.Channels == 0 || s.Rate == 0) {
		r.err = errCut
	}
	return s
}

func (r *reader) raw(n int) []byte {
	if r.err != nil || len(r.b) < n {
		r.err = errCut
		return nil
	}
	v := bytes.Clone(r.b[:n])
	r.b = r.b[n:]
	return v
}

func (r *reader) volume() { r.raw(4 * int(r.take('v', 1)[0])) }

func (r *reader) properties() map[string]string {
	all := map[string]string{}
	r.take('P', 0)
	for r.err == nil {
		name := r.text()
		if name == "" {
			break
		}
		r.num()
		n := binary.BigEndian.Uint32(r.take('x', 4))
		if n > uint32(len(r.b)) {
			r.err = errCut
			break
		}
		all[name] = string(bytes.TrimRight(r.raw(int(n)), "\x00"))
	}
	return all
}
