package session

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/strobe-debug/strobe/internal/event"
)

const (
	// lookEvery is how often a thread's name is read while events come, and lookShare what each thread adds to it:
	// reading one costs about 10 µs, so that many threads take 1 % of a core and one thread's name is at most 5 ms old.
	lookEvery = 5 * time.Millisecond
	lookShare = time.Millisecond
	// youth is how long a thread's first name is not its own yet: it begins with that of the thread that made it, and a
	// name that it takes within this time was its name from the beginning.
	youth = 100 * time.Millisecond
)

// threadNames follows the names of the target's threads, which they change while they run (prctl, pthread_setname_np).
// Collectors report a name when they first see a thread. Names are looked at when events come and when somebody asks,
// never in between.
type threadNames struct {
	st   nameStore
	proc string // /proc; of another system, nothing is there and names stay as they are

	mu     sync.Mutex // held over reads of /proc and calls to st, whose namesMu is a leaf
	known  map[threadKey]*namedThread
	living []*namedThread
	looked time.Duration // session time of the last look
}

// nameStore is what threadNames needs of a store.
type nameStore interface {
	Thread(event.Thread) event.ThreadID
	SetThreadName(id event.ThreadID, name string, fromTS int64)
}

type threadKey struct{ pid, tid int32 }

// namedThread is one thread, with an id for each of its stacks.
type namedThread struct {
	key   threadKey
	start string // when it began, in the kernel's words: numbers are used again; "": not known, or it has ended
	name  string
	born  time.Duration
	ids   []event.ThreadID
	lanes []string // what follows the name, by index of ids
	own   bool     // the name is its program's, not the kernel's
}

func newThreadNames(st nameStore) *threadNames {
	return &threadNames{st: st, proc: "/proc", known: map[threadKey]*namedThread{}}
}

// named is thread of one whose name its program knows better than the kernel.
func (n *threadNames) named(t event.Thread, now time.Duration) event.ThreadID {
	id := n.thread(t, now)
	n.mu.Lock()
	defer n.mu.Unlock()
	th := n.known[threadKey{t.PID, t.TID}]
	th.own = true
	if name, _ := event.SplitLane(t.Name); name != "" && name != th.name {
		n.rename(th, name, now)
	}
	return id
}

// thread registers what a collector reports; now is the session's clock. A thread that is known keeps its id, and takes
// the name if that is new.
func (n *threadNames) thread(t event.Thread, now time.Duration) event.ThreadID {
	name, lane := event.SplitLane(t.Name)
	key := threadKey{t.PID, t.TID}
	n.mu.Lock()
	defer n.mu.Unlock()
	start := n.started(key)
	th := n.known[key]
	// A process's first thread is the same as long as the process is; of others, a number that lives again is another
	// thread.
	if th == nil || start != "" && start != th.start && key.pid != key.tid {
		n.forget(th)
		th = &namedThread{key: key, start: start, name: name, born: now}
		n.known[key] = th
		if start != "" {
			n.living = append(n.living, th)
		}
	} else if name != "" && name != th.name && !th.own {
		n.rename(th, name, now)
	}
	for i, l := range th.lanes {
		if l == lane {
			return th.ids[i]
		}
	}
	id := n.st.Thread(event.Thread{PID: t.PID, TID: t.TID, Name: th.name + lane})
	th.ids, th.lanes = append(th.ids, id), append(th.lanes, lane)
	return id
}

// of returns the thread that has an id; its zero: it is not known.
func (n *threadNames) of(id event.ThreadID) (t event.Thread) {
	if n == nil {
		return t
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for key, th := range n.known {
		if slices.Contains(th.ids, id) {
			return event.Thread{PID: key.pid, TID: key.tid, Name: th.name}
		}
	}
	return t
}

// look reads the names of the threads that live, if it is time or all is asked for.
func (n *threadNames) look(now time.Duration, all bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if since := now - n.looked; !all && since < max(lookEvery, time.Duration(len(n.living))*lookShare) {
		return
	}
	before := n.looked
	n.looked = now
	for i := 0; i < len(n.living); {
		th := n.living[i]
		name, ok := n.comm(th.key)
		if ok && name != th.name {
			// Numbers are used again: only now is it worth a look whether this one was.
			if start := n.started(th.key); start != th.start && th.key.pid != th.key.tid {
				ok = false
			}
		}
		if !ok {
			n.forget(th)
			continue
		}
		if name != th.name && !th.own {
			n.rename(th, name, before)
		}
		i++
	}
}

// rename gives a thread its new name for what came after from: the last look that saw the old one.
func (n *threadNames) rename(th *namedThread, name string, from time.Duration) {
	fromTS := int64(from) + 1
	if from-th.born < youth {
		fromTS = 0
	}
	th.name = name
	for i, id := range th.ids {
		n.st.SetThreadName(id, name+th.lanes[i], fromTS)
	}
}

// forget looks at a thread no more. Its ids and its name stay.
func (n *threadNames) forget(th *namedThread) {
	for i := range n.living {
		if n.living[i] == th {
			last := len(n.living) - 1
			n.living[i], n.living[last] = n.living[last], nil
			n.living = n.living[:last]
			th.start = ""
			return
		}
	}
}

func (n *threadNames) comm(k threadKey) (string, bool) {
	b, err := os.ReadFile(fmt.Sprintf("%s/%d/task/%d/comm", n.proc, k.pid, k.tid))
	return string(bytes.TrimSuffix(b, []byte("\n"))), err == nil
}

// started returns field 22 of a thread's stat, proc(5): when it began, in ticks since the boot.
func (n *threadNames) started(k threadKey) string {
	const starttime = 22 - 3 // counted behind the name, which may hold spaces and brackets
	b, err := os.ReadFile(n.proc + "/" + strconv.Itoa(int(k.pid)) + "/task/" + strconv.Itoa(int(k.tid)) + "/stat")
	if err != nil {
		return ""
	}
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(fields) <= starttime {
		return ""
	}
	return string(fields[starttime])
}
