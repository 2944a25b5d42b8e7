//go:build !linux || !amd64

package stuck

import (
	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/goroutine"
)

func goProgramOf(int, goroutine.Source, map[int]*collector.Loop) *goProgram { return nil }
