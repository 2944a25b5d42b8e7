package ptrace

import "golang.org/x/sys/unix"

// Debug registers: Intel SDM volume 3, 18.2. Slots 0 to 3 hold addresses, 6 tells what was met, 7 what is looked for.
const (
	DebugSlots   = 4
	debugStatus  = 6
	debugControl = 7
	debugRegsOff = 848 // offsetof(struct user, u_debugreg)
)

// DebugWatch is one address that the CPU looks for.
type DebugWatch struct {
	Addr  uint64
	Size  int  // 1, 2, 4 or 8, and Addr is a multiple of it
	Reads bool // reads count, too
	Runs  bool // code, met before it runs; Size is 1
}

// SetDebug makes a stopped thread stop with SIGTRAP (TrapHardware) behind an access to one of at most four places, or
// before it runs code there; Size 0 is none.
func SetDebug(tid int, watches [DebugSlots]DebugWatch) error {
	if err := pokeUser(tid, debugControl, 0); err != nil { // addresses change only while nothing is looked for
		return err
	}
	control := uint64(0)
	for i, w := range watches {
		if w.Size == 0 {
			continue
		}
		if err := pokeUser(tid, i, w.Addr); err != nil {
			return err
		}
		kind := uint64(1)
		if w.Reads {
			kind = 3
		}
		if w.Runs {
			kind = 0
		}
		length := map[int]uint64{1: 0, 2: 1, 4: 3, 8: 2}[w.Size]
		control |= 1<<(2*i) | (kind|length<<2)<<(16+4*i)
	}
	return pokeUser(tid, debugControl, control)
}

// DebugMet reports whether a stopped thread met any slot since DebugHits was last asked.
func DebugMet(tid int) bool {
	var v uint64
	err := ptraceData(unix.PTRACE_PEEKUSR, tid, debugRegsOff+8*debugStatus, &v)
	return err == nil && v&(1<<DebugSlots-1) != 0
}

// DebugHits returns which slots a stopped thread met, bit by bit, and forgets them.
func DebugHits(tid int) (uint64, error) {
	var v uint64
	if err := ptraceData(unix.PTRACE_PEEKUSR, tid, debugRegsOff+8*debugStatus, &v); err != nil {
		return 0, err
	}
	return v & (1<<DebugSlots - 1), pokeUser(tid, debugStatus, 0)
}

func pokeUser(tid, reg int, v uint64) error {
	return ptraceValue(unix.PTRACE_POKEUSR, tid, debugRegsOff+8*uintptr(reg), uintptr(v))
}
