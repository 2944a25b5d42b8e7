package session

import (
	"fmt"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/settings"
)

// Tracing is what the user asked to record. The zero value: nothing.
type Tracing struct {
	Probes   []collector.Probe // in the order in which they were added
	Watches  []collector.Watch
	Sampling Sampling
}

// Sampling is what the user said about functions that are called very often. The zero value: nothing, so that the
// settings hold, and with a full buffer that makes the program wait every call is recorded.
type Sampling struct {
	Auto bool    // by the settings
	Off  bool    // every call is recorded
	Rate float64 // as Auto, with this share instead of the setting
}

// TraceChange changes a Tracing.
type TraceChange struct {
	Add, Remove   []string // patterns
	Depth         int      // of those added, or of all if none is; 0: as it is, or the project's setting
	Out           *bool    // the same for Probe.Out
	Sampling      *Sampling
	AddWatches    []collector.Watch
	RemoveWatches []string // labels, or expressions
}

// MaxWatches is how many watches a session has at most.
const MaxWatches = 32

// changes reports whether anything would become different.
func (c *TraceChange) changes(have Tracing) bool {
	return len(c.Add)+len(c.Remove)+len(c.AddWatches)+len(c.RemoveWatches) > 0 || c.Sampling != nil ||
		(c.Depth != 0 || c.Out != nil) && len(have.Probes) > 0
}

func (t Tracing) clone() Tracing {
	t.Probes, t.Watches = slices.Clone(t.Probes), slices.Clone(t.Watches)
	return t
}

// Empty reports whether nothing was asked for.
func (t Tracing) Empty() bool {
	return len(t.Probes)+len(t.Watches) == 0 && t.Sampling == Sampling{}
}

// Labels returns the watches' labels.
func (t Tracing) Labels() []string {
	out := make([]string, len(t.Watches))
	for i := range t.Watches {
		out[i] = t.Watches[i].Label
	}
	return out
}

// MaxPatterns is how many patterns a session has: each is matched against every function of every library, while the
// session's other calls that change or ask for probes wait.
const MaxPatterns = 1000

func tooManyPatterns(n int) error {
	return fault.New(fault.ValidationError, fmt.Sprintf(
		"Allowed: up to %d. Say it with wildcards: ns::** for all below ns, @usercode, file:src/**.", MaxPatterns),
		"%d patterns are too many for one session", n)
}

// Change returns t changed, and a warning for each removal that found nothing. Adding a pattern that is there changes
// its depth if the change has one. Too many watches are a VALIDATION_ERROR.
func (t Tracing) Change(c TraceChange, defaultDepth int) (Tracing, []string, error) {
	if n := max(len(c.Add), len(c.Remove)); n > MaxPatterns {
		return t, nil, tooManyPatterns(n)
	}
	next := t.clone()
	var warnings []string
	add := c.Add
	if len(c.Add)+len(c.Remove) == 0 {
		add = Patterns(t.Probes)
	}
	var missing []string
	for _, p := range c.Remove {
		before := len(next.Probes)
		next.Probes = slices.DeleteFunc(next.Probes, func(have collector.Probe) bool { return have.Pattern == p })
		if len(next.Probes) == before && !slices.Contains(missing, p) {
			missing = append(missing, p)
		}
	}
	if len(missing) > 0 {
		active := "nothing is traced"
		if len(t.Probes) > 0 {
			active = "active were " + strings.Join(Patterns(t.Probes), ", ")
		}
		warnings = append(warnings, fmt.Sprintf("not active, so not removed: %s (%s)", strings.Join(missing, ", "), active))
	}
	for _, p := range add {
		i := slices.IndexFunc(next.Probes, func(have collector.Probe) bool { return have.Pattern == p })
		if i < 0 {
			i = len(next.Probes)
			next.Probes = append(next.Probes, collector.Probe{Pattern: p, Depth: defaultDepth})
		}
		if c.Depth != 0 {
			next.Probes[i].Depth, next.Probes[i].Given = c.Depth, true
		}
		if c.Out != nil {
			next.Probes[i].Out = *c.Out
		}
	}
	if len(next.Probes) > MaxPatterns {
		return t, nil, tooManyPatterns(len(next.Probes))
	}
	if c.Sampling != nil {
		next.Sampling = *c.Sampling
	}
	for _, label := range c.RemoveWatches {
		before := len(next.Watches)
		next.Watches = slices.DeleteFunc(next.Watches,
			func(w collector.Watch) bool { return w.Label == label || w.Expr == label })
		if len(next.Watches) == before {
			warnings = append(warnings, fmt.Sprintf("no watch %q, so not removed", label))
		}
	}
	for _, w := range c.AddWatches {
		if i := slices.IndexFunc(next.Watches, func(have collector.Watch) bool { return have.Label == w.Label }); i >= 0 {
			next.Watches[i] = w
			continue
		}
		next.Watches = append(next.Watches, w)
	}
	if len(next.Watches) > MaxWatches {
		return t, nil, fault.New(fault.ValidationError, "Remove some with watches.remove.",
			"%d watches; a session has at most %d", len(next.Watches), MaxWatches)
	}
	return next, warnings, nil
}

// forCollector adds the project's settings. Who asks for sampling has it as soon as a function is called often enough,
// else a function is recorded very many times before. A buffer that makes the program wait for as long as it takes is
// asked for by who wants every call: then nothing is sampled unless that was asked for, too.
func (t Tracing) forCollector(set settings.Settings, full collector.OnFull) collector.Tracing {
	out := collector.Tracing{Probes: t.Probes, Watches: t.Watches}
	s := t.Sampling
	asked := s.Auto || s.Rate > 0
	if s.Off || full == collector.OnFullBlock && !asked {
		return out
	}
	out.Sampling = collector.Sampling{Threshold: set.SamplingThreshold, Rate: set.SamplingRate}
	if s.Rate > 0 {
		out.Sampling.Rate = s.Rate
	}
	if !asked {
		out.Sampling.After, out.Sampling.Plenty = set.SamplingAfter, set.EventsMaxPerSession // a call is two events
	}
	return out
}
