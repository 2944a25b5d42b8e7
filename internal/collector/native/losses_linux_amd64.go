package native

import (
	"encoding/json"
	"sync/atomic"

	"github.com/strobe-debug/strobe/internal/event"
)

// Calls that are in no record, because a ring had no room or because their function is sampled, are counted by the
// agent in memory that is read here: exact at any time, whatever the program does then, and also when it is dead.
// Records in the stream only tell where others are missing.

// losses is the drain goroutine's account of one process's dropped records.
type losses struct {
	counted []loss // by hook ID: what the sink knows
	sum     uint64 // of counted
	freed   uint64 // records dropped by threads whose rings were given back
}

type loss struct{ enters, exits uint64 }

// settle tells the sink what the agent has counted and not recorded.
func (d *drainer) settle(p *process) {
	if !p.injected.Load() {
		return
	}
	d.begun(p)
	for _, h := range p.drain.hot {
		d.countSkipped(p, h)
	}
	all := p.drain.freed + atomic.LoadUint64(&p.region.Control().NoRingLost)
	for _, rs := range p.drain.rings {
		total, first, last := rs.feed.mv.Lost()
		all += total
		if total != rs.told && d.dry(rs) { // they were dropped behind all that was read, and no record says so yet
			d.lost(rs, total, first, last)
		}
	}
	if all != p.drain.sum {
		d.countLost(p)
	}
}

// maxLost is more than a program can lose between two looks.
const maxLost = 1 << 40

// countLost reports what was dropped of each hook. The agent's counters only grow.
func (d *drainer) countLost(p *process) {
	ls := &p.drain.losses
	hooks := *p.hooks.Load()
	if len(ls.counted) < len(hooks) {
		ls.counted = append(ls.counted, make([]loss, len(hooks)-len(ls.counted))...)
	}
	for id, h := range hooks {
		if h == nil {
			continue
		}
		was := &ls.counted[id]
		enters, exits := p.region.Losses(uint32(id))
		if enters-was.enters > maxLost || exits-was.exits > maxLost { // somebody wrote there who should not
			continue
		}
		more, left := int64(enters-was.enters), int64(exits-was.exits)
		if more+left == 0 {
			continue
		}
		ls.sum += uint64(more + left)
		*was = loss{enters, exits}
		if h.fn != nil && h.fn.want.planned {
			h.fn.planned.Add(more) // of a call that is only counted nothing is lost
		} else if h.fn != nil {
			d.t.sink.Lost(h.fn.register(d.t.sink), more, left)
		} else {
			d.t.sink.Dropped(more + left)
		}
	}
}

// lost puts dropped records of one thread on the timeline, as far as they are not there: total is how many there were
// ever by then.
func (d *drainer) lost(rs *ringState, total, first, last uint64) {
	rs.lanes.lost = rs.lanes.lost || total > 0
	if total > rs.told && total-rs.told <= maxLost {
		d.drop(rs, total-rs.told, first, last, "")
		rs.told = total
	}
}

// drop puts lost records on the timeline. They are counted elsewhere: see losses.
func (d *drainer) drop(rs *ringState, count, first, last uint64, why string) {
	rs.lanes.lost = true
	rs.p.drain.goLosses++
	note := map[string]any{"count": count, "threadId": rs.tid}
	ts := d.t.sink.Now()
	if count > 0 {
		note["fromNs"], note["toNs"] = d.ts(first), d.ts(last)
		ts = d.ts(last)
	}
	if why != "" {
		note["reason"] = why
	}
	b, err := json.Marshal(note)
	if err != nil {
		return
	}
	d.events = append(d.events, event.Event{TS: ts, Kind: event.Dropped, Thread: rs.lanes.name(0), Payload: b})
}
