package switches

import (
	"cmp"
	"slices"
	"time"

	"github.com/strobe-debug/strobe/internal/sorting"
)

// Timeline makes intervals of records. It is not safe for concurrent use.
type Timeline struct {
	start   int64 // of the session, on the records' clock
	by      string
	threads map[int32]*thread
	gaps    int // that are open
	// Odd counts records that say what is known already: of threads whose switches come twice.
	Odd int64
}

type thread struct {
	pid, tid int32
	state    State
	since    int64 // of the state, since the session's start; from when it is not in a block yet
	begun    int64 // when the state began
	ended    bool
	looked   bool // this wait was
	lookedAt int64
	tries    int
	block    *Block
	usage    *Usage // of the last sample, and when that was
	sampled  int64
	packed   packer
	n        int  // intervals
	doubt    bool // something of this state may be missing
}

// NewTimeline makes one. start is the session's on the records' clock; by is Block.By.
func NewTimeline(start int64, by string) *Timeline {
	return &Timeline{start: start, by: by, threads: map[int32]*thread{}}
}

// Know tells that a thread is there, in a state, before any record of it.
func (t *Timeline) Know(pid, tid int32, at int64, s State) {
	at -= t.start
	if have := t.threads[tid]; have == nil || have.ended {
		t.threads[tid] = &thread{pid: pid, tid: tid, state: s, since: at, begun: at}
	}
}

// Add takes records, by time.
func (t *Timeline) Add(records []Record) {
	for i := range records {
		t.add(&records[i])
	}
}

func (t *Timeline) add(r *Record) {
	if r.What == GapFrom || r.What == GapTo {
		for _, th := range t.threads {
			th.doubt = true
		}
		t.gaps += map[What]int{GapFrom: 1, GapTo: -1}[r.What]
		return
	}
	at := r.At - t.start
	th := t.threads[r.TID]
	if th == nil || th.ended {
		if r.What == Ended {
			return
		}
		th = &thread{pid: r.PID, tid: r.TID, since: at, begun: at, doubt: t.gaps > 0}
		t.threads[r.TID] = th
		if r.What == Born {
			th.state = Runnable
			return
		}
	}
	at = max(at, th.since)
	var next State
	switch r.What {
	case Born:
		return
	case Ended:
		if th.doubt {
			th.state = Unknown
		}
		th.close(at)
		th.ended = true
		return
	case In:
		next = Running
	case Out:
		next = Blocked
	case Preempted:
		next = Runnable
	}
	// A thread goes on to a CPU from anywhere else, and away from none but one.
	if th.doubt {
		th.state = Unknown
	}
	if (next == Running) == (th.state == Running) && th.state != Unknown {
		t.Odd++
		return
	}
	if th.looked && at < th.lookedAt { // it was another wait that was looked at
		th.unlook()
	}
	th.close(at)
	th.doubt = t.gaps > 0
	if next != Running {
		th.opened().Switches++
		if next == Runnable {
			th.opened().Preempts++
		}
	}
	th.state, th.begun, th.looked, th.tries = next, at, false, 0
}

// opened is the block that is being made.
func (th *thread) opened() *Block {
	if th.block == nil {
		th.block = &Block{What: WhatRan, From: th.since}
	}
	return th.block
}

// close puts what the thread has done until then into the block.
func (th *thread) close(at int64) {
	b := th.opened()
	d := max(at-th.since, 0)
	th.packed.add(d, th.state, th.begun == th.since)
	th.n++
	b.sum(th.state, d)
	th.since = th.since + d
}

func (b *Block) sum(s State, d int64) {
	switch s {
	case Running:
		b.Running += d
	case Runnable:
		b.Runnable += d
	case Blocked:
		b.Blocked += d
	}
}

// unlook takes back what a look found.
func (th *thread) unlook() {
	b := th.block
	if b == nil {
		return
	}
	b.Waits = slices.DeleteFunc(b.Waits, func(w Why) bool { return w.At == th.begun })
}

// maxTries is how often a wait is looked at in vain.
const maxTries = 5

// Waiting calls look for each thread that waits since longer than that, and was not looked at in this wait, at most so
// many. What it returns is told as why it waits, with the time at which that was found; "" tells nothing, and at time 0
// it could not look now. It reports whether threads wait that were not looked at yet.
func (t *Timeline) Waiting(now int64, longer time.Duration, most int,
	look func(pid, tid int32, since time.Duration) (why string, at int64)) (more bool) {
	now -= t.start
	for _, th := range t.threads {
		if th.ended || th.looked || th.state != Blocked {
			continue
		}
		if most == 0 || now-th.begun < int64(longer) {
			more = true
			continue
		}
		most--
		why, at := look(th.pid, th.tid, time.Duration(now-th.begun))
		if at == 0 {
			more = true
			continue
		}
		th.tries++
		th.looked, th.lookedAt = why != "" || th.tries == maxTries, at-t.start
		more = more || !th.looked
		if why != "" {
			th.opened().Waits = append(th.opened().Waits, Why{At: th.begun, Why: why})
		}
	}
	return more
}

// Usage is what the kernel has counted of a thread: nanoseconds on a CPU, nanoseconds in wait for one, and how often it
// came to one.
type Usage struct{ Running, Runnable, Times int64 }

// Sample takes what the kernel had counted of a thread at a time: what it did since the sample before is known by that,
// and not in which order.
func (t *Timeline) Sample(pid, tid int32, at int64, u Usage) {
	t.Know(pid, tid, at, Blocked)
	th := t.threads[tid]
	at -= t.start
	was := th.usage
	th.usage = &u
	if was == nil {
		th.sampled = at
		return
	}
	span := at - th.sampled
	run := min(max(u.Running-was.Running, 0), span)
	wait := min(max(u.Runnable-was.Runnable, 0), span-run)
	times := u.Times - was.Times
	if run+wait+times > 0 {
		th.close(th.sampled)
		for _, one := range []Interval{{To: run, State: Running}, {To: wait, State: Runnable}} {
			if one.To > 0 {
				th.state, th.begun = one.State, th.since
				th.close(th.since + one.To)
			}
		}
		th.opened().Switches += max(times, 0)
		th.state, th.begun, th.looked, th.tries = Blocked, th.since, false, 0
	}
	th.sampled = at
}

// Told is a block with its thread.
type Told struct {
	PID, TID int32
	At       int64 // its end
	Block    *Block
}

// Blocks takes out the blocks that are full, or as old; all: every one that has something. They come by their ends.
func (t *Timeline) Blocks(now int64, age time.Duration, all bool) (out []Told) {
	now -= t.start
	for tid, th := range t.threads {
		if b := th.block; b != nil && (all || th.ended || th.n >= MaxPacked || now-b.From >= int64(age)) {
			b.By = t.by
			if !th.ended {
				b.Then = th.state.String()
			}
			b.Packed = th.packed.text()
			out = append(out, Told{PID: th.pid, TID: th.tid, At: th.since, Block: b})
			th.block, th.packed.b, th.n = nil, th.packed.b[:0], 0
		}
		if th.ended {
			delete(t.threads, tid)
		}
	}
	sorting.By(out, func(a, b Told) int {
		return cmp.Or(cmp.Compare(a.At, b.At), int(a.TID-b.TID))
	})
	return out
}

// End closes what all threads do.
func (t *Timeline) End(now int64) {
	for _, th := range t.threads {
		if !th.ended {
			th.close(max(now-t.start, th.since))
		}
	}
}

// Ended tells that a thread is not there any more.
func (t *Timeline) Ended(tid int32, at int64) { t.add(&Record{At: at, TID: tid, What: Ended}) }

// ID names a thread.
type ID struct{ PID, TID int32 }

// IDs are the threads that are followed.
func (t *Timeline) IDs() (all []ID) {
	for _, th := range t.threads {
		if !th.ended {
			all = append(all, ID{th.pid, th.tid})
		}
	}
	return all
}

// Threads is how many are followed.
func (t *Timeline) Threads() int { return len(t.threads) }

// Has reports whether a thread is followed.
func (t *Timeline) Has(tid int32) bool {
	th := t.threads[tid]
	return th != nil && !th.ended
}
