//go:build go1.24

package main

import "runtime"

func cleanup(h *holder, x any) { runtime.AddCleanup(h, func(x any) { runtime.KeepAlive(x) }, x) }
