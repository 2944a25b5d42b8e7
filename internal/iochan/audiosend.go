package iochan

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/sound"
)

const (
	// sendRate is of what is played to the target.
	sendRate = 48000
	// maxSound bounds files that are read, in bytes.
	maxSound = 256 << 20
)

var (
	msField     = Field{Name: "ms", Type: "integer", Min: 1, Max: 600_000, Default: "1000", Doc: "how long"}
	dbField     = Field{Name: "db", Type: "number", Default: "-12", Doc: "its RMS, dB of full scale"}
	recordField = Field{Name: "withinMs", Type: "integer", Max: 600_000, Default: "5000", Doc: "for the target to record"}
	streamField = Field{Name: "source", Type: "integer", Doc: "number of a stream; none: the newest with sound"}
)

var audioMessages = []Spec{
	{"tone", "plays a sine to what the target records from; this and its kin return when it was played",
		[]Field{{Name: "hz", Type: "number", Required: true, Doc: "frequency"}, dbField, msField, recordField}},
	{"sweep", "a sine that glides", []Field{{Name: "from", Type: "number", Required: true, Doc: "Hz"},
		{Name: "to", Type: "number", Required: true, Doc: "Hz"}, dbField, msField, recordField}},
	{"noise", "white noise", []Field{dbField, msField, {Name: "seed", Type: "integer", Max: math.MaxInt32,
		Doc: "the same makes the same"}, recordField}},
	{"wav", "a WAV file", []Field{{Name: "file", Type: "string", Required: true, Doc: "absolute, or from the project's " +
		"directory"}, recordField}},
	{"silence", "nothing", []Field{msField, recordField}},
	{"measure", "measures the newest sound that the target played; answers level, pitch, spectrum",
		[]Field{{Name: "lastMs", Type: "integer", Min: 10, Max: 30_000, Default: "200", Doc: "of how much"}, streamField}},
	{"compare", "looks for a WAV file in the last 30 s that the target played; answers likeness, offsetMs, gainDb",
		[]Field{{Name: "file", Type: "string", Required: true, Doc: "the reference, as of wav"}, streamField}},
}

// audioBody is the fields of all messages.
type audioBody struct {
	Hz, From, To, DB     *float64
	Ms, WithinMs, LastMs *int
	Seed                 uint64
	File                 string
	Source               *uint32
}

func orElse[T any](v *T, otherwise T) T {
	if v == nil {
		return otherwise
	}
	return *v
}

// Send implements Channel.
func (a *audio) Send(ctx context.Context, m Message) (any, error) {
	var b audioBody
	if err := m.Into(&b); err != nil {
		return nil, err
	}
	switch m.Do {
	case "measure":
		return a.measure(orElse(b.LastMs, 200), b.Source)
	case "compare":
		return a.compare(b.File, b.Source)
	}
	samples, err := a.make(m.Do, &b)
	if err != nil {
		return nil, err
	}
	if err := a.input(ctx); err != nil {
		return nil, err
	}
	if err := a.awaitRecording(ctx, time.Duration(orElse(b.WithinMs, 5000))*time.Millisecond); err != nil {
		return nil, err
	}
	if err := a.conn.PlayMono(ctx, sinkIn+a.suffix(), sendRate, samples); err != nil {
		return nil, fault.New(fault.WriteFailed, "Add the channel again.", "play to the target: %w", err)
	}
	return map[string]any{"ms": len(samples) * 1000 / sendRate}, nil
}

// make makes what is played.
func (a *audio) make(do string, b *audioBody) ([]float32, error) {
	frames := orElse(b.Ms, 1000) * sendRate / 1000
	level := orElse(b.DB, -12)
	if level > 0 || level < sound.Silent {
		return nil, invalid("-120 to 0; a full sine is -3.", "db = %g", level)
	}
	for _, hz := range []*float64{b.Hz, b.From, b.To} {
		if hz != nil && (*hz < 1 || *hz > sendRate/2) {
			return nil, invalid("1 to 24000 Hz.", "%g Hz", *hz)
		}
	}
	switch do {
	case "tone":
		return sound.Tone(sendRate, frames, *b.Hz, level), nil
	case "sweep":
		return sound.Sweep(sendRate, frames, *b.From, *b.To, level), nil
	case "noise":
		return sound.Noise(sendRate, frames, level, b.Seed), nil
	case "silence":
		return make([]float32, frames), nil
	}
	w, err := a.readWAV(b.File)
	if err != nil {
		return nil, err
	}
	return sound.Resample(sound.Mono(w.Samples, w.Channels), w.Rate, sendRate), nil
}

func (a *audio) readWAV(file string) (*sound.Wave, error) {
	if !filepath.IsAbs(file) {
		file = filepath.Join(a.root, file)
	}
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxSound {
		return nil, invalid("Name a WAV file of 256 MB at most.", "%s cannot be read as sound", file)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, invalid("Name a WAV file.", "%w", err)
	}
	w, err := sound.ReadWAV(data)
	if err != nil {
		return nil, invalid("Convert it: ffmpeg -i FILE out.wav.", "%s: %w", file, err)
	}
	return w, nil
}

// awaitRecording waits until the target records.
func (a *audio) awaitRecording(ctx context.Context, within time.Duration) error {
	over := time.NewTimer(within)
	defer over.Stop()
	for {
		a.mu.Lock()
		n, more := len(a.records), a.recorded
		a.mu.Unlock()
		if n > 0 {
			return nil
		}
		select {
		case <-more:
		case <-over.C:
			return fault.New(fault.WriteFailed, "Send it when the program records, or wait longer: withinMs.",
				"no process of the program records within %v", within)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// newest finds a stream by its number, or the newest with sound.
func (a *audio) newest(source *uint32) (*heardSound, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if source == nil && a.last != nil {
		return a.last, nil
	}
	if source != nil {
		if s := a.sounds[*source]; s != nil {
			return s, nil
		}
		if a.last != nil && a.last.from.Index == *source {
			return a.last, nil
		}
	}
	return nil, invalid("debug_channel query shows the streams that began.", "the program has played no such sound")
}

// tail is a copy of a stream's newest frames, and when the last was heard.
func (s *heardSound) tail(frames int) ([]float32, int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := min(len(s.kept), frames*s.from.Spec.Channels)
	return append([]float32(nil), s.kept[len(s.kept)-n:]...), s.at(s.meter.Frames())
}

func (a *audio) measure(lastMs int, source *uint32) (any, error) {
	s, err := a.newest(source)
	if err != nil {
		return nil, err
	}
	rate, width := s.from.Spec.Rate, s.from.Spec.Channels
	piece, _ := s.tail(rate * lastMs / 1000)
	e := soundEvent{What: "measure", Source: s.from.Index, Ms: rounded(float64(len(piece)) * 1000 / float64(rate*width))}
	p := sound.Levels(piece, width)
	// Pitch and spectrum are of half a second at most: no sound keeps them for longer.
	n := min(len(piece)/width, rate/2) * width
	of := sound.Analyze(piece[len(piece)-n:], width, rate)
	p.Pitch, p.Peaks = of.Pitch, of.Peaks
	e.setPiece(&p)
	a.tell(event.Out, e)
	return e, nil
}

func (a *audio) compare(file string, source *uint32) (any, error) {
	s, err := a.newest(source)
	if err != nil {
		return nil, err
	}
	w, err := a.readWAV(file)
	if err != nil {
		return nil, err
	}
	rate, width := s.from.Spec.Rate, s.from.Spec.Channels
	if w.Frames() > keptSeconds*w.Rate || w.Frames() == 0 {
		return nil, invalid("Cut it.", "a reference is longer than nothing and at most %d s", keptSeconds)
	}
	piece, newest := s.tail(keptSeconds * rate)
	heard := sound.Mono(piece, width)
	m := sound.Compare(heard, sound.Resample(sound.Mono(w.Samples, w.Channels), w.Rate, rate))
	ago := float64(len(heard)-m.Offset)*1000/float64(rate) + float64(Monotonic()-newest)/1e6
	like := math.Round(m.Likeness*1000) / 1000
	ago = rounded(ago)
	e := soundEvent{What: "compare", Source: s.from.Index, Likeness: &like, OffsetMs: &ago, GainDB: db(m.Gain)}
	a.tell(event.Out, e)
	return e, nil
}
