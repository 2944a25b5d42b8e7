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

// parkedBytes of a goroutine's stack are looked at: what it was interrupted in lies below the frames of the runtime's
// own, which keep all registers there.
const parkedBytes = 4096

// batch is how many goroutines are read at once.
const batch = 1024

// Parked calls see with the words near the top of the stack of each goroutine that the runtime interrupted between two
// instructions and that has not gone on: among them is where it goes on. Of is which goroutines are looked at, by their
// addresses; nil: all. The program must not run meanwhile. Goroutines that cannot be read are an error: then nothing is
// known.
func (p *Program) Parked(of []uint64, see func(word uint64)) error {
	lo, hi, err := p.rangeOf(interrupted)
	sysLo, sysHi, _ := p.rangeOf(onSystem) // without it nobody goes on by it
	if err == nil && of == nil {
		of, err = p.everyone()
	}
	if err != nil {
		return err
	}
	stacks, err := p.choose(of, func(g uint64, status uint32, pc, sp uint64) (uint64, bool) {
		// One that is about to be parked still counts as running, and so does one that is on its way back: Go 1.26 frees
		// registers on the system's stack then, and neither this place nor its thread's stack says where it came from.
		return sp, (pc >= lo && pc < hi || pc >= sysLo && pc < sysHi && sp != 0) && !unborn(status)
	})
	for _, sp := range stacks {
		p.wordsAt(sp, see)
	}
	return err
}

// Suspects are the goroutines that may stand where the runtime interrupted them, or may do so from now on without
// having come there anew: all but those that have parked by themselves. The program may run.
//
// Of these the status is read first, then where they go on, in gopark. Who was not parked by itself at first, but to
// have its stack looked at where it had been interrupted, has come there since. Nothing else says so: a goroutine that
// goes on from where it was interrupted is on the system's stack for a moment, and its place is written then, too.
func (p *Program) Suspects() ([]uint64, error) {
	lo, hi, err := p.rangeOf(parkedItself)
	if err != nil {
		return nil, err
	}
	all, err := p.everyone()
	if err != nil {
		return nil, err
	}
	waits, err := p.choose(all, func(g uint64, status uint32, _, _ uint64) (uint64, bool) {
		return g, status == stWaiting || status == stLeaked
	})
	if err != nil {
		return nil, err
	}
	parked, err := p.choose(waits, func(g uint64, _ uint32, pc, _ uint64) (uint64, bool) { return g, pc >= lo && pc < hi })
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

const (
	interrupted  = "runtime.asyncPreempt2" // where one goes on that was interrupted between two instructions
	parkedItself = "runtime.gopark"        // where one goes on that waits for something
)

// onSystem is where a goroutine stands whose thread runs on the system's stack for it.
const onSystem = "runtime.systemstack_switch"

// rangeOf is where the code of one of these lies. The table was read before: it is long, and the program may stand.
func (p *Program) rangeOf(name string) (lo, hi uint64, err error) {
	f, ok := p.ways[name]
	if !ok {
		return 0, 0, fmt.Errorf("it has no %s", name)
	}
	return p.text + uint64(f.entry), p.text + uint64(f.end), nil
}

// choose goes over goroutines, on several CPUs where there are many, and returns what which chooses, in their order.
func (p *Program) choose(list []uint64, which func(g uint64, status uint32, pc, sp uint64) (uint64, bool)) ([]uint64,
	error) {
	workers := min(runtime.NumCPU(), len(list)/alone+1)
	found, errs := make([][]uint64, workers), make([]error, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			part := list[len(list)*w/workers : len(list)*(w+1)/workers]
			errs[w] = p.look(part, func(g uint64, status uint32, pc, sp uint64) {
				if v, ok := which(g, status, pc, sp); ok {
					found[w] = append(found[w], v)
				}
			})
		})
	}
	wg.Wait()
	return slices.Concat(found...), errors.Join(errs...)
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
func (p *Program) look(list []uint64, see func(g uint64, status uint32, pc, sp uint64)) error {
	l := &p.layout
	size := (uint64(max(l.GSchedSP, l.GSchedPC, l.GStatus)) + 8 + 7) &^ 7
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
			see(g, binary.LittleEndian.Uint32(one[l.GStatus:])&^stScan, binary.LittleEndian.Uint64(one[l.GSchedPC:]),
				binary.LittleEndian.Uint64(one[l.GSchedSP:]))
		}
		list = list[n:]
	}
	return nil
}

// wordsAt reads a stack, as far as it goes.
func (p *Program) wordsAt(sp uint64, see func(word uint64)) {
	b := make([]byte, parkedBytes)
	n := len(b)
	for ; n >= 64 && p.mem.Read(sp, b[:n]) != nil; n /= 2 {
	}
	if n < 64 {
		return
	}
	for i := 0; i+8 <= n; i += 8 {
		see(binary.LittleEndian.Uint64(b[i:]))
	}
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
