package ptrace

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

const (
	// quietPasses is how often in a row the list of threads must show none that is new. More than one, since the kernel
	// may leave out a thread of a list that changes while it is read.
	quietPasses = 2
	// maxPasses bounds Attach: a thread that is seized hands its own new threads over, so a few passes find all.
	maxPasses = 1000
)

// Attach seizes every thread of a running process and returns those that it seized. None of them stops for it, and no
// system call is interrupted. Threads that a seized one made meanwhile report themselves: their creator's stop names
// them; but one that was being made when its creator was seized may be missed: SeizeNew has it, once the creator has
// stood. The first thread is not among them if it has ended before the others. Tracer thread only.
//
// With an error some may be seized: Close lets them go.
func (t *Tracer) Attach(pid int) (tids []int, err error) {
	t.traces = true
	hold(pid)
	t.held = append(t.held, pid)
	defer func() {
		if err != nil {
			letGo(pid)
		}
	}()
	tids, err = SeizeNew(pid, func(int) bool { return false })
	if err == nil && len(tids) == 0 {
		err = ErrGone
	}
	return tids, err
}

// SeizeNew seizes the threads of a process that nobody traces, and returns them. Those that ours reports are not looked
// at. Tracer thread only.
func SeizeNew(pid int, ours func(tid int) bool) (tids []int, err error) {
	known := map[int]bool{}
	for pass, quiet := 0, 0; quiet < quietPasses; pass++ {
		list, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
		if err != nil && len(tids) == 0 {
			return nil, ErrGone
		}
		if pass == maxPasses {
			return nil, fmt.Errorf("seize threads of process %d: new ones after %d passes", pid, pass)
		}
		quiet++
		for _, e := range list {
			tid, err := strconv.Atoi(e.Name())
			if err != nil || known[tid] || ours(tid) {
				continue
			}
			switch err := Seize(tid); {
			case err == nil:
				tids = append(tids, tid)
				quiet = 0
			case errors.Is(err, ErrGone), Ends(tid):
				continue // seen again, or not
			case TracerOf(tid) != unix.Gettid():
				return tids, fmt.Errorf("seize thread %d of process %d: %w", tid, pid, err)
			}
			known[tid] = true
		}
	}
	slices.Sort(tids)
	return tids, nil
}
