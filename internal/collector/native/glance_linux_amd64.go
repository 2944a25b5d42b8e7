package native

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"

	"github.com/strobe-debug/strobe/internal/collector"
)

var _ collector.Glancer = (*Runtime)(nil)

// Glance tells what the threads of processes do that are nobody's target, without stopping or attaching to them:
// threads that wait are read from outside. Of those that run only that is known. A process that has ended is left out.
func (rt *Runtime) Glance(ctx context.Context, pids []int, root string) (*collector.ThreadReport, error) {
	t := bareTarget(rt, &collector.Command{ProjectRoot: root, Glance: true}, nil)
	for _, pid := range pids {
		p, err := newProcess(t, pid)
		if err != nil {
			if hasEnded(pid) {
				continue
			}
			return nil, fmt.Errorf("look at process %d: %w", pid, err)
		}
		defer p.mem.Close()
		t.addProcess(p)
	}
	return t.Threads(ctx)
}

// tasks are the threads of a process now.
func tasks(pid int) ([]int, error) {
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return nil, err
	}
	var out []int
	for _, e := range list {
		if tid, err := strconv.Atoi(e.Name()); err == nil {
			out = append(out, tid)
		}
	}
	slices.Sort(out)
	return out, nil
}
