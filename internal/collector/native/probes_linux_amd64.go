package native

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/symbol"
	"golang.org/x/sys/unix"
)

// probe is one wanted pattern.
type probe struct {
	text  string
	depth int
	given bool // the depth was asked for
	out   bool
	plan  bool // Probe.Planned
	pat   *symbol.Pattern
}

// matchResult is what the patterns select in one file.
type matchResult struct {
	wanted map[int]want    // by index in Functions
	counts []int           // functions per pattern
	by     map[int][]int32 // the patterns that select a function, by the same index
}

// SetTracing makes exactly this be in force.
func (t *target) SetTracing(ctx context.Context, wanted collector.Tracing) (collector.Status, error) {
	probes, err := parseProbes(wanted.Probes)
	if err != nil {
		return t.Status(), err
	}
	watches, err := parseWatches(wanted.Watches)
	if err != nil {
		return t.Status(), err
	}
	if t.released.Load() {
		return t.Status(), fault.New(fault.ProcessExited, "Launch it again to trace it.", "process %d is no longer traced",
			t.pid)
	}
	for _, p := range t.processes() {
		if p.shares == nil && !p.dead.Load() {
			t.awaitReady(ctx, p)
		}
	}
	t.probeMu.Lock()
	defer t.probeMu.Unlock()
	t.describe()
	before, watched := t.probes, t.watches
	t.probes, t.watches = probes, watches
	t.recordSwitches()
	t.sampling.Store(&wanted.Sampling)
	t.mu.Lock()
	t.status.Warnings = nil
	t.mu.Unlock()
	if err := t.applyToAll(ctx); err != nil {
		return t.currentStatus(), err
	}
	if err := t.failedWatch(watched); err != nil { // all of a call is checked before any takes effect: put back what was
		t.probes, t.watches = before, watched
		t.recordSwitches()
		if undo := t.applyToAll(context.WithoutCancel(ctx)); undo != nil {
			t.log.Warn("put patterns back", "err", undo)
		}
		return t.currentStatus(), err
	}
	return t.currentStatus(), nil
}

// applyPasses bounds how often applyToAll looks for processes that were born meanwhile: children of a process that has
// its hooks have them, too.
const applyPasses = 8

// applyToAll makes the hooks of all processes what the patterns want. probeMu is held.
//
// A child that is met after this began, and before its parent had its turn, has what the parent had then.
func (t *target) applyToAll(ctx context.Context) error {
	done := map[*process]bool{}
	for range applyPasses {
		before := len(done)
		for _, p := range t.processes() {
			if done[p] || p.shares != nil || p.dead.Load() || p.detached.Load() {
				continue
			}
			done[p] = true
			if err := t.applyTo(ctx, p); err != nil {
				return err
			}
		}
		if len(done) == before {
			break
		}
	}
	return nil
}

// applyTo is applyToAll for one process.
func (t *target) applyTo(ctx context.Context, p *process) error {
	select {
	case <-p.ready:
	default:
		return nil // still starting: done when its libraries are there
	}
	if _, err := p.scan(); err != nil {
		return nil // it ended meanwhile
	}
	if err := t.applyProbes(ctx, p); err != nil && !p.endedBefore(err) {
		if p.unfit.Load() == nil || p.pid == t.pid {
			return err
		}
		t.warn(fmt.Sprintf("process %d is not traced: %v", p.pid, err))
	}
	return nil
}

// drives reports whether a process's image only starts others. Nothing of it is traced, and its symbols are not read.
func (t *target) drives(p *process) bool {
	if len(t.cmd.Drivers) == 0 {
		return false
	}
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", p.pid))
	return err == nil && collector.Drives(t.cmd.Drivers, exe, p.pid)
}

// endedBefore reports whether err comes of the process's end, which is noticed a moment later: its memory reads as
// empty then.
func (p *process) endedBefore(err error) bool {
	return p.dead.Load() || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, unix.ESRCH) ||
		hasEnded(p.pid)
}

// applyProbes makes a process's hooks what the patterns want. probeMu is held.
func (t *target) applyProbes(ctx context.Context, p *process) error {
	p.changing()
	want := map[*hooked]bool{}
	watching := t.hooksWanted() && !t.stopping.Load() && !t.drives(p)
	t.statusOld.Store(true)
	t.tellsPanics.Store(t.exceptionsWanted())
	t.cover(p)
	defer t.coverGone(p)
	output := t.wantsOutput()
	panics := t.watchesPanics(p)
	writes := t.wantsWrites(p)
	if !watching && !output && !panics {
		if err := t.tracer.Do(ctx, p.dropBreak); err != nil || !p.injected.Load() && !writes {
			return err
		}
	}
	if writes && !p.injected.Load() {
		p.plain = true
		writes = p.give(ctx) == nil // else its output has the time at which it is read
	}
	if output {
		if err := p.equip(ctx); err != nil {
			return err
		}
	}
	if panics && p.equip(ctx) != nil {
		panics = false // what it wrote of a panic is all that is known then
	}
	if watching {
		if (!p.injected.Load() || p.plain) && !output && !t.wantsAny(p) {
			if done, err := p.watchLoads(ctx); done {
				if err == nil && writes {
					err = p.recordWrites(ctx)
				}
				return err
			}
		}
		if err := p.equip(ctx); err != nil {
			return err
		}
		for _, m := range p.modules {
			if m.path == p.loader.path {
				continue // the linker itself runs where nothing may be called
			}
			if err := t.hookModule(ctx, p, m, want); err != nil {
				return err
			}
		}
	}
	sockets := watching && t.socketsAsked()
	locks := watching && t.locksWanted()
	functions := len(want) > 0 || output || sockets || locks // whose stubs have frames
	if watching || output {
		if err := p.prepareHooks(ctx, p.modules, functions); err != nil {
			return err
		}
	}
	if output { // below whatever the patterns put at the same place
		if err := p.recordOutput(ctx); err != nil {
			return err
		}
	}
	if writes {
		if err := p.recordWrites(ctx); err != nil {
			return err
		}
	}
	if sockets {
		if err := p.recordSockets(ctx); err != nil {
			return err
		}
	}
	if locks {
		if err := p.recordLocks(ctx); err != nil {
			return err
		}
	}
	if watching && t.exceptionsSeen() || panics {
		if err := t.exceptionSites(ctx, p, want); err != nil {
			return err
		}
	} else {
		p.throws.Store(nil) // what is on its way now is not known when the pattern comes again
	}
	var add, remove []*site
	var moving []*hooked
	for _, h := range *p.hooks.Load() {
		if h == nil || h.row != nil || h.fn == nil && h.own.flags != hookException || h.active() == want[h] {
			continue
		}
		moving = append(moving, h)
		if want[h] {
			add = append(add, h.sites...)
		} else {
			remove = append(remove, h.sites...)
		}
	}
	err := p.liftPoints(ctx, moving)
	if err == nil && len(add)+len(remove) > 0 {
		err = p.exchangeUnhurried(ctx, add, remove)
	}
	if err == nil {
		err = t.applyPoints(ctx, p)
	}
	if err == nil {
		err = p.retireSockets(ctx, sockets)
	}
	if err == nil {
		err = p.retireLocks(ctx, locks)
	}
	if err == nil {
		err = p.retireOutput(ctx, output || writes)
	}
	if err == nil {
		err = p.retireOwn(ctx, watching || output, functions)
	}
	return err
}

// wantsAny reports whether the patterns select anything in a process. probeMu is held.
func (t *target) wantsAny(p *process) bool {
	if len(t.points) > 0 || t.socketsAsked() || t.locksWanted() {
		return true
	}
	for _, m := range p.modules {
		if m.path == p.loader.path {
			continue
		}
		mod, err := p.open(m)
		if err != nil {
			continue
		}
		if len(t.match(mod).wanted) > 0 || t.exceptionsWanted() && len(t.throwFunctionsOf(mod)) > 0 {
			return true
		}
	}
	return false
}

// hookModule prepares the hooks that the patterns want in one module.
func (t *target) hookModule(ctx context.Context, p *process, m *loaded, want map[*hooked]bool) error {
	mod, err := p.open(m)
	if err != nil {
		if m == p.modules[0] {
			t.warn(fmt.Sprintf("symbols of %s cannot be read: %v", m.path, err))
		}
		return nil
	}
	res := t.match(mod)
	if len(res.wanted) == 0 {
		return nil
	}
	hooks, err := p.makeHooks(ctx, nil, m, t.compileAll(mod, mod.Functions(), res.wanted, p.watchable(mod)))
	for _, h := range hooks {
		want[h] = true
	}
	return err
}

// match selects functions of a file. A pattern with a wildcard selects only where there is debug information:
// it means the program's code, not every helper of the C library. An exact name selects anywhere.
func (t *target) match(mod *symbol.Module) matchResult {
	key := t.matchKey(mod)
	t.fnMu.Lock()
	res, ok := t.matches[key]
	t.fnMu.Unlock()
	if ok {
		return res
	}
	described := t.walks.Generation()
	res = matchResult{wanted: map[int]want{}, counts: make([]int, len(t.probes)), by: map[int][]int32{}}
	fns, sieve, panics := mod.Functions(), t.sieve(), -1
	for i := range fns {
		if mod.Go && fns[i].Name == goPanic {
			panics = i
		}
		w, out, some := want{described: described, planned: true}, false, false
		var by []int32
		sieve.Match(&fns[i], func(k int) {
			pr := &t.probes[k]
			switch {
			case pr.pat.Excludes():
				out = true
			case pr.pat.Exact() || fns[i].HasDWARF:
				some, by = true, append(by, int32(k))
				w.depth, w.given, w.out = max(w.depth, pr.depth), w.given || pr.given, w.out || pr.out
				w.planned = w.planned && pr.plan
			}
		})
		if !some {
			continue
		}
		for _, k := range by {
			res.counts[k]++
		}
		if out {
			sieve.Match(&fns[i], func(k int) {
				if t.probes[k].pat.Excludes() {
					res.counts[k]++
				}
			})
			continue
		}
		res.wanted[i], res.by[i] = w, by
	}
	for i, w := range res.wanted {
		for k := range t.watches {
			if watch := &t.watches[k]; fns[i].HasDWARF && watch.reads(&fns[i], t.cmd.ProjectRoot) {
				w.watches += "\x00" + watch.Label + "\x00" + watch.Expr
				res.wanted[i] = w
			}
		}
	}
	t.wantPanics(mod, &res, panics)
	t.wantGoEvents(mod, &res)
	t.fnMu.Lock()
	defer t.fnMu.Unlock()
	if len(t.matches) > 256 {
		clear(t.matches)
	}
	t.matches[key] = res
	t.found(&res)
	return res
}

// found remembers what patterns and watches matched in any process, also one that has ended by the time that somebody
// asks. fnMu is held.
func (t *target) found(res *matchResult) {
	for k, n := range res.counts {
		t.everMatched[t.probes[k].text] = max(t.everMatched[t.probes[k].text], n)
	}
	for k := range t.watches {
		n := 0
		for _, w := range res.wanted {
			if strings.Contains(w.watches, "\x00"+t.watches[k].Label+"\x00"+t.watches[k].Expr) {
				n++
			}
		}
		t.everRead[t.watches[k].Label] = max(t.everRead[t.watches[k].Label], n)
	}
}

// sieve matches with all patterns at once, those of exceptions too, which select no function.
func (t *target) sieve() *symbol.Sieve {
	pats := make([]*symbol.Pattern, len(t.probes))
	for k := range t.probes {
		pats[k] = t.probes[k].pat
	}
	return symbol.NewSieve(pats, t.cmd.ProjectRoot)
}

// describe takes up the user's descriptions of types as they are now. probeMu is held.
func (t *target) describe() {
	if !t.walks.Own().Asked() {
		return
	}
	if own := t.rt.natvis.For(t.cmd.ProjectRoot); !t.walks.Own().Is(own) {
		t.allReady()
		t.walks.Describe(own)
	}
}

// matchKey names a match: the file, and what is looked for in it.
func (t *target) matchKey(mod *symbol.Module) string {
	var key strings.Builder
	fmt.Fprintf(&key, "%p %d", mod, t.walks.Generation())
	for _, pr := range t.probes {
		fmt.Fprintf(&key, "\x00%d %v %v %s", pr.depth, pr.out, pr.plan, pr.text)
	}
	for _, w := range t.watches {
		fmt.Fprintf(&key, "\x00%q %q %q", w.Label, w.Expr, w.On)
	}
	return key.String()
}

// matched is match where the answer is there already.
func (t *target) matched(mod *symbol.Module) (matchResult, bool) {
	key := t.matchKey(mod)
	t.fnMu.Lock()
	defer t.fnMu.Unlock()
	res, ok := t.matches[key]
	return res, ok
}

// verifyRestored compares every patched place with its original bytes.
func (t *target) verifyRestored(context.Context) error {
	t.probeMu.Lock()
	defer t.probeMu.Unlock()
	for _, p := range t.processes() {
		if p.dead.Load() {
			continue
		}
		for _, h := range *p.hooks.Load() {
			if h == nil || h.fn == nil {
				continue
			}
			for _, s := range h.sites {
				if s.entry != 0 { // an island may stay: see leaveIsland
					continue
				}
				b := make([]byte, len(s.orig))
				if s.orig[0] != 0 && p.mem.Read(s.addr, b) == nil && bytes.HasPrefix(b, s.patch) {
					return fmt.Errorf("restore %s in process %d: the patch at 0x%x still stands", h.fn.sym.Name, p.pid, s.addr)
				}
			}
		}
	}
	return nil
}

// Capabilities says what this target offers.
func (t *target) Capabilities() collector.Capabilities {
	c := collector.Capabilities{Runtime: "native", FunctionTracing: "full", Breakpoints: "full", Stepping: "full",
		OutputCapture: "full"}
	for _, p := range t.processes() {
		if p.pid == t.pid {
			if p.unfit.Load() != nil {
				c.FunctionTracing = "none"
			}
		}
	}
	if t.cmd.PID != 0 {
		c.OutputCapture = "partial"
		if c.FunctionTracing == "none" {
			c.OutputCapture = "none"
		}
		c.Limitations = append(c.Limitations, outputLimits)
	}
	mod, err := t.rt.open(t.cmd.Path, t.cmd.SymbolsPath)
	if err != nil {
		return c
	}
	kind := []string{"ELF64"}
	if mod.PIE {
		kind = append(kind, "PIE")
	}
	if mod.Static {
		kind = append(kind, "static")
	} else {
		kind = append(kind, "dynamic")
	}
	if mod.Compiler != "" {
		kind = append(kind, mod.Compiler)
	}
	if mod.Go {
		c.Runtime, c.Stepping = "go", "partial"
		c.Limitations = append(c.Limitations, goSteps)
	}
	c.RuntimeDetail = strings.Join(kind, ", ")
	if !mod.HasDWARF {
		c.FunctionTracing = "partial"
		c.Limitations = append(c.Limitations, "no debug information: only exact names of functions, without arguments; "+
			"build with -g or give symbolsPath")
	}
	return c
}
