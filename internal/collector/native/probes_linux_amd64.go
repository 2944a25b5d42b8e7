package native

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"sort"
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
	out   bool
	pat   *symbol.Pattern
}

// matchResult is what the patterns select in one file.
type matchResult struct {
	wanted map[int]want // by index in Functions
	counts []int        // functions per pattern
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
		return t.Status(), fault.New(fault.ProcessExited, "Launch it again to trace it.", "process %d is no longer traced", t.pid)
	}
	for _, p := range t.processes() {
		if p.region != nil && p.shares == nil && !p.dead.Load() {
			t.awaitReady(ctx, p)
		}
	}
	t.probeMu.Lock()
	defer t.probeMu.Unlock()
	before, watched := t.probes, t.watches
	t.probes, t.watches = probes, watches
	t.sampling.Store(&wanted.Sampling)
	t.mu.Lock()
	t.status.Warnings = nil
	t.mu.Unlock()
	if err := t.applyToAll(ctx); err != nil {
		return t.Status(), err
	}
	if err := t.failedWatch(watched); err != nil { // all of a call is checked before any takes effect: put back what was
		t.probes, t.watches = before, watched
		if undo := t.applyToAll(ctx); undo != nil {
			t.log.Warn("put patterns back", "err", undo)
		}
		return t.Status(), err
	}
	return t.Status(), nil
}

// applyToAll makes the hooks of all processes what the patterns want. probeMu is held.
func (t *target) applyToAll(ctx context.Context) error {
	for _, p := range t.processes() {
		if p.region == nil || p.dead.Load() || p.detached.Load() {
			continue
		}
		select {
		case <-p.ready:
		default:
			continue // still starting: done when its libraries are there
		}
		if _, err := p.scan(); err != nil {
			continue // it ended meanwhile
		}
		if err := t.applyProbes(ctx, p); err != nil && !p.endedBefore(err) {
			return err
		}
	}
	t.updateStatus()
	return nil
}

// endedBefore reports whether err comes of the process's end, which is noticed a moment later: its memory reads as empty then.
func (p *process) endedBefore(err error) bool {
	return p.dead.Load() || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, unix.ESRCH) || hasEnded(p.pid)
}

// applyProbes makes a process's hooks what the patterns want. probeMu is held.
func (t *target) applyProbes(ctx context.Context, p *process) error {
	want := map[*hooked]bool{}
	watching := len(t.probes) > 0 && !t.stopping.Load()
	if watching {
		for _, m := range p.modules {
			if m.path == p.loader.path {
				continue // the linker itself runs where nothing may be called
			}
			if err := t.hookModule(ctx, p, m, want); err != nil {
				return err
			}
		}
		if err := p.prepareHooks(ctx, p.modules, len(want) > 0); err != nil {
			return err
		}
	}
	var add, remove []*site
	for _, h := range *p.hooks.Load() {
		if h == nil || h.fn == nil || h.active() == want[h] {
			continue
		}
		if want[h] {
			add = append(add, h.sites...)
		} else {
			remove = append(remove, h.sites...)
		}
	}
	var err error
	if len(add)+len(remove) > 0 {
		err = t.tracer.Do(ctx, func() error { return p.exchange(add, remove) })
	}
	if err == nil {
		err = p.retireOwn(ctx, watching, len(want) > 0)
	}
	t.updateStatus()
	return err
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
	key := fmt.Sprintf("%p", mod)
	for _, pr := range t.probes {
		key += fmt.Sprintf("\x00%d %v %s", pr.depth, pr.out, pr.text)
	}
	for _, w := range t.watches {
		key += fmt.Sprintf("\x00%q %q %q", w.Label, w.Expr, w.On)
	}
	t.fnMu.Lock()
	res, ok := t.matches[key]
	t.fnMu.Unlock()
	if ok {
		return res
	}
	res = matchResult{wanted: map[int]want{}, counts: make([]int, len(t.probes))}
	fns := mod.Functions()
	for k, pr := range t.probes {
		if pr.pat.Excludes() || !pr.pat.Exact() && !mod.HasDWARF {
			continue
		}
		for i := range fns {
			if !pr.pat.Exact() && !fns[i].HasDWARF || !pr.pat.Match(&fns[i], t.cmd.ProjectRoot) {
				continue
			}
			res.counts[k]++
			w := res.wanted[i]
			res.wanted[i] = want{depth: max(w.depth, pr.depth), out: w.out || pr.out}
		}
	}
	for k, pr := range t.probes {
		if !pr.pat.Excludes() {
			continue
		}
		for i := range res.wanted {
			if pr.pat.Match(&fns[i], t.cmd.ProjectRoot) {
				res.counts[k]++
				delete(res.wanted, i)
			}
		}
	}
	for i, w := range res.wanted {
		for k := range t.watches {
			if watch := &t.watches[k]; fns[i].HasDWARF && watch.reads(&fns[i], t.cmd.ProjectRoot) {
				w.watches += "\x00" + watch.Label + "\x00" + watch.Expr
				res.wanted[i] = w
			}
		}
	}
	t.fnMu.Lock()
	defer t.fnMu.Unlock()
	if len(t.matches) > 256 {
		clear(t.matches)
	}
	t.matches[key] = res
	return res
}

// warn adds a warning to the status.
func (t *target) warn(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, w := range t.status.Warnings {
		if w == text {
			return
		}
	}
	t.status.Warnings = append(t.status.Warnings, text)
}

// Status is the state of the patterns as last applied.
func (t *target) Status() collector.Status {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.status
	s.Probes = append([]collector.ProbeStatus{}, s.Probes...)
	s.Warnings = append([]string{}, s.Warnings...)
	s.Sampled = slices.Clone(s.Sampled)
	return s
}

// updateStatus counts hooks over all processes. probeMu is held.
func (t *target) updateStatus() {
	var s collector.Status
	s.Probes = make([]collector.ProbeStatus, len(t.probes))
	for k, pr := range t.probes {
		s.Probes[k].Pattern = pr.text
	}
	seen := map[functionKey]bool{}
	unhookable := map[string]string{}
	mods := map[*symbol.Module]bool{}
	for _, w := range t.watches {
		s.Watches = append(s.Watches, collector.WatchStatus{Label: w.Label})
	}
	for _, p := range t.processes() {
		hooks := map[functionKey]bool{}
		for _, h := range *p.hooks.Load() {
			if h != nil && h.fn != nil && h.active() {
				k := functionKey{mod: h.fn.mod, low: h.fn.sym.Low}
				hooks[k] = true
				if !seen[k] && len(h.sites[0].patch) == 1 {
					s.Fallback++
				}
				seen[k] = true
			}
		}
		for _, m := range p.modules {
			if m.mod != nil && !mods[m.mod] && m.path != p.loader.path {
				mods[m.mod] = true
				t.countModule(&s, m.mod, hooks, unhookable)
			}
		}
	}
	s.Hooked = len(seen)
	for name, why := range unhookable {
		s.Unhookable = append(s.Unhookable, collector.Unhookable{Function: name, Reason: why})
	}
	sort.Slice(s.Unhookable, func(i, j int) bool { return s.Unhookable[i].Function < s.Unhookable[j].Function })
	for k := range s.Probes {
		if s.Probes[k].Matched == 0 {
			s.Probes[k].Warning = t.explain(t.probes[k], mods)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s.Warnings, s.Sampled, s.ValueBytes = t.status.Warnings, t.status.Sampled, t.status.ValueBytes
	t.status = s
}

// countModule adds one module's matches.
func (t *target) countModule(s *collector.Status, mod *symbol.Module, hooks map[functionKey]bool, unhookable map[string]string) {
	res := t.match(mod)
	s.Matched += len(res.wanted)
	for k := range t.probes {
		s.Probes[k].Matched += res.counts[k]
	}
	fns := mod.Functions()
	t.fnMu.Lock()
	defer t.fnMu.Unlock()
	for i, w := range res.wanted {
		f := t.functions[functionKey{mod, fns[i].Low, w}]
		switch {
		case f == nil:
		case f.reason != "":
			unhookable[f.sym.Name] = f.reason
		default:
			t.countWatches(s, f)
		}
		if hooks[functionKey{mod: mod, low: fns[i].Low}] {
			for k, pr := range t.probes {
				if !pr.pat.Excludes() && pr.pat.Match(&fns[i], t.cmd.ProjectRoot) {
					s.Probes[k].Hooked++
				}
			}
		}
	}
	for k, pr := range t.probes {
		if pr.pat.Exact() && res.counts[k] > 0 {
			continue // it has what was meant; to look for more means to read much of the debug information
		}
		for _, u := range mod.Unhookable(pr.pat, t.cmd.ProjectRoot) {
			unhookable[u.Function] = u.Reason
		}
	}
}

// maxSuggest bounds the "did you mean" list.
const maxSuggest = 5

// explain says why a pattern selects nothing, and what comes near.
func (t *target) explain(pr probe, mods map[*symbol.Module]bool) string {
	var names []string
	debug := false
	for mod := range mods {
		if !mod.HasDWARF {
			continue
		}
		debug = true
		for _, f := range mod.Functions() {
			names = append(names, f.Name)
		}
	}
	main := filepath.Base(t.cmd.Path)
	if !debug {
		return fmt.Sprintf("%q matches nothing: %s has no debug information. Build it with -g, or give symbolsPath; exported functions can be traced by their exact name", pr.text, main)
	}
	if near := symbol.Suggest(names, pr.text); len(near) > 0 {
		return fmt.Sprintf("%q matches nothing; did you mean %s?", pr.text, strings.Join(near[:min(len(near), maxSuggest)], ", "))
	}
	if strings.HasPrefix(pr.text, "@usercode") {
		return fmt.Sprintf("%q matches nothing: no source file of %s is under %s", pr.text, main, t.cmd.ProjectRoot)
	}
	return fmt.Sprintf("%q matches nothing among %d functions of %s and its libraries; try @usercode, or @file:NAME", pr.text, len(names), main)
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
	c := collector.Capabilities{Runtime: "native", FunctionTracing: "full", Breakpoints: "none", Stepping: "none", OutputCapture: "full"}
	t.mu.Lock()
	procs := t.procs
	t.mu.Unlock()
	for _, p := range procs {
		if p.pid == t.pid {
			if p.region == nil {
				c.FunctionTracing = "none"
			}
		}
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
	c.RuntimeDetail = strings.Join(kind, ", ")
	if !mod.HasDWARF {
		c.FunctionTracing = "partial"
		c.Limitations = append(c.Limitations, "no debug information: only exact names of functions, without arguments; build with -g or give symbolsPath")
	}
	return c
}
