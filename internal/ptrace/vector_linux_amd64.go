package ptrace

import "golang.org/x/sys/unix"

// Vectors are a thread's xmm registers.
type Vectors [16][16]byte

// GetVectors reads the vector registers of a stopped thread.
func GetVectors(tid int) (v Vectors, err error) {
	const xmmOff = 160 // of struct user_fpregs_struct, as FXSAVE lays it out
	var area [512]byte
	if err = ptraceData(unix.PTRACE_GETFPREGS, tid, 0, &area); err != nil {
		return v, err
	}
	for i := range v {
		copy(v[i][:], area[xmmOff+16*i:])
	}
	return v, nil
}

// GetX87 reads the top two values of a stopped thread's x87 stack, 10 bytes each.
func GetX87(tid int) (st [2][16]byte, err error) {
	const stOff = 32
	var area [512]byte
	if err = ptraceData(unix.PTRACE_GETFPREGS, tid, 0, &area); err != nil {
		return st, err
	}
	for i := range st {
		copy(st[i][:10], area[stOff+16*i:])
	}
	return st, nil
}
