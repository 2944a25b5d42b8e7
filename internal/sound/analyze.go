package sound

import (
	"math"
	"math/bits"
	"math/cmplx"
	"sort"
)

const (
	// clipped is from where on a sample counts as at full scale: the largest that 16 bits have is 0.99997.
	clipped = 0.9999
	// clippedRun is how many such samples must follow each other: a loud sine touches full scale with one or two.
	clippedRun = 3
	// quiet is the level below which neither pitch nor spectrum is looked for.
	quiet = -70.0
	// maxPeaks is how many of the spectrum's peaks are told, and peakRange how far below the strongest the last may be.
	maxPeaks, peakRange = 3, 40.0
	// clarity is how alike a sound must be to itself one period later to have a pitch; firstShare is from which share of
	// the best period's likeness an earlier one is taken, since all multiples of a period are periods.
	clarity, firstShare = 0.8, 0.93
	// minPitch and maxPitch bound the pitch; above, the strongest peak of the spectrum is the pitch of a pure tone.
	minPitch, maxPitch = 25.0, 5000.0
)

// Peak is a maximum of the spectrum.
type Peak struct {
	Hz float64
	DB float64 // the RMS of a sine that has it
}

// Piece is what is known of a piece of sound.
type Piece struct {
	RMS, Peak float64 // dB of full scale; of all channels
	Clipped   int     // samples in runs at full scale
	Pitch     float64 // fundamental frequency in Hz; 0: none
	Peaks     []Peak  // strongest first
}

// Levels measures a piece.
func Levels(samples []float32, channels int) Piece {
	var p Piece
	p.RMS, p.Peak = level(samples)
	for c := range channels {
		run := 0
		for i := c; i < len(samples); i += channels {
			if math.Abs(float64(samples[i])) < clipped {
				run = 0
				continue
			}
			switch run++; {
			case run == clippedRun:
				p.Clipped += clippedRun
			case run > clippedRun:
				p.Clipped++
			}
		}
	}
	return p
}

func level(samples []float32) (rms, peak float64) {
	var sum, top float64
	for _, v := range samples {
		f := float64(v)
		sum += f * f
		top = max(top, math.Abs(f))
	}
	if len(samples) == 0 {
		return Silent, Silent
	}
	return DB(math.Sqrt(sum / float64(len(samples)))), DB(top)
}

// Analyze measures a piece, its pitch and the peaks of its spectrum. Pieces of 50 to 200 ms have both.
func Analyze(samples []float32, channels, rate int) Piece {
	p := Levels(samples, channels)
	if p.RMS < quiet {
		return p
	}
	mono := Mono(samples, channels)
	if rms, _ := level(mono); rms < p.RMS-20 { // channels that cancel each other out: the first is listened to
		mono = make([]float32, len(samples)/channels)
		for i := range mono {
			mono[i] = samples[i*channels]
		}
	}
	p.Peaks = spectrum(mono, rate)
	p.Pitch = pitch(mono, rate)
	if p.Pitch == 0 && len(p.Peaks) == 1 && p.Peaks[0].Hz > maxPitch/2 {
		p.Pitch = p.Peaks[0].Hz
	}
	return p
}

// spectrum finds the peaks, by a Hann window and a parabola through each maximum.
func spectrum(mono []float32, rate int) []Peak {
	n := len(mono)
	if n < 64 {
		return nil
	}
	size := 1 << bits.Len(uint(2*n-1))
	x := make([]complex128, size)
	for i, v := range mono {
		x[i] = complex(float64(v)*(0.5-0.5*math.Cos(2*math.Pi*float64(i)/float64(n))), 0)
	}
	fft(x)
	db := make([]float64, size/2)
	for i := range db {
		// A sine of amplitude a has a maximum of a*n/4 under this window.
		db[i] = DB(cmplx.Abs(x[i]) * 4 / float64(n) / math.Sqrt2)
	}
	var all []Peak
	width := 2 * size / n // half the window's main lobe: what is nearer to a stronger maximum is its foot
	for i := 1; i < len(db)-1; i++ {
		if db[i] < quiet-20 || db[i] <= db[i-1] || db[i] < db[i+1] {
			continue
		}
		highest := true
		for j := max(0, i-width); j <= min(len(db)-1, i+width) && highest; j++ {
			highest = db[j] <= db[i]
		}
		if !highest {
			continue
		}
		a, b, c := db[i-1], db[i], db[i+1]
		d := 0.0
		if bend := a - 2*b + c; bend < 0 {
			d = 0.5 * (a - c) / bend
		}
		all = append(all, Peak{Hz: (float64(i) + d) * float64(rate) / float64(size), DB: b - 0.25*(a-c)*d})
	}
	sort.Slice(all, func(i, j int) bool { return all[i].DB > all[j].DB })
	for i := range all {
		if i == maxPeaks || all[i].DB < all[0].DB-peakRange {
			return all[:i]
		}
	}
	return all
}

// pitch finds the fundamental by how alike the sound is to itself some time later (the normalised square difference of
// McLeod and Wyvill): the strongest partial may be another one.
func pitch(mono []float32, rate int) float64 {
	n := len(mono)
	most := min(n*2/3, int(float64(rate)/minPitch))
	if most < 8 {
		return 0
	}
	alike := likeness(mono, most)
	// The best likeness of each stretch above zero, after the first fall below it.
	type maximum struct {
		lag  int
		like float64
	}
	var all []maximum
	best := 0.0
	lag := 1
	for lag < most && alike[lag] > 0 {
		lag++
	}
	for ; lag < most-1; lag++ {
		if alike[lag] > 0 && alike[lag] >= alike[lag-1] && alike[lag] > alike[lag+1] {
			all = append(all, maximum{lag, alike[lag]})
			best = max(best, alike[lag])
		}
	}
	if best < clarity {
		return 0
	}
	for _, m := range all {
		if m.like < firstShare*best {
			continue
		}
		// Many periods together are measured more finely than one.
		period := vertex(alike, m.lag)
		for k := 2; ; k++ {
			near := int(math.Round(period * float64(k)))
			if near+2 >= most {
				break
			}
			at := near
			for j := near - 1; j <= near+1; j++ {
				if alike[j] > alike[at] {
					at = j
				}
			}
			if top := alike[at]; top < firstShare*best || alike[at-1] > top || alike[at+1] > top {
				break
			}
			period = vertex(alike, at) / float64(k)
		}
		if hz := float64(rate) / period; hz >= minPitch && hz <= maxPitch {
			return hz
		}
		return 0
	}
	return 0
}

// vertex is where the parabola through three values has its top.
func vertex(v []float64, at int) float64 {
	a, b, c := v[at-1], v[at], v[at+1]
	if bend := a - 2*b + c; bend < 0 {
		return float64(at) + 0.5*(a-c)/bend
	}
	return float64(at)
}

// likeness is 2*sum(x[i]*x[i+lag]) / sum(x[i]^2 + x[i+lag]^2), for each lag.
func likeness(mono []float32, most int) []float64 {
	n := len(mono)
	size := 1 << bits.Len(uint(n+most-1))
	x := make([]complex128, size)
	mean := 0.0
	for _, v := range mono {
		mean += float64(v)
	}
	mean /= float64(n)
	for i, v := range mono {
		x[i] = complex(float64(v)-mean, 0)
	}
	squares := make([]float64, n+1) // running sum
	for i := range mono {
		f := real(x[i])
		squares[i+1] = squares[i] + f*f
	}
	fft(x)
	for i := range x {
		x[i] = complex(real(x[i])*real(x[i])+imag(x[i])*imag(x[i]), 0)
	}
	fft(x) // of an even function its own inverse, but for the scale
	out := make([]float64, most)
	for lag := range out {
		both := squares[n-lag] + squares[n] - squares[lag]
		if both > 0 {
			out[lag] = 2 * real(x[lag]) / float64(size) / both
		}
	}
	return out
}

// fft is the discrete Fourier transform in place; the length is a power of two.
func fft(x []complex128) {
	n := len(x)
	shift := 64 - uint(bits.Len(uint(n))-1)
	for i := range x {
		if j := int(bits.Reverse64(uint64(i)) >> shift); n > 1 && i < j {
			x[i], x[j] = x[j], x[i]
		}
	}
	for half := 1; half < n; half *= 2 {
		turn := make([]complex128, half)
		for k := range turn {
			sin, cos := math.Sincos(-math.Pi * float64(k) / float64(half))
			turn[k] = complex(cos, sin)
		}
		for from := 0; from < n; from += 2 * half {
			for k := range half {
				a, b := x[from+k], x[from+k+half]*turn[k]
				x[from+k], x[from+k+half] = a+b, a-b
			}
		}
	}
}

// Match is how a sound and a reference are alike.
type Match struct {
	Likeness float64 // 1: the same but for its level; 0: nothing in common
	Offset   int     // the frame of the sound at which the reference begins; negative: it began before
	Gain     float64 // dB, of the sound against the reference
}

// Compare looks for a reference in a sound, both mono at one rate.
func Compare(heard, reference []float32) Match {
	if len(heard) == 0 || len(reference) == 0 {
		return Match{Gain: Silent}
	}
	size := 1 << bits.Len(uint(len(heard)+len(reference)-1))
	a, b := make([]complex128, size), make([]complex128, size)
	energy := make([]float64, len(heard)+1)
	for i, v := range heard {
		a[i] = complex(float64(v), 0)
		energy[i+1] = energy[i] + float64(v)*float64(v)
	}
	own := 0.0
	for i, v := range reference {
		b[i] = complex(float64(v), 0)
		own += float64(v) * float64(v)
	}
	fft(a)
	fft(b)
	for i := range a {
		a[i] = cmplx.Conj(a[i] * cmplx.Conj(b[i]))
	}
	fft(a) // of the conjugate: the inverse's conjugate, and the values are real
	best, at := 0.0, 0
	for lag := 1 - len(reference); lag < len(heard); lag++ {
		if v := real(a[(lag+size)%size]) / float64(size); v > best {
			best, at = v, lag
		}
	}
	// What both share is measured over the whole reference: a piece that is missing makes them less alike.
	part := energy[min(len(heard), max(0, at+len(reference)))] - energy[max(0, at)]
	if own == 0 || part == 0 {
		return Match{Gain: Silent}
	}
	return Match{Likeness: best / math.Sqrt(own*part), Offset: at, Gain: 10 * math.Log10(part/own)}
}
