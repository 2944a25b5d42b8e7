//go:build !linux

package daemon

import (
	"errors"
	"os"
)

// RawTerminal fails: there are no targets here.
func RawTerminal(*os.File) (restore func(), err error) { return nil, errors.ErrUnsupported }

// WindowSize fails: there are no targets here.
func WindowSize(*os.File) (columns, rows int, err error) { return 0, 0, errors.ErrUnsupported }

// InBackground is false: there are no targets here.
func InBackground(*os.File) bool { return false }
