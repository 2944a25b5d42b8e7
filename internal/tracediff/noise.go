package tracediff

import (
	"context"
	"slices"
	"strings"
)

// Noise is what differs between two runs that ended alike: random numbers, times, memory that nobody has written. It
// explains no other end, so a comparison leaves it out. nil: nothing is known.
type Noise struct {
	values map[group]map[string]bool // paths by function, WhatArgument or WhatResult
	calls  map[string]bool           // functions that are called more or less often
}

// paths are the parts of a function's values that are not compared.
func (n *Noise) paths(name, what string) map[string]bool {
	if n == nil {
		return nil
	}
	return n.values[group{what: name + "\x00" + what}]
}

// Names are what is left out, for an answer: "now: result".
func (n *Noise) Names() []string {
	if n == nil {
		return nil
	}
	var out []string
	for g, paths := range n.values {
		name, what, _ := strings.Cut(g.what, "\x00")
		for p := range paths {
			if what == WhatArgument {
				p = "argument " + p
			}
			out = append(out, short(name, 60)+": "+p)
		}
	}
	for name := range n.calls {
		out = append(out, short(name, 60)+": how often it is called")
	}
	slices.Sort(out)
	return out
}

// FindNoise compares two sessions of runs that ended alike: whatever differs is noise.
func FindNoise(ctx context.Context, a, b Side) (*Noise, error) {
	d, err := load(ctx, a, b, nil)
	if err != nil {
		return nil, err
	}
	defer d.close()
	d.walk()
	if err := d.verify(len(d.found)); err != nil {
		return nil, err
	}
	n := &Noise{values: map[group]map[string]bool{}, calls: map[string]bool{}}
	for i := range d.checked {
		f := &d.checked[i]
		name := d.names.text[f.name]
		switch f.what {
		case WhatArgument, WhatResult:
			g := group{what: name + "\x00" + f.what}
			if n.values[g] == nil {
				n.values[g] = map[string]bool{}
			}
			for _, x := range f.deltas {
				key := x.key
				if len(f.deltas) == maxDeltas { // there may be more: the whole value is
					key, _, _ = strings.Cut(key, ".")
					key, _, _ = strings.Cut(key, "[")
				}
				n.values[g][key] = true
			}
		case WhatOnlyA, WhatOnlyB, WhatOtherCall:
			n.calls[name] = true
			if f.what == WhatOtherCall {
				n.calls[d.names.text[f.b.name]] = true
			}
		}
	}
	return n, nil
}

// callNoise reports whether a difference is that a function is called more or less often, which noise does, too.
func (n *Noise) callNoise(f *found, names *names) bool {
	if n == nil {
		return false
	}
	switch f.what {
	case WhatOnlyA, WhatOnlyB:
		return n.calls[names.text[f.name]]
	case WhatOtherCall:
		return n.calls[names.text[f.name]] && n.calls[names.text[f.b.name]]
	}
	return false
}
