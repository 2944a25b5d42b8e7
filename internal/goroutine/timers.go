package goroutine

import (
	"encoding/binary"
	"fmt"
	"strings"
	"time"
)

// Timer is one that is due some day.
type Timer struct {
	At       time.Duration // on the monotonic clock of the system; 0: not known, it may be soon
	Function string        // what it calls: of time.AfterFunc that which it was given
	Runtime  bool          // the runtime's own: nobody's wait ends by it

	Wakes uint64 // Goroutine.Addr of one that sleeps until then; 0: none does
}

// maxTimers bounds what is read of one processor.
const maxTimers = 100_000

// States of timers. Before Go 1.23 they are counted; since then they are flags.
const (
	timerDeleted, timerRemoved               = 3, 5
	timerModifiedEarlier, timerModifiedLater = 7, 8
	timerZombie                              = 4 // flag: it was stopped and is still in the heap
)

// processors are the runtime's own, by their addresses.
func (r *reader) processors() (list []uint64, err error) {
	var head [16]byte
	if err := r.p.mem.Read(r.p.allp, head[:]); err != nil {
		return nil, fmt.Errorf("read the list of processors: %w", err)
	}
	at, n := binary.LittleEndian.Uint64(head[:]), binary.LittleEndian.Uint64(head[8:])
	if at == 0 || n == 0 || n > 1<<16 {
		return nil, errTorn
	}
	for i := range n {
		p, err := r.word(at + 8*i)
		if err != nil {
			return nil, fmt.Errorf("read the list of processors: %w", err)
		}
		list = append(list, p)
	}
	return list, nil
}

// timers reads the processors' timers.
func (r *reader) timers(d *Dump) error {
	l := &r.p.layout
	list, err := r.processors()
	if err != nil {
		return err
	}
	for i, p := range list {
		var b [8]byte
		if err := r.p.mem.Read(p+uint64(min(l.PID, l.PStatus)), b[:]); err != nil {
			return fmt.Errorf("read a processor: %w", err)
		}
		id, err1 := r.word(p + uint64(l.PID))
		status, err2 := r.word(p + uint64(l.PStatus))
		if err1 != nil || err2 != nil || int(uint32(id)) != i {
			return errTorn
		}
		d.Busy = d.Busy || uint32(status) != 0 // not idle
		if err := r.heap(d, p); err != nil {
			return err
		}
	}
	return nil
}

// heap reads the timers of one processor.
func (r *reader) heap(d *Dump, p uint64) error {
	l := &r.p.layout
	var head [24]byte
	if err := r.p.mem.Read(p+uint64(l.PTimers), head[:]); err != nil {
		return fmt.Errorf("read the timers of a processor: %w", err)
	}
	first, err := r.word(p + uint64(l.PTimerFirst))
	if err != nil {
		return fmt.Errorf("read the timers of a processor: %w", err)
	}
	at, n, room := binary.LittleEndian.Uint64(head[:]), binary.LittleEndian.Uint64(head[8:]),
		binary.LittleEndian.Uint64(head[16:])
	if n > room || n > 0 && at == 0 || n > maxTimers || (n == 0) != (first == 0) {
		return errTorn
	}
	stride := uint64(l.TimerStride)
	b := make([]byte, stride*n)
	if err := r.p.mem.Read(at, b); n > 0 && err != nil {
		return fmt.Errorf("read the timers of a processor: %w", err)
	}
	for i := range n {
		t, ok, err := r.timer(binary.LittleEndian.Uint64(b[stride*i:]))
		if err != nil {
			return err
		}
		if ok {
			d.Timers = append(d.Timers, t)
		}
	}
	return nil
}

// timer reads one; ok is false for one that was stopped.
func (r *reader) timer(addr uint64) (t Timer, ok bool, err error) {
	l := &r.p.layout
	b := make([]byte, max(l.TimerWhen, l.TimerFunc, l.TimerArg+8, l.TimerState)+8)
	if err := r.p.mem.Read(addr, b); err != nil {
		return t, false, fmt.Errorf("read a timer: %w", err)
	}
	word := func(off uint32) uint64 { return binary.LittleEndian.Uint64(b[off:]) }
	if when := int64(word(l.TimerWhen)); when > 0 {
		t.At = time.Duration(when)
	}
	if l.TimerStateWord {
		switch binary.LittleEndian.Uint32(b[l.TimerState:]) {
		case timerDeleted, timerRemoved:
			return t, false, nil
		case timerModifiedEarlier, timerModifiedLater:
			t.At = 0
		}
	} else if b[l.TimerState]&timerZombie != 0 {
		return t, false, nil
	}
	if t.Function, err = r.called(word(l.TimerFunc)); err != nil {
		return t, false, err
	}
	if t.Function == "runtime.goroutineReady" {
		t.Wakes = word(l.TimerArg + 8)
	}
	if t.Function == "time.goFunc" {
		if t.Function, err = r.called(word(l.TimerArg + 8)); err != nil {
			return t, false, err
		}
	}
	t.Runtime = strings.HasPrefix(t.Function, "runtime.(*scavengerState)")
	return t, true, nil
}

// called names the function of a function value.
func (r *reader) called(value uint64) (string, error) {
	pc, err := r.word(value)
	if err != nil {
		return "", fmt.Errorf("read the function of a timer: %w", err)
	}
	f, ok := r.function(pc)
	if !ok {
		return "", errTorn
	}
	return r.p.table.name(f.field(1)), nil
}
