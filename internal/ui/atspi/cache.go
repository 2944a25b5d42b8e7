package atspi

import (
	"github.com/strobe-debug/strobe/internal/sorting"
	"github.com/strobe-debug/strobe/internal/ui"
	"github.com/strobe-debug/strobe/internal/ui/dbus"
)

// item is what a program's cache says of one element.
type item struct {
	ref      ref
	parent   ref
	index    int
	children int
	can      ui.Can
	name     string
	role     ui.Role
	bits     uint64
}

// cached is children of a program with a cache: it gives in one answer what takes five calls for each element. GTK 4
// alone is asked so, whose calls take the longest. Its cache has no element that nobody asked for before: where there
// are other children in it than there should be, they are asked for as usual.
func (w *walk) cached(n *ui.Node, r ref) {
	w.call(ref{r.bus, "/org/a11y/atspi/cache"}, "org.a11y.atspi.Cache", "GetItems", "", nil, func(m *dbus.Message) {
		if m == nil || m.Signature != "a((so)(so)(so)iiassusau)" {
			w.children(n, r, 0, true)
			return
		}
		below := map[ref][]item{}
		m.Body.Array(8, func() {
			it := readItem(&m.Body)
			below[it.parent] = append(below[it.parent], it)
		})
		if m.Body.Err() != nil {
			w.children(n, r, 0, true)
			return
		}
		for _, all := range below {
			sorting.By(all, func(a, b item) int { return a.index - b.index })
		}
		// The windows are always asked for: there are few, and the cache is behind with them.
		w.call(r, accessible, "GetChildren", "", nil, func(m *dbus.Message) {
			if m == nil {
				return
			}
			var windows []ref
			m.Body.Array(8, func() { windows = append(windows, readRef(&m.Body)) })
			known := map[ref]item{}
			for _, all := range below {
				for _, it := range all {
					known[it.ref] = it
				}
			}
			for i, c := range windows {
				if it, ok := known[c]; ok {
					it.index = i
					w.fromCache(n, it, below, 1)
					continue
				}
				w.child(n, c, i, 1, true)
			}
		})
	})
}

func readItem(r *dbus.Reader) item {
	r.Struct()
	it := item{ref: readRef(r)}
	readRef(r) // the program
	it.parent = readRef(r)
	it.index, it.children = int(r.Int32()), int(r.Int32())
	r.Array(4, func() { it.can |= powers[r.String()] })
	it.name, it.role = nameOrNone(r.String(), true), roleOf(r.Uint32())
	if said := r.String(); it.name == "" && it.can&ui.CanAct != 0 && !it.role.IsBox() && !it.role.HoldsText() {
		it.name = ui.Short(said)
	}
	shift := 0
	r.Array(4, func() {
		if v := r.Uint32(); shift < 64 {
			it.bits |= uint64(v) << shift
		}
		shift += 32
	})
	return it
}

// fromCache makes an element of what the cache says, and asks for its place and content.
func (w *walk) fromCache(parent *ui.Node, it item, below map[ref][]item, depth int) {
	if w.seen[it.ref] || depth >= maxDepth {
		return
	}
	if w.left == 0 {
		w.cut++
		return
	}
	w.left--
	w.seen[it.ref] = true
	states, defunct := statesOf(it.bits, true)
	if defunct {
		return
	}
	if states&ui.Visible == 0 && !w.look.All {
		parent.Hidden++
		return
	}
	n := &ui.Node{Key: it.ref.key(), Role: it.role, Name: it.name, States: states, Can: it.can, Index: it.index,
		PID: parent.PID}
	parent.Children = append(parent.Children, n)
	w.nodes++
	w.place(n, it.ref, true)
	w.content(n, it.ref)
	if len(below[it.ref]) != it.children {
		w.children(n, it.ref, depth, true)
		return
	}
	for _, c := range below[it.ref] {
		w.fromCache(n, c, below, depth+1)
	}
}
