package service

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/session"
)

// WatchesParam changes what is watched.
type WatchesParam struct {
	Add    []WatchParam `json:"add,omitempty"`
	Remove []string     `json:"remove,omitempty"`
}

// WatchParam is one watch: exactly one of variable, address with type, and expr.
type WatchParam struct {
	Variable string   `json:"variable,omitempty"`
	Address  string   `json:"address,omitempty" jsonschema:"0x…, with type"`
	Type     string   `json:"type,omitempty"`
	Expr     string   `json:"expr,omitempty"`
	Label    string   `json:"label,omitempty"`
	On       []string `json:"on,omitempty"`
}

// watch checks a parameter and puts it into one form.
func (p *WatchParam) watch(at int) (collector.Watch, error) {
	w := collector.Watch{Label: p.Label, On: p.On}
	given := 0
	for _, s := range []string{p.Variable, p.Address, p.Expr} {
		if s != "" {
			given++
		}
	}
	if given != 1 {
		return w, invalid("Give variable, address with type, or expr.", "watches.add[%d] has %d of them", at, given)
	}
	switch {
	case p.Address != "":
		if p.Type == "" {
			return w, invalid("Give the type of what is there, such as uint32_t.", "watches.add[%d] has an address and no type",
				at)
		}
		if !strings.HasPrefix(p.Address, "0x") {
			return w, invalid("Write it as 0x….", "watches.add[%d]: address %q is not hexadecimal", at, p.Address)
		}
		w.Expr = fmt.Sprintf("*(%s *)%s", p.Type, p.Address)
	case p.Variable != "":
		w.Expr = p.Variable
	default:
		w.Expr = p.Expr
	}
	if w.Label == "" {
		w.Label = w.Expr
		if p.Address != "" {
			w.Label = p.Address
		}
	}
	return w, nil
}

// traceChange puts what the caller wants into one form.
func traceChange(add, remove []string, depth int, sampling *SamplingParam, watches []WatchParam,
	unwatch []string) (session.TraceChange, error) {
	c := session.TraceChange{Add: add, Remove: remove, Depth: depth, RemoveWatches: unwatch}
	if sampling != nil {
		c.Sampling = &sampling.Sampling
	}
	for i := range watches {
		w, err := watches[i].watch(i)
		if err != nil {
			return c, err
		}
		c.AddWatches = append(c.AddWatches, w)
	}
	return c, nil
}

func (p *TraceParams) change() (session.TraceChange, error) {
	var add []WatchParam
	var remove []string
	if p.Watches != nil {
		add, remove = p.Watches.Add, p.Watches.Remove
	}
	c, err := traceChange(p.Add, p.Remove, p.SerializationDepth, p.Sampling, add, remove)
	c.Out = p.CaptureOut
	return c, err
}

// SamplingParam is "auto", "off" or {"rate": share}.
type SamplingParam struct{ session.Sampling }

const samplingHint = `Give "auto", "off", or {"rate": 0.01}.`

// JSONSchema implements Schemaer.
func (SamplingParam) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Types: []string{"string", "object"}}
}

// UnmarshalJSON implements json.Unmarshaler.
func (p *SamplingParam) UnmarshalJSON(b []byte) error {
	var rate struct{ Rate *float64 }
	switch string(b) {
	case `"auto"`:
		p.Sampling = session.Sampling{Auto: true}
		return nil
	case `"off"`:
		p.Sampling = session.Sampling{Off: true}
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&rate); err != nil || rate.Rate == nil {
		return invalid(samplingHint, "sampling %s is not understood", b)
	}
	if !(*rate.Rate > 0 && *rate.Rate <= 1) {
		return invalid(samplingHint, "sampling.rate %v is not above 0 and up to 1", *rate.Rate)
	}
	p.Sampling = session.Sampling{Rate: *rate.Rate}
	return nil
}

// appendSampled warns of functions of which few calls are recorded.
func appendSampled(w []string, sampled []collector.SampledFunction) []string {
	for i, s := range sampled {
		if i == 5 {
			return append(w, fmt.Sprintf("%d more functions are sampled", len(sampled)-i))
		}
		w = append(w, fmt.Sprintf("sampling at %g%%: %s is called %d times a second (view stats counts all calls; to "+
			"record each narrow the patterns, or sampling: off)",
			s.Rate*100, s.Function, s.CallsPerSecond))
	}
	return w
}

// appendCut says where less was recorded of values than asked for.
func appendCut(w []string, c collector.Cut) []string {
	if c.Calls == 0 {
		return w
	}
	names := strings.Join(c.Most, ", ")
	if more := c.Functions - len(c.Most); more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	if len(c.Most) == 0 { // JavaScript's agent counts over all threads, without names
		names = fmt.Sprintf("%d functions", c.Functions)
	}
	return append(w, fmt.Sprintf("values were cut in %d events of functions that are called very often (%s; "+
		"\"truncated\" marks them): trace one of them alone with serializationDepth to record more", c.Calls, names))
}

func appendWatchWarnings(w []string, watches []collector.WatchStatus) []string {
	for _, s := range watches {
		switch {
		case s.Err != nil && s.Functions > 0:
			w = append(w, fmt.Sprintf("watch %s is read by %d functions, not %v", s.Label, s.Functions, s.Err))
		case s.Err != nil:
			w = append(w, fmt.Sprintf("watch %s is read by no function: %v", s.Label, s.Err))
		case s.Functions == 0:
			w = append(w, fmt.Sprintf("watch %s is read by no function: none that it is on is hooked", s.Label))
		}
	}
	return w
}
