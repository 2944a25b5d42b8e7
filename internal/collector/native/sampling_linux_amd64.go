package native

import (
	"encoding/json"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/event"
)

// Of a function that is called very often, few calls are recorded. The drain goroutine counts calls as it reads them,
// and tells the agent to sample the function; the agent counts all of its calls from then on. Processes that come later
// begin with it sampled: fame_linux_amd64.go.

// heatTick and heatTicks are how finely and how long calls per second are counted.
const (
	heatTick  = 100 * time.Millisecond
	heatTicks = int(time.Second / heatTick)
)

// heat is how often one hook of one process is called.
type heat struct {
	h       *hooked
	all     *fame
	first   time.Time        // when a call of it was seen first
	now     int64            // calls since the last tick
	ahead   int64            // of them that were counted before they are decoded, about
	warm    bool             // it is in heats.warm
	ticks   [heatTicks]int64 // calls of the last ticks
	hot     int              // index in ring.Header.Hot + 1, 0 none
	on      bool
	skipped uint64 // reported to the sink
	calls   uint64 // counted by the agent, up to the last tick
	kept    uint64 // of them, recorded
	since   time.Time
}

// heats is the drain goroutine's account of one process.
type heats struct {
	byHook []*heat // by hook ID, nil until the function is called
	warm   []*heat // called during the last second, or sampled
	hot    []*heat // with an index in ring.Header.Hot; never taken from them
	begun  int     // of process.begun, those that are known here
	tick   time.Time
	at     int // of heat.ticks
	used   int // rings below this one have been given out; they keep their counts when their thread ends
	full   bool
}

// called counts a call that was recorded although few need be.
func (hs *heats) called(h *hooked) {
	if t := hs.of(h); t.ahead > 0 {
		t.ahead--
	} else {
		t.add(1)
		t.all.recorded(1)
	}
}

// ahead counts about so many calls that wait to be decoded.
func (hs *heats) ahead(h *hooked, n int64) {
	t := hs.of(h)
	t.add(n)
	t.all.recorded(n)
	t.ahead += n
}

// add counts calls of one process, which are the session's, too.
func (h *heat) add(n int64) {
	h.now += n
	h.all.add(n)
}

// of is the account of a hook that was called.
func (hs *heats) of(h *hooked) *heat {
	if int(h.id) >= len(hs.byHook) {
		hs.byHook = append(hs.byHook, make([]*heat, int(h.id)+64-len(hs.byHook))...)
	}
	t := hs.byHook[h.id]
	if t == nil {
		t = &heat{h: h, all: h.fn.fame, first: time.Now()}
		hs.byHook[h.id] = t
	}
	if !t.warm {
		t.warm = true
		hs.warm = append(hs.warm, t)
	}
	return t
}

func (h *heat) perSecond() int64 { return perSecond(h.now, &h.ticks) }

func perSecond(now int64, ticks *[heatTicks]int64) int64 {
	for _, k := range ticks {
		now += k
	}
	return now
}

// often reports whether the function is called more often than that: by its process, or, where that
// has just begun and may have ended before a second is over, by all.
func (h *heat) often(threshold int64, now time.Time) bool {
	return h.perSecond() > threshold || h.all.perSecond() > threshold && now.Sub(h.first) < time.Second
}

// heatUp looks at all processes. Counts of calls that were not recorded are brought up to date with the ticks, and for
// a flush, as a query waits for them; what is sampled changes with the ticks, and as soon as a function is over the
// threshold.
func (d *drainer) heatUp(flush bool) {
	s := d.t.sampling.Load()
	now := time.Now()
	d.events = d.events[:0]
	limit, after := d.t.fames.limit(s), d.t.fames.after(s)
	d.tellCut(flush, now)
	for _, p := range d.t.processes() {
		if !p.injected.Load() {
			continue
		}
		hs := &p.drain.heats
		d.begun(p)
		tick := now.Sub(hs.tick) >= heatTick
		if flush || tick {
			d.settle(p)
		}
		for _, h := range hs.warm {
			if !h.on && s.Threshold > 0 && h.all.ever >= after && h.often(limit, now) {
				h.all.crowded = !h.often(s.Threshold, now)
				d.cool(p, h, s)
			}
		}
		if tick {
			hs.tick = now
			d.tickOver(p, s)
		}
	}
	d.tickFame(s, now)
	if len(d.events) > 0 {
		d.t.sink.Events(d.events)
		d.events = d.events[:0]
	}
}

// tickOver begins a new tick, and records functions in full again that are not called so often any more.
func (d *drainer) tickOver(p *process, s *collector.Sampling) {
	hs := &p.drain.heats
	hs.at = (hs.at + 1) % heatTicks
	hs.warm = slices.DeleteFunc(hs.warm, func(h *heat) bool {
		h.ticks[hs.at], h.now = h.now, 0
		if h.on && (s.Threshold == 0 || time.Since(h.since) >= time.Second && h.perSecond() < h.all.least(s)) {
			d.warmUp(p, h)
		}
		if h.on && *p.region.HookSample(h.h.id) != interval(h.all.rate(s)) {
			d.thin(p, h, s)
		}
		if h.on || h.perSecond() > 0 {
			return false
		}
		h.warm = h.hot > 0
		return !h.warm
	})
}

// interval is the mean distance of recorded calls.
func interval(rate float64) uint32 {
	if rate <= 0 || rate > 1 {
		return 1
	}
	return uint32(min(math.Round(1/rate), 1<<30))
}

// cool begins to sample a function. Enter-only hooks are slower than the threshold, and their exits cannot be left out.
func (d *drainer) cool(p *process, h *heat, s *collector.Sampling) {
	hs := &p.drain.heats
	if !h.h.canSample() {
		return
	}
	if h.hot == 0 {
		index, ok := p.takeHot()
		if !ok {
			if !hs.full {
				hs.full = true
				d.t.warn("more functions are called very often than can be sampled: the others are recorded in full")
			}
			return
		}
		hs.hot = append(hs.hot, h)
		h.hot = index + 1
		*p.region.HookHot(h.h.id) = uint16(index)
	}
	h.goOn()
	d.t.fames.mark(h.all, h.h.fn)
	d.thin(p, h, s)
}

// thin has few calls of a function recorded.
func (d *drainer) thin(p *process, h *heat, s *collector.Sampling) {
	rate := h.all.rate(s)
	atomic.StoreUint32(p.region.HookSample(h.h.id), interval(rate))
	d.saySampling(p, h, map[string]any{"what": "sampling", "state": "on", "rate": rate, "callsPerSecond": h.perSecond()})
}

func (d *drainer) warmUp(p *process, h *heat) {
	atomic.StoreUint32(p.region.HookSample(h.h.id), 0)
	h.goOff()
	h.all.rare = true
	d.t.fames.fade(h.all, d.t.sampling.Load())
	d.saySampling(p, h, map[string]any{"what": "sampling", "state": "off", "callsPerSecond": h.perSecond(),
		"notRecorded": h.skipped})
}

// saySampling puts a change on the timeline and into the status.
func (d *drainer) saySampling(p *process, h *heat, note map[string]any) {
	if h.h.fn.want.planned {
		return
	}
	note["function"], note["pid"] = publicName(h.h.fn.sym), p.pid
	if b, err := json.Marshal(note); err == nil {
		d.events = append(d.events, event.Event{TS: d.t.sink.Now(), Kind: event.Process, Thread: event.NoThread, Payload: b})
	}
	d.tellSampled()
}

// tellSampled says in the status what is sampled.
func (d *drainer) tellSampled() {
	list := d.t.fames.sampled(d.t.sampling.Load())
	d.t.mu.Lock()
	d.t.status.Sampled = list
	d.t.mu.Unlock()
}

// countSkipped reports the calls of a function that were not recorded. The agent's counters only grow.
func (d *drainer) countSkipped(p *process, h *heat) {
	var calls, recorded uint64
	for i := range p.drain.used {
		c := &p.region.Header(i).Hot[h.hot-1]
		calls += atomic.LoadUint64(&c.Calls)
		recorded += atomic.LoadUint64(&c.Recorded)
	}
	if calls > h.calls {
		h.add(int64(calls - h.calls))
		h.calls = calls
	}
	if recorded > h.kept {
		h.all.keeps(int64(recorded-h.kept), d.t.sampling.Load())
		h.kept = recorded
	}
	if skipped := calls - recorded; calls >= recorded && skipped > h.skipped {
		if h.h.fn.want.planned {
			h.h.fn.planned.Add(int64(skipped - h.skipped))
			h.skipped = skipped
			return
		}
		d.t.sink.Sampled(h.h.fn.register(d.t.sink), int64(skipped-h.skipped))
		h.skipped = skipped
	}
}

// canSample reports whether the agent can leave out calls of the hook.
func (h *hooked) canSample() bool {
	return h.fn != nil && !h.fn.rets && !h.fn.want.aside() && h.fn.want.golang == 0
}
