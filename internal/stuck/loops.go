package stuck

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/strobe-debug/strobe/internal/collector"
)

// A test that uses the CPU, or sleeps again and again, and says nothing for a while is looked at more closely: a copy
// of each thread that runs is run on, and is shown to go round for ever, or not (package spin). The threads stand for
// some tens of milliseconds meanwhile, so that is done seldom: the times below keep what a slow test loses by it under
// two hundredths.

const (
	quietSnapshot = time.Second             // without news, until it is noted which processes there are
	quietFirst    = 2500 * time.Millisecond // without news, until the first look
	quietSecond   = 4 * time.Second
	quietThird    = 10 * time.Second // and each time after twice as long
)

// loopWatch is when to look.
type loopWatch struct {
	since time.Time // of the last news
	procs []int
	wait  time.Duration // after since
	found bool          // an endless loop was found, and nothing has moved since
	ended bool          // and the command is being ended for it
	last  any           // what the last look left for the next
}

func newLoopWatch() *loopWatch { return &loopWatch{since: time.Now(), wait: quietFirst} }

// due reports whether it is time, and of which processes. One that begins or ends is news.
func (w *loopWatch) due(now, news time.Time, running bool, list func() []Process) (all []Process, due bool) {
	if !running || news.After(w.since) {
		*w = loopWatch{since: now, wait: quietFirst}
		return nil, false
	}
	quiet := now.Sub(w.since)
	if w.found || quiet < quietSnapshot || w.procs != nil && quiet < w.wait {
		return nil, false
	}
	all = list()
	pids := PIDs(all)
	slices.Sort(pids)
	if w.procs == nil {
		w.procs = pids
		return nil, false
	}
	if len(all) == 0 || !slices.Equal(pids, w.procs) {
		*w = loopWatch{since: now, wait: quietFirst, procs: pids}
		return nil, false
	}
	switch {
	case w.wait < quietSecond:
		w.wait = quietSecond
	case w.wait < quietThird:
		w.wait = quietThird
	default:
		w.wait *= 2
	}
	return all, true
}

// Looks that are repeated: at threads that may be in a livelock, which takes some until they are met again as they
// were, and at goroutines that are about to run.
const (
	mutualLooks  = 10
	mutualAfter  = 120 * time.Millisecond
	passingLooks = 10
	passingAfter = 40 * time.Millisecond
)

// loops looks for loops without an end, twice.
func (w *Watch) loops(ctx context.Context, l *loopWatch, stop <-chan struct{}, all []Process) {
	pause := func(d time.Duration) bool {
		select {
		case <-stop:
			return false
		case <-time.After(d):
			return true
		}
	}
	seen := func() Verdict {
		for n := 1; ; n++ {
			f, mutual := w.examineLoops(ctx, l, all)
			switch {
			case f.Stuck:
				return f
			case mutual && n <= mutualLooks:
				if !pause(mutualAfter) {
					return Verdict{}
				}
			case f.passing && n <= passingLooks:
				if !pause(passingAfter) {
					return Verdict{}
				}
			default:
				return f
			}
		}
	}
	if first := seen(); !first.Stuck || !pause(againAfter) {
		return
	}
	// else some lost their parent before they were seen
	if second := seen(); second.Stuck && len(w.Tree.Every()) == len(all) {
		_, l.ended = w.Subject.Stuck(&second, all)
		l.found = true
	}
}

// loopsAgain looks once more at a loop that was shown to be endless, before the command is ended for it, and reports
// whether it was.
func (w *Watch) loopsAgain(ctx context.Context, l *loopWatch, stop <-chan struct{}) bool {
	l.found, l.ended = false, false
	w.loops(ctx, l, stop, w.Tree.Now())
	if !l.found {
		w.Subject.Moves()
		return false
	}
	return l.ended
}

// examineLoops is one look. mutual: threads go round that change what the others read.
func (w *Watch) examineLoops(ctx context.Context, l *loopWatch, all []Process) (f Verdict, mutual bool) {
	ctx, cancel := context.WithTimeout(ctx, lookMax)
	defer cancel()
	pids := PIDs(all)
	loops, after, err := w.Spin(ctx, pids, l.last)
	l.last = after
	if err != nil || len(loops) == 0 {
		return Verdict{passing: err == nil && loops != nil}, false
	}
	rep, err := w.Look(ctx, pids) // afterwards: a look at a target stops its threads, which is not what they do
	if err != nil || rep == nil {
		return Verdict{}, false
	}
	mutual = slices.ContainsFunc(loops, func(l collector.Loop) bool { return l.Between != "" })
	return w.judged(rep, pids, loops), mutual
}

// endless are the loops of the threads of a row, if each of them is in one without an end.
func endless(t *collector.ThreadRow, loops []collector.Loop) (found []*collector.Loop) {
	ids := t.ThreadIDs
	if t.Count == 0 {
		ids = []int{t.ThreadID}
	}
	if t.Count > len(ids) {
		return nil
	}
	for _, id := range ids {
		i := slices.IndexFunc(loops, func(l collector.Loop) bool {
			return l.ThreadID == id && l.Endless && (l.Between == "" || l.Livelock)
		})
		if i < 0 {
			return nil
		}
		found = append(found, &loops[i])
	}
	return found
}

// seenIn is where a thread that runs was met.
func seenIn(t *collector.ThreadRow, loops []collector.Loop) []string {
	for i := range loops {
		if loops[i].ThreadID == t.ThreadID && loops[i].PID > 0 {
			return loops[i].Backtrace
		}
	}
	return nil
}

// loopText says which code a loop is, the function that has it first.
func loopText(l *collector.Loop) string {
	owner := l.Owner
	if owner == nil && len(l.Functions) > 0 {
		owner = &l.Functions[0]
	}
	if owner == nil {
		return fmt.Sprintf("%d instructions repeat with the same data", l.Length)
	}
	text := owner.Name
	switch at := filepath.Base(owner.File); {
	case owner.File == "":
	case owner.First == owner.Last:
		text += fmt.Sprintf(" (%s:%d)", at, owner.First)
	default:
		text += fmt.Sprintf(" (%s:%d-%d)", at, owner.First, owner.Last)
	}
	var through []string // what it calls, not what called it
	around := strings.Join(l.Backtrace, "\n")
	for i := range l.Functions {
		if f := &l.Functions[i]; f.Name != owner.Name && len(through) < 3 && !library(f.File) &&
			!strings.Contains(around, f.Name+" (") {
			through = append(through, f.Name)
		}
	}
	if len(through) > 0 {
		text += " through " + strings.Join(through, ", ")
	}
	switch {
	case l.Livelock:
		return text
	case l.Sleeps:
		return text + " sleeps and looks again at what nothing changes"
	}
	text += " goes round with the same data each time"
	if l.On != "" {
		text += " and waits for " + l.On
	}
	return text + ": nothing can end it"
}

// library reports whether a file is none of the user's, as far as its place tells.
func library(file string) bool {
	return !strings.HasPrefix(file, "/") || strings.HasPrefix(file, "/usr/") || strings.HasPrefix(file, "/rustc/") ||
		strings.Contains(file, "/.cargo/registry/")
}
