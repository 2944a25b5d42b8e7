package pulse

import (
	"bytes"
	"testing"
)

// listed is an answer with one stream that plays, as version 20 of the protocol has it.
func listed() packet {
	p := packet{}.num(7).text("tone").num(none).num(3).num(1)
	p = p.spec(Spec{Rate: 44100, Channels: 2, Positions: []byte{1, 2}}).volume(2)
	for range 2 {
		p = append(p, 'U', 0, 0, 0, 0, 0, 0, 0, 9)
	}
	p = p.text("speex").text("driver.c").flag(false)
	return p.properties(map[string]string{"application.process.id": "42", "media.name": "sine"}).flags(false, true, true)
}

func TestStream(t *testing.T) {
	r := &reader{b: listed()}
	s := stream(r, false)
	if r.err != nil || len(r.b) > 0 || s.Index != 7 || s.Name != "sine" || s.PID != 42 || s.Device != 1 ||
		s.Spec.Rate != 44100 || s.Spec.Channels != 2 || !bytes.Equal(s.Spec.Positions, []byte{1, 2}) {
		t.Errorf("%+v, %v, %d bytes are left", s, r.err, len(r.b))
	}
	for _, wrong := range []Spec{{Rate: 44100}, {Channels: 2}} {
		if r := (&reader{b: packet{}.spec(wrong)}); r.spec().Rate < 0 || r.err == nil {
			t.Errorf("%+v is taken", wrong)
		}
	}
}

// FuzzStream: whatever a server sends is read or refused, and a stream that is read can be heard.
func FuzzStream(f *testing.F) {
	f.Add([]byte(listed()), false)
	f.Add([]byte(listed()), true)
	f.Add([]byte("P"), false)
	f.Fuzz(func(t *testing.T, b []byte, recording bool) {
		r := &reader{b: b}
		if s := stream(r, recording); r.err == nil && (s.Spec.Rate == 0 || s.Spec.Channels == 0) {
			t.Errorf("%+v", s.Spec)
		}
	})
}
