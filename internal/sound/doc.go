// Package sound owns what is computed of sound: WAV files read and written (wav.go), signals that are made
// (make.go), levels, pitch and spectrum of a piece (analyze.go), and what happens in a stream as it comes (meter.go).
// All of it is pure: samples are float32, 1 is full scale, the channels of a frame stand beside each other.
//
// It stands below the channel audio (internal/iochan), which hears and plays by a sound server (sound/pulse).
//
// Invariants: no bytes of a file panic us or make us allocate more than the file is long.
package sound

import "math"

// Silent is the level, in dB of full scale, that digital silence is told with.
const Silent = -120.0

// DB is a share of full scale in decibels, not below Silent.
func DB(v float64) float64 {
	if v <= 1e-6 || math.IsNaN(v) {
		return Silent
	}
	return 20 * math.Log10(v)
}

// Linear is the share of full scale of a level in decibels.
func Linear(db float64) float64 { return math.Pow(10, db/20) }

// Mono is the mean of the channels of each frame.
func Mono(samples []float32, channels int) []float32 {
	if channels == 1 {
		return samples
	}
	out := make([]float32, len(samples)/channels)
	for i := range out {
		var sum float32
		for _, v := range samples[i*channels : (i+1)*channels] {
			sum += v
		}
		out[i] = sum / float32(channels)
	}
	return out
}

// Resample brings mono sound to another rate, by straight lines between samples.
func Resample(in []float32, from, to int) []float32 {
	if from == to || len(in) == 0 {
		return in
	}
	out := make([]float32, int(int64(len(in))*int64(to)/int64(from)))
	for i := range out {
		at := float64(i) * float64(from) / float64(to)
		n := int(at)
		next := in[min(n+1, len(in)-1)]
		out[i] = in[n] + (next-in[n])*float32(at-float64(n))
	}
	return out
}
