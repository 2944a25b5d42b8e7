// Package event owns what the store holds: events, the functions, threads and
// processes that they name, and their kinds.
//
// Collectors and channels make events, session passes them on, store keeps
// them, query reads them. The package imports nothing of ours.
package event

import "cmp"

// Kind says what an event tells. The numbers are stored; append only.
type Kind uint8

const (
	KindNone Kind = iota
	FunctionEnter
	FunctionExit
	Stdout
	Stderr
	Crash
	VariableSnapshot
	VariableWrite
	Pause
	Logpoint
	ConditionError
	Exception
	Process // Payload: JSON object with "what": fork, exec, exit, thread, module, sampling, …
	Dropped // Payload: JSON object {"count":n,"fromNs":…,"toNs":…,"what":…}
	Yield   // what a generator gave. Payload: JSON object {"function":…,"value":…}
	Data    // what went through a stream that is no standard one, as it was
	State   // how what a stream leads to looks now. Payload: JSON object
	Channel // what went through a channel as one: a request, an answer, a file's change. Payload: JSON object with "what"
	NumKinds
)

// OnLane is stored nowhere: from then on what the thread Under-1 does belongs on Thread, a lane of its own, or on
// itself again. Calls that begin and end on lanes say so themselves; this tells of those that are left and come back
// to.
const OnLane Kind = 255

// Spawned is stored nowhere: what thread Under-1 is in the midst of begins what Ret names. Without Under: Thread is
// what Ret names, and its first calls have that as their parent.
const Spawned Kind = 254

// Stored reports whether an event of the kind has a row.
func (k Kind) Stored() bool { return k != OnLane && k != Spawned }

var kindNames = [NumKinds]string{
	"none", "function_enter", "function_exit", "stdout", "stderr", "crash", "variable_snapshot",
	"variable_write", "pause", "logpoint", "condition_error", "exception", "process", "dropped", "yield",
	"data", "state", "channel",
}

func (k Kind) String() string {
	if k < NumKinds {
		return kindNames[k]
	}
	return "unknown"
}

// KindOf returns the kind of that wire name.
func KindOf(name string) (Kind, bool) {
	for k := FunctionEnter; k < NumKinds; k++ {
		if kindNames[k] == name {
			return k, true
		}
	}
	return KindNone, false
}

// IsCall reports whether k is a function's enter or exit: the events that may be evicted.
func (k Kind) IsCall() bool { return k == FunctionEnter || k == FunctionExit }

// Flags qualify a call event. They are stored; append only.
type Flags uint8

const (
	HasRet    Flags = 1 << iota // exit: Ret holds the first 8 bytes of the return value
	Unwound                     // exit: the frame was left by an exception, longjmp or thread exit; no return value
	TailCall                    // enter: reached by a tail call; exit: left by one, its result is the callee's
	Lost                        // exit: the real record was dropped; closed without a result
	Sampled                     // one of many calls recorded
	Truncated                   // the payload was cut by a byte limit
	AtRead                      // output: who wrote it is not known; the time is that of the reading
	// exit, beside Unwound or Lost: its thread or process ended in it, as main that calls exit; no error of the call
	AtEnd
)

// FuncID, ThreadID and ID are session-local. FuncID and ThreadID are dense from 0, given by the store.
type (
	FuncID   uint32
	ThreadID uint32
	ID       = int64 // sequence number: chronological order and cursor; first is 1
)

// NoThread marks an event that belongs to no known thread.
const NoThread ThreadID = 1<<32 - 1

// Event is one row on its way to the store. Payload is only valid during the call it is passed to.
//
// Of calls, Payload holds captured bytes that value.Layout (Function.Layout) renders. An exit whose whole result is in
// Ret has no Payload. Of output it holds the bytes as written; of data as the stream's media says; of all other kinds a
// JSON object.
//
// Calls arrive properly nested per thread: the collector closes skipped frames itself. A call that can be left and come
// back (generator, coroutine, async function) is on a thread of its own, a lane, named after the thread that it runs on
// with LaneName; its exit's Ret is for how many microseconds it was left.
type Event struct {
	TS      int64 // nanoseconds since the session's start
	Ret     int64
	Payload []byte
	Func    FuncID
	Thread  ThreadID
	// Under is 1 + the thread whose innermost call is the parent, of an enter that is the first on its lane; 1 + its
	// own thread where that is on none of its lanes; 0: nothing is known of lanes.
	Under  ThreadID
	Kind   Kind
	Flags  Flags
	Stream StreamID // of Data, State and Channel
}

// Function is one traced function as the timeline names it.
type Function struct {
	Name     string // demangled, qualified, without parameters
	Raw      string // linkage name, if it differs
	File     string // absolute source path, if known
	Line     int
	Module   string // path of the loaded file
	Language string // c, c++, rust, go, asm, …
	Layout   []byte // value.Layout, marshalled
	Code     uint8  // payloads may hold addresses of code, at multiples of so many bytes; 0: they hold none
}

// Thread is one thread of the session.
type Thread struct {
	PID, TID int32
	Name     string
}

// Compare orders threads as they are listed: by process, its first thread before the others.
func (t Thread) Compare(o Thread) int {
	return cmp.Or(cmp.Compare(t.PID, o.PID), CompareThreads(int(t.PID), int(t.TID), int(o.TID)))
}

// CompareThreads orders two threads of a process, its first one before the others: their ids may be smaller than its
// own, since the system's numbers begin again.
func CompareThreads(pid, a, b int) int {
	switch {
	case a == b:
		return 0
	case a == pid:
		return -1
	case b == pid:
		return 1
	}
	return cmp.Compare(a, b)
}
