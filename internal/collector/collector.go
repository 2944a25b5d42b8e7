// Package collector owns the interfaces between a session and the language runtimes that watch a
// target. A runtime is one folder below this one and one line in daemon/builtin.go.
//
// It stands between the runtimes (producers of events) and session (their consumer).
package collector

import (
	"context"
	"encoding/json"
	"os"

	"github.com/strobe-debug/strobe/internal/crash"
	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/locks"
	"github.com/strobe-debug/strobe/internal/secret"
	"github.com/strobe-debug/strobe/internal/value"
	"github.com/strobe-debug/strobe/internal/waits"
)

// Command is a program to launch, or to attach to.
type Command struct {
	PID         int      // 0; of a process that runs already: attach to it. Then Env and the files are not used
	Path        string   // absolute, resolved; of a running process: where its file can be read now
	Name        string   // of a running process: what Path is to itself, in its own file system
	Args        []string // with argv[0]
	Env         []string // complete
	Dir         string
	Stdin       *os.File // never nil
	Stdout      *os.File
	Stderr      *os.File
	Terminal    bool // the three files are a pseudo-terminal's slave: make it the controlling one
	ProjectRoot string
	SymbolsPath string
	// how the C library's stdout is buffered: "auto" by lines unless there are very many, "always" by lines, "off" as it
	// is
	Lines       string
	NoWrites    bool   // who writes what is not recorded
	OnFull      OnFull // "": OnFullDrop
	StopOnEntry bool
	QuietEntry  bool          // of which no event tells
	Tracing     Tracing       // in force from the first instruction
	Glance      bool          // see Glancer: nothing is stopped
	Drivers     []string      // names of images that only start others: no function of theirs is traced
	Numbers     *Numbers      // nil: the runtime has its own
	Secrets     *secret.Names // the names whose values are not recorded; nil: all are
	// Starting hears of every image of the target before its first instruction, and returns what it is to have beside
	// what it has; nil: nobody wants to know. It must not wait: the process stands.
	Starting func(Image) Beside
}

// Warmer is a runtime that reads symbols ahead of a launch. Safe for concurrent use.
type Warmer interface {
	Known() []string     // the files whose symbols are there, the last used first
	Warm(files []string) // reads theirs
}

// OnFull says what a thread does that has no room for a record.
type OnFull string

// What OnFull can be.
const (
	OnFullDrop OnFull = "drop" // it counts the record as lost, and goes on
	// it waits, unless it is of a real-time policy; where no room is made for long it goes on as with drop
	OnFullWait  OnFull = "wait"
	OnFullBlock OnFull = "block" // it waits as long as it takes
)

// Tracing is what is recorded of a target.
type Tracing struct {
	Probes   []Probe
	Watches  []Watch
	Sampling Sampling
}

// Probe is one pattern that the user wants traced.
type Probe struct {
	Pattern string
	Depth   int  // serialization depth, 1..10
	Given   bool // Depth was asked for, and is not just the default
	Out     bool // read pointees of pointer arguments again at the exit
	Planned bool // calls of functions that no other probe selects are counted, for Planner, and not delivered
}

// Watch is a value that is read in the target at each call of the functions that On selects, all where it is empty.
type Watch struct {
	Label string // unique
	Expr  string // in package expr's language, over what is in scope in the function
	On    []string
}

// Sampling says when few of a function's calls are recorded. The zero value: never.
type Sampling struct {
	Threshold int64   // calls per second of one function above which it is sampled, 0: none is
	Rate      float64 // share of its calls that is recorded then, above 0, up to 1
	After     int64   // calls of it in the session that are recorded before; of all of them after Plenty, a tenth
	Plenty    int64   // calls of all functions, of which the session does not keep the first ones
}

// SampledFunction is a function that is sampled now.
type SampledFunction struct {
	Function       string  `json:"function"`
	Rate           float64 `json:"rate"`
	CallsPerSecond int64   `json:"callsPerSecond"` // lately
}

// WatchStatus says what became of one watch.
type WatchStatus struct {
	Label     string
	Functions int   // hooked functions that read it
	Err       error // why others do not, of one of them
}

// ProbeStatus says what became of one pattern.
type ProbeStatus struct {
	Pattern    string
	Matched    int // functions matched
	Hooked     int // functions hooked now
	Unhookable []Unhookable
	Warning    string   // e.g. matched nothing, with the nearest names
	Near       []string // those names, of an interpreter's program
}

// Unhookable names a function that matched and could not be hooked.
type Unhookable struct {
	Function string `json:"function"`
	Reason   string `json:"reason"`
}

// Status is the whole state of a collector's probes.
type Status struct {
	Probes     []ProbeStatus
	Hooked     int          // functions hooked now, over all patterns, each once
	Matched    int          // functions that match, each once
	Fallback   int          // of Hooked: by breakpoint instruction, slower
	Unhookable []Unhookable // each once
	Sampled    []SampledFunction
	Natvis     []string // files of descriptions of types that are in force, beside the built-in ones
	Cut        Cut      // calls of which not all was recorded that their values lead to
	Watches    []WatchStatus
	Warnings   []string
	Later      bool // functions that match are also found later, when they are first called
}

// Cut says of which functions' calls not all was recorded that their values lead to: they are called so often that it
// would fill buffers and disk, or it does not fit one record.
type Cut struct {
	Calls     int64    // enters and exits
	Functions int      // different ones
	Most      []string // names of those with the most
}

// ExitInfo says how a target's first process ended.
type ExitInfo struct {
	Code   int     // exit code, when Signal is empty
	Signal string  // e.g. SIGSEGV
	Panics *Panics // for Ended: those that have a picture; nil: none
}

// Panics are those of one process that have a picture, in their order.
type Panics struct{ List []Panic }

// Panic is a Rust panic that a process has seen: what ended it, if nobody caught it.
type Panic struct {
	TID     int
	Thread  event.ThreadID
	File    string
	Line    int
	Message string
	Crash   *crash.Crash // the event that it is then, if nobody catches it; nil: taken
}

// Crash is why a process dies, and who.
type Crash struct {
	PID    int
	Thread event.ThreadID
	TS     int64 // when, on the session's clock
	crash.Crash
}

// Sink takes what a collector finds. Safe for concurrent use. Implemented by session.
type Sink interface {
	// Function registers a function and returns its ID. The same Function may be registered
	// once only per session; the collector keeps the ID.
	Function(event.Function) event.FuncID
	Thread(event.Thread) event.ThreadID
	// Events stores a batch, ordered by TS. It waits when the store is behind. Payloads may
	// be reused when it returns.
	Events([]event.Event)
	// Dropped adds lost events to the session's count that are of no function. Where on the timeline they are missing
	// is told by Events.
	Dropped(n int64)
	// Lost is Dropped for a function's calls: enters and exits more since the last report.
	Lost(fn event.FuncID, enters, exits int64)
	// Sampled counts calls of fn that were made and not recorded, because the function is sampled: skipped more since
	// the last report.
	Sampled(fn event.FuncID, skipped int64)
	// CodeName tells what function begins at an address of a process from ts on: payloads of functions with
	// event.Function.Code that hold it are shown with the name. "" says that none begins there any more.
	CodeName(pid int32, addr uint64, ts int64, name string)
	// Crash tells that a process is about to die of a signal, or died of what a handler of one did. It is called after
	// everything that the process did before was passed to Events, and returns when the event is on the timeline.
	Crash(Crash)
	// Ended tells that a process ended and all its events were passed on.
	Ended(pid int, how ExitInfo)
	// Now is the session's clock: nanoseconds since its start, on CLOCK_MONOTONIC.
	Now() int64
	// StartMono is CLOCK_MONOTONIC in nanoseconds at the session's start.
	StartMono() int64
}

// Covered is a function that is watched for whether it runs at all.
type Covered struct {
	Name, File, Module string
	Line               int
	State              string // why it is not watched, "": it is
}

// Planner is a Collector that can count calls without delivering them: Probe.Planned.
type Planner interface {
	// Planned are the calls of such functions so far, of those that are hooked for it now.
	Planned() []PlannedFunction
}

// Burster is a Collector whose target may record faster than is decoded.
type Burster interface {
	// Bursting reports whether it does so while as many threads want a CPU as there are: what it records had better wait,
	// and a Flush takes a CPU from it.
	Bursting() bool
}

// PlannedFunction is a function that is only counted.
type PlannedFunction struct {
	Function string
	Calls    int64
}

// CoverSink is a Sink that wants to know which functions run at all.
type CoverSink interface {
	// Cover takes functions that are watched from now on. It returns the number of the first, which those of the others
	// follow; below 0: it has no room.
	Cover([]Covered) (first int)
	// CoveredRan tells that one ran for the first time, on the session's clock.
	CoveredRan(id int, ts int64, thread event.ThreadID)
	// CoveredGone tells that one is not watched any more, and why.
	CoveredGone(id int, why string)
}

// ThreadNamer is a Sink that takes names of threads that are not the kernel's.
type ThreadNamer interface {
	// NamedThread is Thread of one that is called so, whatever the kernel calls it.
	NamedThread(event.Thread) event.ThreadID
}

// DeathWatcher is a Sink that wants to know early that a process dies, or may: its picture takes a while. Crash may
// follow, and Ended does. Safe for concurrent use.
type DeathWatcher interface {
	Dying(pid int)
}

// Runtime watches programs of one language or family. Safe for concurrent use.
type Runtime interface {
	Name() string // native, python, node, …
	// Detect reports whether this runtime runs the executable at cmd.Path. Cheap, without side
	// effects, reads the file only.
	Detect(cmd *Command) (bool, error)
	// Launch starts the program, or attaches to the process cmd.PID, with probes in force. ctx bounds the call, not the
	// collector's life.
	Launch(ctx context.Context, cmd *Command, sink Sink) (Collector, error)
}

// Glancer is a Runtime that can tell what threads of any processes do without touching them.
type Glancer interface {
	// Glance reads the threads of processes that nobody observes. root is the folder of the user's code.
	Glance(ctx context.Context, pids []int, root string) (*ThreadReport, error)
}

// Spinner is a Runtime that can show that threads will never leave their loops.
type Spinner interface {
	// Spin looks at the threads of processes that nobody observes which run, or sleep for a time. Those with system
	// calls of other kinds are left out. Nil without an error: there are none, or too many; empty: all are met amid a
	// runtime's change from one task to another. before is what an earlier look left as after, or nil: by it loops in
	// which threads wait for each other's next step for ever are told from those that get somewhere.
	Spin(ctx context.Context, pids []int, root string, before any) (loops []Loop, after any, err error)
}

// Loop is what a thread does that runs.
type Loop struct {
	PID, ThreadID int
	// address of the runtime's own notion of who runs on the thread: a goroutine, which may go on on another; 0: none
	Task      uint64
	Endless   bool          // shown: while nobody else changes its memory, it goes round for ever
	Between   string        // endless only by itself: which threads change what the others read
	Livelock  bool          // and yet nothing has got anywhere since the look before
	Why       string        // not shown: why
	Sleeps    bool          // in each round
	Length    int           // instructions of a round
	On        string        // what it reads that would have to change, by name or address; "": not known
	Owner     *LoopFunction // that goes round; nil: not known
	Functions []LoopFunction
	Backtrace []string
}

// LoopFunction is a function whose code a loop runs, with the lines of it, 0 where they are not known.
type LoopFunction struct {
	Name, File  string
	First, Last int
}

// Looper is a Collector that can do for its target what a Spinner does for other processes.
type Looper interface {
	// Loops says of each thread that runs whether it will ever leave its loop; the threads stand meanwhile. before is
	// what the last look returned as after.
	Loops(ctx context.Context, before any) (loops []Loop, after any, err error)
}

// Attacher is a Runtime that can attach to running processes.
type Attacher interface {
	// Find describes a process as a Command for Launch: PID, Path, Name, Args and Dir. It says why where that cannot be
	// attached to, or is none of this runtime's.
	Find(pid int) (*Command, error)
}

// Collector is one launched or attached target. Safe for concurrent use.
type Collector interface {
	PID() int
	// SetTracing makes exactly this be in force and says what became of each part.
	SetTracing(ctx context.Context, tracing Tracing) (Status, error)
	// Status returns the current state without changing it.
	Status() Status
	// PIDs lists the live processes of the target.
	PIDs() []int
	// Flush delivers every record that was written before the call to the sink.
	Flush(ctx context.Context) error
	// Exited is closed when the first process has ended and all its records were delivered.
	Exited() <-chan struct{}
	// Exit is valid after Exited.
	Exit() ExitInfo
	// Stop ends the target: kill the whole tree and reap it (kill), or restore every byte, verify, and
	// let it run on. Idempotent. Returns what could not be restored.
	Stop(ctx context.Context, kill bool) error
	Capabilities() Capabilities
}

// Discarder is a collector that can throw away what it recorded and has not delivered.
type Discarder interface {
	// Discard is called before Stop when nobody will read the session: what is not delivered yet need not be.
	Discard()
}

// ThreadLister is a collector that can tell what a running target's threads do.
type ThreadLister interface {
	// Threads looks at every thread without the target's notice. Deadlocks are those that were there twice, 50 ms
	// apart, without anything having moved. It fails with PROCESS_EXITED when the target is gone.
	Threads(ctx context.Context) (*ThreadReport, error)
}

// LockReporter is a collector that can tell in which order locks are taken, and who waits for which, while the pattern
// @locks is traced, and of programs that have ended.
type LockReporter interface {
	// Locks fails with VALIDATION_ERROR where that was never traced.
	Locks(ctx context.Context) (*LockReport, error)
}

// TaskLister is a collector whose programs run tasks on their threads that say more than these: goroutines.
type TaskLister interface {
	// Tasks looks at every task. Errors are those of ThreadLister.
	Tasks(ctx context.Context) (*TaskReport, error)
}

// TaskReport is what tasks do. A row's number is the task's.
type TaskReport struct {
	Rows      []ThreadRow
	Count     int
	NotShown  int          // of them, for their number
	Of        map[int]bool // processes whose tasks these are
	Carriers  map[int]bool // threads that run one
	Deadlocks []Deadlock   // tasks that never go on
	Notes     []string     // what could not be looked at, and why
}

// ThreadReport is what a target's threads do; ThreadRow is one of them, or several that do the same, and Deadlock is
// threads that wait for each other.
type (
	ThreadReport = waits.Report
	ThreadRow    = waits.Row
	ThreadWait   = waits.Wait
	Polled       = waits.Polled
	Deadlock     = waits.Deadlock
	LockReport   = locks.Report
)

// Cores opens core files. Safe for concurrent use.
type Cores interface {
	// OpenCore reads a core and finds the files that it names. The caller closes what it returns. Errors are faults.
	OpenCore(ctx context.Context, r CoreRequest) (Core, error)
}

// CoreRequest names a core and the program that it is of. Paths are absolute.
type CoreRequest struct {
	Core, Binary string
	SymbolsPath  string
	ProjectRoot  string
	Secrets      *secret.Names // as Command.Secrets
}

// Core is an open core file: a dead process. Safe for concurrent use.
type Core interface {
	Inspector
	ThreadLister
	Describe() CoreInfo
	// Crash tells why the process died; the event's thread is in PID and TID.
	Crash(ctx context.Context) (c Crash, thread event.Thread, err error)
	Close() error
}

// CoreInfo is what a core tells of its process.
type CoreInfo struct {
	PID      int
	Program  string // its path when it ran
	Args     string // its command line, cut
	Signal   string // that it died of, "" where it had not died
	Fatal    bool
	Message  string // what the C library said when it ended the process, as it wrote it to standard error
	Detail   string // for Capabilities.RuntimeDetail
	Warnings []string
}

// Inspector reads values of a target, without stopping it.
type Inspector interface {
	// Inspect reads targets in their order. The error is for all of them: what is wrong with one is in its Reading.
	Inspect(ctx context.Context, q Inspection) ([]Reading, error)
}

// Assigner is an Inspector that can change values, too.
type Assigner interface {
	// Assign writes each target's Set and returns what stands there then. All are checked before any is written.
	Assign(ctx context.Context, q Inspection) ([]Reading, error)
}

// Inspection asks for values.
type Inspection struct {
	Targets  []InspectTarget
	ThreadID int // whose locals and registers there are; 0: the thread that crashed
	Frame    int // of that thread, as backtraces count; -1: the innermost of the user's code
	PID      int // the process; 0: the thread's, or the first that lives
	Depth    int // pointers followed, one behind the other
}

// InspectTarget is one value: an expression, or an address.
type InspectTarget struct {
	Expr    string // in package expr's language
	Address uint64 // where Expr is empty
	Type    string // of what is at Address; "": Size bytes
	Size    int
	Set     json.RawMessage // of a write: the value
}

// Reading is one value that was read.
type Reading struct {
	Address  string // "0x…", "" for what is not in memory
	Type     string
	Value    value.Value
	Bytes    []byte       // of memory without a type, instead of Value
	Previous *value.Value // of a write: what stood there before
	Err      error
}

// Capabilities says what this target really offers, from what was set up.
type Capabilities struct {
	Runtime         string   `json:"runtime"`
	RuntimeDetail   string   `json:"runtimeDetail,omitempty"` // e.g. "ELF64 PIE, dynamic, gcc 12.2"
	FunctionTracing string   `json:"functionTracing"`         // full, partial, none
	Breakpoints     string   `json:"breakpoints"`
	Stepping        string   `json:"stepping"`
	OutputCapture   string   `json:"outputCapture"`
	Limitations     []string `json:"limitations,omitempty"`
}

// Signaler is a Collector that can send its target signals.
type Signaler interface {
	// Signal sends a signal and, of one that stops programs, waits a moment for that: stopped. Threads that are paused
	// stay so. It fails with PROCESS_EXITED where nobody is left.
	Signal(ctx context.Context, r SignalRequest) (stopped bool, err error)
}

// SignalRequest says which signal goes to whom.
type SignalRequest struct {
	Name string // SIGINT
	// process group in the foreground of the target's terminal; 0: that of its first process, which alone gets it if it
	// was attached to
	Group int
	All   bool // also to processes of the target that are in other groups
}
