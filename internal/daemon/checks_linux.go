package daemon

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/strobe-debug/strobe/internal/doctor"
)

const containerFix = "In a container: --cap-add=SYS_PTRACE --security-opt seccomp=unconfined."

func systemChecks() []doctor.Check {
	verdict := func(f func() error) func(context.Context) doctor.Result {
		return func(context.Context) doctor.Result {
			if err := f(); err != nil {
				return doctor.Result{Status: doctor.Fail, Detail: err.Error(), Fix: containerFix}
			}
			return doctor.Result{Status: doctor.OK, Detail: "works"}
		}
	}
	return []doctor.Check{
		{Name: "ptrace", Run: verdict(tryPtrace)},
		{Name: "memfd_create", Run: verdict(tryMemfd)},
		{Name: "process_vm_readv", Run: verdict(tryVMRead)},
		{Name: "/proc/PID/mem", Run: verdict(tryProcMem)},
	}
}

// tryPtrace runs a small program under ptrace up to its first instruction and lets it go.
func tryPtrace() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := exec.Command("/bin/true")
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start a program under ptrace: %w", err)
	}
	pid := cmd.Process.Pid
	var ws unix.WaitStatus
	if _, err := unix.Wait4(pid, &ws, unix.WALL, nil); err != nil {
		return fmt.Errorf("wait for the traced program: %w", err)
	}
	var regs unix.PtraceRegs
	regsErr := unix.PtraceGetRegs(pid, &regs)
	detachErr := unix.PtraceDetach(pid)
	_ = cmd.Process.Kill() // it may have ended by itself
	_ = cmd.Wait()
	if regsErr != nil {
		return fmt.Errorf("read registers of a traced program: %w", regsErr)
	}
	if detachErr != nil {
		return fmt.Errorf("let go of a traced program: %w", detachErr)
	}
	return nil
}

func tryMemfd() error {
	fd, err := unix.MemfdCreate("strobe-doctor", unix.MFD_CLOEXEC)
	if err != nil {
		return fmt.Errorf("memfd_create: %w", err)
	}
	return unix.Close(fd)
}

// tryVMRead and tryProcMem read a page of a child's memory: its program headers, at a place that its
// own maps name.
func tryVMRead() error {
	return withChild(func(pid int, addr uintptr) error {
		buf := make([]byte, 4)
		local := []unix.Iovec{{Base: &buf[0], Len: 4}}
		n, err := unix.ProcessVMReadv(pid, local, []unix.RemoteIovec{{Base: addr, Len: 4}}, 0)
		if err != nil {
			return fmt.Errorf("process_vm_readv: %w", err)
		}
		return wantELF(buf[:n])
	})
}

func tryProcMem() error {
	return withChild(func(pid int, addr uintptr) error {
		f, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
		if err != nil {
			return err
		}
		defer f.Close()
		buf := make([]byte, 4)
		n, err := f.ReadAt(buf, int64(addr))
		if err != nil {
			return err
		}
		return wantELF(buf[:n])
	})
}

func wantELF(b []byte) error {
	if !bytes.Equal(b, []byte("\x7fELF")) {
		return fmt.Errorf("read %q of another process's memory instead of an ELF header", b)
	}
	return nil
}

// withChild calls f with a living child and the address of an ELF header in it.
func withChild(f func(pid int, addr uintptr) error) error {
	cmd := exec.Command("/bin/cat")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start a program: %w", err)
	}
	defer func() {
		stdin.Close()
		_ = cmd.Wait() // ends by the end of its input
	}()
	// Its echo says that it runs its own code, and is no longer the copy of us that fork makes.
	if _, err := stdin.Write([]byte("x")); err != nil {
		return err
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		return err
	}
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", cmd.Process.Pid))
	if err != nil {
		return err
	}
	var addr uintptr
	if _, err := fmt.Sscanf(string(maps), "%x-", &addr); err != nil {
		return fmt.Errorf("read a program's memory map: %w", err)
	}
	return f(cmd.Process.Pid, addr)
}

// diskSpace returns what a user can still write, and the size of the disk, in bytes.
func diskSpace(path string) (free, size int64, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return 0, 0, fmt.Errorf("look at the disk of %s: %w", path, err)
	}
	return int64(st.Bavail) * st.Bsize, int64(st.Blocks) * st.Bsize, nil
}

// fileRoom returns how many files this process has open and how many it may: the Go runtime has raised the soft limit
// to the hard one, and gives children the one that we were started with.
func fileRoom() (used, limit int) {
	var l unix.Rlimit
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil || unix.Getrlimit(unix.RLIMIT_NOFILE, &l) != nil {
		return 0, 0
	}
	return len(entries) - 1, int(min(l.Cur, 1<<30))
}
