package native

import (
	"slices"
	"sort"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/symbol"
)

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
		if t.probes[k].pat.Exceptions() {
			s.Probes[k].Hooked, s.Probes[k].Warning = t.countExceptions()
			s.Probes[k].Matched = s.Probes[k].Hooked
		} else if s.Probes[k].Matched == 0 {
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
		if pr.pat.Exact() && res.counts[k] > 0 || pr.pat.Exceptions() {
			continue // it has what was meant; to look for more means to read much of the debug information
		}
		for _, u := range mod.Unhookable(pr.pat, t.cmd.ProjectRoot) {
			unhookable[u.Function] = u.Reason
		}
	}
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
	if t.statusOld.Load() {
		t.probeMu.Lock()
		defer t.probeMu.Unlock()
	}
	return t.currentStatus()
}

// currentStatus is Status. Where it may be old, probeMu is held.
func (t *target) currentStatus() collector.Status {
	if len(t.processes()) > 0 && t.statusOld.Swap(false) { // of a target that has ended, what was last counted stands
		t.updateStatus()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.status
	s.Probes = append([]collector.ProbeStatus{}, s.Probes...)
	s.Warnings = append([]string{}, s.Warnings...)
	s.Sampled = slices.Clone(s.Sampled)
	return s
}
