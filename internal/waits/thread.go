package waits

// State is what a thread does.
type State string

const (
	Running State = "running" // on a CPU, or ready to be
	Waiting State = "waiting" // in a system call that has not returned
	Stopped State = "stopped" // by SIGSTOP and the like, or by a debugger
)

// Thread is a thread as it was found.
type Thread struct {
	PID, TID int
	Local    int // its number in its own process namespace, where lock words come from
	Name     string
	State    State
	Syscall  int64     // that it waits in; -1 none
	Args     [6]uint64 // of it
	Frames   []Frame   // innermost first
	Elided   int       // frames left out in the middle
	Lack     string    // why the stack is not whole, "" it is
	// Entered is the library function that the program called and that led to the wait, where only the call tells:
	// functions that end in a jump to another one are not on the stack.
	Entered string

	Wait *Wait // filled by Analyze; nil when it does not wait
}

// Frame is one function on a thread's stack.
type Frame struct {
	Function string // demangled, "" unknown
	File     string // absolute, or ""
	Line     int
	Module   string // the file with its code
	Guessed  bool   // not by unwind tables
}

// Process is what can be asked of a target's process. Functions may be nil: then nobody knows.
type Process struct {
	Read   func(addr uint64, b []byte) error
	File   func(fd int) string  // what a file descriptor is: a path, "pipe:[123]", "" unknown
	Alive  func(local int) bool // whether the process may have a thread of that number by now
	Exists func(local int) bool // whether any process may
	// Lock says which processes hold the lock on a file that the thread waits for, flock's or fcntl's. known: there are no
	// others.
	Lock   func(fd int, flock bool) (holders []Holder, known bool)
	Parent int                               // the process that began it, 0 unknown
	Name   func(t *Thread, a uint64) string  // the variable at an address: a global one, or one that t's functions know
	Guards func(t *Thread) []Guard           // locks that t's local variables say it holds
	Stack  func(t *Thread, word uint64) bool // whether t's stack holds a word
	Root   string                            // folder of the user's code, "" unknown
}

// Guard is a local variable that exists while its thread holds a lock.
type Guard struct {
	Lo, Hi uint64 // the lock is in [Lo, Hi)
	Read   bool   // shared with other readers
	RW     bool   // of a reader-writer lock, else of a mutex
	// Anywhere: which lock is not known, only that there is one.
	Anywhere bool
}

// Wait is what a thread waits for.
type Wait struct {
	// mutex, rwlock-read, rwlock-write, condvar, join, semaphore, barrier, once, latch, channel, park, future, atomic,
	// futex, pipe, socket, terminal, file, file-lock, poll, sleep, child, signal, syscall; spin: it runs, and reads an
	// object that does not change
	Kind   string `json:"kind"`
	Object string `json:"object,omitempty"` // its address, "0x…"
	Name   string `json:"name,omitempty"`   // of the variable
	Owner  int    `json:"owner,omitempty"`  // thread that has to act: the lock's holder, or the thread that is joined
	// OwnerKnownBy is how: lock (it says so itself), guard (a local variable of the owner), stack (the owner is in the
	// function that has to end), guess (only the owner's stack mentions the lock).
	OwnerKnownBy string `json:"ownerKnownBy,omitempty"`
	OwnerGone    bool   `json:"ownerGone,omitempty"` // no such thread: it ended, or never was of this process (fork)
	FD           *int   `json:"fd,omitempty"`
	File         string `json:"file,omitempty"`   // what fd is
	Detail       string `json:"detail,omitempty"` // "60s", "2 of 3 arrived"
	Timed        bool   `json:"timed,omitempty"`  // it ends by itself

	Asked *Asked `json:"-"`

	object uint64
	at     uint64 // the futex's address
}

// Asked is what a thread asks of the kernel, for who judges whether it ever gets it.
type Asked struct {
	Epoll   bool     // a poll is of what an epoll's file watches
	Polled  []Polled // the files of a poll or select
	Holders []int    // the processes that hold the file lock
	Known   bool     // all are in Polled, or in Holders
	child   int      // that is waited for, by its number in the thread's namespace
}

// Polled is one file of a poll.
type Polled struct {
	FD          int
	Read, Write bool
}

// Holder is a process that has a lock on a file, by one of its descriptors.
type Holder struct{ PID, FD int }

// Member is a thread in a deadlock.
type Member struct {
	ThreadID int    `json:"threadId"`
	Name     string `json:"name"`
	WaitsFor string `json:"waitsFor"` // "mutex m2"
	HeldBy   int    `json:"heldBy"`
	At       string `json:"at"` // where in the program's own code it waits
}

// Deadlock is a circle of threads that wait for each other, or a wait for a thread that is gone.
type Deadlock struct {
	Threads []Member `json:"threads"`
	// Breakable: it is not of locks in memory alone. A signal may end the wait for a file lock or a child.
	Breakable bool `json:"-"`
	// Timed: one of the waits ends by itself, and then its thread may let go what it holds.
	Timed    bool   `json:"-"`
	Text     string `json:"text"`
	Blocked  int    `json:"blocked,omitempty"`  // threads that wait for these, directly or through others
	Probable bool   `json:"probable,omitempty"` // an owner is not known from the lock itself
}
