// Package plainfile owns the opening of files that a client, a project or a target names: nothing but regular files is
// opened, and never is waited for.
//
// It stands below everything that reads such a file. A named pipe would hold its reader until somebody writes, a device
// may never end or do something when it is opened, and what the kernel makes up, below /proc and /sys, may do both.
package plainfile

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Error says what a path is that is no regular file.
type Error struct{ Path, What string }

func (e *Error) Error() string { return fmt.Sprintf("%s is %s, no file", e.Path, e.What) }

// Open opens a regular file for reading. The caller closes it. The error of anything else is an *Error.
func Open(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &Error{path, what(info.Mode())}
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may have become a pipe meanwhile
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err == nil && !info.Mode().IsRegular() {
		err = &Error{path, what(info.Mode())}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// OpenStored is Open of a file that somebody has stored: one that the kernel makes up is none.
func OpenStored(path string) (*os.File, error) {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		if abs, err := filepath.Abs(real); err == nil &&
			(strings.HasPrefix(abs, "/proc/") || strings.HasPrefix(abs, "/sys/")) {
			return nil, &Error{path, "made up by the kernel"}
		}
	}
	return Open(path)
}

// ReadFile is os.ReadFile of a regular file.
func ReadFile(path string) ([]byte, error) {
	if info, err := os.Stat(path); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, &Error{path, what(info.Mode())}
	}
	return os.ReadFile(path)
}

func what(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "a directory"
	case m&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeDevice != 0:
		return "a device"
	}
	return "something else"
}

// DirFS is os.DirFS whose files are regular ones or directories: others cannot be opened.
func DirFS(dir string) fs.FS { return dirFS{os.DirFS(dir)} }

type dirFS struct{ all fs.FS }

// Open implements fs.FS.
func (d dirFS) Open(name string) (fs.File, error) {
	info, err := fs.Stat(d.all, name)
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		err = &fs.PathError{Op: "open", Path: name, Err: &Error{name, what(info.Mode())}}
	}
	if err != nil {
		return nil, err
	}
	return d.all.Open(name)
}

// Stat implements fs.StatFS: of anything.
func (d dirFS) Stat(name string) (fs.FileInfo, error) { return fs.Stat(d.all, name) }

// ReadDir implements fs.ReadDirFS.
func (d dirFS) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(d.all, name) }
