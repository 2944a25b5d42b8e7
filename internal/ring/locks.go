package ring

// The agent's tables of locks, in the shared region. What a thread holds is in its header; what was held when another
// lock was taken is an edge, which is stored once with its stack. Nothing of it is a record in a ring.

// Sizes of the tables. What has no room is counted.
const (
	MaxHeld        = 32 // of one thread
	LockSeen       = 256
	MaxLockEdges   = 1 << 16
	MaxLockStacks  = 2048 // of the first edges
	MaxLockWaits   = 1024
	MaxLockThreads = 1 << 13
	MaxLockLinks   = 1 << 14
	LockBuckets    = 1 << 17
	LockWaitPlaces = 1 << 12
	LockHeads      = 1 << 14
	LockGates      = 6
	LockVariants   = 4 // of an edge, by what is held besides; then what was held each time
	LockThreads    = 6 // of one edge

	LockEdgesOff   = LocksOff + 2<<20
	LockEdgeBytes  = 184
	LockStacksOff  = LockEdgesOff + MaxLockEdges*LockEdgeBytes
	LockStackBytes = 4096
	LockWaitsOff   = LockStacksOff + MaxLockStacks*LockStackBytes
	LockWaitBytes  = 2048
	LockStackKept  = LockStackBytes - 24
	LockWaitStack  = LockWaitBytes - 112
)

// What a hook with HookLock stands at: Hook.EnterGPRs.
const (
	LockMutex   = 0  // rdi is taken, whatever it takes
	LockUnlock  = 1  // rdi is left
	LockTry     = 2  // rdi is taken where the result is 0, and never waited for without end
	LockTryRead = 3  // the same, to read
	LockRead    = 4  // rdi is taken to read
	LockWrite   = 5  // rdi is taken
	LockSpin    = 6  // rdi is taken; the wait for it makes no system call
	LockCond    = 7  // rsi is left and taken again
	LockEnd     = 8  // rdi is no lock any more, or a new one
	LockCreate  = 9  // a thread: its FS base is where rdi points when the result is 0
	LockJoin    = 10 // the thread rdi has ended when it returns
	LockWaits   = 11 // the slow path for the mutex rdi of a C library: it waits
	LockSlow    = 12 // the same of another library: nothing else is known of such locks
	LockPrivate = 13 // the same of a lock of the C library's own
)

// How a lock is held or taken: LockEdge.Mode has the first's in its low, the second's in its high half.
const (
	LockModeRead = 1
	LockModeRW   = 2
	LockModeSpin = 4
)

// HeldLocks is what a thread holds, outermost first behind the entry 0, whose hash is the thread's and its segment's.
type HeldLocks struct {
	Count   uint32            // (agent)
	Thread  uint32            // (agent) index + 1 in Locks.Thread
	Segment uint32            // (agent) how many threads it has made and joined
	Pad     uint32            //
	WaitOn  uint64            // (agent) the lock that it waits for since WaitTSC
	WaitTSC uint64            // (agent)
	Held    [MaxHeld + 1]Held // (agent)
	Seen    [LockSeen]uint64  // (agent) hashes of what was held when something was taken, that are in the table
}

// Held is a lock that a thread holds.
type Held struct {
	Lock  uint64
	Hash  uint64 // of it and all that was held before
	Place uint64 // the return address of who took it
	Mode  uint32
	Pad   uint32
}

// Locks is the head of the tables. All of it is the agent's.
type Locks struct {
	Edges, Waits, Threads, Links, Stacks, Pad    uint32
	EdgesLost, WaitsLost, ThreadsLost, LinksLost uint64
	HeldLost                                     uint64 // locks that were taken while MaxHeld were held
	MoreThreads                                  uint64 // that made an edge which LockThreads others had made
	EdgeIndex                                    [LockBuckets]uint32
	WaitIndex                                    [LockWaitPlaces]uint32
	// edges by the hash of a lock: index * 2 + 1 of those from it, + 2 of those to it
	Heads  [LockHeads]uint32
	Thread [MaxLockThreads]LockThread
	Link   [MaxLockLinks]LockLink
}

// LockThread is a thread that made edges.
type LockThread struct {
	FS  uint64
	TSC uint64 // clock at the first
	TID uint32
	Pad uint32
}

// LockLink is a thread that another one made or joined, which began its segment Segment with it.
type LockLink struct {
	FS      uint64 // of the other one
	TSC     uint64
	Thread  uint32 // index + 1
	Segment uint32
	Join    uint32
	Ready   uint32
}

// LockEdge says that To was taken while From was held, and the Gates besides, 0 those that were not each time.
type LockEdge struct {
	Key       uint64
	From, To  uint64
	FromPlace uint64 // return address of who took From
	RIP       uint64 // and of who takes To
	Gates     [LockGates]uint64
	Threads   [LockThreads]LockTaker
	Mode      uint32
	Ready     uint32
	Dead      uint32 // one of the two is no lock any more, or another one
	Stack     uint32 // index + 1 in the stacks, 0: none
	NextFrom  uint32 // as Locks.Heads
	NextTo    uint32
}

// LockStack is where an edge was made.
type LockStack struct {
	RSP   uint64 // behind the return address
	RBP   uint64
	Bytes uint32
	Pad   uint32
	Stack [LockStackKept]uint8 // from RSP - 8 on
}

// LockTaker is a thread that made an edge, from its segment First to Last.
type LockTaker struct{ Thread, First, Last uint32 }

// LockWait is a lock that was waited for at one place.
type LockWait struct {
	Key   uint64
	Lock  uint64
	Place uint64
	Count uint64
	Ticks uint64
	Most  uint64
	TID   uint32 // who waited the longest,
	Owner uint32 // and who held it when that began; 0 not known
	Kind  uint32
	Ready uint32
	RIP   uint64
	RSP   uint64
	RBP   uint64
	Bytes uint32
	Dead  uint32
	First uint64 // clock when it was first waited for
	Last  uint64 // and last
	Stack [LockWaitStack]uint8
}
