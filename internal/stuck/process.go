package stuck

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Process is one process of a tree, as /proc has it.
type Process struct {
	PID, Parent, Group, Session int

	Ticks uint64 // of CPU that it took
	State byte
	Began string // its start time: with the PID it names a process for ever
	Image string // where its program and stack lie, which changes with every exec; "" where that is not to be known
}

// Active reports whether it runs, or does not only because of its disk or a debugger.
func (p *Process) Active() bool {
	return p.State == 'R' || p.State == 'D' || p.State == 'T' || p.State == 't'
}

// PIDs are those of some processes.
func PIDs(all []Process) []int {
	pids := make([]int, len(all))
	for i := range all {
		pids[i] = all[i].PID
	}
	return pids
}

// Children are a process's, by all its threads.
func Children(pid int) []int {
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return nil
	}
	var out []int
	for _, t := range tasks {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, t.Name()))
		if err != nil {
			continue
		}
		for _, word := range strings.Fields(string(b)) {
			if n, err := strconv.Atoi(word); err == nil {
				out = append(out, n)
			}
		}
	}
	return out
}

// ReadProcess reads what /proc says of a process; nil: there is none.
func ReadProcess(pid int) *Process {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	i := strings.LastIndexByte(string(b), ')')
	f := strings.Fields(string(b)[i+1:]) // from field 3 of proc(5) on
	if i < 0 || len(f) < 46 {
		return nil
	}
	r := &Process{PID: pid, State: f[0][0], Began: f[19]}
	for at, to := range map[int]*int{1: &r.Parent, 2: &r.Group, 3: &r.Session} {
		*to, _ = strconv.Atoi(f[at])
	}
	for _, at := range []int{11, 12} { // utime, stime
		n, _ := strconv.ParseUint(f[at], 10, 64)
		r.Ticks += n
	}
	if f[25] != "0" { // else we may not know
		r.Image = strings.Join([]string{f[23], f[24], f[25], f[45]}, " ") // startcode, endcode, startstack, arg_start
	}
	return r
}

// Before reports whether a start time, in ticks since the machine's, is before another.
func Before(a, b string) bool {
	x, _ := strconv.ParseUint(a, 10, 64)
	y, _ := strconv.ParseUint(b, 10, 64)
	return x < y
}
