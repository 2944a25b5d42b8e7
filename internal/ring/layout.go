package ring

// The shared region, offsets from its start:
//
//	0             CodeBytes    the agent's code (read+execute in the target)
//	ControlOff    Control
//	HooksOff      MaxHooks × Hook
//	OpsOff        MaxOps × Op
//	WalksOff      MaxWalks × uint32          first op of each walk program by ID, 0 none
//	ThreadsOff    ThreadSlots × ThreadSlot   open-addressing hash by FS base
//	StatesOff     MaxRings × uint32          RingFree, RingUsed, RingDead
//	PointsOff     MaxPoints × Point
//	LossesOff     LossShards × MaxHooks × Loss  what was dropped of each hook
//	GoOpenOff     GoOpen × uint64            calls of Go functions of which few are recorded: those that are, open
//	LocksOff      Locks, MaxLockEdges × LockEdge, MaxLockWaits × LockWait (locks.go)
//	RingsOff      Control.RingCount × (Header page, Control.RingBytes of data)
//
// All of it is one sparse memfd; only touched pages exist.
const (
	Magic   = 0x65626f727453_0001
	Version = 1

	CodeBytes   = 0xc000
	ControlOff  = CodeBytes
	HooksOff    = 0x14000
	MaxHooks    = 1 << 18
	OpsOff      = HooksOff + MaxHooks*32
	MaxOps      = 1 << 20
	WalksOff    = OpsOff + MaxOps*16
	ThreadsOff  = WalksOff + MaxWalks*4
	ThreadSlots = 1 << 13
	StatesOff   = ThreadsOff + ThreadSlots*16
	MaxRings    = 1 << 12
	PointsOff   = StatesOff + MaxRings*4
	MaxPoints   = 1 << 10
	PointShards = 16
	LossesOff   = PointsOff + MaxPoints*(64+PointShards*64)
	LossShards  = 4
	GoOpenOff   = LossesOff + LossShards*MaxHooks*16
	GoOpen      = 1 << 12
	LocksOff    = (GoOpenOff + GoOpen*8 + 4095) &^ 4095
	RingsOff    = LockWaitsOff + MaxLockWaits*LockWaitBytes
	HeaderBytes = 28672 + GoStackBytes
	// GoStackBytes is the stack at the end of each header on which the agent runs for a function of Go's: a goroutine has
	// but a few hundred bytes left.
	GoStackBytes = 16384
	MaxArenas    = 16
	MaxUnwind    = 8
	ObjBytes     = 64 // storage that an unwinder wants per registration
)

// Record kinds.
const (
	RecEnter   = 1
	RecExit    = 2
	RecDropped = 3 // payload: Header.LostTotal by then, first tsc, last tsc
	RecPad     = 4 // to the ring's end
	RecPoint   = 5 // a logpoint: what its message shows
	// a condition that could not be evaluated: payload: how often by now, the address that could not be read or 0
	RecFailed = 6
)

// RecOutput is a record of what was written to descriptor 1 or 2: an Output, and the bytes.
const RecOutput = 7

// RecWrote is a record of a write to one of the files that the daemon reads: a Wrote. What was written comes by the
// file.
const RecWrote = 8

// Wrote says what one system call put into a file of ours.
type Wrote struct {
	Stream uint32 // 1 or 2
	Known  uint32 // bytes of Head and of Tail
	N      uint64 // bytes that the kernel took
	Head   [WrotePrint]uint8
	Tail   [WrotePrint]uint8
}

// WrotePrint is how much of a write's beginning and of its end is kept, to find it among what came.
const WrotePrint = 32

// How the registers of a system call tell what it writes: Hook.EnterGPRs of a hook with HookOutput behind one.
const (
	WriteBytes  = 0 // rdi the file, rsi the bytes
	WriteVector = 1 // rdi the file, rsi and rdx a vector
	WriteFile   = 2 // rdi the file; what is written is not in memory
	WriteSplice = 3 // the same, rdx the file
	WriteTee    = 4 // the same, rsi the file
)

// WriteNone is that of one that does not write.
const WriteNone = 255

// RecSocket is a record of a call that did something to a socket: a Socket, then the addresses, the bytes and the
// frames that it counts, each filled up to 8 bytes.
const RecSocket = 9

// Socket says what one system call, or one call of a TLS library, did. How an address looks: struct sockaddr.
type Socket struct {
	NR     uint32 // of the system call, or of a TLS library's function (see the TLS constants)
	Local  uint8  // bytes of the socket's own address
	Peer   uint8  // bytes of the other's
	Fresh  uint8  // nothing was known of the descriptor before
	Pad    uint8
	Head   uint32 // of the bytes that were sent or came, so many of the first
	Part   uint32 // of sendmmsg and recvmmsg: which message, from 1 on
	From   uint64 // clock at the call's begin; 0: not known
	Result int64
	Args   [4]uint64
	Frames uint32 // of HTTP/2, behind the first bytes: so many of what is no payload that FrameKinds leaves out
	Pad2   uint32
}

// FrameKinds has a bit for each kind of HTTP/2's frames that is recorded whole: those with headers, and how a stream or
// a connection ends. MaxFrames bounds Socket.Frames, MaxFrameCount how many frames of one call are looked at.
const (
	FrameKinds    = 1<<1 | 1<<3 | 1<<5 | 1<<7 | 1<<9
	MaxFrames     = 4096
	MaxFrameCount = 128
)

// Functions of TLS libraries, as Socket.NR. Hook.Hot has them.
const (
	TLSWrite   = 1001 // SSL_write(ssl, bytes, n)
	TLSRead    = 1002
	TLSWriteEx = 1003 // SSL_write_ex(ssl, bytes, n, &done)
	TLSReadEx  = 1004
)

// MaxSocketHead bounds Control.SocketHead, SocketFDs are the descriptors of which the agent remembers whether they are
// sockets, and MaxSockAddr is more than any address has that is recorded.
const (
	MaxSocketHead = 4096
	SocketFDs     = 16384
	MaxSockAddr   = 112
)

// What Control.SocketFD says of a descriptor.
const (
	FDUnknown = 0
	FDSocket  = 1
	FDOther   = 2
)

// SpareBytes of each ring are left to records of writes when it is full of calls.
const SpareBytes = 8192

// How much of one write is recorded: so many records of at most so many bytes. A stop for a signal in the midst of it
// has to be short.
const (
	OutputChunk  = 16 << 10
	OutputChunks = 32
)

// Output is what precedes the bytes of a RecOutput.
type Output struct {
	FD   uint32
	N    uint32
	More uint64 // bytes of the same write, behind these, that are not recorded
}

// Record flags.
const (
	RecTail      = 1 // enter: reached by a tail call from a hooked function; exit: left by a tail call
	RecTruncated = 2
	RecSampled   = 4 // enter: one of many calls
)

// GoSP is Record.SP of a function of Go's: the goroutine's ID, 0 on the runtime's own stacks, above GoDepthBits bits
// that fall as its stack grows, by one for 8 bytes.
func GoSP(sp uint64) (goid, depth uint64) { return sp >> GoDepthBits, sp & (1<<GoDepthBits - 1) }

// GoDepthBits and the registers that Go passes integers in.
const (
	GoDepthBits = 28
	GoRegs      = 9
)

// TailID marks the hook ID that a stub gives the agent where a function without a frame leaves by a tail call: ID |
// TailID.
const TailID = 1 << 30

// RecordBytes is the size of a record's header. Fewer bytes than this before the ring's end are skipped.
const RecordBytes = 24

// Ring states, in the state array.
const (
	RingFree = 0
	RingUsed = 1 // by the thread in Header.TID
	RingDead = 2 // its thread has ended; the daemon frees it when drained
)

// Control flags.
const (
	FlagBlock  = 1   // full rings make the target wait, for WaitTicks; then not threads of a real-time policy
	FlagFSGS   = 2   // rdfsbase may be used
	FlagFS0    = 16  // the word at %fs:0 is the FS base, as the ABI has it once the C library runs: cheaper than rdfsbase
	FlagShadow = 8   // shadow stacks are in use: unwinders count every frame
	FlagByTID  = 32  // another process uses this memory: threads are told apart by their IDs, as two may have one FS base
	FlagQuiet  = 64  // system calls may be forbidden to the program: none is made but those that it makes itself
	FlagSocket = 128 // calls that do something to sockets are recorded
	FlagTSC    = 4   // rdtsc counts at a constant rate on all CPUs; else clock_gettime
)

// Hook flags: hooks that belong to Strobe itself and make no records.
const (
	HookSync    = 1  // tell the daemon that the loader's list of modules changed, and wait
	HookLeave   = 4  // the program is about to trace itself: let it go
	HookFindFDE = 8  // libgcc's _Unwind_Find_FDE: take the stubs' frames out of its walk; index in EnterOps
	HookPoint   = 16 // a row of a point: see Hook
	HookPause   = 32 // of a breakpoint: the tracer pauses the thread
	HookOff     = 64 // of a point that is not in force: only those behind it count
	// of write (EnterGPRs 0) or writev (1): record what goes to descriptors 1 and 2; of a probe behind a system call:
	// RecWrote
	HookOutput  = 128
	HookSeccomp = 256  // prctl: the program is about to have system calls forbidden
	HookSetvbuf = 512  // setvbuf and the like: the program decides about its buffers itself
	HookGo      = 1024 // a function of Go's: its registers are by DWARF number
	HookBefore  = 2048 // of a probe before a system call: when it begins is noted
	HookLock    = 4096 // of a function that takes, leaves or waits for a lock: EnterGPRs says which (locks.go)
	HookUnwind  = 2    // register the arenas' unwind entries with this unwinder first; index in EnterOps
)

// Control is the head of the shared region. Written by the daemon but for the fields marked (agent).
type Control struct {
	Magic        uint64
	Version      uint32
	Flags        uint32
	HeartbeatTSC uint64 // clock at the daemon's last look
	StaleTicks   uint64 // a heartbeat older than this: nobody drains, nobody catches faults
	RingCount    uint32
	RingBytes    uint32 // power of two
	RingHint     uint32 // (agent)
	ArenaCount   uint32
	NoRingLost   uint64 // (agent) events of threads that got no ring
	RDebug       uint64 // address of the loader's r_debug, 0 unknown
	SyncSeq      uint32 // (agent) module list changes announced
	SyncAck      uint32 // changes looked at
	UnwindCount  uint32
	LeaveSeq     uint32 // (agent) requests to be let go
	Unwind       [MaxUnwind]Unwind
	Arenas       [MaxArenas]Arena
	Objects      [MaxArenas * MaxUnwind * ObjBytes]uint8
	LeaveAck     uint32     // requests done
	StopReq      uint32     // threads that are to stop when they leave the agent's C; see StopTrap
	LineKind     uint32     // of Stdout: 1 glibc's FILE, 2 musl's; 0: its buffering is not ours to change
	LineFull     uint32     // (agent) it is fully buffered, because it has flushed too many
	Stdout       uint64     // address of the C library's stdout
	LineTicks    uint64     // in which it may flush one line more
	LineMost     uint64     // lines that it may flush at once
	LineLeft     uint64     // (agent) lines that it may flush now
	LineTSC      uint64     // (agent) when that was counted
	Out          [2]OutFile // where standard output and standard error go
	// with FlagBlock: how long a thread waits for room while none is made; 0: for as long as it takes
	WaitTicks uint64
	GoID      uint64 // where in a goroutine's g its ID is

	SocketHead uint32 // with FlagSocket: how many bytes of what is sent and received are recorded
	Pad        uint32
	SocketFD   [SocketFDs]uint8 // (agent)
}

// OutFile is a file of which the daemon has the other end, as fstat tells; zero: none.
type OutFile struct{ Dev, Ino uint64 }

// Unwind is one unwinder found in the target.
type Unwind struct {
	Fn   uint64 // __register_frame_info(eh, object), or LLVM's __register_frame(fde)
	LLVM uint32
	Busy uint32 // (agent) lock
	Done uint32 // (agent) arenas registered
	Pad  uint32
	Undo uint64 // __deregister_frame_info(eh), or 0
}

// Arena is one range of stubs.
type Arena struct {
	Lo, Hi uint64
	EH     uint64 // address of its .eh_frame
	FDE    uint64 // address of the FDE in it
}

// Hook is one function's entry in the hook table, indexed by hook ID. In the row of a point at one place (HookPoint),
// EnterOps and MaxEnter are those of its message, ExitOps is the first op of its condition (0: always), MaxExit is the
// hook ID of the next point at the same place, and Hot its index in the points.
type Hook struct {
	Flags     uint32
	EnterGPRs uint8
	ExitGPRs  uint8
	// of what values lead to, in AllowBytes: how much a thread records of it before a call's is cut shorter, a quarter of
	// it in a storm; 0: any
	Allow    uint16
	EnterOps uint32 // index of the first op, 0 none
	ExitOps  uint32
	MaxEnter uint32 // payload bound in bytes
	MaxExit  uint32
	// 0: every call is recorded; else the mean distance of recorded calls, and Hot says where they are counted
	Sample uint32
	Hot    uint16 // index in Header.Hot
	Depth  uint8  // pointers that walks follow
	// then, in LeastBytes of a call; twice as much until it is four times as much as allowed, a quarter in a storm
	Least uint8
}

// Point is what all places of one breakpoint or logpoint have in common.
type Point struct {
	HitCount  uint64 // it takes effect when the condition holds for this time only; 0: each
	Thread    uint32 // in this thread only; 0: in all
	Pad0      uint32
	Passes    uint64 // (agent) times that a thread was there and the condition held
	Failed    uint64 // (agent) times that the condition could not be evaluated
	FailedTSC uint64 // (agent) when a record last said so
	Pad1      [3]uint64
	Shards    [PointShards]PointShard // (agent)
}

// PointShard counts the arrivals of some threads: a cache line each.
type PointShard struct {
	Hits uint64
	Pad  [7]uint64
}

// Loss counts what was dropped of one hook, for some threads. It never goes back: what is read there is exact whenever
// it is read.
type Loss struct {
	Enters uint64 // (agent) also of points
	Exits  uint64 // (agent)
}

// ThreadSlot maps an FS base to a ring.
type ThreadSlot struct {
	FS   uint64 // 0 empty, 1 deleted
	Ring uint32 // index + 1
	TID  uint32
}

// Header is the page before a ring's data. The producer's and the consumer's fields are a cache line apart.
type Header struct {
	Head       uint64 // (agent) bytes ever published
	CachedTail uint64 // (agent)
	Lost       uint64 // (agent) records dropped and not yet reported
	LostFirst  uint64 // (agent) clock
	LostLast   uint64 // (agent)
	LostTotal  uint64 // (agent) records ever dropped, of which the daemon can read at any time
	Pad0       [2]uint64
	Tail       uint64 // bytes consumed
	Waiting    uint32 // (agent) waits on Tail
	Pad1       uint32
	Pad2       [6]uint64
	TID        uint32 // (agent)
	Pad3       uint32
	GaveUp     uint64 // (agent) 1 + the tail at which a wait for room was given up: there is none until it moves
	Waits      uint64 // (agent) for room
	Waited     uint64 // (agent) clock: how long
	Pad4       [4]uint64
	Hot        [MaxHot]Hot           // (agent)
	Saved      [MaxSaved]Saved       // (agent) OpSave
	SavedCount uint32                // (agent)
	Wary       uint32                // (agent) reads before which the kernel is asked whether an address is good
	Others     [OtherFiles]OtherFile // (agent)
	Pages      [PageSlots]uint64     // (agent) pages that could be read, by their number modulo: number + 1
	Spent      [Spents + 1]Spent     // (agent) by hook ID, modulo; the last is of all
	// (agent) nodes of the record at hand by address and walk: offset in the payload / 8 + 1
	Seen [SeenSlots]uint16
	// (agent) where on the stack behind this a call of Go's may begin that a signal's handler makes while the thread waits
	// for room there; 0: at its end
	GoStack uint64
	CallTSC uint64 // (agent) with FlagSocket: when the system call began that the thread makes,
	CallSP  uint64 // (agent) and its stack pointer then
	Locks   HeldLocks
}

// OtherFile is a descriptor, other than 1 and 2, that was none of ours when a thread last wrote to it. Where much is
// written, not every write is looked at.
type OtherFile struct {
	FD    uint32 // + 1
	Count uint32 // how often, one after the other
	Until uint64 // clock: then it is looked at again
}

// Spent is how much of what values lead to a thread has recorded of a function of late: half of it is forgotten with
// each span.
type Spent struct {
	Span  uint32 // clock >> SpanShift
	Bytes uint32
}

// Hot counts a thread's calls of a function that is sampled.
type Hot struct {
	Calls    uint64 // (agent) ever
	Next     uint64 // (agent) the call that is recorded next
	Recorded uint64 // (agent) of Calls; lost records count
	Pad      uint64
}

// Saved keeps the arguments of a call until its exit.
type Saved struct {
	Frame uint64
	Hook  uint64
	Regs  [6]uint64
}

// Sizes of the agent's tables in a ring's header.
const (
	MaxHot     = 64
	WholeCalls = 100 // of a function that is sampled, the first of a thread are recorded all the same
	MaxSaved   = 64
	SeenSlots  = 2048
	OtherFiles = 32
	Spents     = 1024
	PageSlots  = 512
)

// Units of Hook.Allow and Hook.Least, and of Spent.Span: about a tenth of a second.
const (
	AllowBytes = 16 << 10
	LeastBytes = 64
	SpanShift  = 28
	StormBytes = 4 << 20 // of a thread, of late: it is on its way to fill rings and disk
)

// Record is the head of a record; Size8 counts it and its payload in units of 8 bytes.
type Record struct {
	TSC   uint64
	Hook  uint32
	Size8 uint16
	Kind  uint8
	Flags uint8
	SP    uint64 // the stub's frame: address of the return address, less 8
}

// BlobHeader begins the agent's code; offsets are from its start.
type BlobHeader struct {
	Magic      uint64
	Enter      uint64
	EnterVec   uint64
	EnterOnly  uint64
	Exit       uint64
	ExitVec    uint64
	ExitST0    uint64
	ExitST01   uint64
	ExitTrap   uint64
	Copy       uint64
	CriticalLo uint64 // signals are not delivered while a thread is in this range
	CriticalHi uint64
	FaultLo    uint64 // a fault in [FaultLo, FaultHi) goes on at FaultFix
	FaultHi    uint64
	FaultFix   uint64
	CopyLo     uint64 // a fault in [CopyLo, CopyHi) goes on at CopyHi
	CopyHi     uint64
	Probe      uint64 // of points; the saved registers are a ProbeRegs
	ProbeVec   uint64 // the same with the vector registers
	ProbeTrap  uint64 // an int3: a breakpoint. rdi: address of the ProbeRegs, eax: hook ID. Behind it the thread goes on
	Rest       uint64 // makes the rest of a system call that was cut short; see entry.S
	CodeLo     uint64 // the agent's C, up to CriticalHi: who leaves it meets StopTrap while StopReq is not 0
	StopTrap   uint64 // an int3
	FastLo     uint64 // a fault in [FastLo, FastHi) goes on at FastFix
	FastHi     uint64
	FastFix    uint64
	GoEnter    uint64 // of functions of Go's: R12 the hook ID, R13 where to go on
	GoEnterVec uint64
	GoExit     uint64
	GoExitVec  uint64
	LockTake   uint64 // of functions that take a mutex, before they do
	LockLeave  uint64 // of those that leave one
	LockCall   uint64 // of those that do something else to one
}

// ProbeRegs is what a probe keeps on the stack of the thread that is at the place.
type ProbeRegs struct {
	Regs  [16]uint64 // by DWARF number, as they are at the place
	Flags uint64
}
