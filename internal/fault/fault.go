// Package fault owns the closed list of error codes that clients see, and the
// one error type that carries them.
//
// A fault is made once, where the cause is known; layers above wrap it with %w
// and never change its code. Front ends show the first fault in the chain, or
// InternalError where there is none. It stands beside the data path: every
// package may import it, and it imports nothing of ours.
package fault

import (
	"errors"
	"fmt"
)

// Code names one kind of failure on the wire.
type Code string

// The codes, as in the interface contract. docs/errors.md is generated from these comments.
const (
	// NoDebugSymbols: the program or library has no DWARF debug information for what was asked.
	NoDebugSymbols Code = "NO_DEBUG_SYMBOLS"
	// SessionExists: reserved: a session of that name is there already.
	SessionExists Code = "SESSION_EXISTS"
	// SessionNotFound: no session of that id is running or kept.
	SessionNotFound Code = "SESSION_NOT_FOUND"
	// SessionLimit: as many sessions are running as sessions.max, or the daemon's limit of open files, allows.
	SessionLimit Code = "SESSION_LIMIT"
	// ProcessExited: the program has ended, or is no longer traced; its session can still be queried.
	ProcessExited Code = "PROCESS_EXITED"
	// LaunchFailed: the program could not be started.
	LaunchFailed Code = "LAUNCH_FAILED"
	// AttachFailed: a running process could not be attached to.
	AttachFailed Code = "ATTACH_FAILED"
	// PermissionDenied: the operating system does not allow it.
	PermissionDenied Code = "PERMISSION_DENIED"
	// InvalidPattern: a pattern cannot be read; the message has the position.
	InvalidPattern Code = "INVALID_PATTERN"
	// WatchFailed: a watch cannot be resolved or read.
	WatchFailed Code = "WATCH_FAILED"
	// TestRunNotFound: no test run of that id is remembered.
	TestRunNotFound Code = "TEST_RUN_NOT_FOUND"
	// TestAlreadyRunning: the project's tests are running already.
	TestAlreadyRunning Code = "TEST_ALREADY_RUNNING"
	// NoCodeAtLine: no code near that line.
	NoCodeAtLine Code = "NO_CODE_AT_LINE"
	// OptimizedOut: the compiler removed the value.
	OptimizedOut Code = "OPTIMIZED_OUT"
	// ReadFailed: memory cannot be read.
	ReadFailed Code = "READ_FAILED"
	// WriteFailed: input cannot be sent to the program: its stdin is closed, full or not a pipe.
	WriteFailed Code = "WRITE_FAILED"
	// NotPaused: no thread, or not that one, is paused.
	NotPaused Code = "NOT_PAUSED"
	// ValidationError: a parameter is missing, unknown, of the wrong type or out of range.
	ValidationError Code = "VALIDATION_ERROR"
	// Unsupported: this platform, program or version of Strobe cannot do it.
	Unsupported Code = "UNSUPPORTED"
	// UIQueryFailed: an element of a user interface is not there, or cannot be used so.
	UIQueryFailed Code = "UI_QUERY_FAILED"
	// UINotAvailable: there is no display, or no accessibility, to read a user interface by.
	UINotAvailable Code = "UI_NOT_AVAILABLE"
	// StorageFull: the disk, or the room that Strobe may use, is full.
	StorageFull Code = "STORAGE_FULL"
	// Unreachable: where sessions are kept together does not answer.
	Unreachable Code = "UNREACHABLE"
	// EngineFailed: the process that had the session or test run ended; others are not affected.
	EngineFailed Code = "ENGINE_FAILED"
	// InternalError: a defect of Strobe; the daemon's log has more.
	InternalError Code = "INTERNAL_ERROR"
)

// Error is a failure with a code, what happened, and what to do next.
type Error struct {
	Code Code
	Msg  string
	Hint string
	err  error
}

// New makes a fault. The hint names the next action: a tool call, a command, a setting.
func New(code Code, hint, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Msg: err.Error(), Hint: hint, err: errors.Unwrap(err)}
}

// Error returns "CODE: what happened. What to do next."
func (e *Error) Error() string {
	if e.Hint == "" {
		return string(e.Code) + ": " + e.Msg
	}
	return string(e.Code) + ": " + e.Msg + ". " + e.Hint
}

// Unwrap returns the cause that New was given with %w, if any.
func (e *Error) Unwrap() error { return e.err }

// Is reports whether target is a fault of the same code.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}

// From returns the first fault in err's chain, or an InternalError that wraps err.
func From(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return New(InternalError, "Call debug_session with action status; the daemon's log has the details.", "%w", err)
}

// CodeOf returns the code that a client would see for err.
func CodeOf(err error) Code { return From(err).Code }
