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

// The codes, as in the interface contract. docs/errors.md is generated from All.
const (
	NoDebugSymbols     Code = "NO_DEBUG_SYMBOLS"
	SessionExists      Code = "SESSION_EXISTS"
	SessionNotFound    Code = "SESSION_NOT_FOUND"
	SessionLimit       Code = "SESSION_LIMIT"
	ProcessExited      Code = "PROCESS_EXITED"
	LaunchFailed       Code = "LAUNCH_FAILED"
	AttachFailed       Code = "ATTACH_FAILED"
	PermissionDenied   Code = "PERMISSION_DENIED"
	InvalidPattern     Code = "INVALID_PATTERN"
	WatchFailed        Code = "WATCH_FAILED"
	TestRunNotFound    Code = "TEST_RUN_NOT_FOUND"
	TestAlreadyRunning Code = "TEST_ALREADY_RUNNING"
	NoCodeAtLine       Code = "NO_CODE_AT_LINE"
	OptimizedOut       Code = "OPTIMIZED_OUT"
	ReadFailed         Code = "READ_FAILED"
	WriteFailed        Code = "WRITE_FAILED"
	NotPaused          Code = "NOT_PAUSED"
	ValidationError    Code = "VALIDATION_ERROR"
	Unsupported        Code = "UNSUPPORTED"
	UIQueryFailed      Code = "UI_QUERY_FAILED"
	UINotAvailable     Code = "UI_NOT_AVAILABLE"
	StorageFull        Code = "STORAGE_FULL"
	InternalError      Code = "INTERNAL_ERROR"
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
