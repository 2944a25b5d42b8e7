package native

import (
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/plainfile"
	"github.com/strobe-debug/strobe/internal/ptrace"
	"golang.org/x/sys/unix"
)

var _ collector.Attacher = (*Runtime)(nil)

// Find describes a running process as a command that Launch attaches to, or says why that cannot be done.
func (rt *Runtime) Find(pid int) (*collector.Command, error) {
	if err := checkTarget(pid); err != nil {
		return nil, err
	}
	cmd := &collector.Command{PID: pid}
	alive := livingThread(pid)
	link, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", alive))
	if err != nil {
		return nil, attachFault(pid, err)
	}
	cmd.Path = programPath(alive, link)
	if err := checkClass(pid, cmd.Path); err != nil {
		return nil, err
	}
	cmd.Name = strings.TrimSuffix(link, deletedMark)
	if line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", alive)); err == nil && len(line) > 0 {
		cmd.Args = strings.Split(strings.TrimRight(string(line), "\x00"), "\x00")
	}
	if len(cmd.Args) == 0 {
		cmd.Args = []string{cmd.Name}
	}
	cmd.Dir, _ = os.Readlink(fmt.Sprintf("/proc/%d/cwd", alive)) // only shown
	return cmd, nil
}

// deletedMark is what the kernel puts behind the path of a file that is gone.
const deletedMark = " (deleted)"

// programPath is where the file that a process runs can be read now: at its own path where that is the same file, else
// through /proc.
func programPath(pid int, link string) string {
	exe := fmt.Sprintf("/proc/%d/exe", pid)
	here, err := os.Stat(link)
	if err != nil {
		return exe
	}
	if its, err := os.Stat(exe); err != nil || !os.SameFile(here, its) {
		return exe
	}
	return link
}

// checkTarget refuses processes that cannot be attached to, as far as that can be seen beforehand.
func checkTarget(pid int) error {
	state := ptrace.StatusField(pid, "State")
	switch {
	case state == "":
		return fault.New(fault.AttachFailed, "Find its number with pgrep or ps; one in a container has another number "+
			"out here.", "there is no process %d", pid)
	case ptrace.StatusField(pid, "Tgid") != strconv.Itoa(pid):
		return fault.New(fault.AttachFailed, "Attach to that process: all its threads are traced.",
			"%d is a thread of process %s", pid, ptrace.StatusField(pid, "Tgid"))
	case ptrace.KernelThread(pid):
		return fault.New(fault.AttachFailed, "Choose a program's process.", "process %d (%s) is a thread of the kernel", pid,
			ptrace.StatusField(pid, "Name"))
	case state[0] == 'Z' && livingThread(pid) == pid, state[0] == 'X':
		return fault.New(fault.AttachFailed, "Launch it again with debug_launch command; what it left behind goes when its "+
			"parent, process "+ptrace.StatusField(pid, "PPid")+", waits for it.",
			"process %d (%s) has ended: it is a zombie", pid, ptrace.StatusField(pid, "Name"))
	}
	if err := checkOwn(pid); err != nil {
		return err
	}
	for _, tid := range listThreads(pid) {
		if err := checkTraced(pid, tid); err != nil {
			return err
		}
	}
	return checkUser(pid)
}

// checkOwn refuses this daemon and the processes above it: stopped by us they could never be continued.
func checkOwn(pid int) error {
	for at, n := os.Getpid(), 0; at > 0 && n < 1000; n++ {
		if at == pid {
			what := "a parent of this daemon"
			if n == 0 {
				what = "this daemon itself"
			}
			return fault.New(fault.AttachFailed, "Choose another process.", "process %d is %s", pid, what)
		}
		at, _ = strconv.Atoi(ptrace.StatusField(at, "PPid"))
	}
	return nil
}

// checkTraced names who traces a thread already: there can be only one.
func checkTraced(pid, tid int) error {
	tracer := ptrace.TracerOf(tid)
	if tracer == 0 {
		return nil
	}
	who, _ := strconv.Atoi(ptrace.StatusField(tracer, "Tgid"))
	if who == os.Getpid() {
		return fault.New(fault.AttachFailed, "Use that session (debug_session list), or stop it first.",
			"process %d belongs to a session of this daemon already", pid)
	}
	if who == 0 {
		who = tracer
	}
	return fault.New(fault.AttachFailed, fmt.Sprintf(
		"End that program (a debugger, strace or another strobe) or make it detach, or launch a second instance "+
			"with command."),
		"process %d is traced already, by process %d (%s); only one at a time can", pid, who, shortCommand(who))
}

// shortCommand is a process's command for a message, shortened.
func shortCommand(pid int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	line := strings.TrimSpace(string(bytes.ReplaceAll(b, []byte{0}, []byte{' '})))
	if err != nil || line == "" {
		line = ptrace.StatusField(pid, "Name")
	}
	if len(line) > 80 {
		line = line[:80] + "…"
	}
	return line
}

// checkUser refuses other users' processes, where the daemon has no right to trace everybody's.
func checkUser(pid int) error {
	if mayTraceAll() {
		return nil
	}
	me, ids := strconv.Itoa(os.Getuid()), strings.Fields(ptrace.StatusField(pid, "Uid"))
	if len(ids) < 3 {
		return nil
	}
	if ids[0] != me && ids[1] != me {
		return fault.New(fault.PermissionDenied, "Run strobe as that user: sudo -u '#"+ids[0]+"' strobe attach "+
			strconv.Itoa(pid)+", or launch the program yourself with command.",
			"process %d belongs to user %s, this daemon to user %s", pid, ids[0], me)
	}
	if ids[0] != me || ids[1] != me || ids[2] != me {
		return fault.New(fault.PermissionDenied,
			"Run strobe as root, or launch the program yourself with command: then it runs without the other identity.",
			"process %d is set-user-ID: its user ids are %s", pid, strings.Join(ids[:3], ", "))
	}
	return nil
}

// mayTraceAll reports whether this process has CAP_SYS_PTRACE.
func mayTraceAll() bool {
	caps, err := strconv.ParseUint(ptrace.StatusField(os.Getpid(), "CapEff"), 16, 64)
	return err == nil && caps&(1<<unix.CAP_SYS_PTRACE) != 0
}

// checkClass refuses programs whose code this engine does not read.
func checkClass(pid int, path string) error {
	f, err := plainfile.Open(path)
	if errors.Is(err, fs.ErrPermission) && ptrace.TracerOf(pid) == 0 {
		return fault.New(fault.PermissionDenied,
			"Make the file readable (chmod +r) and start it again, or run strobe as root.",
			"process %d runs a file that the daemon may not read, and its symbols are needed: %w", pid, err)
	}
	if err != nil {
		return attachFault(pid, err)
	}
	defer f.Close()
	var head [20]byte
	if _, err := f.ReadAt(head[:], 0); err != nil || string(head[:4]) != elf.ELFMAG {
		return fault.New(fault.Unsupported, "Choose another process.", "process %d runs %s, which is no ELF file", pid, path)
	}
	machine := elf.Machine(uint16(head[18]) | uint16(head[19])<<8)
	if elf.Class(head[4]) != elf.ELFCLASS64 || machine != elf.EM_X86_64 {
		return fault.New(fault.Unsupported, "Build the program for 64-bit x86 and start it again.",
			"process %d is a program for %s (%s), only 64-bit x86 programs can be traced", pid, machine, elf.Class(head[4]))
	}
	return nil
}

// attachFault gives what an attach met a code and a way out.
func attachFault(pid int, err error) error {
	switch f := (*fault.Error)(nil); {
	case errors.As(err, &f):
		return err
	case errors.Is(err, ptrace.ErrGone), errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ESRCH):
		return fault.New(fault.AttachFailed, "Start it again, or find its new number with pgrep.",
			"process %d ended while it was attached to", pid)
	case errors.Is(err, syscall.EPERM), errors.Is(err, fs.ErrPermission):
		return deniedFault(pid, yamaScope(), err)
	case errors.Is(err, errAllBlocked), errors.Is(err, context.DeadlineExceeded):
		return fault.New(fault.AttachFailed, "Call again when it has gone on; cat /proc/"+strconv.Itoa(pid)+
			"/task/*/stack shows root what it waits for.",
			"no thread of process %d could be stopped within %v (%v where one only wants a CPU); %s: %w", pid, attachWait,
			busyMost, threadStates(pid), err)
	}
	return fault.New(fault.AttachFailed, "Call again; strobe doctor shows what this machine allows.",
		"attach to process %d: %w", pid, err)
}

// yamaScope is what /proc/sys/kernel/yama/ptrace_scope says, -1 where there is no such thing.
func yamaScope() int {
	b, err := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope")
	if err != nil {
		return -1
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return -1
	}
	return n
}

// deniedFault says which of the kernel's rules forbids it, and the way round.
func deniedFault(pid, scope int, err error) error {
	const launch = ", or launch the program with command: its own children it may always trace"
	deny := func(hint, why string) error {
		return fault.New(fault.PermissionDenied, hint, "process %d may not be traced: %s: %w", pid, why, err)
	}
	switch {
	case ptrace.TracerOf(pid) != 0:
		return checkTraced(pid, pid)
	case scope == 3:
		return deny("It stays so until the machine is started again with another kernel.yama.ptrace_scope",
			"kernel.yama.ptrace_scope is 3, which forbids ptrace to everybody")
	case scope == 2 && !mayTraceAll():
		return deny("Run sudo sysctl kernel.yama.ptrace_scope=1, or give strobe the right: sudo setcap cap_sys_ptrace+ep "+
			"\"$(command -v strobe)\", and restart its daemon", "kernel.yama.ptrace_scope is 2, which needs CAP_SYS_PTRACE")
	case dumpable(pid) == no && !mayTraceAll():
		return deny("Run strobe as root"+launch,
			"it is not dumpable (prctl PR_SET_DUMPABLE, or its file is set-user-ID, has capabilities or cannot be read)")
	case scope == 1 && !mayTraceAll():
		return deny("Run sudo sysctl kernel.yama.ptrace_scope=0 (until the next boot)"+launch,
			"kernel.yama.ptrace_scope is 1: a process may trace only its own children")
	}
	return deny("In a container, run it with --cap-add=SYS_PTRACE; strobe doctor shows what this machine allows"+launch,
		"the kernel or its security modules forbid it")
}

type answer int

const (
	unknown answer = iota
	yes
	no
)

// dumpable tells by who owns its files in /proc whether a process of ours lets itself be traced: root owns those of one
// that does not.
func dumpable(pid int) answer {
	var st unix.Stat_t
	if unix.Stat(fmt.Sprintf("/proc/%d/environ", pid), &st) != nil {
		return unknown
	}
	ids := strings.Fields(ptrace.StatusField(pid, "Uid"))
	if len(ids) < 2 || ids[1] == "0" {
		return unknown
	}
	if strconv.FormatUint(uint64(st.Uid), 10) != ids[1] {
		return no
	}
	return yes
}
