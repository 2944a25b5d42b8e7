//go:build !linux

package iochan

import "errors"

// Foreground returns 0: there are no targets here.
func (c *Conn) Foreground() int { return 0 }

// Resize fails: there are no targets here.
func (c *Conn) Resize(columns, rows int) error { return errors.ErrUnsupported }
