package stuck

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/strobe-debug/strobe/internal/collector"
)

// outsiders answers for one look whether something other than the processes that are looked at may end a wait: another
// process, the kernel, or time. What cannot be found out may.
type outsiders struct {
	pids []int
	open map[string][]descriptor // of all processes, by what they refer to
	// hidden: a process whose descriptors cannot be read may have inherited some.
	hidden bool
	alarm  map[int]bool // by process: whether a timer may end it
	// shared are the mappings of our processes that others may have, elsewhere what other processes share, and acts what
	// kernelActs said.
	shared    map[int][]sharedMapping
	elsewhere map[string]bool
	acts      *bool
}

// sharedMapping is a part of a process's memory. key names its file: the same for whoever has mapped it.
type sharedMapping struct {
	lo, hi uint64
	key    string
}

// descriptor is a process's.
type descriptor struct{ pid, fd int }

// outside begins a look.
func outside() func(t *collector.ThreadRow, w *collector.ThreadWait, pids []int) bool {
	o := &outsiders{}
	return func(t *collector.ThreadRow, w *collector.ThreadWait, pids []int) bool {
		if !slices.Equal(o.pids, pids) {
			o = &outsiders{pids: slices.Clone(pids)}
		}
		pid := t.PID
		if pid == 0 {
			pid = pids[0]
		}
		return o.mayEnd(pid, w)
	}
}

// mayEnd reports whether an outsider may end a wait of a process's thread.
func (o *outsiders) mayEnd(pid int, w *collector.ThreadWait) bool {
	if ends := w.Kind == "child" || slices.Contains(onFiles, w.Kind); ends &&
		slices.ContainsFunc(o.pids, func(p int) bool { return p != pid && o.alarmed(p) }) {
		return true
	}
	switch w.Kind {
	case "child":
		return o.otherChild(pid)
	case "file-lock":
		return w.Asked == nil || !w.Asked.Known ||
			slices.ContainsFunc(w.Asked.Holders, func(p int) bool { return !slices.Contains(o.pids, p) })
	case "poll":
		return o.pollMayEnd(pid, w)
	case "pipe", "socket", "eventfd", "timerfd", "signalfd", "pidfd":
		if w.FD == nil || w.Kind == "socket" && timesOut(pid, *w.FD) {
			return true
		}
		return o.fileMayChange(pid, *w.FD, true, true, 0)
	}
	if at, err := strconv.ParseUint(w.Object, 0, 64); err == nil {
		return o.sharedMemory(pid, at)
	}
	return false
}

// otherChild reports whether a process has a child that is not looked at, as programs that only start others are.
func (o *outsiders) otherChild(pid int) bool {
	return slices.ContainsFunc(Children(pid), func(child int) bool {
		r := ReadProcess(child)
		return r != nil && r.State != 'Z' && !slices.Contains(o.pids, child)
	})
}

// sharedMemory reports whether a process that is none of ours has the memory at an address.
func (o *outsiders) sharedMemory(pid int, at uint64) bool {
	if o.shared == nil {
		o.shared = map[int][]sharedMapping{}
	}
	if _, read := o.shared[pid]; !read {
		o.shared[pid] = nil
		eachMapping(pid, func(lo, hi uint64, shared bool, key, _ string) {
			if shared {
				o.shared[pid] = append(o.shared[pid], sharedMapping{lo, hi, key})
			}
		})
	}
	i := slices.IndexFunc(o.shared[pid], func(m sharedMapping) bool { return at >= m.lo && at < m.hi })
	if i < 0 {
		return false
	}
	if o.elsewhere == nil {
		entries, err := os.ReadDir("/proc")
		if err != nil {
			return true
		}
		o.elsewhere = map[string]bool{}
		for _, e := range entries {
			if other, err := strconv.Atoi(e.Name()); err == nil && !slices.Contains(o.pids, other) {
				eachMapping(other, func(_, _ uint64, shared bool, key, _ string) {
					if shared {
						o.elsewhere[key] = true
					}
				})
			}
		}
	}
	return o.elsewhere[o.shared[pid][i].key] || o.hiddenHeir()
}

// eachMapping calls fn for the mappings of a process.
func eachMapping(pid int, fn func(lo, hi uint64, shared bool, key, path string)) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return
	}
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) < 5 {
			continue
		}
		from, to, _ := strings.Cut(f[0], "-")
		lo, err1 := strconv.ParseUint(from, 16, 64)
		hi, err2 := strconv.ParseUint(to, 16, 64)
		if err1 == nil && err2 == nil {
			fn(lo, hi, len(f[1]) > 3 && f[1][3] == 's', f[3]+" "+f[4], strings.Join(f[5:], " "))
		}
	}
}

// read reads the descriptors of all processes, once.
func (o *outsiders) read() {
	if o.open != nil {
		return
	}
	o.open = map[string][]descriptor{}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		o.hidden = true
		return
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
		if err != nil {
			o.hidden = o.hidden || o.heir(pid)
			continue
		}
		for _, d := range fds {
			fd, err := strconv.Atoi(d.Name())
			if err != nil {
				continue
			}
			if to := linkOf(pid, fd); strings.Contains(to, ":") || strings.HasPrefix(to, "/dev/") {
				o.open[to] = append(o.open[to], descriptor{pid, fd})
			}
		}
	}
}

// heir reports whether a process that lives began after the first of ours did, and so may have inherited from it.
func (o *outsiders) heir(pid int) bool {
	const kernelThread = 2 // begins all others
	r := ReadProcess(pid)
	if r == nil || r.State == 'Z' || r.Parent == kernelThread || slices.Contains(o.pids, pid) {
		return false
	}
	return slices.ContainsFunc(o.pids, func(p int) bool {
		mine := ReadProcess(p)
		return mine != nil && !Before(r.Began, mine.Began)
	})
}

// hiddenHeir reports whether a process that may have inherited from ours cannot be read.
func (o *outsiders) hiddenHeir() bool {
	o.read()
	return o.hidden
}

func linkOf(pid, fd int) string {
	to, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", pid, fd))
	if err != nil {
		return ""
	}
	return to
}

// inside reports whether some of our processes, and nobody else, have what a link refers to.
func (o *outsiders) inside(link string) bool {
	o.read()
	return !o.hidden && len(o.open[link]) > 0 &&
		!slices.ContainsFunc(o.open[link], func(d descriptor) bool { return !slices.Contains(o.pids, d.pid) })
}

// info is what the kernel says of a descriptor, by its first words.
func info(pid, fd int) map[string]string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/fdinfo/%d", pid, fd))
	if err != nil {
		return nil
	}
	out := map[string]string{}
	for line := range strings.Lines(string(b)) {
		if key, v, ok := strings.Cut(line, ":"); ok {
			out[strings.TrimSpace(key)] = strings.TrimSpace(v)
		}
	}
	return out
}

// maxNested bounds polls of polls: the kernel's own bound is 5.
const maxNested = 5

// fileMayChange reports whether a descriptor that blocks now may become readable, or writable, by an outsider.
func (o *outsiders) fileMayChange(pid, fd int, read, write bool, depth int) bool {
	link := linkOf(pid, fd)
	switch {
	case depth == 0 && o.kernelActs():
		return true
	case strings.HasPrefix(link, "pipe:["):
		return !o.inside(link) || !o.otherEnd(link, read, write)
	case strings.HasPrefix(link, "socket:["):
		return o.socketMayChange(pid, fd, link)
	}
	switch link {
	case "anon_inode:[eventfd]":
		return o.eventMayCome(pid, fd)
	case "anon_inode:[timerfd]": // nobody but its time changes one, and only who has it sets that
		return info(pid, fd)["it_value"] != "(0, 0)"
	case "anon_inode:[signalfd]":
		return o.otherChild(pid)
	case "anon_inode:[pidfd]":
		whose, err := strconv.Atoi(info(pid, fd)["Pid"])
		return err != nil || !slices.Contains(o.pids, whose)
	case "anon_inode:[eventpoll]":
		return depth >= maxNested || o.epollMayEnd(pid, fd, depth+1)
	}
	return true
}

// otherEnd reports whether anybody is seen to have the other end of a pipe. One on its way to another process is seen
// with nobody.
func (o *outsiders) otherEnd(link string, read, write bool) bool {
	const accessMode, readOnly, writeOnly = 3, 0, 1
	readers, writers := false, false
	for _, d := range o.open[link] {
		flags, err := strconv.ParseUint(info(d.pid, d.fd)["flags"], 8, 64)
		if err != nil {
			return false
		}
		readers = readers || flags&accessMode != writeOnly
		writers = writers || flags&accessMode != readOnly
	}
	return readers && writers && (read || write)
}

// eventMayCome reports whether an outsider has the eventfd, or the kernel may write to it.
func (o *outsiders) eventMayCome(pid, fd int) bool {
	id := info(pid, fd)["eventfd-id"]
	if o.read(); id == "" || o.hidden {
		return true
	}
	for _, d := range o.open["anon_inode:[eventfd]"] {
		if !slices.Contains(o.pids, d.pid) && info(d.pid, d.fd)["eventfd-id"] == id {
			return true
		}
	}
	return false
}

// Files by which the kernel is not asked to write to others.
var (
	quietFiles = []string{"anon_inode:[eventfd]", "anon_inode:[eventpoll]", "anon_inode:[timerfd]",
		"anon_inode:[signalfd]", "anon_inode:[pidfd]", "anon_inode:inotify", "anon_inode:[inotify]"}
	quietDevices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/pts/",
		"/dev/ptmx", "/dev/shm/"}
)

// kernelActs reports whether our processes may have asked the kernel for what it does by itself, and tells by eventfds
// or writes to pipes and sockets: input and output, a virtual machine, a device.
func (o *outsiders) kernelActs() bool {
	if o.acts == nil {
		acts := o.actsFor()
		o.acts = &acts
	}
	return *o.acts
}

func (o *outsiders) actsFor() bool {
	o.read()
	for link, all := range o.open {
		if !slices.ContainsFunc(all, func(d descriptor) bool { return slices.Contains(o.pids, d.pid) }) {
			continue
		}
		if strings.HasPrefix(link, "anon_inode:") && !slices.Contains(quietFiles, link) {
			return true
		}
		if strings.HasPrefix(link, "/dev/") && !slices.ContainsFunc(quietDevices,
			func(q string) bool { return strings.HasPrefix(link, q) }) {
			return true
		}
	}
	found := false
	for _, pid := range o.pids {
		eachMapping(pid, func(_, _ uint64, _ bool, _, path string) { found = found || strings.HasPrefix(path, "/[aio]") })
	}
	return found
}

// pollMayEnd reports whether a poll without a time limit may end by an outsider.
func (o *outsiders) pollMayEnd(pid int, w *collector.ThreadWait) bool {
	if w.Asked == nil {
		return true
	}
	if w.Asked.Epoll {
		return w.FD == nil || o.kernelActs() || o.epollMayEnd(pid, *w.FD, 1)
	}
	return !w.Asked.Known || slices.ContainsFunc(w.Asked.Polled,
		func(f collector.Polled) bool { return o.fileMayChange(pid, f.FD, f.Read, f.Write, 0) })
}

// epollMayEnd reports whether one of the files that an epoll watches may change by an outsider.
func (o *outsiders) epollMayEnd(pid, fd, depth int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/fdinfo/%d", pid, fd))
	if err != nil {
		return true
	}
	for line := range strings.Lines(string(b)) {
		// tfd: 5 events: 19 data: … pos:0 ino:61af sdev:7
		line = strings.NewReplacer(":", " ").Replace(line)
		f := strings.Fields(line)
		if len(f) < 2 || f[0] != "tfd" {
			continue
		}
		watched, err := strconv.Atoi(f[1])
		if err != nil {
			return true
		}
		var st unix.Stat_t
		inode := ""
		if i := slices.Index(f, "ino"); i >= 0 && i+1 < len(f) {
			inode = f[i+1]
		}
		if unix.Stat(fmt.Sprintf("/proc/%d/fd/%d", pid, watched), &st) != nil || strconv.FormatUint(st.Ino, 16) != inode {
			return true // the number means another file by now
		}
		if o.fileMayChange(pid, watched, true, true, depth) {
			return true
		}
	}
	return false
}
