package testrun

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"sync"
	"syscall"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/stuck"
)

// family follows a command's processes. While tests run it asks only after those that it knows and their children, so
// that it costs the same however many processes the machine has; Every reads all of /proc, for who has no parent any
// more. The daemon is no subreaper: orphans would become its children, and it would have to wait for them beside its
// targets. Not safe for concurrent use.
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
	mover     int // of the tests' own, took CPU time when last looked at
}

// relative is a process of a family.
type relative struct {
	stuck.Process
	stray  bool // it may be of the family: it is looked at, and never ended
	driver bool
	named  bool // driver is known of this image
}

// newFamily is a command's. met is called with the file of each program that the tests' own processes run.
func newFamily(root int, drivers []string, met func(exe string)) *family {
	f := &family{root: root, drivers: drivers, met: met, known: map[int]*relative{}, exes: map[string]bool{},
		env: environment(root)}
	if r := f.meet(root); r != nil {
		f.began = r.Began
	}
	f.dir, _ = os.Readlink(fmt.Sprintf("/proc/%d/cwd", root)) //nolint:errcheck // it has ended
	return f
}

// childLists tells whether the kernel lists each thread's children (CONFIG_PROC_CHILDREN).
var childLists = sync.OnceValue(func() bool {
	_, err := os.Stat(fmt.Sprintf("/proc/self/task/%d/children", os.Getpid()))
	return err == nil
})

// Busy is stuck.Tree's.
func (f *family) Busy() (ticks uint64, busy bool) {
	was := f.known[f.mover]
	if was == nil || was.driver {
		return 0, false
	}
	now := f.meet(f.mover)
	if now == nil {
		return 0, false
	}
	ticks = now.Ticks - was.Ticks
	return ticks, ticks > 0 || now.Active()
}

// Now are the tests' own processes: those that are known and live, and whatever is below them.
func (f *family) Now() []stuck.Process {
	if !childLists() {
		return f.Every()
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
			queue = append(queue, stuck.Children(pid)...)
		}
	}
	return f.own()
}

// Every is Now, with those whose parent ended before it was seen that they were its children: by process group or
// session, or as strays.
func (f *family) Every() []stuck.Process {
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
			if r := readRelative(pid); r != nil {
				all, here[pid] = append(all, r), r
			}
		}
	}
	for pid, was := range f.known {
		if r := here[pid]; r == nil || r.Began != was.Began {
			delete(f.known, pid)
		}
	}
	ids := map[int]bool{} // of groups and sessions that a member has
	if r := here[f.root]; r == nil || r.Began == f.began {
		ids[f.root] = true // else it is another process's by now
	}
	for more := true; more; {
		more = false
		for _, r := range all {
			was := f.known[r.PID]
			known := was != nil && !was.stray
			if !known && !f.has(r.Parent) && !ids[r.Group] && !ids[r.Session] {
				continue
			}
			if !known {
				delete(f.known, r.PID) // a stray no more
			}
			more = more || !known
			f.keep(r)
			for _, id := range []int{r.Group, r.Session} {
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
	if me := readRelative(os.Getpid()); me != nil {
		return []int{me.Group, me.Session, 0}
	}
	return []int{syscall.Getpgrp(), 0}
})

// own are the tests' own processes that live. mover becomes the one of them that moves, if any.
func (f *family) own() []stuck.Process {
	var out []stuck.Process
	for _, pid := range slices.Sorted(maps.Keys(f.known)) {
		r := f.known[pid]
		if !r.named {
			exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
			if err != nil {
				continue
			}
			r.driver, r.named = collector.Drives(f.drivers, exe, pid), r.Image != ""
			if !r.driver && !r.stray {
				f.exes[exe] = true
				f.met(exe)
			}
		}
		if !r.driver && r.State != 'Z' {
			out = append(out, r.Process)
		}
	}
	return out
}

// meet reads a process that is, or is to be, known; nil: it has ended, and another may have its PID.
func (f *family) meet(pid int) *relative {
	r := readRelative(pid)
	was := f.known[pid]
	if r == nil || was != nil && was.Began != r.Began {
		delete(f.known, pid)
		return nil
	}
	return f.keep(r)
}

// keep remembers what was read of a process, and by which image it was known for a driver.
func (f *family) keep(r *relative) *relative {
	if was := f.known[r.PID]; was != nil {
		if was.Image == r.Image {
			r.driver, r.named = was.driver, was.named
		}
		r.stray = was.stray
		if !r.driver && (r.Ticks != was.Ticks || r.Active()) {
			f.mover = r.PID
		}
	} else if parent := f.known[r.Parent]; parent != nil && parent.stray {
		r.stray = true
	}
	f.known[r.PID] = r
	return r
}

// end kills all of them; and again while there are any. All are stopped first, parents before children: a shell whose
// child is killed would else begin its next command, and could say of a test that hung that it passed.
func (f *family) end() {
	stopped := map[int]bool{}
	for fresh := true; fresh; {
		fresh = false
		f.scan()
		for _, r := range f.byDepth() {
			if !stopped[r.PID] && r.PID > 1 && r.State != 'Z' {
				stopped[r.PID], fresh = true, true
				syscall.Kill(r.PID, syscall.SIGSTOP) //nolint:errcheck // it may have ended
			}
		}
	}
	for range 10 {
		f.scan()
		alive := false
		for _, r := range slices.Backward(f.byDepth()) {
			if r.State != 'Z' && r.PID > 1 {
				alive = true
				syscall.Kill(r.PID, syscall.SIGKILL) //nolint:errcheck // it may have ended
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
		if f.known[r.Parent] == nil {
			out = append(out, r)
		} else {
			below[r.Parent] = append(below[r.Parent], r)
		}
	}
	for i := 0; i < len(out); i++ {
		out = append(out, below[out[i].PID]...)
	}
	return out
}

// readRelative is stuck.ReadProcess.
func readRelative(pid int) *relative {
	p := stuck.ReadProcess(pid)
	if p == nil {
		return nil
	}
	return &relative{Process: *p}
}
