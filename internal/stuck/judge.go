package stuck

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/strobe-debug/strobe/internal/collector"
)

// Verdict is what a look showed.
type Verdict struct {
	Stuck     bool   // nothing will ever wake these processes
	Partly    bool   // only some threads are shown never to go on
	Diagnosis string // in a sentence; also of what is not stuck
	Threads   []Line
	Waits     []Wait // who waits for whom

	passing bool   // what was seen will not last: worth another look at once
	key     string // the same while nothing moves
}

// Line is one thread, or goroutine, with what it waits for.
type Line struct {
	Name  string   `json:"name"`
	Stack []string `json:"stack"`
}

// told is what a look showed, without calling it stuck where it is not.
func (f *Verdict) told() string {
	if f.Stuck || strings.HasPrefix(f.Diagnosis, "it") {
		return f.Diagnosis
	}
	return ""
}

// judge is the decision, from what was seen alone. limit is what the run may take; outside and timers say what a report
// does not say.
func judge(rep *collector.ThreadReport, pids []int, limit time.Duration, outside outsideFunc,
	timers func(pids []int) bool, loops []collector.Loop) Verdict {
	f := Verdict{Stuck: rep.NotShown == 0 && len(rep.Threads) > 0, Waits: waitsOf(rep)}
	var key strings.Builder
	var circles, waits, last, rounds []string
	live, certain := false, false
	woken := timers(pids)
	for _, d := range rep.Deadlocks {
		if d.Timed || d.Breakable && woken {
			continue
		}
		circles = append(circles, strings.TrimPrefix(d.Text, "deadlock: "))
		// else somebody else may hold it: a guard that was dropped leaves its variable behind
		certain = certain || !d.Probable
	}
	for i := range rep.Threads {
		t := &rep.Threads[i]
		text, ever := wakes(t, t.WaitingFor, pids, limit, outside)
		for _, w := range t.Also {
			if _, one := wakes(t, w, pids, limit, outside); one {
				ever = true
			}
		}
		if found := endless(t, loops); ever && len(found) > 0 {
			ever, text = false, "an infinite loop"
			for _, l := range found {
				rounds = append(rounds, loopText(l))
				live = live || l.Livelock
			}
			t.Backtrace = found[0].Backtrace
		} else if len(t.Backtrace) == 0 {
			t.Backtrace = seenIn(t, loops)
		}
		f.Stuck = f.Stuck && !ever
		if t.Harness && text != "" { // after the tests' own
			last = append(last, text)
		} else if text != "" && !slices.Contains(waits, text) {
			waits = append(waits, text)
		}
		fmt.Fprintf(&key, "%d %s %s\n", t.ThreadID, text, strings.Join(t.Backtrace, "|"))
		name := t.Name
		if t.Count > 1 {
			name = fmt.Sprintf("%s and %d more", name, t.Count-1)
		}
		if text != "" {
			name += ": " + text
		}
		f.Threads = append(f.Threads, Line{name, t.Backtrace[:min(len(t.Backtrace), maxStack)]})
	}
	f.Stuck = f.Stuck && !woken
	slices.Sort(circles)
	if len(waits) == 0 {
		waits = last
	}
	waiting := strings.Join(waits[:min(len(waits), 4)], ", ")
	f.key = key.String()
	switch {
	case certain || f.Stuck && len(circles) > 0: // whatever the others do, these do not go on
		f.Stuck, f.Partly = true, !f.Stuck
		f.Diagnosis = "deadlock: " + strings.Join(circles, "; ")
		f.key = f.Diagnosis
	case f.Stuck && live:
		f.Diagnosis = "livelock: the threads undo each other's steps, and none gets anywhere: " +
			strings.Join(rounds[:min(len(rounds), 3)], "; ")
	case f.Stuck && len(rounds) > 0:
		f.Diagnosis = "infinite loop: " + strings.Join(rounds[:min(len(rounds), 3)], "; ")
	case f.Stuck:
		f.Diagnosis = "stuck: no thread can go on; they wait for " + waiting
	case waiting != "":
		f.Diagnosis = "it waits for " + waiting
	default:
		f.Diagnosis = "its threads run"
	}
	f.Threads = f.Threads[:min(len(f.Threads), MaxThreads)]
	return f
}

// MaxThreads is how many threads a verdict has, maxStack how many lines each.
const (
	MaxThreads = 10
	maxStack   = 6
)

// inner are the waits that only a thread of the tests' own processes ends.
var inner = []string{"mutex", "rwlock-read", "rwlock-write", "condvar", "join", "semaphore", "barrier", "once", "latch",
	"channel", "park", "future", "atomic", "futex", "child", "signal"}

// onFiles are the waits that another process, or time, ends as well, which is to be found out.
var onFiles = []string{"pipe", "socket", "eventfd", "timerfd", "signalfd", "pidfd", "poll", "file-lock"}

// outsideFunc reports whether something else than some processes may end a wait of a thread of theirs.
type outsideFunc func(t *collector.ThreadRow, w *collector.ThreadWait, pids []int) bool

// wakes says what a thread waits for by one of its waits, and whether it may go on some day without a thread that is
// looked at.
func wakes(t *collector.ThreadRow, w *collector.ThreadWait, pids []int, limit time.Duration,
	outside outsideFunc) (text string, ever bool) {
	if w == nil {
		return "", true
	}
	text = w.What()
	switch {
	case w.Kind == "sleep":
		d, err := time.ParseDuration(w.Detail)
		if err == nil && d > limit {
			return fmt.Sprintf("a sleep of %v, longer than the whole run may take", d), false
		}
		return text, true
	case w.Timed && t.Harness && slices.Contains(inner, w.Kind):
		return text, false
	case w.Timed:
		return text, true
	case slices.Contains(inner, w.Kind), slices.Contains(onFiles, w.Kind):
		return text, outside(t, w, pids)
	}
	return text, true
}
