package hunt

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"golang.org/x/arch/x86/x86asm"
	"golang.org/x/sys/unix"

	"github.com/strobe-debug/strobe/internal/ptrace"
)

const (
	int3 = 0xcc
	// seenMost is how often an instruction is counted in a run that only looks who comes where.
	seenMost = 48
	// eachMost bounds the holds of one that is for each time.
	eachMost = 25
	// tailBytes is how much of a run's output is kept.
	tailBytes = 4 << 10
)

// options are those that stops are asked for with, and that what we trace does not outlive us: it has traps in it.
const options = unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_TRACEFORK | unix.PTRACE_O_TRACEVFORK |
	unix.PTRACE_O_TRACEEXEC | unix.PTRACE_O_TRACEEXIT | unix.PTRACE_O_TRACEVFORKDONE | unix.PTRACE_O_EXITKILL

// visit is a thread that came to an instruction.
type visit struct {
	site   *site
	thread int
	at     time.Duration // since the run's begin
	addr   uint64        // of the memory that it reads or writes, 0 for none or not known
	held   bool
}

// once is one run of the program. All but what run does belongs to the tracer's thread.
type once struct {
	t       *ptrace.Tracer
	pid     int
	mem     *ptrace.Mem
	bias    uint64
	started time.Time

	sites    map[uint64]*trap // by address in the process
	threads  map[int]int      // number by thread
	hits     map[[2]uint64]int
	stepping map[int]*trap
	vforks   map[int]bool // children that share our memory until they exec
	held     int          // threads
	holds    []Hold
	explain  []*site // armed while a thread is held
	visits   []visit // what came to them meanwhile; without holds: all
	looks    bool    // note who comes where, nothing is held
	heldRuns int
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

// run runs the program once, within limit. Without holds it looks who comes to sites. With them, what comes to the
// sites of explain while a thread is held is told.
func run(ctx context.Context, p *Program, entry uint64, holds []Hold, sites, explain []*site,
	limit time.Duration) (Ending, []visit, error) {
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
	o := &once{sites: map[uint64]*trap{}, threads: map[int]int{}, hits: map[[2]uint64]int{}, stepping: map[int]*trap{},
		vforks: map[int]bool{}, holds: holds, ended: make(chan Ending, 1)}
	o.looks, o.explain = len(holds) == 0 && len(sites) > 0, explain
	if o.t, err = ptrace.NewTracer(o.stop); err != nil {
		return Ending{}, nil, err
	}
	defer o.t.Close()
	bySite := map[uint64]*site{}
	for _, s := range sites {
		bySite[s.addr] = s
	}
	err = o.t.Do(ctx, func() error {
		o.started = time.Now()
		pid, err := o.t.Launch(ptrace.Program{Path: p.Path, Args: append([]string{p.Path}, p.Args...), Env: p.Env,
			Dir: p.Dir, Files: [3]uintptr{in.Fd(), out.Fd(), out.Fd()}})
		if err != nil {
			return err
		}
		o.pid, o.threads[pid] = pid, 0
		if err = o.begin(entry); err == nil {
			if o.looks {
				err = o.arm(sites)
			} else {
				err = o.armHolds(bySite)
			}
		}
		if err == nil {
			err = ptrace.Cont(pid, 0)
		}
		if err != nil {
			unix.Kill(pid, unix.SIGKILL)
		}
		return err
	})
	if err != nil {
		return Ending{}, nil, fmt.Errorf("run %s: %w", p.Path, err)
	}
	return o.wait(ctx, out, limit)
}

// wait returns how the run ended.
func (o *once) wait(ctx context.Context, out io.ReaderAt, limit time.Duration) (e Ending, visits []visit, err error) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	hang := false
	for {
		select {
		case e = <-o.ended:
			e.Took, e.Held = time.Since(o.started), o.heldRuns
			if hang {
				e.Hang, e.Signal, e.Took = true, "", limit
			}
			e.Tail = tail(out)
			// The tracer has told the end: nothing more is written here.
			return e, o.visits, ctx.Err()
		case <-timer.C:
			hang = true
			unix.Kill(o.pid, unix.SIGKILL)
		case <-ctx.Done():
			unix.Kill(o.pid, unix.SIGKILL)
			<-o.ended
			return e, nil, ctx.Err()
		}
	}
}

// tail is the end of what a run wrote.
func tail(f io.ReaderAt) string {
	file, ok := f.(*os.File)
	if !ok {
		return ""
	}
	info, err := file.Stat()
	if err != nil {
		return ""
	}
	b := make([]byte, min(info.Size(), tailBytes))
	n, _ := f.ReadAt(b, info.Size()-int64(len(b)))
	return string(b[:n])
}

// begin looks where the program was loaded; it stands before its first instruction.
func (o *once) begin(entry uint64) error {
	if err := unix.PtraceSetOptions(o.pid, options); err != nil {
		return fmt.Errorf("set options: %w", err)
	}
	var err error
	if o.mem, err = ptrace.OpenMem(o.pid); err != nil {
		return err
	}
	at, err := auxEntry(o.pid)
	o.bias = at - entry
	return err
}

// auxEntry is the program's first instruction, as the kernel tells it the program.
func auxEntry(pid int) (uint64, error) {
	const atEntry = 9
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/auxv", pid))
	if err != nil {
		return 0, err
	}
	for ; len(b) >= 16; b = b[16:] {
		if binary.LittleEndian.Uint64(b) == atEntry {
			return binary.LittleEndian.Uint64(b[8:]), nil
		}
	}
	return 0, errors.New("the kernel does not tell the program's entry")
}

func (o *once) armHolds(bySite map[uint64]*site) error {
	for i := range o.holds {
		h := &o.holds[i]
		s := bySite[h.Address]
		if s == nil {
			return fmt.Errorf("nothing can be held at 0x%x of the program", h.Address)
		}
		if err := o.arm([]*site{s}); err != nil {
			return err
		}
	}
	return nil
}

// arm puts traps at instructions.
func (o *once) arm(sites []*site) error {
	for _, s := range sites {
		addr := s.addr + o.bias
		tr := o.sites[addr]
		if tr == nil {
			tr = &trap{site: s, addr: addr}
			var b [1]byte
			if err := o.mem.Read(addr, b[:]); err != nil {
				return fmt.Errorf("read 0x%x: %w", addr, err)
			}
			tr.old = b[0]
			o.sites[addr] = tr
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
	if tgid(tid) == o.pid { // a thread whose maker's stop comes later
		o.threads[tid] = len(o.threads)
		ptrace.Cont(tid, 0) //nolint:errcheck // it is gone
		return
	}
	if mem, err := ptrace.OpenMem(tid); err == nil {
		for _, tr := range o.sites {
			if tr.armed {
				mem.Write(tr.addr, []byte{tr.old}) //nolint:errcheck // it is gone
			}
		}
		mem.Close()
	}
	ptrace.Detach(tid, 0) //nolint:errcheck // it is gone
}

func tgid(tid int) (n int) {
	fmt.Sscan(ptrace.StatusField(tid, "Tgid"), &n) //nolint:errcheck // 0 then
	return n
}

// replaced forgets all that was in the program which runs another now.
func (o *once) replaced() {
	o.sites, o.stepping, o.holds = map[uint64]*trap{}, map[int]*trap{}, nil
	o.threads = map[int]int{o.pid: 0}
}

func (o *once) gone(s ptrace.Stop) {
	delete(o.stepping, s.TID)
	delete(o.vforks, s.TID)
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
	tr := o.sites[regs.Rip-1]
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
	number := o.threads[tid]
	o.hits[[2]uint64{tr.addr, uint64(number)}]++
	tr.seen++
	h := o.holdOf(tr, number)
	if o.looks || o.held > 0 || h != nil {
		o.visits = append(o.visits, visit{site: tr.site, thread: number, at: time.Since(o.started),
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
	for i := range o.holds {
		h := &o.holds[i]
		hits := o.hits[[2]uint64{tr.addr, uint64(number)}]
		if h.Address+o.bias != tr.addr || h.Thread != number || h.Hit != 0 && h.Hit != hits {
			continue
		}
		taken := *h
		if h.Hit != 0 || hits == eachMost {
			o.holds = slices.Delete(o.holds, i, i+1)
		}
		return &taken
	}
	return nil
}

// wanted reports whether a trap stays.
func (o *once) wanted(tr *trap) bool {
	if o.looks {
		return tr.seen < seenMost
	}
	if o.held > 0 && len(o.explain) > 0 && tr.seen < seenMost {
		return true
	}
	return slices.ContainsFunc(o.holds, func(h Hold) bool { return h.Address+o.bias == tr.addr })
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
	o.heldRuns++
	o.set(tr, false) //nolint:errcheck // the program is gone
	if len(o.explain) > 0 {
		o.arm(o.explain) //nolint:errcheck // less is told then
		o.set(tr, true)  //nolint:errcheck // the program is gone
	}
	time.AfterFunc(time.Duration(h.Ms)*time.Millisecond, func() {
		o.t.Do(context.Background(), func() error { //nolint:errcheck // the run is over
			if o.held--; o.held == 0 {
				for _, other := range o.sites {
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
