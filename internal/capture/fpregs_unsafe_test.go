//go:build linux && amd64

package capture

import (
	"syscall"
	"unsafe"
)

// fpregs reads the x87 and vector registers of a stopped tracee in FXSAVE layout.
func fpregs(pid int) (out [512]byte, err error) {
	const ptraceGetFPRegs = 14
	_, _, e := syscall.Syscall6(syscall.SYS_PTRACE, ptraceGetFPRegs, uintptr(pid), 0, uintptr(unsafe.Pointer(&out)), 0, 0)
	if e != 0 {
		err = e
	}
	return out, err
}
