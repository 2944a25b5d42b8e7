package ptrace

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// System calls that return EINTR after a stop, though no handler ran (signal(7)): a thread in one is stopped where
// nothing else will do, and makes it again behind that.
var notRestarted = map[int64]bool{
	unix.SYS_EPOLL_WAIT: true, unix.SYS_EPOLL_PWAIT: true, unix.SYS_EPOLL_PWAIT2: true, unix.SYS_SEMOP: true,
	unix.SYS_SEMTIMEDOP:      true,
	unix.SYS_RT_SIGTIMEDWAIT: true, unix.SYS_IO_GETEVENTS: true, unix.SYS_IO_PGETEVENTS: true, unix.SYS_RECVFROM: true,
	unix.SYS_RECVMSG:  true,
	unix.SYS_RECVMMSG: true, unix.SYS_SENDTO: true, unix.SYS_SENDMSG: true, unix.SYS_ACCEPT: true, unix.SYS_ACCEPT4: true,
	unix.SYS_CONNECT: true,
	unix.SYS_MSGRCV:  true, unix.SYS_MSGSND: true, unix.SYS_PAUSE: true, unix.SYS_RT_SIGSUSPEND: true,
	unix.SYS_IO_URING_ENTER: true,
}

// NotRestarted reports whether the kernel ends a system call with EINTR when a stop comes, and does not make it again.
func NotRestarted(nr int64) bool { return notRestarted[nr] }

const syscallBytes = 2 // of the instruction

// HideInterrupt makes a system call that our stop ended, and that the kernel does not restart by itself, be made again:
// the program would see EINTR. Not where a signal ended it as well, whose handler the program may expect to have run.
func HideInterrupt(tid int, regs Regs) Regs {
	if !Interrupted(&regs) || SignalWaits(tid) {
		return regs
	}
	regs.Rip -= syscallBytes
	regs.Rax, regs.Orig_rax = regs.Orig_rax, ^uint64(0)
	return regs
}

// Interrupted reports a thread at the end of such a system call.
func Interrupted(regs *Regs) bool {
	nr := int64(regs.Orig_rax)
	return nr >= 0 && int64(regs.Rax) == -int64(unix.EINTR) && notRestarted[nr] && nr != unix.SYS_CONNECT
}

// sigMasks reads masks of signals from a thread's status; false: it is gone.
func sigMasks(tid int) (mask func(name string) uint64, ok bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", tid))
	return func(name string) uint64 {
		_, rest, _ := strings.Cut(string(b), name+":\t")
		word, _, _ := strings.Cut(rest, "\n")
		n, _ := strconv.ParseUint(word, 16, 64)
		return n
	}, err == nil
}

// harmless are the signals that a program ignores which says nothing of them.
const harmless = 1<<(unix.SIGCHLD-1) | 1<<(unix.SIGURG-1) | 1<<(unix.SIGWINCH-1) | 1<<(unix.SIGCONT-1)

// SignalWaits reports a signal that a thread will take when it runs.
func SignalWaits(tid int) bool {
	mask, ok := sigMasks(tid)
	return !ok || (mask("SigPnd")|mask("ShdPnd"))&^mask("SigBlk")&^mask("SigIgn")&^(harmless&^mask("SigCgt")) != 0
}

// Ignores reports whether nothing comes of a signal.
func Ignores(tid int, sig syscall.Signal) bool {
	mask, ok := sigMasks(tid)
	return ok && (mask("SigIgn")|harmless&^mask("SigCgt"))&(1<<(sig-1)) != 0
}

// HideBriefly makes a thread that stands go on with a system call that our stop ended. One that a signal ended as well
// ends.
func HideBriefly(tid int) {
	info, err := GetSiginfo(tid)
	if err != nil || !info.OfEvent() {
		return
	}
	regs, err := GetRegs(tid)
	if err != nil {
		return
	}
	if again := HideInterrupt(tid, regs); again != regs {
		SetRegs(tid, &again) //nolint:errcheck // it has ended
	}
}
