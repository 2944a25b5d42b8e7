package sound

import (
	"math"
	"math/rand/v2"
)

// fade is how long a made signal takes to come and go, in seconds: without it, its ends click.
const fade = 0.002

// Tone is a sine whose RMS is db of full scale: sox's and every meter's reading of it.
func Tone(rate, frames int, hz, db float64) []float32 { return Sweep(rate, frames, hz, hz, db) }

// Sweep is a sine that goes from one frequency to another, by the same ratio in the same time.
func Sweep(rate, frames int, from, to, db float64) []float32 {
	out := make([]float32, frames)
	phase, step := 0.0, from/float64(rate)
	grow := math.Pow(to/from, 1/float64(max(frames-1, 1)))
	amp := Linear(db) * math.Sqrt2
	for i := range out {
		out[i] = float32(amp * math.Sin(2*math.Pi*phase))
		phase += step
		phase -= math.Floor(phase)
		step *= grow
	}
	ends(out, rate)
	return out
}

// Noise is white noise whose RMS is db of full scale; the same seed makes the same.
func Noise(rate, frames int, db float64, seed uint64) []float32 {
	r := rand.New(rand.NewPCG(seed, seed))
	out := make([]float32, frames)
	amp := Linear(db) * math.Sqrt(3) // of evenly spread values
	for i := range out {
		out[i] = float32(amp * (2*r.Float64() - 1))
	}
	ends(out, rate)
	return out
}

func ends(s []float32, rate int) {
	n := min(int(fade*float64(rate)), len(s)/2)
	for i := range n {
		f := float32(i) / float32(n)
		s[i] *= f
		s[len(s)-1-i] *= f
	}
}
