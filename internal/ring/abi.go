package ring

// The ABI between the daemon and the agent in the target. This file is the one table:
// cmd in gen.go writes agent/ring_abi.h from it, and a test compares every offset with what the
// C compiler says. Version first; append only.

// Capture plan operations, executed by the agent at enter (over the argument registers) and at
// exit (over the return registers). Each op appends to the record's payload, always a multiple
// of 8 bytes.
//
// The payload begins with Plan.GPRs words: the first argument registers in order (rdi, rsi, rdx,
// rcx, r8, r9) at enter; rax, then rdx at exit. The ops follow in order.
const (
	OpEnd   = 0
	OpReg   = 1 // append the 8 bytes of general register Src (RegRAX…)
	OpXMM   = 2 // append Size (8 or 16) low bytes of vector register Src
	OpStack = 3 // append Size bytes found at CFA+Off (CFA: the stack pointer before the call pushed the return address); rounded up to 8
	OpST0   = 4 // append 16 bytes: st(Src) as an 80-bit float, zero padded
	OpMem   = 5 // append {u32 n, u32 status} and n bytes, rounded up to 8, found at *pointer + Off, at most Size
	OpCStr  = 6 // append {u32 n, u32 status} and n bytes up to a NUL, rounded up to 8, at most Size; status StatusCut has the true length, if known, in a following u64
)

// Where OpMem and OpCStr find their pointer: the 8 bytes at payload offset SrcOff of Slot.
// Slot 0 is the whole payload; OpMem with Dst=k makes the bytes that it copied slot k (1..15),
// so plans can follow pointers to any depth.

// Status of a followed pointer. n is 0 unless StatusOK or StatusCut.
const (
	StatusOK         = 0
	StatusNull       = 1
	StatusUnreadable = 2
	StatusCut        = 3 // OpCStr only: longer than Size; a u64 with the length follows the text (1<<63 set: at least)
	StatusNoRoom     = 4 // the record was full
)

// Op is one operation of a capture plan: 16 bytes in the agent's memory, little endian, in this order.
type Op struct {
	Code   uint8
	Src    uint8  // register number
	Slot   uint8  // OpMem, OpCStr: where SrcOff counts from
	Dst    uint8  // OpMem: slot to remember, 0 for none
	SrcOff uint32 // offset of the pointer in the slot
	Off    int32  // added to the pointer or the CFA
	Size   uint32
}

// Register numbers for OpReg, in DWARF's x86-64 numbering.
const (
	RegRAX = 0
	RegRDX = 1
	RegRCX = 2
	RegRBX = 3
	RegRSI = 4
	RegRDI = 5
	RegRBP = 6
	RegR8  = 8
	RegR9  = 9
	RegR10 = 10
	RegR11 = 11
)

// Plan says what the agent records for one function.
type Plan struct {
	EnterGPRs int // 0..6 argument registers at the payload's start
	ExitGPRs  int // 0..2: rax, rdx
	Enter     []Op
	Exit      []Op
	EnterVec  bool // ops read xmm0-7
	ExitVec   bool // ops read xmm0-1 or st
	MaxEnter  int  // upper bound of the payload's size in bytes, multiple of 8
	MaxExit   int
}

// MaxPayload bounds one record's payload in bytes, so that a record always fits a ring.
const MaxPayload = 16384
