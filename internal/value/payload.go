package value

import (
	"encoding/binary"
	"sort"
)

// chunkState says what became of a chunk's bytes.
type chunkState uint8

const (
	chunkOK         chunkState = iota
	chunkUnreadable            // also: the payload ended before it
	chunkMissing               // optimized out
	chunkCut                   // beyond the byte limit of the capture
)

// Statuses of nodes and evaluations, as in ring/abi.go, which this package does not import: a layout is
// read on systems that have no ring. A test compares them.
const (
	statusOK      = 0
	statusCut     = 3
	lengthAtLeast = 1 << 63
)

type chunk struct {
	data    []byte
	state   chunkState
	limit   uint32 // bytes that were asked for
	length  uint64 // cut text: its whole length
	atLeast bool
	addr    uint64 // nodes: where it was, and what walk it is of
	walk    uint16
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
	for s.Nodes && len(p) >= nodeBytes && binary.LittleEndian.Uint64(p) != namesMagic {
		var c chunk
		c, p = takeNode(p)
		chunks = append(chunks, c)
	}
	return chunks, p
}

// nodeBytes is the size of ring.Node, which begins with an address.
const nodeBytes = 16

// takeNode reads a ring.Node and what it holds.
func takeNode(p []byte) (chunk, []byte) {
	c := chunk{state: chunkUnreadable, addr: binary.LittleEndian.Uint64(p), walk: binary.LittleEndian.Uint16(p[12:])}
	n, status := uint64(binary.LittleEndian.Uint32(p[8:])), p[15]
	p = p[nodeBytes:]
	if status == statusCut {
		if len(p) < 8 {
			return c, nil
		}
		c.length = binary.LittleEndian.Uint64(p)
		c.atLeast = c.length&lengthAtLeast != 0
		c.length &^= lengthAtLeast
		p = p[8:]
	}
	if n > uint64(len(p)) {
		return c, nil
	}
	if status == statusOK || status == statusCut {
		c.data, c.state, c.limit = p[:n], chunkOK, uint32(n)
	}
	return c, p[min(pad8(n), uint64(len(p))):]
}

func (pt *Part) take(p []byte) (chunk, []byte) {
	c := chunk{state: chunkUnreadable, limit: pt.Size}
	if !pt.Eval {
		if uint64(len(p)) < uint64(pt.Size) {
			return c, nil
		}
		c.data, c.state = p[:pt.Size], chunkOK
		return c, p[min(pad8(uint64(pt.Size)), uint64(len(p))):]
	}
	if uint64(len(p)) < 8+uint64(pt.Size) {
		return c, nil
	}
	n, status := uint64(binary.LittleEndian.Uint32(p)), binary.LittleEndian.Uint32(p[4:])
	p = p[8:]
	if status == statusOK && n <= uint64(pt.Size) {
		c.data, c.state = p[:n], chunkOK
	}
	return c, p[min(pad8(uint64(pt.Size)), uint64(len(p))):]
}

func pad8(n uint64) uint64 { return (n + 7) &^ 7 }

// Function names ride behind a payload's last chunk, so that a retained session shows function
// pointers by name without the binary: magic, then per address 8 bytes, a length byte, the name.
const namesMagic = 0x314d4e4620202020 // "    FNM1": no address

// HasFuncPtrs reports whether payloads of this layout can hold code addresses: only then does
// FuncPtrs, AnnotateEnter or AnnotateExit find anything.
func (l *Layout) HasFuncPtrs() bool {
	for i := range l.Types {
		switch l.Types[i].Class {
		case ClassFuncPtr, ClassMethodPtr, ClassCallable, ClassTypeOf:
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
	for i := range l.Out {
		r.field(&l.Out[i])
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
			out = binary.LittleEndian.AppendUint64(out, namesMagic)
		}
		name = name[:min(len(name), 255)]
		out = binary.LittleEndian.AppendUint64(out, a)
		out = append(append(out, byte(len(name))), name...)
	}
	return out
}

// codeName finds the name of a code address in what follows the chunks.
func codeName(rest []byte, addr uint64) string {
	if len(rest) < 8 || binary.LittleEndian.Uint64(rest) != namesMagic {
		return ""
	}
	for rest = rest[8:]; len(rest) >= 9; {
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
