package session

import (
	"cmp"
	"slices"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/sorting"
)

// pending are the writes of one stream of which bytes are still to come, by thread: within a thread their order is
// known. Between threads it is not, and records come in batches, all of one thread before all of another's.
type pending struct {
	queues []*queue // none is empty
	n      int      // writes
	left   int64    // bytes that they are still to get
	newest int64    // time of the newest write that came
	cands  []candidate
	fresh  bool // cands are what candidates would find
}

// queue are the writes of one thread, the first one first.
type queue struct {
	writes []pendingWrite
	shown  int // how many of the first are candidates
}

// pendingWrite is a write of which bytes are still to come.
type pendingWrite struct {
	collector.Write
	left    int64
	begun   bool
	doubted bool // nothing but the length is known, and others wrote so at the same time
}

// candidate is a write whose bytes may be next. It is valid until a write is added or dropped.
type candidate struct {
	*pendingWrite
	q  *queue
	at int // its place in q
}

// leads reports the first of its thread: what the thread wrote before has its bytes, or has lost them.
func (c *candidate) leads() bool { return c.at == 0 }

const (
	// maxCandidates bounds the writes that are looked at for one place: more threads than that do not write at once.
	maxCandidates = 64
	// maxPending bounds the writes without bytes; those of a file that somebody else reads from would pile up.
	maxPending = 1 << 16
)

// add takes one more write.
func (p *pending) add(w pendingWrite) {
	q := p.of(w.Thread)
	if p.n >= maxPending {
		old := q
		if len(q.writes) == 0 {
			old = p.queues[0]
		}
		p.drop(old, 1)
	}
	if len(q.writes) == 0 {
		p.queues = append(p.queues, q)
	}
	q.writes = append(q.writes, w)
	p.n, p.left, p.newest, p.fresh = p.n+1, p.left+w.left, max(p.newest, w.TS), false
}

// of returns the thread's queue, a new one where it has none.
func (p *pending) of(thread event.ThreadID) *queue {
	for i := len(p.queues) - 1; i >= 0; i-- {
		if q := p.queues[i]; q.writes[0].Thread == thread {
			return q
		}
	}
	return &queue{}
}

// drop gives up the first n writes of a queue.
func (p *pending) drop(q *queue, n int) {
	if n == 0 {
		return
	}
	for i := range q.writes[:n] {
		p.left -= q.writes[i].left
	}
	p.n -= n
	p.fresh = false
	if q.writes = q.writes[n:]; len(q.writes) == 0 {
		p.queues = slices.DeleteFunc(p.queues, func(o *queue) bool { return o == q })
	}
}

// dropUntil gives up what was written until then.
func (p *pending) dropUntil(ts int64) {
	for i := 0; i < len(p.queues); {
		q, n := p.queues[i], 0
		for n < len(q.writes) && q.writes[n].TS <= ts {
			n++
		}
		if p.drop(q, n); len(q.writes) > 0 {
			i++
		}
	}
}

// candidates are the writes that are looked at, by time: the first of each thread, and where there is room those
// behind.
func (p *pending) candidates() []candidate {
	if p.fresh {
		return p.cands
	}
	p.cands, p.fresh = p.cands[:0], true
	for _, q := range p.queues {
		q.shown = 0
	}
	for at, more := 0, true; more; at++ {
		more = false
		for _, q := range p.queues {
			if len(p.cands) < maxCandidates && at < len(q.writes) {
				p.cands = append(p.cands, candidate{&q.writes[at], q, at})
				q.shown, more = at+1, true
			}
		}
	}
	sorting.By(p.cands, func(a, b candidate) int { return cmp.Compare(a.TS, b.TS) })
	return p.cands
}

// heal gives up a thread's writes whose bytes are gone, where there are so many that the one whose bytes are here is no
// candidate.
func (p *pending) heal(here func(*pendingWrite) bool) bool {
	p.candidates()
	for i, q := range p.queues {
		for at := q.shown; at < len(q.writes); at++ {
			if !here(&q.writes[at]) {
				continue
			}
			p.queues = slices.Insert(slices.Delete(p.queues, i, i+1), 0, q)
			p.fresh = false
			p.drop(q, at)
			return true
		}
	}
	return false
}
