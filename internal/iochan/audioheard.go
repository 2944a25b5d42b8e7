package iochan

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/sound"
	"github.com/strobe-debug/strobe/internal/sound/pulse"
)

const (
	// keptSeconds is how much of each stream is kept, for measure and compare.
	keptSeconds = 30
	// maxWav bounds the sound of one file: 46 minutes of stereo at 48 kHz.
	maxWav = 1 << 30
	// paused is how long nothing must come for the stream to have been paused.
	paused = 250 * time.Millisecond
)

var audioHeard = []Field{
	{Name: "what", Type: "string", Enum: []string{"begin", "end", "onset", "level", "silence", "clipping", "pause",
		"records", "measure", "compare", "lost"},
		Doc: "level: it changed by 1 dB, or the pitch by 1 %; records: a stream that records began"},
	{Name: "source", Type: "integer", Doc: "number of the stream in the server"},
	{Name: "app", Type: "string", Doc: "begin, records: the program's name for itself"},
	{Name: "process", Type: "integer", Doc: "begin, records: its pid"},
	{Name: "media", Type: "string", Doc: "begin, records: what the program calls the stream"},
	{Name: "rate", Type: "integer", Doc: "begin, records: frames per second"},
	{Name: "channels", Type: "integer", Doc: "begin, records"},
	{Name: "lateMs", Type: "number", Doc: "begin: after the stream came; what it played before is not heard"},
	{Name: "rmsDb", Type: "number", Doc: "dB of full scale (a full sine is -3.0); silence -120"},
	{Name: "peakDb", Type: "number", Doc: "of the largest sample"},
	{Name: "f0", Type: "number", Doc: "fundamental frequency, Hz; left out: none"},
	{Name: "peaks", Type: "list", Doc: "of the spectrum, strongest first: hz, db; peaks.0.hz"},
	{Name: "clipped", Type: "integer", Doc: "samples at full scale, in runs of 3 and more"},
	{Name: "onsets", Type: "integer", Doc: "end: how many"},
	{Name: "ms", Type: "number", Doc: "how long: of the interval, the silence before an onset, all of the stream"},
	{Name: "wav", Type: "string", Doc: "begin: the file with the raw sound"},
	{Name: "likeness", Type: "number", Doc: "compare: 1 is the same but for its level, 0 nothing in common"},
	{Name: "offsetMs", Type: "number", Doc: "compare: how long ago the reference began to be heard"},
	{Name: "gainDb", Type: "number", Doc: "compare: against the reference"},
	{Name: "why", Type: "string", Doc: "of lost"},
}

// soundEvent is what an event of the channel shows.
type soundEvent struct {
	What     string      `json:"what"`
	Source   uint32      `json:"source"`
	App      string      `json:"app,omitempty"`
	PID      int         `json:"process,omitempty"`
	Media    string      `json:"media,omitempty"`
	Rate     int         `json:"rate,omitempty"`
	Channels int         `json:"channels,omitempty"`
	LateMs   float64     `json:"lateMs,omitempty"`
	RMS      *float64    `json:"rmsDb,omitempty"`
	Peak     *float64    `json:"peakDb,omitempty"`
	Pitch    float64     `json:"f0,omitempty"`
	Peaks    []soundPeak `json:"peaks,omitempty"`
	Clipped  int64       `json:"clipped,omitempty"`
	Onsets   *int        `json:"onsets,omitempty"`
	Ms       float64     `json:"ms,omitempty"`
	Wav      string      `json:"wav,omitempty"`
	Likeness *float64    `json:"likeness,omitempty"`
	OffsetMs *float64    `json:"offsetMs,omitempty"`
	GainDB   *float64    `json:"gainDb,omitempty"`
	Why      string      `json:"why,omitempty"`
}

type soundPeak struct {
	Hz float64 `json:"hz"`
	DB float64 `json:"db"`
}

// rounded keeps the digits that mean something.
func rounded(v float64) float64 { return math.Round(v*100) / 100 }

func db(v float64) *float64 {
	v = math.Round(v*10) / 10
	return &v
}

// setPiece puts what was measured into an event.
func (e *soundEvent) setPiece(p *sound.Piece) {
	e.RMS, e.Peak, e.Pitch, e.Clipped = db(p.RMS), db(p.Peak), rounded(p.Pitch), int64(p.Clipped)
	for _, k := range p.Peaks {
		e.Peaks = append(e.Peaks, soundPeak{rounded(k.Hz), *db(k.DB)})
	}
}

// heardSound is a stream of the target that is recorded. What is behind mu is the connection's goroutine's, and of who
// measures.
type heardSound struct {
	from pulse.Stream
	rec  *pulse.Record
	gone bool // needs audio.mu

	mu    sync.Mutex
	meter sound.Meter
	wav   *sound.Writer
	start int64 // when the first frame was heard, on the clock; moved as sound comes sooner
	base  int64 // the frame that start is of
	kept  []float32
	ended bool
}

// begin records a stream, unless it is recorded.
func (a *audio) begin(ctx context.Context, from *pulse.Stream) {
	a.mu.Lock()
	_, there := a.sounds[from.Index]
	full := len(a.sounds) >= maxSounds
	tell := full && !there && !a.many
	a.many = full
	s := &heardSound{from: *from, meter: sound.Meter{Rate: from.Spec.Rate, Channels: from.Spec.Channels,
		Interval: from.Spec.Rate * a.IntervalMs / 1000}}
	if !there && !full {
		a.sounds[from.Index] = s
	}
	came := a.came[from.Index]
	a.mu.Unlock()
	if tell {
		a.tell(event.Out, soundEvent{What: "lost", Source: from.Index, App: from.App, Why: "16 streams are recorded already"})
	}
	if there || full {
		return
	}
	if came == 0 {
		came = Monotonic()
	}
	e := soundEvent{What: "begin", Source: from.Index, App: from.App, PID: from.PID, Media: from.Name,
		Rate: from.Spec.Rate, Channels: from.Spec.Channels}
	if p := a.wavPath(); p != "" {
		w, err := sound.NewWriter(p, from.Spec.Rate, from.Spec.Channels, maxWav)
		if err != nil {
			e.Why = err.Error()
		} else {
			s.wav, e.Wav = w, p
		}
	}
	// A server makes two channels of one by copying it, and one of two by adding them up: 3 dB more than was played.
	of, hear := *from, func(samples []float32) { a.heard(s, samples) }
	if of.Spec.Channels == 1 {
		of.Spec = pulse.Spec{Rate: of.Spec.Rate, Channels: 2, Positions: []byte{1, 2}} // front left and right
		hear = func(samples []float32) { a.heard(s, sound.Mono(samples, 2)) }
	}
	rec, err := a.conn.Record(ctx, of, hear, func() {
		a.mu.Lock()
		s.gone = true
		a.mu.Unlock()
		a.signal()
	})
	if err != nil { // many programs try the server by a stream that they end at once
		s.mu.Lock()
		s.ended = true
		s.mu.Unlock()
		a.tell(event.Out, soundEvent{What: "lost", Source: from.Index, App: from.App, PID: from.PID,
			Why: "the stream has ended before it could be heard: " + err.Error()})
		return
	}
	a.mu.Lock()
	s.rec = rec
	a.mu.Unlock()
	e.LateMs = rounded(float64(Monotonic()-came) / 1e6)
	a.out(Heard{Stream: "played", Direction: event.Out, At: came, What: e})
}

// heard takes sound that came.
func (a *audio) heard(s *heardSound, samples []float32) {
	now := Monotonic()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	rate, width := s.from.Spec.Rate, s.from.Spec.Channels
	before := s.meter.Frames()
	n := int64(len(samples) / width)
	// The newest frame was heard just now, at the latest.
	start := now - (before+n-s.base)*int64(time.Second)/int64(rate)
	switch gap := time.Duration(start - s.start); {
	case before == 0 || gap < 0:
		s.start = start
	case gap > paused:
		a.out(Heard{Stream: "played", Direction: event.Out, At: s.at(before),
			What: soundEvent{What: "pause", Source: s.from.Index, Ms: rounded(float64(gap) / 1e6)}})
		s.base, s.start = before, now-n*int64(time.Second)/int64(rate)
	}
	for _, m := range s.meter.Add(samples) {
		a.moment(s, &m)
	}
	if s.wav != nil {
		s.wav.Write(samples)
	}
	if most := keptSeconds * rate * width; len(s.kept) > most+most/4 {
		s.kept = append(s.kept[:0], s.kept[len(s.kept)-most:]...)
	}
	s.kept = append(s.kept, samples...)
	if !s.meter.Whole().Silent {
		a.mu.Lock()
		a.last = s
		a.mu.Unlock()
	}
}

// at is when a frame was heard; needs s.mu.
func (s *heardSound) at(frame int64) int64 {
	return s.start + (frame-s.base)*int64(time.Second)/int64(s.from.Spec.Rate)
}

// moment tells one; needs s.mu.
func (a *audio) moment(s *heardSound, m *sound.Moment) {
	e := soundEvent{What: m.What, Source: s.from.Index, Ms: rounded(float64(m.For) * 1000 / float64(s.from.Spec.Rate))}
	switch m.What {
	case "silence":
	case "clipping":
		e.Peak, e.Clipped = db(m.Peak), int64(m.Clipped)
	default:
		e.setPiece(&m.Piece)
	}
	a.out(Heard{Stream: "played", Direction: event.Out, At: s.at(m.Frame), What: e})
}

// end tells of a stream's end.
func (a *audio) end(ctx context.Context, s *heardSound, why string) {
	a.mu.Lock()
	rec := s.rec
	a.mu.Unlock()
	if rec != nil && why == "" {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		a.conn.Stop(ctx, rec) //nolint:errcheck // the server has ended it with the stream that it is of
		cancel()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	s.ended = true
	for _, m := range s.meter.Finish() {
		a.moment(s, &m)
	}
	w := s.meter.Whole()
	e := soundEvent{What: "end", Source: s.from.Index, RMS: db(w.RMS), Peak: db(w.Peak), Clipped: w.Clipped,
		Onsets: &w.Onsets, Ms: rounded(float64(w.Frames) * 1000 / float64(s.from.Spec.Rate)), Why: why}
	if s.wav != nil {
		lost, err := s.wav.Close()
		if err != nil || lost > 0 {
			l := soundEvent{What: "lost", Source: s.from.Index, Wav: s.wav.Name(), Why: "the file has its largest size",
				Ms: rounded(float64(lost) * 1000 / float64(s.from.Spec.Rate))}
			if err != nil {
				l.Why = err.Error()
			}
			a.tell(event.Out, l)
		}
	}
	a.tell(event.Out, e)
}

// endAll ends what is recorded when the channel ends.
func (a *audio) endAll(why string) {
	a.mu.Lock()
	all := a.sounds
	a.sounds = map[uint32]*heardSound{}
	a.mu.Unlock()
	for _, s := range all {
		a.end(context.Background(), s, why)
	}
}
