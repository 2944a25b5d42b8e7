package goroutine

import (
	"encoding/binary"
	"errors"
	"fmt"
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
	var head [24]byte
	if err := p.mem.Read(p.allgs, head[:]); err != nil {
		return fmt.Errorf("read the list of goroutines: %w", err)
	}
	at, n, room := binary.LittleEndian.Uint64(head[:]), binary.LittleEndian.Uint64(head[8:]),
		binary.LittleEndian.Uint64(head[16:])
	if n == 0 {
		return nil // it has not begun
	}
	if at == 0 || n > room || room > 1<<32 {
		return errTorn
	}
	f, ok := p.table.named("runtime.asyncPreempt2")["runtime.asyncPreempt2"]
	if !ok {
		return errors.New("it has no runtime.asyncPreempt2")
	}
	lo, hi := p.text+uint64(f.entry), p.text+uint64(f.end)
	list := make([]byte, 8*min(n, batch))
	l := &p.layout
	size := int(max(l.GSchedSP, l.GSchedPC, l.GStatus)) + 8
	size = (size + 7) &^ 7
	all := make([]byte, batch*size)
	for done := uint64(0); done < n; {
		k := min(n-done, batch)
		if err := p.mem.Read(at+8*done, list[:8*k]); err != nil {
			return fmt.Errorf("read the list of goroutines: %w", err)
		}
		gs := make([]uint64, k)
		for i := range gs {
			gs[i] = binary.LittleEndian.Uint64(list[8*i:])
		}
		if err := p.readMany(gs, size, all[:int(k)*size]); err != nil {
			return fmt.Errorf("read goroutines: %w", err)
		}
		for i := range gs {
			b := all[i*size:]
			switch binary.LittleEndian.Uint32(b[l.GStatus:]) &^ stScan {
			case stIdle, stDead, stDeadExtra:
				continue
			} // one that is about to be parked still counts as running
			if pc := binary.LittleEndian.Uint64(b[l.GSchedPC:]); pc < lo || pc >= hi {
				continue
			}
			p.wordsAt(binary.LittleEndian.Uint64(b[l.GSchedSP:]), see)
		}
		done += k
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
