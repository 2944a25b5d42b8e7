package native

import (
	"github.com/strobe-debug/strobe/internal/ring"
)

// maxFinished is how much of the last round's copies is kept for the next, in bytes.
const maxFinished = 1 << 20

// complete computes the watches that the agent cannot, from the operands that it read. A payload is the ring's: the
// record gets a copy, valid until the round's events are delivered.
func (d *drainer) complete(rs *ringState, fn *function, rec *ring.Rec) {
	exit := rec.Kind == ring.RecExit
	if !exit && rec.Kind != ring.RecEnter || len(rec.Payload) == 0 {
		return
	}
	from := len(d.finished)
	d.finished = append(d.finished, rec.Payload...)
	rec.Payload = d.finished[from:len(d.finished):len(d.finished)]
	fn.plan.FinishRecord(rec.Payload, exit, func() (string, bool) { return rs.nameIn(d.rounds) })
}

// forget ends the use of the round's copies.
func (d *drainer) forget() {
	if cap(d.finished) > maxFinished {
		d.finished = nil
	}
	d.finished = d.finished[:0]
	d.rounds++
}

// nameIn is the thread's name as of a round, its last one if it has ended; false where nobody looked in time.
func (rs *ringState) nameIn(round int64) (string, bool) {
	if rs.named != round || rs.comm == "" {
		rs.named = round
		if name := threadName(rs.pid, int(rs.tid)); name != "" {
			rs.comm = name
		}
	}
	return rs.comm, rs.comm != ""
}
