//go:build linux && amd64

package ptrace

import (
	"fmt"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

func wakeAddrs() (handler, restorer uintptr)

// wakeSignal interrupts a tracer's wait. A real-time signal that neither the Go runtime nor libc uses.
const wakeSignal = 63

const (
	saOnStack  = 0x08000000 // on the runtime's signal stack: a goroutine's has no room for a frame
	saRestorer = 0x04000000
)

type kernelSigaction struct {
	handler, flags, restorer, mask uint64
}

// installWake sets the wake signal's handler, once per process.
var installWake = sync.OnceValue(func() error {
	h, r := wakeAddrs()
	sa := kernelSigaction{handler: uint64(h), flags: saOnStack | saRestorer, restorer: uint64(r)}
	_, _, errno := syscall.RawSyscall6(unix.SYS_RT_SIGACTION, wakeSignal, uintptr(unsafe.Pointer(&sa)), 0, 8, 0, 0)
	if errno != 0 {
		return fmt.Errorf("install wake signal: %w", errno)
	}
	return nil
})

// ptraceData is ptrace(2) with a pointer to data.
func ptraceData[T any](request, tid int, addr uintptr, data *T) error {
	_, _, errno := syscall.Syscall6(unix.SYS_PTRACE, uintptr(request), uintptr(tid), addr, uintptr(unsafe.Pointer(data)),
		0, 0)
	return errnoErr(errno)
}

func ptraceValue(request, tid int, addr, data uintptr) error {
	_, _, errno := syscall.Syscall6(unix.SYS_PTRACE, uintptr(request), uintptr(tid), addr, data, 0, 0)
	return errnoErr(errno)
}

// peekPending reads up to len(into) of the signals that wait for one thread alone.
func peekPending(tid int, into []Siginfo) int {
	args := struct {
		off   uint64
		flags uint32
		nr    int32
	}{nr: int32(len(into))}
	n, _, errno := syscall.Syscall6(unix.SYS_PTRACE, ptracePeekSiginfo, uintptr(tid), uintptr(unsafe.Pointer(&args)),
		uintptr(unsafe.Pointer(&into[0])), 0, 0)
	if errno != 0 {
		return 0
	}
	return int(n)
}

func queueInfo(pid, tid int, info *Siginfo) error {
	_, _, errno := syscall.Syscall6(unix.SYS_RT_TGSIGQUEUEINFO, uintptr(pid), uintptr(tid), uintptr(info.Signal()),
		uintptr(unsafe.Pointer(info)), 0, 0)
	return errnoErr(errno)
}

func errnoErr(errno syscall.Errno) error {
	switch errno {
	case 0:
		return nil
	case unix.ESRCH:
		return ErrGone
	}
	return errno
}
