package native

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/strobe-debug/strobe/internal/ptrace"
	"golang.org/x/sys/unix"
)

// bornLook is how long a thread is let make another one between two looks.
const bornLook = time.Millisecond

// seizeBorn seizes the threads that were being made when their makers were seized: the kernel decides at the beginning
// of a clone whether the new thread is traced, and lists it at the end, which is late where the maker waits for a CPU
// meanwhile. One that is not traced would meet our int3s and end the program by them. Nothing is patched before.
func (p *process) seizeBorn(ctx context.Context) error {
	for wait := patienceFor(p.pid, attachWait); ; {
		var busy int
		err := p.t.tracer.Do(ctx, func() (err error) {
			busy, err = p.seizeBornNow()
			return err
		})
		if err != nil || busy == 0 || p.dead.Load() {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(bornLook):
		}
		if !wait.within() {
			return fmt.Errorf("thread %d makes another one, which does not come to its end", busy)
		}
	}
}

// seizeBornNow is seizeBorn, once: busy is a thread that may still be making another one, 0 for none. Tracer thread
// only.
func (p *process) seizeBornNow() (busy int, err error) {
	var resume []func()
	defer func() {
		for _, r := range resume {
			r()
		}
	}()
	seen := map[*thread]bool{} // that make none any more which would not be traced
	for {
		busy = 0
		for _, th := range p.allThreads() {
			switch nr, _, running := blockedPC(th.p.pid, th.tid); {
			case seen[th]:
				continue
			case th.stopped, !running && !makesThreads(nr):
			case p.awaitsChild(th):
				if p.t.seizeVisitors(th.p, th.tid); len(childrenOf(th.p.pid, th.tid)) == 0 { // it makes it still
					busy = th.tid
					continue
				}
			default:
				r, ok := p.halt(th)
				if ok {
					resume = append(resume, r)
					p.t.seizeVisitors(th.p, th.tid)
				} else if p.runs(th) {
					busy = th.tid
					continue
				}
			}
			seen[th] = true
		}
		born, err := p.seizeNew()
		if err != nil || !born {
			return busy, err
		}
	}
}

// makesThreads reports a system call that makes a thread or a process.
func makesThreads(nr int64) bool {
	return nr == unix.SYS_CLONE || nr == unix.SYS_CLONE3 || nr == unix.SYS_FORK || nr == unix.SYS_VFORK
}

// seizeNew seizes the process's threads that nobody traces, and says whether there were any. Tracer thread only.
func (p *process) seizeNew() (any bool, err error) {
	tids, err := ptrace.SeizeNew(p.pid, func(tid int) bool { return p.t.threads[tid] != nil })
	for _, tid := range tids {
		p.t.addThread(p, tid)
	}
	p.t.live.Store(p.t.alive())
	return len(tids) > 0, err
}

// seizeVisitors takes in the vfork children of a thread, which run in the process's memory: what is patched there they
// meet, too. Tracer thread only.
func (t *target) seizeVisitors(p *process, tid int) {
	for _, child := range childrenOf(p.pid, tid) {
		if ptrace.TracerOf(child) != 0 || !t.sharesMemory(child, parentage{event: ptrace.EventClone, parent: p, tid: tid}) {
			continue
		}
		tids, err := t.tracer.Attach(child)
		if err != nil {
			continue
		}
		v, err := newProcess(t, child)
		if err != nil {
			continue
		}
		v.shares = p.memory()
		v.visit(v.shares)
		for _, id := range tids {
			t.addThread(v, id)
		}
		t.addProcess(v)
	}
}

// childrenOf lists the processes that a thread has made and not waited for.
func childrenOf(pid, tid int) (children []int) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, tid))
	if err != nil {
		return nil
	}
	for _, word := range strings.Fields(string(b)) {
		if child, err := strconv.Atoi(word); err == nil {
			children = append(children, child)
		}
	}
	return children
}
