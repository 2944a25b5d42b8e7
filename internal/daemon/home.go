package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/strobe-debug/strobe/internal/fault"
)

// maxSocketPath is sun_path's size on Linux less the closing NUL.
const maxSocketPath = 107

// minSpace is what a daemon writes at its start: lock, log, the list of sessions. Without it it could not even
// say in its log why it ends.
const minSpace = 256 << 10

// Home returns the absolute path of Strobe's directory: $STROBE_HOME or ~/.strobe. It need not exist.
func Home() (string, error) {
	home := os.Getenv(envHome)
	if home == "" {
		user, err := os.UserHomeDir()
		if err != nil {
			return "", fault.New(fault.ValidationError, "Set STROBE_HOME to a directory of your own.",
				"neither STROBE_HOME nor HOME is set")
		}
		home = filepath.Join(user, ".strobe")
	}
	abs, err := filepath.Abs(home)
	if err != nil {
		return "", fmt.Errorf("resolve %s: %w", home, err)
	}
	return abs, nil
}

// SocketPath returns where the daemon of that home listens.
func SocketPath(home string) string { return filepath.Join(home, "strobe.sock") }

// LockPath returns the file whose lock the daemon of that home holds; it contains the daemon's pid.
func LockPath(home string) string { return filepath.Join(home, "daemon.lock") }

// LogPath returns the log of automatically started daemons.
func LogPath(home string) string { return filepath.Join(home, "daemon.log") }

// checkSocketPath refuses a home whose socket the kernel could not bind.
func checkSocketPath(home string) error {
	if p := SocketPath(home); len(p) > maxSocketPath {
		return fault.New(fault.ValidationError, "Set STROBE_HOME to a shorter path.",
			"the socket path %s has %d bytes, the kernel takes %d", p, len(p), maxSocketPath)
	}
	return nil
}

// prepareHome makes the directory, mode 0700, and checks that it is ours and can be written to.
func prepareHome(home string) error {
	if err := checkSocketPath(home); err != nil {
		return err
	}
	if err := os.MkdirAll(home, 0o700); err != nil {
		return homeFault(home, err)
	}
	info, err := os.Stat(home)
	if err != nil {
		return homeFault(home, err)
	}
	if !info.IsDir() {
		return homeFault(home, syscall.ENOTDIR)
	}
	if err := checkOwner(home, info); err != nil {
		return err
	}
	if info.Mode().Perm() != 0o700 {
		if err := os.Chmod(home, 0o700); err != nil {
			return homeFault(home, err)
		}
	}
	probe, err := os.CreateTemp(home, ".probe-")
	if err != nil {
		return homeFault(home, err)
	}
	_, err = probe.Write(make([]byte, minSpace))
	if err := errors.Join(err, probe.Close(), os.Remove(probe.Name())); err != nil {
		return homeFault(home, err)
	}
	return nil
}

func homeFault(home string, err error) error {
	hint := "Set STROBE_HOME to a directory that you can write to."
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fault.New(fault.StorageFull, "Free some space, or "+"set STROBE_HOME to another disk.",
			"no space left for Strobe's directory %s: %w", home, err)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return fault.New(fault.PermissionDenied, hint, "cannot write to Strobe's directory %s: %w", home, err)
	}
	return fault.New(fault.ValidationError, hint, "cannot use Strobe's directory %s: %w", home, err)
}
