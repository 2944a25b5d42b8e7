package ptrace

import "golang.org/x/sys/unix"

// xstateSet is NT_X86_XSTATE: what XSAVE saves, all registers but the general ones.
const xstateSet = 0x202

// maxXState is more than processors have (11 KB with AMX).
const maxXState = 64 << 10

// GetXState reads a stopped thread's floating point and vector registers, for SetXState.
func GetXState(tid int) ([]byte, error) {
	area := make([]byte, maxXState)
	v := unix.Iovec{Base: &area[0]}
	v.SetLen(len(area))
	if err := ptraceData(unix.PTRACE_GETREGSET, tid, xstateSet, &v); err != nil {
		return nil, err
	}
	return area[:v.Len], nil
}

// SetXState writes what GetXState read.
func SetXState(tid int, area []byte) error {
	v := unix.Iovec{Base: &area[0]}
	v.SetLen(len(area))
	return ptraceData(unix.PTRACE_SETREGSET, tid, xstateSet, &v)
}
