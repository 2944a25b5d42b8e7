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

// Keeper holds the files of programs that outlive the daemon. There are none on this system.
type Keeper struct{}

// NewKeeper returns a keeper that holds nothing.
func NewKeeper(command []string) *Keeper { return &Keeper{} }

func (k *Keeper) Start() error      { return nil }
func (k *Keeper) Add(c *Conn) error { return nil }
func (k *Keeper) Drop(c *Conn)      {}
func (k *Keeper) Release(c *Conn)   {}
func (k *Keeper) Close() error      { return nil }

// RunKeeper is the keeper's process.
func RunKeeper() error { return unsupported() }
