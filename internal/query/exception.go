package query

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"github.com/strobe-debug/strobe/internal/event"
)

// thrownAt is where an exception was thrown or caught, as its event tells.
type thrownAt struct {
	Function string `json:"function"`
	File     string `json:"file"`
	Line     int    `json:"line"`
	Module   string `json:"module"`
}

func (p *thrownAt) String() string {
	switch name := event.ShortName(p.Function, 100); {
	case p.File == "" && p.Module == "":
		return name
	case p.File == "":
		return fmt.Sprintf("%s in %s", name, path.Base(p.Module))
	default:
		return fmt.Sprintf("%s (%s:%d)", name, path.Base(p.File), p.Line)
	}
}

// exceptionLine is an exception event in one line of a tree: throw int: 42 at read_row (table.cpp:20). "" where the
// payload is not one.
func exceptionLine(payload []byte) string {
	var x struct {
		thrownAt
		What     string    `json:"what"`
		Type     string    `json:"type"`
		Message  string    `json:"message"`
		CaughtIn *thrownAt `json:"caughtIn"`
		First    *thrownAt `json:"thrownAt"`
		Again    *thrownAt `json:"rethrownAt"`
		Nested   string    `json:"nested"`
	}
	if json.Unmarshal(payload, &x) != nil || x.What == "" {
		return ""
	}
	var b strings.Builder
	b.WriteString(x.What)
	if x.Type != "" && x.Type != x.What {
		b.WriteString(" " + event.ShortName(x.Type, 100))
	}
	if x.Message != "" {
		b.WriteString(": " + cut(strings.ReplaceAll(x.Message, "\n", "⏎"), 200))
	}
	if x.CaughtIn != nil {
		b.WriteString(" in " + x.CaughtIn.String())
	}
	if x.Function != "" || x.File != "" {
		at := " at "
		if x.CaughtIn != nil {
			at = ", thrown at "
		}
		b.WriteString(at + x.thrownAt.String())
	}
	if x.First != nil {
		b.WriteString(", first thrown at " + x.First.String())
	}
	if x.Again != nil {
		b.WriteString(", thrown again at " + x.Again.String())
	}
	if x.Nested != "" {
		b.WriteString("; caused by " + cut(strings.ReplaceAll(x.Nested, "\n", "⏎"), 200))
	}
	return b.String()
}
