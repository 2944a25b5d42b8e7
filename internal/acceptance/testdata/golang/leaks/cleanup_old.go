//go:build !go1.24

package main

import "runtime"

func cleanup(h *holder, x any) { runtime.SetFinalizer(h, func(*holder) { runtime.KeepAlive(x) }) }
