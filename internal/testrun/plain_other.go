//go:build !linux

package testrun

import (
	"context"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/stuck"
	"github.com/strobe-debug/strobe/internal/testadapter"
)

// plain cannot end process trees on this platform, and so begins none.
func (r *Run) plain(context.Context, *testadapter.Step) (testadapter.Exit, error) {
	return testadapter.Exit{}, fault.New(fault.Unsupported, "Run the tests in a shell.", "test runs need Linux")
}

// family follows no processes on this platform.
type family struct {
	elsewhere func(dir string) bool
}

func newFamily(int, []string, func(string)) *family { return &family{} }

func (*family) Busy() (ticks uint64, busy bool) { return 0, false }

func (*family) Now() []stuck.Process { return nil }

func (*family) Every() []stuck.Process { return nil }
