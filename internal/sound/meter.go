package sound

import "math"

const (
	// hop is the piece in which onsets are looked for, in seconds, and rise how many dB louder than the loudest of the
	// last onsetGap hops one must be.
	hop      = 0.01
	rise     = 6.0
	onsetGap = 5
	// audible is the level from which on there is sound; below it for silentFor seconds there is silence.
	audible   = -60.0
	silentFor = 0.1
	// Changes that are told: of the level in dB, of the pitch as a share.
	changeDB, changePitch = 1.0, 0.01
)

// Moment is what happened in a stream.
type Moment struct {
	What  string // onset, silence, clipping, level
	Frame int64  // since the stream's beginning
	Piece        // of level: the interval's; of onset RMS, of clipping Clipped; of silence none
	For   int64  // of onset: frames of silence before it; of level: frames of the interval
}

// Meter tells what happens in a stream. Not safe for concurrent use.
type Meter struct {
	Rate, Channels int
	// Interval is in frames: how much each level is of.
	Interval int

	frames  int64 // that came
	block   []float32
	piece   []float32
	recent  []float64 // levels of the last hops
	still   int       // hops below audible
	silent  bool
	since   int64 // of silence
	told    Piece
	any     bool
	total   float64 // squares
	peak    float64
	clipped int64
	onsets  int
	onset   int64 // the last one's frame
}

// Add takes whole frames and returns what happened in them.
func (m *Meter) Add(samples []float32) (out []Moment) {
	size := max(1, int(hop*float64(m.Rate))) * m.Channels
	for len(samples) > 0 {
		n := min(size-len(m.block), len(samples))
		m.block = append(m.block, samples[:n]...)
		samples = samples[n:]
		if len(m.block) == size {
			out = m.hop(out)
		}
	}
	return out
}

// Finish takes what is left of the last interval.
func (m *Meter) Finish() (out []Moment) {
	if len(m.block) > 0 {
		out = m.hop(out)
	}
	if len(m.piece) >= m.Interval*m.Channels/2 {
		out = m.interval(out)
	}
	return out
}

func (m *Meter) hop(out []Moment) []Moment {
	rms, peak := level(m.block)
	at := m.frames
	for _, v := range m.block {
		m.total += float64(v) * float64(v)
	}
	m.peak = max(m.peak, peak)
	if m.frames == 0 {
		m.peak, m.silent = peak, true
	}
	loudest := Silent
	for _, v := range m.recent {
		loudest = max(loudest, v)
	}
	if rms >= audible {
		// An attack that falls into two hops is one.
		if rms > loudest+rise && (m.onsets == 0 || at-m.onset > int64(onsetGap*hop*float64(m.Rate))) {
			m.onset = at
			o := Moment{What: "onset", Frame: at, Piece: Piece{RMS: rms, Peak: peak}}
			if m.silent {
				o.For = at - m.since
			}
			m.onsets++
			out = append(out, o)
		}
		m.silent, m.still = false, 0
	} else {
		if m.still == 0 && !m.silent {
			m.since = at
		}
		m.still++
		if !m.silent && float64(m.still)*hop >= silentFor {
			m.silent = true
			out = append(out, Moment{What: "silence", Frame: m.since})
		}
	}
	if m.recent = append(m.recent, rms); len(m.recent) > onsetGap {
		m.recent = m.recent[1:]
	}
	m.frames += int64(len(m.block) / m.Channels)
	m.piece = append(m.piece, m.block...)
	m.block = m.block[:0]
	if len(m.piece) >= m.Interval*m.Channels {
		out = m.interval(out)
	}
	return out
}

func (m *Meter) interval(out []Moment) []Moment {
	n := int64(len(m.piece) / m.Channels)
	p := Analyze(m.piece, m.Channels, m.Rate)
	at := m.frames - n
	m.piece = m.piece[:0]
	if p.Clipped > 0 {
		m.clipped += int64(p.Clipped)
		out = append(out, Moment{What: "clipping", Frame: at, Piece: Piece{Clipped: p.Clipped, Peak: p.Peak}, For: n})
	}
	if m.any && !changed(&m.told, &p) {
		return out
	}
	m.told, m.any = p, true
	return append(out, Moment{What: "level", Frame: at, Piece: p, For: n})
}

func changed(a, b *Piece) bool {
	if a.RMS < audible && b.RMS < audible {
		return false
	}
	return math.Abs(a.RMS-b.RMS) >= changeDB || math.Abs(a.Pitch-b.Pitch) > changePitch*max(a.Pitch, b.Pitch)
}

// Frames is how many came and were looked at.
func (m *Meter) Frames() int64 { return m.frames + int64(len(m.block)/m.Channels) }

// Whole is what was heard until now.
type Whole struct {
	Frames, Clipped int64
	RMS, Peak       float64
	Onsets          int
	Silent          bool // now
}

// Whole sums up.
func (m *Meter) Whole() Whole {
	w := Whole{Frames: m.frames, Clipped: m.clipped, RMS: Silent, Peak: m.peak, Onsets: m.onsets, Silent: m.silent}
	if m.frames > 0 {
		w.RMS = DB(math.Sqrt(m.total / float64(m.frames*int64(m.Channels))))
	} else {
		w.Peak = Silent
	}
	return w
}
