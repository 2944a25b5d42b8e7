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

// distinct are the names of rows for a table: where several functions have one name, with what tells them apart, the
// names of their parameters or else where they are.
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

// cloneOf is what tells a compiler's copy of a function from the function itself: ".part.0", ".constprop.0". Two dots
// are Rust's for ::, as in core..clone..Clone.
func cloneOf(raw string) string {
	for i := 1; i < len(raw); i++ {
		if raw[i] != '.' || raw[i-1] == '.' || i+1 < len(raw) && raw[i+1] == '.' {
			continue
		}
		if strings.HasPrefix(raw[i:], ".llvm.") {
			return ""
		}
		return raw[i:]
	}
	return ""
}

// parameters lists a function's parameters with their types.
func (a *asker) parameters(id event.FuncID) string {
	f := a.fn(id)
	if !f.Known() {
		return ""
	}
	var parts []string
	for _, p := range f.Parameters() {
		if p.Type != "" {
			p.Name = event.ShortName(p.Type, 24) + " " + p.Name
		}
		parts = append(parts, p.Name)
	}
	return "(" + strings.Join(parts, ", ") + ")"
}
