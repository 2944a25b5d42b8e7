package goroutine

import "encoding/binary"

// What a goroutine has on its stack is told by the tables that the collector of garbage goes by: for each call the
// words of its frame that are pointers still in use, and the variables whose address was taken, which are in use where
// a pointer leads to them. What a frame only has from before is in neither.
const (
	pcdataStackMap = 1

	funcdataArguments = 0 // how many maps, bits in each, the maps: bit n is the word n words behind the return address
	funcdataLocals    = 1 // the same: the last bit is the word below the saved frame pointer
	funcdataObjects   = 2 // their number as a word, then of each: offset from arguments, or from locals' end if negative

	wordBytes        = 8
	stackObjectBytes = 16
	maxStackObjects  = 1 << 12
	maxStackMapBits  = 1 << 19
)

// stackObject is a variable on a stack whose address was taken.
type stackObject struct {
	lo, hi uint64
	seen   bool
}

// liveStack is what is found on a stack.
type liveStack struct {
	h       *heap
	b       []byte // the stack from lo on
	lo      uint64
	objects []stackObject
	words   []uint64 // that may be pointers
}

// live marks what a goroutine that does not run has on its stack. False: the stack is not understood.
func (h *heap) live(g *Goroutine) bool {
	s := &liveStack{h: h, lo: g.sp &^ 7}
	if s.lo < g.lo || s.lo >= g.hi || g.hi-s.lo > maxStackBytes {
		return false
	}
	s.b = make([]byte, g.hi-s.lo)
	if h.p.mem.Read(s.lo, s.b) != nil {
		return false
	}
	// Where a function was interrupted, and not in a call, its tables do not hold: all of its frame counts, and its
	// arguments, which are its caller's.
	pc, sp, returned, whole := g.pc, g.sp, true, 0
	if g.Status == Runnable {
		whole = 2
	}
	for {
		f, known := h.r.function(pc)
		at := h.r.spot(pc, returned)
		if !known || at == nil || sp%wordBytes != 0 || at.size%wordBytes != 0 || sp+at.size+wordBytes > g.hi {
			return false
		}
		for _, frame := range at.frames {
			if frame.Function == "runtime.gopanic" { // its callers go on elsewhere
				return false
			}
		}
		if at.exact {
			whole = max(whole, 3)
		}
		if whole == 0 && !s.frame(f, uint32(pc-h.p.text), sp, at.size) {
			whole = 2
		}
		if whole > 0 {
			s.all(sp, sp+at.size)
			whole--
		}
		if at.top {
			break
		}
		pc = s.word(sp + at.size)
		sp, returned = sp+at.size+wordBytes, !at.exact
	}
	s.mark(g)
	return true
}

func (s *liveStack) word(addr uint64) uint64 { return binary.LittleEndian.Uint64(s.b[addr-s.lo:]) }

// all takes in every word of a stretch.
func (s *liveStack) all(lo, hi uint64) {
	for at := lo; at < hi; at += wordBytes {
		s.words = append(s.words, s.word(at))
	}
}

// frame takes in what a call has by its function's tables. False: there are none for it.
func (s *liveStack) frame(f function, pc uint32, sp, size uint64) bool {
	if pc > f.entry {
		pc--
	}
	t := s.h.p.table
	index, _ := t.value(f, f.pcdata(pcdataStackMap), pc)
	index = max(index, 0)
	arguments, variables := sp+size+wordBytes, sp+size
	if size > 0 {
		variables -= wordBytes
		bits, n, ok := s.bits(f, funcdataLocals, index)
		if !ok || uint64(n)*wordBytes > variables-sp {
			return false
		}
		s.pointers(bits, n, variables-uint64(n)*wordBytes)
	}
	if f.field(2) != 0 {
		bits, n, ok := s.bits(f, funcdataArguments, index)
		if !ok || arguments+uint64(n)*wordBytes > s.lo+uint64(len(s.b)) {
			return false
		}
		s.pointers(bits, n, arguments)
	}
	return s.variables(f, arguments, variables)
}

// bits is one of a function's maps.
func (s *liveStack) bits(f function, kind int, index int32) (bits []byte, n int, ok bool) {
	off, ok := f.funcdata(kind)
	read := s.h.p.table.gofunc
	var head [8]byte
	if !ok || read == nil || read(off, head[:]) != nil {
		return nil, 0, false
	}
	maps, n := int32(binary.LittleEndian.Uint32(head[:])), int(int32(binary.LittleEndian.Uint32(head[4:])))
	if index >= maps || n < 0 || n > maxStackMapBits {
		return nil, 0, false
	}
	bits = make([]byte, (n+7)/8)
	if n > 0 && read(off+8+uint32(index)*uint32(len(bits)), bits) != nil {
		return nil, 0, false
	}
	return bits, n, true
}

// pointers takes in the words from an address on that a map has.
func (s *liveStack) pointers(bits []byte, n int, from uint64) {
	for i := range n {
		if bits[i/8]>>(i%8)&1 != 0 {
			s.words = append(s.words, s.word(from+uint64(i)*wordBytes))
		}
	}
}

// variables finds those of a call whose address was taken.
func (s *liveStack) variables(f function, arguments, end uint64) bool {
	off, ok := f.funcdata(funcdataObjects)
	if !ok {
		return true
	}
	read := s.h.p.table.gofunc
	var head [8]byte
	if read == nil || read(off, head[:]) != nil {
		return false
	}
	n := binary.LittleEndian.Uint64(head[:])
	if n > maxStackObjects {
		return false
	}
	b := make([]byte, n*stackObjectBytes)
	if n > 0 && read(off+8, b) != nil {
		return false
	}
	for ; len(b) > 0; b = b[stackObjectBytes:] {
		at, size := int64(int32(binary.LittleEndian.Uint32(b))), uint64(binary.LittleEndian.Uint32(b[4:]))
		lo := arguments + uint64(at)
		if at < 0 {
			lo = end + uint64(at)
		}
		if lo < s.lo || lo%wordBytes != 0 || lo+size > s.lo+uint64(len(s.b)) || lo+size < lo {
			return false
		}
		s.objects = append(s.objects, stackObject{lo: lo, hi: lo + size&^7})
	}
	return true
}

// mark follows what was found, with what the runtime keeps of the goroutine: what it defers, and the like.
func (s *liveStack) mark(g *Goroutine) {
	if in, n := s.h.find(uint64(g.Addr)); in != nil && s.h.load(in) == nil {
		own := in.data[uint64(g.Addr)+s.h.p.behindStack()-in.lo : (n+1)*in.elem]
		for ; len(own) >= wordBytes; own = own[wordBytes:] {
			s.words = append(s.words, binary.LittleEndian.Uint64(own))
		}
	}
	for len(s.words) > 0 {
		word := s.words[len(s.words)-1]
		s.words = s.words[:len(s.words)-1]
		if word < s.lo || word >= s.lo+uint64(len(s.b)) {
			s.h.mark(word)
			continue
		}
		for i := range s.objects {
			if o := &s.objects[i]; word >= o.lo && word < o.hi && !o.seen {
				o.seen = true
				s.all(o.lo, o.hi)
			}
		}
	}
}
