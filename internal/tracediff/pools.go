package tracediff

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/strobe-debug/strobe/internal/sorting"
)

// Threads of one role share work in another way each time: which of them a task falls to is no difference. So threads
// of a role are also compared as one, whose tasks have no order, and what finds less to differ counts.

// groups splits lanes by process and role, in their order.
func groups(lanes []*lane) (keys []string, of map[string][]*lane) {
	of = map[string][]*lane{}
	process := processes(lanes)
	for _, l := range lanes {
		k := fmt.Sprint(process[l], l.role)
		if of[k] == nil {
			keys = append(keys, k)
		}
		of[k] = append(of[k], l)
	}
	return keys, of
}

// pooled compares as many threads on both sides as one; nil where they cannot be.
func (d *diff) pooled(a, b []*lane) *walker {
	tasksA, loopA := tasks(a)
	tasksB, loopB := tasks(b)
	if len(a) != len(b) || len(a) < 2 || loopA != loopB {
		return nil
	}
	ma, mb := d.merge(a, tasksA, tasksB, loopA), d.merge(b, tasksB, tasksA, loopB)
	if loopA {
		if x, y := &ma.nodes[1], &mb.nodes[1]; x.name != y.name || x.in != y.in || x.out != y.out {
			return nil
		}
	}
	w := d.walker(ma, mb)
	w.unordered, w.thread = true, fmt.Sprintf("%d threads", len(a))
	w.children(0, 0)
	if loopA && ma.nodes[1].sub != mb.nodes[1].sub {
		w.aligned += int64(len(a) - 1) // of the loops' calls one was counted
	}
	return w
}

// task is what a thread of a pool does once.
type task struct {
	l     *lane
	at    int32
	alone bool // the other side has none that is the same
}

func (t *task) node() *node { return &t.l.nodes[t.at] }

// tasks are the outermost calls of threads. Where each has a single one, of the same function, that is the loop, and
// its calls are the tasks.
func tasks(lanes []*lane) (out []task, loop bool) {
	loop = true
	for _, l := range lanes {
		n := l.nodes
		loop = loop && len(n) > 1 && n[1].call && int(n[1].size) == len(n)-1 && n[1].name == lanes[0].nodes[1].name
	}
	for _, l := range lanes {
		from := int32(0)
		if loop {
			from = 1
		}
		for i := range l.kids(from) {
			out = append(out, task{l: l, at: i})
		}
	}
	return out, loop
}

// merge makes one thread of several: first what the other side has, too, then the rest, each in an order that is the
// same on both sides.
func (d *diff) merge(lanes []*lane, mine, others []task, loop bool) *lane {
	there := map[uint64]int{}
	for i := range others {
		there[others[i].node().sub]++
	}
	mine = slices.Clone(mine)
	for i := range mine {
		sub := mine[i].node().sub
		there[sub]--
		mine[i].alone = there[sub] < 0
	}
	hash := d.names.hash
	sorting.By(mine, func(x, y task) int {
		a, b := x.node(), y.node()
		if x.alone != y.alone {
			return one(x.alone) - one(y.alone)
		}
		return cmp.Or(cmp.Compare(hash[a.name], hash[b.name]), cmp.Compare(a.in, b.in), cmp.Compare(a.sub, b.sub),
			cmp.Compare(a.enter, b.enter))
	})
	m := &lane{thread: lanes[0].thread, role: lanes[0].role, nodes: []node{{name: lanes[0].nodes[0].name}}}
	if loop {
		top := lanes[0].nodes[1]
		top.in, top.out, top.calls = 0, 0, int32(len(lanes))
		for _, l := range lanes {
			top.in, top.out = top.in+mix(1, l.nodes[1].in), top.out+mix(1, l.nodes[1].out)
		}
		m.nodes = append(m.nodes, top)
	}
	for _, t := range mine {
		m.nodes = append(m.nodes, t.l.nodes[t.at:t.at+t.node().size]...)
	}
	if loop {
		top := &m.nodes[1]
		top.size = int32(len(m.nodes) - 1)
		top.sub = m.below(1)
		for i := range m.kids(1) {
			top.calls += m.nodes[i].calls
		}
	}
	m.seal()
	return m
}
