package goroutine

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// The collector of garbage knows what is reached always: by maps of variables, and by lists of the functions that are
// to be called when objects are gone. What it does not count as reached, the program cannot use.

// roots follows what is reached always, and what goroutines have in hand.
func (h *heap) roots(words []uint64) error {
	for _, step := range []func() error{h.variables, h.finalizers} {
		if err := step(); err != nil {
			return err
		}
	}
	for _, w := range words {
		h.mark(w)
	}
	return h.follow()
}

// setAside keeps what an address points into from being followed: larger objects begin with a word of the runtime's.
func (h *heap) setAside(addr uint64) {
	if s, n := h.find(addr); s != nil {
		h.aside[s.lo+n*s.elem] = true
	}
}

func (h *heap) isAside(addr uint64) bool {
	s, n := h.find(addr)
	return s != nil && h.aside[s.lo+n*s.elem]
}

// own takes aside what the runtime has of its own. What lies there next to each other means nothing.
func (h *heap) own() error {
	if err := h.processors(); err != nil {
		return err
	}
	return h.threads()
}

// processors takes the runtime's own of processors aside: they keep what the collector of garbage saw last. Only their
// timers lead to what is the program's.
func (h *heap) processors() error {
	list, err := h.r.processors()
	if err != nil {
		return err
	}
	for _, at := range list {
		h.setAside(at)
		timers, err := h.r.word(at + uint64(h.p.layout.PTimers))
		if err != nil {
			return fmt.Errorf("read a processor's timers: %w", err)
		}
		h.mark(timers)
	}
	return nil
}

// threads takes aside what the runtime has of goroutines, dead ones too, and of threads with the goroutines of their
// other stacks: the end of a stack is where the next object begins.
func (h *heap) threads() error {
	list, _, err := h.p.pointers()
	if err != nil {
		return err
	}
	for _, at := range list {
		h.setAside(at)
	}
	if h.vars[threadsVariable] == 0 || len(list) == 0 {
		return nil
	}
	first, err := h.r.word(h.vars[threadsVariable])
	if err != nil {
		return fmt.Errorf("read the list of threads: %w", err)
	}
	thread, _ := h.find(first)
	goroutine, _ := h.find(list[0])
	if thread == nil || goroutine == nil {
		return nil
	}
	back, signal := uint64(h.p.layout.GM), uint64(h.p.layout.MSignal)
	header := (first - thread.lo) % thread.elem
	// is of a thread: it has a goroutine, which has it
	has := func(at, g uint64) bool {
		s, _ := h.find(g)
		if s == nil || s.elem != goroutine.elem {
			return false
		}
		m, err := h.r.word(g + back)
		return err == nil && m == at
	}
	for i := range h.spans {
		s := &h.spans[i]
		if s.elem != thread.elem || !s.scan || h.load(s) != nil {
			continue
		}
		for off := header; off+signal+wordBytes <= uint64(len(s.data)); off += s.elem {
			g0, gsignal := binary.LittleEndian.Uint64(s.data[off:]), binary.LittleEndian.Uint64(s.data[off+signal:])
			at := s.lo + off
			if has(at, g0) && (gsignal == 0 || has(at, gsignal)) {
				h.setAside(at)
				h.setAside(g0)
				h.setAside(gsignal)
			}
		}
	}
	return nil
}

// maxModules is more than a program loads plugins.
const maxModules = 1 << 10

// variables marks what the variables of the program and of its plugins lead to.
func (h *heap) variables() error {
	module := h.p.moduleAt
	for n := 0; module != 0; n++ {
		if n == maxModules {
			return errTorn
		}
		for i := range uint64(2) { // those that begin with something, and those that begin with zeros
			if err := h.variablesOf(module, i); err != nil {
				return fmt.Errorf("read its variables: %w", err)
			}
		}
		next, err := h.r.word(module + uint64(h.p.layout.ModuleNext))
		if err != nil {
			return fmt.Errorf("read its modules: %w", err)
		}
		module = next
	}
	return nil
}

func (h *heap) variablesOf(module, i uint64) error {
	l := &h.p.layout
	var place, mask [2 * wordBytes]byte
	if err := h.p.mem.Read(module+uint64(l.ModuleData)+i*uint64(len(place)), place[:]); err != nil {
		return err
	}
	if err := h.p.mem.Read(module+uint64(l.ModuleMasks)+i*uint64(len(mask)), mask[:]); err != nil {
		return err
	}
	lo, hi := binary.LittleEndian.Uint64(place[:]), binary.LittleEndian.Uint64(place[wordBytes:])
	n, at := uint64(binary.LittleEndian.Uint32(mask[:])), binary.LittleEndian.Uint64(mask[wordBytes:])
	if lo > hi || hi-lo > maxVariables || n != (hi-lo)/wordBytes {
		return errors.New("they are not as this version has them")
	}
	data, bits := make([]byte, n*wordBytes), make([]byte, (n+7)/8)
	if n == 0 {
		return nil
	}
	if err := errors.Join(h.p.mem.Read(lo, data), h.p.mem.Read(at, bits)); err != nil {
		return err
	}
	for k := range n {
		if bits[k/8]>>(k%8)&1 != 0 {
			h.mark(binary.LittleEndian.Uint64(data[k*wordBytes:]))
		}
	}
	return nil
}

// Bounds of what is to be done when objects are freed, and of blocks of functions that are to be called.
const (
	specialBytes = 64
	maxSpecials  = 1 << 22
	blockBytes   = 4 << 10
	maxBlocks    = 1 << 16
)

// finalizers marks the functions that are called when objects are gone, and what those objects have that are given to
// such a function.
func (h *heap) finalizers() error {
	var of []*span  // whose lists are not at their ends
	var at []uint64 // the next of each
	for i := range h.spans {
		if s := &h.spans[i]; s.specials != 0 {
			of, at = append(of, s), append(at, s.specials)
		}
	}
	b := make([]byte, batch*specialBytes)
	for total := 0; len(at) > 0; {
		if total += len(at); total > maxSpecials {
			return errTorn
		}
		left := 0
		for done := 0; done < len(at); done += batch {
			k := min(len(at)-done, batch)
			if err := h.p.readMany(at[done:done+k], specialBytes, b[:k*specialBytes]); err != nil {
				return fmt.Errorf("read what is done when objects are freed: %w", err)
			}
			for i := range k {
				record, s := b[i*specialBytes:][:specialBytes], of[done+i]
				if err := h.special(s, record); err != nil {
					return err
				}
				if next := binary.LittleEndian.Uint64(record); next != 0 {
					of[left], at[left] = s, next
					left++
				}
			}
		}
		of, at = of[:left], at[:left]
	}
	if err := h.blocks(finalizersVariable, 0, 0); err != nil || h.p.layout.CleanupBlocks == 0 {
		return err
	}
	return h.blocks(cleanupsVariable, h.p.layout.CleanupBlocks, h.p.layout.CleanupNext)
}

// special marks what a record leads to of what is done when an object of a span is freed.
func (h *heap) special(s *span, record []byte) error {
	l := &h.p.layout
	h.all(record[wordBytes:])
	offset := binary.LittleEndian.Uint64(record[wordBytes:])
	if l.SpecialKind < 2*wordBytes {
		offset &= 1<<16 - 1
	}
	if uint32(record[l.SpecialKind]) != l.SpecialFinalizer || !s.scan || offset >= s.hi-s.lo {
		return nil
	}
	if err := h.load(s); err != nil {
		return err
	}
	object := s.data[offset/s.elem*s.elem:]
	h.all(object[:min(s.elem, uint64(len(object)))])
	return nil
}

// blocks marks what the blocks of a list lead to, which a variable has at an offset. In each the next is at another.
func (h *heap) blocks(variable string, first, next uint32) error {
	if h.vars[variable] == 0 {
		return fmt.Errorf("it has no %s", variable)
	}
	at, err := h.r.word(h.vars[variable] + uint64(first))
	b := make([]byte, blockBytes)
	for n := 0; err == nil && at != 0; n++ {
		if n == maxBlocks {
			return errTorn
		}
		if err = h.p.mem.Read(at, b); err == nil {
			h.all(b)
			at = binary.LittleEndian.Uint64(b[next:])
		}
	}
	if err != nil {
		return fmt.Errorf("read the functions of %s: %w", variable, err)
	}
	return nil
}
