//go:build !linux

package iochan

import (
	"io"
	"os"
	"time"

	"github.com/strobe-debug/strobe/internal/fault"
)

var processStart = time.Now()

// Monotonic returns nanoseconds on a clock that never goes back.
func Monotonic() int64 { return int64(time.Since(processStart)) }

func (c *Conn) readSome(s *stream, buf []byte) (int, error) { return 0, io.EOF }

func unread(f *os.File) int { return 0 }

func unsupported() error {
	return fault.New(fault.Unsupported, "Run strobe on Linux.", "launching programs is not available on this system")
}

type pipes struct{}

func (pipes) Name() string { return "pipes" }

func (pipes) Open(opt Options, sink Sink) (*Conn, error) { return nil, unsupported() }

type terminal struct{}

func (terminal) Name() string { return "terminal" }

func (terminal) Open(opt Options, sink Sink) (*Conn, error) { return nil, unsupported() }
