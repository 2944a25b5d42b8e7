package native

import (
	"slices"
	"time"

	"github.com/strobe-debug/strobe/internal/ring"
)

// pass reads everything published when it began, and returns the number of records. What was published since may wait
// for the next one: a thread that writes faster than we read must not keep reap away. Where somebody waits for it all
// counters are settled, too; who comes to wait meanwhile has it read what is published by then.
func (d *drainer) pass() int {
	d.start = d.t.sink.StartMono()
	total, began := 0, d.t.sink.Now()
	if d.stoodBack() {
		return 1
	}
	d.begin()
	for more := true; more; {
		if d.stoodBack() {
			return 1
		}
		n, from := 0, time.Now()
		d.bytes = 0
		n, more = d.round()
		total += n
		now := time.Now()
		d.t.mover.paced(d.bytes, now.Sub(from), now)
		d.peek(now)
		more = (more || d.stuck && n > 0) && !d.reached()
		if len(d.replies) > 0 {
			continue
		}
		select {
		case reply := <-d.t.drainKick:
			if d.take(reply); reply != nil {
				began, more = d.t.sink.Now(), true
				d.begin()
			}
		default:
		}
	}
	d.behind = time.Time{}
	d.toldWrites(began)
	d.heatUp(len(d.replies) > 0)
	return total
}

// take takes in who waits for a pass; nil where nobody does.
func (d *drainer) take(reply chan struct{}) {
	if reply != nil {
		d.replies = append(d.replies, reply)
	}
}

// stoodBack does what is to be done while what there is to be decoded waits. Nothing, where it does not.
func (d *drainer) stoodBack() bool {
	d.aside = len(d.replies) == 0 && d.standsBack()
	if d.aside {
		d.lookAtAll()
		d.peek(time.Now())
	}
	return d.aside
}

// fewProcesses is how many there are at most where the drainer stands back.
const fewProcesses = 8

// standsBack reports whether what there is to be decoded had better wait.
// Not where processes have ended, which are kept until their records are read, nor where there are many.
func (d *drainer) standsBack() bool {
	if d.ended > 0 || d.t.mover.near.Load() || len(d.t.processes()) > fewProcesses || !d.t.mover.bursting() {
		return false
	}
	if d.behind.IsZero() {
		d.behind = time.Now()
	}
	return time.Since(d.behind) < burstFor
}

// begin notes how far the rings have to be read by a pass: all that is published now.
func (d *drainer) begin() {
	m := d.t.mover
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.sweepLocked(); m.flows() {
		m.wake()
	}
	for _, p := range d.t.processes() {
		for i, f := range p.feeds {
			rs := p.drain.rings[i]
			if rs == nil {
				rs = d.open(p, i, f)
			}
			rs.goal = f.mv.Head()
		}
	}
}

// reached reports whether the rings were read as far as the pass has to.
func (d *drainer) reached() bool {
	if d.stuck { // of some there is more than is at hand
		for _, p := range d.t.processes() {
			for _, rs := range p.drain.rings {
				if rs.behind() {
					return false
				}
			}
		}
		return true
	}
	return !slices.ContainsFunc(d.active, (*ringState).behind)
}

// behind reports whether the ring was not read as far as the pass has to.
func (rs *ringState) behind() bool {
	at := rs.rd.Pos()
	if rs.has { // read ahead, not delivered
		at -= uint64(ring.RecordBytes + len(rs.next.Payload))
	}
	return int64(rs.goal-at) > 0
}
