package sound

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

// sox makes a WAV file with the given effects.
func sox(t *testing.T, args ...string) *Wave {
	t.Helper()
	file := filepath.Join(t.TempDir(), "a.wav")
	for i := range args {
		if args[i] == "FILE" {
			args[i] = file
		}
	}
	if out, err := exec.Command("sox", args...).CombinedOutput(); err != nil {
		t.Fatalf("sox %q: %v %s", args, err, out)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	w, err := ReadWAV(data)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if math.Abs(got-want) > within || math.IsNaN(got) {
		t.Errorf("%s = %.3f, want %.3f ± %g", what, got, want, within)
	}
}

// TestSox: what sox makes, in each format of samples, is measured as what it is.
func TestSox(t *testing.T) {
	for _, format := range [][]string{{"-b", "8"}, {"-b", "16"}, {"-b", "24"}, {"-b", "32"},
		{"-e", "floating-point", "-b", "32"}, {"-e", "floating-point", "-b", "64"}} {
		for _, hz := range []float64{55, 440, 1000, 3951} {
			args := append([]string{"-n", "-r", "44100", "-c", "2"}, format...)
			args = append(args, "FILE", "synth", "0.5", "sine", strconv.FormatFloat(hz, 'f', -1, 64), "gain", "-9")
			w := sox(t, args...)
			if w.Rate != 44100 || w.Channels != 2 || w.Frames() != 22050 {
				t.Fatalf("%v: %d Hz, %d channels, %d frames", format, w.Rate, w.Channels, w.Frames())
			}
			p := Analyze(w.Samples[8820:8820+2*4410], 2, 44100)
			near(t, "rms", p.RMS, -12.01, 0.2)
			near(t, "peak", p.Peak, -9, 0.2)
			near(t, "pitch", p.Pitch, hz, 0.5)
			if len(p.Peaks) == 0 {
				t.Fatalf("%v %g Hz has no peak", format, hz)
			}
			near(t, "strongest", p.Peaks[0].Hz, hz, 1)
			near(t, "its level", p.Peaks[0].DB, -12.01, 0.3)
		}
	}
}

// TestPitch: the fundamental is told where another partial is stronger, or it is missing; noise has none.
func TestPitch(t *testing.T) {
	for _, c := range []struct {
		synth []string
		hz    float64
	}{
		{[]string{"sawtooth", "110"}, 110}, {[]string{"square", "220"}, 220}, {[]string{"pluck", "196"}, 196},
		{[]string{"sine", "440", "sine", "660", "sine", "880"}, 220}, {[]string{"sine", "12000"}, 12000},
		{[]string{"whitenoise"}, 0},
	} {
		args := append([]string{"-n", "-r", "48000", "-c", "1", "FILE", "synth", "0.4"}, c.synth...)
		if len(c.synth) > 2 {
			args = []string{"-n", "-r", "48000", "-c", "3", "FILE", "synth", "0.4", "sine", "440", "sine", "660", "sine", "880",
				"remix", "1,2,3"}
		}
		w := sox(t, append(args, "gain", "-n", "-6")...)
		got := Analyze(w.Samples[4800*w.Channels:9600*w.Channels], w.Channels, 48000).Pitch
		near(t, c.synth[0]+" pitch", got, c.hz, max(0.5, c.hz/200))
	}
}

// TestMeter: silence, onset, a change of pitch, clipping.
func TestMeter(t *testing.T) {
	s := make([]float32, 9600)
	s = append(s, Tone(48000, 24000, 440, -12)...)
	s = append(s, Tone(48000, 24000, 660, -12)...)
	s = append(s, make([]float32, 24000)...)
	for _, v := range Tone(48000, 24000, 100, 3) {
		s = append(s, min(1, max(-1, v)))
	}
	m := &Meter{Rate: 48000, Channels: 1, Interval: 4800}
	var all []Moment
	for at := 0; at < len(s); at += 777 {
		all = append(all, m.Add(s[at:min(len(s), at+777)])...)
	}
	all = append(all, m.Finish()...)
	counts := map[string]int{}
	var pitches []float64
	for _, o := range all {
		counts[o.What]++
		switch {
		case o.What == "onset" && counts[o.What] == 1:
			near(t, "onset", float64(o.Frame), 9600, 480)
			near(t, "silence before", float64(o.For), 9600, 480)
		case o.What == "silence":
			near(t, "silence", float64(o.Frame), 57600, 480)
		case o.What == "level" && o.Pitch > 0:
			pitches = append(pitches, math.Round(o.Pitch))
		}
	}
	if counts["onset"] != 2 || counts["silence"] != 1 || counts["clipping"] != 5 {
		t.Errorf("moments: %v", counts)
	}
	if len(pitches) < 3 || pitches[0] != 440 || pitches[1] != 660 {
		t.Errorf("pitches %v", pitches)
	}
	w := m.Whole()
	near(t, "peak", w.Peak, 0, 0.01)
	if w.Frames != int64(len(s)) || w.Onsets != 2 || w.Clipped < 2000 {
		t.Errorf("whole: %+v", w)
	}
}

// TestCompare: a reference is found in what was heard, with its place and level; another is not.
func TestCompare(t *testing.T) {
	ref := Sweep(48000, 24000, 200, 2000, -12)
	heard := append(make([]float32, 5000), ref...)
	for i := range heard {
		heard[i] *= 0.5
	}
	heard = append(heard, make([]float32, 3000)...)
	m := Compare(heard, ref)
	near(t, "likeness", m.Likeness, 1, 0.001)
	near(t, "gain", m.Gain, -6.02, 0.05)
	if m.Offset != 5000 {
		t.Errorf("offset = %d", m.Offset)
	}
	if m := Compare(heard, Noise(48000, 24000, -12, 1)); m.Likeness > 0.1 {
		t.Errorf("noise is %f like a sweep", m.Likeness)
	}
	if m := Compare(heard[:17000], ref); m.Likeness > 0.9 || m.Offset != 5000 {
		t.Errorf("half of it is %f like it, at %d", m.Likeness, m.Offset)
	}
}

// TestWriter: what is written is read back, by sox as well; what is over the limit is counted.
func TestWriter(t *testing.T) {
	file := filepath.Join(t.TempDir(), "b.wav")
	w, err := NewWriter(file, 48000, 2, 48000*8)
	if err != nil {
		t.Fatal(err)
	}
	tone := Tone(48000, 96000, 440, -12)
	w.Write(tone)
	w.Write(tone[:9600])
	if lost, err := w.Close(); lost != 4800 || err != nil {
		t.Errorf("lost %d, %v", lost, err)
	}
	data, _ := os.ReadFile(file)
	back, err := ReadWAV(data)
	if err != nil || back.Frames() != 48000 || back.Samples[1234] != tone[1234] {
		t.Fatalf("%v", err)
	}
	if out, err := exec.Command("soxi", "-s", file).Output(); err != nil || string(out) != "48000\n" {
		t.Errorf("sox reads %q samples: %v", out, err)
	}
}

// FuzzWAV: any bytes are read or refused.
func FuzzWAV(f *testing.F) {
	file := filepath.Join(f.TempDir(), "c.wav")
	w, err := NewWriter(file, 8000, 1, 1<<20)
	if err != nil {
		f.Fatal(err)
	}
	w.Write(Tone(8000, 400, 440, 0))
	if _, err := w.Close(); err != nil {
		f.Fatal(err)
	}
	data, _ := os.ReadFile(file)
	f.Add(data)
	f.Add(data[:60])
	f.Add([]byte("RIFF\x00\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x40\x1f\x00\x00\x01\x00\x08\x00data\xff\xff\xff\xff\x00\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		w, err := ReadWAV(data)
		if err != nil {
			return
		}
		if len(w.Samples) > len(data) || w.Channels < 1 {
			t.Fatalf("%d samples of %d bytes", len(w.Samples), len(data))
		}
		s := w.Samples[:min(w.Frames(), 4096)*w.Channels]
		m := &Meter{Rate: w.Rate, Channels: w.Channels, Interval: max(1, w.Rate/10)}
		for _, o := range append(m.Add(s), m.Finish()...) {
			if math.IsNaN(o.RMS) || math.IsNaN(o.Pitch) {
				t.Fatalf("%+v", o)
			}
		}
	})
}
