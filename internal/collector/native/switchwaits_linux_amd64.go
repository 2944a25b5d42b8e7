package native

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/strobe-debug/strobe/internal/snapshot"
	"github.com/strobe-debug/strobe/internal/switches"
	"github.com/strobe-debug/strobe/internal/unwind"
	"github.com/strobe-debug/strobe/internal/waits"
)

// lookAge is how long the mappings of a process are taken to be what they were, for the stacks of threads that wait.
const lookAge = 2 * time.Second

// lookAtWaits finds out why threads wait that do for long. None is stopped for it. It reports whether some are still to
// be looked at. mu is held.
func (r *switchRecorder) lookAtWaits() bool {
	if time.Since(r.looked) > lookAge {
		clear(r.looks)
		r.looked = time.Now()
	}
	return r.timeline.Waiting(r.now(), switchLong, switchLooks, func(pid, tid int32, since time.Duration) (string, int64) {
		l := r.lookFor(int(pid), since > switchBare)
		if l == nil {
			return "", 0
		}
		return l.why(int(tid)), r.now()
	})
}

// switchBare is after how long a thread that waits is looked at without its stack, where that cannot be had.
const switchBare = 100 * time.Millisecond

// lookFor has what stacks of a process are walked with; nil: it cannot be had now. bare: then without.
func (r *switchRecorder) lookFor(pid int, bare bool) *look {
	if l, ok := r.looks[pid]; ok {
		return l
	}
	p := r.t.processOf(pid)
	switch {
	case p == nil || p.dead.Load() || p.detached.Load():
		return nil
	case r.t.probeMu.TryLock():
	case bare:
		return &look{p: p, view: &snapshot.Process{PID: pid, Mem: p.mem, Project: r.t.cmd.ProjectRoot}}
	default: // hooks are being changed, by somebody who may wait for us
		return nil
	}
	defer r.t.probeMu.Unlock()
	view, err := p.view()
	if err != nil {
		return nil
	}
	r.looks[pid] = &look{p: p, view: view}
	return r.looks[pid]
}

// why says what a thread waits for, and where in the program.
func (l *look) why(tid int) string {
	s := l.p.glanceAt(tid)
	if s == nil || s.thread.State == waits.Running {
		return ""
	}
	if s.thread.State == waits.Stopped {
		return "stopped"
	}
	l.seen = []*seen{s}
	memory := &stackMemory{mem: l.p.mem}
	l.walkBlocked(s, unwind.New(memory, l.view.Modules, unwind.Options{Stub: l.view.Stub, MaxFrames: maxThreadFrames}),
		memory)
	if s.thread.State != waits.Waiting {
		return ""
	}
	procs := map[int]*waits.Process{l.p.pid: l.asked()}
	waits.Analyze([]*waits.Thread{s.thread}, procs)
	row := &waits.Summarize([]*waits.Thread{s.thread}, procs, nil).Threads[0]
	text := "waits"
	if w := row.WaitingFor; w != nil {
		if text = w.What(); w.Kind == "sleep" { // of any length: they are summed
			text = w.Kind
		}
	}
	if len(row.Backtrace) > 0 && !strings.HasPrefix(row.Backtrace[0], "? ") {
		text += " in " + row.Backtrace[0]
	}
	return text
}

// usageOf is what the kernel has counted of a thread.
func usageOf(pid, tid int) (u switches.Usage, ok bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/schedstat", pid, tid))
	if err != nil {
		return u, false
	}
	f := strings.Fields(string(b))
	if len(f) != 3 {
		return u, false
	}
	for i, to := range []*int64{&u.Running, &u.Runnable, &u.Times} {
		if *to, err = strconv.ParseInt(f[i], 10, 64); err != nil {
			return u, false
		}
	}
	return u, true
}

// procList is how often threads are listed where /proc is looked at.
const procList = 100 * time.Millisecond

// sample looks at what the kernel has counted of each thread. mu is held.
func (r *switchRecorder) sample(list bool) {
	if list || time.Since(r.listed) > procList {
		r.listed = time.Now()
		for _, p := range r.t.processes() {
			if p.dead.Load() || p.detached.Load() {
				continue
			}
			for _, tid := range listThreads(p.pid) {
				if u, ok := usageOf(p.pid, tid); ok && !r.timeline.Has(int32(tid)) {
					r.timeline.Sample(int32(p.pid), int32(tid), r.now(), u)
				}
			}
		}
	}
	for _, th := range r.timeline.IDs() {
		u, ok := usageOf(int(th.PID), int(th.TID))
		if !ok {
			r.timeline.Ended(th.TID, r.now())
			continue
		}
		r.timeline.Sample(th.PID, th.TID, r.now(), u)
	}
}
