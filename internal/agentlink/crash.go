package agentlink

import (
	"encoding/json"
	"fmt"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/crash"
	"github.com/strobe-debug/strobe/internal/value"
)

// told is a crash as an agent tells it: docs/agentlink.md, Crashes.
type told struct {
	Type     string `json:"type"`
	Message  string `json:"message"`
	Language string `json:"language"`
	Ends     string `json:"ends"` // "thread": the process goes on without it
	Chain    []struct {
		Type     string `json:"type"`
		Message  string `json:"message"`
		Relation string `json:"relation"`
	} `json:"chain"`
	Frames []struct {
		Function string          `json:"function"`
		File     string          `json:"file"`
		Line     int             `json:"line"`
		User     bool            `json:"user"`
		Locals   json.RawMessage `json:"locals"`
	} `json:"frames"`
	More int `json:"more"`
}

// crash passes on what ended the process, behind all that it did before.
func (f *feed) crash(r *record) {
	var t told
	l := f.lanes[r.lane]
	if json.Unmarshal(r.payload, &t) != nil || t.Type == "" || l == nil {
		f.refused++
		return
	}
	f.deliver()
	k := crash.Crash{
		Class: "uncaught-exception", Language: t.Language, Fatal: t.Ends != "thread", FramesOmitted: max(t.More, 0),
		Reason: fmt.Sprintf("%s that nobody caught: %s", t.Type, t.Message),
	}
	if !k.Fatal {
		k.Reason += "; it ended the thread, and the process went on"
	}
	k.Told(t.Type, t.Message)
	for _, c := range t.Chain {
		k.Causes = append(k.Causes, crash.Cause{Relation: c.Relation, Type: c.Type, Message: c.Message})
	}
	layout := value.NewTree(nil, f.depth())
	for i, one := range t.Frames {
		frame := crash.Frame{Index: i, Function: one.Function, File: one.File, Line: max(one.Line, 0)}
		if len(one.Locals) > 0 {
			frame.Locals = layout.Enter(one.Locals)
		}
		if one.User && k.Function == "" {
			k.Function, k.File, k.Line, k.Locals = frame.Function, frame.File, frame.Line, frame.Locals
		}
		k.Backtrace = append(k.Backtrace, frame)
	}
	f.sink.Crash(collector.Crash{PID: f.pid, Thread: l.thread, TS: max(r.ts-f.startMono, 0), Crash: k})
}

// deliver passes on the events that were made.
func (f *feed) deliver() {
	if len(f.events) > 0 {
		f.sink.Events(f.events)
		clear(f.events)
		f.events = f.events[:0]
	}
}
