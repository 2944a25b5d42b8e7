package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/strobe-debug/strobe/internal/fault"
)

// startTimeout bounds the wait for a daemon to listen. It takes some 20 ms on a quiet machine. Tests shorten it.
var startTimeout = 10 * time.Second

// Dial connects to the running daemon of home, and does not start one.
func Dial(ctx context.Context, home string) (net.Conn, error) {
	if err := checkSocketPath(home); err != nil {
		return nil, err
	}
	if info, err := os.Stat(home); err == nil {
		if err := checkOwner(home, info); err != nil {
			return nil, err
		}
	}
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", SocketPath(home))
	if errors.Is(err, fs.ErrPermission) {
		return nil, homeFault(home, err)
	}
	if err != nil {
		return nil, fmt.Errorf("connect to the daemon: %w", err)
	}
	if err := checkPeer(home, c); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// checkPeer refuses a daemon of another user, whatever it was that led to it: a directory that somebody else made
// first, or may write to, or a link. It would be told our environment, and believed. The kernel says who listens.
func checkPeer(home string, c net.Conn) error {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return fmt.Errorf("connect to the daemon: %T is no Unix socket", c)
	}
	uid, err := peerUID(u)
	if err != nil {
		return err
	}
	if uid != os.Getuid() {
		return fault.New(fault.PermissionDenied, "Set STROBE_HOME to a directory of your own.",
			"who listens at %s is uid %d, not you (uid %d): nothing was sent there", SocketPath(home), uid, os.Getuid())
	}
	return nil
}

// Connect connects to the daemon of home and starts it first if there is none. Any number of
// callers at once, in any number of processes, get the same daemon.
func Connect(ctx context.Context, home string) (net.Conn, error) {
	c, err := Dial(ctx, home)
	if err == nil || !absent(err) {
		return c, err
	}
	if err := prepareHome(home); err != nil {
		return nil, err
	}
	started := time.Now()
	ended, err := start(home)
	if err != nil {
		return nil, err
	}
	for wait := time.Millisecond; ; wait = min(wait*2, 20*time.Millisecond) {
		if c, err = Dial(ctx, home); err == nil || !absent(err) {
			return c, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case err := <-ended:
			if err != nil {
				return nil, fault.New(fault.InternalError, "See "+LogPath(home)+", or run `strobe daemon` to watch it.",
					"the Strobe daemon ended at its start (%w): %s", err, lastLine(LogPath(home)))
			}
			ended = nil // another daemon won the race, or an old one ends just now: wait for it
		case <-time.After(wait):
		}
		if ended == nil && !lockHeld(LockPath(home)) {
			// The winner ended before we could connect: ours is the next.
			if ended, err = start(home); err != nil {
				return nil, err
			}
		}
		if time.Since(started) > startTimeout {
			return nil, Hung(home)
		}
	}
}

// absent reports whether a dial failed because nobody listens there, or could.
func absent(err error) bool {
	return errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOTDIR)
}

// Hung explains a daemon that holds the lock but does not answer.
func Hung(home string) error {
	pid := HolderPID(home)
	if pid == 0 || !lockHeld(LockPath(home)) {
		return fault.New(fault.InternalError, "See "+LogPath(home)+".", "the Strobe daemon did not start within %v",
			startTimeout)
	}
	return fault.New(fault.InternalError, fmt.Sprintf("End it with `kill -9 %d` and call again.", pid),
		"the Strobe daemon (pid %d) is alive but does not answer", pid)
}

// HolderPID returns the pid that the lock file of home names, or 0. The process may be gone.
func HolderPID(home string) int {
	b, err := os.ReadFile(LockPath(home))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || pid <= 1 {
		return 0
	}
	return pid
}

// start runs a daemon in the background. The channel gets its exit if it ends while we live.
func start(home string) (<-chan error, error) {
	log, err := os.OpenFile(LogPath(home), os.O_WRONLY|os.O_CREATE|os.O_APPEND|noFollow, 0o600)
	if err != nil {
		return nil, homeFault(home, err)
	}
	defer log.Close()
	sealFiles()
	cmd := exec.Command(selfExe())
	cmd.Args = []string{"strobe", "daemon", "--detached"}
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), envHome+"="+home)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = detached()
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the daemon: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // reaps it; ends with the daemon or with this process
	return ended, nil
}

// Stop asks the daemon of home to end and waits until it has. It returns false if there was none.
func Stop(ctx context.Context, home string) (bool, error) {
	if info, err := os.Stat(home); err == nil {
		if err := checkOwner(home, info); err != nil { // its lock file may name any process of ours
			return false, err
		}
	}
	pid := HolderPID(home)
	if pid == 0 || !lockHeld(LockPath(home)) {
		return false, nil
	}
	if err := terminate(pid); err != nil {
		return false, fmt.Errorf("end daemon %d: %w", pid, err)
	}
	for lockHeld(LockPath(home)) {
		select {
		case <-ctx.Done():
			return true, fmt.Errorf("wait for daemon %d to end: %w", pid, ctx.Err())
		case <-time.After(5 * time.Millisecond):
		}
	}
	return true, nil
}

// lastLine returns the last line of a log, for an error message.
func lastLine(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return "no log"
	}
	defer f.Close()
	const tail = 4096
	if info, err := f.Stat(); err == nil && info.Size() > tail {
		if _, err := f.Seek(-tail, io.SeekEnd); err != nil {
			return "no log"
		}
	}
	b, _ := io.ReadAll(io.LimitReader(f, tail))
	b = bytes.TrimSpace(b)
	return string(b[bytes.LastIndexByte(b, '\n')+1:])
}
