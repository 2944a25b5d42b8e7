// Package collector owns the interfaces between a session and the language runtimes that watch a
// target. A runtime is one folder below this one and one line in daemon/builtin.go.
//
// It stands between the runtimes (producers of events) and session (their consumer).
package collector

import (
	"context"
	"os"

	"github.com/strobe-debug/strobe/internal/event"
)

// Command is a program to launch.
type Command struct {
	Path        string   // absolute, resolved
	Args        []string // with argv[0]
	Env         []string // complete
	Dir         string
	Stdin       *os.File // never nil
	Stdout      *os.File
	Stderr      *os.File
	Terminal    bool // the three files are a pseudo-terminal's slave: make it the controlling one
	ProjectRoot string
	SymbolsPath string
	Block       bool // full rings make the target wait instead of dropping
	StopOnEntry bool
	Tracing     Tracing // in force from the first instruction
}

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
	Out     bool // read pointees of pointer arguments again at the exit
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
	Warning    string // e.g. matched nothing, with the nearest names
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
	ValueBytes int // what a call's values are cut to now, because there are so many; 0: not
	Watches    []WatchStatus
	Warnings   []string
}

// ExitInfo says how a target's first process ended.
type ExitInfo struct {
	Code   int    // exit code, when Signal is empty
	Signal string // e.g. SIGSEGV
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
	// Dropped adds lost call events to the session's count (the event itself is also sent by Events).
	Dropped(n int64)
	// Sampled counts calls of fn that were made and not recorded, because the function is sampled: skipped more since
	// the last report.
	Sampled(fn event.FuncID, skipped int64)
	// Now is the session's clock: nanoseconds since its start, on CLOCK_MONOTONIC.
	Now() int64
	// StartMono is CLOCK_MONOTONIC in nanoseconds at the session's start.
	StartMono() int64
}

// Runtime watches programs of one language or family. Safe for concurrent use.
type Runtime interface {
	Name() string // native, python, node, …
	// Detect reports whether this runtime runs the executable at cmd.Path. Cheap, without side
	// effects, reads the file only.
	Detect(cmd *Command) (bool, error)
	// Launch starts the program with probes in force. ctx bounds the call, not the collector's life.
	Launch(ctx context.Context, cmd *Command, sink Sink) (Collector, error)
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
