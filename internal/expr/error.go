package expr

import (
	"fmt"

	"github.com/strobe-debug/strobe/internal/fault"
)

// Error says why an expression cannot be read or checked.
type Error struct {
	Code fault.Code // ValidationError, Unsupported or OptimizedOut
	Pos  int        // byte offset in the source
	Msg  string
	Hint string // what to write instead; may be ""
}

// Error returns "position N: what is wrong", without the hint.
func (e *Error) Error() string { return fmt.Sprintf("position %d: %s", e.Pos, e.Msg) }

// Fault returns the error as a client sees it. The position counts from 0.
func (e *Error) Fault() *fault.Error { return fault.New(e.Code, e.Hint, "%w", e) }

func errorAt(pos int, hint, format string, args ...any) *Error {
	return &Error{Code: fault.ValidationError, Pos: pos, Msg: fmt.Sprintf(format, args...), Hint: hint}
}

func unsupported(pos int, hint, format string, args ...any) *Error {
	e := errorAt(pos, hint, format, args...)
	e.Code = fault.Unsupported
	return e
}

// Reason says why an evaluation has no result.
type Reason uint8

const (
	Unreadable   Reason = iota + 1 // Addr is not mapped, or not readable
	DivideByZero                   // also remainders
	OutOfRange                     // an index behind the end of a slice, Vec or vector
	TooLong                        // len of text without an end within maxStrlen
	WrongVariant                   // the payload of a Rust enum that is another variant now
	NotHere                        // a register, frame or module that the Env does not have
)

// EvalError says why an evaluation has no result.
type EvalError struct {
	Reason Reason
	Pos    int    // byte offset in the source of what could not be computed
	Addr   uint64 // Unreadable
	Msg    string
}

// Error returns "position N: what happened".
func (e *EvalError) Error() string { return fmt.Sprintf("position %d: %s", e.Pos, e.Msg) }

// Fault returns the error as a client sees it: READ_FAILED where memory is at fault.
func (e *EvalError) Fault() *fault.Error {
	code, hint := fault.ValidationError, "Guard it in the expression, e.g. n != 0 && x / n > 1."
	switch e.Reason {
	case Unreadable:
		code, hint = fault.ReadFailed, "Guard it in the expression, e.g. p != null && p->x > 1."
	case NotHere:
		code, hint = fault.Unsupported, "Ask for it where a function is called: a watch, a condition or a logpoint."
	}
	return fault.New(code, hint, "%w", e)
}
