package value

import (
	"encoding/binary"
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

// HasFuncPtrs reports whether payloads of this layout can hold code addresses.
func (l *Layout) HasFuncPtrs() bool {
	for i := range l.Types {
		switch l.Types[i].Class {
		case ClassFuncPtr, ClassMethodPtr, ClassCallable, ClassTypeOf:
			return true
		case ClassDynamic:
			if l.Types[i].Plain {
				return true
			}
		}
	}
	return false
}

// CodeStep is where in payloads of this layout addresses of code can be: at multiples of so many bytes, 8 or, where a
// type is packed,
// 1. 0: there are none.
func (l *Layout) CodeStep() uint8 {
	if !l.HasFuncPtrs() {
		return 0
	}
	for i := range l.Types {
		t := &l.Types[i]
		for k := range t.Fields {
			if f := &t.Fields[k]; f.Off%8 != 0 && f.Type >= 0 && int(f.Type) < len(l.Types) && l.Types[f.Type].Size >= 8 {
				return 1
			}
		}
		for k := range t.Variants {
			if t.Variants[k].Off%8 != 0 {
				return 1
			}
		}
		if t.Elem >= 0 && int(t.Elem) < len(l.Types) {
			if n := l.Types[t.Elem].Size; n > 8 && n%8 != 0 {
				return 1
			}
		}
	}
	return 8
}

// Annotate returns an enter's payload with the names of the functions that it points to behind it, which Enter shows.
// resolve returns "" for an address that begins none. When there is nothing to add, the payload itself is returned.
func (l *Layout) Annotate(payload []byte, resolve func(addr uint64) string) []byte {
	step, out := int(l.CodeStep()), payload[:len(payload):len(payload)]
	for at := 0; step > 0 && at+8 <= len(payload); at += step {
		addr := binary.LittleEndian.Uint64(payload[at:])
		if name := resolve(addr); name != "" {
			out = AppendCodeName(out, len(payload), addr, name)
		}
	}
	return out
}

// AppendCodeName puts the name of the function at addr behind a payload of n bytes and the names that it has already.
func AppendCodeName(payload []byte, n int, addr uint64, name string) []byte {
	if name == "" || codeName(payload[n:], addr) != "" {
		return payload
	}
	if len(payload) == n {
		payload = binary.LittleEndian.AppendUint64(payload, namesMagic)
	}
	name = name[:min(len(name), 255)]
	payload = binary.LittleEndian.AppendUint64(payload, addr)
	return append(append(payload, byte(len(name))), name...)
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
