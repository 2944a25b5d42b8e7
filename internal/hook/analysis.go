package hook

import "github.com/strobe-debug/strobe/internal/symbol"

// Addr is an address in the target.
type Addr = symbol.Addr

// Patch says how a function can be hooked.
type Patch uint8

// The ways to hook a function.
const (
	PatchNone  Patch = iota // not at all: Analysis.Reason says why
	PatchTrap               // one byte, int3, at Addr+Off; the tracer sends the thread to the stub
	PatchJump               // five bytes, jmp rel32, at Addr+Off
	PatchShort              // two bytes, jmp rel8, at Addr+Off, to five bytes, jmp rel32, in padding at Addr+Island
)

// String returns none, trap, jump or short.
func (p Patch) String() string {
	switch p {
	case PatchJump:
		return "jump"
	case PatchShort:
		return "short"
	case PatchTrap:
		return "trap"
	}
	return "none"
}

// Options adds what the caller knows about a function to what its bytes say.
type Options struct {
	// Targets are addresses, ascending, that code outside the function jumps to: Analysis.Jumps of
	// other functions, symbols inside this one, handlers of exceptions. It may be one list for a whole module.
	Targets []Addr
	// Data returns read-only data of the module from an address on, as much as there is; nil where there is none. With it
	// the tables of switches are read.
	Data func(Addr) []byte
	// InCode reports whether an address is one of code.
	InCode func(Addr) bool
	// NoRedZone says that the compiler keeps no data below the stack pointer: Go.
	NoRedZone bool
}

// MaxDisplaced bounds the instructions and the bytes that a patch displaces: the fifth byte of the
// window may be the first of an instruction of the greatest length.
const (
	maxDisplaced      = 5
	maxDisplacedBytes = jumpLen - 1 + maxInstLen
)

// Analysis is what the bytes of one function say about hooking it. Offsets count from Addr.
type Analysis struct {
	Addr   Addr
	Size   int    // bytes of the function, without padding
	Patch  Patch  // the way to hook it
	Reason string // why not PatchJump

	Off       int // where the patch goes: behind endbr64, if the function begins with one
	Displaced int // bytes of whole instructions from Off that the stub runs instead
	PatchLen  int // bytes that the patch overwrites from Off: 5, 2, 1 or 0
	Island    int // PatchShort: where five bytes are padding that nothing leads to
	Padded    bool
	Place     bool // by AnalyzeAt

	// LoopsToEntry: a branch inside the function leads back to the patch, or may do so through a
	// jump table. The stub checks for it.
	LoopsToEntry bool
	// UsesReturn: the function reads, pops or replaces its own return address (setjmp, vfork,
	// get_pc_thunk, dlsym, _start), as far as its prologue shows. It must not be given a frame
	// of ours: use EnterOnly, and RetTrap for the exits.
	UsesReturn bool
	// RedZone: the function keeps data below the stack pointer.
	RedZone bool
	// EndsInCall: the last displaced instruction is a call, which returns behind the window.
	EndsInCall bool

	IndirectJumps int    // all jmp r/m
	TableJumps    int    // those that may be jump tables: not clearly tail calls
	Rets          []int  // offsets of the near returns
	RetPop        int    // bytes that the returns pop (ret imm16), -1 where they differ
	Jumps         []Addr // targets of direct jumps out of the function: tail calls, cold parts
	Tails         []Tail // branches that leave the function, in order

	bounds  [maxDisplaced]uint8 // starts of the displaced instructions, from Off
	nbounds uint8
}

// Tail is a branch out of a function: a tail call, or a jump to a part of its own elsewhere.
type Tail struct {
	Off int
	To  Addr // 0: through a pointer
}

// Boundaries returns the offsets, from Addr, of the displaced instructions.
func (a *Analysis) Boundaries() []int {
	out := make([]int, a.nbounds)
	for i := range out {
		out[i] = a.Off + int(a.bounds[i])
	}
	return out
}

// Site returns the address that the patch overwrites.
func (a *Analysis) Site() Addr { return a.Addr + Addr(a.Off) }
