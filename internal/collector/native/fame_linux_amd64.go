package native

import (
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/ring"
)

// Programs such as compilers and the tools that scripts start live for some ten milliseconds each, and
// all of them do the same. What one has shown of a function holds for the next: a function is sampled
// after it was recorded very often in the session, and a process that comes then begins with it
// sampled. It ends as ever where the function turns out not to be called so often.

// fame is what the session knows of one function of one file, in whatever process and however it was recorded.
type fame struct {
	of *fames
	// marked: processes begin with it sampled.
	marked atomic.Bool
	// rarer: a tenth of the share is recorded from now on.
	rarer atomic.Bool

	// Drain goroutine only.
	now   int64 // calls since the last tick
	ever  int64 // that were recorded while it was not sampled
	kept  int64 // that were recorded while it was
	ticks [heatTicks]int64
	warm  bool // it is in fames.warm
	on    int  // processes in which it is sampled now
	rare  bool // one has found it rare since it was marked
	// crowded: it was marked for a lower rate, as one of many.
	crowded bool
	fn      *function
}

func (f *fame) add(n int64) {
	f.now += n
	if !f.warm {
		f.warm = true
		f.of.warm = append(f.of.warm, f)
	}
}

func (f *fame) perSecond() int64 { return perSecond(f.now, &f.ticks) }

// fames is the session's account.
type fames struct {
	mu  sync.Mutex // leaf
	all map[functionKey]*fame

	// Drain goroutine only.
	warm []*fame // called during the last second
	list []*fame // marked, in that order
	tick time.Time
	at   int // of fame.ticks

	now   int64 // calls of all functions that were recorded although few need be, since the last tick
	ever  int64 // in the session
	ticks [heatTicks]int64
}

// Where all functions together are recorded so many times as often as a single one may be, it is the recording that
// holds the program up, and with it the rate of each: then a function is sampled above a tenth of that rate.
const (
	crowd      = 5
	crowdShare = 10
)

// What a session does not keep need not be recorded: when it has recorded more than that, a tenth of what it records of
// a function before that is sampled does. And of a function that was recorded a quarter as often again while it was
// sampled, a tenth of the share.
const (
	plentyShare = 10
	plentyKept  = 4
)

// after is how often a function is recorded before it is sampled.
func (fs *fames) after(s *collector.Sampling) int64 {
	if s.After > 0 && fs.ever > s.Plenty {
		return s.After / plentyShare
	}
	return s.After
}

// rate is the share of its calls that is recorded while it is sampled. Who sets it to 1 wants all.
func (f *fame) rate(s *collector.Sampling) float64 {
	if s.After > 0 && s.Rate < 1 && f.rarer.Load() {
		return s.Rate / plentyShare
	}
	return s.Rate
}

// limit is how often a function is called in a second that is sampled. Who asked for sampling said what he wants.
func (fs *fames) limit(s *collector.Sampling) int64 {
	if s.After > 0 && perSecond(fs.now, &fs.ticks) > crowd*s.Threshold {
		return s.Threshold / crowdShare
	}
	return s.Threshold
}

// least is the rate below which the function is recorded whole again.
func (f *fame) least(s *collector.Sampling) int64 {
	if f.crowded {
		return s.Threshold / crowdShare * 9 / 10
	}
	return s.Threshold * 9 / 10
}

// keeps counts calls that were recorded while few are.
func (f *fame) keeps(n int64, s *collector.Sampling) {
	f.kept += n
	f.of.ever += n
	if s.After > 0 && f.kept > s.After/plentyKept {
		f.rarer.Store(true)
	}
}

// recorded counts calls that were recorded although few need be.
func (f *fame) recorded(n int64) {
	f.ever += n
	f.of.now += n
	f.of.ever += n
}

// of is the account of a function.
func (fs *fames) of(k functionKey) *fame {
	k.want = want{}
	fs.mu.Lock()
	defer fs.mu.Unlock()
	f := fs.all[k]
	if f == nil {
		f = &fame{of: fs}
		fs.all[k] = f
	}
	return f
}

// mark has later processes begin with a function sampled.
func (fs *fames) mark(f *fame, fn *function) {
	f.rare, f.fn = false, fn
	if !f.marked.Swap(true) {
		fs.list = append(fs.list, f)
	}
}

// fade ends that where the function is not called often any more: some process has found it so, and
// all together do not.
func (fs *fames) fade(f *fame, s *collector.Sampling) {
	if f.on > 0 || s.Threshold > 0 && (!f.rare || f.perSecond() >= f.least(s)) {
		return
	}
	f.marked.Store(false)
	fs.list = slices.DeleteFunc(fs.list, func(g *fame) bool { return g == f })
}

// sampled lists what is sampled, or will be in a process that comes.
func (fs *fames) sampled(s *collector.Sampling) (list []collector.SampledFunction) {
	for _, f := range fs.list {
		name := publicName(f.fn.sym)
		list = append(list, collector.SampledFunction{Function: name, Rate: f.rate(s), CallsPerSecond: f.perSecond()})
	}
	return list
}

// tickFame begins a new tick of the session's.
func (d *drainer) tickFame(s *collector.Sampling, now time.Time) {
	fs := &d.t.fames
	if now.Sub(fs.tick) < heatTick {
		return
	}
	fs.tick = now
	fs.at = (fs.at + 1) % heatTicks
	fs.warm = slices.DeleteFunc(fs.warm, func(f *fame) bool {
		f.ticks[fs.at], f.now = f.now, 0
		f.warm = f.perSecond() > 0
		return !f.warm
	})
	fs.ticks[fs.at], fs.now = fs.now, 0
	before := len(fs.list)
	for _, f := range slices.Clone(fs.list) {
		fs.fade(f, s)
	}
	if len(fs.list) != before {
		d.tellSampled()
	}
}

func (h *heat) goOn() {
	if !h.on {
		h.all.on++
	}
	h.on, h.since = true, time.Now()
}

func (h *heat) goOff() {
	if h.on {
		h.all.on--
	}
	h.on = false
}

// begun is a hook whose function is sampled from the process's first call on.
type begun struct {
	h   *hooked
	hot int // index in ring.Header.Hot
}

// takeHot gives out one of the process's counters of sampled calls.
func (p *process) takeHot() (int, bool) {
	for {
		n := p.hots.Load()
		if n >= ring.MaxHot {
			return 0, false
		}
		if p.hots.CompareAndSwap(n, n+1) {
			return int(n), true
		}
	}
}

// beginSampled has functions that the session has marked sampled from the first call on. The hooks are
// not active yet, or the process does not run yet; probeMu is held, or the process is not known yet.
func (p *process) beginSampled(hooks ...*hooked) {
	s := p.t.sampling.Load()
	if s.Threshold == 0 {
		return
	}
	var list []begun
	for _, h := range hooks {
		if h == nil || !h.canSample() || !h.fn.fame.marked.Load() {
			continue
		}
		hot, ok := p.takeHot()
		if !ok {
			break
		}
		*p.region.HookHot(h.id) = uint16(hot)
		atomic.StoreUint32(p.region.HookSample(h.id), interval(h.fn.fame.rate(s)))
		list = append(list, begun{h, hot})
	}
	if len(list) > 0 {
		if was := p.begun.Load(); was != nil {
			list = append(slices.Clone(*was), list...)
		}
		p.begun.Store(&list)
	}
}

// begun takes note of the hooks with which a process began sampled, before anything is counted of them.
func (d *drainer) begun(p *process) {
	list := p.begun.Load()
	hs := &p.drain.heats
	if list == nil || len(*list) == hs.begun {
		return
	}
	fresh := (*list)[hs.begun:]
	hs.begun = len(*list)
	s := d.t.sampling.Load()
	byRate := map[float64][]begun{}
	for _, b := range fresh {
		h := hs.of(b.h)
		h.hot = b.hot + 1
		h.goOn()
		hs.hot = append(hs.hot, h)
		byRate[h.all.rate(s)] = append(byRate[h.all.rate(s)], b)
	}
	for _, rate := range slices.Sorted(maps.Keys(byRate)) {
		of := byRate[rate]
		note := map[string]any{"what": "sampling", "state": "on", "pid": p.pid, "rate": rate, "functions": len(of),
			"function": publicName(of[0].h.fn.sym), "because": "recorded often enough in the session"}
		if b, err := json.Marshal(note); err == nil {
			d.t.sink.Events([]event.Event{{TS: d.t.sink.Now(), Kind: event.Process, Thread: event.NoThread, Payload: b}})
		}
	}
}
