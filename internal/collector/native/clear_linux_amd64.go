package native

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/strobe-debug/strobe/internal/ptrace"
)

// halt is a program that stands, as far as it ran, so that code can be changed. Threads that wait in the kernel are
// left to wait: a stop ends many a system call.
//
// One of them may wake all the same, of itself or by what another thread did before it stood. It cannot come into a
// window, whose trap stands. But nothing can be read of the stack of a thread that runs, and a goroutine that it takes
// up meanwhile is seen neither among those that wait nor on a stack.
type halt struct {
	p    *process
	all  bool // whoever ran stands
	back []func()
}

// running stops all threads that are on a CPU or could be at once, but for those that are spared. Where one did not
// come to a stop, the others are not waited for as long.
func (h *halt) running(spared map[*thread]bool) {
	for _, th := range h.p.allThreads() {
		if th.stopped || spared[th] {
			continue
		}
		nr, _, running := blockedPC(th.p.pid, th.tid)
		if running || nr < 0 || h.p.copying(th, nr) {
			h.thread(th)
		}
	}
}

// thread stops one, wherever it is.
func (h *halt) thread(th *thread) {
	stop := h.p.halt
	if !h.all {
		stop = h.p.haltSoon
	}
	if r, ok := stop(th); ok {
		h.back = append(h.back, r)
	} else if h.p.runs(th) {
		h.all = false
	}
}

func (h *halt) resume() {
	for _, r := range h.back {
		r()
	}
}

// haltRunning stops all threads that are on a CPU or could be at once.
func (p *process) haltRunning() (resume func()) {
	h := &halt{p: p, all: true}
	h.running(nil)
	return h.resume
}

// clearTurns bounds how often threads are looked at of which some have woken meanwhile, and are halted then, too.
const clearTurns = 32

// clear sends halted threads out of the windows of sites, and leaves those sites at their one-byte trap into whose
// window somebody may come back: parked does so for goroutines. Their traps stand. Tracer thread only.
func (h *halt) clear(add []*site, ws windows, parked func()) {
	p := h.p
	ofGo := slices.ContainsFunc(add, func(s *site) bool { return s.golang != nil })
	for turn := 0; ; turn++ {
		var asleep map[*thread]string
		if ofGo && h.all {
			asleep = h.asleep()
		}
		p.moveOut(ws)
		ways := p.waysBack(ws)
		p.passCopies(add)
		p.turnBack(ways)
		if !h.all {
			break
		}
		unseen := p.spareInterrupted(ws, ways)
		parked()
		for th, turns := range asleep {
			if turns != turnsOf(th) {
				unseen = append(unseen, th)
			}
		}
		if len(unseen) == 0 {
			return
		}
		if turn == clearTurns {
			break
		}
		for _, th := range unseen {
			h.thread(th)
		}
	}
	p.oneByte(add)
}

// asleep are the threads that were not halted, each with its turns on a CPU so far. One that runs by now is halted.
func (h *halt) asleep() map[*thread]string {
	asleep := map[*thread]string{}
	for _, th := range h.p.allThreads() {
		if th.stopped {
			continue
		}
		turns := turnsOf(th)
		if turns == "" && h.p.runs(th) {
			h.thread(th)
		} else if turns != "" {
			asleep[th] = turns
		}
	}
	return asleep
}

// turnsOf counts how often a thread that waits in the kernel has come to wait: while it stays the same, the thread has
// not run. "": it runs.
func turnsOf(th *thread) string {
	if nr, _, running := blockedPC(th.p.pid, th.tid); running || nr < 0 {
		return ""
	}
	turns := ptrace.StatusField(th.tid, "voluntary_ctxt_switches")
	if _, _, running := blockedPC(th.p.pid, th.tid); running {
		return ""
	}
	return turns
}

// moveOut sends halted threads that stand inside a window to the same instruction in the stub.
func (p *process) moveOut(ws windows) {
	for _, th := range p.allThreads() {
		if !th.stopped {
			continue
		}
		regs, err := ptrace.GetRegs(th.tid)
		if err != nil {
			continue
		}
		s := ws.find(regs.Rip)
		if s == nil {
			continue
		}
		if to, in := s.moves[regs.Rip]; in && !metTrap(th.p.pid, th.tid) {
			regs.Rip = to
			ptrace.SetRegs(th.tid, &regs)
		}
	}
}

// scanBytes is how much of each thread's stack is searched for interrupted addresses: a signal's frame lies near the
// top.
const scanBytes = 64 << 10

// oneByte leaves a site at its one-byte trap.
func (s *site) oneByte() {
	if s != nil && len(s.patch) > 1 {
		s.patch, s.orig = []byte{int3}, s.orig[:1]
	}
}

// oneByte leaves sites at their one-byte trap, which may be written while a thread runs.
func (p *process) oneByte(add []*site) {
	for _, s := range add {
		s.oneByte()
	}
	p.t.warn(fmt.Sprintf("a thread of process %d does not come to a stop: what was set there now costs a stop at "+
		"each call", p.pid))
}

// spareInterrupted leaves those sites at their one-byte trap into whose window a thread may return from a signal
// handler, or from the agent by a way back: the address is on its stack. A stray number that looks the same costs only
// speed. Unseen are threads whose stack could not be read: they have woken.
func (p *process) spareInterrupted(ws windows, ways []wayBack) (unseen []*thread) {
	if !slices.ContainsFunc(ws, func(s *site) bool { return len(s.patch) > 1 }) {
		return nil
	}
	lo, hi := ws[0].addr, ws[len(ws)-1].addr+jumpBytes
	buf := make([]byte, scanBytes)
	for _, th := range p.allThreads() {
		top := p.stackPointer(th)
		p.eachStack(top, func(sp uint64) []byte { return p.readStack(sp, buf) }, func(b []byte) bool {
			for ; len(b) >= 8; b = b[8:] {
				v := binary.LittleEndian.Uint64(b)
				if v >= lo && v <= hi {
					ws.find(v).oneByte()
				}
				for i := range ways {
					if v >= ways[i].lo && v <= ways[i].at {
						ways[i].site.oneByte()
					}
				}
			}
			return true
		})
		if !th.stopped && (top == 0 || p.stackPointer(th) != top) && p.runs(th) {
			unseen = append(unseen, th)
		}
	}
	return unseen
}

// stackPointer is that of a thread that is stopped or waits in the kernel, 0 where it is not known.
func (p *process) stackPointer(th *thread) uint64 {
	if !th.stopped {
		return blockedSP(th.p.pid, th.tid)
	}
	regs, err := ptrace.GetRegs(th.tid)
	if err != nil {
		return 0
	}
	return regs.Rsp
}

// readStack reads what lies from sp up, nil where nothing does.
func (p *process) readStack(sp uint64, buf []byte) []byte {
	for n := len(buf); n >= 512 && sp != 0; n /= 2 {
		if p.mem.Read(sp, buf[:n]) == nil {
			return buf[:n]
		}
	}
	return nil
}
