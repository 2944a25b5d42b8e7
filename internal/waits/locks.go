package waits

import (
	"encoding/binary"
	"fmt"
	"strings"
)

const (
	ownerMask = 0x3fffffff // of a futex word that holds its owner's thread number: PI, robust and musl's
	maxThread = 1 << 22    // no thread has this number (PID_MAX_LIMIT)
	// Commands of futex(2), and its flags.
	futexCommand, futexPrivate                 = 0x7f, 0x80
	futexLockPI, futexWaitBitset, futexLockPI2 = 6, 9, 13
)

// word reads 4 bytes; 0 where they cannot be had.
func (p *Process) word(at uint64) uint32 {
	var b [4]byte
	if p.Read == nil || p.Read(at, b[:]) != nil {
		return 0
	}
	return binary.LittleEndian.Uint32(b[:])
}

// futexWait says what a thread in a futex call waits for. Owners are still as the lock has them.
func futexWait(t *Thread, p *Process) *Wait {
	w := &Wait{at: t.Args[0], object: t.Args[0]}
	command := t.Args[1] & futexCommand
	if t.Syscall == sysFutexWait {
		command = futexWaitBitset
		w.Timed = t.Args[4] != 0
	} else {
		w.Timed = t.Args[3] != 0
	}
	names := t.names(p.Root)
	var by string
	w.Kind, by = kindOf(names)
	word := p.word(w.at)
	if command == futexLockPI || command == futexLockPI2 {
		w.Kind = "mutex"
		w.own(int(word&ownerMask), "lock")
	}
	switch w.Kind {
	case "mutex":
		if w.Owner == 0 {
			mutexOwner(w, p, by)
		}
	case "rwlock-read", "rwlock-write":
		rwlock(w, p, by)
	case "condvar":
		condvar(w, by)
	case "join":
		joined(w, p)
	case "barrier":
		barrier(w, p, by)
	}
	if w.object != 0 {
		w.Object = hex(w.object)
	}
	return w
}

func hex(at uint64) string { return fmt.Sprintf("%#x", at) }

func (w *Wait) own(tid int, how string) {
	if tid > 0 {
		w.Owner, w.OwnerKnownBy = tid, how
	}
}

// mutexOwner reads the owner of a mutex.
//
//	glibc    0 lock   4 count   8 owner   12 users   16 kind
//	musl     0 type   4 lock (the thread's number, or 16 in a normal mutex)   8 waiters
func mutexOwner(w *Wait, p *Process, by string) {
	if !strings.HasPrefix(by, "pthread_") && !strings.HasPrefix(by, "mtx_") {
		return // Rust's and others have a state only
	}
	const robust, pi, normalInMusl = 16, 32, 16
	var b [20]byte
	if p.Read == nil || p.Read(w.at, b[:]) != nil {
		return
	}
	lock, owner, kind := binary.LittleEndian.Uint32(b[:]), binary.LittleEndian.Uint32(b[8:]),
		binary.LittleEndian.Uint32(b[16:])
	const waiters = 1 << 31
	inWord := int(lock & ownerMask)
	switch {
	case lock&waiters != 0 && inWord == normalInMusl:
		w.object = w.at - 4
	case lock&waiters != 0 && kind < 1<<8 && kind&(robust|pi) != 0:
		w.own(inWord, "lock")
	case lock&waiters != 0:
		w.object = w.at - 4
		w.own(inWord, "lock")
	case lock != 0 && owner < maxThread:
		w.own(int(owner), "lock")
	}
}

// rwlock finds a reader-writer lock by the word that is waited for, and its writer.
//
//	glibc    0 readers (count << 3 | waiting << 2 | write locked << 1 | write phase)   4 writers
//	         8 futex of the phase   12 futex of writers   24 the writer's thread number   48 flags
//	musl     0 state (count of readers, or 2^31-1 written, | 2^31 waited for)
//	Rust     0 state (count of readers, or 2^30-1 written)   4 notification of writers
func rwlock(w *Wait, p *Process, by string) {
	if !strings.HasPrefix(by, "pthread_") {
		const all, written = 1<<30 - 1, 1<<30 - 1
		if w.Kind == "rwlock-write" {
			w.object = w.at - 4
		}
		if n := p.word(w.object) & all; n != written && n != 0 {
			w.Detail = fmt.Sprintf("%d reading", n)
		}
		return
	}
	const waited = 1 << 31 // glibc's words are small
	if v := p.word(w.at); v&waited != 0 {
		if n := v &^ waited; n != waited-1 && n != 0 {
			w.Detail = fmt.Sprintf("%d reading", n)
		}
		return
	}
	offsets := []uint64{8, 0, 12}
	if w.Kind == "rwlock-write" {
		offsets = []uint64{12, 8}
	}
	base := w.at - offsets[0]
	for _, off := range offsets {
		var b [56]byte
		if w.at < off || p.Read == nil || p.Read(w.at-off, b[:]) != nil {
			continue
		}
		readers, writer, flags := binary.LittleEndian.Uint32(b[:]), binary.LittleEndian.Uint32(b[24:]),
			binary.LittleEndian.Uint32(b[48:])
		const writePhase, writeLocked = 1, 2
		if flags > 2 || (w.at-off)%8 != 0 {
			continue
		}
		if readers&writeLocked != 0 && writer != 0 && writer < maxThread && (readers&writePhase != 0 || readers>>3 == 0) {
			w.object = w.at - off
			w.own(int(writer), "lock")
			return
		}
		if n := readers >> 3; n > 0 && n < 1<<16 && writer == 0 {
			w.object = w.at - off
			w.Detail = fmt.Sprintf("%d reading", n)
			return
		}
	}
	w.object = base
}

// condvar finds glibc's condition variable by its group's signals, which are waited for.
func condvar(w *Wait, by string) {
	if !strings.HasPrefix(by, "pthread_") && !strings.HasPrefix(by, "cnd_") {
		return
	}
	const signals = 40 // two words at the offset
	if w.at%8 == 0 {
		w.object = w.at - signals
	} else {
		w.object = w.at - signals - 4
	}
}

// joined reads the number of the thread whose end is waited for: glibc's word holds it; musl's has it 8 bytes before.
func joined(w *Wait, p *Process) {
	w.object = 0
	v := p.word(w.at)
	const muslStates = 3
	if before := p.word(w.at - 8); v <= muslStates && before != 0 {
		v = before
	}
	if v < maxThread {
		w.own(int(v), "lock")
	}
}

// barrier reads glibc's: 0 arrived, 4 the round's first, 8 count; the round is waited for.
func barrier(w *Wait, p *Process, by string) {
	if !strings.HasPrefix(by, "pthread_") {
		return
	}
	w.object = w.at - 4
	in, round, count := p.word(w.object), p.word(w.object+4), p.word(w.object+8)
	if n := in - round; count > 0 && n <= count {
		w.Detail = fmt.Sprintf("%d of %d arrived", n, count)
	}
}
