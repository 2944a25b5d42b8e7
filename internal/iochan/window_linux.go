package iochan

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// errNoTerminal says that a connection is pipes.
var errNoTerminal = errors.New("it has pipes")

// terminalDo runs f with the descriptor of our end of the terminal.
func (c *Conn) terminalDo(f func(fd int) error) error {
	if c.eof == "" || len(c.streams) == 0 {
		return errNoTerminal
	}
	raw, err := c.streams[0].file.SyscallConn()
	if err != nil {
		return err
	}
	var opErr error
	if err := raw.Control(func(fd uintptr) { opErr = f(int(fd)) }); err != nil {
		return err
	}
	return opErr
}

// Foreground returns the process group in the foreground of the target's terminal; 0: there is none.
func (c *Conn) Foreground() int {
	group := 0
	err := c.terminalDo(func(fd int) (err error) {
		group, err = unix.IoctlGetInt(fd, unix.TIOCGPGRP)
		return err
	})
	if err != nil || group < 0 {
		return 0
	}
	return group
}

// Resize sets the size of the target's terminal; the kernel sends SIGWINCH to who is in the foreground there.
func (c *Conn) Resize(columns, rows int) error {
	err := c.terminalDo(func(fd int) error {
		return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(rows), Col: uint16(columns)})
	})
	if err != nil {
		return fmt.Errorf("set the terminal's size: %w", err)
	}
	return nil
}
