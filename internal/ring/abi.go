package ring

// The ABI between the daemon and the agent in the target. This file is the one table:
// cmd in gen.go writes agent/ring_abi.h from it, and a test compares every offset with what the
// C compiler says. Version first; append only.

// Capture plan operations, executed by the agent at enter (over the argument registers) and at
// exit (over the return registers). Each op appends to the record's payload, always a multiple
// of 8 bytes.
//
// The payload begins with Plan.GPRs words: the first argument registers in order (rdi, rsi, rdx,
// rcx, r8, r9) at enter; rax, then rdx at exit. The ops follow in order: first those that append a
// fixed number of bytes, then OpEval, then those that make nodes. When all are done, the walk programs
// of the nodes run, in order, and append more nodes behind them.
const (
	OpEnd = 0
	OpReg = 1 // append the 8 bytes of general register Src (RegRAX…)
	OpXMM = 2 // append Size (8 or 16) low bytes of vector register Src
	// append Size bytes found at CFA+Off (CFA: the stack pointer before the call pushed the return address); rounded up to
	// 8
	OpStack = 3
	OpST0   = 4 // append 16 bytes: st(Src) as an 80-bit float, zero padded
	// node of Size bytes at *(payload+SrcOff)+Off, to be walked by the program whose ID is Slot|Dst<<8; Src 1: text, Src
	// 2: one pointer less deep
	OpRoot = 5
	// with Src 0: begin a node at address Off<<32|1<<63 to be walked by Slot|Dst<<8; with Src 1: copy Size bytes at
	// payload+SrcOff to its end; with Src 2: end it
	OpGather = 6
	OpEval   = 7  // append {u32 n, u32 status} and Size bytes: what the program at op SrcOff put out, n bytes of it
	OpSave   = 8  // keep the first 6 argument registers for the exit of this call
	OpSaved  = 9  // exit: append argument register Src (0 to 5) as it was at the enter, 0 where it was not kept
	OpWipe   = 10 // make Off bytes at payload+SrcOff zeros: they are a secret's
)

// Operations of walk programs. They have sixteen registers of 64 bits, zero at their start. In Op, A is Src,
// B is Slot, C is Dst, X is SrcOff, N is Size. base is where in the node at hand the program works: its start,
// or where a WalkSub moved it.
const (
	WalkLoad     = 16 // r[A] = N bytes (1, 2, 4, 8) at base+Off; X 1: sign-extended. Beyond the node: the program ends
	WalkLoadMem  = 17 // r[A] = N bytes at address r[B]+Off; X 1: sign-extended. Unreadable: the program ends
	WalkConst    = 18 // r[A] = X | N<<32
	WalkALU      = 19 // r[A] = r[B] op r[C], op in X
	WalkALUImm   = 20 // r[A] = r[B] op Off, op in X
	WalkJump     = 21 // go on Off ops behind the next one
	WalkJumpZero = 22 // the same if r[A] is 0
	WalkJumpNot  = 23 // the same if r[A] is not 0
	// node of min(r[B], N) bytes (B NoReg: N) at address r[A], to be walked by X; Off 1: one pointer deeper
	WalkNode  = 24
	WalkText  = 25 // the same up to a NUL
	WalkOpen  = 26 // begin a made node at base's address, to be walked by X
	WalkPush  = 27 // append r[A] to the made node
	WalkClose = 28 // end the made node
	WalkSub   = 29 // run program X at base+Off (B not NoReg: +r[B]), then go on
	WalkAddr  = 30 // r[A] = address of base+Off in the target
	WalkOut   = 31 // append r[A] to what OpEval puts out
	WalkFS    = 32 // r[A] = FS base + Off
	// r[A] = general register N as it was at this end of the call: arguments at enter, rax and rdx at exit; all at a point
	WalkReg  = 33
	WalkCFA  = 34 // r[A] = CFA + Off
	WalkInfo = 35 // r[A] = X 0: thread ID, 1: process ID, 2: bytes of the node at hand
	// WalkLoad of the 8 bytes at base+Off and WalkNode of N bytes there, with no register: X is the walk, and
	// FollowDeeper, FollowText
	WalkFollow = 36
	// r[A] = the word at base+Off, r[B] = (the word at base+X - r[A]) / N, unsigned. Beyond the node: the program ends
	WalkBetween = 37
	// WalkOpen for the low half of X, WalkPush of r[B] and r[A], WalkClose; then node of min(r[B] * Off, N) bytes at
	// r[A], to be walked by the high half of X; C 1: one pointer deeper
	WalkSpan = 38
	WalkWipe = 39 // make N bytes at base+Off zeros, as many of them as the node has
)

// Bits of a WalkFollow's X beside the walk.
const (
	FollowDeeper = 1 << 16 // one pointer deeper
	FollowText   = 1 << 17 // WalkText
)

// WalkEnds beside the first op of a program: all that it makes lies one pointer deeper.
const WalkEnds = 1 << 31

// WalkWipes beside the first op of a program: it has secrets to wipe. Where it does not come to its end its node is
// emptied.
const WalkWipes = 1 << 30

// NoReg as operand B of WalkNode, WalkText and WalkSub says that there is none.
const NoReg = 255

// What WalkALU and WalkALUImm compute. Division by 0 ends the program as an unreadable address does; shifts take
// 6 bits; comparisons give 0 or 1.
const (
	ALUAdd  = 0
	ALUSub  = 1
	ALUMul  = 2
	ALUUDiv = 3
	ALUSDiv = 4
	ALUURem = 5
	ALUSRem = 6
	ALUAnd  = 7
	ALUOr   = 8
	ALUXor  = 9
	ALUShl  = 10
	ALUShr  = 11
	ALUSar  = 12
	ALUEq   = 13
	ALUNe   = 14
	ALUULt  = 15
	ALUSLt  = 16
	ALUULe  = 17
	ALUSLe  = 18
)

// Node is the head of a node: N bytes follow, rounded up to 8; before the text of a cut one a u64 with its whole
// length (1<<63 set: at least).
type Node struct {
	Addr   uint64
	N      uint32
	Walk   uint16
	Depth  uint8 // pointers followed from the argument or result to it
	Status uint8
}

// NodeBytes is the size of a Node.
const NodeBytes = 16

// Limits on walks: of one record, and of a session's programs.
const (
	MaxNodes = 1000
	MaxSteps = 20000
	MaxWalks = 1 << 16
)

// Status of a followed pointer. n is 0 unless StatusOK or StatusCut.
const (
	StatusOK         = 0
	StatusNull       = 1
	StatusUnreadable = 2
	StatusCut        = 3 // text: longer than asked for
	StatusNoRoom     = 4 // the record was full
)

// Op is one operation of a capture plan: 16 bytes in the agent's memory, little endian, in this order.
type Op struct {
	Code   uint8
	Src    uint8
	Slot   uint8
	Dst    uint8
	SrcOff uint32
	Off    int32
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
	Depth     int       // pointers that walks follow, 1 to 10
	Programs  []Program // of the OpEvals, whose SrcOff is the index here
}

// Program is what an OpEval runs. Relocate, if not nil, returns the operations with the addresses of the process that
// they are installed in, given the load bias of each module (*symbol.Module), or says why it cannot.
type Program struct {
	Ops      []Op
	Relocate func(bias func(module any) (uint64, bool)) ([]Op, error)
}

// MaxPayload bounds one record's payload in bytes, so that a record always fits a ring.
const MaxPayload = 16384
