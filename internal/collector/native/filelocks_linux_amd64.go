package native

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/strobe-debug/strobe/internal/waits"
)

// fileLock finds who holds the lock on a file that a thread waits for. The kernel's list says which lock keeps it
// waiting; whoever has a descriptor by which that lock was taken can release it, which are more than the one that took
// it if it has forked since.
func (l *look) fileLock(fd int, flock bool) (holders []waits.Holder, known bool) {
	name := fmt.Sprintf("/proc/%d/fd/%d", l.p.pid, fd)
	var st syscall.Stat_t
	link, err := os.Readlink(name)
	if err != nil || syscall.Stat(name, &st) != nil {
		return nil, false
	}
	b, err := os.ReadFile("/proc/locks")
	if err != nil {
		return nil, false
	}
	blocking := blockingLocks(string(b), l.p.pid, st.Ino, flock)
	known = len(blocking) > 0
	for _, lock := range blocking {
		by, all := holdersOf(lock, link)
		known = known && all && len(by) > 0
		holders = append(holders, by...)
	}
	return holders, known
}

// blockingLocks are the locks behind which a process waits, as /proc/locks has them without their numbers.
func blockingLocks(list string, pid int, inode uint64, flock bool) []string {
	heads := map[string]string{}
	var out []string
	for line := range strings.Lines(list) {
		f := strings.Fields(line)
		if len(f) < 6 {
			continue
		}
		if f[1] != "->" {
			heads[f[0]] = strings.Join(f[1:], " ")
			continue
		}
		if f = f[2:]; len(f) < 6 || (f[0] == "FLOCK") != flock || !strings.HasSuffix(f[4], fmt.Sprintf(":%d", inode)) {
			continue
		}
		if by, err := strconv.Atoi(f[3]); err != nil || by > 0 && by != pid { // of an open file, it is nobody's
			continue
		}
		id, _, _ := strings.Cut(line, ":")
		if head := heads[id+":"]; head != "" && !slices.Contains(out, head) {
			out = append(out, head)
		}
	}
	return out
}

// holdersOf finds the descriptors of a file that have a lock. all: no process that may have one could not be read.
func holdersOf(lock, link string) (out []waits.Holder, all bool) {
	list, err := os.ReadDir("/proc")
	if err != nil {
		return nil, false
	}
	var hidden []int
	for _, e := range list {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
		if err != nil {
			hidden = append(hidden, pid)
			continue
		}
		for _, d := range fds {
			if to, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", pid, d.Name())); err != nil || to != link {
				continue
			}
			info, err := os.ReadFile(fmt.Sprintf("/proc/%d/fdinfo/%s", pid, d.Name()))
			if err != nil {
				continue
			}
			for line := range strings.Lines(string(info)) {
				f := strings.Fields(line)
				if fd, err := strconv.Atoi(d.Name()); err == nil && len(f) > 2 && f[0] == "lock:" &&
					strings.Join(f[2:], " ") == lock {
					out = append(out, waits.Holder{PID: pid, FD: fd})
				}
			}
		}
	}
	if len(out) == 0 {
		return nil, false
	}
	// What was inherited is with those that began later.
	first := startTime(out[0].PID)
	for _, h := range out {
		first = min(first, startTime(h.PID))
	}
	return out, !slices.ContainsFunc(hidden, func(pid int) bool { return startTime(pid) >= first && !kernelThread(pid) })
}

// statField is a field of /proc/PID/stat from the third on, by its number in proc(5); "" where there is none.
func statField(pid, n int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	f := strings.Fields(string(b)[strings.LastIndexByte(string(b), ')')+1:])
	if n-3 >= len(f) {
		return ""
	}
	return f[n-3]
}

// startTime is when a process began, in ticks since the machine did.
func startTime(pid int) uint64 {
	n, _ := strconv.ParseUint(statField(pid, 22), 10, 64)
	return n
}

// kernelThread reports whether a process is the kernel's own, which has no files.
func kernelThread(pid int) bool {
	const flag = 0x00200000 // PF_KTHREAD
	n, _ := strconv.ParseUint(statField(pid, 9), 10, 64)
	return n&flag != 0
}

// parentOf is the process that began another, 0 unknown.
func parentOf(pid int) int {
	n, _ := strconv.Atoi(statField(pid, 4))
	return n
}

// existing reports whether any process may have a thread of that number, in whatever namespace.
func existing(pid, local int) bool {
	mine, err := os.Readlink("/proc/self/ns/pid")
	theirs, err2 := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", pid))
	if err != nil || err2 != nil || mine != theirs {
		return true
	}
	_, err = os.Stat(fmt.Sprintf("/proc/%d", local)) // of threads, too
	return err == nil
}
