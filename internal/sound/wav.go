package sound

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
)

// Bounds of WAV files.
const (
	maxRate     = 768_000
	maxChannels = 32
	// headerSize is of the files that Writer makes: RIFF, fmt with an empty extension, fact, data.
	headerSize = 12 + 26 + 12 + 8
)

// Formats of samples in a WAV file.
const (
	formatPCM        = 1
	formatFloat      = 3
	formatExtensible = 0xfffe
)

// Wave is sound in memory.
type Wave struct {
	Rate, Channels int
	Samples        []float32 // Channels of them are a frame
}

// Frames is how long it is.
func (w *Wave) Frames() int { return len(w.Samples) / w.Channels }

// ReadWAV reads a WAV file: integers of 8, 16, 24 and 32 bits, floats of 32 and 64. A file that was cut is read as far
// as it goes. Errors say what it lacks.
func ReadWAV(data []byte) (*Wave, error) {
	if len(data) < 12 || string(data[:4]) != "RIFF" || string(data[8:12]) != "WAVE" {
		return nil, fmt.Errorf("it does not begin as a WAV file does (RIFF … WAVE)")
	}
	var format, bits int
	w := &Wave{}
	for rest := data[12:]; len(rest) >= 8; {
		name, size := string(rest[:4]), uint64(binary.LittleEndian.Uint32(rest[4:]))
		body := rest[8:]
		body = body[:min(uint64(len(body)), size)]
		switch name {
		case "fmt ":
			if len(body) < 16 {
				return nil, fmt.Errorf("its format is cut: %d bytes", len(body))
			}
			format = int(binary.LittleEndian.Uint16(body))
			w.Channels = int(binary.LittleEndian.Uint16(body[2:]))
			w.Rate = int(binary.LittleEndian.Uint32(body[4:]))
			bits = int(binary.LittleEndian.Uint16(body[14:]))
			if format == formatExtensible && len(body) >= 26 {
				format = int(binary.LittleEndian.Uint16(body[24:]))
			}
		case "data":
			if w.Channels == 0 {
				return nil, fmt.Errorf("its data stand before their format")
			}
			return w, w.decode(body, format, bits)
		}
		next := 8 + uint64(len(body)) + size&1
		if next >= uint64(len(rest)) {
			break
		}
		rest = rest[next:]
	}
	return nil, fmt.Errorf("it has no data")
}

func (w *Wave) decode(body []byte, format, bits int) error {
	if w.Channels < 1 || w.Channels > maxChannels || w.Rate < 1 || w.Rate > maxRate {
		return fmt.Errorf("%d channels at %d Hz: 1 to %d at 1 to %d Hz are read", w.Channels, w.Rate, maxChannels, maxRate)
	}
	var get func(b []byte) float32
	switch {
	case format == formatPCM && bits == 8:
		get = func(b []byte) float32 { return (float32(b[0]) - 128) / 128 }
	case format == formatPCM && bits == 16:
		get = func(b []byte) float32 { return float32(int16(binary.LittleEndian.Uint16(b))) / (1 << 15) }
	case format == formatPCM && bits == 24:
		get = func(b []byte) float32 {
			return float32(int32(uint32(b[0])<<8|uint32(b[1])<<16|uint32(b[2])<<24)>>8) / (1 << 23)
		}
	case format == formatPCM && bits == 32:
		get = func(b []byte) float32 { return float32(float64(int32(binary.LittleEndian.Uint32(b))) / (1 << 31)) }
	case format == formatFloat && bits == 32:
		get = func(b []byte) float32 { return finite(float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))) }
	case format == formatFloat && bits == 64:
		get = func(b []byte) float32 { return finite(math.Float64frombits(binary.LittleEndian.Uint64(b))) }
	default:
		return fmt.Errorf("format %d with %d bits is not read: convert it to PCM with 16 bits", format, bits)
	}
	size := bits / 8
	frames := len(body) / size / w.Channels
	w.Samples = make([]float32, frames*w.Channels)
	for i := range w.Samples {
		w.Samples[i] = get(body[i*size:])
	}
	return nil
}

func finite(v float64) float32 {
	if math.IsNaN(v) || math.Abs(v) > 1e6 {
		return 0
	}
	return float32(v)
}

// Writer writes a WAV file of 32-bit floats, as they were heard: levels above full scale stay.
type Writer struct {
	f      *os.File
	rate   int
	width  int // channels
	bytes  int64
	max    int64
	left   int64 // bytes that did not fit
	failed error
}

// NewWriter makes the file; limit bounds its bytes of sound, 4 GiB at most.
func NewWriter(path string, rate, channels int, limit int64) (*Writer, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	w := &Writer{f: f, rate: rate, width: channels, max: min(limit, math.MaxUint32-headerSize)}
	if _, err := f.Write(w.header()); err != nil {
		f.Close() //nolint:errcheck // the write's error counts
		return nil, err
	}
	return w, nil
}

// Name is the file's path.
func (w *Writer) Name() string { return w.f.Name() }

func (w *Writer) header() []byte {
	le := binary.LittleEndian
	h := make([]byte, 0, headerSize)
	frame := 4 * w.width
	h = append(h, "RIFF"...)
	h = le.AppendUint32(h, uint32(headerSize-8+w.bytes))
	h = append(h, "WAVEfmt "...)
	h = le.AppendUint32(h, 18)
	h = le.AppendUint16(h, formatFloat)
	h = le.AppendUint16(h, uint16(w.width))
	h = le.AppendUint32(h, uint32(w.rate))
	h = le.AppendUint32(h, uint32(w.rate*frame))
	h = le.AppendUint16(h, uint16(frame))
	h = le.AppendUint16(h, 32)
	h = le.AppendUint16(h, 0)
	h = append(h, "fact"...)
	h = le.AppendUint32(h, 4)
	h = le.AppendUint32(h, uint32(w.bytes/int64(frame)))
	h = append(h, "data"...)
	return le.AppendUint32(h, uint32(w.bytes))
}

// Write adds whole frames. What is over the limit is counted and left out.
func (w *Writer) Write(samples []float32) {
	b := make([]byte, 0, 4*len(samples))
	for _, v := range samples {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	if w.failed != nil || w.bytes+int64(len(b)) > w.max {
		w.left += int64(len(b))
		return
	}
	n, err := w.f.Write(b)
	w.bytes += int64(n)
	if err != nil {
		w.failed, w.left = err, w.left+int64(len(b)-n)
	}
}

// Close writes how long the file has become. lost is how many frames are not in it.
func (w *Writer) Close() (lost int64, err error) {
	if _, err := w.f.WriteAt(w.header(), 0); err != nil && w.failed == nil {
		w.failed = err
	}
	if err := w.f.Close(); err != nil && w.failed == nil {
		w.failed = err
	}
	return w.left / int64(4*w.width), w.failed
}
