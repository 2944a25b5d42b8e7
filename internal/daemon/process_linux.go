package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/strobe-debug/strobe/internal/fault"
)

// noFollow refuses to write through a link that somebody has put in the place of a file of ours.
const noFollow = unix.O_NOFOLLOW

// errLockHeld means that another process holds the lock.
var errLockHeld = errors.New("lock is held by another process")

// checkOwner refuses a directory of another user: its owner could replace our socket.
func checkOwner(home string, info fs.FileInfo) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	if ok && int(st.Uid) != os.Getuid() {
		return fault.New(fault.PermissionDenied, "Set STROBE_HOME to a directory of your own.",
			"Strobe's directory %s belongs to uid %d, not to you (uid %d)", home, st.Uid, os.Getuid())
	}
	return nil
}

// takeLock locks path without waiting and writes our pid into it. The kernel gives the lock up
// when this process ends. It returns errLockHeld if another process has it.
func takeLock(path string) (*os.File, error) {
	for range 8 { // each round means that somebody replaced the file under us
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|noFollow, 0o600)
		if err != nil {
			return nil, fmt.Errorf("open lock: %w", err)
		}
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
			f.Close()
			if errors.Is(err, unix.EWOULDBLOCK) {
				return nil, errLockHeld
			}
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		ours, err1 := f.Stat()
		there, err2 := os.Stat(path)
		if err1 == nil && err2 == nil && os.SameFile(ours, there) {
			if err := f.Truncate(0); err != nil {
				f.Close()
				return nil, fmt.Errorf("write lock: %w", err)
			}
			if _, err := fmt.Fprintf(f, "%d\n", os.Getpid()); err != nil {
				f.Close()
				return nil, fmt.Errorf("write lock: %w", err)
			}
			return f, nil
		}
		f.Close()
	}
	return nil, fmt.Errorf("lock %s: the file keeps being replaced", path)
}

// lockHeld reports whether a process holds the lock at path.
func lockHeld(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	err = unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	return errors.Is(err, unix.EWOULDBLOCK)
}

// peerUID returns the user at the other end of a Unix socket, as the kernel knows it.
func peerUID(c *net.UnixConn) (int, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return -1, fmt.Errorf("read peer of socket: %w", err)
	}
	uid, inner := -1, error(nil)
	err = raw.Control(func(fd uintptr) {
		cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
		if err != nil {
			inner = err
			return
		}
		uid = int(cred.Uid)
	})
	if err = errors.Join(err, inner); err != nil {
		return -1, fmt.Errorf("read peer of socket: %w", err)
	}
	return uid, nil
}

// detached makes a child outlive its parent, the terminal and the session.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// sealFiles marks every descriptor but the standard three close-on-exec: those that we inherited
// must reach neither the daemon nor a target, or a pipe's reader would wait for ever.
func sealFiles() { _ = unix.CloseRange(3, 1<<31-1, unix.CLOSE_RANGE_CLOEXEC) }

// redirectOutput puts f in the place of stdout and stderr, so that a crash report lands in the log.
func redirectOutput(f *os.File) error {
	for fd := 1; fd <= 2; fd++ {
		if err := unix.Dup3(int(f.Fd()), fd, 0); err != nil {
			return fmt.Errorf("redirect output: %w", err)
		}
	}
	return nil
}

// selfExe returns a path that runs this very binary, also after the file was replaced.
func selfExe() string {
	path, err := os.Executable()
	if err == nil {
		here, err1 := os.Stat(path)
		self, err2 := os.Stat("/proc/self/exe")
		if err1 == nil && err2 == nil && os.SameFile(here, self) {
			return path
		}
	}
	return "/proc/self/exe"
}

// terminate asks the daemon to end.
func terminate(pid int) error { return unix.Kill(pid, unix.SIGTERM) }

// nameWorker names a worker's process, so that people can tell it from the daemon.
func nameWorker() { _ = os.WriteFile("/proc/self/comm", []byte("strobe-worker"), 0) }

// unixPair makes two connected sockets.
func unixPair() (a, b *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	return os.NewFile(uintptr(fds[0]), "worker"), os.NewFile(uintptr(fds[1]), "worker"), nil
}

// lockSuffix names the file beside a session's that its process has locked: a lock on the session's own would be
// SQLite's to lose.
const lockSuffix = ".lock"

// lockSession holds a session's file until release. The kernel lets go of it when this process ends.
func lockSession(path string) (release func(), err error) {
	f, err := os.OpenFile(path+lockSuffix, os.O_RDWR|os.O_CREATE|noFollow, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path+lockSuffix, err), f.Close())
	}
	return func() {
		os.Remove(path + lockSuffix)
		f.Close()
	}, nil
}

// sessionLocked reports whether a process holds a session's file. What a dead one left of its lock goes.
func sessionLocked(path string) bool {
	if lockHeld(path + lockSuffix) {
		return true
	}
	os.Remove(path + lockSuffix)
	return false
}

// Recording reports whether a process has the session of that file open: it may still be written. It leaves all files
// as they are.
func Recording(path string) bool { return lockHeld(path + lockSuffix) }

// memoryTotal is the machine's memory in bytes, 0 where it is not known.
func memoryTotal() int64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0
	}
	return int64(info.Totalram) * int64(info.Unit)
}
