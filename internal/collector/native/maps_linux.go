package native

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/strobe-debug/strobe/internal/ptrace"
	"golang.org/x/sys/unix"
)

// mapping is one line of /proc/PID/maps.
type mapping struct {
	lo, hi, off uint64
	read, write bool
	exec        bool
	shared      bool
	inode       uint64
	dev         string // major:minor
	path        string
}

// readProc reads a file of /proc. The os package would ask the kernel six more questions about it, at every stop of a
// thread.
func readProc(path string) ([]byte, error) {
	fd, err := retried(func() (int, error) { return unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0) })
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	b := make([]byte, 0, procBytes)
	for {
		n, err := retried(func() (int, error) { return unix.Read(fd, b[len(b):cap(b)]) })
		if err != nil {
			return nil, &os.PathError{Op: "read", Path: path, Err: err}
		}
		if n == 0 {
			return b, nil
		}
		if b = b[:len(b)+n]; len(b) == cap(b) {
			b = slices.Grow(b, 4*len(b))
		}
	}
}

// procBytes holds most files of /proc.
const procBytes = 8 << 10

func retried(call func() (int, error)) (n int, err error) {
	for {
		if n, err = call(); err != unix.EINTR {
			return n, err
		}
	}
}

func readMaps(pid int) ([]mapping, error) {
	text, err := mapsText(pid)
	return parseMaps(text), err
}

// mapsText reads /proc/PID/maps, of a process whose first thread has ended by another thread.
func mapsText(pid int) ([]byte, error) {
	read := func(pid int) ([]byte, error) {
		b, err := readProc("/proc/" + strconv.Itoa(pid) + "/maps")
		if err != nil {
			err = fmt.Errorf("read maps of process %d: %w", pid, err)
		}
		return b, err
	}
	text, err := read(pid)
	if alive := pid; len(text) == 0 {
		if alive = livingThread(pid); alive != pid {
			return read(alive)
		}
	}
	return text, err
}

func parseMaps(text []byte) (maps []mapping) {
	for line := range strings.Lines(string(text)) {
		if m, ok := parseMapping(strings.TrimSuffix(line, "\n")); ok {
			maps = append(maps, m)
		}
	}
	return maps
}

// parseMapping reads "lo-hi perms offset dev inode   path".
func parseMapping(line string) (m mapping, ok bool) {
	fields := strings.SplitN(line, " ", 6)
	if len(fields) < 5 || len(fields[1]) < 4 {
		return m, false
	}
	lo, hi, found := strings.Cut(fields[0], "-")
	var err [4]error
	m.lo, err[0] = strconv.ParseUint(lo, 16, 64)
	m.hi, err[1] = strconv.ParseUint(hi, 16, 64)
	m.off, err[2] = strconv.ParseUint(fields[2], 16, 64)
	m.inode, err[3] = strconv.ParseUint(fields[4], 10, 64)
	for _, e := range err {
		if e != nil {
			return m, false
		}
	}
	m.dev = fields[3]
	m.read, m.write, m.exec = fields[1][0] == 'r', fields[1][1] == 'w', fields[1][2] == 'x'
	m.shared = fields[1][3] == 's'
	if len(fields) == 6 {
		m.path = strings.TrimLeft(fields[5], " ")
	}
	return m, found && m.lo < m.hi
}

// Entries of the auxiliary vector.
const (
	atBase        = 7
	atPlatform    = 15
	atHwcap2      = 26
	atSysinfoEhdr = 33
)

// blockedPC tells where a thread waits in a system call; running is true when it is on a CPU, or ready to be.
func blockedPC(pid, tid int) (nr int64, pc uint64, running bool) {
	b, err := readProc(fmt.Sprintf("/proc/%d/task/%d/syscall", pid, tid))
	if err != nil {
		return 0, 0, true
	}
	fields := strings.Fields(string(b))
	if len(fields) < 3 {
		return 0, 0, true // "running"
	}
	nr, err = strconv.ParseInt(fields[0], 10, 64)
	if err != nil {
		return 0, 0, true
	}
	pc, err = strconv.ParseUint(fields[len(fields)-1], 0, 64)
	return nr, pc, err != nil
}

// blockedSP is the stack pointer of a thread that waits in the kernel, 0 if it runs.
func blockedSP(pid, tid int) uint64 {
	b, err := readProc(fmt.Sprintf("/proc/%d/task/%d/syscall", pid, tid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(b))
	if len(fields) < 3 {
		return 0
	}
	sp, err := strconv.ParseUint(fields[len(fields)-2], 0, 64)
	if err != nil {
		return 0
	}
	return sp
}

func threadName(pid, tid int) string {
	b, err := readProc(fmt.Sprintf("/proc/%d/task/%d/comm", pid, tid))
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(b), "\n")
}

func listThreads(pid int) []int {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return nil
	}
	var tids []int
	for _, e := range entries {
		if tid, err := strconv.Atoi(e.Name()); err == nil {
			tids = append(tids, tid)
		}
	}
	return tids
}

// livingThread returns a thread of a process that has its memory still: the first one may have ended before the others.
func livingThread(pid int) int {
	if state := ptrace.StatusField(pid, "State"); state == "" || state[0] != 'Z' {
		return pid
	}
	for _, tid := range listThreads(pid) {
		if state := ptrace.StatusField(tid, "State"); state != "" && state[0] != 'Z' && state[0] != 'X' {
			return tid
		}
	}
	return pid
}
