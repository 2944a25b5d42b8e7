package native

import (
	"context"
	"os"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/goroutine"
	"github.com/strobe-debug/strobe/internal/ptrace"
)

var _ collector.Looper = (*target)(nil)

// hookLooks is how often a thread is looked at that is met in a hook.
const hookLooks = 12

// Loops is Runtime.Spin of the target's own processes. A copy runs the program's own code, where a function is hooked
// as well: what the hook does decides nothing.
func (t *target) Loops(ctx context.Context, before any) (loops []collector.Loop, after any, err error) {
	for range hookLooks {
		again := false
		loops, after, again, err = t.loopsOnce(ctx, before)
		if !again || err != nil || ctx.Err() != nil {
			break
		}
	}
	return loops, after, err
}

// loopsOnce is one look. again: a thread was met in a hook.
func (t *target) loopsOnce(ctx context.Context, before any) (loops []collector.Loop, after any, again bool, err error) {
	var all []*spinning
	for _, p := range t.processes() {
		if p.dead.Load() || p.detached.Load() {
			continue
		}
		p.mu.Lock()
		points := len(p.points)
		p.mu.Unlock()
		if points > 0 { // which may force what a function returns
			return nil, nil, false, nil
		}
		list, err := tasks(p.pid)
		if err != nil {
			continue
		}
		view, err := p.view()
		if err != nil {
			if p.endedBefore(err) {
				continue
			}
			return nil, nil, false, err
		}
		var code *goroutine.Program
		if isGo(view) {
			var file *os.File
			if code, file, _ = goroutine.OfProcess(p.pid, p.mem, nil); file != nil {
				defer file.Close()
			}
		}
		for _, tid := range list {
			if !p.mayRun(tid) {
				continue
			}
			if all = append(all, &spinning{p: p, view: view, tid: tid, code: code}); len(all) > maxSpinning {
				return nil, nil, false, nil
			}
		}
	}
	if len(all) == 0 {
		return nil, nil, false, nil
	}
	err = t.tracer.Do(ctx, func() error {
		stopped := map[int]bool{}
		for _, s := range all {
			th := t.threads[s.tid]
			if th == nil || th.stopped || th.p != s.p {
				continue // it stands for a reason of its own, which others know
			}
			if resume, ok := s.p.halt(th); ok {
				defer resume()
				stopped[s.tid] = true
			}
		}
		for _, s := range all {
			if s.res.Why = "it could not be stopped"; !stopped[s.tid] {
				continue
			}
			s.hooks = s.p.patches()
			again = again || s.inHook()
		}
		if again {
			return nil
		}
		loops, after = examine(all, func(s *spinning) bool { return stopped[s.tid] }, len(stopped) == len(all), before)
		return nil
	})
	return loops, after, again, err
}

// inHook reports whether the stopped thread is in code of ours, or on its way through it.
func (s *spinning) inHook() bool {
	if info, err := ptrace.GetSiginfo(s.tid); err != nil || !info.OfEvent() {
		return true
	}
	regs, err := ptrace.GetRegs(s.tid)
	if err != nil || s.view.Stub == nil {
		return false
	}
	_, in := s.view.Stub(regs.Rip)
	return in
}
