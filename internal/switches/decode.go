package switches

import (
	"encoding/binary"
	"errors"
)

// What a record says of its thread.
type What uint8

// What records say.
const (
	In        What = iota // it runs from now on
	Out                   // it waits for something
	Preempted             // it could go on, and has no CPU
	Born                  // it was made, and its switches are recorded as its maker's are
	Ended
	// Records are missing of a time that begins, and that ends. They are of no thread.
	GapFrom
	GapTo
)

// Record is one of the kernel's, of a thread.
type Record struct {
	At       int64 // nanoseconds, on the clock that was asked for
	PID, TID int32
	What     What
}

// Types and flags of perf's records (include/uapi/linux/perf_event.h), with sample_id_all and the sample type
// SampleType.
const (
	perfLost   = 2
	perfExit   = 4
	perfFork   = 7
	perfSwitch = 14

	switchOut     = 1 << 13
	switchPreempt = 1 << 14

	// SampleType asks for process and thread, and the time, behind each record.
	SampleType = 1<<1 | 1<<2

	headerBytes = 8
	idBytes     = 16
)

// ErrRecord is a length that no record has.
var ErrRecord = errors.New("a record of no possible length")

// Stream is what was read of one CPU's buffer.
type Stream struct {
	Lost uint64 // records that the kernel had no room for
	last int64  // time of the last record
}

// Decode appends what a piece of the buffer says. The piece ends where a record does.
func (s *Stream) Decode(b []byte, to []Record) ([]Record, error) {
	le := binary.LittleEndian
	for len(b) > 0 {
		if len(b) < headerBytes {
			return to, ErrRecord
		}
		size := int(le.Uint16(b[6:]))
		if size < headerBytes || size > len(b) {
			return to, ErrRecord
		}
		kind, misc, rec := le.Uint32(b), le.Uint16(b[4:]), b[headerBytes:size]
		b = b[size:]
		switch kind {
		case perfLost: // id, count, and behind them thread and time of who came next
			if len(rec) >= 16+idBytes {
				to = s.gap(le.Uint64(rec[8:]), int64(le.Uint64(rec[24:])), to)
			}
		case perfSwitch:
			if len(rec) < idBytes {
				continue
			}
			r := Record{PID: int32(le.Uint32(rec)), TID: int32(le.Uint32(rec[4:])), At: int64(le.Uint64(rec[8:]))}
			if misc&switchOut != 0 {
				if r.What = Out; misc&switchPreempt != 0 {
					r.What = Preempted
				}
			}
			s.last, to = r.At, append(to, r)
		case perfExit, perfFork: // pid, parent's, tid, parent's, time
			if len(rec) < 24 {
				continue
			}
			r := Record{PID: int32(le.Uint32(rec)), TID: int32(le.Uint32(rec[8:])), At: int64(le.Uint64(rec[16:])),
				What: Ended}
			if kind == perfFork {
				r.What = Born
			}
			s.last, to = r.At, append(to, r)
		}
	}
	return to, nil
}

func (s *Stream) gap(n uint64, until int64, to []Record) []Record {
	s.Lost += n
	from := s.last
	s.last = max(until, from)
	return append(to, Record{At: from, What: GapFrom}, Record{At: s.last, What: GapTo})
}

// Missing tells how many records of the stream were lost until now as the kernel counts them: some of them have no
// record behind them that says so.
func (s *Stream) Missing(all uint64, now int64, to []Record) []Record {
	if all <= s.Lost {
		return to
	}
	return s.gap(all-s.Lost, now, to)
}
