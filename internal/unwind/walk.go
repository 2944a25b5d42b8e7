package unwind

import (
	"fmt"
	"slices"
	"sort"

	"github.com/strobe-debug/strobe/internal/sorting"
	"github.com/strobe-debug/strobe/internal/symbol"
)

// Regs is a thread's registers by DWARF number: 0 to 15 are rax, rdx, rcx, rbx, rsi, rdi, rbp,
// rsp, r8 to r15, and 16 is rip.
type Regs struct {
	Val   [numRegs]uint64
	Known uint32 // bit n: Val[n] is known
	// Bit n: a call in between may have changed the register, and Val[n] is what the callee has in it.
	carried uint32
}

// Get returns a register; not ok when it is not known or not one of the 17.
func (r *Regs) Get(n int) (uint64, bool) {
	if n < 0 || n >= numRegs || r.Known&(1<<n) == 0 {
		return 0, false
	}
	return r.Val[n], true
}

// Set makes a register known.
func (r *Regs) Set(n int, v uint64) {
	r.Val[n] = v
	r.Known |= 1 << n
}

// Module is a file in the process's memory, [Lo, Hi). Its link-time addresses are Bias lower.
type Module struct {
	Mod          *symbol.Module
	Bias, Lo, Hi uint64
}

// Trust says how a frame was found, from its callee.
type Trust uint8

const (
	TrustCFI          Trust = iota // the thread's registers, or the unwind tables
	TrustCall                      // the top of the stack, right after a call to code that we do not know
	TrustFramePointer              // the chain of frame pointers: callers may be missing
	// a word on the stack that looks like a return address: it may be left over from an earlier call
	TrustScan
)

func (t Trust) String() string {
	return [...]string{"cfi", "call", "frame-pointer", "scan"}[t&3]
}

// Frame is one function in a stack, inlined ones included.
type Frame struct {
	Index    int    // 0 is where the thread is; frames left out are counted
	PC       uint64 // of the next instruction, or where the call returns to
	CFA      uint64 // the stack pointer before the call; 0 when the frame could not be unwound
	Regs     Regs   // as this frame has them
	Function string // demangled, "" when nothing names the code
	Raw      string // as linked
	File     string // absolute path, or ""
	Line     int    // 1-based, or 0
	Inlined  bool   // into the next frame
	Module   string // the file's path, or "" outside of all modules
	Offset   uint64 // of PC from the start of the function, or of the module
	Signal   bool   // the kernel's call of a signal handler: the next frame was interrupted, and did not call
	Trust    Trust
	Language symbol.Language // of the function; "" without debug information

	at    *phys
	scope int // in the list of functions at the address
}

// End says why a stack ended.
type End string

const (
	EndOutermost End = "outermost" // the thread's first function
	EndMemory    End = "memory"    // the stack could not be read further
	EndLoop      End = "loop"      // the next frame would have been below its callee
	EndLost      End = "lost"      // no rule, no frame pointer and nothing on the stack led on
	EndLimit     End = "limit"     // longer than can be a stack
)

// Stack is the frames of a thread, the innermost first.
type Stack struct {
	Frames []Frame
	Elided int    // frames left out in the middle
	Before int    // frames ahead of those left out
	End    End    // why it ended
	Reason string // the same, in words
}

// Options adapt a walk.
type Options struct {
	// Stub reports whether pc lies in code that we put into the process. Frames there follow their
	// own rule (CFA = rbp+16, return address at CFA-8, caller's rbp at CFA-16) and are not shown.
	// Where the code is a displaced copy of an instruction, or one that runs before the stub's own
	// frame is made, original is where it was, or the function's entry: then the frame is shown and unwound as if it were
	// there.
	Stub func(pc uint64) (original uint64, in bool)
	// TLS returns the address of a thread-local variable of a module, by its offset there.
	TLS func(m *symbol.Module, off uint64) (addr uint64, ok bool)
	// XMM are the vector registers of the innermost frame, or nil.
	XMM *[16][16]byte
	// Behind: what is asked about is the instruction that the thread has just run, as after a data breakpoint.
	Behind bool
	// MaxFrames bounds the frames returned; 0 means 4096. The middle is left out.
	MaxFrames int
	// Nearest ends the walk behind so many frames, not counting inlined ones; 0: it goes on to the end.
	Nearest int
}

const (
	defaultFrames = 4096
	// maxWalk bounds the frames walked: a stack of 64 MB with the smallest frames that compilers make.
	maxWalk = 1 << 22
	// maxScans bounds the frames that are found by scanning: more of them say nothing.
	maxScans = 1 << 10
	// maxSwitches bounds changes to a lower stack, which only signal frames can make.
	maxSwitches = 64
)

// Unwinder walks stacks of one process at one moment. It is not safe for concurrent use.
type Unwinder struct {
	mem    pages
	mods   []Module // by Lo
	o      Options
	rows   map[uint64]*cachedRow
	names  map[nameKey][]symbol.Scope
	counts map[nameKey]int
	text   map[*symbol.Module]textRange
}

type nameKey struct {
	mod int
	pc  uint64
}

type textRange struct{ lo, hi symbol.Addr }

type cachedRow struct {
	row row
	ok  bool
	err error
}

// New returns an unwinder for a process whose memory stands still.
func New(mem Memory, mods []Module, o Options) *Unwinder {
	u := &Unwinder{mods: slices.Clone(mods), o: o, rows: map[uint64]*cachedRow{}, names: map[nameKey][]symbol.Scope{},
		counts: map[nameKey]int{}, text: map[*symbol.Module]textRange{}}
	u.mem.mem = mem
	sorting.By(u.mods, func(a, b Module) int {
		switch {
		case a.Lo < b.Lo:
			return -1
		case a.Lo > b.Lo:
			return 1
		}
		return 0
	})
	if u.o.MaxFrames <= 0 {
		u.o.MaxFrames = defaultFrames
	}
	return u
}

// Walk returns the stack of one thread.
func Walk(mem Memory, regs Regs, mods []Module, o Options) Stack { return New(mem, mods, o).Walk(regs) }

// phys is one frame as the machine has it; inlined functions share one.
type phys struct {
	regs   Regs
	pc     uint64
	show   uint64 // pc, or what it is a displaced copy of
	cfa    uint64
	mod    int // -1: none
	bias   uint64
	inner  bool // where the thread is
	exact  bool // pc is an instruction to be run, not one that a call returns to
	behind bool // named by the instruction before pc
	signal bool
	stub   bool
	trust  Trust
	next   *phys // the caller
}

// lookup is the address that tables are asked about: a call that does not return may be the last
// instruction of its function.
func (p *phys) lookup() uint64 {
	if p.exact || p.show == 0 {
		return p.show
	}
	return p.show - 1
}

// Walk returns the stack of a thread with these registers; rip and rsp must be known.
func (u *Unwinder) Walk(regs Regs) Stack {
	w := walk{u: u, head: u.o.MaxFrames - u.o.MaxFrames/4, tail: u.o.MaxFrames / 4}
	cur := u.frame(regs, TrustCFI, true)
	cur.inner, cur.behind = true, u.o.Behind
	switches, scans := 0, 0
	for n := 0; ; n++ {
		next, end, reason := u.step(cur)
		if end == "" && n >= maxWalk {
			end, reason = EndLimit, fmt.Sprintf("there are more than %d frames", maxWalk)
		}
		if end == "" && u.o.Nearest > 0 && n+1 >= u.o.Nearest {
			end, reason = EndLimit, "no more were asked for"
		}
		if end == "" && next.trust == TrustScan {
			if scans++; scans > maxScans {
				end, reason = EndLimit, fmt.Sprintf("more than %d frames could only be guessed", maxScans)
			}
		}
		if end == "" && next.cfaBelow(cur) {
			if switches++; !cur.signal || switches > maxSwitches {
				end, reason = EndLoop, fmt.Sprintf("the next frame, at stack address %#x, would be below this one: the stack was "+
					"overwritten", next.regs.Val[regRSP])
			}
		}
		if end == "" {
			cur.next = next
		}
		w.add(cur)
		if end != "" {
			return w.stack(end, reason)
		}
		cur = next
	}
}

// cfaBelow reports whether the caller's stack pointer is not above the callee's.
func (p *phys) cfaBelow(callee *phys) bool {
	return p.regs.Val[regRSP] <= callee.regs.Val[regRSP]
}

// frame makes the frame that has these registers.
func (u *Unwinder) frame(regs Regs, trust Trust, exact bool) *phys {
	p := &phys{regs: regs, pc: regs.Val[regRIP], trust: trust, exact: exact}
	p.show = p.pc
	if u.o.Stub != nil {
		if original, in := u.o.Stub(p.pc); in && original != 0 {
			p.show, p.exact = original, true
		} else if in {
			p.stub = true
		}
	}
	if p.mod = u.module(p.lookup()); p.mod >= 0 {
		p.bias = u.mods[p.mod].Bias
	}
	return p
}

// module returns the number of the module that has pc, or -1.
func (u *Unwinder) module(pc uint64) int {
	i := sort.Search(len(u.mods), func(i int) bool { return u.mods[i].Lo > pc }) - 1
	if i < 0 || pc >= u.mods[i].Hi {
		return -1
	}
	return i
}

// isCode reports whether pc is in the code of a module, or in a stub of ours.
func (u *Unwinder) isCode(pc uint64) bool {
	if u.o.Stub != nil {
		if _, in := u.o.Stub(pc); in {
			return true
		}
	}
	i := u.module(pc)
	if i < 0 {
		return false
	}
	m := u.mods[i].Mod
	t, ok := u.text[m]
	if !ok {
		t.lo, t.hi = m.TextRange()
		u.text[m] = t
	}
	a := symbol.Addr(pc - u.mods[i].Bias)
	return a >= t.lo && a < t.hi
}

// walk collects frames and leaves out the middle of what is too long.
type walk struct {
	u          *Unwinder
	head, tail int // frames kept at either end
	first      []*phys
	last       []*phys // a ring once full
	at         int
	dropped    int // functions in frames left out
}

func (w *walk) add(p *phys) {
	switch {
	case p.stub:
	case len(w.first) < w.head:
		w.first = append(w.first, p)
	case len(w.last) < w.tail:
		w.last = append(w.last, p)
	default:
		old := w.last[w.at]
		w.dropped += w.u.count(old)
		old.next = nil // let go of what is between
		w.last[w.at] = p
		w.at = (w.at + 1) % len(w.last)
	}
}

func (w *walk) stack(end End, reason string) Stack {
	s := Stack{End: end, Reason: reason}
	for _, p := range w.first {
		s.Frames = w.u.expand(s.Frames, p)
	}
	before := len(s.Frames)
	for i := range w.last {
		s.Frames = w.u.expand(s.Frames, w.last[(w.at+i)%len(w.last)])
	}
	if over := len(s.Frames) - w.u.o.MaxFrames; over > 0 { // inlined functions made more of them
		before = min(before, w.head)
		s.Frames = slices.Delete(s.Frames, before, before+over)
		w.dropped += over
	}
	for i := range s.Frames {
		s.Frames[i].Index = i
		if i >= before {
			s.Frames[i].Index += w.dropped
		}
	}
	if s.Elided = w.dropped; s.Elided > 0 {
		s.Before = before
	}
	return s
}
