package native

import (
	"encoding/binary"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/strobe-debug/strobe/internal/ptrace"
	"golang.org/x/sys/unix"
)

// A system call that is made again waits its whole time again. Signals that come more often than that would keep it
// from ever ending: once it has been made again for as long as it was to wait, it ends as it would have.

// remade is a system call that a thread was last made to make again.
type remade struct {
	regs  ptrace.Regs // with which
	since time.Time   // it was first
	slept uint64      // how often the thread had slept by then, its stops among them
}

// sleepsOfOne is how often a thread sleeps from one stop in a system call to the next stop in it.
const sleepsOfOne = 2

// overdue reports whether the system call that regs would make again has had its time, and what it returns then. Tracer
// thread only.
func (p *process) overdue(th *thread, regs *ptrace.Regs) (result uint64, over bool) {
	within, ok := p.timeout(th, regs)
	if !ok {
		return 0, false
	}
	slept := sleeps(th.p.pid, th.tid)
	if r := &th.remade; r.regs != *regs || slept-r.slept > sleepsOfOne {
		th.remade = remade{*regs, time.Now(), slept}
		return 0, false
	}
	th.remade.slept = slept
	switch regs.Rax {
	case unix.SYS_EPOLL_WAIT, unix.SYS_EPOLL_PWAIT, unix.SYS_EPOLL_PWAIT2, unix.SYS_IO_GETEVENTS, unix.SYS_IO_PGETEVENTS:
	default:
		result = ^uint64(unix.EAGAIN) + 1
	}
	return result, time.Since(th.remade.since) >= within
}

// timeout is how long the system call that regs make waits at most.
func (p *process) timeout(th *thread, regs *ptrace.Regs) (time.Duration, bool) {
	at := uint64(0)
	switch regs.Rax {
	case unix.SYS_EPOLL_WAIT, unix.SYS_EPOLL_PWAIT:
		return time.Duration(int32(regs.R10)) * time.Millisecond, int32(regs.R10) >= 0
	case unix.SYS_EPOLL_PWAIT2, unix.SYS_SEMTIMEDOP:
		at = regs.R10
	case unix.SYS_RT_SIGTIMEDWAIT:
		at = regs.Rdx
	case unix.SYS_IO_GETEVENTS, unix.SYS_IO_PGETEVENTS:
		at = regs.R8
	case unix.SYS_RECVFROM, unix.SYS_RECVMSG, unix.SYS_RECVMMSG, unix.SYS_ACCEPT, unix.SYS_ACCEPT4:
		return socketTimeout(th.p.pid, int(int32(regs.Rdi)), unix.SO_RCVTIMEO)
	case unix.SYS_SENDTO, unix.SYS_SENDMSG:
		return socketTimeout(th.p.pid, int(int32(regs.Rdi)), unix.SO_SNDTIMEO)
	}
	var b [16]byte
	if at == 0 || p.mem.Read(at, b[:]) != nil {
		return 0, false
	}
	le := binary.LittleEndian
	return time.Duration(le.Uint64(b[:]))*time.Second + time.Duration(le.Uint64(b[8:])), true
}

// socketTimeout reads a process's socket's option.
func socketTimeout(pid, fd, option int) (time.Duration, bool) {
	pidfd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return 0, false
	}
	defer unix.Close(pidfd)
	s, err := unix.PidfdGetfd(pidfd, fd, 0)
	if err != nil {
		return 0, false
	}
	defer unix.Close(s)
	tv, err := unix.GetsockoptTimeval(s, unix.SOL_SOCKET, option)
	if err != nil || *tv == (unix.Timeval{}) {
		return 0, false
	}
	return time.Duration(tv.Nano()), true
}

// sleeps is how often a thread has given up the CPU.
func sleeps(pid, tid int) uint64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/status", pid, tid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(b), "\nvoluntary_ctxt_switches:\t")
	word, _, _ := strings.Cut(rest, "\n")
	n, _ := strconv.ParseUint(word, 10, 64)
	return n
}
