package testrun

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// family follows a command's processes. While tests run it asks only after those that it knows and their children, so that it costs
// the same however many processes the machine has; every reads all of /proc, for who has no parent any more. The daemon is no
// subreaper: orphans would become its children, and it would have to wait for them beside its targets. Not safe for concurrent use.
type family struct {
	root    int
	began   string // root's start time
	met     func(exe string)
	drivers []string // names of programs that only start the tests' own
	known   map[int]*relative
	exes    map[string]bool // files of the programs that the tests' own processes run
	env     map[string]bool // root's environment, which what it begins inherits
	dir     string          // and folder
	// elsewhere reports whether a folder is another run's. Nil: there is none.
	elsewhere func(dir string) bool
	took      uint64 // ticks of CPU time by the mover between the last two looks
	mover     int    // of the tests' own, took CPU time when last looked at
}

// relative is a process of a family.
type relative struct {
	member
	group, session int
	began          string // its start time: with the PID it names a process for ever
	image          string // where its program and stack lie, which changes with every exec
	stray          bool   // it may be of the family: it is looked at, and never ended
	driver         bool
	named          bool // driver is known of this image
}

// newFamily is a command's. met is called with the file of each program that the tests' own processes run.
func newFamily(root int, drivers []string, met func(exe string)) *family {
	f := &family{root: root, drivers: drivers, met: met, known: map[int]*relative{}, exes: map[string]bool{}, env: environment(root)}
	if r := f.meet(root); r != nil {
		f.began = r.began
	}
	f.dir, _ = os.Readlink(fmt.Sprintf("/proc/%d/cwd", root)) //nolint:errcheck // it has ended
	return f
}

// childLists tells whether the kernel lists each thread's children (CONFIG_PROC_CHILDREN).
var childLists = sync.OnceValue(func() bool {
	_, err := os.Stat(fmt.Sprintf("/proc/self/task/%d/children", os.Getpid()))
	return err == nil
})

// busy reports whether the process that last took CPU time goes on doing so: one read, for the many looks at tests that compute.
func (f *family) busy() bool {
	was := f.known[f.mover]
	if was == nil || was.driver {
		return false
	}
	now := f.meet(f.mover)
	if now == nil {
		return false
	}
	f.took = now.own - was.own
	return f.took > 0 || now.active()
}

// now are the tests' own processes: those that are known and live, and whatever is below them.
func (f *family) now() []member {
	if !childLists() {
		return f.every()
	}
	queue := slices.Sorted(maps.Keys(f.known))
	seen := map[int]bool{}
	for len(queue) > 0 {
		pid := queue[0]
		queue = queue[1:]
		if seen[pid] {
			continue
		}
		seen[pid] = true
		if f.meet(pid) != nil {
			queue = append(queue, children(pid)...)
		}
	}
	return f.own()
}

// every is now, with those whose parent ended before it was seen that they were its children: by process group or session, or as strays.
func (f *family) every() []member {
	f.scan()
	return f.own()
}

// scan reads all processes of the machine.
func (f *family) scan() {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return
	}
	var all []*relative
	here := map[int]*relative{}
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			if r := readProcess(pid); r != nil {
				all, here[pid] = append(all, r), r
			}
		}
	}
	for pid, was := range f.known {
		if r := here[pid]; r == nil || r.began != was.began {
			delete(f.known, pid)
		}
	}
	ids := map[int]bool{} // of groups and sessions that a member has
	if r := here[f.root]; r == nil || r.began == f.began {
		ids[f.root] = true // else it is another process's by now
	}
	for more := true; more; {
		more = false
		for _, r := range all {
			was := f.known[r.pid]
			known := was != nil && !was.stray
			if !known && !f.has(r.parent) && !ids[r.group] && !ids[r.session] {
				continue
			}
			if !known {
				delete(f.known, r.pid) // a stray no more
			}
			more = more || !known
			f.keep(r)
			for _, id := range []int{r.group, r.session} {
				if !slices.Contains(ours(), id) {
					ids[id] = true
				}
			}
		}
	}
	f.strays(all, here)
}

// ours are the daemon's own group and session, in which there are others, too.
var ours = sync.OnceValue(func() []int {
	if me := readProcess(os.Getpid()); me != nil {
		return []int{me.group, me.session, 0}
	}
	return []int{syscall.Getpgrp(), 0}
})

// own are the tests' own processes that live. mover becomes the one of them that moves, if any.
func (f *family) own() []member {
	var out []member
	for _, pid := range slices.Sorted(maps.Keys(f.known)) {
		r := f.known[pid]
		if !r.named {
			exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
			if err != nil {
				continue
			}
			r.driver, r.named = slices.Contains(f.drivers, filepath.Base(exe)), r.image != ""
			if !r.driver && !r.stray {
				f.exes[exe] = true
				f.met(exe)
			}
		}
		if !r.driver && r.state != 'Z' {
			out = append(out, r.member)
		}
	}
	return out
}

// meet reads a process that is, or is to be, known; nil: it has ended, and another may have its PID.
func (f *family) meet(pid int) *relative {
	r := readProcess(pid)
	was := f.known[pid]
	if r == nil || was != nil && was.began != r.began {
		delete(f.known, pid)
		return nil
	}
	return f.keep(r)
}

// keep remembers what was read of a process, and by which image it was known for a driver.
func (f *family) keep(r *relative) *relative {
	if was := f.known[r.pid]; was != nil {
		if was.image == r.image {
			r.driver, r.named = was.driver, was.named
		}
		r.stray = was.stray
		if !r.driver && (r.own != was.own || r.active()) {
			f.mover = r.pid
		}
	} else if parent := f.known[r.parent]; parent != nil && parent.stray {
		r.stray = true
	}
	f.known[r.pid] = r
	return r
}

// end kills all of them; and again while there are any. All are stopped first, parents before children: a shell whose child is killed would
// else begin its next command, and could say of a test that hung that it passed.
func (f *family) end() {
	stopped := map[int]bool{}
	for fresh := true; fresh; {
		fresh = false
		f.scan()
		for _, r := range f.byDepth() {
			if !stopped[r.pid] && r.pid > 1 && r.state != 'Z' {
				stopped[r.pid], fresh = true, true
				syscall.Kill(r.pid, syscall.SIGSTOP) //nolint:errcheck // it may have ended
			}
		}
	}
	for range 10 {
		f.scan()
		alive := false
		for _, r := range slices.Backward(f.byDepth()) {
			if r.state != 'Z' && r.pid > 1 {
				alive = true
				syscall.Kill(r.pid, syscall.SIGKILL) //nolint:errcheck // it may have ended
			}
		}
		if !alive {
			return
		}
	}
}

// byDepth are all that are known to be of the family, parents first.
func (f *family) byDepth() []*relative {
	below := map[int][]*relative{}
	var out []*relative
	for _, pid := range slices.Sorted(maps.Keys(f.known)) {
		r := f.known[pid]
		if r.stray {
			continue
		}
		if f.known[r.parent] == nil {
			out = append(out, r)
		} else {
			below[r.parent] = append(below[r.parent], r)
		}
	}
	for i := 0; i < len(out); i++ {
		out = append(out, below[out[i].pid]...)
	}
	return out
}

// children are a process's, by all its threads.
func children(pid int) []int {
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

// readProcess reads what /proc says of a process; nil: there is none.
func readProcess(pid int) *relative {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	i := strings.LastIndexByte(string(b), ')')
	f := strings.Fields(string(b)[i+1:]) // from field 3 of proc(5) on
	if i < 0 || len(f) < 46 {
		return nil
	}
	r := &relative{member: member{pid: pid, state: f[0][0]}, began: f[19]}
	for at, to := range map[int]*int{1: &r.parent, 2: &r.group, 3: &r.session} {
		*to, _ = strconv.Atoi(f[at])
	}
	for _, at := range []int{11, 12} { // utime, stime
		n, _ := strconv.ParseUint(f[at], 10, 64)
		r.member.own += n
	}
	if f[25] != "0" { // else we may not know
		r.image = strings.Join([]string{f[23], f[24], f[25], f[45]}, " ") // startcode, endcode, startstack, arg_start
	}
	return r
}
