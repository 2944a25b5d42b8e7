package iochan

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Monotonic returns CLOCK_MONOTONIC in nanoseconds: the clock that every event's time is on.
func Monotonic() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		return 0 // the clock exists on every Linux; a zero shows
	}
	return ts.Nano()
}

// readSome reads once, and marks s as busy before the kernel's buffer shrinks, so that Flush never
// takes bytes in our hands for delivered ones.
func (c *Conn) readSome(s *stream, buf []byte) (int, error) {
	raw, err := s.file.SyscallConn()
	if err != nil {
		return 0, err
	}
	var n int
	var readErr error
	err = raw.Read(func(fd uintptr) bool {
		s.busy.Store(true)
		for {
			n, readErr = unix.Read(int(fd), buf)
			if readErr != unix.EINTR {
				break
			}
		}
		if readErr == unix.EAGAIN {
			s.busy.Store(false)
			return false
		}
		return true
	})
	switch {
	case err != nil:
		return 0, err
	case readErr != nil: // a terminal whose last user went reads EIO
		return 0, readErr
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}

// unread returns how many bytes wait in the kernel's buffer.
func unread(f *os.File) int {
	raw, err := f.SyscallConn()
	if err != nil {
		return 0
	}
	n := 0
	raw.Control(func(fd uintptr) { n, err = unix.IoctlGetInt(int(fd), unix.TIOCINQ) })
	if err != nil {
		return 0
	}
	return n
}

// pipe returns our end (with deadlines) and the target's (blocking, as programs expect).
func pipe(name string, oursReads bool) (ours, theirs *os.File, err error) {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, fmt.Errorf("make pipe for %s: %w", name, err)
	}
	// Refused when the user's pipe memory is spent; a smaller pipe is slower, not wrong.
	unix.FcntlInt(uintptr(p[0]), unix.F_SETPIPE_SZ, pipeBytes)
	mine, other := p[0], p[1]
	if !oursReads {
		mine, other = other, mine
	}
	if err := unix.SetNonblock(mine, true); err != nil {
		unix.Close(p[0])
		unix.Close(p[1])
		return nil, nil, fmt.Errorf("make pipe for %s: %w", name, err)
	}
	return os.NewFile(uintptr(mine), name), os.NewFile(uintptr(other), name), nil
}

type pipes struct{}

func (pipes) Name() string { return "pipes" }

func (pipes) Open(opt Options, sink Sink) (*Conn, error) {
	c := newConn(opt, sink)
	if err := c.openPipes(opt); err != nil {
		c.Started()
		for _, s := range c.streams {
			s.file.Close()
		}
		if c.inputFile != nil {
			c.inputFile.Close()
		}
		return nil, err
	}
	c.start(opt)
	return c, nil
}

func (c *Conn) openPipes(opt Options) error {
	for id, name := range [numStreams]string{"stdout", "stderr"} {
		ours, theirs, err := pipe(name, true)
		if err != nil {
			return err
		}
		c.streams = append(c.streams, &stream{id: Stream(id), file: ours})
		if Stream(id) == Stdout {
			c.Stdout = theirs
		} else {
			c.Stderr = theirs
		}
	}
	if opt.Input == "" && !opt.KeepInput {
		null, err := os.Open(os.DevNull)
		if err != nil {
			return fmt.Errorf("open stdin: %w", err)
		}
		c.Stdin = null
		return nil
	}
	ours, theirs, err := pipe("stdin", false)
	if err != nil {
		return err
	}
	c.input, c.inputFile, c.Stdin = ours, ours, theirs
	return nil
}

type terminal struct{}

func (terminal) Name() string { return "terminal" }

func (terminal) Open(opt Options, sink Sink) (*Conn, error) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("open pseudo-terminal: %w", err)
	}
	c := newConn(opt, sink)
	if err := c.openTerminal(master, opt); err != nil {
		c.Started()
		master.Close()
		return nil, err
	}
	c.start(opt)
	return c, nil
}

func (c *Conn) openTerminal(master *os.File, opt Options) error {
	raw, err := master.SyscallConn()
	if err != nil {
		return fmt.Errorf("open pseudo-terminal: %w", err)
	}
	number := 0
	var opErr error
	err = raw.Control(func(fd uintptr) {
		opErr = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0)
		if opErr == nil {
			number, opErr = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
		}
		if opErr == nil {
			opErr = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ,
				&unix.Winsize{Row: uint16(cmp.Or(opt.Rows, terminalRows)), Col: uint16(cmp.Or(opt.Columns, terminalCols))})
		}
	})
	if err := errors.Join(err, opErr); err != nil {
		return fmt.Errorf("set up pseudo-terminal: %w", err)
	}
	path := "/dev/pts/" + strconv.Itoa(number)
	for _, end := range []**os.File{&c.Stdin, &c.Stdout, &c.Stderr} {
		fd, err := unix.Open(path, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("open %s: %w", path, err)
		}
		*end = os.NewFile(uintptr(fd), path)
	}
	c.streams = []*stream{{id: Stdout, file: master}}
	c.input, c.inputFile, c.eof = master, master, "\x04"
	return nil
}
