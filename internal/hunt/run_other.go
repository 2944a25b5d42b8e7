//go:build !(linux && amd64)

package hunt

import (
	"context"
	"errors"
	"time"
)

func run(context.Context, *Program, uint64, work, time.Duration) (Ending, []visit, error) {
	return Ending{}, nil, errors.New("threads are held on Linux for x86-64 only")
}

type begun struct {
	Program
	threads int
	took    time.Duration
}

func programsOf(context.Context, *Program) ([]*begun, error) {
	return nil, errors.New("programs are followed on Linux for x86-64 only")
}

// sampler is there on Linux for x86-64 only.
type sampler struct {
	holds int
	meets []meet

	threads int
}

func newSampler(*pool, func(addr uint64) bool) *sampler { return &sampler{} }
