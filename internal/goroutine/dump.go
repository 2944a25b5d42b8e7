package goroutine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/strobe-debug/strobe/internal/symbol"
)

// Dump is what a program's goroutines did at one moment.
type Dump struct {
	Goroutines []*Goroutine // the oldest first, those of the runtime too
	NotShown   int          // goroutines more than maxGoroutines
	Timers     []Timer      // that are due some day
	Busy       bool         // a processor runs Go code
}

// Status is the state of a goroutine, as the runtime names it.
type Status string

// The states. A goroutine that waits has its reason in Goroutine.Wait.
const (
	Runnable  Status = "runnable"
	Running   Status = "running"
	Syscall   Status = "syscall" // or in C code
	Waiting   Status = "waiting"
	Preempted Status = "preempted" // of a collection of garbage; it goes on
	Other     Status = "other"     // on its way from one to another
)

// Goroutine is one goroutine.
type Goroutine struct {
	ID       uint64
	Addr     symbol.Addr // of what the runtime has of it, in the process
	Status   Status
	Wait     string        // why it waits, as the runtime says: "chan send", "sync.Mutex.Lock"
	Channels []Channel     // that it waits for, in the order of their addresses; not those that are nil
	Until    time.Duration // when its sleep ends, on the monotonic clock of the system; 0: it does not sleep
	Thread   int           // that it holds, in a system call or running; 0: none
	System   bool          // the runtime's own
	Stack    []Frame       // innermost first, without the runtime's internals
	Lack     string        // why the stack is not whole
	Start    string        // its function
	Parent   uint64        // who created it; 0: nobody, or it is not known
	Creator  *Frame        // where
	Moved    bool          // it changed while it was read: it has no stack, and its state is that of the end

	sp, pc uint64
	lo, hi uint64 // of its stack
}

// State is the wait or the state, as a stack dump of the runtime has it.
func (g *Goroutine) State() string {
	if g.Status == Waiting && g.Wait != "" {
		return g.Wait
	}
	return string(g.Status)
}

// Channel is a Go channel.
type Channel struct {
	Addr     symbol.Addr // in the process
	Len, Cap uint64      // elements
	Closed   bool
}

// Frame is one function on a stack.
type Frame struct {
	Function string // shop.(*Queue).Push
	File     string // "" where it is not known
	Line     int
	Inlined  bool // into the next one

	added bool // by the compiler
}

// maxGoroutines bounds what is read of one program.
const maxGoroutines = 100_000

// Read reads all goroutines and timers while the program runs. errTorn and errors of memory: try again.
func (p *Program) Read() (*Dump, error) {
	list, more, err := p.pointers()
	if err != nil {
		return nil, err
	}
	d := &Dump{NotShown: more}
	r := &reader{p: p, spots: map[uint64]*spot{}}
	addrs := make(map[*Goroutine]uint64, len(list))
	for i, addr := range list {
		g, err := r.goroutine(addr)
		if err != nil {
			return nil, err
		}
		if i == 0 && (g == nil || g.ID != 1 || r.start(addr) != p.main) {
			return nil, errTorn
		}
		if g == nil {
			continue
		}
		addrs[g] = addr
		d.Goroutines = append(d.Goroutines, g)
	}
	for _, g := range d.Goroutines {
		r.waits(g, addrs[g])
		r.stack(g, addrs[g])
	}
	if err := r.timers(d); err != nil {
		return nil, err
	}
	sleeps := map[uint64]time.Duration{}
	for _, t := range d.Timers {
		if t.Wakes != 0 {
			sleeps[t.Wakes] = t.At
		}
	}
	for _, g := range d.Goroutines {
		g.Until = sleeps[addrs[g]]
		now, err := r.goroutine(addrs[g])
		switch {
		case err != nil:
			return nil, err
		case now == nil || now.ID != g.ID:
			g.Moved, g.Stack, g.Status, g.Wait = true, nil, Other, ""
		case now.Status != g.Status || now.Wait != g.Wait || now.sp != g.sp || now.pc != g.pc:
			g.Moved, g.Stack, g.Status, g.Wait = true, nil, now.Status, now.Wait
		}
		if g.Moved {
			g.Lack = "it runs"
		}
	}
	again, _, err := p.pointers()
	if err != nil {
		return nil, err
	}
	if len(again) != len(list) {
		return nil, errTorn
	}
	return d, nil
}

// errTorn is what is read while the program changes it.
var errTorn = errors.New("the program's goroutines change while they are read")

// pointers reads the runtime's list of goroutines, dead ones too.
func (p *Program) pointers() (list []uint64, more int, err error) {
	var head [24]byte
	if err := p.mem.Read(p.allgs, head[:]); err != nil {
		return nil, 0, fmt.Errorf("read the list of goroutines: %w", err)
	}
	at, n, room := binary.LittleEndian.Uint64(head[:]), binary.LittleEndian.Uint64(head[8:]),
		binary.LittleEndian.Uint64(head[16:])
	if at == 0 || n == 0 || n > room || room > 1<<32 {
		return nil, 0, errTorn
	}
	shown := min(n, maxGoroutines)
	b := make([]byte, 8*shown)
	if err := p.mem.Read(at, b); err != nil {
		return nil, 0, fmt.Errorf("read the list of goroutines: %w", err)
	}
	for i := range shown {
		list = append(list, binary.LittleEndian.Uint64(b[8*i:]))
	}
	return list, int(n - shown), nil
}

// States as the runtime counts them; the same in all versions.
const (
	stIdle, stRunnable, stRunning, stSyscall, stWaiting, stMoribund, stDead = 0, 1, 2, 3, 4, 5, 6
	stPreempted, stLeaked, stDeadExtra                                      = 9, 10, 11
	stScan                                                                  = 0x1000
)

// reader reads one dump.
type reader struct {
	p     *Program
	spots map[uint64]*spot // by program counter: threads stand at few places
}

func (r *reader) word(addr uint64) (uint64, error) {
	var b [8]byte
	if err := r.p.mem.Read(addr, b[:]); err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(b[:]), nil
}

// goroutine reads one; nil is one that has ended or has not begun.
func (r *reader) goroutine(addr uint64) (*Goroutine, error) {
	l := &r.p.layout
	if addr == 0 || addr%8 != 0 {
		return nil, errTorn
	}
	b := make([]byte, max(l.GStackHi, l.GSchedPC, l.GSyscallPC, l.GM, l.GStatus, l.GID, l.GWaitReason, l.GGopc, l.GStartpc,
		l.GWaiting, l.GParent)+8)
	if err := r.p.mem.Read(addr, b); err != nil {
		return nil, fmt.Errorf("read a goroutine: %w", err)
	}
	word := func(off uint32) uint64 { return binary.LittleEndian.Uint64(b[off:]) }
	status := binary.LittleEndian.Uint32(b[l.GStatus:]) &^ stScan
	if status == stIdle || status == stDead || status == stDeadExtra {
		return nil, nil
	}
	g := &Goroutine{ID: word(l.GID), Addr: symbol.Addr(addr), Parent: word(l.GParent), Status: Other, sp: word(l.GSchedSP),
		pc: word(l.GSchedPC)}
	switch status {
	case stRunnable:
		g.Status = Runnable
	case stRunning:
		g.Status = Running
	case stSyscall:
		g.Status, g.sp, g.pc = Syscall, word(l.GSyscallSP), word(l.GSyscallPC)
	case stWaiting, stLeaked:
		g.Status = Waiting
		if n := int(b[l.GWaitReason]); n < len(r.p.reasons) {
			g.Wait = r.p.reasons[n]
		}
	case stPreempted:
		g.Status = Preempted
	}
	if g.Status == Syscall || g.Status == Running {
		if m := word(l.GM); m != 0 {
			id, err := r.word(m + uint64(l.MProcID))
			if err != nil {
				return nil, fmt.Errorf("read a goroutine's thread: %w", err)
			}
			g.Thread = int(id)
		}
	}
	if g.lo, g.hi = word(l.GStackLo), word(l.GStackHi); g.lo >= g.hi || g.ID == 0 {
		return nil, errTorn
	}
	if f, ok := r.function(word(l.GStartpc)); ok {
		g.Start = r.p.table.name(f.field(1))
		g.System = IsSystem(g.Start, g.Wait)
	} else if g.ID != 0 && word(l.GStartpc) != 0 {
		return nil, errTorn
	}
	if f, ok := r.function(word(l.GGopc)); ok && g.ID != 1 {
		name := r.p.table.name(f.field(1))
		file, line := r.p.table.line(f, uint32(word(l.GGopc)-r.p.text)-1)
		if shown(name) {
			g.Creator = &Frame{Function: name, File: file, Line: line}
		}
	}
	return g, nil
}

// start is where a goroutine's function begins.
func (r *reader) start(g uint64) uint64 {
	pc, _ := r.word(g + uint64(r.p.layout.GStartpc))
	return pc
}

// IsSystem tells the runtime's own goroutines by their function. Those that call finalizers and cleanups are the
// program's while they do.
func IsSystem(start, wait string) bool {
	switch start {
	case "runtime.main", "runtime.handleAsyncEvent", "runtime.corostart":
		return false
	case "runtime.runfinq", "runtime.runFinalizers":
		return wait == "finalizer wait"
	case "runtime.runCleanups":
		return wait == "cleanup wait"
	}
	return strings.HasPrefix(start, "runtime.")
}

// maxChannels bounds what one select is told of.
const maxChannels = 64

// waits reads the channels that a goroutine waits for.
func (r *reader) waits(g *Goroutine, addr uint64) {
	l := &r.p.layout
	if g.Status != Waiting || !strings.HasPrefix(g.Wait, "chan ") && !strings.HasPrefix(g.Wait, "select") {
		return
	}
	s, err := r.word(addr + uint64(l.GWaiting))
	for n := 0; err == nil && s != 0 && n < maxChannels; n++ {
		var c uint64
		if c, err = r.word(s + uint64(l.SudogChan)); err != nil || c == 0 {
			return
		}
		b := make([]byte, max(l.ChanCount, l.ChanSize, l.ChanClosed)+8)
		if r.p.mem.Read(c, b) != nil {
			return
		}
		g.Channels = append(g.Channels, Channel{Addr: symbol.Addr(c), Len: binary.LittleEndian.Uint64(b[l.ChanCount:]),
			Cap: binary.LittleEndian.Uint64(b[l.ChanSize:]), Closed: binary.LittleEndian.Uint32(b[l.ChanClosed:]) != 0})
		s, err = r.word(s + uint64(l.SudogLink))
	}
}

// function finds the function of an address in the process.
func (r *reader) function(pc uint64) (function, bool) {
	if pc < r.p.text || pc >= r.p.etext || pc-r.p.text > 1<<32-1 {
		return function{}, false
	}
	return r.p.table.find(uint32(pc - r.p.text))
}
