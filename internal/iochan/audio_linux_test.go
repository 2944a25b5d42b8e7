package iochan_test

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/iochan"
	"github.com/strobe-debug/strobe/internal/sound"
	"github.com/strobe-debug/strobe/internal/strobetest"
)

// said is an event of the channels audio and midi.
type said struct {
	What, App, Media, Wav, Why string
	Source                     uint32
	PID                        int     `json:"process"`
	RMS                        float64 `json:"rmsDb"`
	Peak                       float64 `json:"peakDb"`
	F0, LateMs, Ms             float64
	Likeness, OffsetMs, GainDB float64
	Clipped, Onsets            int
	Key, Velocity, MIDIChannel int
	Peaks                      []struct{ Hz, DB float64 }
	at                         int64
}

// studio is a session with sound: a hub with audio:private, and programs that are its target.
type studio struct {
	t    *testing.T
	hub  *iochan.Hub
	root string

	mu   sync.Mutex
	pids []int
	all  []said
	log  strings.Builder
}

func (s *studio) Root() string { return s.root }

func (s *studio) PIDs() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]int(nil), s.pids...)
}

func (*studio) Input(context.Context, string, bool) (int, error) { return 0, nil }
func (*studio) Signal(context.Context, string) error             { return nil }

func newStudio(t *testing.T, channel, options string) *studio {
	t.Helper()
	strobetest.CheckLeaks(t)
	s := &studio{t: t, root: t.TempDir()}
	s.hub = iochan.NewHub(s.root)
	t.Cleanup(func() {
		if err := s.hub.Close(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			s.mu.Lock()
			t.Log(s.log.String())
			s.mu.Unlock()
		}
	})
	s.add(channel, options)
	s.hub.Bind(s, func(_ event.Stream, at int64, payload []byte) {
		var e said
		if err := json.Unmarshal(payload, &e); err != nil {
			t.Errorf("%s: %v", payload, err)
		}
		e.at = at
		s.mu.Lock()
		defer s.mu.Unlock()
		s.all = append(s.all, e)
		s.log.Write(append(payload, '\n'))
	})
	return s
}

func (s *studio) add(channel, options string) {
	s.t.Helper()
	if err := s.hub.Add(s.t.Context(), channel, json.RawMessage(options)); err != nil {
		s.t.Fatal(err)
	}
}

// start runs a program that has the session's sound.
func (s *studio) start(args ...string) *exec.Cmd {
	s.t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = s.root
	cmd.Env = append(os.Environ(), "PULSE_LATENCY_MSEC=100")
	for name, v := range s.hub.Environment() {
		cmd.Env = append(cmd.Env, name+"="+v)
	}
	var out strings.Builder
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &out, time.Second
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.mu.Lock()
	s.pids = append(s.pids, cmd.Process.Pid)
	s.mu.Unlock()
	s.t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		if s.t.Failed() {
			s.t.Logf("%q: %s", args, out.String())
		}
	})
	return cmd
}

func (s *studio) send(message string) said {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 30*time.Second)
	defer cancel()
	name := "audio:private"
	if strings.Contains(message, `"do":"midi.`) {
		name, message = "midi", strings.Replace(message, "midi.", "", 1)
	}
	answer, err := s.hub.Send(ctx, name, json.RawMessage(message))
	if err != nil {
		s.t.Fatalf("%s: %v", message, err)
	}
	var e said
	raw, err := json.Marshal(answer)
	if err == nil {
		err = json.Unmarshal(raw, &e)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return e
}

// find returns the events that are so.
func (s *studio) find(want func(said) bool) (out []said) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.all {
		if want(e) {
			out = append(out, e)
		}
	}
	return out
}

// await waits for an event.
func (s *studio) await(what string, want func(said) bool) said {
	s.t.Helper()
	strobetest.Eventually(s.t, 20*time.Second, what, func() bool { return len(s.find(want)) > 0 })
	return s.find(want)[0]
}

func (s *studio) run(args ...string) {
	s.t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = s.root
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("%q: %v %s", args, err, out)
	}
}

func within(t *testing.T, what string, got, want, by float64) {
	t.Helper()
	if math.Abs(got-want) > by || math.IsNaN(got) {
		t.Errorf("%s = %g, want %g ± %g", what, got, want, by)
	}
}

// TestAudioHears: two programs at once are heard each alone, with level, pitch, onset and end; the WAV file has what
// was heard.
func TestAudioHears(t *testing.T) {
	s := newStudio(t, "audio:private", `{"wav":"heard.wav"}`)
	s.start("sox", "-q", "-n", "-r", "48000", "-t", "pulseaudio", "default", "synth", "1", "sine", "440", "gain", "-9")
	s.start("ffmpeg", "-loglevel", "error", "-re", "-f", "lavfi", "-i", "sine=frequency=1000:duration=2.5,volume=6dB", "-f",
		"pulse", "default")
	for _, c := range []struct {
		app         string
		hz, rms, db float64
	}{{"SoX", 440, -12, 0.5}, {"Lavf", 1000, -15, 1}} {
		begin := s.await(c.app, func(e said) bool { return e.What == "begin" && strings.HasPrefix(e.App, c.app) })
		of := func(what string) func(said) bool {
			return func(e said) bool { return e.What == what && e.Source == begin.Source }
		}
		end := s.await(c.app+"'s end", of("end"))
		s.await(c.app+"'s onset", of("onset"))
		level := s.find(func(e said) bool { return of("level")(e) && math.Abs(e.RMS-c.rms) < c.db })
		if len(level) == 0 {
			t.Fatalf("%s has no level at %g", c.app, c.rms)
		}
		within(t, c.app+" f0", level[0].F0, c.hz, 1)
		within(t, c.app+" strongest peak", level[0].Peaks[0].Hz, c.hz, 1)
		if end.Ms < 300 || end.Clipped != 0 {
			t.Errorf("%s: %+v", c.app, end)
		}
		data, err := os.ReadFile(begin.Wav)
		if err != nil {
			t.Fatal(err)
		}
		w, err := sound.ReadWAV(data)
		if err != nil {
			t.Fatal(err)
		}
		within(t, "frames of "+filepath.Base(begin.Wav), float64(w.Frames())/float64(w.Rate), end.Ms/1000, 0.001)
		t.Logf("%s: begin %+v end %+v level %+v", c.app, begin, end, level[0])
	}
}

// TestAudioAlike: programs that play by different libraries are heard alike, and told from each other.
func TestAudioAlike(t *testing.T) {
	s := newStudio(t, "audio:private", "")
	s.run("sox", "-q", "-n", "-r", "48000", "-c", "2", "a.wav", "synth", "1.5", "sine", "600", "gain", "-9")
	s.run("ffmpeg", "-loglevel", "error", "-i", "a.wav", "a.mp3")
	s.run("ffmpeg", "-loglevel", "error", "-i", "a.wav", "-strict", "-2", "-c:a", "vorbis", "a.ogg")
	for _, args := range [][]string{{"mpg123", "-q", "-o", "pulse", "a.mp3"}, {"ogg123", "-q", "-d", "pulse", "a.ogg"},
		{"paplay", "a.wav"}, {"aplay", "-q", "-D", "pulse", "a.wav"}, {"aplay", "-q", "a.wav"}} {
		cmd := s.start(args...)
		// One program makes and ends several streams before it plays.
		of := func(begin said) bool { return begin.What == "begin" && begin.PID == cmd.Process.Pid }
		var source uint32
		strobetest.Eventually(t, 20*time.Second, args[0]+"'s pitch and level", func() bool {
			for _, begin := range s.find(of) {
				source = begin.Source
				if len(s.find(func(e said) bool {
					return e.Source == source && e.What == "level" && math.Abs(e.F0-600) < 1 && math.Abs(e.RMS+12) < 1
				})) > 0 {
					return true
				}
			}
			return false
		})
		s.send(`{"do":"compare","file":"a.wav"}`)
		cmd.Process.Kill()
		s.await(args[0]+"'s end", func(e said) bool { return e.Source == source && e.What == "end" })
	}
}

// TestAudioTells: silence, clipping and an onset after silence are told; a sound is found by its reference, and another
// is not.
func TestAudioTells(t *testing.T) {
	s := newStudio(t, "audio:private", "")
	s.run("sox", "-q", "-n", "-r", "48000", "-c", "1", "ref.wav", "synth", "0.5", "sine", "300-3000", "gain", "-9")
	s.run("sox", "-q", "-n", "-r", "48000", "-c", "1", "other.wav", "synth", "0.5", "whitenoise", "gain", "-9")
	s.run("sox", "-q", "-n", "-r", "48000", "-c", "1", "loud.wav", "synth", "0.5", "sine", "200", "gain", "6")
	s.run("sox", "-q", "ref.wav", "quiet.wav", "vol", "0.5", "pad", "0.4", "0.4")
	s.run("sox", "-q", "quiet.wav", "loud.wav", "all.wav", "pad", "0", "0.4")
	s.start("sox", "-q", "all.wav", "-t", "pulseaudio", "default")
	end := s.await("the end", func(e said) bool { return e.What == "end" })
	on := s.find(func(e said) bool { return e.What == "onset" })
	clipping := s.find(func(e said) bool { return e.What == "clipping" })
	silence := s.find(func(e said) bool { return e.What == "silence" })
	// A busy machine tears sound: what is exact is in the tests of package sound.
	if len(on) < 2 || len(clipping) < 3 || len(silence) < 2 || end.Clipped < 5000 || end.Onsets != len(on) {
		t.Fatalf("onsets %+v, clipping %+v, silence %+v, end %+v", on, clipping, silence, end)
	}
	m := s.send(`{"do":"compare","file":"ref.wav"}`)
	if m.Likeness < 0.7 {
		t.Errorf("the reference is %+v", m)
	}
	within(t, "gain", m.GainDB, -6, 2)
	if m := s.send(`{"do":"compare","file":"other.wav"}`); m.Likeness > 0.3 {
		t.Errorf("another sound is %+v", m)
	}
	if m := s.send(`{"do":"measure","lastMs":100}`); m.RMS != sound.Silent {
		t.Errorf("at its end it is %+v", m)
	}
}

// TestAudioPlays: programs that record by different libraries get what is played, at its level; on a server that is not
// ours too, where they are moved to our source and back.
func TestAudioPlays(t *testing.T) {
	s := newStudio(t, "audio:private", "")
	s.run("sox", "-q", "-n", "-r", "44100", "-c", "2", "in.wav", "synth", "1", "sine", "880", "gain", "-9")
	for i, c := range []struct {
		message string
		hz      float64
		args    []string
	}{
		{`{"do":"tone","hz":660,"db":-9}`, 660, []string{"parec", "--latency-msec=50", "--file-format=wav", "got.wav"}},
		{`{"do":"wav","file":"in.wav"}`, 880, []string{"arecord", "-q", "-D", "pulse", "-f", "S16_LE", "-r", "48000", "got.wav"}},
		{`{"do":"tone","hz":330}`, 330, []string{"sox", "-q", "-t", "pulseaudio", "default", "got.wav"}},
	} {
		want := -12.0
		if i == 0 {
			want = -9
		}
		best := s.recorded(c.message, c.args)
		for again := 0; again < 3 && math.Abs(best.RMS-want) > 0.5; again++ { // gaps, where the machine is busy
			best = s.recorded(c.message, c.args)
		}
		within(t, c.args[0]+" pitch", best.Pitch, c.hz, 1)
		within(t, c.args[0]+" level", best.RMS, want, 0.5)
	}
}

// recorded has a program record what a message plays, and returns the loudest moment of its file got.wav.
func (s *studio) recorded(message string, command []string) (best sound.Moment) {
	t := s.t
	t.Helper()
	cmd := s.start(command...)
	s.await("a recording", func(e said) bool { return e.What == "records" && e.PID == cmd.Process.Pid })
	s.send(message)
	// What was played is on its way to the program: two seconds of sound come after it began.
	strobetest.Eventually(t, 20*time.Second, command[0]+"'s file", func() bool {
		info, err := os.Stat(filepath.Join(s.root, "got.wav"))
		return err == nil && info.Size() > 2*2*48000
	})
	cmd.Process.Signal(os.Interrupt)
	cmd.Wait()
	data, err := os.ReadFile(filepath.Join(s.root, "got.wav"))
	os.Remove(filepath.Join(s.root, "got.wav"))
	if err != nil {
		t.Fatal(err)
	}
	w, err := sound.ReadWAV(data)
	if err != nil {
		t.Fatalf("%s: %v", command[0], err)
	}
	m := sound.Meter{Rate: w.Rate, Channels: w.Channels, Interval: w.Rate / 10}
	for _, o := range m.Add(w.Samples) {
		if o.What == "level" && (best.What == "" || o.RMS > best.RMS) {
			best = o
		}
	}
	return best
}

// TestAudioConforms: the rules of all channels, on a server that is not the session's own.
func TestAudioConforms(t *testing.T) {
	s := newStudio(t, "audio:private", "")
	server := s.hub.Variables()["audio.server"]
	s.run("sox", "-q", "-n", "-r", "48000", "-c", "1", "ref.wav", "synth", "0.2", "sine", "300", "gain", "-9")
	s.start("sox", "-q", "-n", "-t", "pulseaudio", "default", "synth", "60", "sine", "500", "gain", "-9")
	s.start("parec", "--file-format=wav", "mic.wav")
	s.await("sound", func(e said) bool { return e.What == "level" })
	messages := []string{
		`{"do":"tone","hz":700,"ms":200}`, `{"do":"sweep","from":100,"to":1000,"ms":50}`, `{"do":"noise","db":-20.5,"ms":50}`,
		`{"do":"silence","ms":20}`, `{"do":"wav","file":"ref.wav"}`, `{"do":"measure"}`, `{"do":"compare","file":"ref.wav"}`}
	strobetest.RunChannel(t, strobetest.ChannelCase{Name: "audio:" + server, Target: s, Heard: 4, Messages: messages,
		Early: 500 * time.Millisecond})
	for _, bad := range []string{`{"do":"tone","hz":99999}`, `{"do":"wav","file":"none.wav"}`, `{"do":"tone","hz":1,"db":3}`,
		`{"do":"measure","source":999999}`} {
		if _, err := s.hub.Send(t.Context(), "audio:private", json.RawMessage(bad)); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
	if err := s.hub.Add(t.Context(), "audio:unix:/nowhere", nil); err == nil || !strings.Contains(err.Error(), "/nowhere") {
		t.Errorf("no server there: %v", err)
	}
}
