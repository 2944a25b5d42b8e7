package testrun

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// tree returns a process and all below it, parents first. A process whose parent has ended is found by the group.
func tree(root int) []member {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	below := map[int][]member{}
	var all, grouped []member
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		m, group, ok := readMember(pid)
		if !ok {
			continue
		}
		if pid == root {
			all = append(all, m)
			continue
		}
		if group == root {
			grouped = append(grouped, m)
		}
		below[m.parent] = append(below[m.parent], m)
	}
	if len(all) == 0 {
		all = append(all, member{pid: root})
	}
	for i := 0; ; i++ {
		if i == len(all) { // whose parents have ended
			n := slices.IndexFunc(grouped, func(g member) bool { return !slices.ContainsFunc(all, func(m member) bool { return m.pid == g.pid }) })
			if n < 0 {
				return all
			}
			all = append(all, grouped[n])
		}
		all = append(all, below[all[i].pid]...)
		delete(below, all[i].pid)
	}
}

// readMember reads what /proc says of a process.
func readMember(pid int) (m member, group int, ok bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return m, 0, false
	}
	i := strings.LastIndexByte(string(b), ')')
	f := strings.Fields(string(b)[i+1:])
	if i < 0 || len(f) < 15 {
		return m, 0, false
	}
	m.pid, m.state = pid, f[0][0]
	m.parent, _ = strconv.Atoi(f[1])
	group, _ = strconv.Atoi(f[2])
	for _, at := range []int{11, 12} { // utime, stime
		n, _ := strconv.ParseUint(f[at], 10, 64)
		m.own += n
	}
	return m, group, true
}

// endTree kills a process and all below it; and again while there are any. All are stopped first, parents before children: a shell whose
// child is killed would else begin its next command, and could say of a test that hung that it passed.
func endTree(root int) {
	stopped := map[int]bool{}
	for fresh := true; fresh; {
		fresh = false
		for _, m := range tree(root) {
			if !stopped[m.pid] && m.pid > 1 && m.state != 'Z' && m.state != 0 {
				stopped[m.pid], fresh = true, true
				syscall.Kill(m.pid, syscall.SIGSTOP) //nolint:errcheck // it may have ended
			}
		}
	}
	for range 10 {
		all := tree(root)
		alive := false
		for _, m := range slices.Backward(all) {
			if m.state != 'Z' && m.pid > 1 && m.state != 0 {
				alive = true
				syscall.Kill(m.pid, syscall.SIGKILL) //nolint:errcheck // it may have ended
			}
		}
		if !alive {
			return
		}
	}
}
