//go:build !linux

package iochan

// listeners returns the TCP sockets that processes listen on: here nobody tells.
func listeners([]int) []listener { return nil }
