package native

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// mapping is one line of /proc/PID/maps.
type mapping struct {
	lo, hi, off uint64
	exec, write bool
	inode       uint64
	path        string
}

func readMaps(pid int) ([]mapping, error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return nil, fmt.Errorf("read maps of process %d: %w", pid, err)
	}
	defer f.Close()
	var maps []mapping
	sc := bufio.NewScanner(f)
	sc.Buffer(make([]byte, 0, 1<<16), 1<<20)
	for sc.Scan() {
		if m, ok := parseMapping(sc.Text()); ok {
			maps = append(maps, m)
		}
	}
	return maps, sc.Err()
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
	m.write, m.exec = fields[1][1] == 'w', fields[1][2] == 'x'
	if len(fields) == 6 {
		m.path = strings.TrimLeft(fields[5], " ")
	}
	return m, found && m.lo < m.hi
}

// Entries of the auxiliary vector.
const (
	atBase        = 7
	atEntry       = 9
	atPlatform    = 15
	atHwcap2      = 26
	atSysinfoEhdr = 33
)

func readAuxv(pid int) (map[uint64]uint64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/auxv", pid))
	if err != nil {
		return nil, fmt.Errorf("read auxiliary vector of process %d: %w", pid, err)
	}
	v := map[uint64]uint64{}
	for ; len(b) >= 16; b = b[16:] {
		v[binary.LittleEndian.Uint64(b)] = binary.LittleEndian.Uint64(b[8:])
	}
	return v, nil
}

// blockedPC tells where a thread waits in a system call; running is true when it is on a CPU, or ready to be.
func blockedPC(pid, tid int) (nr int64, pc uint64, running bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/syscall", pid, tid))
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
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/syscall", pid, tid))
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
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/comm", pid, tid))
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
