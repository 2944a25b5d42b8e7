package mcp

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// A client that gave a token hears of a call that still runs: of what the operation tells, when that changes, else of
// the time. Seldom enough to cost nothing, often enough that no client thinks the call dead.
const (
	progressEvery = time.Second
	sameEvery     = 5 * time.Second // nothing but time has passed
)

// progress is what one call tells. It has one goroutine, which its end waits for.
type progress struct {
	mu  sync.Mutex
	now func() (key, text string) // nil: nothing but the time
}

type progressKey struct{}

// teller is what an operation says with how its work stands; nil where nobody asked.
func teller(ctx context.Context) func(now func() (key, text string)) {
	p, _ := ctx.Value(progressKey{}).(*progress)
	if p == nil {
		return nil
	}
	return func(now func() (key, text string)) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.now = now
	}
}

// begin sends how a call stands, the nth time, until end is called, which waits for the last of them, or send has an
// error: the client is gone. The call runs in the context that it returns.
func (p *progress) begin(ctx context.Context, send func(ctx context.Context, n int, text string) error) (
	call context.Context, end func(),
) {
	reports, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		started := time.Now()
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		last, sent := "", time.Time{}
		for n := 0; ; {
			select {
			case <-reports.Done():
				return
			case <-tick.C:
			}
			key, text := p.text(time.Since(started))
			if key == last && time.Since(sent) < sameEvery {
				continue
			}
			n++
			last, sent = key, time.Now()
			if send(reports, n, text) != nil {
				return
			}
		}
	}()
	return context.WithValue(ctx, progressKey{}, p), func() { cancel(); <-done }
}

func (p *progress) text(elapsed time.Duration) (key, text string) {
	p.mu.Lock()
	now := p.now
	p.mu.Unlock()
	if now == nil {
		return "", fmt.Sprintf("elapsed %.1fs", elapsed.Seconds())
	}
	return now()
}
