package native

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/strobe-debug/strobe/internal/ptrace"
)

// busyMost is how long a thread is waited for that only wants a CPU.
const busyMost = 20 * time.Second

// patience is for waits that have a bound: on a machine that is merely busy a process is waited for longer than one
// that is stuck.
type patience struct {
	pid   int
	bound time.Duration
	began time.Time // of the bound that counts now
	since time.Time
	last  time.Time
	ran   map[int]time.Duration // threads' CPU time when they were looked at last
}

func (p *process) patience() *patience { return patienceFor(p.pid, 0) }

func patienceFor(pid int, bound time.Duration) *patience {
	now := time.Now()
	w := &patience{pid: pid, bound: bound, began: now, since: now}
	w.starved()
	return w
}

// Patience implements collector.Injector.
func (t *target) Patience(pid int, bound time.Duration) (within func() bool) {
	return patienceFor(pid, bound).within
}

// within reports whether the bound has not passed, or the process is to be waited for as long again.
func (w *patience) within() bool {
	switch {
	case time.Since(w.began) <= w.bound:
	case w.more():
		w.began = time.Now()
	default:
		return false
	}
	return true
}

// more is asked when the bound has passed: whether a thread of the process would get on if it had a CPU.
func (w *patience) more() bool { return time.Since(w.since) < busyMost && w.starved() }

// starved reports whether a thread wants to run and had a CPU for less than half of the time since the last look.
func (w *patience) starved() (starved bool) {
	elapsed, before := time.Since(w.last), w.ran
	w.last, w.ran = time.Now(), map[int]time.Duration{}
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", w.pid))
	if err != nil {
		return false
	}
	for _, task := range tasks {
		tid, err := strconv.Atoi(task.Name())
		if err != nil {
			continue
		}
		w.ran[tid] = ptrace.CPUTime(tid)
		old, known := before[tid]
		starved = starved || known && ptrace.Wants(tid) && w.ran[tid]-old < elapsed/2
	}
	return starved
}

// threadStates says how many of a process's threads run or want to, sleep, and wait where nothing stops them.
func threadStates(pid int) string {
	tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	n := map[byte]int{}
	for _, task := range tasks {
		if tid, err := strconv.Atoi(task.Name()); err == nil {
			n[taskState(pid, tid)]++
		}
	}
	return fmt.Sprintf("of its threads %d want to run, %d sleep, %d wait in the kernel where nothing stops them", n['R'],
		n['S'], n['D'])
}
