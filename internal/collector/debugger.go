package collector

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/strobe-debug/strobe/internal/value"
)

// Debugger is a collector whose target can be paused at places in its code.
type Debugger interface {
	// SetPoints makes exactly these points be in force and says what became of each. All are checked before any takes
	// effect: with an error nothing has changed.
	SetPoints(ctx context.Context, points []Point) ([]PointStatus, error)
	// Points returns the state of the points in force.
	Points() []PointStatus
	// Paused lists the threads that are paused now, in the order in which they paused.
	Paused() []Pause
	// Resume lets paused threads go on. NOT_PAUSED where none is meant that is. It returns when they run; the next
	// pause is told through PauseChanged.
	Resume(ctx context.Context, r Resume) error
	// HasThread reports whether a thread of the target still runs.
	HasThread(tid int) bool
	// PauseChanged returns a channel that is closed when threads pause, go on or end next.
	PauseChanged() <-chan struct{}
}

// Pauser is a Debugger that pauses threads wherever they are.
type Pauser interface {
	// PauseNow pauses one thread, or with 0 all of all processes, those that come into being before one goes on
	// included. When it returns, Paused has them; later are those that something keeps from standing, which pause when
	// that is over. System calls that are waited in go on with their threads, unnoticed. It fails with PROCESS_EXITED
	// when the target is gone.
	PauseNow(ctx context.Context, thread int) (later []LaterPause, err error)
}

// LaterPause is a thread that could not be paused at once.
type LaterPause struct {
	TID int    `json:"threadId"`
	Why string `json:"why"`
}

// Point is a breakpoint, or with a message a logpoint.
type Point struct {
	ID           string // unique in the session
	Function     string // a pattern: every match
	File         string // a source file's path, or its end
	Line         int
	Address      uint64
	Condition    string // in package expr's language; "": always
	HitCount     int64  // pause at this hit only; 0: at each
	Message      string // of a logpoint: text with {expr}
	Thread       int    // this one only; 0: all
	Variable     string // of a data breakpoint: an expression for what is watched
	Reads        bool   // reads count, too
	Pause        bool   // of a data breakpoint: pause; else an event is all
	Return       string // the value, as JSON, that matching calls return at once, without running
	SetArguments string // a JSON object: parameters by name, with the values that matching calls get
	AllThreads   bool   // pause the others of the process, too
	Pending      bool   // may be nowhere yet: set when a library with it is loaded
}

// Functions of a Point that stand for exceptions: those that nobody will catch, and all.
const (
	PointUncaught   = "@uncaught"
	PointExceptions = "@exceptions"
)

// PointStatus says what became of one point.
type PointStatus struct {
	ID        string
	Locations []Location
	Hits      int64  // times that it took effect, over all processes
	InTarget  bool   // the program itself decides about it: a condition that does not hold costs it next to nothing
	Why       string // why not
	Note      string // e.g. that its line has no code and the next one was taken
}

// Location is a place in a target's code.
type Location struct {
	Function string `json:"function,omitempty"`
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
	Address  string `json:"address,omitempty"` // "0x…", in the first process that has it
}

// Pause is one paused thread.
type Pause struct {
	PID, TID   int
	ThreadName string
	PointID    string // breakpoint, or "step-N"
	Reason     string // breakpoint, step, until, entry, data, pause (somebody asked), with thread N
	Number     int64  // of this pause in the session
	With       int64  // the Number of another thread's pause, if that is the reason; else 0
	Hit        int64  // which hit of the breakpoint it is
	Location
	Backtrace []string
	Arguments value.Object
	Locals    value.Object
	Result    *value.Value // behind step-out: what the function that was left returned; nil: nothing, or not known
	ResultOf  string       // which function that was
	Note      string       // what is to be known of the place
}

// By is the Number of the pause that this one belongs to, be it itself.
func (p Pause) By() int64 {
	if p.With != 0 {
		return p.With
	}
	return p.Number
}

// Numbers counts the pauses and steps of one target, whoever of its runtimes makes them. Safe for concurrent use.
type Numbers struct{ pauses, steps atomic.Int64 }

// Pause is the next pause's Number.
func (n *Numbers) Pause() int64 { return n.pauses.Add(1) }

// Step is the next step's PointID.
func (n *Numbers) Step() string { return fmt.Sprintf("step-%d", n.steps.Add(1)) }

// Until is Step of a thread that goes on until a line.
func (n *Numbers) Until() string { return fmt.Sprintf("until-%d", n.steps.Add(1)) }

// Same reports whether two are the same pause of the same thread.
func (p Pause) Same(q Pause) bool { return p.TID == q.TID && p.Number == q.Number }

// Step is how far a paused thread goes.
type Step string

// The steps. Over, Into and Out go on by statements of the source.
const (
	StepNone Step = "continue"
	StepOver Step = "step-over"
	StepInto Step = "step-into"
	StepOut  Step = "step-out"
)

// Resume says which paused threads go on, and how far.
type Resume struct {
	Thread int   // 0: all that are paused; with a step, the one that is paused, or the newest
	Told   int64 // without Thread: of pauses with a greater Number nobody was told, and they stay; 0: there are none
	Step   Step
	All    bool   // with a step: the other paused threads run meanwhile, and are paused again with its end
	System bool   // step-into enters functions of the standard library and of the system's headers, too
	File   string // go on until this line
	Line   int

	Instruction bool   // with step-over and step-into: one instruction of machine code
	Into        uint64 // step-into enters the function at this address alone
}

// Jumper is a Debugger that moves paused threads without running them.
type Jumper interface {
	// Goto has a paused thread go on at an address of the function that it stands in.
	Goto(ctx context.Context, thread int, at uint64) error
}
