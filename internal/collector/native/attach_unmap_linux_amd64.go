package native

import (
	"context"
	"errors"
	"time"

	"github.com/strobe-debug/strobe/internal/ring"
	"golang.org/x/sys/unix"
)

// unmapWait bounds how long a target that is let go is waited for to leave the agent and the stubs for good.
const unmapWait = 300 * time.Millisecond

// unmapAll takes the agent and the stubs out of processes whose hooks are all gone. What a thread may still have to
// return through stays: it works without us, and takes address space only.
func (t *target) unmapAll(ctx context.Context) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	gone := map[*thread]bool{}
	for started := time.Now(); ; <-tick.C {
		left := 0
		for _, p := range t.processes() {
			if p.dead.Load() || p.detached.Load() || !p.injected.Load() || p.shares != nil || p.host != nil || !p.mayUnmap() {
				continue
			}
			done := false
			err := t.tracer.Do(ctx, func() (err error) {
				done, err = p.unmap(gone)
				return err
			})
			if errors.Is(err, errSealed) { // what is mapped stays
				continue
			}
			if err != nil && !p.endedBefore(err) {
				t.log.Info("unmap agent", "pid", p.pid, "err", err)
			}
			if !done {
				left++
			}
		}
		if left == 0 || time.Since(started) > unmapWait || ctx.Err() != nil {
			return
		}
	}
}

// mayUnmap reports whether nothing but threads could still use the agent or the stubs: no hook stands, no unwinder has
// their frames registered, no function of ours is known to the program.
func (p *process) mayUnmap() bool {
	if p.stacks.Load() || p.hosting.Load() {
		return false
	}
	for _, h := range *p.hooks.Load() {
		if h != nil && (h.active() || h.own != nil && p.inStub(h.own.addr)) {
			return false
		}
	}
	c := p.region.Control()
	for i := range min(c.UnwindCount, ring.MaxUnwind) {
		if c.Unwind[i].Done > 0 {
			return false
		}
	}
	return true
}

// unmap is unmapAll of one process, if no thread stands in what goes or has to return there. No hook stands any more,
// so a thread that has left once has left for good: it is in gone, and is not asked again. Tracer thread only.
func (p *process) unmap(gone map[*thread]bool) (bool, error) {
	if p.unmapped {
		return true, nil
	}
	th, resume, err := p.haltOne()
	if err != nil {
		return false, err
	}
	if resume != nil {
		defer resume()
	}
	h := &halt{p: p, all: true}
	h.running(gone) // a thread that does not stop is not found to be free
	defer h.resume()
	maps, err := readMaps(p.pid)
	if err != nil {
		return false, err
	}
	left := false
	for _, each := range p.allThreads() {
		if !gone[each] {
			gone[each] = p.threadFree(each, maps)
			left = left || !gone[each]
		}
	}
	if left {
		return false, nil
	}
	if err := p.sealedThread(th.tid); err != nil { // just now
		return false, err
	}
	r, err := begin(p.t.tracer, th.tid, p.gadget)
	if err != nil {
		return false, err
	}
	r.stands, p.unmapped = resume == nil, true
	for _, a := range p.arenas {
		if _, uerr := r.call(unix.SYS_MUNMAP, a.lo, a.hi-a.lo); err == nil {
			err = uerr
		}
	}
	if _, uerr := r.call(unix.SYS_MUNMAP, p.regionAddr,
		uint64(ring.Size(p.region.Rings(), p.region.RingBytes()))); err == nil {
		err = uerr
	}
	if derr := r.done(); err == nil {
		err = derr
	}
	return true, err
}
