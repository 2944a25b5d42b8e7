package stuck

import (
	"context"
	"time"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/goroutine"
)

const (
	watchEvery = 250 * time.Millisecond
	stillFor   = time.Second // standing still this long, they are looked at
	againAfter = 300 * time.Millisecond
	lookMax    = 5 * time.Second
	busyTicks  = 6 // of 10 ms, in one watchEvery: less may be a poll

	// RestMost is the longest pause between looks that found nothing: each comes after twice as long as the one before.
	RestMost = 30 * time.Second
)

// Looker tells what the threads of some processes do. A nil report: they are not to be judged now.
type Looker func(ctx context.Context, pids []int) (*collector.ThreadReport, error)

// Spinner tells of threads that run whether they will ever leave their loops. before is what the last call left for
// this one.
type Spinner func(ctx context.Context, pids []int, before any) (loops []collector.Loop, after any, err error)

// Tree has the processes that are watched. It is asked by one goroutine at a time.
type Tree interface {
	// Now are those that are known, and whatever is below them; Every finds those too that lost their parent before they
	// were seen.
	Now() []Process
	Every() []Process
	// Busy reports whether the one that last took CPU time goes on doing so, and how many ticks it took since the last
	// call: one read, for the many looks at tests that compute.
	Busy() (ticks uint64, busy bool)
}

// Subject is the command whose processes are watched. Its methods return at once.
type Subject interface {
	News() (last time.Time, running bool) // the last sign of life, and whether tests run
	Doing(what string)                    // what the processes do, "" where that is not known
	// Stuck takes a proof that they never go on, or the same again, and says when to look next; ended: they are being
	// ended for it.
	Stuck(f *Verdict, all []Process) (next time.Time, ended bool)
	Moves()                      // takes all proofs back
	Due(now time.Time) time.Time // when they are ended for what is proved; later than now where nothing is
}

// Watch watches one command's processes.
type Watch struct {
	Tree    Tree
	Subject Subject
	Look    Looker
	Spin    Spinner          // nil: it cannot be told whether loops end
	Limit   time.Duration    // what the whole may take: a sleep beyond it is none that ends
	Root    string           // the project's directory, from which files are named
	Layouts goroutine.Source // of versions of Go that are not known; may be nil
}

// Run watches until stop is closed. Where there is news, or a process computes, no more is looked at, but for loops.
func (w *Watch) Run(ctx context.Context, stop <-chan struct{}) {
	t := time.NewTicker(watchEvery)
	defer t.Stop()
	var last map[int]uint64
	still, rest, next := time.Now(), stillFor, time.Time{}
	loops := newLoopWatch()
	for {
		select {
		case <-stop:
			return
		case <-t.C:
		}
		now := time.Now()
		news, running := w.Subject.News()
		if all, due := loops.due(now, news, running && w.Spin != nil, w.Tree.Now); due {
			w.loops(ctx, loops, stop, all)
		}
		if loops.found && !w.Subject.Due(now).After(now) && w.loopsAgain(ctx, loops, stop) {
			return
		}
		fresh, took, busy := news.After(still), uint64(0), false
		if !fresh {
			took, busy = w.Tree.Busy()
		}
		if fresh || busy {
			still, rest, next = now, stillFor, time.Time{}
			if took >= busyTicks {
				w.Subject.Doing("it takes processor time")
			}
			if !loops.found {
				w.Subject.Moves()
			}
			continue
		}
		all := w.Tree.Now()
		cpu := map[int]uint64{}
		idle := running && len(all) > 0
		for _, m := range all {
			cpu[m.PID] = m.Ticks
			idle = idle && !m.Active()
			if was, ok := last[m.PID]; !ok || was != m.Ticks {
				idle = false
			}
		}
		idle = idle && len(last) == len(cpu)
		last = cpu
		if !idle {
			still, rest, next = now, stillFor, time.Time{}
			if !loops.found {
				w.Subject.Moves()
			}
			continue
		}
		if now.Sub(still) < stillFor || now.Before(next) {
			continue
		}
		if all = w.Tree.Every(); len(all) != len(cpu) { // some lost their parent before they were seen
			for _, m := range all {
				last[m.PID] = m.Ticks
			}
			continue
		}
		f := w.confirmed(ctx, stop, all)
		w.Subject.Doing(f.told())
		if all = w.Tree.Every(); f.Stuck && len(all) != len(cpu) {
			continue
		}
		for _, m := range all {
			last[m.PID] = m.Ticks // what the look itself took of their time is no sign of life
		}
		if f.Stuck {
			next, _ = w.Subject.Stuck(&f, all)
		} else {
			if !loops.found { // one that naps stands still, and only its loop shows that it never goes on
				w.Subject.Moves()
			}
			next = now.Add(rest)
			rest = min(2*rest, RestMost)
		}
	}
}

// confirmed looks twice: what is stuck is the same a moment later.
func (w *Watch) confirmed(ctx context.Context, stop <-chan struct{}, all []Process) Verdict {
	first := w.examine(ctx, all)
	if !first.Stuck {
		return first
	}
	select {
	case <-stop:
		return Verdict{}
	case <-time.After(againAfter):
	}
	second := w.examine(ctx, all)
	if second.key != first.key {
		second.Stuck = false
	}
	return second
}

// examine says what the processes' threads wait for, and whether any of them can ever go on.
func (w *Watch) examine(ctx context.Context, all []Process) Verdict {
	ctx, cancel := context.WithTimeout(ctx, lookMax)
	defer cancel()
	pids := PIDs(all)
	rep, err := w.Look(ctx, pids)
	if err != nil || rep == nil {
		return Verdict{}
	}
	return w.judged(rep, pids, nil)
}

// Last is the look at a command that is about to be ended for its time. Nil: nothing was to be seen.
func (w *Watch) Last(ctx context.Context, all []Process) *Verdict {
	ctx, cancel := context.WithTimeout(ctx, lookMax)
	defer cancel()
	pids := PIDs(all)
	rep, err := w.Look(ctx, pids)
	if err != nil || rep == nil {
		return nil
	}
	var loops []collector.Loop
	if w.Spin != nil {
		loops, _, _ = w.Spin(ctx, pids, nil) // without it stacks of threads that run are not known
	}
	f := w.judged(rep, pids, loops)
	return &f
}
