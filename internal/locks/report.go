package locks

import (
	"fmt"
	"strings"
	"time"
)

// Report is what a program's locks tell.
type Report struct {
	Inversions []Circle `json:"inversions"`
	// inversions that are not shown, for their number
	MoreInversions int       `json:"moreInversions,omitempty"`
	Contention     []Waiting `json:"contention"` // the most waited for first
	MoreContended  int       `json:"moreContended,omitempty"`
	Orders         int       `json:"orders"`            // pairs of locks, one taken while the other was held
	NotSeen        []string  `json:"notSeen,omitempty"` // what is missing, and why
	NextSteps      string    `json:"nextSteps,omitempty"`
}

// Circle is an inversion: threads that each hold what another one takes.
type Circle struct {
	Locks []string `json:"locks"`
	Takes []Take   `json:"takes"`
	PID   int      `json:"pid,omitempty"` // where there are several processes
}

// Take is one side of an inversion.
type Take struct {
	ThreadID int      `json:"threadId"`
	Holds    string   `json:"holds"`
	Since    string   `json:"since,omitempty"` // where it took that
	Takes    string   `json:"takes"`
	Stack    []string `json:"stack"` // where, innermost first
}

// Waiting is a lock that threads waited for.
type Waiting struct {
	Lock      string  `json:"lock"`
	Kind      string  `json:"kind"`
	Waits     int64   `json:"waits"`
	TotalNs   int64   `json:"totalNs"`
	LongestNs int64   `json:"longestNs"`
	Waiter    int     `json:"waiter,omitempty"` // thread of the longest wait,
	Owner     int     `json:"owner,omitempty"`  // and who held the lock when that began
	Places    []Place `json:"places,omitempty"` // the longest first
	PID       int     `json:"pid,omitempty"`
}

// Place is where a lock was waited for.
type Place struct {
	Waits   int64    `json:"waits"`
	TotalNs int64    `json:"totalNs"`
	Stack   []string `json:"stack"`
}

// Text is a report for people, and for a model that reads the command's output.
func (r *Report) Text() string {
	var b strings.Builder
	if len(r.Inversions) == 0 {
		fmt.Fprintf(&b, "No inversion among %d orders of locks.\n", r.Orders)
	}
	for i := range r.Inversions {
		c := &r.Inversions[i]
		fmt.Fprintf(&b, "Inversion of %s%s: a deadlock when they meet\n", strings.Join(c.Locks, ", "), process(c.PID))
		for _, t := range c.Takes {
			fmt.Fprintf(&b, "  thread %d takes %s while it holds %s", t.ThreadID, t.Takes, t.Holds)
			if t.Since != "" {
				fmt.Fprintf(&b, " (since %s)", t.Since)
			}
			fmt.Fprintf(&b, "\n    %s\n", strings.Join(t.Stack, "\n    "))
		}
	}
	if r.MoreInversions > 0 {
		fmt.Fprintf(&b, "… %d inversions more\n", r.MoreInversions)
	}
	for i := range r.Contention {
		w := &r.Contention[i]
		fmt.Fprintf(&b, "Waited for %s (%s)%s: %d times, %s, longest %s", w.Lock, w.Kind, process(w.PID), w.Waits,
			short(w.TotalNs), short(w.LongestNs))
		if w.Waiter != 0 {
			fmt.Fprintf(&b, " in thread %d", w.Waiter)
		}
		if w.Owner != 0 {
			fmt.Fprintf(&b, ", held by %d", w.Owner)
		}
		fmt.Fprintln(&b)
		for _, p := range w.Places {
			fmt.Fprintf(&b, "  %d times, %s: %s\n", p.Waits, short(p.TotalNs), strings.Join(p.Stack, " < "))
		}
	}
	if r.MoreContended > 0 {
		fmt.Fprintf(&b, "… %d locks more were waited for\n", r.MoreContended)
	}
	if len(r.Contention) == 0 {
		fmt.Fprintln(&b, "No wait for a lock.")
	}
	if len(r.NotSeen) > 0 {
		fmt.Fprintf(&b, "Not seen: %s.\n", strings.Join(r.NotSeen, "; "))
	}
	if r.NextSteps != "" {
		fmt.Fprintf(&b, "Next: %s\n", r.NextSteps)
	}
	return b.String()
}

func process(pid int) string {
	if pid == 0 {
		return ""
	}
	return fmt.Sprintf(" in process %d", pid)
}

// short is a duration with three digits.
func short(ns int64) string {
	d := time.Duration(ns)
	switch {
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	case d >= time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	}
	return d.Round(10 * time.Nanosecond).String()
}
