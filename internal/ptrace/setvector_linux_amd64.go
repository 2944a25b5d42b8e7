package ptrace

import "golang.org/x/sys/unix"

// SetVector writes one of a stopped thread's xmm registers.
func SetVector(tid, n int, v [16]byte) error {
	const xmmOff = 160
	var area [512]byte
	if err := ptraceData(unix.PTRACE_GETFPREGS, tid, 0, &area); err != nil {
		return err
	}
	copy(area[xmmOff+16*n:], v[:])
	return ptraceData(unix.PTRACE_SETFPREGS, tid, 0, &area)
}
