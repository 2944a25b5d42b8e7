package wire

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strconv"
	"strings"
)

// preface is what a client of HTTP/2 begins with, before its first frame.
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// unread stands for what was sent in a way that only who saw all of the connection can read.
const unread = "?"

// Kinds of frames, and flags of theirs.
const (
	frameData         = 0
	frameHeaders      = 1
	framePriority     = 2
	frameReset        = 3
	frameSettings     = 4
	framePush         = 5
	framePing         = 6
	frameAway         = 7
	frameWindow       = 8
	frameContinuation = 9
	frameKinds        = 0x20 // more than any has
	// WholeFrames are the kinds that are read whole, a bit each. Of others the agent tells but the head.
	WholeFrames = 1<<frameHeaders | 1<<frameReset | 1<<framePush | 1<<frameAway | 1<<frameContinuation

	endStream   = 0x1
	endHeaders  = 0x4
	padded      = 0x8
	hasPriority = 0x20

	frameHead = 9
)

// Bounds of what is kept of a connection.
const (
	maxBlock   = 1 << 16 // of a block of headers
	maxStreams = 10_000
)

// frames is what went one way through a connection of HTTP/2.
type frames struct {
	part    []byte // of a frame's head, or behind that of the frame, where it is read whole
	rest    int64  // of a frame that is passed over
	lost    bool   // where a frame begins is not known
	strange bool   // something was no frame
	block   []byte // of headers that go on
	open    uint32 // the stream of that block; 0: none
	push    bool   // it is of a push
	ended   bool   // with that block ends what its stream sends
	table   headerTable
	bytes   map[uint32]int64 // of streams that have not ended
}

// sparse is a message whose first bytes are known, and of those behind them all that are no data of a body.
type sparse struct {
	raw, more []byte
	at, size  int64
}

// take gets up to n of the next bytes, fewer where the message ends; ok: they are known.
func (s *sparse) take(n int64) (b []byte, ok bool) {
	n = min(n, s.size-s.at)
	if s.at < int64(len(s.raw)) {
		b = s.raw[s.at:min(s.at+n, int64(len(s.raw)))]
	}
	if m := n - int64(len(b)); m > int64(len(s.more)) {
		return nil, false
	} else if m > 0 {
		b, s.more = append(slices.Clip(b), s.more[:m]...), s.more[m:]
	}
	s.at += n
	return b, true
}

// http2 reads frames, and recognises a connection by them. out: the program sends.
func (c *Conn) http2(head, more []byte, size int64, out bool) (m Message, ok bool) {
	s := &sparse{raw: head, more: more, size: size}
	begins := bytes.HasPrefix(head, []byte(preface))
	if begins {
		if c.h2 == nil { // else the server was faster
			c.h2 = &[2]frames{}
		}
		c.client, s.at = out, int64(len(preface))
	}
	trial := c.h2 == nil
	if trial {
		if !frameAt(head, true) {
			return m, false
		}
		c.h2 = &[2]frames{}
	}
	f := &c.h2[side(out)]
	parts, asks := f.read(s, begins || trial || f.lost)
	if trial {
		if asks == 0 || f.strange || f.lost {
			c.h2 = nil
			return m, false
		}
		c.client = out == (asks > 0)
	}
	if len(parts) == 0 && !begins {
		return m, true // of frames that say nothing
	}
	m.Proto = "HTTP/2"
	for i, p := range parts {
		if p.unread { // by which end this was sent it is known what it was
			if out == c.client {
				p.Method, p.Path = unread, unread
			} else {
				p.Answer = unread
			}
		}
		if i == 0 {
			m.set(p)
		} else {
			m.More = append(m.More, p.Part)
		}
	}
	return m, true
}

func side(out bool) int {
	if out {
		return 1
	}
	return 0
}

// part is a Part as it was found.
type part struct {
	Part
	host   string
	unread bool // its headers were not
}

// set makes it the message's first.
func (m *Message) set(p part) {
	m.Method, m.Path, m.Host, m.Status, m.Answer, m.Trace = p.Method, p.Path, p.host, p.Status, p.Answer, p.Trace
	m.At, m.Stream, m.End, m.StreamBytes = p.At, p.Stream, p.End, p.StreamBytes
}

// frameAt reports whether a frame may begin here. first: of a connection about which nothing is known.
func frameAt(b []byte, first bool) bool {
	if len(b) < frameHead {
		return false
	}
	length, kind, flags, stream := frameOf(b)
	one := stream != 0
	if stream >= 1<<31 {
		return false
	}
	switch kind {
	case frameData:
		return one && !first && flags&^(endStream|padded) == 0
	case frameHeaders:
		return one && stream&1 == 1 && length > 0 && length <= maxBlock &&
			flags&^(endStream|endHeaders|padded|hasPriority) == 0
	case framePriority:
		return one && length == 5
	case frameReset:
		return one && length == 4
	case frameSettings:
		return !one && length%6 == 0 && length < 600 && flags&^1 == 0
	case framePush:
		return one && !first && length > 4 && length <= maxBlock
	case framePing:
		return !one && length == 8 && flags&^1 == 0
	case frameAway:
		return !one && length >= 8 && length <= 1<<14
	case frameWindow:
		return length == 4 && flags == 0
	case frameContinuation:
		return one && !first && length <= maxBlock && flags&^endHeaders == 0
	}
	return !first && kind < frameKinds && length <= 1<<14 // of extensions
}

func frameOf(b []byte) (length int64, kind, flags byte, stream uint32) {
	return int64(b[0])<<16 | int64(b[1])<<8 | int64(b[2]), b[3], b[4], binary.BigEndian.Uint32(b[5:])
}

// read reads the frames of a message. anew: one begins with it. asks is the count of requests less that of answers.
func (f *frames) read(s *sparse, anew bool) (parts []part, asks int) {
	if f.lost && !frameAt(s.raw, false) {
		return nil, 0
	}
	if anew {
		f.part, f.rest, f.lost, f.open = nil, 0, false, 0
	}
	for s.at < s.size && !f.lost {
		if f.rest > 0 {
			n := min(f.rest, s.size-s.at)
			s.at, f.rest = s.at+n, f.rest-n
			continue
		}
		want := int64(frameHead)
		if len(f.part) >= frameHead {
			length, _, _, _ := frameOf(f.part)
			want += length
		}
		from := s.at - int64(len(f.part)) // where the frame begins
		b, ok := s.take(want - int64(len(f.part)))
		if !ok {
			f.miss()
			break
		}
		if f.part = append(f.part, b...); int64(len(f.part)) < want {
			break
		}
		if len(f.part) == frameHead {
			if !frameAt(f.part, false) {
				f.strange = true
				f.miss()
				break
			}
			if length, kind, _, _ := frameOf(f.part); length > 0 && kind <= frameContinuation && WholeFrames>>kind&1 != 0 {
				continue
			}
		}
		p, n := f.frame(from)
		asks += n
		f.part = nil
		if p != nil {
			parts = append(parts, *p)
		}
	}
	return parts, asks
}

// miss notes that bytes were not seen: where the next frame begins, and what was told of headers, is not known.
func (f *frames) miss() {
	f.part, f.block, f.open, f.lost = nil, nil, 0, true
	f.table.forget()
}

// frame is one that is there, but for what is passed over.
func (f *frames) frame(at int64) (p *part, asks int) {
	length, kind, flags, stream := frameOf(f.part)
	body := f.part[frameHead:]
	if f.bytes == nil || len(f.bytes) > maxStreams {
		f.bytes = map[uint32]int64{}
	}
	if stream != 0 && kind != frameReset && kind != frameWindow && kind != framePriority {
		f.bytes[stream] += length + frameHead
	}
	f.rest = length - int64(len(body))
	switch kind {
	case frameData:
		if flags&endStream != 0 {
			return f.end(&part{Part: Part{At: at + frameHead + length - 1, Stream: stream}}), 0
		}
	case frameReset:
		if len(body) == 4 {
			delete(f.bytes, stream)
			return &part{Part: Part{At: at, Stream: stream, End: true,
				Answer: "reset " + errorName(binary.BigEndian.Uint32(body))}}, 0
		}
	case frameAway:
		if code := binary.BigEndian.Uint32(body[4:]); code != 0 {
			return &part{Part: Part{At: at, Answer: "goaway " + errorName(code)}}, 0
		}
	case frameHeaders, framePush, frameContinuation:
		return f.headers(at, kind, flags, stream, body)
	}
	return nil, 0
}

// end notes that a stream's side has sent all.
func (f *frames) end(p *part) *part {
	p.End, p.StreamBytes = true, f.bytes[p.Stream]
	delete(f.bytes, p.Stream)
	return p
}

// headers is a frame with a block of headers, or with more of one.
func (f *frames) headers(at int64, kind, flags byte, stream uint32, body []byte) (*part, int) {
	if kind == frameContinuation {
		if f.open != stream || len(f.block)+len(body) > maxBlock {
			f.block, f.open = nil, 0
			f.table.forget()
			return nil, 0
		}
		f.block = append(f.block, body...)
	} else {
		skip, tail := 0, 0
		if flags&padded != 0 && len(body) > 0 {
			skip, tail = 1, int(body[0])
		}
		if kind == framePush {
			skip += 4
		} else if flags&hasPriority != 0 {
			skip += 5
		}
		if skip+tail > len(body) {
			f.strange = true
			f.table.forget()
			return nil, 0
		}
		f.block = slices.Clone(body[skip : len(body)-tail])
		f.open, f.push, f.ended = stream, kind == framePush, kind == frameHeaders && flags&endStream != 0
	}
	if flags&endHeaders == 0 {
		return nil, 0
	}
	p := &part{Part: Part{At: at, Stream: f.open}}
	asks := f.fields(p)
	push, ended := f.push, f.ended
	f.block, f.open = nil, 0
	if push {
		return nil, 0
	}
	if ended {
		f.end(p)
	}
	if asks == 0 && !p.unread && p.Answer == "" && !p.End {
		return nil, 0 // trailers that say nothing
	}
	return p, asks
}

// fields reads a whole block of headers: 1 of a request, -1 of an answer.
func (f *frames) fields(p *part) (asks int) {
	grpc, message, missing := "", "", false
	err := f.table.decode(f.block, func(h headerField) {
		missing = missing || !h.known
		switch h.name {
		case ":method":
			p.Method, asks = cut(h.value), 1
		case ":path":
			p.Path = cut(h.value)
		case ":authority":
			p.host = cut(h.value)
		case ":status":
			p.Status, _ = strconv.Atoi(h.value) //nolint:errcheck // one that is no number is none
			asks = -1
		case "grpc-status":
			grpc = h.value
		case "grpc-message":
			message = h.value
		default:
			if h.name == "traceparent" || tracing[h.name] && p.Trace == "" {
				p.Trace = cut(h.value)
			}
		}
	})
	if err != nil {
		f.table.forget()
	}
	if asks > 0 && p.Path == "" && p.Method != "CONNECT" {
		p.Path = unread
	}
	p.unread = asks == 0 && (err != nil || missing)
	if grpc != "" {
		p.Answer = grpcAnswer(grpc, message)
	}
	return asks
}

// grpcNames are the names of gRPC's codes.
var grpcNames = strings.Fields("OK CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS " +
	"PERMISSION_DENIED RESOURCE_EXHAUSTED FAILED_PRECONDITION ABORTED OUT_OF_RANGE UNIMPLEMENTED INTERNAL UNAVAILABLE " +
	"DATA_LOSS UNAUTHENTICATED")

// grpcAnswer is how a call of gRPC ended.
func grpcAnswer(code, message string) string {
	s := "grpc " + code
	if n, err := strconv.Atoi(code); err == nil && n >= 0 && n < len(grpcNames) {
		s += " " + grpcNames[n]
	}
	return cut(strings.TrimSpace(s + " " + message))
}

// errorNames are the names of HTTP/2's codes.
var errorNames = strings.Fields("NO_ERROR PROTOCOL_ERROR INTERNAL_ERROR FLOW_CONTROL_ERROR SETTINGS_TIMEOUT " +
	"STREAM_CLOSED FRAME_SIZE_ERROR REFUSED_STREAM CANCEL COMPRESSION_ERROR CONNECT_ERROR ENHANCE_YOUR_CALM " +
	"INADEQUATE_SECURITY HTTP_1_1_REQUIRED")

func errorName(code uint32) string {
	if code < uint32(len(errorNames)) {
		return errorNames[code]
	}
	return strconv.FormatUint(uint64(code), 10)
}
