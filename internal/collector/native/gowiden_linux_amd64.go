package native

import (
	"bytes"
	"context"
	"fmt"
)

// A program of very many goroutines is not halted until all of them were looked at. Its new sites stay at their
// one-byte trap at first. From then on nobody comes into their windows. Who has parked by itself is clear of them for
// good, and is told apart while the program runs; the few that are left are looked at when the sites are made wide.

// goHalted is how many goroutines are looked at while the program stands: some milliseconds.
const goHalted = 20_000

// narrowed is a site that is to be made wide.
type narrowed struct {
	s           *site
	patch, orig []byte
}

func (p *process) manyGoroutines() bool {
	g := p.golang.Load()
	if g == nil || g.err != nil {
		return false
	}
	n, err := g.code.Count()
	return err == nil && n > goHalted
}

// exchangeUnhurried is exchange of a process whose goroutines may be very many. Not on the tracer's thread.
func (p *process) exchangeUnhurried(ctx context.Context, add, remove []*site) error {
	var narrow []narrowed
	err := p.t.tracer.Do(ctx, func() error {
		p.unhurried = true
		err := p.exchange(add, remove)
		p.unhurried = false
		narrow, p.narrow = p.narrow, nil
		return err
	})
	if err != nil || len(narrow) == 0 {
		return err
	}
	ctx = context.WithoutCancel(ctx) // what stands at its trap costs a stop each time
	suspects, err := p.golang.Load().code.Suspects()
	if err != nil {
		suspects = nil // all of them, while the program stands
	}
	return p.t.tracer.Do(ctx, func() error {
		if len(p.threads) == 0 { // it has ended meanwhile
			return nil
		}
		return p.widen(narrow, suspects)
	})
}

// widen writes the rest of patches whose traps stand, as apply does, but for those that something else was done to
// since. Tracer thread only.
func (p *process) widen(narrow []narrowed, suspects []uint64) error {
	p.changing()
	var add []*site
	for _, n := range narrow {
		now := make([]byte, len(n.orig))
		if !n.s.active || len(n.s.patch) != 1 || p.covered(n.s) || p.mem.Read(n.s.addr, now) != nil || now[0] != int3 ||
			!bytes.Equal(now[1:], n.orig[1:]) {
			continue
		}
		n.s.patch, n.s.orig = n.patch, n.orig
		add = append(add, n.s)
	}
	if len(add) == 0 {
		return nil
	}
	h := &halt{p: p, all: true}
	defer h.resume()
	h.running(nil)
	h.clear(add, windowsOf(add), func() { p.spareParkedOf(add, suspects) })
	if err := p.patch(add); err != nil {
		return fmt.Errorf("patch functions of Go's: %w", err)
	}
	return nil
}
