package hunt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/arch/x86/x86asm"
	"golang.org/x/sys/unix"

	"github.com/strobe-debug/strobe/internal/ptrace"
)

const (
	int3 = 0xcc
	// eachMost bounds the holds of one that is for each time.
	eachMost = 25
	// tailBytes is how much of a run's output is kept.
	tailBytes = 4 << 10
)

// once is one run of the program. All but what run does belongs to the tracer's thread.
type once struct {
	t       *ptrace.Tracer
	pid     int
	mem     *ptrace.Mem
	bias    uint64
	started time.Time

	work     work
	traps    map[uint64]*trap // by address in the process
	threads  map[int]int      // number by thread
	hits     map[[2]uint64]int
	stepping map[int]*trap
	vforks   map[int]bool // children that share our memory until they exec
	held     int          // threads
	visits   []visit
	ended    chan Ending
	over     bool
}

type trap struct {
	site  *site
	addr  uint64
	old   byte
	armed bool
	seen  int
}

// run runs the program once, within limit, and returns how it ended and who came to what work says.
func run(ctx context.Context, p *Program, entry uint64, w work, limit time.Duration) (Ending, []visit, error) {
	out, err := os.CreateTemp("", "strobe-hunt")
	if err != nil {
		return Ending{}, nil, fmt.Errorf("make a file for the program's output: %w", err)
	}
	defer out.Close()
	if err := os.Remove(out.Name()); err != nil {
		return Ending{}, nil, err
	}
	in, err := os.Open(os.DevNull)
	if err != nil {
		return Ending{}, nil, err
	}
	defer in.Close()
	w.holds = slices.Clone(w.holds)
	o := &once{work: w, traps: map[uint64]*trap{}, threads: map[int]int{}, hits: map[[2]uint64]int{},
		stepping: map[int]*trap{}, vforks: map[int]bool{}, ended: make(chan Ending, 1)}
	if s := w.sample; s != nil {
		s.start(o)
	}
	if o.t, err = ptrace.NewTracer(o.stop); err != nil {
		return Ending{}, nil, err
	}
	defer o.t.Close()
	err = o.t.Do(ctx, func() error {
		o.started = time.Now()
		pid, err := o.t.Launch(ptrace.Program{Path: p.Path, Args: append([]string{p.Path}, p.Args...), Env: p.Env,
			Dir: p.Dir, Files: [3]uintptr{in.Fd(), out.Fd(), out.Fd()}})
		if err != nil {
			return err
		}
		o.pid, o.threads[pid] = pid, 0
		if err = o.begin(entry); err != nil {
			o.kill()
		}
		// Killed or not, it goes on to its end, which stop is told.
		return errors.Join(err, ptrace.Cont(pid, 0))
	})
	if o.pid == 0 {
		return Ending{}, nil, fmt.Errorf("run %s: %w", p.Path, err)
	}
	e, visits := o.wait(ctx, out, limit)
	if err != nil {
		err = fmt.Errorf("run %s: %w", p.Path, err)
	}
	return e, visits, cmp.Or(ctx.Err(), err)
}

// kill ends the program, and what it began in its process group.
func (o *once) kill() { unix.Kill(-o.pid, unix.SIGKILL) }

// wait returns how the run ended.
func (o *once) wait(ctx context.Context, out *os.File, limit time.Duration) (e Ending, visits []visit) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	cancelled, hang := ctx.Done(), false
	for {
		select {
		case e = <-o.ended: // the tracer has told the end: it notes no more visits
			e.Took = time.Since(o.started)
			if hang {
				e.Hang, e.Signal, e.Took = true, "", limit
			}
			e.Tail = tail(out)
			return e, o.visits
		case <-timer.C:
			hang = true
			o.kill()
		case <-cancelled:
			cancelled = nil
			o.kill()
		}
	}
}

// tail is the end of what a run wrote, "" where that cannot be read.
func tail(f *os.File) string {
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	b := make([]byte, min(info.Size(), tailBytes))
	n, _ := f.ReadAt(b, info.Size()-int64(len(b)))
	return string(b[:n])
}

// begin looks where the program was loaded, and puts the traps: it stands before its first instruction.
func (o *once) begin(entry uint64) error {
	// What we trace does not outlive us: it has traps in it.
	if err := unix.PtraceSetOptions(o.pid, ptrace.Options|unix.PTRACE_O_EXITKILL); err != nil {
		return fmt.Errorf("set options: %w", err)
	}
	var err error
	if o.mem, err = ptrace.OpenMem(o.pid); err != nil {
		return err
	}
	aux, err := ptrace.Auxv(o.pid)
	if err != nil {
		return err
	}
	o.bias = aux[ptrace.AuxEntry] - entry
	if o.work.sample != nil {
		o.work.sample.turns()
	}
	for i := range o.work.holds {
		if err := o.arm([]*site{o.work.holds[i].site}); err != nil {
			return err
		}
	}
	return o.arm(o.work.looks)
}

// arm puts traps at instructions.
func (o *once) arm(sites []*site) error {
	for _, s := range sites {
		addr := s.addr + o.bias
		tr := o.traps[addr]
		if tr == nil {
			tr = &trap{site: s, addr: addr}
			var b [1]byte
			if err := o.mem.Read(addr, b[:]); err != nil {
				return fmt.Errorf("read 0x%x: %w", addr, err)
			}
			tr.old = b[0]
			o.traps[addr] = tr
		}
		if err := o.set(tr, true); err != nil {
			return err
		}
	}
	return nil
}

func (o *once) set(tr *trap, armed bool) error {
	if tr.armed == armed {
		return nil
	}
	b := []byte{tr.old}
	if armed {
		b[0] = int3
	}
	if err := o.mem.Write(tr.addr, b); err != nil {
		return fmt.Errorf("write 0x%x: %w", tr.addr, err)
	}
	tr.armed = armed
	return nil
}

// stop is told each stop and end. What cannot be done to a thread that is gone does not matter.
func (o *once) stop(s ptrace.Stop) {
	if s.Ended {
		o.gone(s)
		return
	}
	if s.Event == ptrace.EventStop { // it ran when it was interrupted, and may wait by now
		ptrace.HideBriefly(s.TID)
	}
	if _, thread := o.threads[s.TID]; thread && o.work.sample != nil && o.work.sample.stopped(&s) {
		ptrace.Cont(s.TID, 0) //nolint:errcheck // it is gone
		return
	}
	switch {
	case s.Event == ptrace.EventClone:
		if _, known := o.threads[int(s.Msg)]; !known {
			o.threads[int(s.Msg)] = len(o.threads)
		}
	case s.Event == ptrace.EventVfork:
		o.vforks[int(s.Msg)] = true
	case s.Event == ptrace.EventExec && s.TID == o.pid:
		o.replaced()
	case s.Event == ptrace.EventExec && o.vforks[s.TID]:
		delete(o.vforks, s.TID)
		ptrace.Detach(s.TID, 0) //nolint:errcheck // it is gone
		return
	case s.GroupStop():
		if tr := o.stepping[s.TID]; tr != nil { // it comes to the trap again
			delete(o.stepping, s.TID)
			o.set(tr, true) //nolint:errcheck // the program is gone
		}
		ptrace.Listen(s.TID) //nolint:errcheck // it is gone
		return
	case s.Event == ptrace.EventStop && !o.mine(s.TID):
		o.child(s.TID)
		return
	case s.Event == 0 && s.Signal == unix.SIGTRAP && o.trapped(s.TID):
		return
	case s.Event == 0 && o.stepping[s.TID] != nil: // its handler begins, and it comes to the trap again
		ptrace.Step(s.TID, s.Signal) //nolint:errcheck // it is gone
		return
	case s.Event == 0:
		ptrace.Cont(s.TID, s.Signal) //nolint:errcheck // it is gone
		return
	}
	ptrace.Cont(s.TID, 0) //nolint:errcheck // it is gone
}

// mine reports whether a thread is one of the program's, or a child that shares its memory.
func (o *once) mine(tid int) bool {
	_, thread := o.threads[tid]
	return thread || o.vforks[tid]
}

// child lets one go that was forked: its copy of the memory has our traps.
func (o *once) child(tid int) {
	if ptrace.Process(tid) == o.pid { // a thread whose maker's stop comes later
		o.threads[tid] = len(o.threads)
		if o.work.sample != nil {
			o.work.sample.stopped(&ptrace.Stop{TID: tid, Event: ptrace.EventStop})
		}
		ptrace.Cont(tid, 0) //nolint:errcheck // it is gone
		return
	}
	if mem, err := ptrace.OpenMem(tid); err == nil {
		for _, tr := range o.traps {
			if tr.armed {
				mem.Write(tr.addr, []byte{tr.old}) //nolint:errcheck // it is gone
			}
		}
		mem.Close()
	}
	ptrace.Detach(tid, 0) //nolint:errcheck // it is gone
}

// replaced forgets all that was in the program which runs another now.
func (o *once) replaced() {
	o.traps, o.stepping, o.work.holds = map[uint64]*trap{}, map[int]*trap{}, nil
	o.threads = map[int]int{o.pid: 0}
	if o.work.sample != nil {
		o.work.sample.replaced()
	}
}

func (o *once) gone(s ptrace.Stop) {
	delete(o.stepping, s.TID)
	delete(o.vforks, s.TID)
	if o.work.sample != nil {
		o.work.sample.gone(s.TID)
	}
	if s.TID != o.pid || o.over {
		return
	}
	o.over = true
	e := Ending{Code: s.Status.ExitStatus()}
	if s.Status.Signaled() {
		e.Code, e.Signal = 0, unix.SignalName(s.Status.Signal())
	}
	if o.mem != nil {
		o.mem.Close()
	}
	o.ended <- e
}

// trapped handles a trap that may be ours.
func (o *once) trapped(tid int) bool {
	if tr := o.stepping[tid]; tr != nil && stepped(tid) { // its instruction has run
		delete(o.stepping, tid)
		if o.wanted(tr) {
			o.set(tr, true) //nolint:errcheck // the program is gone
		}
		ptrace.Cont(tid, 0) //nolint:errcheck // it is gone
		return true
	}
	regs, err := ptrace.GetRegs(tid)
	if err != nil {
		return true
	}
	tr := o.traps[regs.Rip-1]
	if tr == nil {
		return false // the program's own
	}
	regs.Rip--
	if ptrace.SetRegs(tid, &regs) != nil {
		return true
	}
	if o.vforks[tid] {
		o.pass(tid, tr)
		return true
	}
	if o.work.sample != nil {
		o.work.sample.trapped(tid, tr, &regs)
		return true
	}
	number := o.threads[tid]
	o.hits[[2]uint64{tr.addr, uint64(number)}]++
	tr.seen++
	h := o.holdOf(tr, number)
	if o.looking() || o.held > 0 || h != nil || tr.seen == 1 {
		o.visits = append(o.visits, visit{site: tr.site, thread: number,
			addr: tr.site.address(&regs), held: h != nil})
	}
	if h == nil {
		o.pass(tid, tr)
		return true
	}
	o.hold(tid, tr, h)
	return true
}

// stepped reports that a thread's trap is the end of a step.
func stepped(tid int) bool {
	info, err := ptrace.GetSiginfo(tid)
	return err != nil || info.OfStep()
}

// holdOf returns the hold that is due, and takes it.
func (o *once) holdOf(tr *trap, number int) *Hold {
	for i := range o.work.holds {
		h := &o.work.holds[i]
		hits := o.hits[[2]uint64{tr.addr, uint64(number)}]
		if h.Address+o.bias != tr.addr || h.Thread != number || h.Hit != 0 && h.Hit != hits {
			continue
		}
		taken := *h
		if h.Hit != 0 || hits == eachMost {
			o.work.holds = slices.Delete(o.work.holds, i, i+1)
		}
		return &taken
	}
	return nil
}

// looking: nothing is held, who comes where is noted.
func (o *once) looking() bool { return len(o.work.looks) > 0 }

// wanted reports whether a trap stays.
func (o *once) wanted(tr *trap) bool {
	if o.looking() {
		return tr.seen < o.work.most
	}
	if o.held > 0 && len(o.work.meanwhile) > 0 && tr.seen < seenMost {
		return true
	}
	return slices.ContainsFunc(o.work.holds, func(h Hold) bool { return h.Address+o.bias == tr.addr })
}

// pass has a thread run the instruction under a trap.
func (o *once) pass(tid int, tr *trap) {
	o.set(tr, false) //nolint:errcheck // the program is gone
	if !o.wanted(tr) {
		ptrace.Cont(tid, 0) //nolint:errcheck // it is gone
		return
	}
	o.stepping[tid] = tr
	ptrace.Step(tid, 0) //nolint:errcheck // it is gone
}

// hold keeps a thread for a while; the others go on.
func (o *once) hold(tid int, tr *trap, h *Hold) {
	o.held++
	o.set(tr, false) //nolint:errcheck // the program is gone
	if len(o.work.meanwhile) > 0 {
		o.arm(o.work.meanwhile) //nolint:errcheck // less is told then
		o.set(tr, true)         //nolint:errcheck // the program is gone
	}
	o.release(tid, tr, h, o.others(tid), 0)
}

// release lets a held thread go on when its time is over: later on a busy machine, where the others had no CPU
// meanwhile. had is what they had when it began.
func (o *once) release(tid int, tr *trap, h *Hold, had time.Duration, waits int) {
	long := time.Duration(h.Ms) * time.Millisecond
	time.AfterFunc(long, func() {
		o.t.Do(context.Background(), func() error { //nolint:errcheck // the run is over
			if waits < mostWaits && !o.over && o.others(tid)-had < long/2 && o.wantCPU(tid) {
				o.release(tid, tr, h, had, waits+1)
				return nil
			}
			if o.held--; o.held == 0 {
				for _, other := range o.traps {
					if !o.wanted(other) {
						o.set(other, false) //nolint:errcheck // the program is gone
					}
				}
			}
			o.pass(tid, tr)
			return nil
		})
	})
}

// others is how much CPU time the other threads have had.
func (o *once) others(but int) (sum time.Duration) {
	for tid := range o.threads {
		if tid != but {
			sum += ptrace.CPUTime(tid)
		}
	}
	return sum
}

// wantCPU reports whether any other thread could run.
func (o *once) wantCPU(but int) bool {
	for tid := range o.threads {
		if tid != but && ptrace.Wants(tid) {
			return true
		}
	}
	return false
}

// address is where the instruction's memory is.
func (s *site) address(r *ptrace.Regs) uint64 {
	m := s.mem
	if m == nil || m.Segment == x86asm.FS || m.Segment == x86asm.GS {
		return 0
	}
	at := uint64(m.Disp) + registerOf(m.Base, r, s) + registerOf(m.Index, r, s)*uint64(m.Scale)
	return at
}

func registerOf(reg x86asm.Reg, r *ptrace.Regs, s *site) uint64 {
	switch reg {
	case 0:
		return 0
	case x86asm.RIP:
		return r.Rip + uint64(s.inst.Len)
	}
	all := [...]uint64{r.Rax, r.Rcx, r.Rdx, r.Rbx, r.Rsp, r.Rbp, r.Rsi, r.Rdi, r.R8, r.R9, r.R10, r.R11, r.R12, r.R13,
		r.R14, r.R15}
	if reg >= x86asm.RAX && reg <= x86asm.R15 {
		return all[reg-x86asm.RAX]
	}
	return 0
}
