package midi

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func cut(t *testing.T, s string) []string {
	t.Helper()
	b, err := Hex(s)
	if err != nil {
		t.Fatal(err)
	}
	var p Parser
	var out []string
	each := func(m []byte) { out = append(out, hex.EncodeToString(m)) }
	for i := range b { // byte by byte: the worst way to be read
		p.Add(b[i:i+1], each)
	}
	p.Flush(each)
	return out
}

func TestParser(t *testing.T) {
	for _, c := range [][2]string{
		{"90 3c 64 3e 64 80 3c 00", "903c64 903e64 803c00"},     // running status
		{"90 3c f8 64", "f8 903c64"},                            // real time within a message
		{"f0 7e f8 7f f7 fa", "f8 f07e7ff7 fa"},                 // and within sysex
		{"f0 01 02 90 3c 64", "0102 903c64"},                    // a sysex without an end
		{"01 02 c0 05 d0 40 e0 00 40", "0102 c005 d040 e00040"}, // data without a status
		{"f2 01 02 03 f6 f4 f7", "f20102 03 f6 f4 f7"},          // no running status of system messages
		{"90 3c", "3c"}, {"b0 07 7f 0a 40 fe", "b0077f b00a40 fe"}, // cut
	} {
		if got := strings.Join(cut(t, c[0]), " "); got != c[1] {
			t.Errorf("%s is cut into %s, want %s", c[0], got, c[1])
		}
	}
}

func TestDecode(t *testing.T) {
	for _, c := range [][2]string{
		{"903c64", `{"what":"noteOn","midiChannel":1,"key":60,"velocity":100}`},
		{"9f3c00", `{"what":"noteOff","midiChannel":16,"key":60,"velocity":0}`},
		{"b0077f", `{"what":"control","midiChannel":1,"controller":7,"value":127}`},
		{"c105", `{"what":"program","midiChannel":2,"program":5}`}, {"d040", `{"what":"pressure","midiChannel":1,"value":64}`},
		{"e00040", `{"what":"pitch","midiChannel":1,"value":0}`}, {"e00000", `{"what":"pitch","midiChannel":1,"value":-8192}`},
		{"f20102", `{"what":"songPosition","value":257}`}, {"f8", `{"what":"clock"}`},
		{"f07ef7", `{"what":"sysex","hex":"f07ef7","bytes":3}`}, {"f4", `{"what":"bytes","hex":"f4","bytes":1}`},
		{"3c64", `{"what":"bytes","hex":"3c64","bytes":2}`},
	} {
		b, _ := Hex(c[0])
		if got, _ := json.Marshal(Decode(b)); string(got) != c[1] {
			t.Errorf("%s is %s, want %s", c[0], got, c[1])
		}
	}
}

// file is a file of format 1 at 96 ticks: a tempo change in one track, notes in another, a sysex.
var file = "MThd\x00\x00\x00\x06\x00\x01\x00\x02\x00\x60" +
	"MTrk\x00\x00\x00\x12\x00\xff\x51\x03\x07\xa1\x20\x60\xff\x51\x03\x03\xd0\x90\x00\xff\x2f\x00" +
	"MTrk\x00\x00\x00\x14\x00\x90\x45\x64\x60\x45\x00\x60\xf0\x02\x7e\xf7\x00\x80\x45\x40\x00\xff\x2f\x00"

func TestReadFile(t *testing.T) {
	all, err := ReadFile([]byte(file))
	if err != nil {
		t.Fatal(err)
	}
	want := []Event{{0, []byte{0x90, 69, 100}}, {500 * time.Millisecond, []byte{0x90, 69, 0}},
		{750 * time.Millisecond, []byte{0xf0, 0x7e, 0xf7}}, {750 * time.Millisecond, []byte{0x80, 69, 64}}}
	if len(all) != len(want) {
		t.Fatalf("%d events: %v", len(all), all)
	}
	for i := range want {
		if all[i].At != want[i].At || !bytes.Equal(all[i].Bytes, want[i].Bytes) {
			t.Errorf("event %d is %v, want %v", i, all[i], want[i])
		}
	}
	for n := range file {
		if _, err := ReadFile([]byte(file[:n])); err == nil {
			t.Errorf("the file cut at %d is read", n)
		}
	}
}

func FuzzFile(f *testing.F) {
	f.Add([]byte(file))
	f.Add([]byte("MThd\x00\x00\x00\x06\x00\x00\x00\x01\xe7\x28MTrk\x00\x00\x00\x04\x00\xff\x2f\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		all, err := ReadFile(data)
		if err != nil {
			return
		}
		for i, e := range all {
			if e.At < 0 || i > 0 && e.At < all[i-1].At {
				t.Fatalf("event %d is at %v", i, e.At)
			}
		}
	})
}

// FuzzParser: no byte is lost, but for the status of a message that is not whole and that of running status.
func FuzzParser(f *testing.F) {
	f.Add([]byte("\x90\x3c\x64\x3e\xf8\x64\xf0\x01\xf7\x05\xf4"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var p Parser
		var got int
		each := func(m []byte) {
			Decode(m)
			for _, b := range m {
				if b < 0x80 {
					got++
				}
			}
		}
		p.Add(data, each)
		p.Flush(each)
		want := 0
		for _, b := range data {
			if b < 0x80 {
				want++
			}
		}
		if got != want {
			t.Fatalf("%d of %d data bytes of %x", got, want, data)
		}
	})
}
