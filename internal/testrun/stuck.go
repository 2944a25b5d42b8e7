package testrun

import (
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/testadapter"
)

// A test is stuck when it can be shown that nothing will ever wake its processes: a circle of locks, or threads all of which wait
// for each other, for children that do, or for a sleep that outlasts the run. That is looked for as soon as they stand still: no CPU
// taken, nothing written, no test begun or ended. Whoever waits for the outside world, or for a while, is slow and not stuck.

const (
	watchEvery = 250 * time.Millisecond
	stillFor   = time.Second // standing still this long, they are looked at
	againAfter = 300 * time.Millisecond
	lookMax    = 5 * time.Second
	busyTicks  = 6 // of 10 ms, in one watchEvery: less may be a poll
	// looks that found nothing are repeated, each time after twice as long, at most so long.
	restMost = 30 * time.Second
)

// looker tells what the threads of a run's processes do.
type looker func(ctx context.Context, pids []int) (*collector.ThreadReport, error)

// spinner tells of threads that run whether they will ever leave their loops. Nil where that cannot be told.
type spinner func(ctx context.Context, pids []int, before any) (loops []collector.Loop, after any, err error)

// member is one process of a tree.
type member struct {
	pid, parent int
	own         uint64 // ticks of CPU that it took
	state       byte
}

// active reports whether it runs, or does not only because of its disk or a debugger.
func (m *member) active() bool {
	return m.state == 'R' || m.state == 'D' || m.state == 'T' || m.state == 't'
}

func pidsOf(all []member) []int {
	pids := make([]int, len(all))
	for i, m := range all {
		pids[i] = m.pid
	}
	return pids
}

// watched begins to watch a step that runs tests; the function it returns ends that.
func (r *Run) watched(step *testadapter.Step, procs *family, look looker, spin spinner) func() {
	if step.Phase == testadapter.Compiling {
		return func() {}
	}
	procs.elsewhere = r.ofAnother
	stop := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() { r.watch(stop, procs, look, spin) })
	return sync.OnceFunc(func() {
		close(stop)
		watching.Wait()
	})
}

// ofAnother reports whether a folder belongs to another project's run.
func (r *Run) ofAnother(dir string) bool {
	in := func(root string) bool {
		return dir == root || strings.HasPrefix(dir, strings.TrimSuffix(root, "/")+"/")
	}
	r.m.mu.Lock()
	defer r.m.mu.Unlock()
	return !in(r.Request.ProjectRoot) && slices.ContainsFunc(r.m.runs, func(o *Run) bool { return in(o.Request.ProjectRoot) })
}

// finding is what a look showed.
type finding struct {
	stuck     bool
	partly    bool // only some threads are shown never to go on
	passing   bool // what was seen will not last: worth another look at once
	diagnosis string
	threads   []StuckLine
	key       string // the same while nothing moves
}

// watch looks for stuck tests until stop is closed. Where there is news, or a process computes, no more is looked at, but for loops.
func (r *Run) watch(stop <-chan struct{}, procs *family, look looker, spin spinner) {
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
		r.mu.Lock()
		news, running := r.lastNews, r.phase == testadapter.Running
		r.mu.Unlock()
		if all, due := loops.due(now, news, running && spin != nil, procs.now); due {
			r.loops(loops, stop, procs, all, look, spin)
		}
		if loops.found && !r.over(now).After(now) && r.loopsAgain(loops, stop, procs, look, spin) {
			return
		}
		if fresh := news.After(still); fresh || procs.busy() {
			still, rest, next = now, stillFor, time.Time{}
			if !fresh && procs.took >= busyTicks {
				r.seen("it takes processor time")
			}
			if !loops.found {
				r.unstick()
			}
			continue
		}
		all := procs.now()
		cpu := map[int]uint64{}
		idle := running && len(all) > 0
		for _, m := range all {
			cpu[m.pid] = m.own
			idle = idle && !m.active()
			if was, ok := last[m.pid]; !ok || was != m.own {
				idle = false
			}
		}
		idle = idle && len(last) == len(cpu)
		last = cpu
		if !idle {
			still, rest, next = now, stillFor, time.Time{}
			if !loops.found {
				r.unstick()
			}
			continue
		}
		if now.Sub(still) < stillFor || now.Before(next) {
			continue
		}
		if all = procs.every(); len(all) != len(cpu) { // some lost their parent before they were seen
			for _, m := range all {
				last[m.pid] = m.own
			}
			continue
		}
		f := r.confirmed(stop, all, look)
		r.seen(f.told())
		if all = procs.every(); f.stuck && len(all) != len(cpu) {
			continue
		}
		for _, m := range all {
			last[m.pid] = m.own // what the look itself took of their time is no sign of life
		}
		if f.stuck {
			next = r.stick(f, all)
		} else {
			if !loops.found { // one that naps stands still, and only its loop shows that it never goes on
				r.unstick()
			}
			next = now.Add(rest)
			rest = min(2*rest, restMost)
		}
	}
}

// confirmed looks twice: what is stuck is the same a moment later.
func (r *Run) confirmed(stop <-chan struct{}, all []member, look looker) finding {
	first := r.examine(all, look)
	if !first.stuck {
		return first
	}
	select {
	case <-stop:
		return finding{}
	case <-time.After(againAfter):
	}
	second := r.examine(all, look)
	if second.key != first.key {
		second.stuck = false
	}
	return second
}

// examine says what the processes' threads wait for, and whether any of them can ever go on.
func (r *Run) examine(all []member, look looker) finding {
	ctx, cancel := r.looking()
	defer cancel()
	pids := pidsOf(all)
	rep, err := look(ctx, pids)
	if err != nil || rep == nil {
		return finding{}
	}
	return r.judged(rep, pids, nil)
}

// looking bounds one look.
func (r *Run) looking() (context.Context, context.CancelFunc) {
	return context.WithTimeout(r.ctx, lookMax)
}

// judge is the decision, from what was seen alone. limit is what the run may take; outside and timers say what a report does not say.
func judge(rep *collector.ThreadReport, pids []int, limit time.Duration, outside outsideFunc, timers func(pids []int) bool, loops []collector.Loop) finding {
	f := finding{stuck: rep.NotShown == 0 && len(rep.Threads) > 0}
	var key strings.Builder
	var circles, waits, last, rounds []string
	live, certain := false, false
	woken := timers(pids)
	for _, d := range rep.Deadlocks {
		if d.Timed || d.Breakable && woken {
			continue
		}
		circles = append(circles, strings.TrimPrefix(d.Text, "deadlock: "))
		certain = certain || !d.Probable // else somebody else may hold it: a guard that was dropped leaves its variable behind
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
		f.stuck = f.stuck && !ever
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
		f.threads = append(f.threads, StuckLine{name, t.Backtrace[:min(len(t.Backtrace), maxStack)]})
	}
	f.stuck = f.stuck && !woken
	slices.Sort(circles)
	if len(waits) == 0 {
		waits = last
	}
	waiting := strings.Join(waits[:min(len(waits), 4)], ", ")
	f.key = key.String()
	switch {
	case certain || f.stuck && len(circles) > 0: // whatever the others do, these do not go on
		f.stuck, f.partly = true, !f.stuck
		f.diagnosis = "deadlock: " + strings.Join(circles, "; ")
		f.key = f.diagnosis
	case f.stuck && live:
		f.diagnosis = "livelock: the threads undo each other's steps, and none gets anywhere: " + strings.Join(rounds[:min(len(rounds), 3)], "; ")
	case f.stuck && len(rounds) > 0:
		f.diagnosis = "infinite loop: " + strings.Join(rounds[:min(len(rounds), 3)], "; ")
	case f.stuck:
		f.diagnosis = "stuck: no thread can go on; they wait for " + waiting
	case waiting != "":
		f.diagnosis = "it waits for " + waiting
	default:
		f.diagnosis = "its threads run"
	}
	f.threads = f.threads[:min(len(f.threads), maxThreads)]
	return f
}

// Signals that a timer sends, or a file that has news: whoever catches one, or blocks it to wait for it, may go on by it.
const (
	sigALRM, sigVTALRM, sigPROF, sigIO = 14, 26, 27, 29
	firstRealTime                      = 34 // the C library has the two below for itself
)

// timersMayWake reports whether a signal may wake a process from outside. What is no Linux says nothing, and then nothing is stuck.
func timersMayWake(pids []int) bool {
	const wakers uint64 = 1<<(sigALRM-1) | 1<<(sigVTALRM-1) | 1<<(sigPROF-1) | 1<<(sigIO-1) | math.MaxUint64&^(1<<(firstRealTime-1)-1)
	for _, pid := range pids {
		// timer_create's, with a thread of the C library's that waits for its own signal, or with any other. Kernels may lack the file.
		if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/timers", pid)); err == nil && len(b) > 0 {
			return true
		}
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			return true
		}
		for line := range strings.Lines(string(b)) {
			name, mask, _ := strings.Cut(strings.TrimSpace(line), ":\t")
			if name != "SigCgt" && name != "SigBlk" {
				continue
			}
			if v, err := strconv.ParseUint(mask, 16, 64); err != nil || v&wakers != 0 {
				return true
			}
		}
	}
	return false
}

// maxThreads is how many threads of a stuck test an answer has.
const maxThreads = 10

// inner are the waits that only a thread of the tests' own processes ends.
var inner = []string{"mutex", "rwlock-read", "rwlock-write", "condvar", "join", "semaphore", "barrier", "once", "latch", "channel", "park", "future", "atomic", "futex", "child", "signal"}

// onFiles are the waits that another process, or time, ends as well, which is to be found out.
var onFiles = []string{"pipe", "socket", "eventfd", "timerfd", "signalfd", "pidfd", "poll", "file-lock"}

// outsideFunc reports whether something else than some processes may end a wait of a thread of theirs.
type outsideFunc func(t *collector.ThreadRow, w *collector.ThreadWait, pids []int) bool

// wakes says what a thread waits for by one of its waits, and whether it may go on some day without a thread that is looked at.
func wakes(t *collector.ThreadRow, w *collector.ThreadWait, pids []int, limit time.Duration, outside outsideFunc) (text string, ever bool) {
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

// lastLook takes the stacks of a run that is about to be ended for its time.
func (r *Run) lastLook(all []member, look looker, spin spinner) {
	r.mu.Lock()
	known := len(r.stuck) > 0
	r.mu.Unlock()
	if known || len(all) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), lookMax)
	defer cancel()
	pids := pidsOf(all)
	rep, err := look(ctx, pids)
	if err != nil || rep == nil {
		return
	}
	var loops []collector.Loop
	if spin != nil {
		loops, _, _ = spin(ctx, pids, nil) // without it stacks of threads that run are not known
	}
	f := r.judged(rep, pids, loops)
	f.diagnosis = "time is up; " + f.diagnosis
	r.shown(f, all)
}

// glance looks at processes that are in no session.
func (r *Run) glance(ctx context.Context, pids []int) (*collector.ThreadReport, error) {
	return r.m.cfg.Sessions.Glance(ctx, pids, r.Request.ProjectRoot)
}

// spin is a spinner for processes that are in no session.
func (r *Run) spin(ctx context.Context, pids []int, before any) ([]collector.Loop, any, error) {
	return r.m.cfg.Sessions.Spin(ctx, pids, r.Request.ProjectRoot, before)
}
