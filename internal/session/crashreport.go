package session

import (
	"cmp"
	"strings"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/crash"
	"github.com/strobe-debug/strobe/internal/report"
)

// payload is a crash as the store has it.
func (c *crashes) payload(k *crash.Crash) []byte {
	b, err := k.JSON()
	if err == nil {
		return b
	}
	c.log.Error("a crash is told without its stack and values", "err", err)
	k.Locals, k.Registers, k.Backtrace, k.Report = nil, nil, nil, nil
	if b, err = k.JSON(); err != nil {
		c.log.Error("a crash is not told", "err", err)
	}
	return b
}

// alone is a crash of which nothing but a report is known.
func alone(r *report.Report, how *collector.ExitInfo) *crash.Crash {
	k := &crash.Crash{Class: r.Kind, Reason: reasonOf(r), Access: r.Access, Fatal: r.Fatal,
		Function: cmp.Or(r.Function, functionAt(r)), // a panic's message does not say it
		File:     r.File, Line: r.Line, ExceptionType: r.Type, Report: reported(r, true)}
	withExit(k, how)
	if r.Address != 0 {
		k.FaultAddress = crash.Address(r.Address)
	}
	if r.Type != "" || r.Tool == report.RustPanic {
		k.ExceptionMessage = r.Message
	}
	if len(r.Stacks) > 0 {
		k.Backtrace = frames(r.Stacks[0].Frames)
	}
	return k
}

// withExit adds how the process came to its end, where its picture does not say it.
func withExit(k *crash.Crash, how *collector.ExitInfo) {
	switch {
	case how == nil:
	case how.Signal != "":
		k.Signal = how.Signal
	default:
		k.ExitCode = how.Code
	}
}

// withReport adds to a collector's crash what was written about it; r is nil where nothing was.
func withReport(k *crash.Crash, r *pendingReport, causes []string) *crash.Crash {
	if r == nil {
		return k
	}
	if k.Class == "abort" || k.Class == "" || sanitizerKnowsBetter(&r.Report) {
		k.Class, k.Reason = r.Kind, reasonOf(&r.Report)
	}
	switch {
	case r.Signal != "" && k.Signal == "SIGABRT": // a runtime's handler ended the process in its own way
		address := ""
		if r.Code != "" && !strings.HasPrefix(r.Code, "SI_") {
			address = crash.Address(r.Address)
		}
		k.Handled(r.Signal, r.Code, address)
	case k.Signal == "":
		if r.Address != 0 {
			k.FaultAddress = crash.Address(r.Address)
		}
		if r.Access != "" {
			k.Access = r.Access
		}
	}
	// An exception in flight is told as it is.
	if r.Tool == report.RustPanic || k.ExceptionType == "" && r.Type != "" {
		k.Told(r.Type, r.Message)
	}
	k.CausedBy, k.Report = causes, reported(&r.Report, false)
	return k
}

// sanitizerKnowsBetter reports what a sanitizer found itself: of a signal it says less than we do.
func sanitizerKnowsBetter(r *report.Report) bool {
	switch r.Kind {
	case "segv", "bus", "fpe", "ill", "abrt", "trap", "deadly-signal", "stack-overflow":
		return false
	}
	return r.Tool == report.ASan || r.Tool == report.HWASan || r.Tool == report.MSan
}

// reasonOf is a report in a sentence.
func reasonOf(r *report.Report) string {
	text := firstLines(r.Message, 3)
	switch {
	case r.Tool == report.CxxTerminate && r.Type != "":
		if text == "" {
			return "uncaught exception " + r.Type
		}
		return "uncaught exception " + r.Type + ": " + text
	case r.Tool == report.RustPanic:
		return "panic: " + text
	case r.Tool == report.JVM:
		return jvmReason(r)
	case text == "":
		return r.Kind
	}
	return text
}

// firstLines cuts a text behind its n-th line.
func firstLines(s string, n int) string {
	lines := strings.SplitAfterN(s, "\n", n+1)
	if len(lines) > n {
		lines = lines[:n]
	}
	return strings.TrimRight(strings.Join(lines, ""), "\n")
}

// reported is a report as events show it: alone, its first stack is the event's backtrace.
func reported(r *report.Report, alone bool) *crash.Report {
	out := &crash.Report{Tool: r.Tool, Kind: r.Kind, Message: r.Message, Location: r.Location, Log: r.Log, Size: r.Size,
		Thread: r.Thread, FramesOmitted: r.Omitted}
	if r.Count > 1 {
		out.Count = r.Count
	}
	stacks := r.Stacks
	if alone {
		stacks = stacks[min(1, len(stacks)):]
	} else {
		out.Access, out.File, out.Line = r.Access, r.File, r.Line
		if r.Address != 0 {
			out.Address = crash.Address(r.Address)
		}
	}
	for _, s := range stacks {
		out.Stacks = append(out.Stacks, crash.Stack{Title: s.Title, Backtrace: frames(s.Frames)})
	}
	return out
}

// frames shows a report's stack as crash events show stacks.
func frames(in []report.Frame) []crash.Frame {
	out := make([]crash.Frame, len(in))
	for i, f := range in {
		out[i] = crash.Frame{Index: i, Function: f.Function, File: f.File, Line: f.Line}
		if f.Line == 0 {
			out[i].Module = f.Module
			if f.PC != 0 {
				out[i].Address = crash.Address(f.PC)
			}
		}
	}
	return out
}
