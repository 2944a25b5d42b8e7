package ptrace

import (
	"os"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// The end of a process that is both a child of this program and traced by it is told once, to the tracer. Whoever
// started the child, and would wait for it, asks here.

type held struct {
	done   chan struct{} // closed at its end, or when it was let go
	ended  bool
	status unix.WaitStatus
}

var holding struct {
	sync.Mutex
	of map[int]*held
}

// heldEndWait bounds how long the tracer may take to hear of an end that is known already.
const heldEndWait = 10 * time.Second

// HeldEnd is the end of a child that has ended while a Tracer of this program was attached to it. False: none was any
// more, and it is to be waited for like any other.
func HeldEnd(pid int) (unix.WaitStatus, bool) {
	holding.Lock()
	h := holding.of[pid]
	holding.Unlock()
	if h == nil {
		return 0, false
	}
	select {
	case <-h.done:
	case <-time.After(heldEndWait):
	}
	holding.Lock()
	defer holding.Unlock()
	if holding.of[pid] == h {
		delete(holding.of, pid)
	}
	return h.status, h.ended
}

// hold notes that a child of this program is attached to.
func hold(pid int) {
	if StatusField(pid, "PPid") != strconv.Itoa(os.Getpid()) {
		return
	}
	holding.Lock()
	defer holding.Unlock()
	if holding.of == nil {
		holding.of = map[int]*held{}
	}
	holding.of[pid] = &held{done: make(chan struct{})}
}

// letGo notes that a thread is not traced any more.
func letGo(tid int) {
	holding.Lock()
	defer holding.Unlock()
	if h := holding.of[tid]; h != nil && !h.ended {
		delete(holding.of, tid)
		close(h.done)
	}
}

// ended notes a thread's end.
func ended(tid int, status unix.WaitStatus) {
	holding.Lock()
	defer holding.Unlock()
	if h := holding.of[tid]; h != nil && !h.ended {
		h.ended, h.status = true, status
		close(h.done)
	}
}
