package native

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/strobe-debug/strobe/internal/spin"
)

// interplay are moments of threads each of which goes round for ever as long as the others stand, while one writes what
// another reads. They may hand work to each other, or be in a livelock: then all that decides anything comes back to
// what it was at an earlier moment.
type interplay struct {
	who     string
	moments []*moment
}

// moment is one.
type moment struct {
	tids  []int
	heads []uint64          // by thread: the loop's lowest instruction
	regs  [][16]uint64      // by thread, there; what decides nothing is 0
	words map[uint64]uint64 // memory that any of them touches, by address / 8
	idle  map[uint64]bool   // words that decide nothing on the way that the threads go now
}

const (
	maxMoments = 32
	maxWords   = 4000 // that a moment has
)

// together adds this moment to those before. Nil: the loops do not touch each other. The threads stand.
func together(all []*spinning, before *interplay) *interplay {
	var results []spin.Result
	m := &moment{words: map[uint64]uint64{}, idle: map[uint64]bool{}}
	endless := true
	for _, s := range all {
		results = append(results, s.res)
		m.tids = append(m.tids, s.tid)
		endless = endless && s.res.Endless && s.p == all[0].p
	}
	if !spin.Touch(results) {
		return nil
	}
	i := &interplay{who: fmt.Sprintf("threads %v change what the others read", m.tids)}
	if before != nil {
		i.moments = before.moments
	}
	if !endless || !m.take(all) { // some may get somewhere
		return i
	}
	i.moments = append(slices.Clone(i.moments), m)
	i.moments = i.moments[max(len(i.moments)-maxMoments, 0):]
	return i
}

// take reads the moment. False: it is too much.
func (m *moment) take(all []*spinning) bool {
	for _, s := range all {
		head, regs, ok := spin.Head(s.sys, &s.th, &s.res)
		if !ok {
			return false
		}
		m.heads, m.regs = append(m.heads, head), append(m.regs, regs)
		for _, set := range []map[uint64]bool{s.res.Read, s.res.Written} {
			for w := range set {
				var b [8]byte
				if s.p.mem.Read(w*8, b[:]) != nil || len(m.words) > maxWords {
					return false
				}
				m.words[w] = binary.LittleEndian.Uint64(b[:])
			}
		}
	}
	return true
}

// back reports whether the threads are where they were at an earlier moment. all are those of the last one, who stand.
func (i *interplay) back(all []*spinning) bool {
	n := len(i.moments) - 1
	if n < 0 {
		return false
	}
	return slices.ContainsFunc(i.moments[:n], func(old *moment) bool { return i.moments[n].same(old, all) })
}

func (m *moment) same(old *moment, all []*spinning) bool {
	if !slices.Equal(m.tids, old.tids) || !slices.Equal(m.heads, old.heads) || !slices.Equal(m.regs, old.regs) ||
		len(m.words) != len(old.words) {
		return false
	}
	for w, v := range m.words {
		was, known := old.words[w]
		if known && was == v {
			continue
		}
		if !known || !m.decidesNothing(w, all) {
			return false
		}
	}
	return true
}

// decidesNothing reports whether a word of the moment is only written on the way that the threads go, or leads to
// nothing: a sum that they add to.
func (m *moment) decidesNothing(w uint64, all []*spinning) bool {
	idle, known := m.idle[w]
	if !known {
		idle = !slices.ContainsFunc(all, func(s *spinning) bool {
			return spin.Steers(s.sys, &s.th, []uint64{w}, s.res.Steps)
		})
		m.idle[w] = idle
	}
	return idle
}
