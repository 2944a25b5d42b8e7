package native

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/expr"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/symbol"
)

// watch is one wanted watch.
type watch struct {
	collector.Watch
	on []*symbol.Pattern // empty: every traced function
}

// reads reports whether a function's calls read the watch.
func (w *watch) reads(f *symbol.Function, root string) bool {
	for _, pat := range w.on {
		if pat.Match(f, root) {
			return true
		}
	}
	return len(w.on) == 0
}

// parseWatches checks what can be checked without a function.
func parseWatches(wanted []collector.Watch) ([]watch, error) {
	out := make([]watch, 0, len(wanted))
	for _, w := range wanted {
		if strings.ContainsRune(w.Label+w.Expr, 0) {
			return nil, fault.New(fault.WatchFailed, "Leave it out.", "watch %q has a NUL byte", w.Label)
		}
		if _, err := expr.Parse(w.Expr, symbol.LangCPP); err != nil {
			return nil, watchFault(w.Label, err)
		}
		one := watch{Watch: w}
		for _, text := range w.On {
			pat, err := symbol.ParsePattern(text)
			if err != nil {
				return nil, err
			}
			one.on = append(one.on, pat)
		}
		out = append(out, one)
	}
	return out, nil
}

func watchFault(label string, err error) error {
	hint := "Write a variable, member, element or expression over names that are in scope in the traced functions."
	var e *expr.Error
	if errors.As(err, &e) && e.Hint != "" {
		hint = e.Hint
	}
	return fault.New(fault.WatchFailed, hint, "watch %q: %w", label, err)
}

func parseProbes(wanted []collector.Probe) ([]probe, error) {
	out := make([]probe, 0, len(wanted))
	for _, w := range wanted {
		pat, err := symbol.ParsePattern(w.Pattern)
		if err != nil {
			return nil, err
		}
		depth := w.Depth
		if depth == 0 {
			depth = 3
		}
		out = append(out, probe{text: w.Pattern, depth: depth, given: w.Given, out: w.Out, plan: w.Planned, pat: pat})
	}
	return out, nil
}

// failedWatch returns why a watch that was not there before is read by none of the functions that it could be read by.
func (t *target) failedWatch(before []watch) error {
	for _, s := range t.currentStatus().Watches {
		is := func(w watch) bool { return w.Label == s.Label }
		i := slices.IndexFunc(t.watches, is)
		k := slices.IndexFunc(before, is)
		if s.Functions == 0 && s.Err != nil && i >= 0 && (k < 0 || before[k].Expr != t.watches[i].Expr) {
			return watchFault(s.Label, s.Err)
		}
	}
	return nil
}

// countWatches adds what became of the watches in one function.
func (t *target) countWatches(s *collector.Status, f *function) {
	for k := range t.watches {
		w := &t.watches[k]
		if !w.reads(f.sym, t.cmd.ProjectRoot) || f.plan == nil {
			continue
		}
		if err := f.plan.WatchErrors[w.Label]; err != nil {
			s.Watches[k].Err = fmt.Errorf("in %s: %w", f.sym.Name, err)
			continue
		}
		s.Watches[k].Functions++
	}
}

// watchable lists where the variables of watches in a module's functions are looked for: there first.
func (p *process) watchable(mod *symbol.Module) []*symbol.Module {
	list := []*symbol.Module{mod}
	for _, m := range p.modules {
		if m.mod != nil && m.mod != mod && m.mod.HasDWARF {
			list = append(list, m.mod)
		}
	}
	return list
}
