package crash

import (
	"fmt"

	"github.com/strobe-debug/strobe/internal/value"
)

const (
	shortFrames = 6 // lines of the stack in a crash's short form
	shortLocals = 1 << 10
)

// Short is a crash as statuses and other answers carry it: why, where, with which values, called by whom. Its places
// have the names that calls have for them.
type Short struct {
	Signal           string       `json:"signal,omitempty"`
	ExitCode         int          `json:"exitCode,omitempty"`
	Class            string       `json:"class,omitempty"`
	Reason           string       `json:"reason,omitempty"`
	Language         string       `json:"language,omitempty"`
	FaultAddress     string       `json:"faultAddress,omitempty"`
	Fatal            bool         `json:"fatal"`
	Function         string       `json:"function,omitempty"`
	SourceFile       string       `json:"sourceFile,omitempty"`
	Line             int          `json:"line,omitempty"`
	Locals           value.Object `json:"locals,omitempty"`
	Hint             string       `json:"hint,omitempty"` // where the locals are, when they are too large
	ExceptionType    string       `json:"exceptionType,omitempty"`
	ExceptionMessage string       `json:"exceptionMessage,omitempty"`
	ThrownAt         *ShortPlace  `json:"thrownAt,omitempty"`
	Nested           []string     `json:"nestedExceptions,omitempty"`
	Recursion        string       `json:"recursion,omitempty"`
	EndedBy          string       `json:"endedBy,omitempty"`
	Stack            []string     `json:"stack,omitzero"` // the innermost frames as lines
	CausedBy         []string     `json:"causedBy,omitempty"`

	order order
}

// ShortPlace is a Place as calls name it.
type ShortPlace struct {
	Function   string `json:"function,omitempty"`
	SourceFile string `json:"sourceFile,omitempty"`
	Line       int    `json:"line,omitempty"`
	Module     string `json:"module,omitempty"`
	Via        string `json:"via,omitempty"`
}

// Short returns the short form.
func (c *Crash) Short() *Short {
	s := &Short{
		Signal: c.Signal, ExitCode: c.ExitCode, Class: c.Class, Reason: c.Reason, Language: c.Language,
		FaultAddress: c.FaultAddress, Fatal: c.Fatal,
		Function: c.Function, SourceFile: c.File, Line: c.Line, Locals: c.Locals,
		ExceptionType: c.ExceptionType, ExceptionMessage: c.ExceptionMessage, Nested: c.Nested,
		Recursion: c.Recursion, EndedBy: c.EndedBy, CausedBy: c.CausedBy, order: c.order,
	}
	if len(c.Locals.AppendJSON(nil)) > shortLocals {
		s.Locals = nil
		s.Hint = "debug_query with eventType crash has the locals, registers, all threads' stacks and the last events."
	}
	if p := c.ThrownAt; p != nil {
		s.ThrownAt = &ShortPlace{p.Function, p.File, p.Line, p.Module, p.Via}
	}
	if c.Backtrace != nil {
		s.Stack = c.stack()
	}
	for i := range c.Causes {
		s.CausedBy = append(s.CausedBy[:len(s.CausedBy):len(s.CausedBy)], c.Causes[i].Text())
	}
	return s
}

// stack is the backtrace in a few lines: the innermost frame, and those from the crash's place in the user's code on.
func (c *Crash) stack() []string {
	place := 0
	for i := range c.Backtrace {
		if c.Backtrace[i].Function == c.Function && c.Backtrace[i].Line == c.Line {
			place = i
			break
		}
	}
	lines := []string{}
	for i := range c.Backtrace {
		if len(lines) >= shortFrames {
			return append(lines, fmt.Sprintf("… %d more", len(c.Backtrace)-i))
		}
		if i == 0 || i >= place {
			lines = append(lines, c.Backtrace[i].Text())
		}
	}
	return lines
}

type declaredShort Short

// MarshalJSON writes the members in the order in which the crash has them.
func (s Short) MarshalJSON() ([]byte, error) { return s.order.write((*declaredShort)(&s)) }
