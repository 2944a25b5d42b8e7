package capture

import "github.com/strobe-debug/strobe/internal/symbol"

// source says where one byte is at a function's entry.
type source struct {
	kind srcKind
	reg  uint8 // srcGPR: DWARF number; srcXMM: 0 to 15
	off  int32 // byte in the register; srcStack: bytes from the CFA
}

type srcKind uint8

const (
	srcNone  srcKind = iota // optimized out, or not known
	srcGPR                  // a general register
	srcXMM                  // a vector register's low 16 bytes
	srcStack                // the caller's argument area, at CFA+off
	srcConst                // no place: the bytes are known
)

// DWARF numbers of the x86-64 registers (psABI figure 3.36).
const (
	rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp = 0, 1, 2, 3, 4, 5, 6, 7
	r8, r9, r10, r11                       = 8, 9, 10, 11
	xmm0                                   = 17
)

// argGPRs are the registers of integer arguments in order, as Plan.EnterGPRs counts them.
var argGPRs = [6]uint8{rdi, rsi, rdx, rcx, r8, r9}

// place is a run of a value's bytes that lie together.
type place struct {
	source
	size  uint32
	bytes []byte // srcConst
}

// home is where a whole value is.
type home struct {
	places   []place // without gaps
	indirect bool    // places hold a pointer; the value is in memory at that address plus off
	off      int32
	missing  bool
}

var nowhere = home{missing: true}

func (h *home) add(p place) {
	if n := len(h.places); n > 0 && p.kind != srcConst {
		last := &h.places[n-1]
		if last.kind == p.kind && last.reg == p.reg && (p.kind == srcNone || last.off+int32(last.size) == p.off) {
			last.size += p.size
			return
		}
	}
	h.places = append(h.places, p)
}

// complete reports whether nothing of h is missing.
func (h *home) complete() bool {
	if h.missing {
		return false
	}
	for _, p := range h.places {
		if p.kind == srcNone {
			return false
		}
	}
	return true
}

// lacksPadding reports that all is known of an object of type t but bytes which no member has.
func (h *home) lacksPadding(t *symbol.Type) bool {
	off := int64(0)
	for _, p := range h.places {
		if p.kind == srcNone && occupied(t, off, off+int64(p.size), 0) {
			return false
		}
		off += int64(p.size)
	}
	return !h.missing
}

// byteAt returns the source of the i-th byte.
func (h *home) byteAt(i uint32) source {
	for _, p := range h.places {
		if i < p.size {
			s := p.source
			s.off += int32(i)
			return s
		}
		i -= p.size
	}
	return source{}
}

// agrees reports whether every byte that is known in both is the same one, and at least one is.
func (h *home) agrees(o *home, size uint32) bool {
	if h.missing || o.missing || h.indirect != o.indirect || h.off != o.off {
		return false
	}
	same := size == 0
	for i := uint32(0); i < min(size, 64); i++ {
		a, b := h.byteAt(i), o.byteAt(i)
		if a.kind == srcNone || b.kind == srcNone {
			continue
		}
		if a != b {
			return false
		}
		same = true
	}
	return same
}
