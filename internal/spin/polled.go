package spin

import (
	"cmp"
	"errors"

	"github.com/strobe-debug/strobe/internal/emulate"
	"github.com/strobe-debug/strobe/internal/sorting"
)

// Limits of a look at a thread that may spin: it runs on meanwhile, and the copy over the memory as it is.
const (
	polledSteps = 60_000
	maxPolled   = 32 // words of a round that are tried
	triedSteps  = 500_000
)

// Polling looks for the loop of a thread that runs, in a small number of instructions. Endless says that it goes round
// for as long as nobody changes what it reads.
func Polling(sys *System, th *emulate.Thread) Result {
	p := &prover{sys: sys, left: polledSteps, most: polledSteps}
	p.m = resume(sys, th, func() { p.slept = true })
	r, _ := p.run()
	return r
}

// Polled are the addresses that a loop reads and by which it goes on: those in which it also writes what was there,
// as an atomic exchange does, first, then by address. What is on the thread's own stack is left out where there is
// anything else.
func Polled(sys *System, th *emulate.Thread, r *Result) []uint64 {
	if !r.Endless || r.Length == 0 {
		return nil
	}
	begin := r.Steps - r.Length
	m := textual(sys, th)
	for range begin {
		if m.Step(sys.Outer) != nil {
			return nil
		}
	}
	at := m.Save()
	touched := m.Record()
	for range r.Length {
		if m.Step(sys.Outer) != nil {
			return nil
		}
	}
	var words []uint64
	for w := range touched.Read {
		words = append(words, w)
	}
	const ownStack = 64 << 10
	sp := th.Reg[emulate.RSP]
	rank := func(w uint64) int {
		switch own := w*8-(sp-ownStack) < 2*ownStack; {
		case own:
			return 2
		case touched.Written[w]:
			return 0
		}
		return 1
	}
	sorting.By(words, func(a, b uint64) int { return cmp.Or(rank(a)-rank(b), cmp.Compare(a, b)) })
	var found []uint64
	left := triedSteps
	for _, w := range words[:min(len(words), maxPolled)] {
		if len(found) > 0 && rank(w) == 2 {
			break
		}
		if left -= 2 * r.Length; left < 0 {
			break
		}
		// of a word the first byte that decides
		if !steersFrom(m, sys, at, r.Length, w*8, 8) {
			continue
		}
		for i := range uint64(8) {
			left -= 2 * r.Length
			if steersFrom(m, sys, at, r.Length, w*8+i, 1) {
				found = append(found, w*8+i)
				break
			}
		}
	}
	return found
}

// steersFrom reports whether a jump depends on some bytes, in the next two rounds from a state: one may begin between
// what reads them and the jump.
func steersFrom(m *emulate.Machine, sys *System, at *emulate.State, round int, addr, n uint64) bool {
	m.Restore(at)
	marks := &emulate.Marks{Mem: map[uint64]bool{}}
	for i := range n {
		marks.Mem[addr+i] = true
	}
	m.Follow(marks)
	defer m.Follow(nil)
	for range 2 * round {
		if err := m.Step(sys.Outer); err != nil {
			return errors.Is(err, emulate.ErrJump)
		}
	}
	return false
}
