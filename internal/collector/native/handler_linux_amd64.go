package native

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"slices"
	"syscall"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/ptrace"
	"golang.org/x/sys/unix"
)

// Handler implements collector.Injector: the process asks the kernel itself, who tells nobody else.
func (t *target) Handler(ctx context.Context, pid int, signal syscall.Signal) (address, flags uint64, err error) {
	p := t.processOf(pid)
	if p == nil {
		return 0, 0, fault.New(fault.ProcessExited, "Find its new number with pgrep.", "process %d has ended", pid)
	}
	const maskSize = 8
	var action [3 * 8]byte // handler, flags, restorer; the mask is behind them
	page := uint64(os.Getpagesize())
	err = p.withStopped(ctx, func(r *remote) error {
		at, err := r.mmap(0, page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS, -1)
		if err != nil {
			return err
		}
		if _, err = r.call(unix.SYS_RT_SIGACTION, uint64(signal), 0, at, maskSize); err == nil {
			err = p.mem.Read(at, action[:])
		}
		_, uerr := r.call(unix.SYS_MUNMAP, at, page)
		return errors.Join(err, uerr)
	})
	return binary.LittleEndian.Uint64(action[:]), binary.LittleEndian.Uint64(action[8:]), err
}

// Raise implements collector.Injector. The thread stands meanwhile, so that it is where it was when the signal comes.
func (t *target) Raise(ctx context.Context, pid int, signal syscall.Signal, in []int) (blocked int, err error) {
	p := t.processOf(pid)
	if p == nil {
		return 0, fault.New(fault.ProcessExited, "Find its new number with pgrep.", "process %d has ended", pid)
	}
	blocked = -1
	err = t.tracer.Do(ctx, func() error {
		th := p.threads[pid]
		harmed := func(nr int64) bool { return nr >= 0 && !slices.Contains(in, int(nr)) }
		if nr, _, running := blockedPC(pid, pid); !running && harmed(nr) {
			blocked = int(nr)
			return nil
		}
		if th == nil {
			return ptrace.ErrGone
		}
		resume, ok := p.halt(th)
		if !ok {
			return ptrace.ErrGone
		}
		defer resume()
		regs, err := ptrace.GetRegs(pid)
		if err != nil {
			return err
		}
		if nr := int64(regs.Orig_rax); harmed(nr) && !ptrace.IsDone(&regs) {
			blocked = int(nr)
			return nil
		}
		return unix.Tgkill(pid, pid, signal)
	})
	return blocked, err
}
