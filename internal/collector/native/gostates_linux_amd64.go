package native

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/goroutine"
	"github.com/strobe-debug/strobe/internal/ring"
)

// goState is what a goroutine is in the midst of, as far as records told.
type goState struct {
	system bool   // the runtime's own: nothing is told of it
	parked int64  // since when it waits; 0: it does not
	where  string // channel of the session that its wait is told on
	woken  uint64 // who let it go on
	sema   uint64 // what it waits for in semacquire1
	op     *goOp
}

// goOp is an operation on a channel, or a select.
type goOp struct {
	e      goChannelEvent
	chans  []uint64 // of a select
	sends  int      // of them, the first
	cases  int
	waited int64
	quiet  bool // the runtime's own
}

// goRec is a record of one of goEvents, taken apart.
type goRec struct {
	rs     *ringState
	goid   uint64 // 0: on the runtime's own stack
	thread event.ThreadID
	ts     int64
	enter  bool
	regs   []uint64
	words  []uint64 // fewer where one could not be read
	seen   goSeen
}

func (r *goRec) reg(i int) uint64  { return at(r.regs, i) }
func (r *goRec) word(i int) uint64 { return at(r.words, i) }

func at(list []uint64, i int) uint64 {
	if i < len(list) {
		return list[i]
	}
	return 0
}

// goroutineEvent and goChannelEvent are what the timeline is told: iochan has their members.
type goroutineEvent struct {
	What      string `json:"what"`
	Goroutine uint64 `json:"goroutine,omitempty"`
	Function  string `json:"function,omitempty"`
	Place     string `json:"place,omitempty"`
	Reason    string `json:"reason,omitempty"`
	On        string `json:"on,omitempty"`
	WaitedNs  int64  `json:"waitedNs,omitempty"`
	WokenBy   uint64 `json:"wokenBy,omitempty"`
}

type goChannelEvent struct {
	What     string   `json:"what"`
	On       string   `json:"on,omitempty"`
	Chosen   string   `json:"chosen,omitempty"`
	Len      *uint64  `json:"len,omitempty"`
	Cap      *uint64  `json:"cap,omitempty"`
	OK       *bool    `json:"ok,omitempty"`
	Cases    []string `json:"cases,omitempty"`
	More     int      `json:"more,omitempty"`
	Place    string   `json:"place,omitempty"`
	WaitedNs int64    `json:"waitedNs,omitempty"`
	WokenBy  uint64   `json:"wokenBy,omitempty"`
}

// goEvent turns a record of one of goEvents into what it tells.
func (d *drainer) goEvent(rs *ringState, ls *lanes, fn *function, rec *ring.Rec) {
	e := fn.golang.event
	if e == nil {
		return
	}
	r := &goRec{rs: rs, ts: d.ts(rec.TSC), enter: rec.Kind == ring.RecEnter, seen: fn.want.golang}
	var depth uint64
	if r.goid, depth = ring.GoSP(rec.SP); r.goid != 0 && e.name != "runtime.newproc1" {
		if s := rs.p.drain.goStates[r.goid]; s == nil || !s.system {
			r.thread = ls.at(depth).id
		}
	}
	n := e.regs
	if !r.enter {
		n = e.results
	}
	b, le := rec.Payload, binary.LittleEndian
	for ; n > 0 && len(b) >= 8; n, b = n-1, b[8:] {
		r.regs = append(r.regs, le.Uint64(b))
	}
	if len(b) >= 8 {
		put := min(int(le.Uint32(b)), len(b)-8)
		for b = b[8:]; put >= 8; put, b = put-8, b[8:] {
			r.words = append(r.words, le.Uint64(b))
		}
	}
	e.take(d, r)
}

// state is what is known of a goroutine.
func (r *goRec) state(goid uint64) *goState {
	s := &r.rs.p.drain
	if s.goStates == nil {
		s.goStates = map[uint64]*goState{}
	}
	g := s.goStates[goid]
	if g == nil {
		g = &goState{}
		s.goStates[goid] = g
	}
	return g
}

// goSpawn is how a goroutine of a process is named before it has a thread.
func goSpawn(pid int, goid uint64) int64 { return int64(uint64(pid)<<40 | goid&(1<<40-1)) }

// goMade is a goroutine that was made.
func (d *drainer) goMade(r *goRec) {
	goid, parent, pc, start := r.word(0), r.word(1), r.word(2), r.word(3)
	if goid == 0 || parent == 0 || len(r.words) < 4 { // main, and C code that calls Go
		return
	}
	name, _ := d.goPlace(r.rs.p, start, false)
	if ofGoRuntime(name) {
		if r.seen&(goRoutines|goChannels) != 0 {
			r.state(goid).system = true
		}
		return
	}
	from := d.goLane(r.rs, parent).at(0).id
	d.events = append(d.events, event.Event{TS: r.ts, Kind: event.Spawned, Thread: from, Under: from + 1,
		Ret: goSpawn(r.rs.pid, goid)})
	if r.seen&goRoutines == 0 {
		return
	}
	_, place := d.goPlace(r.rs.p, pc, true)
	d.goTell(r.ts, from, collector.GoroutinesChannel, goroutineEvent{What: "go", Goroutine: goid, Function: name,
		Place: place})
}

// ofGoRuntime reports a goroutine of the runtime's own by its function.
func ofGoRuntime(start string) bool {
	return goroutine.IsSystem(start, "finalizer wait") || goroutine.IsSystem(start, "cleanup wait")
}

// goEnded is a goroutine that has ended.
func (d *drainer) goEnded(r *goRec) {
	goid := r.word(0)
	s := r.rs.p.drain.goStates[goid]
	delete(r.rs.p.drain.goStates, goid)
	if goid == 0 || s != nil && s.system || r.seen&goRoutines == 0 {
		return
	}
	d.goTell(r.ts, d.goLane(r.rs, goid).at(0).id, collector.GoroutinesChannel, goroutineEvent{What: "end"})
}

// goParked is a goroutine that begins to wait, or goes on.
func (d *drainer) goParked(r *goRec) {
	if r.goid == 0 {
		return
	}
	s := r.state(r.goid)
	if !r.enter {
		d.goResumed(r, s)
		return
	}
	if name, _ := d.goPlace(r.rs.p, r.word(0), false); s.system || ofGoRuntime(name) {
		s.system = true
		return
	}
	s.parked, s.woken, s.where = max(r.ts, 1), 0, ""
	if s.op != nil && s.op.quiet {
		return
	}
	if s.op != nil {
		e := s.op.e
		e.What, e.OK = "wait to "+e.What, nil
		s.where = collector.GoChannelsChannel
		d.goTell(r.ts, r.thread, s.where, e)
		return
	}
	if r.seen&goRoutines == 0 {
		return
	}
	e := goroutineEvent{What: "wait", Reason: r.rs.p.goReason(r.reg(2))}
	switch {
	case s.sema != 0:
		e.On = hex(s.sema)
	case (e.Reason == "chan send" || e.Reason == "chan receive") && r.reg(1) != 0:
		e.On = hex(r.reg(1) - uint64(r.rs.p.goChanLock()))
	}
	s.where = collector.GoroutinesChannel
	d.goTell(r.ts, r.thread, s.where, e)
}

func (d *drainer) goResumed(r *goRec, s *goState) {
	if s.parked == 0 {
		return // it waited before anybody looked
	}
	waited := max(r.ts-s.parked, 1)
	s.parked = 0
	if s.op != nil {
		s.op.waited += waited
		s.op.e.WokenBy = s.woken
		return
	}
	if s.where == collector.GoroutinesChannel {
		d.goTell(r.ts, r.thread, s.where, goroutineEvent{What: "resume", WaitedNs: waited, WokenBy: s.woken})
	}
}

// goReady is a goroutine that another one wakes.
func (d *drainer) goReady(r *goRec) {
	if goid := r.word(0); goid != 0 {
		if s := r.rs.p.drain.goStates[goid]; s != nil && s.parked != 0 {
			s.woken = r.word(1)
		}
	}
}

// goSema is a wait for what others release: a mutex, a group.
func (d *drainer) goSema(r *goRec) {
	if r.goid != 0 {
		r.state(r.goid).sema = r.reg(0) // nothing at its end
	}
}

func (d *drainer) goSend(r *goRec)    { d.goChanOp(r, "send") }
func (d *drainer) goReceive(r *goRec) { d.goChanOp(r, "receive") }

// goChanOp is a send or receive: told at its end.
func (d *drainer) goChanOp(r *goRec, what string) {
	s := d.goUser(r)
	if s == nil {
		return
	}
	if r.enter {
		e := goChannelEvent{What: what, On: "nil"}
		if r.reg(0) != 0 {
			e.On = hex(r.reg(0))
		}
		if len(r.words) == 3 {
			e.Len, e.Cap = &r.words[1], &r.words[2]
		}
		e.Place = d.goUserPlace(r)
		s.op = &goOp{e: e, quiet: e.Place == ""}
		return
	}
	op := s.op
	if s.op = nil; op == nil || op.e.What != what {
		return
	}
	ok := r.reg(0)&0xff != 0
	switch {
	case !ok:
		op.e.What = "try to " + what // select with one case and a default: it would have had to wait
	case what == "receive":
		got := r.reg(1)&0xff != 0
		op.e.OK = &got
	}
	d.goTellOp(r, op)
}

func (d *drainer) goTellOp(r *goRec, op *goOp) {
	if op.quiet {
		return
	}
	op.e.WaitedNs = op.waited
	d.goTell(r.ts, r.thread, collector.GoChannelsChannel, op.e)
}

// goClose is the close of a channel.
func (d *drainer) goClose(r *goRec) {
	if d.goUser(r) == nil {
		return
	}
	e := goChannelEvent{What: "close", On: hex(r.reg(0)), Place: d.goUserPlace(r)}
	if e.Place == "" {
		return
	}
	if len(r.words) == 3 {
		e.Len, e.Cap = &r.words[1], &r.words[2]
	}
	d.goTell(r.ts, r.thread, collector.GoChannelsChannel, e)
}

// goSelect is a select of several cases: told at its end.
func (d *drainer) goSelect(r *goRec) {
	s := d.goUser(r)
	if s == nil {
		return
	}
	if r.enter {
		op := &goOp{e: goChannelEvent{What: "select"}, sends: int(uint32(r.reg(3)))}
		op.cases = op.sends + int(uint32(r.reg(4)))
		for i := 1; i < len(r.words) && i <= op.cases; i++ {
			op.chans = append(op.chans, r.words[i])
			op.e.Cases = append(op.e.Cases, op.name(i-1))
		}
		op.e.More = op.cases - len(op.chans)
		op.e.Place = d.goUserPlace(r)
		op.quiet = op.e.Place == ""
		s.op = op
		return
	}
	op := s.op
	if s.op = nil; op == nil || op.e.What != "select" {
		return
	}
	switch i := int(int64(r.reg(0))); {
	case i < 0:
		op.e.Chosen = "default"
	case i < len(op.chans):
		op.e.Chosen = op.name(i)
	default:
		op.e.Chosen = fmt.Sprintf("case %d", i)
	}
	if i := int(int64(r.reg(0))); i >= op.sends {
		got := r.reg(1)&0xff != 0
		op.e.OK = &got
	}
	d.goTellOp(r, op)
}

// goUserPlace is where an operation on a channel stands: the first word. "" where the runtime does it for itself.
func (d *drainer) goUserPlace(r *goRec) string {
	function, place := d.goPlace(r.rs.p, r.word(0), true)
	if strings.HasPrefix(function, "runtime.") {
		return ""
	}
	return cmp.Or(place, "?")
}

// name shows a case of a select.
func (op *goOp) name(i int) string {
	what := "receive "
	if i < op.sends {
		what = "send "
	}
	if op.chans[i] == 0 {
		return what + "nil"
	}
	return what + hex(op.chans[i])
}

// goUser is the state of a goroutine that is not the runtime's own; else nil.
func (d *drainer) goUser(r *goRec) *goState {
	if r.goid == 0 {
		return nil
	}
	if s := r.state(r.goid); !s.system {
		return s
	}
	return nil
}

func hex(addr uint64) string { return fmt.Sprintf("%#x", addr) }

// goTell puts an event among the calls of a goroutine.
func (d *drainer) goTell(ts int64, thread event.ThreadID, channel string, e any) {
	id, known := d.t.goStreams[channel]
	if !known {
		sink, ok := d.t.sink.(collector.StreamSink)
		if !ok {
			return
		}
		var err error
		if id, err = sink.Stream(event.Stream{Channel: channel, Name: "events", Media: "json",
			Direction: event.Out}); err != nil {
			d.t.sink.Dropped(1)
			return
		}
		if d.t.goStreams == nil {
			d.t.goStreams = map[string]event.StreamID{}
		}
		d.t.goStreams[channel] = id
	}
	b, err := json.Marshal(e)
	if err != nil {
		return
	}
	d.events = append(d.events, event.Event{TS: ts, Kind: event.Channel, Thread: thread, Stream: id, Payload: b})
}

// goSpot is what an address of code is shown as.
type goSpot struct{ function, place string }

// maxGoSpots bounds them.
const maxGoSpots = 1 << 14

// goPlace is the function at an address of code, and where that is: in the program's own code, not in what is inlined
// there of the runtime's. returned: it is where a call returns to.
func (d *drainer) goPlace(p *process, pc uint64, returned bool) (function, place string) {
	if returned && pc > 0 {
		pc--
	}
	if s, ok := p.drain.goSpots[pc]; ok {
		return s.function, s.place
	}
	g := p.golang.Load()
	if pc == 0 || g == nil || g.code == nil {
		return "", ""
	}
	var s goSpot
	if c, ok := g.code.Code(pc); ok && len(c.Frames) > 0 {
		f := &c.Frames[0]
		for i := range c.Frames {
			if f = &c.Frames[i]; f.Shown() {
				break
			}
		}
		s.function = strings.ReplaceAll(c.Frames[len(c.Frames)-1].Function, "[...]", "")
		s.place = fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line)
	}
	if p.drain.goSpots == nil || len(p.drain.goSpots) >= maxGoSpots {
		p.drain.goSpots = map[uint64]goSpot{}
	}
	p.drain.goSpots[pc] = s
	return s.function, s.place
}

// goReason is why a goroutine waits, as the runtime's version counts reasons.
func (p *process) goReason(n uint64) string {
	if g := p.golang.Load(); g != nil && g.code != nil {
		if s := g.code.Reason(int(n & 0xff)); s != "" {
			return s
		}
	}
	return fmt.Sprintf("reason %d of the runtime's", n&0xff)
}

// goChanLock is where in a channel its lock is.
func (p *process) goChanLock() uint32 {
	if g := p.golang.Load(); g != nil && g.code != nil {
		return g.code.ChanLock()
	}
	return 0
}
