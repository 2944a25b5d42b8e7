package goroutine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A goroutine that waits for a channel, or for a lock of package sync, goes on only by another one that has that in
// hand. Where none that can still run reaches it, by whatever it has in variables and on its stack, the goroutine is
// leaked: it waits for ever. What is reached is found as a collector of garbage does, but with the stacks of those that
// wait only where what they wait for is reached itself. Variables, and stacks of those that do not run, are read by the
// collector's own maps (see roots and live). In an object each word counts that looks like an address, so that a leak
// may be missed, and none is made up.

// Bounds of what is searched.
const (
	maxHeap      = 512 << 20 // bytes in use
	maxVariables = 256 << 20 // bytes
	maxSpans     = 1 << 22
	pageBytes    = 8 << 10
	arenaBytes   = 64 << 20
	pagesOf      = arenaBytes / pageBytes
)

// ErrNoHeap is of a program whose heap cannot be found.
var ErrNoHeap = errors.New("the program's symbols are stripped, which say where its heap is")

// MayLeak reports whether a goroutine waits for what only others can give it.
func (g *Goroutine) MayLeak() bool {
	return g.Status == Waiting && !g.System && !g.Moved && (strings.HasPrefix(g.Wait, "chan ") || g.Wait == "select" ||
		g.Wait == forEver && g.ID != 1 || g.forSema())
}

// Uses reports whether a thread that runs a goroutine, and has its stack pointer there, is in the program's own code:
// the runtime's, which looks for garbage, say, has stacks of its own.
func (g *Goroutine) Uses(sp uint64) bool { return !g.System && sp >= g.lo && sp < g.hi }

// forEver is why one waits that has a select without cases: as the first one may on purpose.
const forEver = "select (no cases)"

// forSema reports whether a goroutine waits as those do that lock, or wait for a group: before Go 1.24 no more is said
// of the latter.
func (g *Goroutine) forSema() bool {
	return strings.HasPrefix(g.Wait, "sync.") || g.Wait == "semacquire"
}

// Leaked returns those of a dump's goroutines that nothing which can still run can wake. words are what threads have in
// their registers that run goroutines. While the program runs the answer is a guess: one that is read while it stands
// is not.
func (p *Program) Leaked(d *Dump, words []uint64) ([]*Goroutine, error) {
	if !slices.ContainsFunc(d.Goroutines, (*Goroutine).MayLeak) {
		return nil, nil
	}
	if d.NotShown > 0 {
		return nil, fmt.Errorf("it has more than %d goroutines", maxGoroutines)
	}
	h, err := p.heap()
	if err != nil {
		return nil, err
	}
	if err := h.own(); err != nil {
		return nil, err
	}
	h.waiters(d)
	if err := h.roots(words); err != nil {
		return nil, err
	}
	var open []*Goroutine
	for _, g := range d.Goroutines {
		if g.System { // what a collector of garbage has in hand means nothing
			continue
		}
		alone := g.Wait == forEver || strings.Contains(g.Wait, "nil chan")
		if g.MayLeak() && (alone || len(h.objects[uint64(g.Addr)]) > 0) {
			open = append(open, g)
			continue
		}
		if err := h.stack(g); err != nil {
			return nil, err
		}
	}
	for again := true; again; {
		again = false
		for i := 0; i < len(open); i++ {
			g := open[i]
			if !slices.ContainsFunc(h.objects[uint64(g.Addr)], h.reached) {
				continue
			}
			open, again = slices.Delete(open, i, i+1), true
			i--
			if err := h.stack(g); err != nil {
				return nil, err
			}
		}
	}
	if len(open) == 1 && open[0].ID == 1 {
		return nil, nil // a program whose main waits for ever lets the others run
	}
	return open, nil
}

// span is a run of pages of the heap: objects of one size.
type span struct {
	lo, hi, elem uint64
	scan         bool // objects may hold pointers
	specials     uint64
	data         []byte
	seen         []uint64 // a bit for each object
}

// heap is the search.
type heap struct {
	p       *Program
	r       *reader
	spans   []span
	pages   map[uint64]*[pagesOf]int32 // by arena: number of the span, from 1
	aside   map[uint64]bool            // the runtime's own, not followed: goroutines, and their places in queues
	objects map[uint64][]uint64        // what a goroutine waits for, by its address
	stacks  [][2]uint64                // of goroutines
	vars    map[string]uint64          // the runtime's, that are looked at
	work    []uint64
}

// Variables of the runtime: the heap, the list of threads, and those of blocks of functions that are to be called.
const (
	heapVariable       = "runtime.mheap_"
	threadsVariable    = "runtime.allm"
	finalizersVariable = "runtime.allfin"
	cleanupsVariable   = "runtime.gcCleanups"
)

// heap reads the list of spans.
func (p *Program) heap() (*heap, error) {
	syms, err := p.file.Symbols()
	if err != nil {
		return nil, ErrNoHeap
	}
	vars := map[string]uint64{}
	for _, s := range syms {
		switch s.Name {
		case heapVariable, threadsVariable, finalizersVariable, cleanupsVariable:
			vars[s.Name] = s.Value + p.bias
		}
	}
	at := vars[heapVariable]
	if at == 0 {
		return nil, ErrNoHeap
	}
	l := &p.layout
	var head [16]byte
	if err := p.mem.Read(at+uint64(l.HeapSpans), head[:]); err != nil {
		return nil, fmt.Errorf("read the list of spans: %w", err)
	}
	list, n := binary.LittleEndian.Uint64(head[:]), binary.LittleEndian.Uint64(head[8:])
	if list == 0 || n > maxSpans {
		return nil, errTorn
	}
	addrs := make([]byte, 8*n)
	if err := p.mem.Read(list, addrs); err != nil {
		return nil, fmt.Errorf("read the list of spans: %w", err)
	}
	h := &heap{p: p, r: &reader{p: p, spots: map[uint64]*spot{}}, vars: vars,
		pages: map[uint64]*[pagesOf]int32{}, aside: map[uint64]bool{}, objects: map[uint64][]uint64{}}
	size := int(max(l.SpanStart, l.SpanPages, l.SpanElem, l.SpanClass, l.SpanState, l.SpanSpecials)) + 8
	b := make([]byte, batch*size)
	total := uint64(0)
	for done := uint64(0); done < n; done += batch {
		k := int(min(n-done, batch))
		at := make([]uint64, k)
		for i := range at {
			at[i] = binary.LittleEndian.Uint64(addrs[8*(done+uint64(i)):])
		}
		if err := p.readMany(at, size, b[:k*size]); err != nil {
			return nil, fmt.Errorf("read spans: %w", err)
		}
		for i := range at {
			if total += h.add(b[i*size : (i+1)*size]); total > maxHeap {
				return nil, fmt.Errorf("its heap has more than %d MB", maxHeap>>20)
			}
		}
	}
	return h, nil
}

// States and classes of spans, the same in all versions.
const (
	spanInUse  = 1
	spanNoScan = 1 // bit of the class
)

// add takes a span in, and returns how large it is if it has objects.
func (h *heap) add(b []byte) uint64 {
	l := &h.p.layout
	lo, n, elem := binary.LittleEndian.Uint64(b[l.SpanStart:]), binary.LittleEndian.Uint64(b[l.SpanPages:]),
		binary.LittleEndian.Uint64(b[l.SpanElem:])
	if lo%pageBytes != 0 || lo == 0 || n == 0 || n > 1<<28 {
		return 0
	}
	s := span{lo: lo, hi: lo + n*pageBytes, elem: elem, scan: b[l.SpanClass]&spanNoScan == 0,
		specials: binary.LittleEndian.Uint64(b[l.SpanSpecials:])}
	if b[l.SpanState] != spanInUse || elem == 0 || elem > s.hi-lo {
		return 0
	}
	s.seen = make([]uint64, ((s.hi-lo)/elem+63)/64)
	h.spans = append(h.spans, s)
	for at := lo; at < s.hi; at += pageBytes {
		arena := h.pages[at/arenaBytes]
		if arena == nil {
			arena = &[pagesOf]int32{}
			h.pages[at/arenaBytes] = arena
		}
		arena[at%arenaBytes/pageBytes] = int32(len(h.spans))
	}
	return s.hi - lo
}

// find is the object that an address points into.
func (h *heap) find(word uint64) (s *span, n uint64) {
	arena := h.pages[word/arenaBytes]
	if arena == nil {
		return nil, 0
	}
	i := arena[word%arenaBytes/pageBytes]
	if i == 0 {
		return nil, 0
	}
	if s = &h.spans[i-1]; word < s.lo || word >= s.hi {
		return nil, 0
	}
	n = (word - s.lo) / s.elem
	if s.lo+(n+1)*s.elem > s.hi {
		return nil, 0
	}
	return s, n
}

// reached reports whether an object was reached. What is in no object is a variable, which always is.
func (h *heap) reached(addr uint64) bool {
	s, n := h.find(addr)
	return s == nil || s.seen[n/64]&(1<<(n%64)) != 0
}

// waiters finds what goroutines wait for, and what of the runtime's leads from there to them.
func (h *heap) waiters(d *Dump) {
	l := &h.p.layout
	gs := map[uint64]*Goroutine{}
	for _, g := range d.Goroutines {
		gs[uint64(g.Addr)] = g
		for _, c := range g.Channels {
			h.objects[uint64(g.Addr)] = append(h.objects[uint64(g.Addr)], uint64(c.Addr))
		}
	}
	queued := map[uint64]*Goroutine{} // for condition variables, by their places
	// Places in queues are objects of 96 to 112 bytes, whose first word is a goroutine.
	for i := range h.spans {
		s := &h.spans[i]
		if s.elem < 96 || s.elem > 112 || !s.scan || h.load(s) != nil {
			continue
		}
		for at := uint64(0); at+s.elem <= uint64(len(s.data)); at += s.elem {
			word := func(off uint32) uint64 { return binary.LittleEndian.Uint64(s.data[at+uint64(off):]) }
			g := gs[word(l.SudogG)]
			if g == nil {
				continue
			}
			h.aside[s.lo+at] = true
			if g.Wait == condWait && !h.isAside(word(l.SudogElem)) {
				queued[s.lo+at] = g
			}
			// a list of goroutines may be as large
			if elem := word(l.SudogElem); elem != 0 && g.forSema() && !h.isAside(elem) {
				h.objects[uint64(g.Addr)] = append(h.objects[uint64(g.Addr)], elem)
			}
		}
	}
	h.conds(queued)
}

// condWait is why a goroutine waits for a condition variable, and sudogNext where its place in the queue has the next
// one's: in all versions.
const (
	condWait  = "sync.Cond.Wait"
	sudogNext = 8
)

// conds finds the condition variables that goroutines wait for, by their places in queues: such a variable has the
// first and the last one's. Of those that are no objects nothing is found.
func (h *heap) conds(queued map[uint64]*Goroutine) {
	for i := range h.spans {
		s := &h.spans[i]
		if len(queued) == 0 || !s.scan || h.load(s) != nil {
			continue
		}
		word := func(at uint64) uint64 { return binary.LittleEndian.Uint64(s.data[at:]) }
		for at := uint64(0); at+16 <= uint64(len(s.data)); at += 8 {
			place, last := word(at), word(at+8)
			if queued[place] == nil || queued[last] == nil || h.aside[s.lo+at/s.elem*s.elem] {
				continue
			}
			for n := 0; n <= len(queued) && queued[place] != nil; n++ {
				g := uint64(queued[place].Addr)
				h.objects[g] = append(h.objects[g], s.lo+at)
				in, k := h.find(place)
				if place == last || in == nil || h.load(in) != nil {
					break
				}
				place = binary.LittleEndian.Uint64(in.data[k*in.elem+sudogNext:])
			}
		}
	}
}

// load reads a span's objects.
func (h *heap) load(s *span) error {
	if s.data != nil {
		return nil
	}
	b := make([]byte, s.hi-s.lo)
	if err := h.p.mem.Read(s.lo, b); err != nil {
		return fmt.Errorf("read the heap: %w", err)
	}
	s.data = b
	return nil
}

// stack follows what a goroutine has.
func (h *heap) stack(g *Goroutine) error {
	rests := g.Status == Waiting || g.Status == Runnable || g.Status == Syscall
	if rests && h.live(g) {
		return h.follow()
	}
	lo := g.sp &^ 7
	if !rests || lo < g.lo || lo >= g.hi {
		lo = g.lo
	}
	h.words(lo, g.hi)
	if s, n := h.find(uint64(g.Addr)); s != nil { // what it defers, and the like
		h.words(uint64(g.Addr)+h.p.behindStack(), s.lo+(n+1)*s.elem)
	}
	return h.follow()
}

// chunk is how much memory is read at once.
const chunk = 1 << 20

// words marks what the words of a stretch of memory lead to. What cannot be read has none.
func (h *heap) words(lo, hi uint64) {
	b := make([]byte, min(hi-lo, chunk))
	for ; lo < hi; lo += chunk {
		part := b[:min(hi-lo, chunk)]
		if h.p.mem.Read(lo, part) != nil {
			for at := uint64(0); at < uint64(len(part)); at += 4096 {
				page := part[at:min(at+4096, uint64(len(part)))]
				if h.p.mem.Read(lo+at, page) != nil {
					clear(page)
				}
			}
		}
		h.all(part)
	}
}

// all marks what the words of a stretch of memory that was read lead to.
func (h *heap) all(b []byte) {
	for ; len(b) >= wordBytes; b = b[wordBytes:] {
		h.mark(binary.LittleEndian.Uint64(b))
	}
}

// mark takes in a word that may be an address.
func (h *heap) mark(word uint64) {
	s, n := h.find(word)
	if s == nil || s.seen[n/64]&(1<<(n%64)) != 0 {
		return
	}
	s.seen[n/64] |= 1 << (n % 64)
	if at := s.lo + n*s.elem; s.scan && !h.aside[at] {
		h.work = append(h.work, at)
	}
}

// follow marks what marked objects lead to.
func (h *heap) follow() error {
	for len(h.work) > 0 {
		at := h.work[len(h.work)-1]
		h.work = h.work[:len(h.work)-1]
		s, _ := h.find(at)
		if err := h.load(s); err != nil {
			return err
		}
		h.all(s.data[at-s.lo:][:s.elem])
	}
	return nil
}
