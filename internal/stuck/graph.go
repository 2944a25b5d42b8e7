package stuck

import (
	"github.com/strobe-debug/strobe/internal/collector"
)

// Wait is one thread that waits, as pages draw it: to the thread that it waits for.
type Wait struct {
	ThreadID int    `json:"threadId"`
	Name     string `json:"name,omitempty"`
	WaitsFor string `json:"waitsFor"`
	HeldBy   int    `json:"heldBy,omitempty"` // thread that has to act; 0: none is known
	At       string `json:"at,omitempty"`     // where in the program's own code
	Circle   bool   `json:"circle,omitempty"` // of a deadlock
}

// waitsOf are the threads that wait, those of deadlocks first, as many as a verdict has.
func waitsOf(rep *collector.ThreadReport) (out []Wait) {
	member := map[int]bool{}
	for _, d := range rep.Deadlocks {
		for _, m := range d.Threads {
			if !member[m.ThreadID] {
				member[m.ThreadID] = true
				out = append(out, Wait{m.ThreadID, m.Name, m.WaitsFor, m.HeldBy, m.At, true})
			}
		}
	}
	for i := range rep.Threads {
		t := &rep.Threads[i]
		if t.WaitingFor == nil || member[t.ThreadID] {
			continue
		}
		w := Wait{ThreadID: t.ThreadID, Name: t.Name, WaitsFor: t.WaitingFor.What(), HeldBy: t.WaitingFor.Owner}
		if len(t.Backtrace) > 0 {
			w.At = t.Backtrace[0]
		}
		out = append(out, w)
	}
	return out[:min(len(out), MaxThreads)]
}
