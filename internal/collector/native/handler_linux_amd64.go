package native

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"syscall"

	"github.com/strobe-debug/strobe/internal/fault"
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
