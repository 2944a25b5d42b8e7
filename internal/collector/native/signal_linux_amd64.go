package native

import (
	"context"
	"errors"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/ptrace"
)

// stopWait bounds how long a signal that stops programs is given to do so: those that catch it tidy up first.
const stopWait = 300 * time.Millisecond

// Signal implements collector.Signaler. The group gets it in one call, as from a terminal: nobody twice.
func (t *target) Signal(ctx context.Context, r collector.SignalRequest) (stopped bool, err error) {
	sig := unix.SignalNum(r.Name)
	if sig == 0 {
		return false, fault.New(fault.ValidationError, "Write it as SIGINT.", "%q is no signal", r.Name)
	}
	live := t.PIDs()
	if len(live) == 0 {
		return false, fault.New(fault.ProcessExited, "debug_query still reads its events.", "process %d has ended", t.pid)
	}
	group := r.Group
	if group == 0 {
		group = t.ownGroup(live)
	}
	sent := false
	if group > 0 {
		sent = unix.Kill(-group, sig) == nil
	}
	for _, pid := range live {
		if g, err := unix.Getpgid(pid); err != nil || g == group && sent {
			continue
		}
		if !r.All && pid != t.pid {
			continue
		}
		if err := unix.Kill(pid, sig); err == nil {
			sent = true
		} else if !errors.Is(err, unix.ESRCH) {
			return false, fault.New(fault.PermissionDenied, "It runs as another user.", "send %s to process %d: %w", r.Name, pid,
				err)
		}
	}
	if !sent {
		return false, fault.New(fault.ProcessExited, "debug_query still reads its events.",
			"nobody of process %d's group is left", t.pid)
	}
	if sig != unix.SIGTSTP && sig != unix.SIGSTOP && sig != unix.SIGTTIN && sig != unix.SIGTTOU {
		return false, nil
	}
	return t.awaitStopped(ctx, r.Name == "SIGTSTP" && t.cmd.Terminal), nil
}

// ownGroup is the process group that the target leads; 0: it was attached to, or its first process went to another's.
func (t *target) ownGroup(live []int) int {
	if t.cmd.PID != 0 {
		return 0
	}
	for _, pid := range live {
		if g, err := unix.Getpgid(pid); err == nil && g == t.pid { // while one is in it, nobody else's group has that number
			return g
		}
	}
	return 0
}

// awaitStopped waits until every process of the target's group that does not ignore SIGTSTP is stopped. The leader of a
// terminal's session is in a group without a shell above it, whose members the kernel does not let stop by SIGTSTP:
// they are stopped once they have handled it.
func (t *target) awaitStopped(ctx context.Context, orphaned bool) bool {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	end := time.NewTimer(stopWait)
	defer end.Stop()
	for began := time.Now(); ; {
		waiting, any := false, false
		for _, pid := range t.PIDs() {
			if g, err := unix.Getpgid(pid); err != nil || g != t.pid || ptrace.Ignores(pid, unix.SIGTSTP) {
				continue
			}
			any = true
			if !stands(pid) {
				waiting = true
				if orphaned && time.Since(began) > stopWait/3 {
					unix.Kill(pid, unix.SIGSTOP)
				}
			}
		}
		if !waiting {
			return any
		}
		select {
		case <-tick.C:
		case <-end.C:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// stands reports a process that does not run: stopped, which of a traced one looks as any stop.
func stands(pid int) bool {
	s := ptrace.StatusField(pid, "State")
	return strings.HasPrefix(s, "T") || strings.HasPrefix(s, "t")
}

var _ collector.Signaler = (*target)(nil)
