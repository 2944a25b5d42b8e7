package ptrace

import (
	"slices"
	"sync"
)

// Mask are one-byte traps that stand in a process's memory and are nobody else's concern: Read shows what stood there
// before, and who writes over one takes its place for good. Safe for concurrent use; mu is a leaf lock.
type Mask struct {
	mu    sync.Mutex
	at    map[uint64]*masked
	order []uint64 // the addresses, ascending
	gone  []int    // numbers of those that were written over, and nobody was told of yet
}

type masked struct {
	orig  byte
	id    int
	state maskState
}

type maskState uint8

const (
	maskArmed maskState = iota
	maskMet             // what stood there before stands there again; in a child that was forked just then, maybe not yet
	maskGone            // somebody else's bytes stand there
)

const trapByte = 0xcc

// SetMask makes reading and writing heed a mask.
func (m *Mem) SetMask(k *Mask) { m.mask.Store(k) }

// Mask is what SetMask set, nil for none.
func (m *Mem) Mask() *Mask { return m.mask.Load() }

// Clone is the mask of a process that was forked of the one that has it.
func (k *Mask) Clone() *Mask {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	c := &Mask{at: make(map[uint64]*masked, len(k.at)), order: slices.Clone(k.order)}
	for a, e := range k.at {
		copied := *e
		c.at[a] = &copied
	}
	return c
}

// Has reports whether a trap of the mask is or was at an address.
func (k *Mask) Has(addr uint64) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.at[addr] != nil
}

// Armed is how many traps stand.
func (k *Mask) Armed() (n int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, e := range k.at {
		if e.state == maskArmed {
			n++
		}
	}
	return n
}

// TakeGone returns the numbers of traps that stood until somebody wrote over them, each once.
func (k *Mask) TakeGone() []int {
	k.mu.Lock()
	defer k.mu.Unlock()
	gone := k.gone
	k.gone = nil
	return gone
}

// Arm puts traps at addresses, with a number for each; those that have one already keep it. It returns the numbers of
// those that could not be put.
func (m *Mem) Arm(ids map[uint64]int) (failed []int) {
	k := m.mask.Load()
	if k == nil {
		k = &Mask{at: map[uint64]*masked{}}
		m.mask.Store(k)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	var all []uint64
	for a := range ids {
		if k.at[a] == nil {
			all = append(all, a)
		}
	}
	slices.Sort(all)
	for len(all) > 0 { // by pages: a byte is written with what stands around it
		n, page := 1, all[0]&^4095
		for n < len(all) && all[n]&^4095 == page {
			n++
		}
		lo, hi := all[0], all[n-1]+1
		b := make([]byte, hi-lo)
		err := m.read(lo, b)
		if err == nil {
			orig := slices.Clone(b)
			for _, a := range all[:n] {
				b[a-lo] = trapByte
			}
			if err = m.write(lo, b); err == nil {
				for _, a := range all[:n] {
					k.at[a] = &masked{orig: orig[a-lo], id: ids[a]}
					k.order = append(k.order, a)
				}
			}
		}
		if err != nil {
			for _, a := range all[:n] {
				failed = append(failed, ids[a])
			}
		}
		all = all[n:]
	}
	slices.Sort(k.order)
	return failed
}

// Met is asked by who handles a thread that met a trap at addr: known reports whether it is the mask's, and then what
// stood there does again. It is first for one only.
func (m *Mem) Met(addr uint64) (id int, first, known bool) {
	k := m.mask.Load()
	if k == nil {
		return 0, false, false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	e := k.at[addr]
	if e == nil || e.state == maskGone {
		return 0, false, false
	}
	first = e.state == maskArmed
	e.state = maskMet
	return e.id, first, m.lift(addr, e)
}

// lift puts back what stood at an address, if the trap still does.
func (m *Mem) lift(addr uint64, e *masked) bool {
	var now [1]byte
	if e.orig == trapByte || m.read(addr, now[:]) != nil {
		return e.orig != trapByte
	}
	if now[0] == trapByte {
		return m.write(addr, []byte{e.orig}) == nil
	}
	return true
}

// Disarm takes all traps away.
func (m *Mem) Disarm() {
	k := m.mask.Load()
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for a, e := range k.at {
		if e.state != maskGone {
			e.state = maskMet
			m.lift(a, e)
		}
	}
}

// within calls f for the traps in a range.
func (k *Mask) within(addr, n uint64, f func(a uint64, e *masked)) {
	if len(k.order) == 0 || addr > k.order[len(k.order)-1] || addr+n <= k.order[0] {
		return
	}
	i, _ := slices.BinarySearch(k.order, addr)
	for ; i < len(k.order) && k.order[i] < addr+n; i++ {
		f(k.order[i], k.at[k.order[i]])
	}
}

// unmask shows in bytes that were read what stood there before the traps.
func (m *Mem) unmask(addr uint64, b []byte) {
	k := m.mask.Load()
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.within(addr, uint64(len(b)), func(a uint64, e *masked) {
		if e.state != maskGone && b[a-addr] == trapByte {
			b[a-addr] = e.orig
		}
	})
}

// overwritten gives up the traps that somebody writes over.
func (m *Mem) overwritten(addr uint64, n int) {
	k := m.mask.Load()
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.within(addr, uint64(n), func(_ uint64, e *masked) {
		if e.state == maskArmed {
			k.gone = append(k.gone, e.id)
		}
		e.state = maskGone
	})
}
