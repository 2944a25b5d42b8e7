package store

import (
	"sort"

	"github.com/strobe-debug/strobe/internal/event"
)

// noFunc stands in column fn for events that are not calls.
const noFunc = 1<<32 - 1

// blockEvents is the most events that one block has. With 4,096 rare lookups are 2–3 times faster
// and full scans 1.5–1.9 times slower; with 65,536 the reverse.
const blockEvents = 8192

// blockPayload seals a block early: it bounds what a reader decodes for one row.
const blockPayload = 1 << 20

// columns are the decoded form of a block, and the form in which the open block grows. Slices
// are only appended to, so a copy of the struct is a view of a prefix that stays valid while the
// owner goes on. Which columns are filled depends on what was decoded.
type columns struct {
	n      int
	shared bool       // a snapshot has a view: not to be reused; guarded by Store.commitMu
	first  event.ID   // of dense columns
	ids    []event.ID // sparse columns only, ascending
	kind   []uint8
	flags  []uint8
	thread []uint32
	fn     []uint32
	ts     []int64
	dur    []int64
	ret    []int64

	parent []event.ID
	enter  []event.ID
	depth  []int32
	payEnd []uint32 // payload of i is pay[payEnd[i-1]:payEnd[i]]; calls only
	pay    []byte
}

// newColumns returns empty columns with room for one block, so that appends do not allocate.
func newColumns(first event.ID, payload int) *columns {
	const n = blockEvents
	return &columns{
		first: first,
		kind:  make([]uint8, 0, n), flags: make([]uint8, 0, n),
		thread: make([]uint32, 0, n), fn: make([]uint32, 0, n),
		ts: make([]int64, 0, n), dur: make([]int64, 0, n), ret: make([]int64, 0, n),
		parent: make([]event.ID, 0, n), enter: make([]event.ID, 0, n), depth: make([]int32, 0, n),
		payEnd: make([]uint32, 0, n), pay: make([]byte, 0, payload),
	}
}

// reset empties c, keeping its room. Nobody may hold a view of it.
func (c *columns) reset(first event.ID) {
	c.truncate(0)
	c.first = first
}

// prefix returns a view of the first n events.
func (c *columns) prefix(n int) columns {
	v := *c
	v.n = n
	return v
}

// truncate cuts c to n events.
func (c *columns) truncate(n int) {
	c.n = n
	if c.ids != nil {
		c.ids = c.ids[:n]
	}
	c.kind, c.flags, c.thread, c.fn = c.kind[:n], c.flags[:n], c.thread[:n], c.fn[:n]
	c.ts, c.dur, c.ret = c.ts[:n], c.dur[:n], c.ret[:n]
	c.parent, c.enter, c.depth = c.parent[:n], c.enter[:n], c.depth[:n]
	c.payEnd = c.payEnd[:n]
	end := 0
	if n > 0 {
		end = int(c.payEnd[n-1])
	}
	c.pay = c.pay[:end]
}

// add appends one event. Row.ID is used by sparse columns only.
func (c *columns) add(r *Row) {
	if c.ids != nil {
		c.ids = append(c.ids, r.ID)
	}
	c.kind = append(c.kind, uint8(r.Kind))
	c.flags = append(c.flags, uint8(r.Flags))
	c.thread = append(c.thread, uint32(r.Thread))
	fn := uint32(noFunc)
	if r.Kind.IsCall() {
		fn = uint32(r.Func)
		c.pay = append(c.pay, r.Payload...)
	}
	c.fn = append(c.fn, fn)
	c.ts = append(c.ts, r.TS)
	c.dur = append(c.dur, r.Duration)
	c.ret = append(c.ret, r.Ret)
	c.parent = append(c.parent, r.Parent)
	c.enter = append(c.enter, r.Enter)
	c.depth = append(c.depth, r.Depth)
	c.payEnd = append(c.payEnd, uint32(len(c.pay)))
	c.n++
}

// id returns the ID of event i.
func (c *columns) id(i int) event.ID {
	if c.ids != nil {
		return c.ids[i]
	}
	return c.first + event.ID(i)
}

// last returns the ID of the last event, first-1 if there is none.
func (c *columns) last() event.ID {
	if c.n == 0 {
		return c.first - 1
	}
	return c.id(c.n - 1)
}

// search returns the index of the first event whose ID is at least id.
func (c *columns) search(id event.ID) int {
	if c.ids != nil {
		return sort.Search(c.n, func(i int) bool { return c.ids[i] >= id })
	}
	switch {
	case id <= c.first:
		return 0
	case id-c.first > event.ID(c.n):
		return c.n
	}
	return int(id - c.first)
}

// payload returns the captured bytes of call i.
func (c *columns) payload(i int) []byte {
	from := uint32(0)
	if i > 0 {
		from = c.payEnd[i-1]
	}
	return c.pay[from:c.payEnd[i]:c.payEnd[i]]
}

// hotRow fills r from the filter columns.
func (c *columns) hotRow(i int, r *Row) {
	*r = Row{
		ID: c.id(i), TS: c.ts[i], Duration: c.dur[i], Ret: c.ret[i],
		Thread: event.ThreadID(c.thread[i]), Kind: event.Kind(c.kind[i]), Flags: event.Flags(c.flags[i]),
	}
	if c.fn[i] != noFunc {
		r.Func = event.FuncID(c.fn[i])
	}
}

// coldRow fills the rest of r; the payload aliases c.
func (c *columns) coldRow(i int, r *Row) {
	r.Parent, r.Enter, r.Depth = c.parent[i], c.enter[i], c.depth[i]
	if r.Kind.IsCall() {
		r.Payload = c.payload(i)
	}
}

// timeRow fills r for ScanOptions.Times: field by field, for what the others hold is not looked at.
func (c *columns) timeRow(i int, r *Row) {
	r.ID, r.TS, r.Duration = c.id(i), c.ts[i], c.dur[i]
	r.Thread, r.Kind, r.Flags, r.Func = event.ThreadID(c.thread[i]), event.Kind(c.kind[i]), event.Flags(c.flags[i]), 0
	if c.fn[i] != noFunc {
		r.Func = event.FuncID(c.fn[i])
	}
}

// retRow fills r for ScanOptions.Rets.
func (c *columns) retRow(i int, r *Row) {
	*r = Row{ID: c.id(i), Kind: event.Kind(c.kind[i]), Flags: event.Flags(c.flags[i]), Ret: c.ret[i]}
	if c.fn[i] != noFunc {
		r.Func = event.FuncID(c.fn[i])
	}
}
