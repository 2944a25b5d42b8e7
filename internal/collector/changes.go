package collector

// ChangeKind says what has changed in a target.
type ChangeKind string

// The kinds of changes that a runtime sees. What ends a thread ends its pause.
const (
	ProcessBegan ChangeKind = "process-began" // forked or started by the target; of the first one the session tells
	ProcessExec  ChangeKind = "process-exec"  // another program runs in it; its other threads are gone
	ProcessEnded ChangeKind = "process-ended"
	ThreadBegan  ChangeKind = "thread-began" // other than a process's first
	ThreadEnded  ChangeKind = "thread-ended"
	ThreadPaused ChangeKind = "paused"
	Resumed      ChangeKind = "resumed"
	Stepped      ChangeKind = "stepped" // a paused thread goes on by a step
)

// Change is one thing that a runtime saw change in its target.
type Change struct {
	Kind  ChangeKind `json:"kind"`
	PID   int        `json:"pid,omitempty"`
	TID   int        `json:"threadId,omitempty"`
	Name  string     `json:"name,omitempty"`  // of ProcessExec: its command line
	Pause *Pause     `json:"pause,omitempty"` // of ThreadPaused: without values. Not written to
	Step  Step       `json:"step,omitempty"`  // of Stepped
}

// ChangeSink is a Sink that wants to know of changes as they happen. Safe for concurrent use.
type ChangeSink interface {
	// Changed is told changes in their order, by the runtime that saw them. It does not wait. ProcessEnded is what
	// Ended tells.
	Changed(Change)
}
