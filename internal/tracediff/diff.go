package tracediff

import (
	"context"
	"fmt"
	"slices"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/sorting"
	"github.com/strobe-debug/strobe/internal/store"
	"github.com/strobe-debug/strobe/internal/value"
)

// Options say how to compare.
type Options struct {
	Noise *Noise // is left out
	// OtherTests: the sides ran different tests, whose output differs in any case.
	OtherTests bool
}

// Diff compares what two sessions recorded. VALIDATION_ERROR: neither recorded a call.
func Diff(ctx context.Context, a, b Side, o Options) (*Answer, error) {
	d, err := load(ctx, a, b, o.Noise)
	if err != nil {
		return nil, err
	}
	defer func() { d.close() }()
	if d.a.calls+d.b.calls == 0 {
		return nil, fault.New(fault.ValidationError,
			"Record both with trace patterns, such as @usercode, and compare those sessions. What can be traced: C, C++ and "+
				"Rust built with debug information, Python, JavaScript and Java.",
			"neither %s nor %s recorded a call", a.SessionID, b.SessionID)
	}
	d.walk()
	if err := d.verify(maxShown); err != nil {
		return nil, err
	}
	onlyNoise := false
	if len(d.checked) == 0 && o.Noise != nil { // what noise there is tells more than nothing
		plain, err := load(ctx, a, b, nil)
		if err != nil {
			return nil, err
		}
		d.close()
		d = plain
		d.walk()
		if err := d.verify(maxShown); err != nil {
			return nil, err
		}
		onlyNoise = len(d.checked) > 0
	}
	d.opt, d.onlyNoise = o, onlyNoise
	return d.answer(), nil
}

// diff is one comparison under way.
type diff struct {
	ctx       context.Context
	a, b      *side
	names     *names
	noise     *Noise
	opt       Options
	onlyNoise bool
	evicted   bool    // the begin of a side's recording is gone
	found     []found // in order of time
	counts    map[group]int
	aligned   int64
	standIn   []string
	checked   []checked
}

// load reads both sides.
func load(ctx context.Context, a, b Side, n *Noise) (*diff, error) {
	d := &diff{ctx: ctx, names: &names{ids: map[string]int32{}}, noise: n, counts: map[group]int{}}
	var err error
	if d.a, err = read(ctx, a, d.names, n); err != nil {
		return nil, err
	}
	if d.b, err = read(ctx, b, d.names, n); err != nil {
		d.a.sn.Close()
		return nil, err
	}
	d.evicted = a.Store.Stats().Evicted+b.Store.Stats().Evicted > 0
	return d, nil
}

func (d *diff) close() {
	d.a.sn.Close()
	d.b.sn.Close()
}

// walk finds the differences of all threads.
func (d *diff) walk() {
	restA, restB := d.a.lanes, d.b.lanes
	keys, groupsA := groups(restA)
	_, groupsB := groups(restB)
	var all []*walker
	for _, k := range keys {
		a, b := groupsA[k], groupsB[k]
		if len(a) < 2 || len(a) != len(b) {
			continue
		}
		each := d.each(a, b, true)
		if one := d.pooled(a, b); one != nil && differences([]*walker{one}) < differences(each) {
			each = []*walker{one}
		}
		all = append(all, each...)
		restA, restB = without(restA, a), without(restB, b)
	}
	all = append(all, d.each(restA, restB, len(all) > 0)...)
	for _, w := range all {
		d.aligned += w.aligned
		d.standIn = append(d.standIn, w.standIn...)
		d.found = append(d.found, w.found...)
		for g, n := range w.counts {
			d.counts[g] += n
		}
	}
	sorting.By(d.found, func(x, y found) int { return int(max(min(x.at-y.at, 1), -1)) })
}

func without(lanes, some []*lane) []*lane {
	return slices.DeleteFunc(slices.Clone(lanes), func(l *lane) bool { return slices.Contains(some, l) })
}

func differences(all []*walker) (n int) {
	for _, w := range all {
		for _, c := range w.counts {
			n += c
		}
	}
	return n
}

func (d *diff) walker(a, b *lane) *walker {
	return &walker{a: a, b: b, names: d.names, counts: map[group]int{}, evicted: d.evicted}
}

// each compares threads with their counterparts, one by one.
func (d *diff) each(a, b []*lane, several bool) (out []*walker) {
	pairs := pairLanes(a, b)
	for _, p := range pairs {
		w := d.walker(p.a, p.b)
		out = append(out, w)
		switch {
		case p.a == nil:
			if p.b.nodes[0].calls > 0 {
				n := &p.b.nodes[1]
				w.thread, w.now = p.b.thread.Name, 1<<62 // of a there is no time: after what it has
				w.add(found{what: WhatThreadB, name: n.name, b: n, at: w.now})
			}
		case p.b == nil:
			if p.a.nodes[0].calls > 0 {
				n := &p.a.nodes[1]
				w.thread = p.a.thread.Name
				w.add(found{what: WhatThreadA, name: n.name, a: n, at: n.enter})
			}
		default:
			if several || len(pairs) > 1 {
				w.thread = p.a.thread.Name
			}
			if p.a.nodes[0].sub == p.b.nodes[0].sub {
				w.aligned += int64(p.a.nodes[0].calls)
			} else {
				w.children(0, 0)
			}
		}
	}
	return out
}

// checked is a difference with both sides' values.
type checked struct {
	*found
	deltas []delta
	ca, cb *shownCall
}

// shownCall is a call as it was recorded.
type shownCall struct {
	fn     *function
	enter  value.Object
	result value.Value
	has    bool // a result
	outs   value.Object
	in     value.Object // watches at its enter
	left   value.Object // watches at its exit
	flags  event.Flags
	ended  bool
	text   string // of what is no call
	id     event.ID
}

// maxShown is how many differences an answer looks at.
const maxShown = 200

// verify fetches the first differences' values, and drops those that are none by meaning.
func (d *diff) verify(most int) error {
	some := d.found[:min(most, len(d.found))]
	rowsA, err := fetch(d.ctx, d.a, some, func(f *found) *node { return f.a })
	if err != nil {
		return err
	}
	rowsB, err := fetch(d.ctx, d.b, some, func(f *found) *node { return f.b })
	if err != nil {
		return err
	}
	for i := range some {
		f := &some[i]
		if d.noise.callNoise(f, d.names) {
			continue
		}
		c := checked{found: f, ca: d.a.shown(f.a, rowsA, d.noise), cb: d.b.shown(f.b, rowsB, d.noise)}
		if c.deltas = d.deltas(&c); len(c.deltas) > 0 || f.what != WhatArgument && f.what != WhatResult {
			d.checked = append(d.checked, c)
		}
	}
	return nil
}

// fetch reads the events of nodes.
func fetch(ctx context.Context, s *side, some []found, of func(*found) *node) (map[event.ID]store.Row, error) {
	var ids []event.ID
	for i := range some {
		for _, n := range []*node{of(&some[i]), s.beforeOf(&some[i])} {
			if n != nil {
				ids = append(ids, n.enter)
				if n.exit != 0 && n.exit != n.enter {
					ids = append(ids, n.exit)
				}
			}
		}
	}
	slices.Sort(ids)
	rows, err := s.sn.Rows(ctx, slices.Compact(ids))
	if err != nil {
		return nil, fmt.Errorf("read calls of session %s: %w", s.SessionID, err)
	}
	out := make(map[event.ID]store.Row, len(rows))
	for _, r := range rows {
		out[r.ID] = r
	}
	return out, nil
}

// beforeOf is the call before a difference, which is one of side a.
func (s *side) beforeOf(f *found) *node {
	if f.a != nil && f.before != nil {
		return f.before
	}
	return nil
}

// shown renders a node's values.
func (s *side) shown(n *node, rows map[event.ID]store.Row, noise *Noise) *shownCall {
	if n == nil {
		return nil
	}
	enter, ok := rows[n.enter]
	c := &shownCall{id: n.enter, flags: n.flags, ended: n.exit != 0}
	if !ok {
		return c
	}
	if !n.call {
		c.text = leafText(&enter)
		return c
	}
	c.fn = s.fn(enter.Func, noise)
	if !c.fn.Known() {
		return c
	}
	call := s.reader.Call(&enter, nil)
	if exit, ok := rows[n.exit]; ok && exit.Flags&(event.Unwound|event.Lost) == 0 {
		call.Exit = &exit
	}
	c.enter, c.outs = call.Arguments(), call.Out()
	c.result, c.has = call.Result()
	c.in, c.left = call.Watches()
	return c
}

// shownWidth is how much of a value that differs is kept; an answer shows that or less.
const shownWidth = 160

// noisy are the arguments of a call that noise has left out.
func (d *diff) noisy(c *checked) []delta {
	if d.opt.Noise == nil || d.onlyNoise || c.ca == nil || c.cb == nil || c.ca.fn == nil || c.cb.fn == nil {
		return nil
	}
	d.a.canon.begin()
	d.b.canon.begin()
	x := &compare{a: d.a.canon, b: d.b.canon, window: shownWidth, view: &view{unordered: c.ca.fn.enter.unordered}}
	if construct, _ := special(c.ca.fn.Name); construct {
		x.view.masked = with(nil, "this")
	}
	x.object("", "", c.ca.enter, c.cb.enter)
	return x.out
}

// deltas are the parts that differ.
func (d *diff) deltas(c *checked) []delta {
	if c.ca == nil || c.cb == nil {
		return nil
	}
	d.a.canon.begin()
	d.b.canon.begin()
	x := &compare{a: d.a.canon, b: d.b.canon, window: shownWidth}
	if c.ca.fn == nil || c.cb.fn == nil {
		if c.ca.text != c.cb.text {
			x.text("text", "text", c.ca.text, c.cb.text)
		}
		return x.out
	}
	switch c.what {
	case WhatArgument:
		x.view = &c.ca.fn.enter
		x.object("", "", c.ca.enter, c.cb.enter)
		x.object("watch", "watch", c.ca.in, c.cb.in)
	case WhatResult:
		x.view = &c.ca.fn.exit
		if c.ca.has != c.cb.has {
			x.add("result", "result", present(c.ca), present(c.cb))
		} else if c.ca.has {
			x.value("result", "result", c.ca.fn.Name, c.ca.result, c.cb.result)
		}
		x.object("out", "out", c.ca.outs, c.cb.outs)
		x.object("watch", "watch", c.ca.left, c.cb.left)
	}
	return x.out
}

func present(c *shownCall) string {
	if c.has {
		return c.result.Short(shownWidth)
	}
	return "(none)"
}
