package ptrace

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// TracerOf returns the thread that traces a thread, 0 for none.
func TracerOf(tid int) int {
	n, _ := strconv.Atoi(StatusField(tid, "TracerPid"))
	return n
}

// StatusField returns a line of a thread's /proc status, without its name; "" if there is none.
func StatusField(tid int, name string) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", tid))
	if err != nil {
		return ""
	}
	for line := range bytes.Lines(b) {
		if key, value, ok := bytes.Cut(line, []byte(":")); ok && string(key) == name {
			return string(bytes.TrimSpace(value))
		}
	}
	return ""
}

// Process returns the process that a thread belongs to, 0 where it is gone.
func Process(tid int) (pid int) {
	fmt.Sscan(StatusField(tid, "Tgid"), &pid) //nolint:errcheck // 0 then
	return pid
}

// Ends reports a thread that has ended, and waits to be reaped, or ends at this moment: the kernel refuses to trace it.
func Ends(tid int) bool {
	state := StatusField(tid, "State")
	return state == "" || state[0] == 'Z' || state[0] == 'X' || flagsOf(tid)&pfExiting != 0
}

const pfExiting = 0x4 // PF_EXITING

// flagsOf returns a thread's kernel flags, field 9 of its stat.
func flagsOf(tid int) uint64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", tid))
	if err != nil {
		return 0
	}
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(fields) < 7 {
		return 0
	}
	n, _ := strconv.ParseUint(string(fields[6]), 10, 64)
	return n
}

// KernelThread reports a thread of the kernel's own.
func KernelThread(tid int) bool {
	const pfKthread = 0x00200000
	return flagsOf(tid)&pfKthread != 0
}
