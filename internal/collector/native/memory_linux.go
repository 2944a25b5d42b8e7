package native

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// sparePart of the machine's memory is nobody's to spare.
const sparePart = 8

// spareMemory is how many bytes of memory may be used without hurting others: what the kernel calls available but for a
// part of all of it, and what is left to the control groups that the daemon runs in.
func spareMemory() int64 {
	b, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	spare := memoryField(b, "MemAvailable:") - memoryField(b, "MemTotal:")/sparePart
	b, err = os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return max(spare, 0)
	}
	for line := range strings.Lines(string(b)) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok { // version 2; version 1 is not looked at
			for dir := filepath.Join("/sys/fs/cgroup", path); strings.HasPrefix(dir, "/sys/fs/cgroup"); dir = filepath.Dir(dir) {
				spare = min(spare, groupSpare(dir))
			}
		}
	}
	return max(spare, 0)
}

// memoryField is a line of /proc/meminfo, in bytes.
func memoryField(b []byte, name string) int64 {
	_, rest, _ := bytes.Cut(b, []byte(name))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	kb, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(string(line)), " kB"), 10, 64)
	return kb << 10
}

// groupSpare is what a control group may still use; the pages of files in it can be had back.
func groupSpare(dir string) int64 {
	read := func(name string) int64 {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return math.MaxInt64
		}
		n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
		if err != nil { // "max"
			return math.MaxInt64
		}
		return n
	}
	most := read("memory.max")
	if most == math.MaxInt64 {
		return most
	}
	used := read("memory.current")
	if stat, err := os.ReadFile(filepath.Join(dir, "memory.stat")); err == nil {
		_, rest, _ := bytes.Cut(stat, []byte("\ninactive_file "))
		line, _, _ := bytes.Cut(rest, []byte("\n"))
		files, _ := strconv.ParseInt(string(line), 10, 64)
		used -= files
	}
	return most - most/sparePart - used
}
