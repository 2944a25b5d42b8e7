package waits

import (
	"encoding/binary"
	"slices"
	"strings"
)

// parked finds the mutex of a thread that glibc put to sleep for ever: the kernel had refused it a mutex with priority
// inheritance, since that would have closed a circle. It waits for a word on its own stack, near which the mutex may
// be: the one that closes the circle. Else it is the thread at the far end of those that wait for this one.
func (a *analysis) parked(t *Thread) {
	w, p := t.Wait, a.procs[t.PID]
	if w == nil || w.Kind != "mutex" || w.Owner != 0 || t.Syscall != sysFutex || t.Args[2] != 0 || p.Read == nil {
		return
	}
	w.object, w.Object, w.Detail = 0, "", "that the kernel refused it"
	const below, above = 512, 1024
	b := make([]byte, below+above)
	lo := w.at&^7 - below
	if p.Read(lo, b) != nil {
		b = nil
	}
	own := uint64(0) // one that it has, which it may have asked for again
	for ; len(b) >= 8; b = b[8:] {
		mutex := binary.LittleEndian.Uint64(b)
		owner := a.byInheritance(t, mutex)
		if owner == nil || owner == t {
			if owner == t {
				own = mutex
			}
			continue
		}
		for at, steps := owner, 0; at != nil && steps < len(a.threads); at, steps = a.next(at), steps+1 {
			if at == t {
				w.object, w.Object, w.Detail = mutex, hex(mutex), ""
				w.own(owner.TID, "lock")
				return
			}
		}
	}
	var behind []*Thread
	for _, o := range a.threads {
		at := o
		for steps := 0; at != nil && at != t && steps < len(a.threads); steps++ {
			at = a.next(at)
		}
		if at == t && o != t {
			behind = append(behind, o)
		}
	}
	var ends []*Thread
	for _, o := range behind {
		if !slices.ContainsFunc(behind, func(p *Thread) bool { return a.next(p) == o }) {
			ends = append(ends, o)
		}
	}
	switch {
	case len(behind) == 0 && own != 0:
		w.object, w.Object, w.Detail = own, hex(own), ""
		w.own(t.TID, "lock")
	case len(behind) == 1:
		w.own(behind[0].TID, "lock")
	case len(ends) == 1:
		w.own(ends[0].TID, "stack")
	}
}

// byInheritance is the owner of glibc's mutex with priority inheritance at an address, nil where there is none.
func (a *analysis) byInheritance(t *Thread, at uint64) *Thread {
	const pi, kinds = 32, 1 << 8
	var b [20]byte
	if at == 0 || at%4 != 0 || a.procs[t.PID].Read(at, b[:]) != nil {
		return nil
	}
	word, kind := binary.LittleEndian.Uint32(b[:]), binary.LittleEndian.Uint32(b[16:])
	if kind >= kinds || kind&pi == 0 {
		return nil
	}
	return a.local[localID{t.PID, int(word & ownerMask)}]
}

// streamOwner knows the lock of one of glibc's streams, which a thread may take again that has it, and its owner.
//
//	0 lock   4 count   8 the owner's descriptor, which holds its own address at 16 and its thread's number at 720
func streamOwner(w *Wait, p *Process) {
	const self, number = 16, 720
	var b [16]byte
	if p.Read == nil || p.Read(w.at, b[:]) != nil {
		return
	}
	lock, count, owner := binary.LittleEndian.Uint32(b[:]), binary.LittleEndian.Uint32(b[4:]),
		binary.LittleEndian.Uint64(b[8:])
	if lock == 0 || lock > 2 || count == 0 || count > maxThread || owner%16 != 0 {
		return
	}
	var d [8]byte
	if p.Read(owner+self, d[:]) != nil || binary.LittleEndian.Uint64(d[:]) != owner {
		return
	}
	if tid := p.word(owner + number); tid > 0 && tid < maxThread {
		w.Kind = "mutex"
		w.own(int(tid), "lock")
	}
}

// inOnce finds the thread that runs what is run once by pthread_once, or Rust's: the only one in such a function beyond
// what it waits for itself, where every stack is known. Of several it is the one whose stack has the address.
func (a *analysis) inOnce(t *Thread) *Thread {
	var in, mention []*Thread
	for _, o := range a.threads {
		if o.PID != t.PID {
			continue
		}
		if o.Lack != "" || o.Elided > 0 || len(o.Frames) == 0 {
			return nil
		}
		n := 0
		for i := range o.Frames {
			if name := plain(o.Frames[i].Function); strings.Contains(name, "pthread_once") ||
				strings.Contains(name, "once::futex::Once::call") || strings.Contains(name, "futex_once::Once::call") {
				n++
			}
		}
		if o.Wait != nil && o.Wait.Kind == "once" {
			n--
		}
		if n <= 0 || o != t && o.Wait != nil && o.Wait.Kind == "once" && o.Wait.object == t.Wait.object {
			continue
		}
		in = append(in, o)
		if p := a.procs[t.PID]; o != t && p.Stack != nil && p.Stack(o, t.Wait.object) {
			mention = append(mention, o)
		}
	}
	switch {
	case len(in) == 1:
		return in[0]
	case len(mention) == 1:
		return mention[0]
	}
	return nil
}
