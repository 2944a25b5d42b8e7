//go:build !linux

package daemon

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"syscall"

	"github.com/strobe-debug/strobe/internal/doctor"
	"github.com/strobe-debug/strobe/internal/fault"
)

const noFollow = 0

var errLockHeld = errors.New("lock is held by another process")

func unsupported() error {
	return fault.New(fault.Unsupported, "Run Strobe on Linux; query and export of a copied session file work here.",
		"the Strobe daemon does not run on this system yet")
}

func checkOwner(string, fs.FileInfo) error { return nil }
func takeLock(string) (*os.File, error)    { return nil, unsupported() }
func lockHeld(string) bool                 { return false }
func peerUID(*net.UnixConn) (int, error)   { return -1, unsupported() }
func detached() *syscall.SysProcAttr       { return &syscall.SysProcAttr{} }
func sealFiles()                           {}
func redirectOutput(*os.File) error        { return unsupported() }
func terminate(int) error                  { return unsupported() }

func selfExe() string {
	path, _ := os.Executable()
	return path
}

func systemChecks() []doctor.Check                   { return nil }
func fileRoom() (used, limit int)                    { return 0, 0 }
func diskSpace(string) (free, size int64, err error) { return 0, 0, unsupported() }

func nameWorker()                                  {}
func unixPair() (a, b *os.File, err error)         { return nil, nil, errors.ErrUnsupported }
func lockSession(string) (release func(), _ error) { return func() {}, nil }
func sessionLocked(string) bool                    { return false }

// Recording reports nothing: nothing is recorded on this system.
func Recording(string) bool { return false }

func memoryTotal() int64 { return 0 }
