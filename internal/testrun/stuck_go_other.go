//go:build !linux

package testrun

import "github.com/strobe-debug/strobe/internal/goroutine"

func goProgramOf(int, goroutine.Source) *goProgram { return nil }
