package native

import (
	"time"

	"github.com/strobe-debug/strobe/internal/ring"
)

// A burst is decoded behind the program, by seconds. Functions that are called very often have to be known sooner, or
// what is to be sampled would all be recorded by then. So what waits in the spool is looked at, a few records of each
// block.

// peekRecords is how many of a block.
const peekRecords = 64

// peek counts the calls that wait to be decoded, by the tick, and has functions sampled that are called very often.
func (d *drainer) peek(now time.Time) {
	if now.Sub(d.peekedAt) < heatTick {
		return
	}
	d.peekedAt = now
	for _, p := range d.t.processes() {
		for _, rs := range p.drain.rings {
			d.peekRing(rs)
		}
	}
	d.heatUp(false)
}

// peekRing counts what whole blocks of a ring hold that nobody has looked into, by their first records.
func (d *drainer) peekRing(rs *ringState) {
	size := uint64(d.t.ringBytes)
	hooks := *rs.p.hooks.Load()
	at := max(rs.peeked, rs.rd.Pos()/size+1)
	for ; (at+1)*size <= rs.feed.st.Head(); at++ {
		block := rs.feed.st.Block(at)
		if uint64(len(block)) != size {
			continue
		}
		var seen []*hooked
		n := ring.Peek(block, peekRecords, func(hook uint32, kind, flags uint8) {
			if kind == ring.RecEnter && flags&ring.RecSampled == 0 && int(hook) < len(hooks) && hooks[hook] != nil &&
				hooks[hook].fn != nil {
				seen = append(seen, hooks[hook])
			}
		})
		for _, h := range seen {
			rs.p.drain.ahead(h, int64(len(block)/n))
		}
	}
	rs.peeked = at
}
