package iochan_test

import (
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/iochan"
	"github.com/strobe-debug/strobe/internal/strobetest"
)

const soundFont = "/usr/share/sounds/sf2/TimGM6mb.sf2"

// TestMIDIPlaysASynthesizer: a note that is sent to a real synthesizer, by JACK and by a named pipe, is heard by the
// audio channel at its pitch, is silent after its end, and bends.
func TestMIDIPlaysASynthesizer(t *testing.T) {
	for _, c := range []struct{ channel, driver, device string }{
		{"midi:private", "jack", ""}, {"midi:pipes", "oss", "midi.oss.device=midi.in"}} {
		t.Run(c.driver, func(t *testing.T) {
			s := newStudio(t, "audio:private", "")
			s.add(c.channel, "")
			args := []string{"fluidsynth", "-q", "-is", "-a", "pulseaudio", "-m", c.driver, "-g", "1"}
			if c.device != "" {
				args = append(args, "-o", strings.Replace(c.device, "midi.in", s.hub.Variables()["midi.in"], 1))
			}
			s.start(append(args, soundFont)...)
			s.await("the synthesizer's stream", func(e said) bool { return e.What == "begin" })
			heard := func(what string, hz float64) said {
				return s.await(what, func(e said) bool { return e.What == "level" && math.Abs(e.F0-hz) < hz/100 && e.RMS > -50 })
			}
			s.send(`{"do":"midi.program","program":79,"withinMs":20000}`) // an ocarina: nearly a sine
			s.send(`{"do":"midi.note","key":69,"ms":700}`)
			heard("A4", 440)
			s.await("silence after it", func(e said) bool { return e.What == "silence" })
			s.send(`{"do":"midi.pitch","value":4096}`) // half of two semitones
			s.send(`{"do":"midi.note","key":81,"ms":700}`)
			heard("A5, a semitone up", 932.33)
			s.send(`{"do":"midi.bytes","hex":"f0 7e 7f 09 01 f7"}`)
		})
	}
}

// song is a file with a program, a note, a control change and a sysex.
const song = "MThd\x00\x00\x00\x06\x00\x00\x00\x01\x00\x60MTrk\x00\x00\x00\x1a" +
	"\x00\xc1\x05\x30\x91\x45\x64\x30\xb1\x07\x50\x00\xf0\x04\x7e\x09\x01\xf7\x30\x81\x45\x00\x60\xff\x2f\x00"

// TestMIDIHears: what a program plays is told message by message, with its times.
func TestMIDIHears(t *testing.T) {
	s := newStudio(t, "midi:private", "")
	if err := os.WriteFile(filepath.Join(s.root, "a.mid"), []byte(song), 0o600); err != nil {
		t.Fatal(err)
	}
	s.start("pw-midiplay", "--target", "0", "a.mid")
	for _, what := range []string{"connect", "program", "noteOn", "control", "sysex", "noteOff"} {
		s.await(what, func(e said) bool { return e.What == what })
	}
	on := s.find(func(e said) bool { return e.What == "noteOn" })[0]
	off := s.find(func(e said) bool { return e.What == "noteOff" })[0]
	if on.Key != 69 || on.Velocity != 100 || on.MIDIChannel != 2 {
		t.Errorf("%+v", on)
	}
	within(t, "ms of the note", float64(off.at-on.at)/1e6, 500, 100)
}

// TestMIDIPipes: the rules of all channels; a program that reads and writes what it takes for its device is met, and a
// file is played to it.
func TestMIDIPipes(t *testing.T) {
	s := newStudio(t, "midi:pipes", "")
	if err := os.WriteFile(filepath.Join(s.root, "a.mid"), []byte(song), 0o600); err != nil {
		t.Fatal(err)
	}
	v := s.hub.Variables()
	s.start("sh", "-c", "exec cat < "+v["midi.in"]+" > "+v["midi.out"])
	s.send(`{"do":"midi.clock","bpm":125,"ticks":30}`)
	s.send(`{"do":"midi.control","controller":7,"value":127,"midiChannel":16}`)
	s.send(`{"do":"midi.file","file":"a.mid"}`)
	for _, what := range []string{"control", "program", "noteOn", "sysex", "noteOff"} {
		s.await(what, func(e said) bool { return e.What == what && e.Why == "" })
	}
	if clock := s.find(func(e said) bool { return e.What == "clock" }); len(clock) < 2 {
		t.Errorf("clock: %+v", clock)
	}
	strobetest.RunChannel(t, strobetest.ChannelCase{Name: "midi:pipes", Target: s, Messages: []string{
		`{"do":"note","key":60,"ms":5}`, `{"do":"note","key":60,"velocity":0}`, `{"do":"control","controller":1,"value":2}`,
		`{"do":"pitch","value":-8192}`, `{"do":"program","program":1}`, `{"do":"clock","bpm":999.5,"ticks":2}`,
		`{"do":"start"}`, `{"do":"stop"}`, `{"do":"continue"}`, `{"do":"bytes","hex":"90 3c 40 3c 00"}`,
		`{"do":"file","file":"a.mid"}`}})
	for _, bad := range []string{`{"do":"bytes","hex":"3c"}`, `{"do":"bytes","hex":"f0 01"}`, `{"do":"file","file":"none"}`,
		`{"do":"clock","bpm":0}`, `{"do":"note","key":128}`} {
		if _, err := s.hub.Send(t.Context(), "midi", json.RawMessage(bad)); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
}

// TestMIDINowhere: without a server the channel is refused with what makes it work.
func TestMIDINowhere(t *testing.T) {
	if os.Getenv("IOCHAN_TEST_NOWHERE") == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestMIDINowhere$", "-test.v")
		cmd.Env = append(os.Environ(), "IOCHAN_TEST_NOWHERE=1", "JACK_DEFAULT_SERVER=strobe-none",
			"PIPEWIRE_RUNTIME_DIR="+t.TempDir(), "PATH=/nowhere")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestMIDINowhere") {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	h := iochan.NewHub(t.TempDir())
	defer h.Close()
	for _, name := range []string{"midi", "midi:private", "audio:private"} {
		err := h.Add(t.Context(), name, nil)
		if f := fault.From(err); f == nil || f.Code != fault.Unsupported || !strings.Contains(f.Hint, "apt-get install pipewire") {
			t.Errorf("%s: %+v", name, f)
		}
	}
}
