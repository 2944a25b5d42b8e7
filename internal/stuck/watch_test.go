package stuck

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/strobe-debug/strobe/internal/collector"
)

// still is a tree of one process that stands still, unless it is moved.
type still struct{ process Process }

func (s *still) Now() []Process       { return []Process{s.process} }
func (s *still) Every() []Process     { return []Process{s.process} }
func (s *still) Busy() (uint64, bool) { return 0, false }

// noted is a subject that takes down what it is told.
type noted struct {
	begin  time.Time
	news   time.Time
	proofs []time.Duration // when
	moves  int
}

func (n *noted) News() (time.Time, bool) { return n.news, true }
func (n *noted) Doing(string)            {}
func (n *noted) Moves()                  { n.moves++ }
func (n *noted) Due(now time.Time) time.Time {
	return now.Add(RestMost)
}
func (n *noted) Stuck(*Verdict, []Process) (time.Time, bool) {
	n.proofs = append(n.proofs, time.Since(n.begin))
	return time.Now().Add(RestMost), false
}

// TestWatch: who stands still for a while is looked at, and told to be stuck after the second look; a sign of life
// takes that back and begins the while anew.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tree := &still{Process{PID: -1, State: 'S', Ticks: 7}}
		subject := &noted{begin: time.Now()}
		looks := 0
		rep := waiting(nil)
		rep.Deadlocks = []collector.Deadlock{{Text: "deadlock: 1 waits for itself"}}
		w := &Watch{Tree: tree, Subject: subject, Limit: time.Minute,
			Look: func(context.Context, []int) (*collector.ThreadReport, error) {
				looks++
				return rep, nil
			}}
		pass := func(d time.Duration) { // on the bubble's clock
			<-time.After(d)
			synctest.Wait()
		}
		stop := make(chan struct{})
		over := make(chan struct{})
		go func() {
			defer close(over)
			w.Run(t.Context(), stop)
		}()
		pass(stillFor - time.Millisecond)
		if looks > 0 {
			t.Errorf("looked at after %v", time.Since(subject.begin))
		}
		pass(2 * time.Second)
		if looks != 2 || len(subject.proofs) != 1 || subject.proofs[0] < stillFor+againAfter {
			t.Fatalf("%d looks, proofs after %v", looks, subject.proofs)
		}
		moves := subject.moves
		tree.process.Ticks++
		pass(2 * watchEvery)
		if subject.moves == moves {
			t.Error("it moved, and that was not told")
		}
		subject.news = time.Now()
		at := time.Since(subject.begin)
		pass(3 * time.Second)
		if looks != 4 || len(subject.proofs) != 2 || subject.proofs[1] < at+stillFor+againAfter {
			t.Errorf("%d looks, proofs after %v, the last news after %v", looks, subject.proofs, at)
		}
		close(stop)
		<-over
	})
}
