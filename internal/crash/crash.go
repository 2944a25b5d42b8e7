// Package crash owns what a crash event holds: why a process came to its end, where, with which values, and what its
// runtime or a checker wrote about it. It is the only code that writes and reads that event's JSON.
//
// Makers are collectors (snapshot, for machine code and core files) and session, which lays a report from standard
// error over the collector's picture, or makes a crash of the report alone. Readers are query, tracediff and the
// commands.
//
// Invariant: members stand in the order in which Strobe has always stored them, so that an event that is read and
// written again is the same bytes (see order). A member that no maker set is absent. What is read may be a damaged
// file's: Parse returns errors.
package crash

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/value"
)

// Crash is one crash event.
type Crash struct {
	Signal   string `json:"signal,omitempty"`   // that the process dies of, or that a runtime took before that
	ExitCode int    `json:"exitCode,omitempty"` // of a process that its runtime ended by exiting
	Class    string `json:"class,omitempty"`    // null-pointer, stack-overflow, uncaught-exception, …
	Reason   string `json:"reason,omitempty"`   // in a sentence
	Language string `json:"language,omitempty"` // of the runtime that tells; "" for machine code, whose frames say it

	Code         string `json:"code,omitempty"` // of the signal: SEGV_MAPERR
	FaultAddress string `json:"faultAddress,omitempty"`
	Access       string `json:"access,omitempty"` // read, write, execute
	Fatal        bool   `json:"fatal"`            // it ended the process

	// The place in the user's code, and its arguments and variables.
	Function string       `json:"function,omitempty"`
	File     string       `json:"file,omitempty"`
	Line     int          `json:"line,omitempty"`
	Locals   value.Object `json:"locals,omitempty"`

	ExceptionType    string   `json:"exceptionType,omitempty"`
	ExceptionMessage string   `json:"exceptionMessage,omitempty"`
	ThrownAt         *Place   `json:"thrownAt,omitempty"`
	Nested           []string `json:"nestedExceptions,omitempty"` // what the exception was thrown in place of, as text
	Causes           []Cause  `json:"causes,omitempty"`           // the same with places or stacks, the nearest first

	Recursion     string       `json:"recursion,omitempty"` // the function that called itself without end
	Handler       []string     `json:"handler,omitempty"`   // frames of the handler that did not return
	EndedBy       string       `json:"endedBy,omitempty"`   // what ended the process then
	Registers     value.Object `json:"registers,omitempty"`
	Backtrace     []Frame      `json:"backtrace,omitzero"`
	FramesOmitted int          `json:"framesOmitted,omitempty"`
	StackEnd      string       `json:"stackEnd,omitempty"` // why the stack could not be read to its end
	Threads       []Thread     `json:"threads,omitempty"`
	MoreThreads   int          `json:"moreThreads,omitempty"` // that are not shown

	CausedBy []string `json:"causedBy,omitempty"` // what was reported before and led to it
	Report   *Report  `json:"report,omitempty"`

	// Panicking says that a Rust panic is on the stack. No member: it tells which report fits.
	Panicking bool `json:"-"`

	order order
}

// Frame is one line of a stack, innermost first. What is not known is absent: an interpreter's frame has no address.
type Frame struct {
	Index     int          `json:"frame"`
	Function  string       `json:"function,omitempty"`
	File      string       `json:"file,omitempty"`
	Line      int          `json:"line,omitempty"`
	Module    string       `json:"module,omitempty"` // where file is not known
	Offset    string       `json:"offset,omitempty"` // in the function, or in the module; where line is not known
	Address   string       `json:"address,omitempty"`
	Inlined   bool         `json:"inlined,omitempty"`
	Signal    bool         `json:"signalHandlerCall,omitempty"` // here the kernel called the handler that is above
	FoundBy   string       `json:"foundBy,omitempty"`           // frame-pointer, scan, call: it may be wrong
	Arguments value.Object `json:"arguments,omitempty"`
	Locals    value.Object `json:"locals,omitempty"`
}

// Place is where an exception was thrown.
type Place struct {
	Function string `json:"function,omitempty"`
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
	Module   string `json:"module,omitempty"` // where file is not known
	Via      string `json:"via,omitempty"`    // a function without debug information, called there, that threw
}

// Cause is an exception that led to another.
type Cause struct {
	Relation  string  `json:"relation,omitempty"` // cause; context: it was being handled when the other was thrown
	Type      string  `json:"exceptionType,omitempty"`
	Message   string  `json:"exceptionMessage,omitempty"`
	ThrownAt  *Place  `json:"thrownAt,omitempty"`
	Backtrace []Frame `json:"backtrace,omitempty"`
}

// Thread is one that did not crash.
type Thread struct {
	ThreadID  int      `json:"threadId"`
	Name      string   `json:"name,omitempty"`
	Alike     int      `json:"alike,omitempty"` // threads with the same stack, which are not shown
	Backtrace []string `json:"backtrace"`
}

// Report is what a runtime or a checker wrote, as far as the crash's own members do not say it.
type Report struct {
	Tool     string `json:"tool,omitempty"`
	Kind     string `json:"kind,omitempty"`
	Message  string `json:"message,omitempty"`
	Location string `json:"location,omitempty"` // what lies at the address
	Log      string `json:"log,omitempty"`      // a file with more
	Size     int    `json:"size,omitempty"`     // bytes accessed, or leaked
	Count    int    `json:"count,omitempty"`    // of leaked blocks, where it is not one
	Thread   string `json:"thread,omitempty"`
	// Where the crash is a collector's, which has these of its own:
	Access  string `json:"access,omitempty"`
	Address string `json:"address,omitempty"`
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`

	Stacks        []Stack `json:"stacks,omitempty"`
	FramesOmitted int     `json:"framesOmitted,omitempty"`
}

// Stack is one of a report's stacks.
type Stack struct {
	Title     string  `json:"title,omitempty"` // freed by thread T1
	Backtrace []Frame `json:"backtrace"`
}

// Address is one as crashes show them.
func Address(a uint64) string { return fmt.Sprintf("0x%x", a) }

// shownName is how much of a function's name a line of a stack has: with template arguments where they fit, else
// without.
const shownName = 100

// Text is a frame in one line.
func (f *Frame) Text() string {
	name := "??"
	switch {
	case f.Signal:
		name = "<signal handler called>"
	case f.Function != "":
		name = event.ShortName(f.Function, shownName)
	case f.Address != "":
		name = f.Address
	}
	where := ""
	switch {
	case f.Line > 0:
		where = fmt.Sprintf(" (%s:%d)", filepath.Base(f.File), f.Line)
	case f.Module != "":
		where = " in " + filepath.Base(f.Module)
	}
	return fmt.Sprintf("#%d %s%s", f.Index, name, where)
}

// Text is a cause in one line.
func (c *Cause) Text() string {
	text := strings.Trim(c.Type+": "+c.Message, ": ")
	if c.Relation == "context" {
		text += ", which was being handled,"
	}
	p := c.ThrownAt
	switch {
	case p == nil || p.Line == 0 && p.Function == "":
		return strings.TrimSuffix(text, ",")
	case p.Line == 0:
		return text + " in " + p.Function
	case p.Function == "":
		return fmt.Sprintf("%s at %s:%d", text, filepath.Base(p.File), p.Line)
	}
	return fmt.Sprintf("%s in %s (%s:%d)", text, p.Function, filepath.Base(p.File), p.Line)
}
