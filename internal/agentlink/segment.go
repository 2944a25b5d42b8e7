package agentlink

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Kinds of records. The numbers are the agents'; append only.
const (
	kindFunction = 1
	kindLane     = 2
	kindEnter    = 3
	kindExit     = 4
	kindYield    = 5
	kindLost     = 6
	kindCrash    = 7
	kindLog      = 8
	kindEnd      = 9
	kindSwitch   = 10
	kindNext     = 255
)

// Flags of an exit.
const (
	flagThrown  = 1
	flagClosed  = 2
	flagNoValue = 4
)

const (
	magic        = "strobe1\n"
	segmentHead  = 16
	recordHead   = 32
	maxRecord    = 64 << 20 // a longer one is not believed
	readChunk    = 256 << 10
	segmentsKept = 16 // of a stream that its writer may be ahead: docs/agentlink.md, Segments
)

// record is one record of a stream. payload is valid until the next read.
type record struct {
	ts              int64
	fn, lane, under uint32
	aux             uint32
	kind, flags     uint8
	payload         []byte
}

// streamKey names a stream of a process's image.
type streamKey struct {
	pid    int
	nonce  string
	number int
}

// segmentName is P-N-S-Q.ev.
func (k streamKey) segmentName(seq int) string {
	return fmt.Sprintf("%d-%s-%d-%d.ev", k.pid, k.nonce, k.number, seq)
}

func parseSegmentName(name string) (k streamKey, seq int, ok bool) {
	base, found := strings.CutSuffix(name, ".ev")
	parts := strings.Split(base, "-")
	if !found || len(parts) != 4 || len(parts[1]) > 32 {
		return k, 0, false
	}
	var err [3]error
	k.nonce = parts[1]
	k.pid, err[0] = strconv.Atoi(parts[0])
	k.number, err[1] = strconv.Atoi(parts[2])
	seq, err[2] = strconv.Atoi(parts[3])
	return k, seq, errors.Join(err[:]...) == nil && k.pid > 0 && k.number >= 0 && seq >= 0
}

// stream reads one stream of records. Not safe for concurrent use.
type stream struct {
	dir   string
	key   streamKey
	seq   int
	file  *os.File // nil: not open yet
	at    int64
	buf   []byte
	broke error    // why nothing more of it is read
	read  int64    // records
	first int64    // time of the first one
	last  int64    // and of the last that was read
	idle  int      // looks, one after another, at which there was nothing
	seen  int64    // session time of the last look
	marks []uint32 // lengths of records, of chunk
}

// open opens the segment at hand, if it is there.
func (s *stream) open() (bool, error) {
	f, err := os.Open(filepath.Join(s.dir, s.key.segmentName(s.seq)))
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var head [segmentHead]byte
	if _, err := f.ReadAt(head[:], 0); err != nil || string(head[:8]) != magic {
		f.Close()
		if err == nil && head != [segmentHead]byte{} || err != nil && !errors.Is(err, io.EOF) {
			return false, fmt.Errorf("segment %s does not begin as one", f.Name())
		}
		return false, nil // it is being made
	}
	s.file, s.at = f, segmentHead
	return true, nil
}

// next passes records to take until there are none, or more bytes than most were read. It reports whether there may be
// more.
func (s *stream) next(most int, take func(*record)) (more bool) {
	for most > 0 && s.broke == nil {
		if s.file == nil {
			if ok, err := s.open(); !ok {
				s.broke = err
				return false
			}
		}
		n, rolled, err := s.chunk(take)
		if err != nil {
			s.broke = fmt.Errorf("stream %s at %d: %w", s.key.segmentName(s.seq), s.at, err)
			return false
		}
		if n == 0 && !rolled {
			return false
		}
		most -= n
	}
	return s.broke == nil
}

// chunk reads what was published of the segment at hand, up to a bound. rolled tells that its end was reached.
func (s *stream) chunk(take func(*record)) (size int, rolled bool, err error) {
	var head [recordHead]byte // most looks find nothing
	if n, err := s.file.ReadAt(head[:], s.at); n < len(head) && err != nil && !errors.Is(err, io.EOF) {
		return 0, false, err
	} else if n < len(head) || binary.LittleEndian.Uint32(head[28:]) == 0 {
		return 0, false, nil
	}
	want := readChunk
	for {
		if cap(s.buf) < want {
			s.buf = make([]byte, want)
		}
		n, err := s.file.ReadAt(s.buf[:want], s.at)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, false, err
		}
		var whole int
		if s.marks, whole = lengths(s.marks[:0], s.buf[:n]); len(s.marks) == 0 {
			return 0, false, nil
		}
		// A length is written last: once it is seen all before it can be read, but not what was read with it. The length
		// itself may have been read while it was written, one byte of it before and one behind.
		if whole == 0 {
			whole = n
		}
		b := s.buf[:whole]
		if _, err := s.file.ReadAt(b, s.at); err != nil && !errors.Is(err, io.EOF) {
			return 0, false, err
		}
		size, need, err := published(b, s.marks)
		if err != nil {
			return 0, false, err
		}
		if size == 0 && need > want && n == want {
			want = need
			continue
		}
		if size == 0 {
			return 0, false, nil
		}
		s.at += int64(size)
		return size, s.pass(b[:size], take), nil
	}
}

// lengths appends the lengths of b's records that were there when it was read, the last of which may be no length, and
// returns how many bytes the whole ones have.
func lengths(seen []uint32, b []byte) (_ []uint32, whole int) {
	for len(b)-whole >= recordHead {
		n := binary.LittleEndian.Uint32(b[whole+28:])
		if n == 0 {
			break
		}
		seen = append(seen, n)
		if !isLength(n) || len(b)-whole < int(n) {
			break
		}
		whole += int(n)
		if b[whole-int(n)+24] == kindNext {
			break
		}
	}
	return seen, whole
}

func isLength(n uint32) bool { return n >= recordHead && n%8 == 0 && n <= maxRecord }

// published returns how many bytes of b are whole records, and, if none, how many the first one needs. b was read
// behind what had the lengths seen: of those records alone it has all. Where it has another length, that was half
// written then, and what was seen behind it is none.
func published(b []byte, seen []uint32) (size, need int, err error) {
	for _, was := range seen {
		if len(b)-size < recordHead {
			break
		}
		n := binary.LittleEndian.Uint32(b[size+28:])
		if !isLength(n) {
			return 0, 0, fmt.Errorf("a record of %d bytes", n)
		}
		if len(b)-size < int(n) {
			need = int(n)
			break
		}
		size += int(n)
		if n != was || b[size-int(n)+24] == kindNext {
			break
		}
	}
	return size, need, nil
}

// pass hands on the records of b, and reports whether the segment ends with them.
func (s *stream) pass(b []byte, take func(*record)) (rolled bool) {
	for len(b) >= recordHead {
		n := int(min(max(binary.LittleEndian.Uint32(b[28:]), recordHead), uint32(len(b))))
		r := record{
			ts: int64(binary.LittleEndian.Uint64(b)), fn: binary.LittleEndian.Uint32(b[8:]),
			lane:  binary.LittleEndian.Uint32(b[12:]),
			under: binary.LittleEndian.Uint32(b[16:]), aux: binary.LittleEndian.Uint32(b[20:]), kind: b[24], flags: b[25],
		}
		pad := int(binary.LittleEndian.Uint16(b[26:]))
		r.payload = b[recordHead:max(recordHead, n-pad)]
		b = b[n:]
		if s.read++; s.first == 0 {
			s.first = r.ts
		}
		s.last = r.ts
		if r.kind == kindNext {
			s.remove()
			s.seq++
			return true
		}
		take(&r)
	}
	return false
}

// remove gives the room of the segment at hand back.
func (s *stream) remove() {
	if s.file != nil {
		_ = os.Remove(s.file.Name())
		_ = s.file.Close()
		s.file = nil
	}
}
