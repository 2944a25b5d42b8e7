package value

import (
	"encoding/binary"
	"sort"
)

// chunkState says what became of a chunk's bytes.
type chunkState uint8

const (
	chunkOK chunkState = iota
	chunkNull
	chunkUnreadable // also: the payload ended before it
	chunkMissing    // optimized out
	chunkCut        // beyond the byte limit of the capture
)

// Statuses of a followed pointer, as in ring/abi.go, which this package does not import: a layout is
// read on systems that have no ring. A test compares them.
const (
	statusOK         = 0
	statusNull       = 1
	statusUnreadable = 2
	statusCut        = 3
	statusNoRoom     = 4
	lengthAtLeast    = 1 << 63
)

type chunk struct {
	data    []byte
	state   chunkState
	limit   uint32 // bytes that were asked for
	length  uint64 // cut text: its whole length
	atLeast bool
}

// split takes a payload apart. It always returns one chunk per part plus chunk 0; what the payload is
// too short for is unreadable. rest is what follows the last chunk.
func (s *Shape) split(payload []byte, buf []chunk) (chunks []chunk, rest []byte) {
	n := min(s.GPRs*8, len(payload))
	chunks = append(buf[:0], chunk{data: payload[:n], limit: uint32(n)})
	p := payload[n:]
	for i := range s.Parts {
		var c chunk
		c, p = s.Parts[i].take(p)
		chunks = append(chunks, c)
	}
	return chunks, p
}

func (pt *Part) take(p []byte) (chunk, []byte) {
	c := chunk{state: chunkUnreadable, limit: pt.Size}
	if !pt.Followed {
		if uint64(len(p)) < uint64(pt.Size) {
			return c, nil
		}
		c.data, c.state = p[:pt.Size], chunkOK
		return c, p[min(pad8(uint64(pt.Size)), uint64(len(p))):]
	}
	if len(p) < 8 {
		return c, nil
	}
	n, status := uint64(binary.LittleEndian.Uint32(p)), binary.LittleEndian.Uint32(p[4:])
	p = p[8:]
	if n > uint64(len(p)) {
		return c, nil
	}
	switch status {
	case statusOK, statusCut:
		c.data, c.state = p[:n], chunkOK
	case statusNull:
		c.state = chunkNull
	}
	p = p[min(pad8(n), uint64(len(p))):]
	if status == statusCut && len(p) >= 8 {
		c.length = binary.LittleEndian.Uint64(p)
		c.atLeast = c.length&lengthAtLeast != 0
		c.length &^= lengthAtLeast
		p = p[8:]
	}
	return c, p
}

func pad8(n uint64) uint64 { return (n + 7) &^ 7 }

// Function names ride behind a payload's last chunk, so that a retained session shows function
// pointers by name without the binary: magic, then per address 8 bytes, a length byte, the name.
const namesMagic = 0x314d4e46 // "FNM1"

// HasFuncPtrs reports whether payloads of this layout can hold code addresses: only then does
// FuncPtrs, AnnotateEnter or AnnotateExit find anything.
func (l *Layout) HasFuncPtrs() bool {
	for i := range l.Types {
		if c := l.Types[i].Class; c == ClassFuncPtr || c == ClassMethodPtr {
			return true
		}
	}
	return false
}

// AnnotateEnter returns an enter's payload with the names of the functions that it points to behind
// it, which Enter shows. resolve returns "" for an address it does not know. When there is
// nothing to add, the payload itself is returned.
func (l *Layout) AnnotateEnter(payload []byte, resolve func(addr uint64) string) []byte {
	return annotate(payload, l.FuncPtrs(payload), resolve)
}

// AnnotateExit is AnnotateEnter for an exit's payload, which must be the record's whole one.
func (l *Layout) AnnotateExit(payload []byte, resolve func(addr uint64) string) []byte {
	r := l.renderer(&l.OnExit, payload)
	r.collect = true
	if l.Ret != nil {
		r.field(l.Ret)
	}
	return annotate(payload, r.code, resolve)
}

// FuncPtrs returns the code addresses in an enter's payload, sorted, each once, without null.
func (l *Layout) FuncPtrs(payload []byte) []uint64 {
	r := l.renderer(&l.OnEnter, payload)
	r.collect = true
	for i := range l.Args {
		r.field(&l.Args[i])
	}
	sort.Slice(r.code, func(i, j int) bool { return r.code[i] < r.code[j] })
	out := r.code[:0]
	for i, a := range r.code {
		if i == 0 || a != r.code[i-1] {
			out = append(out, a)
		}
	}
	return out
}

func annotate(payload []byte, addrs []uint64, resolve func(uint64) string) []byte {
	out := payload[:len(payload):len(payload)]
	for i, a := range addrs {
		name := resolve(a)
		if name == "" {
			continue
		}
		if i == 0 || len(out) == len(payload) {
			out = binary.LittleEndian.AppendUint32(out, namesMagic)
		}
		name = name[:min(len(name), 255)]
		out = binary.LittleEndian.AppendUint64(out, a)
		out = append(append(out, byte(len(name))), name...)
	}
	return out
}

// codeName finds the name of a code address in what follows the chunks.
func codeName(rest []byte, addr uint64) string {
	if len(rest) < 4 || binary.LittleEndian.Uint32(rest) != namesMagic {
		return ""
	}
	for rest = rest[4:]; len(rest) >= 9; {
		n := int(rest[8])
		if 9+n > len(rest) {
			return ""
		}
		if binary.LittleEndian.Uint64(rest) == addr {
			return string(rest[9 : 9+n])
		}
		rest = rest[9+n:]
	}
	return ""
}
