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
