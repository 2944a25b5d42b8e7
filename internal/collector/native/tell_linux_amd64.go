package native

import (
	"fmt"

	"github.com/strobe-debug/strobe/internal/collector"
)

// tell lets the session know of a change, at once: of threads and pauses from the tracer's thread, in their order.
func (t *target) tell(c collector.Change) {
	if to, ok := t.sink.(collector.ChangeSink); ok {
		to.Changed(c)
	}
}

// tellPaused says that a thread pauses. Not of the pause at the entry in which staged points are set, which nobody
// asked for.
func (t *target) tellPaused(c *pause) {
	if t.cmd.QuietEntry && c.Reason == reasonEntry {
		return
	}
	p := c.Pause
	p.Arguments, p.Locals, p.Result = nil, nil, nil
	t.tell(collector.Change{Kind: collector.ThreadPaused, PID: c.PID, TID: c.TID, Pause: &p})
}

// tellResumed says that a paused thread goes on.
func (t *target) tellResumed(c *pause, how collector.Step) {
	if t.cmd.QuietEntry && c.Reason == reasonEntry {
		return
	}
	ch := collector.Change{Kind: collector.Resumed, PID: c.PID, TID: c.TID, Pause: &c.Pause}
	if how != collector.StepNone && how != "" {
		ch.Kind, ch.Step = collector.Stepped, how
	}
	t.tell(ch)
}

// tellProcess says of a process that it came into being, or has another image.
func (t *target) tellProcess(pid int, what map[string]any) {
	switch what["what"] {
	case "fork", "vfork":
		t.tell(collector.Change{Kind: collector.ProcessBegan, PID: pid})
	case "exec":
		t.tell(collector.Change{Kind: collector.ProcessExec, PID: pid, Name: fmt.Sprint(what["command"])})
	}
}
