package iochan

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/strobe-debug/strobe/internal/fault"
)

var resources = map[string]int{"as": unix.RLIMIT_AS, "core": unix.RLIMIT_CORE, "cpu": unix.RLIMIT_CPU,
	"data": unix.RLIMIT_DATA, "fsize": unix.RLIMIT_FSIZE, "nofile": unix.RLIMIT_NOFILE, "nproc": unix.RLIMIT_NPROC,
	"stack": unix.RLIMIT_STACK}

// setLimit sets a limit of another process.
func setLimit(pid int, resource string, soft uint64, hard *uint64) (limited, error) {
	var old unix.Rlimit
	err := unix.Prlimit(pid, resources[resource], nil, &old)
	if err == nil {
		now := unix.Rlimit{Cur: soft, Max: old.Max}
		if hard != nil {
			now.Max = *hard
		}
		if now.Cur > now.Max {
			return limited{}, invalid("Lower soft.", "soft %d of %s is over the hard limit %d of process %d", soft, resource,
				now.Max, pid)
		}
		err = unix.Prlimit(pid, resources[resource], &now, nil)
		if err == nil {
			return limited{pid, now.Cur, now.Max}, nil
		}
	}
	code := fault.WriteFailed
	switch {
	case errors.Is(err, unix.EPERM):
		code = fault.PermissionDenied
	case errors.Is(err, unix.ESRCH):
		code = fault.ProcessExited
	}
	return limited{}, fault.New(code, "A hard limit can be lowered by anybody and raised by root only.",
		"limit %s of process %d: %w", resource, pid, err)
}
