package hook

import "errors"

// ErrNeedsEnterOnly says that a function must not run below a frame of ours, because it uses its own
// return address or pops arguments irregularly: hook it with EnterOnly and RetTrap.
var ErrNeedsEnterOnly = errors.New("the function cannot run below another frame")

// Kind is what a stub does around the displaced instructions.
type Kind uint8

const (
	// CallThrough runs the function as a callee of the stub, between two calls of the agent:
	//
	//	push rbp; mov rbp,rsp
	//	push ID; call [EnterSlot]     the agent pops ID (ret 8); ZF clear says: no frame, only run it
	//	jne tail
	//	copy of the caller's stack arguments
	//	call relocated
	//	after: push ID; call [ExitSlot]
	//	leave; ret
	//	tail: leave
	//	relocated: displaced instructions; jmp back
	//
	// At the first call of the agent [rbp] is the caller's rbp and [rbp+8] the return address. At
	// relocated the stack has the alignment that it had at the function's entry.
	CallThrough Kind = iota
	// EnterOnly calls the agent and goes on, with no frame: push ID; call [EnterSlot]. At the
	// agent's entry [rsp+16] is the function's return address. The agent preserves the flags, too.
	// With an ExitSlot, a ret among the displaced instructions is preceded by push ID; call [ExitSlot],
	// since no RetTrap can be set on it. The stub does not know a branch back to the entry from a
	// call: the agent sees both, with the same stack pointer (Analysis.LoopsToEntry).
	EnterOnly
	// RetTrap stands for the ret at Spec.Ret: push ID; call [ExitSlot]; ret.
	RetTrap
	// TailTrap stands for the branch at Spec.Ret, which leaves the function: push TailID; call [ExitSlot]; the branch. A
	// conditional one calls the agent only where it is taken.
	TailTrap
	// Probe stands for any place (AnalyzeAt). It has no frame and leaves the red zone alone:
	//
	//	lea rsp,[rsp-128]; push ID; call [EnterSlot]     the agent keeps all registers and flags, and pops ID
	//	lea rsp,[rsp+128]
	//	relocated: displaced instructions; jmp back
	Probe
	// CopyOnly is only the displaced instructions and the jump back, for a tracer that meets an int3 at the place.
	CopyOnly
	// Go stands for the windows of a function of Go's: WriteGoStub.
	Go
)

// Spec says what stub to write for a function.
type Spec struct {
	Kind     Kind
	ID       uint32    // pushed for the agent, which sees it sign extended
	Code     []byte    // the function's bytes, unpatched
	Analysis *Analysis // of Code
	Ret      int       // RetTrap: offset of the ret, one of Analysis.Rets; TailTrap: of the branch, one of Tails
	TailID   uint32    // pushed for the agent where the function leaves by one of Tails
	Tails    []int     // EnterOnly: offsets of branches that leave the function

	// EnterSlot, ExitSlot and CopySlot are the addresses of 8-byte cells within 2 GiB of the stub
	// that hold the agent's entry points. CopySlot is used for more than InlineCopy bytes.
	EnterSlot, ExitSlot, CopySlot Addr

	// StackBytes is how many bytes of arguments the caller left on the stack, above the return
	// address; CallThrough copies them for the function. At most MaxStackBytes.
	StackBytes int

	// Moved says of instructions of the function that they run elsewhere: in the stub of another patch, which lies over
	// them. Probe and CopyOnly: so the displaced instructions branch and go on to there.
	Moved []Pair
}

const (
	// InlineCopy is the most bytes of arguments that a stub copies with push instructions.
	InlineCopy = 160
	// MaxStackBytes bounds Spec.StackBytes.
	MaxStackBytes = 1 << 20
)

// Stub says where the parts of a written stub are.
type Stub struct {
	Len       int
	Entry     Addr   // where a patch, or the tracer at an int3, goes
	Relocated Addr   // the first displaced instruction
	After     Addr   // return address of the call of the function; 0 unless CallThrough
	Map       []Pair // displaced instructions in order; then, where they run on, the byte behind them and the jump to it
}
