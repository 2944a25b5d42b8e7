package goroutine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
)

// BatchMemory is a Memory that reads many places at once: b has size bytes for each of at.
type BatchMemory interface {
	ReadMany(at []uint64, size int, b []byte) error
}

// parkedBytes of a goroutine's stack are looked at: the frames of the runtime's own keep all registers there.
const parkedBytes = 4096

// batch is how many goroutines are read at once.
const batch = 1024

// Parked calls see with where each goroutine goes on that the runtime has interrupted between two instructions, and
// that has not gone on; with other words of its stack, too, where that is not certain. Of is which goroutines are
// looked at, by their addresses; nil: all. The program must not run meanwhile. Goroutines that cannot be read are an
// error: then nothing is known.
func (p *Program) Parked(of []uint64, see func(word uint64)) error {
	var keeps, parks, onSystem codeRange
	var err error
	for name, s := range map[string]*codeRange{keepsRegisters: &keeps, interrupted: &parks} {
		if *s, err = p.rangeOf(name); err != nil {
			return err
		}
	}
	onSystem, _ = p.rangeOf(systemSwitch) // without it nobody goes on by it
	if of == nil {
		if of, err = p.everyone(); err != nil {
			return err
		}
	}
	stacks, err := choose(p, of, func(g *standing) ([2]uint64, bool) {
		// One that is about to be parked still counts as running, and so does one that is on its way back: Go 1.26 frees
		// registers on the system's stack then, and neither this place nor its thread's stack says where it came from.
		return [2]uint64{g.sp, g.end}, (parks.has(g.pc) || onSystem.has(g.pc)) && g.sp != 0 && !unborn(g.status)
	})
	if err != nil {
		return err
	}
	for _, stack := range stacks {
		if err := p.goesOn(stack[0], stack[1], keeps, see); err != nil {
			return err
		}
	}
	return nil
}

// goesOn sees where a goroutine goes on whose stack reaches from sp to end: the frames of the runtime's own are at its
// top. The frame of asyncPreempt2, which returns to asyncPreempt, begins with that one's frame pointer.
func (p *Program) goesOn(sp, end uint64, keeps codeRange, see func(word uint64)) error {
	if sp >= end {
		return errTorn
	}
	b := make([]byte, min(end-sp, parkedBytes)&^7)
	if err := p.mem.Read(sp, b); err != nil {
		return fmt.Errorf("read the stack of a goroutine: %w", err)
	}
	words := make([]uint64, len(b)/8)
	for i := range words {
		words[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	for i, w := range words {
		if !keeps.has(w) {
			continue
		}
		if i == 0 || words[i-1] < sp || words[i-1]%8 != 0 || (words[i-1]-sp)/8+1 >= uint64(len(words)) {
			for _, w := range words {
				see(w)
			}
			return nil
		}
		see(words[(words[i-1]-sp)/8+1])
	}
	return nil
}

// Suspects are the goroutines that may stand where the runtime interrupted them, or may do so from now on without
// having come there anew: all but those that have parked by themselves. The program may run.
//
// Of these the status is read first, then where they go on, in gopark. Who was not parked by itself at first, but to
// have its stack looked at where it had been interrupted, has come there since. Nothing else says so: a goroutine that
// goes on from where it was interrupted is on the system's stack for a moment, and its place is written then, too.
func (p *Program) Suspects() ([]uint64, error) {
	parkedItself, err := p.rangeOf(parksItself)
	if err != nil {
		return nil, err
	}
	all, err := p.everyone()
	if err != nil {
		return nil, err
	}
	waits, err := choose(p, all, func(g *standing) (uint64, bool) {
		return g.at, g.status == stWaiting || g.status == stLeaked
	})
	if err != nil {
		return nil, err
	}
	parked, err := choose(p, waits, func(g *standing) (uint64, bool) { return g.at, parkedItself.has(g.pc) })
	suspects := make([]uint64, 0, len(all)-len(parked))
	for _, g := range all { // which has them in the same order
		if len(parked) > 0 && g == parked[0] {
			parked = parked[1:]
		} else {
			suspects = append(suspects, g)
		}
	}
	return suspects, err
}

// Count is how many goroutines there are and were at once.
func (p *Program) Count() (int, error) {
	var head [24]byte
	if err := p.mem.Read(p.allgs, head[:]); err != nil {
		return 0, fmt.Errorf("read the list of goroutines: %w", err)
	}
	return int(binary.LittleEndian.Uint64(head[8:])), nil
}

// unborn reports a status of a goroutine that is none, or no longer.
func unborn(status uint32) bool { return status == stIdle || status == stDead || status == stDeadExtra }

// Functions of the runtime in which goroutines stand that do not run.
const (
	keepsRegisters = "runtime.asyncPreempt"       // which an interrupted one seems to have called
	interrupted    = "runtime.asyncPreempt2"      // which that calls, and where it goes on
	parksItself    = "runtime.gopark"             // where one goes on that waits for something
	systemSwitch   = "runtime.systemstack_switch" // where one stands whose thread runs on the system's stack for it
)

// codeRange is where the code of a function lies.
type codeRange struct{ lo, hi uint64 }

func (s codeRange) has(pc uint64) bool { return pc >= s.lo && pc < s.hi }

// rangeOf is where the code of one of these lies. The table was read before: it is long, and the program may stand.
func (p *Program) rangeOf(name string) (codeRange, error) {
	f, ok := p.ways[name]
	if !ok {
		return codeRange{}, fmt.Errorf("it has no %s", name)
	}
	return codeRange{p.text + uint64(f.entry), p.text + uint64(f.end)}, nil
}

// choose goes over goroutines, on several CPUs where there are many, and returns what which chooses, in their order.
func choose[T any](p *Program, list []uint64, which func(g *standing) (T, bool)) ([]T, error) {
	workers := min(runtime.NumCPU(), len(list)/alone+1)
	found, errs := make([][]T, workers), make([]error, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			part := list[len(list)*w/workers : len(list)*(w+1)/workers]
			errs[w] = p.look(part, func(g *standing) {
				if v, ok := which(g); ok {
					found[w] = append(found[w], v)
				}
			})
		})
	}
	wg.Wait()
	return slices.Concat(found...), errors.Join(errs...)
}

// standing is where a goroutine stands, or stood when it began to run.
type standing struct {
	at     uint64 // of the runtime's structure
	status uint32
	pc, sp uint64
	end    uint64 // of its stack
}

// alone is how many goroutines are looked at by one CPU before another one helps.
const alone = 10_000

// everyone are the addresses of all goroutines, dead ones too.
func (p *Program) everyone() ([]uint64, error) {
	var head [24]byte
	if err := p.mem.Read(p.allgs, head[:]); err != nil {
		return nil, fmt.Errorf("read the list of goroutines: %w", err)
	}
	at, n, room := binary.LittleEndian.Uint64(head[:]), binary.LittleEndian.Uint64(head[8:]),
		binary.LittleEndian.Uint64(head[16:])
	if n == 0 {
		return []uint64{}, nil // it has not begun
	}
	if at == 0 || n > room || room > 1<<28 {
		return nil, errTorn
	}
	b := make([]byte, 8*n)
	if err := p.mem.Read(at, b); err != nil {
		return nil, fmt.Errorf("read the list of goroutines: %w", err)
	}
	list := make([]uint64, n)
	for i := range list {
		list[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return list, nil
}

// Goroutines that were made one after the other mostly lie so: what lies near each other is read at once, with what is
// in between. There may be very many, and the program stands.
const (
	nearBytes = 2048
	runBytes  = 256 << 10
)

// look calls see with what goroutines do.
func (p *Program) look(list []uint64, see func(g *standing)) error {
	l, le := &p.layout, binary.LittleEndian
	size := (uint64(max(l.GStackHi, l.GSchedSP, l.GSchedPC, l.GStatus)) + 8 + 7) &^ 7
	room := make([]byte, runBytes+size)
	for len(list) > 0 {
		from, n := list[0], 1
		for n < len(list) && list[n] >= list[n-1] && list[n]-list[n-1] <= nearBytes && list[n]-from <= runBytes {
			n++
		}
		b := room[:list[n-1]-from+size]
		if err := p.mem.Read(from, b); err != nil {
			return fmt.Errorf("read goroutines: %w", err)
		}
		for _, g := range list[:n] {
			one := b[g-from:]
			see(&standing{g, le.Uint32(one[l.GStatus:]) &^ stScan, le.Uint64(one[l.GSchedPC:]), le.Uint64(one[l.GSchedSP:]),
				le.Uint64(one[l.GStackHi:])})
		}
		list = list[n:]
	}
	return nil
}

func (p *Program) readMany(at []uint64, size int, b []byte) error {
	if m, ok := p.mem.(BatchMemory); ok {
		return m.ReadMany(at, size, b)
	}
	for i, a := range at {
		if err := p.mem.Read(a, b[i*size:(i+1)*size]); err != nil {
			return err
		}
	}
	return nil
}
