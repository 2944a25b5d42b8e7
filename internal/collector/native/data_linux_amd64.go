package native

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/ptrace"
	"github.com/strobe-debug/strobe/internal/snapshot"
	"github.com/strobe-debug/strobe/internal/symbol"
	"github.com/strobe-debug/strobe/internal/unwind"
	"golang.org/x/sys/unix"
)

// dataPoint is what a data breakpoint watches.
type dataPoint struct {
	typ  *symbol.Type
	lang symbol.Language
	addr uint64 // in the process where it was resolved, and in those that it forks
	size int

	p     *process
	named bool         // by what the code at in names alone: it is found in other images as well
	in    unwind.Frame // function, and module with the offset in it, of the frame that named it
	tid   int          // of a local: the thread,
	cfa   uint64       // its frame; 0: it is no local
	frame string       // and the function
}

// dataSlots is what the debug registers of a process's threads hold. Immutable but for old and known.
type dataSlots struct {
	watches [ptrace.DebugSlots]ptrace.DebugWatch
	points  [ptrace.DebugSlots]*point

	known atomic.Bool // an access was described: what that needs has been read

	mu  sync.Mutex // held while an access is judged: those of other threads come after it
	old map[*point]*lastValue
}

// clone is the same for a forked child.
func (s *dataSlots) clone() *dataSlots {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out := &dataSlots{watches: s.watches, points: s.points, old: map[*point]*lastValue{}}
	for pt, v := range s.old {
		out.old[pt] = &lastValue{b: v.b}
	}
	return out
}

// start returns where a point's registers watch from.
func (s *dataSlots) start(pt *point) (uint64, bool) {
	if s != nil {
		if i := slices.Index(s.points[:], pt); i >= 0 {
			return s.watches[i].Addr, true
		}
	}
	return 0, false
}

// was returns the value that was told last.
func (s *dataSlots) was(pt *point) *lastValue {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.old[pt]
}

// maxWatched is how many bytes the four debug registers can watch.
const maxWatched = 8 * ptrace.DebugSlots

// newDataPoint resolves what a data breakpoint watches: a global, or a local of the thread that is paused.
func (t *target) newDataPoint(pt *point) error {
	processes := t.processes()
	i := slices.IndexFunc(processes, func(p *process) bool { return t.pauseFor(p, pt.Thread) != nil })
	if i > 0 {
		processes[0], processes[i] = processes[i], processes[0] // where a thread is paused, its variables are known
	}
	if i < 0 && pt.Thread != 0 {
		return fault.New(fault.NotPaused, "Leave thread out: writes of all threads are told.",
			"thread says whose variable %q is, and thread %d is not paused", pt.Variable, pt.Thread)
	}
	for _, p := range processes {
		if p.shares != nil || p.dead.Load() || p.detached.Load() {
			continue
		}
		v, err := p.view()
		if err != nil {
			return err
		}
		pic := snapshot.New(v)
		d, err := t.resolveData(pic, p, pt)
		if err != nil {
			return err
		}
		if b := make([]byte, d.size); p.mem.Read(d.addr, b) != nil {
			return fault.New(fault.ReadFailed, "Look at the pointers that lead there with debug_memory.",
				"nothing is mapped where %q would be now, at 0x%x", pt.Variable, d.addr)
		}
		pt.data = d
		pt.guard = t.guardOf(pic, p, pt)
		pt.places = []collector.Location{{Address: fmt.Sprintf("0x%x", d.addr)}}
		return nil
	}
	return fault.New(fault.ProcessExited, "Launch it again.", "no process of the program runs")
}

// resolveData finds what a data breakpoint watches in a process: by the innermost frame of the program's own code of a
// paused thread, else by globals and statics.
func (t *target) resolveData(pic *snapshot.Picture, p *process, pt *point) (*dataPoint, error) {
	d := &dataPoint{lang: symbol.LangCPP, p: p}
	c := t.pauseFor(p, pt.Thread)
	if c == nil {
		d.named = true
		return d, d.resolve(pic, pt, bareView(pic, &d.in))
	}
	stack, u := pic.Stack(c.seen)
	if len(stack.Frames) == 0 {
		d.named = true
		return d, d.resolve(pic, pt, bareView(pic, &d.in))
	}
	f := &stack.Frames[pic.Place(stack.Frames, false)]
	d.lang, d.in = f.Language, unwind.Frame{Function: f.Function, Module: f.Module, PC: f.PC - baseOf(pic, f.Module)}
	if err := d.resolve(pic, pt, pic.View(c.seen, u, f, 0)); err != nil {
		return nil, err
	}
	elsewhere := *c.seen
	elsewhere.FS += 1 << 20
	if other := *d; other.resolve(pic, pt, pic.View(&elsewhere, u, f, 0)) == nil && other.addr != d.addr {
		pt.note = fmt.Sprintf("each thread has its own: watched is that of thread %d", c.TID)
	}
	bare := *d
	d.named = bare.resolve(pic, pt, bareView(pic, &d.in)) == nil && bare.addr == d.addr
	low := c.seen.Regs.Val[regRsp] - redZone
	for i := range stack.Frames {
		if f := &stack.Frames[i]; d.addr >= low && d.addr < f.CFA && !f.Inlined {
			d.tid, d.cfa, d.frame = c.TID, f.CFA, f.Function
			break
		}
	}
	return d, nil
}

// bareView is a view of the code of a frame without its variables; PC is its offset in the module.
func bareView(pic *snapshot.Picture, in *unwind.Frame) *snapshot.FrameView {
	f := *in
	f.PC += baseOf(pic, f.Module)
	return pic.View(&snapshot.Thread{}, unwind.New(pic.Mem, nil, unwind.Options{}), &f, 0)
}

func baseOf(pic *snapshot.Picture, module string) uint64 {
	for i := range pic.Modules {
		if m := &pic.Modules[i]; m.Mod.Path == module {
			return m.Bias
		}
	}
	return 0
}

// resolve finds the place and the type of what is watched in a view.
func (d *dataPoint) resolve(pic *snapshot.Picture, pt *point, view *snapshot.FrameView) error {
	e, err := view.Expr(pt.Variable)
	if err != nil {
		return exprFault("variable", pt.Variable, err)
	}
	if e.IsBitField() {
		return fault.New(fault.ValidationError, "Watch the struct that it is in, if that has at most 32 bytes.",
			"%q is a bit-field: it has no address of its own", pt.Variable)
	}
	if d.typ = e.Type().Target(); d.typ == nil || !e.InMemory() {
		return fault.New(fault.ValidationError, "Name a variable, a member, an element or what a pointer leads to.",
			"%q has no place in memory", pt.Variable)
	}
	addr, ok, err := e.Addr(view.Env())
	if err != nil || !ok {
		return exprFault("variable", pt.Variable, fmt.Errorf("its address cannot be computed: %w", err))
	}
	d.addr, d.size = addr, int(d.typ.Strip().Size)
	if _, ok := d.slots(pt.Reads, nil); !ok {
		return fault.New(fault.ValidationError, "Watch one of its members or elements, or trace the functions that write "+
			"it with a watch.",
			"%q has %d bytes at 0x%x: the CPU's four debug registers watch at most four aligned words of 8 bytes", pt.Variable,
			d.size, d.addr)
	}
	return nil
}

// stands reports whether the frame of the local that is watched is still on a thread's stack. An exception or longjmp
// leaves it without a return.
func (d *dataPoint) stands(pic *snapshot.Picture, c *pause) bool {
	stack, _ := pic.Stack(c.seen)
	for i := range stack.Frames {
		if f := &stack.Frames[i]; f.CFA == d.cfa && f.Function == d.frame {
			return true
		}
	}
	return stack.End != unwind.EndOutermost // else it is not known
}

// guardOf makes the point where the function of a local variable returns to. Nil: it is no local.
func (t *target) guardOf(pic *snapshot.Picture, p *process, pt *point) *point {
	d := pt.data
	c := t.pauseFor(p, d.tid)
	if d.cfa == 0 || c == nil {
		return nil
	}
	stack, _ := pic.Stack(c.seen)
	for i := range stack.Frames {
		if f := &stack.Frames[i]; f.CFA > d.cfa {
			return &point{Point: collector.Point{Address: f.PC, Thread: d.tid}, guards: pt}
		}
	}
	return nil
}

// pauseFor returns the pause of a thread, or of the one thread that is paused in a process.
func (t *target) pauseFor(p *process, tid int) *pause {
	t.mu.Lock()
	defer t.mu.Unlock()
	var found *pause
	for _, c := range t.pauses {
		if c.p == p && (tid == 0 || c.TID == tid) {
			found = c
		}
	}
	return found
}

// slots appends the registers that watch a range.
func (d *dataPoint) slots(reads bool, to []ptrace.DebugWatch) ([]ptrace.DebugWatch, bool) {
	if d.size <= 0 || d.size > maxWatched {
		return to, false
	}
	for at, end := d.addr, d.addr+uint64(d.size); at < end; {
		size := 8
		for at%uint64(size) != 0 || at+uint64(size) > end {
			size /= 2
		}
		to = append(to, ptrace.DebugWatch{Addr: at, Size: size, Reads: reads})
		at += uint64(size)
	}
	return to, len(to) <= ptrace.DebugSlots
}

// countSlots refuses data breakpoints that need more registers than there are.
func countSlots(points []*point) error {
	n := 0
	for _, pt := range points {
		if pt.data != nil && !pt.gone.Load() {
			s, _ := pt.data.slots(pt.Reads, nil)
			n += len(s)
		}
	}
	if n > ptrace.DebugSlots {
		return fault.New(fault.ValidationError, "Remove some, or watch smaller variables.",
			"the data breakpoints need %d debug registers, and the CPU has %d", n, ptrace.DebugSlots)
	}
	return nil
}

// applyData makes the debug registers of a process's threads what the data breakpoints want. probeMu is held.
func (t *target) applyData(ctx context.Context, p *process) error {
	want, have := &dataSlots{old: map[*point]*lastValue{}}, p.data.Load()
	n := 0
	for _, pt := range t.points {
		d := pt.data
		if d == nil || pt.gone.Load() || t.stopping.Load() || d.cfa != 0 && d.p != p {
			continue
		}
		at := *d
		if from, ok := have.start(pt); ok { // it stays where it is, also if a pointer on the way there changes
			at.addr = from
		} else if d.p != p { // another image may have it elsewhere
			v, err := p.view()
			if err != nil || !d.named {
				continue
			}
			if pic := snapshot.New(v); at.resolve(pic, pt, bareView(pic, &d.in)) != nil {
				continue
			}
		}
		slots, _ := at.slots(pt.Reads, nil)
		for _, w := range slots {
			if n < ptrace.DebugSlots {
				want.watches[n], want.points[n] = w, pt
				n++
			}
		}
		b := make([]byte, at.size)
		if was := have.was(pt); was != nil { // a write may have been met and not yet described
			want.old[pt] = was
		} else if p.mem.Read(at.addr, b) == nil {
			want.old[pt] = &lastValue{b: b}
		}
	}
	if n == 0 && have == nil {
		return nil
	}
	if n == 0 {
		want = nil
	} else if have != nil && have.watches == want.watches && have.points == want.points {
		return nil
	}
	p.data.Store(want)
	return t.tracer.Do(ctx, func() error {
		for _, th := range p.allThreads() {
			resume, ok := p.haltSoon(th)
			if !ok {
				continue // at its next stop
			}
			p.hide(th)
			th.arm(p)
			resume()
		}
		return nil
	})
}

// arm puts what its process watches into a stopped thread's debug registers. Tracer thread only.
func (th *thread) arm(p *process) {
	var want [ptrace.DebugSlots]ptrace.DebugWatch
	if s := p.data.Load(); s != nil {
		want = s.watches
	}
	if th.step != nil {
		th.step.arm(&want)
	}
	for _, s := range p.t.loose {
		if s.p == p {
			th.stepped = true
			s.arm(&want)
		}
	}
	if want != th.watched && ptrace.SetDebug(th.tid, want) == nil {
		th.watched, th.watches = want, true
	}
}

// dataStop handles a stop by a debug register. False: it is none. Tracer thread only.
func (t *target) dataStop(th *thread, p *process, regs *ptrace.Regs) bool {
	info, err := ptrace.GetSiginfo(th.tid)
	if err != nil || !th.byHardware(&info, regs) {
		return false
	}
	// of a break that nobody waits for: the program has nothing to do with it
	if !t.dataMet(th, p, regs, th.met(&info, regs)) {
		th.watched = [ptrace.DebugSlots]ptrace.DebugWatch{{Addr: ^uint64(0), Size: 1}} // they are set anew
		t.resume(th, 0)
	}
	return true
}

// byHardware reports that a debug register made a thread trap. Tracer thread only.
func (th *thread) byHardware(info *ptrace.Siginfo, regs *ptrace.Regs) bool {
	if !info.OfDebug() || !th.watches || th.singled {
		return info.Signal() == unix.SIGTRAP && info.Code() == ptrace.TrapHardware
	}
	var before [2]byte
	th.p.mem.Read(regs.Rip-2, before[:]) //nolint:errcheck // nothing is there
	return !ownTrap(info.Code(), regs.Eflags, before)
}

// ownTrap reports that the program may have made a debug exception itself, by its trap flag or an int1. Debug registers
// are set by us alone.
func ownTrap(code int32, flags uint64, before [2]byte) bool {
	switch code {
	case ptrace.TrapTrace:
		return flags&trapFlag != 0 // ours is not shown
	case ptrace.TrapBrkpt:
		return before[1] == int1
	}
	return false
}

const int1 = 0xf1

// met says which debug registers made a thread trap; all where it is not known which. Tracer thread only.
func (th *thread) met(info *ptrace.Siginfo, regs *ptrace.Regs) uint64 {
	hits, err := ptrace.DebugHits(th.tid)
	if err != nil || hits != 0 || info.Code() == ptrace.TrapHardware {
		return hits
	}
	var before [2]byte
	th.p.mem.Read(regs.Rip-2, before[:]) //nolint:errcheck // nothing is there
	switch {
	case !info.OfDebug() || !th.watches || ownTrap(info.Code(), regs.Eflags, before):
		return 0
	case th.singled && (info.Code() == ptrace.TrapTrace || string(before[:]) == string(syscallInsn)):
		return 0
	}
	return 1<<ptrace.DebugSlots - 1
}

// dataMet handles accesses to what is watched, by the debug registers that were met. False: nothing of the kind was.
func (t *target) dataMet(th *thread, p *process, regs *ptrace.Regs, hits uint64) bool {
	if hits == 0 {
		return false
	}
	s := p.data.Load()
	if s == nil {
		t.resume(th, 0)
		return true
	}
	var points []*point
	for i, pt := range s.points {
		if hits&(1<<i) != 0 && pt != nil && (len(points) == 0 || points[len(points)-1] != pt) {
			points = append(points, pt)
		}
	}
	if len(points) == 0 && th.step != nil { // its own
		return false
	}
	c := &pause{th: th, stop: th.stops.Load(), p: p, seen: p.pictured(th, regs, true), flags: regs.Eflags,
		alone: len(p.allThreads()) == 1}
	if t.noted(c, s, points) {
		t.resume(th, 0)
		return true
	}
	th.stopped = true
	t.spawn(func() { t.accessed(c, s, points); s.known.Store(true) })
	return true
}

// noted is accessed for a thread that need not be paused, at once: where what is to be read about its place is in
// memory, and there is room for the events. False: nothing was done. Tracer thread only.
func (t *target) noted(c *pause, s *dataSlots, points []*point) bool {
	if !s.known.Load() || c.th.step != nil || !t.mayPend() ||
		slices.ContainsFunc(points, func(pt *point) bool { return pt.Pause || pt.data.cfa != 0 }) {
		return false
	}
	v := c.p.seenView()
	if v == nil {
		return false
	}
	at := t.rt.clock.Now()
	look := &pauseLook{t: t, c: c, pic: snapshot.New(v)}
	for _, pt := range t.met(c, s, look, points) {
		for _, w := range t.access(c, s, look, pt) {
			if b, err := w.c.payload(w.members); err == nil {
				t.pend(at, event.Event{Kind: event.VariableWrite, Thread: t.idOf(w.c), Payload: b})
			}
		}
	}
	return true
}

// accessed says what a thread did to what is watched, and pauses it where that was asked for.
func (t *target) accessed(c *pause, s *dataSlots, points []*point) {
	look := &pauseLook{t: t, c: c}
	var stopAt *point
	for _, pt := range t.met(c, s, look, points) {
		if t.ownAccess(c, s, look, pt) && pt.Pause && stopAt == nil {
			stopAt = pt
		}
	}
	if stopAt == nil || t.stopping.Load() {
		t.letGoOn(c)
		return
	}
	c.PointID, c.Reason, c.Hit = stopAt.ID, "data", stopAt.hits.Load()
	t.paused(c, look, stopAt.AllThreads)
}

// ownAccess puts one access on the timeline. False: nothing changed, and only changes were asked for.
func (t *target) ownAccess(c *pause, s *dataSlots, look *pauseLook, pt *point) bool {
	told := t.access(c, s, look, pt)
	if len(told) == 0 {
		return false
	}
	t.Flush(context.Background())
	for _, w := range told {
		t.pointEvent(event.VariableWrite, w.c, w.members)
	}
	return true
}
