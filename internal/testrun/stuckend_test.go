package testrun

import (
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/stuck"
)

// TestProofStands: what is shown again with nothing told in between has stood since it was shown first, whatever tick
// of processor time lay between: else a runtime that looks around now and then keeps a stuck test until its time is
// over.
func TestProofStands(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, first, then string
		news, ends        bool
	}{
		{name: "the same", first: "deadlock: a", then: "deadlock: a", ends: true},
		{name: "another", first: "deadlock: a", then: "deadlock: b"},
		{name: "news", first: "deadlock: a", then: "deadlock: a", news: true},
	} {
		ended := false
		r := &Run{lastNews: time.Now().Add(-time.Hour), tests: map[string]*entry{}, endStep: func() { ended = true }}
		r.Stuck(&stuck.Verdict{Stuck: true, Diagnosis: c.first}, nil)
		if ended || r.proved.IsZero() {
			t.Fatalf("%s: ended %v, proved %v", c.name, ended, r.proved)
		}
		r.proved = r.proved.Add(-stuckEnds)
		r.Moves()
		r.Moves() // as often as it is looked at
		if c.news {
			r.lastNews = time.Now()
		}
		if r.Stuck(&stuck.Verdict{Stuck: true, Diagnosis: c.then}, nil); ended != c.ends {
			t.Errorf("%s: ended %v, want %v", c.name, ended, c.ends)
		}
	}
}
