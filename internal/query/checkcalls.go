package query

import (
	"errors"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/expr"
	"github.com/strobe-debug/strobe/internal/record"
	"github.com/strobe-debug/strobe/internal/store"
	"github.com/strobe-debug/strobe/internal/value"
)

// Bounds of view check.
const (
	maxCounter  = 20      // calls that break a claim and are kept
	maxKeys     = 1 << 20 // groups and values that a sequence remembers
	maxReasons  = 64      // different ones why calls could not tell
	maxEndWords = 8       // expressions of a claim
)

// checked is what a claim came to for the functions of one name.
type checked struct {
	name    string
	calls   int64 // selected
	held    int64
	broken  int64
	outside int64 // whose condition is false
	untold  map[string]int64
	unknown []string // names that are not recorded at all
	breaks  []breaker
	err     error // of an expression that has no meaning for recorded values
	fn      *record.Function
	sample  event.ID // a call of it
}

type breaker struct {
	id     event.ID
	before event.ID // the call that it does not go with
	text   string
}

// checker evaluates a claim over calls.
type checker struct {
	a      *asker
	claim  claim
	names  []string // of arguments, where the claim gives them
	byFn   map[event.FuncID]*claimOf
	byName map[string]*checked
	all    []*checked
	last   map[string]last
	call   callValues

	missing map[string][2]int64 // by name: calls that were made, and that were recorded
}

// last is what a sequence's newest call had.
type last struct {
	v  value.Value
	id event.ID
}

// claimOf is a claim for one function.
type claimOf struct {
	*checked
	holds, when *expr.Syntax
	per         []*expr.Syntax
	atEnd       bool // it looks at the result or what else is known then
	paths       map[string]func(*callValues) (value.Value, bool)
}

// callValues are one call's events.
type callValues struct {
	enter, exit *store.Row
	fn          *record.Function
	a           *asker
}

func newChecker(a *asker, c claim, names []string) *checker {
	return &checker{a: a, claim: c, names: names, byFn: map[event.FuncID]*claimOf{}, byName: map[string]*checked{},
		last: map[string]last{}}
}

func (c *checker) of(id event.FuncID) *claimOf {
	if f := c.byFn[id]; f != nil {
		return f
	}
	fn := c.a.fn(id)
	k := c.byName[fn.Name]
	if k == nil {
		k = &checked{name: fn.Name, untold: map[string]int64{}, fn: fn}
		c.byName[fn.Name] = k
		c.all = append(c.all, k)
	}
	f := &claimOf{checked: k, paths: map[string]func(*callValues) (value.Value, bool){}}
	c.byFn[id] = f
	var all [maxEndWords]*expr.Syntax
	for i, source := range c.claim.expressions() {
		s, err := expr.ParseRecorded(source, fn.Language)
		if err != nil || i >= len(all) {
			k.err = err
			return f
		}
		all[i] = s
		for _, p := range s.Paths() {
			f.paths[p] = c.resolve(f, p)
		}
	}
	f.holds = all[0]
	n := 1
	if c.claim.when != "" {
		f.when, n = all[1], 2
	}
	f.per = all[n : n+len(c.claim.per)]
	return f
}

// resolve finds where a path's value is in the function's events.
func (c *checker) resolve(f *claimOf, path string) func(*callValues) (value.Value, bool) {
	fn := f.fn
	root := path[:strings.IndexAny(path+".", ".[")]
	if name, ok := c.parameter(fn, root); ok {
		path, root = name+path[len(root):], name
	}
	for _, p := range []string{path, "this." + path, "self." + path} {
		if arg, ok := fn.Argument(p); ok {
			if p == path || c.recorded(fn, p) {
				return func(v *callValues) (value.Value, bool) {
					if v.enter == nil || v.enter.Kind == event.FunctionExit {
						return value.Value{}, false
					}
					return arg.Value(v.enter)
				}
			}
		}
	}
	switch root {
	case "$thread":
		return func(v *callValues) (value.Value, bool) {
			return value.NewInt(int64(v.a.thread(v.enter.Thread).TID)), true
		}
	case "$time":
		return func(v *callValues) (value.Value, bool) { return value.NewInt(v.enter.TS), true }
	case "$pid":
		return func(v *callValues) (value.Value, bool) {
			return value.NewInt(int64(v.a.thread(v.enter.Thread).PID)), true
		}
	case "result", "$return", "ret", "returned", "out", "thrown", "took":
		f.atEnd = true
	}
	return func(v *callValues) (value.Value, bool) { return v.find(root, path) }
}

// parameter returns which parameter the claim's own name stands for, by its place.
func (c *checker) parameter(fn *record.Function, name string) (string, bool) {
	i, all := slices.Index(c.names, name), fn.Parameters()
	if i < 0 || slices.ContainsFunc(all, func(p value.Parameter) bool { return p.Name == name }) {
		return "", false
	}
	if len(all) > 0 && (all[0].Name == "this" || all[0].Name == "self") && !slices.Contains(c.names, all[0].Name) {
		all = all[1:]
	}
	if i >= len(all) {
		return "", false
	}
	return all[i].Name, true
}

// recorded reports whether a member of this or self is there in any call: only then a bare name means it.
func (c *checker) recorded(fn *record.Function, path string) bool {
	if row := c.call.enter; row != nil {
		_, ok := fn.Arguments(row).Path(path)
		return ok
	}
	return false
}

// find looks a path up among what is no argument.
func (v *callValues) find(root, path string) (value.Value, bool) {
	if v.exit != nil {
		switch root {
		case "result", "$return", "ret", "returned":
			if r, ok := v.fn.Result(v.exit); ok {
				return r.Path(path[len(root):])
			}
			return value.Value{}, false
		case "thrown":
			if v.exit.Flags&(event.Lost|event.AtEnd) != 0 {
				return value.Value{}, false
			}
			if v.exit.Flags&event.Unwound != 0 {
				return value.NewText(thrownText(v.fn, v.exit)), true
			}
			return value.Value{}, true
		case "took":
			return value.NewInt(v.exit.Duration), true
		case "out":
			p := strings.TrimPrefix(path, outPrefix)
			if r, ok := v.fn.Out(v.exit).Path(p); ok {
				return r, true
			}
			return v.fn.Watches(v.exit).Path(p)
		}
	}
	return v.fn.Watches(v.enter).Path(path)
}

// lookup finds the values of one call, until the next one.
func (c *checker) lookup(f *claimOf, enter, exit *store.Row) expr.Lookup {
	c.call = callValues{enter: enter, exit: exit, fn: c.a.fn(enter.Func), a: c.a}
	return func(path string) (value.Value, bool) {
		if find, ok := f.paths[path]; ok {
			return find(&c.call)
		}
		return c.call.find(path[:strings.IndexAny(path+".", ".[")], path)
	}
}

// look evaluates the claim for one call.
func (c *checker) look(f *claimOf, enter, exit *store.Row) {
	if f.calls++; f.sample == 0 {
		f.sample = enter.ID
	}
	lookup := c.lookup(f, enter, exit)
	if f.err != nil {
		return
	}
	if f.when != nil {
		switch yes, err := truth(f.when, lookup); {
		case err != nil:
			f.cannot(err, exit)
			return
		case !yes:
			f.outside++
			return
		}
	}
	if c.claim.steps != "" {
		c.step(f, lookup)
		return
	}
	switch yes, err := truth(f.holds, lookup); {
	case err != nil:
		f.cannot(err, exit)
	case yes:
		f.held++
	default:
		f.broke(breaker{id: enter.ID}, c.said(f, lookup))
	}
}

func truth(s *expr.Syntax, lookup expr.Lookup) (bool, error) {
	v, err := s.Recorded(lookup)
	if err != nil {
		return false, err
	}
	f, isNumber := v.Float64()
	return v.Kind() == value.Bool && v.Bool() || isNumber && f != 0 || v.Kind() == value.Text ||
		v.Kind() == value.Obj || v.Kind() == value.Array, nil
}

// broke keeps one of the first calls that broke the claim.
func (k *checked) broke(b breaker, text string) {
	if k.broken++; len(k.breaks) < maxCounter {
		b.text = text
		k.breaks = append(k.breaks, b)
	}
}

// cannot counts a call that could not tell.
func (k *checked) cannot(err error, exit *store.Row) {
	var u *expr.Untold
	if !errors.As(err, &u) {
		k.err = err
		return
	}
	reason := u.Reason
	if u.Name != "" {
		switch root := u.Name[:strings.IndexAny(u.Name+".", ".[")]; {
		case exit == nil && (root == "result" || root == "thrown" || root == "out" || root == "took"):
			reason = "the call has no end"
		case exit != nil && exit.Flags&(event.Unwound|event.Lost) != 0 && root == "result":
			reason = "it was left without a result"
		case !slices.Contains(k.unknown, u.Name) && len(k.unknown) < maxReasons:
			k.unknown = append(k.unknown, u.Name)
		}
	}
	if _, ok := k.untold[reason]; !ok && len(k.untold) == maxReasons {
		reason = "other reasons"
	}
	k.untold[reason]++
}

// said shows the values that the claim looks at.
func (c *checker) said(f *claimOf, lookup expr.Lookup) string {
	if len(f.breaks) == maxCounter {
		return ""
	}
	var parts []string
	seen := map[string]bool{}
	for _, s := range append([]*expr.Syntax{f.holds, f.when}, f.per...) {
		if s == nil {
			continue
		}
		for _, p := range s.Paths() {
			if v, ok := lookup(p); ok && !seen[p] {
				parts = append(parts, p+"="+v.Short(breakWidth))
			}
			seen[p] = true
		}
	}
	return strings.Join(parts, ", ")
}

// step compares a call with the one before it.
func (c *checker) step(f *claimOf, lookup expr.Lookup) {
	v, err := f.holds.Recorded(lookup)
	if err != nil {
		f.cannot(err, c.call.exit)
		return
	}
	key := f.name
	for _, p := range f.per {
		g, err := p.Recorded(lookup)
		if err != nil {
			f.cannot(err, c.call.exit)
			return
		}
		key += "\x00" + g.Short(nameKey)
	}
	if c.claim.steps == "never repeats" {
		key += "\x00" + v.Short(nameKey)
	}
	before, had := c.last[key]
	if !had && len(c.last) >= maxKeys {
		f.untold["there are too many different values to remember"]++
		return
	}
	c.last[key] = last{v, c.call.enter.ID}
	if !had {
		f.held++
		return
	}
	ok, known := follows(c.claim.steps, before.v, v)
	switch {
	case !known:
		f.untold[v.Short(20)+" after "+before.v.Short(20)+" has no order"]++
	case ok:
		f.held++
	default:
		text := c.said(f, lookup)
		if c.claim.steps != "never repeats" {
			text += " after " + before.v.Short(breakWidth)
		}
		f.broke(breaker{id: c.call.enter.ID, before: before.id}, text)
	}
}

// nameKey is in how many bytes values are told apart.
const nameKey = 200

// follows reports whether a sequence may go from one value to the other.
func follows(steps string, before, v value.Value) (ok, known bool) {
	switch steps {
	case "never repeats":
		return false, true
	case "never changes":
		return before.Equal(v), true
	}
	order, known := v.Compare(before)
	switch steps {
	case "never decreases":
		return order >= 0, known
	case "always grows":
		return order > 0, known
	}
	return order <= 0, known
}
