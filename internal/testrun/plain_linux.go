package testrun

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/ptrace"
	"github.com/strobe-debug/strobe/internal/stuck"
	"github.com/strobe-debug/strobe/internal/testadapter"
)

const (
	// pipeLinger is how long output is waited for when the command has ended and a process of its own still has its files.
	pipeLinger = 2 * time.Second
)

// plain runs a command as a child like any other.
func (r *Run) plain(ctx context.Context, step *testadapter.Step) (testadapter.Exit, error) {
	path, err := r.lookIn(step)
	if err != nil {
		return testadapter.Exit{}, fault.New(fault.LaunchFailed, "Install it, or give its path in PATH with env.",
			"run %s: %w", step.Argv[0], err)
	}
	cmd := &exec.Cmd{Path: path, Args: step.Argv, Dir: step.Dir, Env: r.environ(step)}
	group(cmd)
	var readers sync.WaitGroup
	var ours, theirs []*os.File
	closeAll := func(list []*os.File) {
		for _, f := range list {
			f.Close()
		}
	}
	for s, to := range map[testadapter.Stream]*io.Writer{testadapter.Stdout: &cmd.Stdout,
		testadapter.Stderr: &cmd.Stderr} {
		rd, wr, err := os.Pipe()
		if err != nil {
			closeAll(append(ours, theirs...))
			return testadapter.Exit{}, err
		}
		ours, theirs = append(ours, rd), append(theirs, wr)
		*to = wr
		readers.Go(func() {
			b := make([]byte, readBytes)
			for {
				n, err := rd.Read(b)
				if n > 0 {
					r.output(s, b[:n])
				}
				if err != nil {
					return
				}
			}
		})
	}
	err = cmd.Start()
	closeAll(theirs)
	if err != nil {
		closeAll(ours)
		readers.Wait()
		return testadapter.Exit{}, fault.New(fault.LaunchFailed, "Check that it is a program that this machine runs.",
			"run %s: %w", path, err)
	}
	exit := r.await(ctx, cmd, step)
	idle := time.AfterFunc(pipeLinger, func() {
		for _, f := range ours {
			f.SetReadDeadline(time.Now()) //nolint:errcheck // pipes take it
		}
	})
	readers.Wait()
	idle.Stop()
	closeAll(ours)
	return exit, nil
}

// await waits for a command's end, and ends it with all below it when the run is over.
func (r *Run) await(ctx context.Context, cmd *exec.Cmd, step *testadapter.Step) testadapter.Exit {
	ended := make(chan error, 1)
	var held unix.WaitStatus
	isHeld := false
	spin := stuck.Spinner(r.spin)
	pidfd, err := unix.PidfdOpen(cmd.Process.Pid, 0)
	if err != nil {
		spin = nil
	}
	go func() {
		if spin != nil {
			untilEnded(pidfd)
			held, isHeld = ptrace.HeldEnd(cmd.Process.Pid) // somebody attached to it
		}
		ended <- cmd.Wait()
	}()
	procs := newFamily(cmd.Process.Pid, step.Drivers, r.noted)
	unwatch := r.watched(step, procs, r.glance, spin)
	select {
	case err = <-ended:
	case <-ctx.Done():
		unwatch()
		if errors.Is(context.Cause(ctx), errTimeout) {
			r.lastLook(procs, r.glance, spin)
		}
		procs.end()
		err = <-ended
	}
	unwatch()
	var x testadapter.Exit
	var status *exec.ExitError
	if errors.As(err, &status) && !isHeld {
		if w, ok := status.Sys().(syscall.WaitStatus); ok {
			held = unix.WaitStatus(w)
		}
	}
	switch {
	case held.Signaled():
		x.Signal = unix.SignalName(held.Signal())
	default:
		x.Code = held.ExitStatus()
	}
	return x
}

// untilEnded waits for a process's end, and closes its file. Waiting for the process itself would also take the stops
// that a closer look at its threads makes.
func untilEnded(pidfd int) {
	defer unix.Close(pidfd)
	for {
		if _, err := unix.Poll([]unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}, -1); err != unix.EINTR {
			return
		}
	}
}

// group gives a command a process group of its own, by which what it left behind is found.
func group(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
