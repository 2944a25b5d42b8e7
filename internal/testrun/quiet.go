package testrun

import (
	"fmt"
	"time"

	"github.com/strobe-debug/strobe/internal/testadapter"
)

// A test that says nothing for long and takes longer than it usually does is worth a word, also where nobody can say
// that it is stuck.
const (
	warnAfter  = 10 * time.Second // of quiet
	longFactor = 2                // times the usual duration
)

// quietWarnings are of the tests that run longest. Run.mu is held.
func (r *Run) quietWarnings(p *Progress, now time.Time) (out []string) {
	quiet := now.Sub(r.lastNews)
	if r.phase != testadapter.Running || quiet < warnAfter || len(r.stuck) > 0 {
		return nil
	}
	for _, c := range p.Current {
		if c.ElapsedMs < warnAfter.Milliseconds() || c.ElapsedMs < longFactor*c.BaselineMs {
			continue
		}
		text := fmt.Sprintf("%s: quiet for %s", c.Name, seconds(quiet))
		if c.BaselineMs > 0 {
			text += fmt.Sprintf(", it usually takes %s", seconds(time.Duration(c.BaselineMs)*time.Millisecond))
		}
		if r.doingNow != "" {
			text += "; " + r.doingNow
		}
		out = append(out, text)
	}
	return out
}

// seconds is a duration as a person says it: "12 s", "0.2 s".
func seconds(d time.Duration) string {
	if d < 950*time.Millisecond {
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return fmt.Sprintf("%.0f s", d.Seconds())
}

// Line is how a run stands in a line for who waits. The key is the same while only time has passed.
func (r *Run) Line() (key, text string) {
	status, p, _, _, _ := r.State()
	if status != "running" {
		return status, status
	}
	text = p.Phase
	if p.Doing != "" {
		text += " (" + p.Doing + ")"
	}
	if p.Passed+p.Failed+p.Skipped > 0 || p.Phase == string(testadapter.Running) {
		text += fmt.Sprintf(": %d passed, %d failed, %d skipped", p.Passed, p.Failed, p.Skipped)
	}
	key = text
	if len(p.Current) == 0 {
		text += fmt.Sprintf("; %s", seconds(time.Duration(p.ElapsedMs)*time.Millisecond))
	} else {
		c := p.Current[0]
		key += c.Name
		text += fmt.Sprintf("; %s in %s", seconds(time.Duration(c.ElapsedMs)*time.Millisecond), c.Name)
		if c.BaselineMs > 0 {
			text += fmt.Sprintf(" (usually %s)", seconds(time.Duration(c.BaselineMs)*time.Millisecond))
		}
		if p.Running > 0 {
			text += fmt.Sprintf(", %d others", p.Running-1)
		}
	}
	for _, s := range p.Paused {
		key += s
		text += "; paused: " + s
	}
	for _, s := range p.Stuck {
		key += s.Diagnosis
		text += "; " + s.Diagnosis
	}
	return key, text
}

// standstill is what keeps the run from going on, "" for nothing, and whether that stays so until somebody does
// something.
func (r *Run) standstill() (what string, lasts bool) {
	if paused := r.Paused(); len(paused) > 0 {
		return fmt.Sprint("paused ", paused), true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.stuck {
		what += s.Diagnosis
	}
	return what, what != "" && r.Request.KeepStuck && !r.proved.IsZero() // else it is about to be ended for its time
}

// Paused are the threads of the traced command that runs that a breakpoint or a step has stopped: "worker 1234 at
// breakpoint bp-1".
func (r *Run) Paused() (list []string) {
	r.mu.Lock()
	s := r.live
	r.mu.Unlock()
	if s == nil {
		return nil
	}
	for _, p := range s.Pauses() {
		list = append(list, fmt.Sprintf("%s (thread %d, %s %s) in %s", p.ThreadName, p.TID, p.Reason, p.PointID, p.Function))
	}
	return list
}
