package session

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/crash"
	"github.com/strobe-debug/strobe/internal/report"
)

// panicOf finds the picture of the panic that a report is of; nil: there is none.
func panicOf(r *pendingReport, how *collector.ExitInfo) *collector.Panic {
	if how == nil || how.Panics == nil || r.Tool != report.RustPanic {
		return nil
	}
	// a report may have moved on from the library that panicked to who called it
	for _, here := range []bool{true, false} {
		for i := len(how.Panics.List) - 1; i >= 0; i-- {
			p := &how.Panics.List[i]
			said := p.Message != "" && strings.TrimSpace(p.Message) == strings.TrimSpace(r.Message)
			at := p.Line == r.Line && strings.HasSuffix(p.File, strings.TrimPrefix(r.File, "./"))
			if p.Crash != nil && (at && (said || p.Message == "") || !here && said) {
				return p
			}
		}
	}
	return nil
}

// causes takes the panics before one that only says that they could not go on: they are why.
func (c *crashes) causes(r *pendingReport) (out []string) {
	if r == nil || r.Tool != report.RustPanic || r.Kind != "panic-cannot-unwind" && r.Kind != "panic-in-drop" {
		return nil
	}
	n := 1
	if r.Kind == "panic-in-drop" { // one that began the unwinding, and one in the destructor
		n = 2
	}
	for range n {
		before := c.take(r.PID, func(b *report.Report) bool { return b.Tool == report.RustPanic && b.Thread == r.Thread })
		if before == nil {
			break
		}
		out = append(out, fmt.Sprintf("panic at %s:%d: %s", before.File, before.Line, firstLines(before.Message, 3)))
	}
	slices.Reverse(out)
	return out
}

// panicked is a panic's picture with its report. The picture has the stack that the report may have.
func panicked(p *collector.Panic, r *pendingReport, how *collector.ExitInfo) *crash.Crash {
	own := *r
	own.Stacks, own.Omitted = nil, 0
	k := withReport(p.Crash, &own, nil)
	withExit(k, how)
	p.Crash = nil // taken
	return k
}

// functionAt is the function of a report's own stack that has the report's line; "" if it has none.
func functionAt(r *report.Report) string {
	for i := range r.Stacks {
		for _, f := range r.Stacks[i].Frames {
			if f.Line == r.Line && f.Line > 0 && filepath.Base(f.File) == filepath.Base(r.File) {
				return f.Function
			}
		}
	}
	return ""
}
