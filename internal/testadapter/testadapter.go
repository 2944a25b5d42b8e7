// Package testadapter knows test frameworks: how a project says that it uses one, which commands run its tests or one
// of them, and what their reports mean. One file per framework.
//
// It stands beside the data path: a test run (internal/testrun) asks for the next command, starts it, and hands over
// what it writes. Nothing here starts a process, so every adapter is tested on recorded reports, too, with no framework
// installed.
//
// Results come by a channel of their own wherever the framework has one, a file of the run's private directory, so that
// what tests print cannot break them. An adapter is safe for concurrent use; an Execution is not.
package testadapter

import (
	"io/fs"
	"slices"
	"strings"
	"time"
)

// Adapter is one test framework.
type Adapter interface {
	// Name is the framework's, in lower case: what `framework` selects.
	Name() string
	// Detect says how sure it is that a project's tests are run by it. It reads little and starts nothing.
	Detect(p *Project) Detection
	// Start prepares one execution. emit is called only within the Execution's methods. The error is a fault: what is
	// UNSUPPORTED here (a level without a meaning), or what is missing (node_modules, a command) and how to get it.
	Start(p *Project, r *Request, emit func(Event)) (Execution, error)
	// Rerun is how to run one test of an execution alone.
	Rerun(p *Project, r *Request, t *Test) Rerun
}

// Execution is one run of a project's tests. The caller alternates: Next, then Output and Report as they come, then
// End.
type Execution interface {
	// Next is the command to run now; nil at the end. A later step may depend on what earlier ones wrote.
	Next() (*Step, error)
	// Output is what the step's processes wrote, as it arrived: any bytes, cut anywhere.
	Output(s Stream, data []byte)
	// Report is what was appended to a file of Step.Reports, cut anywhere. All of it has come when End is called.
	Report(name string, data []byte)
	// End is the step's end; what it left unfinished becomes results here.
	End(x Exit)
}

// Project is where tests are looked for.
type Project struct {
	Root string // absolute
	FS   fs.FS  // of Root
	// LookPath finds a command as exec.LookPath does, in the PATH that the tests will see.
	LookPath func(name string) (string, error)
	// Environ is the environment that the tests will see, before Step.Env.
	Environ []string
	// Strobe is our own executable's path, for frameworks whose commands can be wrapped.
	Strobe string
}

// Detection is what was seen of a framework.
type Detection struct {
	Confidence int      // 0: not there; 100: certain
	Evidence   []string // "package.json: script test runs vitest"
	Dir        string   // of the tests' package below Root, in a monorepo; "" is Root itself
}

// Request is what to run.
type Request struct {
	Level Level
	// Test selects: an ID that an earlier execution reported, a test's name, or a part of names. Empty: all.
	Test string
	// Command is a test program to run instead of the project's command, with its arguments split.
	Command []string
	Args    []string // further arguments of the framework's
	// Dir is a private directory of this execution, which exists: for helper files and reports.
	Dir     string
	Timeout time.Duration // the whole run's; 0: the adapter's
	// Traced: functions of the test process will be hooked; prefer one process and no worker pools where that changes no
	// result.
	Traced bool
}

// Level is a kind of tests.
type Level string

const (
	AllLevels   Level = ""
	Unit        Level = "unit"
	Integration Level = "integration"
	EndToEnd    Level = "e2e"
)

// Step is one command.
type Step struct {
	Argv []string
	Dir  string   // absolute
	Env  []string // NAME=value, over the environment; "NAME" alone removes
	// Files are written before it starts: absolute path below Request.Dir, contents.
	Files map[string][]byte
	// Reports are files below Request.Dir that it appends to or writes: read while it runs, by name.
	Reports []string
	// Phase is what it does: Compiling or Running.
	Phase Phase
	// Builds: it compiles before it runs tests, as go test does. The phase is Compiling until its first test begins, and
	// that time is not of the run's limit.
	Builds bool
	// Drivers are the names of programs (the base of their image's path) that only start the tests' own: cargo, rustc, go,
	// npx; "java a.b.Main" is java with that argument. They are not traced and not looked at when a test seems stuck.
	Drivers []string
}

// Environ is a step's environment: its own variables over others.
func (s *Step) Environ(base []string) []string {
	out := slices.Clone(base)
	for _, v := range s.Env {
		name, _, set := strings.Cut(v, "=")
		out = slices.DeleteFunc(out, func(have string) bool { return strings.HasPrefix(have, name+"=") })
		if set {
			out = append(out, v)
		}
	}
	return out
}

// Phase is what an execution is doing.
type Phase string

const (
	Compiling Phase = "compiling"
	Running   Phase = "running"
)

// Stream is where output came from.
type Stream uint8

const (
	Stdout Stream = iota
	Stderr
)

// Exit is how a step's process ended.
type Exit struct {
	Code     int
	Signal   string // "SIGSEGV"; of the process itself
	TimedOut bool   // by us, after the run's timeout
	Stuck    string // by us, since its tests could not go on: why; TimedOut is set as well
	Canceled bool
	Duration time.Duration
}

// Event is one piece of news of an execution.
type Event struct {
	Kind EventKind
	// Test is set for TestStarted (ID, Name, Suite, File at least) and TestEnded (all that is known).
	Test *Test
	// Phase and Text are of PhaseChanged: "Compiling serde v1.0"; Text alone of Note: what a reader of the results must
	// know.
	Phase Phase
	Text  string
	// Totals are the framework's own counts, where its report or summary has them: compared with what was emitted.
	Totals *Totals
}

// EventKind says what an Event tells.
type EventKind uint8

const (
	PhaseChanged EventKind = iota
	TestStarted
	TestEnded // once per test; a retried test ends once, after its last attempt
	OwnTotals
	Note
)

// Totals are a framework's own counts, in our terms; -1: it does not say.
type Totals struct{ Passed, Failed, Skipped int }

// Status is what became of a test.
type Status string

const (
	Passed          Status = "passed"
	Failed          Status = "failed"           // its own assertion, panic or exception
	Errored         Status = "error"            // setup, teardown, collection or compilation: not the test itself
	Crashed         Status = "crashed"          // its process died of a signal or left by itself
	TimedOut        Status = "timeout"          // the framework's own limit, or ours
	Stuck           Status = "stuck"            // shown never to go on, and ended by us
	Skipped         Status = "skipped"          // with a reason in Message where given
	Todo            Status = "todo"             // announced only
	ExpectedFailure Status = "expected-failure" // failed, as it is said to; counts as passed
	UnexpectedPass  Status = "unexpected-pass"  // passed against what is said; counts as the framework counts it (Fails)
)

// Test is one test and its result.
type Test struct {
	// ID selects exactly this test when given as Request.Test, and is the same in every run: baselines go by it.
	ID    string
	Name  string // as its author wrote it, without its suite
	Suite string // package, module, class or describe blocks, joined as the framework does; "" where there is none
	// Parent is the ID of the test that this is a subtest of; the parent is then no failure of its own (Group).
	Parent string
	// Group: only holds subtests and says nothing itself; it is not counted.
	Group bool
	// Part: a subtest that its framework does not count as a test (pytest's and unittest's); one that failed stands for
	// its test.
	Part bool
	File string // relative to Root where below it
	Line int    // of the test where known; 0: not
	// Status, and whether that makes the run fail.
	Status   Status
	Fails    bool
	Duration time.Duration
	Reason   string // of a skip
	Attempts int    // more than 1: retried
	Flaky    bool   // passed after a failed attempt
	Failures []Failure
	Output   string // what the framework says it wrote, the last MaxOutput bytes
}

// MaxOutput bounds Test.Output and Failure.Message.
const MaxOutput = 8 << 10

// Failure is one thing that went wrong in a test: most have one, some frameworks go on.
type Failure struct {
	// Kind is a word: assertion, panic, exception, setup, teardown, compile, collect, crash, exit, timeout, stuck, leak.
	Kind     string
	Message  string // without colours, without the stack
	Expected string // both sides of an assertion, as the framework shows them
	Actual   string
	File     string // the place in the user's code, relative to Root where below it
	Line     int
	Column   int
	Stack    []Frame // of the user's code first to last, innermost first
	Signal   string  // of a crash
}

// Frame is a place in a stack.
type Frame struct {
	Function string
	File     string
	Line     int
}

// outside reports whether an ID is of no test: of what went wrong outside of all tests, which to run again means to run
// all of them.
func outside(id string) bool {
	switch numberTag.ReplaceAllString(id, "") {
	case "(run)", "(collection)", "(unhandled error)", "(command)", "(program)", "(build)", "(plan)", "(bail out)",
		"(ctest)", "(meson)", "(cargo)", "(nextest)":
		return true
	}
	return strings.HasPrefix(id, "(script ")
}

// Rerun is how to run one test alone: as a person would, and as debug_test would.
type Rerun struct {
	Argv []string // run in Dir
	Dir  string   // absolute
	Env  []string
	// Test is Request.Test; Framework and Command are to be given with it where they are not found by themselves.
	Test      string
	Framework string
}
