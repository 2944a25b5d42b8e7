package export

import (
	"fmt"
	"strings"

	"github.com/strobe-debug/strobe/internal/store"
)

// Report says what an export has of its session. Events is the sum of Written and of LeftOut.
type Report struct {
	Format  string `json:"format"`
	Events  int64  `json:"events"`            // that can be read of the session
	Written int64  `json:"written"`           // of them, whole or changed
	LeftOut []Note `json:"leftOut,omitempty"` // what the form has no place for
	Changed []Note `json:"changed,omitempty"` // of what is written: what is not as it was recorded
	// Evicted are events that the session's limit dropped. Calls are those of all traced functions: what was not
	// recorded cannot be exported.
	Evicted int64            `json:"evicted,omitempty"`
	Calls   store.CallCounts `json:"calls"`
}

// Note counts events that one thing is said of.
type Note struct {
	What   string `json:"what"`
	Events int64  `json:"events"`
	Why    string `json:"why"`
}

// note counts n events under what.
func note(list *[]Note, what, why string, n int64) {
	for i := range *list {
		if e := &(*list)[i]; e.What == what && e.Why == why {
			e.Events += n
			return
		}
	}
	*list = append(*list, Note{what, n, why})
}

// leave counts an event that the form cannot carry.
func (r *Report) leave(what, why string) { note(&r.LeftOut, what, why, 1) }

// change counts an event that is written otherwise than recorded.
func (r *Report) change(what, why string) { note(&r.Changed, what, why, 1) }

// Lines say in words what is not in the export as it happened, one line each; none where all is.
func (r *Report) Lines() []string {
	var lines []string
	for _, n := range r.LeftOut {
		lines = append(lines, fmt.Sprintf("left out: %d %s: %s", n.Events, n.What, n.Why))
	}
	for _, n := range r.Changed {
		lines = append(lines, fmt.Sprintf("changed: %d %s: %s", n.Events, n.What, n.Why))
	}
	if r.Evicted > 0 {
		lines = append(lines, fmt.Sprintf("%d events are not in the session any more: its limit dropped them", r.Evicted))
	}
	var missing []string
	if n := r.Calls.Sampled; n > 0 {
		missing = append(missing, fmt.Sprintf("%d were sampled away", n))
	}
	if n := r.Calls.Dropped; n > 0 {
		missing = append(missing, fmt.Sprintf("%d were lost, because buffers were full", n))
	}
	if len(missing) > 0 {
		lines = append(lines, fmt.Sprintf("of %d calls %s", r.Calls.Made, strings.Join(missing, " and ")))
	}
	return lines
}
