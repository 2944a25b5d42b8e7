package midi

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sort"
	"time"
)

// Event is a message of a file and when it is due.
type Event struct {
	At    time.Duration
	Bytes []byte
}

// maxEvents bounds a file: a million is a day of music.
const maxEvents = 1 << 20

var errFileCut = errors.New("the file is cut")

// tick is an event with its time as the file has it.
type tick struct {
	at    int64
	bytes []byte
	tempo int64 // microseconds for a quarter note; 0: no change
}

// ReadFile reads a standard MIDI file of format 0 or 1: the messages of all tracks in order of time, by its tempos. Of
// format 2, whose tracks are pieces of their own, the first is read. Text and other meta events are left out.
func ReadFile(data []byte) ([]Event, error) {
	if len(data) < 14 || string(data[:4]) != "MThd" {
		return nil, errors.New("it does not begin as a standard MIDI file does (MThd)")
	}
	size := binary.BigEndian.Uint32(data[4:])
	format, tracks := binary.BigEndian.Uint16(data[8:]), int(binary.BigEndian.Uint16(data[10:]))
	division := int16(binary.BigEndian.Uint16(data[12:]))
	if size < 6 || uint64(size) > uint64(len(data)-8) || division == 0 {
		return nil, errFileCut
	}
	if format == 2 {
		tracks = min(tracks, 1)
	}
	var all []tick
	rest := data[8+size:]
	for tracks > 0 && len(rest) >= 8 {
		name, n := string(rest[:4]), binary.BigEndian.Uint32(rest[4:])
		body := rest[8:]
		if uint64(n) > uint64(len(body)) {
			return nil, fmt.Errorf("%w: a track says %d bytes, %d are left", errFileCut, n, len(body))
		}
		if name == "MTrk" {
			var err error
			if all, err = track(all, body[:n]); err != nil {
				return nil, err
			}
			tracks--
		}
		rest = body[n:]
	}
	if tracks > 0 {
		return nil, fmt.Errorf("%w: %d tracks are not there", errFileCut, tracks)
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].at < all[j].at })
	return timed(all, division)
}

// timed brings ticks to times.
func timed(all []tick, division int16) ([]Event, error) {
	const limit = 24 * time.Hour
	var out []Event
	var now float64 // microseconds
	var last int64
	tempo := 500_000.0 // 120 quarter notes a minute
	for _, k := range all {
		step := float64(k.at - last)
		if division > 0 {
			now += step * tempo / float64(division)
		} else { // frames a second and ticks a frame
			now += step * 1e6 / (float64(-(division >> 8)) * float64(max(1, division&0xff)))
		}
		last = k.at
		if now > float64(limit.Microseconds()) {
			return nil, errors.New("it is longer than a day")
		}
		if k.tempo > 0 {
			tempo = float64(k.tempo)
		}
		if k.bytes != nil {
			out = append(out, Event{time.Duration(now * 1e3), k.bytes})
		}
	}
	return out, nil
}

// varint reads a number of seven bits a byte.
func varint(b []byte) (v int64, rest []byte, err error) {
	for i := 0; i < 4 && i < len(b); i++ {
		v = v<<7 | int64(b[i]&0x7f)
		if b[i] < 0x80 {
			return v, b[i+1:], nil
		}
	}
	return 0, nil, errFileCut
}

func track(all []tick, b []byte) ([]tick, error) {
	var at int64
	var status byte
	for len(b) > 0 {
		delta, rest, err := varint(b)
		if err != nil || len(rest) == 0 {
			return nil, errFileCut
		}
		at += delta
		b = rest
		if len(all) >= maxEvents {
			return nil, fmt.Errorf("it has more than %d events", maxEvents)
		}
		if b[0] >= 0x80 {
			status, b = b[0], b[1:]
		}
		var kind byte
		if status == 0xff && len(b) > 0 { // a meta event: its kind, then as sysex
			kind, b = b[0], b[1:]
		}
		n := int64(length(status))
		switch status {
		case 0:
			return nil, errors.New("a track begins without a status")
		case 0xff, statusSysEx, statusEnd:
			if n, b, err = varint(b); err != nil {
				return nil, err
			}
		}
		if n < 0 || n > int64(len(b)) {
			return nil, errFileCut
		}
		body := b[:n]
		b = b[n:]
		switch {
		case status == 0xff && kind == 0x2f:
			return all, nil
		case status == 0xff && kind == 0x51 && n == 3:
			all = append(all, tick{at: at, tempo: int64(body[0])<<16 | int64(body[1])<<8 | int64(body[2])})
		case status == 0xff:
		case status == statusEnd:
			all = append(all, tick{at: at, bytes: append([]byte(nil), body...)})
		default:
			all = append(all, tick{at: at, bytes: append([]byte{status}, body...)})
		}
		if status >= 0xf0 {
			status = 0
		}
	}
	return all, nil
}
