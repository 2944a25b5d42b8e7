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
// instructions and that has not gone on: among them is where it goes on. The program must not run meanwhile. Goroutines
// that cannot be read are an error: then nothing is known.
func (p *Program) Parked(see func(word uint64)) error {
	f, ok := p.table.named("runtime.asyncPreempt2")["runtime.asyncPreempt2"]
	if !ok {
		return errors.New("it has no runtime.asyncPreempt2")
	}
	list, err := p.everyone()
	if err != nil {
		return err
	}
	lo, hi := p.text+uint64(f.entry), p.text+uint64(f.end)
	workers := min(runtime.NumCPU(), len(list)/alone+1)
	stacks, errs := make([][]uint64, workers), make([]error, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			part := list[len(list)*w/workers : len(list)*(w+1)/workers]
			errs[w] = p.look(part, func(status uint32, pc, sp uint64) {
				// One that is about to be parked still counts as running.
				if pc >= lo && pc < hi && status != stIdle && status != stDead && status != stDeadExtra {
					stacks[w] = append(stacks[w], sp)
				}
			})
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for _, sp := range slices.Concat(stacks...) {
		p.wordsAt(sp, see)
	}
	return nil
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
func (p *Program) look(list []uint64, see func(status uint32, pc, sp uint64)) error {
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
			see(binary.LittleEndian.Uint32(one[l.GStatus:])&^stScan, binary.LittleEndian.Uint64(one[l.GSchedPC:]),
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
