package collector

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/strobe-debug/strobe/internal/secret"
)

// Image is a program that begins to run in a process of a target: at its launch and at each exec, before its first
// instruction.
type Image struct {
	PID  int
	Path string   // of the executable, as the kernel has it
	Args []string // with argv[0]
	Env  func() []string
	// Files are the paths of what is mapped with code in it, of a process that runs already; nil of an image that begins.
	Files []string
}

// Beside is what an image is to have beside what it has.
type Beside struct {
	Env  []string // NAME=value
	Args []string // behind argv[0]
}

// Joiner is a runtime that watches from inside: an interpreter whose agent is loaded by what its environment says. The
// processes are the host's. Safe for concurrent use.
type Joiner interface {
	Name() string // python, node, …
	// Detect reports whether the image is this runtime's. Cheap: it is asked while the process stands.
	Detect(Image) bool
	Language() Language
	// Join begins to watch the processes of one target. It is called at the first image that is the runtime's.
	Join(j Joining) (Member, error)
}

// Language is what a runtime that joins says of its language where none of its programs runs.
type Language struct {
	Extensions []string // of source files, with the dot
	Commands   []string // its interpreters, as they are found in PATH
	// Sample is a program that calls SampleFunction once and ends with 0, and SampleFile what its file is called: by
	// it strobe doctor shows whether calls are recorded.
	Sample, SampleFile, SampleFunction string
}

// Sources reports whether a file is source of the language, by its name.
func (l *Language) Sources(file string) bool {
	return slices.Contains(l.Extensions, filepath.Ext(file))
}

// Joining is what a runtime that joins a target needs to know of it.
type Joining struct {
	Root    string // of the user's code
	OnFull  OnFull
	Lines   string // as in Command
	Sink    Sink
	Numbers *Numbers
	Secrets *secret.Names // as in Command
}

// Machines is a Member whose processes have threads of the interpreter's own.
type Machines interface {
	// Machine reports whether a thread is one, of the kernel's word on it and the agent's. Safe for concurrent use.
	Machine(row *ThreadRow) bool
}

// Member is one runtime's part of a target. Safe for concurrent use.
type Member interface {
	Name() string
	// Starts says what an image is to have so that the agent gets in. Of others it is told, too, since the image that
	// the process had before is gone. It must not wait: the process stands.
	Starts(img Image, mine bool) Beside
	// Ready waits until the process's agent is there, or ctx ends.
	Ready(ctx context.Context, pid int)
	SetTracing(ctx context.Context, tracing Tracing) (Status, error)
	Status() Status
	// Flush delivers every record that was written before the call to the sink.
	Flush(ctx context.Context) error
	// Ended tells that a process is gone, and delivers all its records.
	Ended(pid int)
	Capabilities() Capabilities
	// Threads tells what the threads of its processes do, as the interpreter has it.
	Threads(ctx context.Context) ([]ThreadRow, error)
	// Close takes everything out and delivers the rest. Idempotent.
	Close(ctx context.Context)
}
