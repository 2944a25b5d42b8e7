package capture

import (
	"sync"

	"github.com/strobe-debug/strobe/internal/symbol"
	"github.com/strobe-debug/strobe/internal/value"
)

// maxContained bounds how many types are looked at for one answer of recursive.
const maxContained = 20000

// containment says which types of library containers and structs lead back to themselves: those of one number lie in
// each other's objects, at any depth and without a pointer between that would count as one. Safe for concurrent use.
type containment struct {
	mu   sync.Mutex
	of   map[*symbol.Type]int
	next int
}

// recursive reports whether an element of a container may hold the container's own type again. Such elements count as
// deeper than the container, as if a pointer led to them: nothing else would end them but the record's room.
func (tt *typeTable) recursive(container, elem *symbol.Type) bool {
	container, elem = container.Strip(), elem.Strip()
	c := &tt.walks.contained
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.of[container]; !ok {
		if c.of == nil {
			c.of = map[*symbol.Type]int{}
		}
		tt.number(c, container)
	}
	a, b := c.of[container], c.of[elem]
	return a == b // 0, not known, counts as well: then the depth ends it
}

// partsOf are the types of what lies in an object, its elements in a container's memory included.
func (tt *typeTable) partsOf(t *symbol.Type) []*symbol.Type {
	var parts []*symbol.Type
	add := func(t *symbol.Type) {
		if s := t.Strip(); s != nil && (s.Kind == symbol.KindStruct || s.Kind == symbol.KindUnion ||
			s.Kind == symbol.KindArray) {
			parts = append(parts, s)
		}
	}
	switch {
	case t.Kind == symbol.KindArray:
		add(t.Elem())
	case t.Kind != symbol.KindStruct && t.Kind != symbol.KindUnion || t.Declared:
	default:
		if f := tt.formatter(t); f != nil {
			f.form(&form{T: t, V: &value.Type{}, P: &prog{}, tt: tt, dry: true, part: func(t *symbol.Type, _ bool) { add(t) }})
			break
		}
		eachField(t, add)
	}
	return parts
}

func eachField(t *symbol.Type, add func(*symbol.Type)) {
	each := func(fs []symbol.Field) {
		for i := range fs {
			if !fs[i].Static {
				add(fs[i].Type)
			}
		}
	}
	each(t.Fields())
	if v := t.Variants(); v != nil {
		for i := range v.Variants {
			each(v.Variants[i].Fields)
		}
	}
}

// visit is a type whose parts are being looked at.
type visit struct {
	t          *symbol.Type
	parts      []*symbol.Type // not looked at yet
	order, low int
	finished   bool
}

// number gives numbers to t and what lies in it: Tarjan's strongly connected components, with stacks of its own.
func (tt *typeTable) number(c *containment, t *symbol.Type) {
	seen := map[*symbol.Type]*visit{}
	var path, open []*visit
	enter := func(t *symbol.Type) {
		v := &visit{t: t, parts: tt.partsOf(t), order: len(seen), low: len(seen)}
		seen[t] = v
		path, open = append(path, v), append(open, v)
	}
	enter(t)
	for len(path) > 0 {
		v := path[len(path)-1]
		if len(v.parts) > 0 {
			next := v.parts[0]
			v.parts = v.parts[1:]
			switch w := seen[next]; {
			case c.of[next] != 0:
			case w == nil && len(seen) >= maxContained:
				c.of[t] = 0
				return
			case w == nil:
				enter(next)
			case !w.finished:
				v.low = min(v.low, w.order)
			}
			continue
		}
		path = path[:len(path)-1]
		if len(path) > 0 {
			up := path[len(path)-1]
			up.low = min(up.low, v.low)
		}
		if v.low < v.order {
			continue
		}
		c.next++
		for done := false; !done; {
			w := open[len(open)-1]
			open = open[:len(open)-1]
			w.finished, done = true, w == v
			c.of[w.t] = c.next
		}
	}
}
