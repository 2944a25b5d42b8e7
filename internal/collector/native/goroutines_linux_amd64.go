package native

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/goroutine"
	"github.com/strobe-debug/strobe/internal/ptrace"
	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/waits"
)

var _ collector.TaskLister = (*target)(nil)

// dumpTries is how often goroutines are read that change meanwhile, before they are read while they stand.
const dumpTries = 3

// Tasks implements collector.TaskLister: the goroutines of Go's programs.
func (t *target) Tasks(ctx context.Context) (*collector.TaskReport, error) {
	r := &collector.TaskReport{Of: map[int]bool{}, Carriers: map[int]bool{}}
	var all []*waits.Thread
	procs := map[int]*waits.Process{}
	for _, p := range t.processes() {
		if p.dead.Load() || p.detached.Load() || p.shares != nil || !p.isGo() {
			continue
		}
		g := p.lookGo()
		if g.err != nil {
			r.Notes = append(r.Notes, fmt.Sprintf("goroutines of process %d are not shown: %v", p.pid, g.err))
			continue
		}
		d, err := p.dumpGo(ctx, g.code)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			r.Notes = append(r.Notes, fmt.Sprintf("goroutines of process %d are not shown: %v", p.pid, err))
			continue
		}
		r.Of[p.pid] = true
		if leak, err := p.leaksOf(ctx, g.code, d); err != nil {
			r.Notes = append(r.Notes, fmt.Sprintf("leaked goroutines of process %d are not looked for: %v", p.pid, err))
		} else {
			r.Deadlocks = append(r.Deadlocks, leak...)
		}
		procs[p.pid] = &waits.Process{Root: t.cmd.ProjectRoot}
		r.NotShown += d.NotShown
		now := time.Duration(ring.Monotonic())
		for _, one := range d.Goroutines {
			if one.Thread != 0 {
				r.Carriers[one.Thread] = true
			}
			if !one.System {
				all = append(all, goThread(p.pid, one, now))
			}
		}
	}
	if len(all) == 0 {
		return r, nil
	}
	sum := waits.Summarize(all, procs, nil)
	r.Rows, r.Count, r.NotShown = sum.Threads, sum.ThreadCount+r.NotShown, sum.NotShown+r.NotShown
	return r, nil
}

// isGo reports whether the process's program is Go's.
func (p *process) isGo() bool {
	p.t.probeMu.Lock()
	defer p.t.probeMu.Unlock()
	if len(p.modules) == 0 {
		return false
	}
	mod, err := p.open(p.modules[0])
	return err == nil && mod.Go
}

// lookGo is what is known of the process's goroutines.
func (p *process) lookGo() *goProcess {
	p.t.probeMu.Lock()
	defer p.t.probeMu.Unlock()
	p.openGo()
	return p.golang.Load()
}

// dumpGo reads all goroutines: while they run, or, where they change too fast, while they stand.
func (p *process) dumpGo(ctx context.Context, code *goroutine.Program) (d *goroutine.Dump, err error) {
	for range dumpTries {
		if d, err = code.Read(); err == nil {
			return d, nil
		}
	}
	stands := p.whileHalted(ctx, func() { d, err = code.Read() })
	if stands != nil {
		return nil, stands
	}
	return d, err
}

// whileHalted calls f while all of the process's threads stand.
func (p *process) whileHalted(ctx context.Context, f func()) error {
	return p.t.tracer.Do(ctx, func() error {
		for _, th := range p.threads {
			if resume, ok := p.halt(th); ok {
				defer resume()
			}
		}
		f()
		return nil
	})
}

// goThread is a goroutine as threads are shown: its number is the goroutine's.
func goThread(pid int, g *goroutine.Goroutine, now time.Duration) *waits.Thread {
	t := &waits.Thread{PID: pid, TID: int(g.ID), Local: int(g.ID), Name: fmt.Sprintf("goroutine %d", g.ID),
		State: waits.Running, Syscall: -1}
	if g.Moved || len(g.Stack) == 0 {
		t.Lack = g.Lack
	}
	for _, f := range g.Stack {
		t.Frames = append(t.Frames, waits.Frame{Function: strings.ReplaceAll(f.Function, "[...]", ""), File: f.File,
			Line: f.Line})
	}
	if c := g.Creator; c != nil {
		t.Frames = append(t.Frames, waits.Frame{Function: "created by " + c.Function, File: c.File, Line: c.Line})
	}
	switch g.Status {
	case goroutine.Waiting:
		t.State, t.Wait = waits.Waiting, &waits.Wait{Kind: g.Wait}
	case goroutine.Syscall:
		t.State, t.Wait = waits.Waiting, &waits.Wait{Kind: "syscall", Detail: fmt.Sprintf("on thread %d", g.Thread)}
	default:
		return t
	}
	w := t.Wait
	if len(g.Channels) == 1 {
		c := g.Channels[0]
		w.Object = fmt.Sprintf("%#x", uint64(c.Addr))
		if c.Cap > 0 {
			w.Detail = fmt.Sprintf("%d of %d in its buffer", c.Len, c.Cap)
		}
	} else if len(g.Channels) > 1 {
		w.Detail = fmt.Sprintf("%d channels", len(g.Channels))
	}
	if left := g.Until - now; left > 0 {
		w.Detail, w.Timed = left.Round(time.Millisecond).String()+" left", true
	}
	return t
}

// leakPause lets what is under way between two looks get there.
const leakPause = 20 * time.Millisecond

// maxLeaks bounds the places of leaks that are told, and maxLeaked the goroutines that are named of each.
const (
	maxLeaks  = 20
	maxLeaked = 8
)

// leaksOf finds goroutines that nobody can wake any more: first while the program runs, and what is found then twice
// more while it stands.
func (p *process) leaksOf(ctx context.Context, code *goroutine.Program,
	d *goroutine.Dump) ([]collector.Deadlock, error) {
	found, err := code.Leaked(d, inHand(d))
	if err != nil || len(found) == 0 {
		return nil, err
	}
	var sure []*goroutine.Goroutine
	for look := range 2 {
		stands := p.whileHalted(ctx, func() {
			var d *goroutine.Dump
			if d, err = code.Read(); err == nil {
				sure, err = code.Leaked(d, inHand(d))
			}
		})
		if err := cmp.Or(stands, err); err != nil {
			return nil, err
		}
		if look == 0 && len(sure) > 0 {
			time.Sleep(leakPause)
		}
		sure = slices.DeleteFunc(sure, func(g *goroutine.Goroutine) bool {
			return !slices.ContainsFunc(found, func(o *goroutine.Goroutine) bool { return o.ID == g.ID })
		})
		found = sure
	}
	places := map[string][]*goroutine.Goroutine{}
	var order []string
	for _, g := range sure {
		key := g.Wait + " " + leakPlace(g, p.t.cmd.ProjectRoot)
		if places[key] == nil {
			order = append(order, key)
		}
		places[key] = append(places[key], g)
	}
	var out []collector.Deadlock
	for _, key := range order[:min(len(order), maxLeaks)] {
		out = append(out, leakOf(places[key], p.t.cmd.ProjectRoot))
	}
	if more := len(order) - len(out); more > 0 {
		out = append(out, collector.Deadlock{Text: fmt.Sprintf("goroutines are leaked at %d more places", more)})
	}
	return out, nil
}

// leakPlace is where a goroutine waits: the first function of the program's own.
func leakPlace(g *goroutine.Goroutine, root string) string {
	t := goThread(0, g, 0)
	lines := t.Backtrace(root)
	for i := range t.Frames {
		if f := &t.Frames[i]; root != "" && strings.HasPrefix(f.File, root) {
			one := waits.Thread{Frames: t.Frames[i : i+1]}
			return one.Backtrace(root)[0]
		}
	}
	if len(lines) == 0 {
		return "unknown"
	}
	return lines[0]
}

// leakOf tells of goroutines that are leaked at one place.
func leakOf(list []*goroutine.Goroutine, root string) collector.Deadlock {
	first := list[0]
	at := leakPlace(first, root)
	who := fmt.Sprintf("goroutine %d is leaked", first.ID)
	if len(list) > 1 {
		who = fmt.Sprintf("%d goroutines are leaked (%d, …)", len(list), first.ID)
	}
	text := fmt.Sprintf("%s: %s in %s, and nothing that can still run has what could wake it", who, first.Wait, at)
	if c := first.Creator; c != nil {
		text += fmt.Sprintf("; created by %s (%s:%d)", c.Function, filepath.Base(c.File), c.Line)
	}
	dead := collector.Deadlock{Text: text}
	for _, g := range list[:min(len(list), maxLeaked)] {
		dead.Threads = append(dead.Threads, waits.Member{ThreadID: int(g.ID), Name: fmt.Sprintf("goroutine %d", g.ID),
			WaitsFor: g.Wait, At: at})
	}
	return dead
}

// inHand is what the threads that run goroutines have in their registers, where they stand.
func inHand(d *goroutine.Dump) (words []uint64) {
	for _, g := range d.Goroutines {
		regs, err := ptrace.GetRegs(g.Thread)
		if g.Thread == 0 || err != nil || !g.Uses(regs.Rsp) {
			continue
		}
		words = append(words, regs.Rax, regs.Rbx, regs.Rcx, regs.Rdx, regs.Rsi, regs.Rdi, regs.Rbp, regs.R8, regs.R9,
			regs.R10, regs.R11, regs.R12, regs.R13, regs.R14, regs.R15)
	}
	return words
}
