package spin

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/strobe-debug/strobe/internal/emulate"
)

// Limits of one proof.
const (
	maxSteps   = 300_000 // instructions of the copy, for finding a round
	proofSteps = 300_000 // instructions for showing that what changes does not matter
	maxBytes   = 4 << 20 // memory that it changes, by the page
	maxChanged = 4096    // bytes of memory that change from round to round
	maxRounds  = 8       // times that the places that change may grow
	growth     = 8       // a reference state is kept so many times longer than the one before
	firstHold  = 64      // instructions
	// of the search: the thread stands meanwhile. On an idle machine it takes under a tenth of that
	maxTime    = 600 * time.Millisecond
	clockEvery = 1024
	maxPlaces  = 4096 // instructions of a loop that are remembered
)

// Result is what became of a proof.
type Result struct {
	Endless bool
	Why     string // not endless: what it did, or what is not known
	Unknown bool   // it came to an instruction that the interpreter does not know
	// Length is how many instructions a round has. Places are the addresses of its instructions, in the order of their
	// first execution.
	Length int
	Places []uint64
	// Sleeps reports that it waits a while in each round, rather than use the CPU.
	Sleeps bool
	// Steps is how many instructions led to the round's end from the moment at which the thread was met. Read and Written
	// are the words of memory that it touched in them, by address / 8.
	Steps         int
	Read, Written map[uint64]bool
	// idle are the registers that change from round to round, and decide nothing, at the lowest instruction.
	idle [16]bool
}

// System is what a proof must know of the process.
type System struct {
	Memory emulate.Memory           // and an emulate.Outsider
	Outer  map[uint64]emulate.Outer // the vDSO's functions
	// Text finds functions of emulate.Textual by their addresses. It is asked where the interpreter meets an instruction
	// that it does not know: those functions use whatever the CPU has. Nil: there are none.
	Text func() map[uint64]string
	// Alone: no other thread of the program can run, so that what it touches is of no interest.
	Alone bool
}

// Linux system calls that a loop may make: they change nothing that decides anything, and end.
const (
	sysPoll           = 7
	sysSchedYield     = 24
	sysNanosleep      = 35
	sysClockNanosleep = 230
)

// Sleeping reports whether a system call only waits for a time.
func Sleeping(nr uint64, args [6]uint64) bool {
	return nr == sysNanosleep || nr == sysClockNanosleep || nr == sysPoll && args[1] == 0 && int32(args[2]) >= 0
}

// Prove runs a copy of the thread on. The process's other threads that could run must stand meanwhile.
func Prove(sys *System, th *emulate.Thread) Result {
	r, err := prove(sys, th, nil)
	if errors.Is(err, emulate.ErrUnknown) && sys.Text != nil {
		if text := sys.Text(); len(text) > 0 {
			r, _ = prove(sys, th, text)
		}
	}
	return r
}

func prove(sys *System, th *emulate.Thread, text map[uint64]string) (Result, error) {
	p := &prover{sys: sys, left: proofSteps, most: maxSteps}
	p.m = resume(sys, th, func() { p.slept = true })
	for at, name := range text {
		p.m.Stand(at, name)
	}
	return p.run()
}

type prover struct {
	sys   *System
	m     *emulate.Machine
	left  int // of proofSteps
	most  int // steps
	slept bool
}

// run looks for a round: from a reference state on, until the copy is there again and what has changed does not matter.
// The reference moves on after a while that grows, so that rounds of any length are found, and what comes before them
// does not matter.
func (p *prover) run() (Result, error) {
	var all *emulate.Touched // from the beginning: what comes before the loop may be what lets another thread go on
	if !p.sys.Alone {
		all = p.m.Record()
	}
	steps, began := 0, time.Now()
	for hold := firstHold; ; hold *= growth {
		ref := p.m.Save()
		p.slept = false
		tries := map[uint64]int{}
		for at := 1; at <= hold; at++ {
			if steps++; steps > p.most {
				return Result{Why: fmt.Sprintf("no round of it was found within %d instructions", p.most)}, nil
			}
			if err := p.m.Step(p.sys.Outer); err != nil {
				return Result{Why: err.Error(), Unknown: errors.Is(err, emulate.ErrUnknown)}, err
			}
			if steps%clockEvery == 0 && time.Since(began) > maxTime {
				return Result{Why: fmt.Sprintf("no round of it was found within %d instructions", steps)}, nil
			}
			if !p.m.At(ref) || p.left <= 0 {
				continue
			}
			shape := p.m.Shape(ref)
			tries[shape]++
			// what changes in the same way mostly decides the same
			if n := tries[shape]; n > 8 && n%8 != 0 || n > 256 && n%64 != 0 {
				continue
			}
			if changed, ok := p.m.Differences(ref, maxChanged); ok {
				now := p.m.Save()
				r, ok := p.proven(ref, at, changed)
				if ok && all != nil {
					r.Read, r.Written = all.Read, all.Written
					if r.Endless = !all.Full; all.Full {
						r.Why = "it touches too much memory to be compared with other threads"
					}
				}
				if ok {
					r.Steps = steps
					return r, nil
				}
				p.m.Follow(nil)
				p.m.Restore(now)
			}
		}
	}
}

// proven shows that a round of n instructions from a state on decides nothing by what changes in it.
func (p *prover) proven(ref *emulate.State, n int, changed *emulate.Marks) (r Result, ok bool) {
	for range maxRounds {
		p.m.Restore(ref)
		p.m.Follow(changed)
		r = Result{Endless: true, Length: n}
		lowest := ^uint64(0)
		seen := map[uint64]bool{}
		for range n {
			if p.left--; p.left < 0 {
				return r, false
			}
			if at := p.m.RIP; !seen[at] && len(r.Places) < maxPlaces {
				seen[at] = true
				r.Places = append(r.Places, at)
				if at < lowest {
					lowest, r.idle = at, p.m.MarkedRegs()
				}
			}
			if p.m.Step(p.sys.Outer) != nil {
				return r, false
			}
		}
		if !p.m.At(ref) {
			return r, false
		}
		now, few := p.m.Differences(ref, maxChanged)
		if !few {
			return r, false
		}
		after := p.m.Marked()
		grew := changed.Add(after)
		if changed.Add(now) { // it cannot be: what is not marked repeats
			grew = true
		}
		if !grew {
			r.Sleeps = p.slept
			return r, true
		}
		if changed.Count() > maxChanged {
			return r, false
		}
	}
	return r, false
}

// Steers reports whether any of some words of memory, by address / 8, decides where a thread goes in its next steps: a
// counter of what it has done that ends its loop some day does.
func Steers(sys *System, th *emulate.Thread, words []uint64, steps int) bool {
	m := textual(sys, th)
	marks := &emulate.Marks{Mem: map[uint64]bool{}}
	for _, w := range words {
		for i := range uint64(8) {
			marks.Mem[w*8+i] = true
		}
	}
	m.Follow(marks)
	for range steps {
		if m.Step(sys.Outer) != nil {
			return true
		}
	}
	return false
}

// Touch reports whether one of several threads writes what another reads. Where none does, loops that were each shown
// to be endless while the others stood are endless beside each other.
func Touch(all []Result) bool {
	for i := range all {
		for k := range all {
			if i == k {
				continue
			}
			for w := range all[i].Written {
				if all[k].Read[w] {
					return true
				}
			}
		}
	}
	return false
}

// Head is the lowest instruction of a loop, with the registers that the thread has when it comes there; those that
// change from round to round, and decide nothing, are 0.
func Head(sys *System, th *emulate.Thread, r *Result) (head uint64, regs [16]uint64, ok bool) {
	head = slices.Min(r.Places)
	m := textual(sys, th)
	for n := range r.Steps + r.Length {
		if m.RIP == head && n >= r.Steps-r.Length {
			regs = m.Reg
			for i := range regs {
				if r.idle[i] {
					regs[i] = 0
				}
			}
			return head, regs, true
		}
		if m.Step(sys.Outer) != nil {
			return 0, regs, false
		}
	}
	return 0, regs, false
}

// resume makes the machine of a proof. slept is called at each sleep.
func resume(sys *System, th *emulate.Thread, slept func()) *emulate.Machine {
	return emulate.Resume(sys.Memory, th, emulate.Limits{Steps: 1 << 40, Bytes: maxBytes},
		func(nr uint64, args [6]uint64) (uint64, bool) {
			if Sleeping(nr, args) {
				if slept != nil {
					slept()
				}
				return 0, true
			}
			return 0, nr == sysSchedYield
		})
}

// textual is resume of a machine that knows the library's functions on texts.
func textual(sys *System, th *emulate.Thread) *emulate.Machine {
	m := resume(sys, th, nil)
	if sys.Text != nil {
		for at, name := range sys.Text() {
			m.Stand(at, name)
		}
	}
	return m
}
