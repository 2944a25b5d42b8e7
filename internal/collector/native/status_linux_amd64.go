package native

import (
	"fmt"
	"slices"
	"sort"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/fault"
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
	bare := make([]int, len(t.probes)) // functions of a pattern that only the lines are known of
	mods := map[*symbol.Module]bool{}
	for _, w := range t.watches {
		s.Watches = append(s.Watches, collector.WatchStatus{Label: w.Label})
	}
	for _, p := range t.processes() {
		hooks := map[functionKey]bool{}
		for _, h := range *p.hooks.Load() {
			if h != nil && h.fn != nil && h.active() && !h.fn.want.aside() {
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
				t.countModule(&s, m.mod, hooks, unhookable, bare)
			}
		}
	}
	s.Hooked = len(seen)
	for mod := range mods { // only declared in one module, with its code in another
		fns := mod.Functions()
		for i := range t.match(mod).wanted {
			for _, name := range append([]string{fns[i].Name}, fns[i].Aliases...) {
				if unhookable[name] == symbol.OnlyDeclared {
					delete(unhookable, name)
				}
			}
		}
	}
	for name, why := range unhookable {
		s.Unhookable = append(s.Unhookable, collector.Unhookable{Function: name, Reason: why})
	}
	sort.Slice(s.Unhookable, func(i, j int) bool { return s.Unhookable[i].Function < s.Unhookable[j].Function })
	explained := 0
	for k := range s.Probes {
		if n := bare[k]; n > 0 && 2*n >= s.Probes[k].Matched {
			s.Probes[k].Warning = fmt.Sprintf(bareWarning, fault.NoDebugSymbols, n, s.Probes[k].Matched, s.Probes[k].Pattern)
			if m := t.mainModule(); m != nil && m.Go {
				s.Probes[k].Warning = fmt.Sprintf(bareGoWarning, fault.NoDebugSymbols, n, s.Probes[k].Matched, s.Probes[k].Pattern)
			}
		}
		if t.probes[k].pat.Exceptions() {
			s.Probes[k].Hooked, s.Probes[k].Warning = t.countExceptions()
			s.Probes[k].Matched = s.Probes[k].Hooked
		} else if t.probes[k].pat.Coverage() {
			var waiting int
			if s.Probes[k].Matched, waiting = t.countCover(); s.Probes[k].Matched == 0 {
				s.Probes[k].Warning = "@coverage: no function with debug information has its source under projectRoot"
			}
			s.Probes[k].Hooked = waiting
		} else if _, sockets := t.probes[k].pat.Sockets(); sockets {
			s.Probes[k].Hooked = t.countSocketHooks()
			if s.Probes[k].Matched = s.Probes[k].Hooked; s.Probes[k].Hooked == 0 {
				s.Probes[k].Warning = "@sockets: no system call of the program or of a C library of its can have a probe behind it"
			}
		} else if t.probes[k].pat.Locks() {
			s.Probes[k].Hooked = t.countLockHooks()
			if s.Probes[k].Matched = s.Probes[k].Hooked; s.Probes[k].Hooked == 0 {
				s.Probes[k].Warning = t.noLocks()
			}
		} else if t.probes[k].pat.Switches() {
			s.Probes[k].Hooked, s.Probes[k].Warning = t.switchStatus()
			s.Probes[k].Matched = s.Probes[k].Hooked
		} else if seen := goPattern(t.probes[k].pat); seen != 0 {
			s.Probes[k].Hooked, s.Probes[k].Warning = t.countGoEvents(seen)
			s.Probes[k].Matched = s.Probes[k].Hooked
		} else if s.Probes[k].Matched > 0 {
			continue
		} else if explained++; explained <= maxExplained {
			s.Probes[k].Warning = t.explain(t.probes[k], mods)
		} else {
			s.Probes[k].Warning = fmt.Sprintf("%q matches nothing", t.probes[k].text)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s.Warnings, s.Sampled, s.Cut = t.status.Warnings, t.status.Sampled, t.status.Cut
	t.status = s
}

// maxExplained bounds for how many patterns that match nothing near names are looked for: each time among all
// functions.
const maxExplained = 20

// countModule adds one module's matches.
func (t *target) countModule(s *collector.Status, mod *symbol.Module, hooks map[functionKey]bool,
	unhookable map[string]string, bare []int) {
	res := t.match(mod)
	for k := range t.probes {
		s.Probes[k].Matched += res.counts[k]
	}
	fns := mod.Functions()
	t.fnMu.Lock()
	defer t.fnMu.Unlock()
	for i, w := range res.wanted {
		if w.aside() {
			continue
		}
		s.Matched++
		f := t.functions[functionKey{mod, fns[i].Low, w}]
		switch {
		case f == nil:
		case f.reason != "":
			unhookable[f.sym.Name] = f.reason
		default:
			t.countWatches(s, f)
			if f.plan != nil && f.planErr == nil && f.sym.HasDWARF && !f.plan.HasDWARF {
				for _, k := range res.by[i] {
					bare[k]++
				}
			}
		}
		if hooks[functionKey{mod: mod, low: fns[i].Low}] {
			for _, k := range res.by[i] {
				s.Probes[k].Hooked++
			}
		}
	}
	var ask []*symbol.Pattern
	for k, pr := range t.probes {
		if pr.pat.Exact() && res.counts[k] > 0 || !pr.pat.Functions() {
			continue // it has what was meant; to look for more means to read much of the debug information
		}
		ask = append(ask, pr.pat)
	}
	if len(ask) > 0 {
		for _, u := range mod.Unhookable(symbol.NewSieve(ask, t.cmd.ProjectRoot)) {
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
	var s collector.Status
	if t.statusOld.Load() {
		t.probeMu.Lock()
		defer t.probeMu.Unlock()
		s = t.currentStatus()
	} else {
		s = t.countedStatus()
	}
	t.ever(&s)
	return s
}

// currentStatus is Status for those who hold probeMu.
func (t *target) currentStatus() collector.Status {
	if len(t.processes()) > 0 && t.statusOld.Load() { // of a target that has ended, what was last counted stands
		t.updateStatus()
		t.statusOld.Store(false) // last: what was counted stands for new then
	}
	return t.countedStatus()
}

// countedStatus is the state as it was last counted.
func (t *target) countedStatus() collector.Status {
	own := t.walks.Own()
	said, waited, waiting := own.Summary(), t.mover.waited(), t.mover.waiting()
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, text := range said { // once for each file, and again when it says something else
		if !t.saidNatvis[text] {
			if t.saidNatvis == nil {
				t.saidNatvis = map[string]bool{}
			}
			t.saidNatvis[text] = true
			t.status.Warnings = append(t.status.Warnings, text)
		}
	}
	s := t.status
	s.Natvis = own.Paths()
	s.Probes = append([]collector.ProbeStatus{}, s.Probes...)
	s.Warnings = append([]string{}, s.Warnings...)
	if p := t.late.Load(); p != nil && !p.dead.Load() && !p.isReady() {
		s.Warnings = append(s.Warnings, "the program is still loading its libraries: the patterns take effect when they "+
			"are there; debug_trace with sessionId alone says then what they select")
	}
	for _, text := range []string{waited, waiting} {
		if text != "" {
			s.Warnings = append(s.Warnings, text)
		}
	}
	s.Sampled = slices.Clone(s.Sampled)
	s.Watches = slices.Clone(s.Watches)
	return s
}

// ever takes back that something matches nothing where it did in a process that has ended since.
func (t *target) ever(s *collector.Status) {
	t.fnMu.Lock()
	defer t.fnMu.Unlock()
	for i := range s.Probes {
		if p := &s.Probes[i]; p.Matched == 0 && t.everMatched[p.Pattern] > 0 {
			p.Matched, p.Warning = t.everMatched[p.Pattern], ""
		}
	}
	for i := range s.Watches {
		if w := &s.Watches[i]; w.Functions == 0 && w.Err == nil {
			w.Functions = t.everRead[w.Label]
		}
	}
}

// What is said of functions of which only names and lines are known.
const (
	bareWarning = "%s: %d of %d functions of %q were built with line tables only (-g1, debug = \"line-tables-only\"): " +
		"their calls show neither arguments nor results. Build with -g, debug = true in the Cargo profile"
	bareGoWarning = "%s: %d of %d functions of %q have no debug information: stripped by -ldflags \"-s -w\", their " +
		"calls show neither arguments nor results. Build without these flags"
)
