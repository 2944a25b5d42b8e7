package tracediff

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/sorting"
	"github.com/strobe-debug/strobe/internal/value"
)

// Answer is what a comparison found, in at most MaxBytes.
type Answer struct {
	Same       bool        `json:"same"` // of what was recorded; see incomplete
	SessionIDs []string    `json:"sessionIds"`
	Compared   Compared    `json:"compared"`
	First      *Difference `json:"first,omitempty"` // in time: what comes later may follow from it
	// SameArguments is the earliest call that got the same arguments, whose callees did the same, and that ended
	// otherwise, where First is of another kind.
	SameArguments *Difference `json:"sameArguments,omitempty"`
	Next          []string    `json:"next,omitempty"`       // further differences: function, what, how often
	Counts        []string    `json:"counts,omitempty"`     // functions called more or less often
	Noise         []string    `json:"noise,omitempty"`      // left out: differs between runs that end alike, too
	Incomplete    []string    `json:"incomplete,omitempty"` // what was not recorded or not read
	Notes         []string    `json:"notes,omitempty"`
	Hint          string      `json:"hint,omitempty"`
}

// Compared are calls.
type Compared struct {
	A       int64 `json:"a"`
	B       int64 `json:"b"`
	Aligned int64 `json:"aligned"` // have a counterpart
}

// Difference is one.
type Difference struct {
	What    string   `json:"what"`
	Path    string   `json:"path"` // the calls around it, outermost first
	Thread  string   `json:"thread,omitempty"`
	Differs []string `json:"differs,omitempty"` // part: a | b
	After   string   `json:"after,omitempty"`   // the last call before it, the same on both sides
	A       *Call    `json:"a,omitempty"`
	B       *Call    `json:"b,omitempty"`
}

// Call is one side of it.
type Call struct {
	Function  string `json:"function,omitempty"` // where it is not the path's last
	Arguments string `json:"arguments,omitempty"`
	Result    string `json:"result,omitempty"`
	At        string `json:"at,omitempty"` // file:line
	EventID   int64  `json:"eventId"`      // of its enter
	Text      string `json:"text,omitempty"`
}

// MaxBytes is 800 tokens of JSON, with room for what wraps it.
const MaxBytes = 2400

// widths are the limits of an answer's texts that are tried, one after the other, until it fits.
var widths = []struct{ values, name, list int }{{240, 120, 5}, {140, 80, 4}, {80, 60, 3}, {48, 48, 2}, {24, 32, 1}}

// answer makes the answer.
func (d *diff) answer() *Answer {
	var out *Answer
	for _, w := range widths {
		out = d.within(w.values, w.name, w.list)
		if b, err := json.Marshal(out); err == nil && len(b) <= MaxBytes {
			break
		}
	}
	return out
}

func (d *diff) within(values, name, list int) *Answer {
	out := &Answer{SessionIDs: []string{d.a.SessionID, d.b.SessionID}, Compared: Compared{d.a.calls, d.b.calls, d.aligned}}
	out.Incomplete = firstOf(append(d.a.missing("a"), d.b.missing("b")...), max(list, 2))
	if c := d.a.cut + d.b.cut; c > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf(
			"%d calls have values that were cut when recorded (1 KB of text, 100 elements): what lies beyond is not compared",
			c))
	}
	for _, s := range firstOf(d.standIn, 2) {
		out.Notes = append(out.Notes, clip(s, values))
	}
	out.Noise = firstOf(d.opt.Noise.Names(), list)
	if len(d.checked) == 0 {
		d.calm(out, values)
		return out
	}
	first := &d.checked[0]
	out.First = d.difference(first, values, name)
	if !first.pure {
		for i := range d.checked {
			if c := &d.checked[i]; c.pure && c.what == WhatResult && d.names.text[c.name] != "" {
				out.SameArguments = d.difference(c, values/2, name)
				break
			}
		}
	}
	out.Next, out.Counts = d.next(first, name, list), d.callCounts(name, max(list-2, 1))
	out.Hint = d.hint(first)
	if d.onlyNoise {
		out.Notes = append(out.Notes, "all that differs also differs between two runs that end alike: what is shown need "+
			"not be the cause")
	}
	return out
}

// calm is the answer where no call differs.
func (d *diff) calm(out *Answer, width int) {
	out.Same = true
	out.Hint = "Every recorded call is the same on both sides: trace more functions (tracePatterns @usercode, or " +
		"watches on the state that they read)."
	if d.opt.OtherTests {
		return
	}
	a, b := outputs(d.a, d.b)
	if a == nil && b == nil {
		return
	}
	out.Same = false
	out.First = &Difference{What: WhatOutput, Path: "(output)"}
	for _, x := range []struct {
		l  *line
		to **Call
	}{{a, &out.First.A}, {b, &out.First.B}} {
		if x.l != nil {
			*x.to = &Call{Text: clip(x.l.text, width), EventID: x.l.id}
		}
	}
	out.Notes = append(out.Notes, "all recorded calls are the same; only what was written differs")
}

// missing is what of a side is not there to compare.
func (s *side) missing(name string) (out []string) {
	say := func(n int64, format string) {
		if n > 0 {
			out = append(out, fmt.Sprintf("%s: "+format, name, n))
		}
	}
	st := s.Store.Stats()
	var skipped int64
	for _, n := range s.Store.Missing() {
		skipped += n.Sampled
	}
	say(st.Evicted, "its first %d call events were evicted (setting events.maxPerSession; or narrow the patterns)")
	say(skipped, "%d calls of hot functions were not recorded (sampling)")
	say(max(s.Dropped, s.drops), "%d events were dropped (buffers full)")
	if st.Evicted == 0 {
		say(s.orphans, "%d calls have no begin")
	}
	say(s.lost, "%d calls have no result: its record was lost")
	if s.unread {
		say(MaxEvents, "only the first %d events were read")
	}
	if len(s.lines) >= maxLines {
		say(maxLines, "only the first %d lines of output were read")
	}
	return out
}

// difference shows one.
func (d *diff) difference(c *checked, values, name int) *Difference {
	out := &Difference{What: c.what, Path: d.path(c.found, name), Thread: c.thread}
	for _, x := range c.deltas[:min(len(c.deltas), 4)] {
		out.Differs = append(out.Differs, fmt.Sprintf("%s: %s | %s", clip(x.path, name), clip(x.a, values/2),
			clip(x.b, values/2)))
	}
	if n := len(c.deltas); n > 4 {
		out.Differs = append(out.Differs, fmt.Sprintf("and %d or more parts", n-4))
	}
	if c.what == WhatResult || c.what == WhatException {
		if noisy := d.noisy(c); len(noisy) > 0 {
			x := noisy[0]
			out.Differs = append(out.Differs, fmt.Sprintf("argument %s: %s | %s (so between runs that end alike, too)",
				clip(x.path, name), clip(x.a, values/4), clip(x.b, values/4)))
		}
	}
	out.A, out.B = c.ca.call(values, c), c.cb.call(values, c)
	if c.what == WhatOtherCall {
		out.A.Function, out.B.Function = short(d.names.text[c.a.name], name), short(d.names.text[c.b.name], name)
	}
	if c.before != nil && c.before.call && c.what != WhatResult {
		out.After = short(d.names.text[c.before.name], name)
	}
	return out
}

// path is where a difference is.
func (d *diff) path(f *found, name int) string {
	var parts []string
	for i, n := range f.path {
		if f.deep > 0 && i == pathHead {
			parts = append(parts, fmt.Sprintf("…%d calls…", f.deep))
		}
		text := short(d.names.text[n.name], name)
		if n.times > 1 {
			text += fmt.Sprintf(" ×%d", n.times)
		}
		parts = append(parts, text)
	}
	if f.what == WhatOtherCall {
		parts[len(parts)-1] = "(see a, b)"
	}
	return strings.Join(parts, " > ")
}

// call is one side.
func (s *shownCall) call(width int, c *checked) *Call {
	if s == nil {
		return nil
	}
	out := &Call{EventID: s.id, Text: clip(s.text, width)}
	if s.fn == nil {
		return out
	}
	if c.what == WhatArgument && len(c.deltas) > 0 {
		width /= 2 // differs has what matters
	}
	out.Arguments = clip(s.enter.Short(width), width)
	if s.fn.File != "" {
		out.At = fmt.Sprintf("%s:%d", path.Join(path.Base(path.Dir(s.fn.File)), path.Base(s.fn.File)), s.fn.Line)
	}
	switch {
	case !s.ended:
		out.Result = "(never left)"
	case s.flags&event.AtEnd != 0:
		out.Result = "(the program or thread ended in it)"
	case s.flags&event.Unwound != 0:
		out.Result = "(left by an exception)"
	case s.flags&event.Lost != 0:
		out.Result = "(not recorded)"
	case s.has:
		out.Result = clip(s.result.Short(width), width)
	}
	if len(s.outs) > 0 && c.what == WhatResult {
		out.Result = strings.TrimSpace(out.Result + " out: " + clip(value.NewObject(s.outs).Short(width/2), width/2))
	}
	return out
}

// next are the kinds of differences after the first.
func (d *diff) next(first *checked, name, list int) []string {
	var out []string
	seen := map[group]bool{}
	for i := range d.checked {
		c := &d.checked[i]
		g := group{c.name, c.what}
		if seen[g] {
			continue
		}
		seen[g] = true
		n := d.counts[g]
		if c.name == first.name && c.what == first.what {
			n--
		}
		if n > 0 {
			line := short(d.names.text[c.name], name)
			if line != c.what {
				line += ": " + c.what
			}
			if n > 1 {
				line += fmt.Sprintf(" ×%d", n)
			}
			out = append(out, line)
		}
	}
	return firstOf(out, list)
}

// callCounts are the functions that one side called more often, those with the greatest difference first.
func (d *diff) callCounts(name, list int) []string {
	type count struct {
		name int32
		a, b int
	}
	of := make([]count, len(d.names.text))
	for i := range of {
		of[i].name = int32(i)
	}
	for _, l := range d.a.lanes {
		for i := range l.nodes {
			of[l.nodes[i].name].a += one(l.nodes[i].call)
		}
	}
	for _, l := range d.b.lanes {
		for i := range l.nodes {
			of[l.nodes[i].name].b += one(l.nodes[i].call)
		}
	}
	of = slices.DeleteFunc(of, func(c count) bool { return c.a == c.b })
	sorting.By(of, func(x, y count) int { return cmp.Compare(abs(y.a-y.b), abs(x.a-x.b)) })
	var out []string
	for _, c := range of {
		out = append(out, fmt.Sprintf("%s: %d in a, %d in b", short(d.names.text[c.name], name), c.a, c.b))
	}
	return firstOf(out, list)
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

func abs(n int) int { return max(n, -n) }

// firstOf are the first of some lines, and how many more there are.
func firstOf(lines []string, n int) []string {
	if len(lines) <= n {
		return lines
	}
	return append(slices.Clone(lines[:n]), fmt.Sprintf("and %d more", len(lines)-n))
}

// hint names the next call.
func (d *diff) hint(c *checked) string {
	side, id := d.a, event.ID(0)
	if c.a != nil {
		id = c.a.enter
	} else {
		side, id = d.b, c.b.enter
	}
	if c.what == WhatResult && len(d.noisy(c)) > 0 {
		return fmt.Sprintf("It got arguments that vary in any run, and they matter here: follow where they come from. "+
			"debug_query sessionId %s, afterEventId %d, verbose shows what came just before.", side.SessionID, max(id-6, 0))
	}
	inside := fmt.Sprintf("debug_query sessionId %s, under %d, view tree shows what it did", side.SessionID, id)
	switch {
	case c.pure && (c.a.size > 1):
		return "Same arguments, and its traced callees did the same: the cause is in its own code or in state that it " +
			"reads. " + inside + "; watches show the state."
	case c.pure:
		return "Same arguments, another result, and no traced callee: the cause is in its own code or in state that it " +
			"reads. Trace what it calls (tracePatterns), or watch that state."
	case c.what == WhatArgument:
		return fmt.Sprintf("Its caller computed other arguments from the same: look there. debug_query sessionId %s, "+
			"afterEventId %d, verbose shows what came just before.", side.SessionID, max(id-6, 0))
	case c.what == WhatOnlyA || c.what == WhatOnlyB || c.what == WhatOtherCall:
		return "The caller took another way after calls that were the same: its own condition decided. " + inside +
			"; debug_breakpoint or a watch in the caller shows the condition."
	}
	return inside + "."
}
