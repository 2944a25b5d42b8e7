package query

import (
	"fmt"
	"path"
	"strings"

	"github.com/strobe-debug/strobe/internal/event"
)

// nameWidth is the most that a function's name takes in a table; shorter ones are padded to maxPadded at the most.
const (
	nameWidth = 60
	maxPadded = 44
)

// distinct are the names of rows for a table: where several functions have one name, with what tells them apart, the names of
// their parameters or else where they are.
func (a *asker) distinct(rows []Stat) []string {
	names, seen := make([]string, len(rows)), map[string]int{}
	for i := range rows {
		names[i] = event.ShortName(rows[i].Function, nameWidth) + cloneOf(a.fn(rows[i].fn).Raw)
		seen[names[i]]++
	}
	with := map[string]int{}
	for i := range rows {
		if seen[names[i]] > 1 {
			with[names[i]+a.parameters(rows[i].fn)]++
		}
	}
	for i := range rows {
		if seen[names[i]] < 2 {
			continue
		}
		full := names[i] + a.parameters(rows[i].fn)
		if f := a.fn(rows[i].fn); with[full] > 1 && f.Line > 0 {
			full += fmt.Sprintf(" %s:%d", path.Base(f.File), f.Line)
		}
		names[i] = full
	}
	return names
}

// cloneOf is what tells a compiler's copy of a function from the function itself: ".part.0", ".constprop.0".
func cloneOf(raw string) string {
	i := strings.IndexByte(raw, '.')
	if i < 1 || strings.HasPrefix(raw[i:], ".llvm.") {
		return ""
	}
	return raw[i:]
}

// parameters lists a function's parameters with their types.
func (a *asker) parameters(id event.FuncID) string {
	l := a.fn(id).layout
	if l == nil {
		return ""
	}
	parts := make([]string, 0, len(l.Args))
	for i := range l.Args {
		part := l.Args[i].Name
		if t := l.Args[i].Type; t >= 0 && int(t) < len(l.Types) && l.Types[t].Name != "" {
			part = event.ShortName(l.Types[t].Name, 24) + " " + part
		}
		parts = append(parts, part)
	}
	return "(" + strings.Join(parts, ", ") + ")"
}
