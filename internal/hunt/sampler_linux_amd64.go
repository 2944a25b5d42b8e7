package hunt

import (
	"context"
	"encoding/binary"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/strobe-debug/strobe/internal/ptrace"
)

// A sampler looks, in one run, for threads that are at the same memory at once. One thread is held right before it
// reads or writes; the other threads that have a CPU get a debug register on that address. Who comes there meanwhile
// is not kept away by any lock: whatever the held thread has waited for, it has behind it.
type sampler struct {
	o      *once
	pool   *pool
	wanted func(addr uint64) bool // addresses in the file, nil for all

	armed   map[uint64]*armed // by address in the process
	survey  int               // turns until the look at who comes where ends, 0: it is over
	news    int               // turns of it until nobody new is expected any more
	number  int               // of the last hold
	hold    *holding
	set     map[int]int  // the hold whose address a thread's debug register has, by thread
	watched map[int]bool // threads whose debug registers had any
	dead    map[int]bool // threads
	exec    bool         // it runs another program
	holds   int
	meets   []meet

	threads int // of the run
}

func newSampler(p *pool, wanted func(addr uint64) bool) *sampler {
	return &sampler{pool: p, wanted: wanted}
}

// start begins with a run.
func (s *sampler) start(o *once) {
	s.o, s.armed, s.set, s.dead = o, map[uint64]*armed{}, map[int]int{}, map[int]bool{}
	s.watched = map[int]bool{}
}

// armed is one instruction with a trap.
type armed struct {
	s     *sample
	tr    *trap
	turns int // that it has been there
}

// holding is the thread that is held now.
type holding struct {
	tid, number int
	s           *sample
	watch       ptrace.DebugWatch
	was         uint64
	others      []int         // that ran when it began
	cpu         time.Duration // that they had had
	waits       int           // for a CPU for them
}

const (
	// turnEvery is how often is looked whether the traps wait in vain.
	turnEvery = 4 * time.Millisecond
	// together is how many instructions have a trap at once: each may stop the threads that are looked for.
	together = 8
	// patience is how many turns one waits there.
	patience = 2
	// mostWaits bounds how often a hold is made longer.
	mostWaits = 10
	// surveyMost and surveyIdle end the look at who comes where, in turns.
	surveyMost, surveyIdle = 125, 12
)

// turns goes on until the run is over.
func (s *sampler) turns() {
	time.AfterFunc(turnEvery, func() {
		err := s.o.t.Do(context.Background(), func() error {
			if s.o.over {
				return ptrace.ErrClosed
			}
			s.turn()
			return nil
		})
		if err == nil {
			s.turns()
		}
	})
}

func (s *sampler) turn() {
	if s.exec || s.alive() < 2 {
		s.disarm(func(*armed) bool { return true })
		return
	}
	switch {
	case !s.pool.surveyed:
		s.pool.surveyed, s.survey = true, surveyMost
		for _, one := range s.pool.all {
			s.arm(one)
		}
		s.news = surveyIdle
		return
	case s.survey > 0:
		s.survey--
		if s.news--; s.news > 0 && s.survey > 0 {
			return
		}
		s.survey = 0
		s.disarm(func(*armed) bool { return true })
	}
	if s.hold != nil {
		return
	}
	s.disarm(func(a *armed) bool {
		a.turns++
		return a.turns > patience
	})
	s.fill()
}

func (s *sampler) alive() int { return len(s.o.threads) - len(s.dead) }

func (s *sampler) fill() {
	for len(s.armed) < together {
		one := s.pool.next()
		if one == nil || s.armed[one.site.addr+s.o.bias] != nil || !s.arm(one) {
			return
		}
	}
}

func (s *sampler) arm(one *sample) bool {
	if s.o.arm([]*site{one.site}) != nil {
		return false
	}
	addr := one.site.addr + s.o.bias
	s.armed[addr] = &armed{s: one, tr: s.o.traps[addr]}
	return true
}

func (s *sampler) disarm(which func(*armed) bool) {
	for addr, a := range s.armed {
		if which(a) {
			s.o.set(a.tr, false) //nolint:errcheck // the program is gone
			delete(s.armed, addr)
		}
	}
}

// trapped is told of a thread at a trap.
func (s *sampler) trapped(tid int, tr *trap, regs *ptrace.Regs) {
	s.o.set(tr, false) //nolint:errcheck // the program is gone
	a := s.armed[tr.addr]
	delete(s.armed, tr.addr)
	if a == nil || !s.begin(tid, a.s, regs) {
		if a != nil && s.pool.came(a.s) {
			s.news = surveyIdle
		}
		ptrace.Cont(tid, 0) //nolint:errcheck // it is gone
	}
}

// begin holds a thread at an instruction.
func (s *sampler) begin(tid int, one *sample, regs *ptrace.Regs) bool {
	if s.survey > 0 || s.hold != nil || s.alive() < 2 {
		return false
	}
	addr := one.site.address(regs)
	size := one.site.inst.MemBytes
	if size > 8 {
		size = 8
	}
	if addr == 0 || s.wanted != nil && !s.wanted(addr-s.o.bias) {
		return false
	}
	if !slices.Contains([]int{1, 2, 4, 8}, size) || addr%uint64(size) != 0 {
		size = 1
	}
	others := s.running(tid)
	if len(others) == 0 { // nobody could come
		s.disarm(func(*armed) bool { return true })
		return false
	}
	s.pool.came(one)
	s.number++
	s.holds++
	one.held++
	h := &holding{tid: tid, number: s.number, s: one, was: s.value(addr, size), others: others, cpu: cpuTime(others),
		watch: ptrace.DebugWatch{Addr: addr, Size: size, Reads: one.site.writes}}
	s.hold = h
	for _, other := range h.others {
		ptrace.Interrupt(other) //nolint:errcheck // it is gone
	}
	s.await(h)
	return true
}

// running are the other threads that have a CPU, want one, or are stopped. One that waits in a system call is let wait:
// interrupted, some calls fail.
func (s *sampler) running(but int) (list []int) {
	for tid := range s.o.threads {
		if tid != but && !s.dead[tid] {
			if state := ptrace.StatusField(tid, "State"); strings.HasPrefix(state, "R") || strings.HasPrefix(state, "t") {
				list = append(list, tid)
			}
		}
	}
	return list
}

func cpuTime(tids []int) (sum time.Duration) {
	for _, tid := range tids {
		sum += ptrace.CPUTime(tid)
	}
	return sum
}

// await ends a hold when its time is over: later on a busy machine, where the others had no CPU meanwhile.
func (s *sampler) await(h *holding) {
	time.AfterFunc(s.pool.hold, func() {
		s.o.t.Do(context.Background(), func() error { //nolint:errcheck // the run is over
			if s.hold != h || s.o.over {
				return nil
			}
			if h.waits++; h.waits < mostWaits && cpuTime(h.others)-h.cpu < s.pool.hold/2 && len(s.running(h.tid)) > 0 {
				s.await(h)
				return nil
			}
			s.finish(nil)
			return nil
		})
	})
}

// finish lets the held thread go on. What the other threads' registers look for they forget when they meet it next.
func (s *sampler) finish(m *meet) {
	h := s.hold
	s.hold = nil
	now := s.value(h.watch.Addr, h.watch.Size)
	if m == nil && now != h.was {
		m = &meet{} // by one that waited, or the kernel for it
	}
	if m != nil {
		m.held, m.thread = h.s, s.o.threads[h.tid]
		m.addr, m.size, m.was, m.now = h.watch.Addr-s.o.bias, h.watch.Size, h.was, now
		s.meets = append(s.meets, *m)
	}
	ptrace.Cont(h.tid, 0) //nolint:errcheck // it is gone
	s.fill()
}

func (s *sampler) value(addr uint64, size int) uint64 {
	var b [8]byte
	if s.o.mem.Read(addr, b[:size]) != nil {
		return 0
	}
	return binary.LittleEndian.Uint64(b[:])
}

// stopped is told of every stop of a thread, and reports whether it was at the memory that is looked at.
func (s *sampler) stopped(st *ptrace.Stop) bool {
	met := false
	if st.Event == 0 && st.Signal == unix.SIGTRAP && s.watched[st.TID] {
		// No step and no instruction of the program gives such a trap: it is ours, also where the register that says which
		// address was met was read or set anew since.
		info, err := ptrace.GetSiginfo(st.TID)
		if met = err != nil || info.OfDebug(); met {
			hits, err := ptrace.DebugHits(st.TID)
			if err == nil && hits != 0 && s.hold != nil && s.set[st.TID] == s.hold.number {
				s.finish(s.meeting(st.TID))
			}
		}
	}
	if st.Event == ptrace.EventClone && s.alive() > 1 && len(s.armed) == 0 {
		s.turn()
	}
	switch h := s.hold; {
	case h != nil && st.TID != h.tid && s.set[st.TID] != h.number:
		ptrace.DebugHits(st.TID) //nolint:errcheck // of the address before
		s.watched[st.TID] = true
		if ptrace.SetDebug(st.TID, [ptrace.DebugSlots]ptrace.DebugWatch{h.watch}) == nil {
			s.set[st.TID] = h.number
		}
	case met:
		ptrace.SetDebug(st.TID, [ptrace.DebugSlots]ptrace.DebugWatch{}) //nolint:errcheck // it is gone
		delete(s.set, st.TID)
	}
	return met
}

// meeting is what a thread did that has just been at the memory.
func (s *sampler) meeting(tid int) *meet {
	m := &meet{seen: true, other: s.o.threads[tid]}
	regs, err := ptrace.GetRegs(tid)
	if err != nil {
		return m
	}
	m.behind = regs.Rip - s.o.bias
	var b [8 * stackWords]byte
	if s.o.mem.Read(regs.Rsp, b[:]) == nil {
		for i := 0; i < len(b); i += 8 {
			m.stack = append(m.stack, binary.LittleEndian.Uint64(b[i:])-s.o.bias)
		}
	}
	return m
}

// gone is told of a thread's end.
func (s *sampler) gone(tid int) {
	s.threads = max(s.threads, len(s.o.threads))
	if _, thread := s.o.threads[tid]; !thread {
		return
	}
	s.dead[tid] = true
	delete(s.set, tid)
	if s.hold != nil && s.hold.tid == tid {
		s.hold = nil
	}
}

// replaced is told that the program runs another now.
func (s *sampler) replaced() {
	s.armed, s.set, s.dead = map[uint64]*armed{}, map[int]int{}, map[int]bool{}
	s.watched = map[int]bool{}
	s.hold, s.survey, s.exec = nil, 0, true
}
