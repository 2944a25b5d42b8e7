//go:build !linux || !amd64

package testrun

import "github.com/strobe-debug/strobe/internal/goroutine"

func goProgramOf(int, goroutine.Source) *goProgram { return nil }
