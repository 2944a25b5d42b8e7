package snapshot

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/strobe-debug/strobe/internal/unwind"
	"github.com/strobe-debug/strobe/internal/value"
	"golang.org/x/arch/x86/x86asm"
)

// Signal is what a thread was about to receive, in the kernel's words (sigaction(2)).
type Signal struct {
	Number int
	Code   int32
	Addr   uint64 // si_addr, of those that an instruction raised
	PID    int    // of those that a process sent
	Sender string // the command of that process, if it is another one
	Call   int32  // SIGSYS: the system call's number
	Bare   bool   // only the number is known
}

// Name is SIGSEGV and so on.
func (s *Signal) Name() string {
	if n := s.Number; n > 0 && n < len(signalNames) && signalNames[n] != "" {
		return signalNames[n]
	}
	return fmt.Sprintf("signal %d", s.Number)
}

// raised reports a signal that the thread's own instruction raised.
func (s *Signal) raised() bool { return s.Code > 0 }

// Values of si_code.
const (
	siKernel     = 0x80
	segvMapErr   = 1
	segvAccErr   = 2
	segvPkuErr   = 4
	busAdrAln    = 1
	busAdrErr    = 2
	busObjErr    = 3
	fpeIntDiv    = 1
	fpeIntOvf    = 2
	fpeFltDiv    = 3
	fpeFltInv    = 7
	sysSeccomp   = 1
	trapTrace    = 2
	siQueue      = -1
	siTkill      = -6
	siUser       = 0
	nullPage     = 64 << 10 // nothing is mapped below mmap_min_addr
	guardReach   = 1 << 20  // how far below a stack an access still belongs to it
	frameReach   = 4 << 30  // how large one frame is thought to be
	stackNear    = 1 << 20  // how far the stack pointer is from an access that is the stack's
	canonicalTop = 1 << 47
)

var codeNames = map[int]map[int32]string{
	sigSEGV: {segvMapErr: "SEGV_MAPERR", segvAccErr: "SEGV_ACCERR", segvPkuErr: "SEGV_PKUERR", 10: "SEGV_CPERR"},
	sigBUS:  {busAdrAln: "BUS_ADRALN", busAdrErr: "BUS_ADRERR", busObjErr: "BUS_OBJERR", 4: "BUS_MCEERR_AR"},
	sigFPE: {fpeIntDiv: "FPE_INTDIV", fpeIntOvf: "FPE_INTOVF", fpeFltDiv: "FPE_FLTDIV", 4: "FPE_FLTOVF", 5: "FPE_FLTUND",
		6: "FPE_FLTRES", fpeFltInv: "FPE_FLTINV", 8: "FPE_FLTSUB"},
	sigILL:  {1: "ILL_ILLOPC", 2: "ILL_ILLOPN", 3: "ILL_ILLADR", 4: "ILL_ILLTRP", 5: "ILL_PRVOPC", 6: "ILL_PRVREG"},
	sigTRAP: {1: "TRAP_BRKPT", trapTrace: "TRAP_TRACE", 4: "TRAP_HWBKPT"},
	sigSYS:  {sysSeccomp: "SYS_SECCOMP"},
}

func (s *Signal) codeName() string {
	if s.Bare {
		return ""
	}
	if n := codeNames[s.Number][s.Code]; n != "" {
		return n
	}
	switch s.Code {
	case siKernel:
		return "SI_KERNEL"
	case siTkill:
		return "SI_TKILL"
	case siUser:
		return "SI_USER"
	case siQueue:
		return "SI_QUEUE"
	}
	return fmt.Sprint(s.Code)
}

// fault is what a signal means.
type fault struct {
	class  string // null-pointer, stack-overflow, …
	words  string
	access string // read, write, execute, or "" where it is not known
	addr   uint64
	has    bool // addr is known
}

// Classes of crashes. They are part of the interface: crash events have one as "class".
const (
	classNull       = "null-pointer"
	classUnmapped   = "unmapped-address"
	classWild       = "wild-pointer"
	classProtection = "protection"
	classExec       = "execute-data"
	classOverflow   = "stack-overflow"
	classGuard      = "guard-page"
	classMisaligned = "misaligned-address"
	classBus        = "bus-error"
	classDivide     = "division-by-zero"
	classArithmetic = "arithmetic"
	classIllegal    = "illegal-instruction"
	classTrap       = "trap"
	classAbort      = "abort"
	classException  = "uncaught-exception"
	classSyscall    = "forbidden-system-call"
	classLimit      = "resource-limit"
	classSent       = "sent"
	classUnknown    = "unknown" // a core that has the signal and nothing else of it
	classPanic      = "panic"
	classTerminate  = "terminate"
	classAlive      = "alive"
)

// explain says what a signal means to the thread that receives it.
func (p *Process) explain(s *Signal, th *Thread) fault {
	if s.Bare {
		return fault{class: classUnknown, words: s.Name() + "; the core does not tell its cause or the address"}
	}
	if !s.raised() && s.Number != sigABRT {
		w := sentBy(s, p.PID)
		if w == "" && s.Number == sigXFSZ { // the kernel sends it in the process's own name
			return fault{class: classLimit, words: "a file would have grown beyond the limit (RLIMIT_FSIZE)"}
		}
		if w == "" {
			w = "the program itself (kill, raise or sigqueue)"
		}
		return fault{class: classSent, words: fmt.Sprintf("%s, sent by %s", s.Name(), w)}
	}
	in := p.instruction(th)
	switch s.Number {
	case sigSEGV:
		return p.segv(s, th, in)
	case sigBUS:
		return p.bus(s, th, in)
	case sigFPE:
		return p.fpe(s, th, in)
	case sigILL:
		return p.ill(th, in)
	case sigTRAP:
		if s.Code == trapTrace {
			return fault{class: classTrap, words: "a single step that the program itself asked for (the trap flag)"}
		}
		return fault{class: classTrap, words: "a breakpoint instruction of the program's own (int3): a debug trap or a " +
			"failed check"}
	case sigABRT:
		if w := sentBy(s, p.PID); w != "" {
			return fault{class: classSent, words: "SIGABRT, sent by " + w}
		}
		return fault{class: classAbort, words: "the program called abort, or a check in a library did"}
	case sigSYS:
		return fault{class: classSyscall, words: fmt.Sprintf("system call %d is forbidden to the program (seccomp)", s.Call)}
	case sigXCPU:
		return fault{class: classLimit, words: "the program used more CPU time than its limit (RLIMIT_CPU)"}
	}
	return fault{class: classSent, words: s.Name()}
}

// sentBy names the process that sent a signal, "" where it was the receiver itself or the kernel.
func sentBy(s *Signal, pid int) string {
	if s.Code > 0 || s.PID == pid || s.PID == 0 {
		return ""
	}
	if s.Sender != "" {
		return fmt.Sprintf("process %d (%s)", s.PID, s.Sender)
	}
	return fmt.Sprintf("process %d", s.PID)
}

func (p *Process) segv(s *Signal, th *Thread, in *x86asm.Inst) fault {
	pc, _ := th.Regs.Get(16)
	if s.Code == siKernel {
		return p.generalProtection(in, th)
	}
	f := fault{addr: s.Addr, has: true, access: accessOf(in, s.Addr, th)}
	if s.Addr == pc {
		f.access = "execute"
	} else if f.access == "" {
		f.access = "read"
	}
	at := fmt.Sprintf("%s of address 0x%x", f.verb(), s.Addr)
	if p.overflows(s.Addr, th) {
		f.class, f.words = classOverflow, fmt.Sprintf("stack overflow: %s, below the end of the thread's stack", at)
		return f
	}
	if below := p.beyondStack(s.Addr, th); below > 0 {
		f.class = classOverflow
		f.words = fmt.Sprintf("stack overflow: %s; the stack pointer is %d KB below the end of the thread's stack: a very "+
			"large local variable, or alloca", at, below>>10)
		return f
	}
	m := p.mapping(s.Addr)
	switch {
	case s.Addr < nullPage && m == nil:
		f.class = classNull
		f.words = "null pointer: " + at
		if f.access == "execute" {
			f.words = fmt.Sprintf("null function pointer: call of address 0x%x", s.Addr)
		} else if s.Addr > 0 {
			f.words += fmt.Sprintf(" (%d bytes past null: a member or element of a null object)", s.Addr)
		}
	case m == nil:
		f.class = classUnmapped
		f.words = at + ": nothing is mapped there (freed, or never valid)" + p.near(s.Addr)
	case s.Code == segvPkuErr:
		f.class, f.words = classProtection, at+": a protection key forbids it"
	case f.access == "execute":
		f.class, f.words = classExec, fmt.Sprintf("call of or jump to address 0x%x in %s, which is not code", s.Addr,
			m.what())
	case !m.Read && !m.Write && !m.Exec:
		f.class, f.words = classGuard, at+": it lies in a guard page, or memory that was made inaccessible ("+m.what()+")"
	case f.access == "write" || m.Read && !m.Write:
		f.class, f.access = classProtection, "write"
		f.words = fmt.Sprintf("write to address 0x%x, which is read-only (%s)", s.Addr, m.what())
	default:
		f.class, f.words = classProtection, at+": the memory does not allow it ("+m.what()+")"
	}
	return f
}

func (f *fault) verb() string {
	switch f.access {
	case "write":
		return "write"
	case "execute":
		return "execution"
	case "":
		return "use"
	}
	return f.access
}

// what describes a mapping.
func (m *Mapping) what() string {
	switch {
	case m.Path == "" && m.Exec:
		return "anonymous code"
	case m.Path == "":
		return "anonymous memory"
	case m.Path == "[heap]":
		return "the heap"
	case m.Path == "[stack]":
		return "the main thread's stack"
	case strings.HasPrefix(m.Path, "["):
		return m.Path
	case m.Exec:
		return "the code of " + filepath.Base(m.Path)
	case !m.Write:
		return "constants of " + filepath.Base(m.Path)
	}
	return "data of " + filepath.Base(m.Path)
}

// near says what lies next to an address where nothing is, if that is close.
func (p *Process) near(addr uint64) string {
	const close = 1 << 20
	for i := range p.Maps {
		m := &p.Maps[i]
		if addr >= m.Hi && addr-m.Hi < close {
			return fmt.Sprintf(", 0x%x bytes behind %s", addr-m.Hi, m.what())
		}
		if addr < m.Lo && m.Lo-addr < close {
			return fmt.Sprintf(", 0x%x bytes before %s", m.Lo-addr, m.what())
		}
	}
	return ""
}

// overflows reports an access that ran off the lower end of the thread's stack.
func (p *Process) overflows(addr uint64, th *Thread) bool {
	sp, ok := th.Regs.Get(7)
	if !ok || addr > sp+stackNear || addr+stackNear < sp {
		return false
	}
	for i := range p.Maps {
		m := &p.Maps[i]
		if !m.Write || addr >= m.Lo || m.Lo-addr > guardReach {
			continue
		}
		if m.Path != "[stack]" && (sp >= m.Hi || sp+guardReach < m.Lo) {
			continue
		}
		if m.Path == "[stack]" {
			return true
		}
		// Another thread's stack, or one of the program's own: a guard page lies below it.
		g := p.mapping(addr)
		return g != nil && !g.Read && !g.Write &&
			(th.FS == 0 || th.FS >= m.Lo && th.FS < m.Hi+guardReach || sp < m.Lo+guardReach)
	}
	return false
}

// beyondStack says by how much the stack pointer itself has left the thread's stack, where an access of what it should
// be is what failed: one frame is larger than what was left. 0: it has not.
func (p *Process) beyondStack(addr uint64, th *Thread) uint64 {
	const redZone = 256 // below the stack pointer a function without calls keeps 128 bytes, and a call pushes
	sp, ok := th.Regs.Get(7)
	if at := p.mapping(sp); !ok || at != nil && at.Write {
		return 0
	}
	for i := range p.Maps {
		m := &p.Maps[i]
		// the C library puts what FS names on top
		own := m.Path == "[stack]" && th.TID == p.PID || th.TID != p.PID && th.FS >= m.Lo && th.FS < m.Hi
		if m.Write && own && sp < m.Lo && m.Lo-sp < frameReach && addr+redZone >= sp && addr < m.Lo {
			return m.Lo - sp
		}
	}
	return 0
}

func (p *Process) bus(s *Signal, th *Thread, in *x86asm.Inst) fault {
	f := fault{class: classBus, addr: s.Addr, has: s.Code != siKernel, access: accessOf(in, s.Addr, th)}
	m := p.mapping(s.Addr)
	switch {
	case s.Code == busAdrAln:
		f.words = fmt.Sprintf("%s of address 0x%x, which is not aligned as it must be", f.verb(), s.Addr)
	case s.Code == siKernel:
		f.words = "an address that the stack segment cannot have was used, or one that is not aligned"
	case m != nil && m.Path != "":
		f.words = fmt.Sprintf("%s of address 0x%x, which is mapped to %s behind the end of that file: it was truncated, or "+
			"is shorter than what was mapped", f.verb(), s.Addr, m.Path)
	default:
		f.words = fmt.Sprintf("%s of address 0x%x failed: no memory is behind it", f.verb(), s.Addr)
	}
	return f
}

func (p *Process) fpe(s *Signal, th *Thread, in *x86asm.Inst) fault {
	switch s.Code {
	case fpeIntDiv:
		if v, ok := p.divisor(in, th); ok && v != 0 {
			return fault{class: classArithmetic, words: fmt.Sprintf(
				"integer division overflow: the quotient of a division by %d does not fit (the smallest integer by -1, say)", v)}
		}
		return fault{class: classDivide, words: "integer division by zero"}
	case fpeIntOvf:
		return fault{class: classArithmetic, words: "integer overflow"}
	case fpeFltDiv:
		return fault{class: classDivide, words: "floating-point division by zero"}
	case fpeFltInv:
		return fault{class: classArithmetic, words: "invalid floating-point operation"}
	}
	return fault{class: classArithmetic, words: "arithmetic exception"}
}

func (p *Process) ill(th *Thread, in *x86asm.Inst) fault {
	pc, _ := th.Regs.Get(16)
	f := fault{class: classIllegal, addr: pc, has: true, words: fmt.Sprintf("illegal instruction at 0x%x", pc)}
	var b [2]byte
	if check, ok := failedCheck(in); ok {
		f.words = "a check that the compiler put there failed" + check + " (ud1: UndefinedBehaviorSanitizer with traps)"
	} else if p.Mem.Read(pc, b[:]) == nil && b == [2]byte{0x0f, 0x0b} {
		f.words = "the program ran into ud2: __builtin_trap, a failed check, or code that the compiler holds to be " +
			"unreachable"
	} else if m := p.mapping(pc); m == nil || !m.Exec || m.Path == "" {
		f.words += ", which is no code of the program"
	} else if in != nil {
		f.words += fmt.Sprintf(" (%s), which this processor does not have", strings.ToLower(in.Op.String()))
	}
	return f
}

// registers shows a thread's registers.
func registers(r *unwind.Regs) (out value.Object) {
	names := [...]string{"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12", "r13",
		"r14", "r15", "rip"}
	for _, i := range []int{16, 7, 6, 0, 3, 2, 1, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15} {
		if v, ok := r.Get(i); ok {
			out = append(out, value.Member{Name: names[i], Value: value.NewText(hex(v))})
		}
	}
	return out
}
