package record

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/store"
)

// tables holds the functions of each open store.
var tables store.PerStore[table]

// table is a store's functions by FuncID, each made when it is asked for.
type table struct {
	mu  sync.Mutex
	fns []atomic.Pointer[Function] // replaced when functions are added
}

// room returns the functions with room for n.
func (t *table) room(n int) []atomic.Pointer[Function] {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n > len(t.fns) {
		grown := make([]atomic.Pointer[Function], n+n/4)
		for i := range t.fns {
			grown[i].Store(t.fns[i].Load())
		}
		t.fns = grown
	}
	return t.fns
}

// Reader reads the calls of one snapshot. Safe for concurrent use while the snapshot is open, which its owner closes.
type Reader struct {
	sn        *store.Snapshot
	all       []event.Function
	fns       []atomic.Pointer[Function]
	addressed *sync.Map // FuncID to *Function; nil: values do not show addresses
}

// New returns a reader of sn.
func New(sn *store.Snapshot) *Reader {
	all := sn.Functions()
	return &Reader{sn: sn, all: all, fns: tables.Of(sn.Store()).room(len(all))}
}

// WithAddresses returns a reader whose values show of each object behind a pointer where it is, as its member
// "$address".
func (r *Reader) WithAddresses() *Reader {
	out := *r
	out.addressed = &sync.Map{}
	return &out
}

// Function returns the function of that id, the same at every call; one without a name that anybody knows where there
// is none.
func (r *Reader) Function(id event.FuncID) *Function {
	if int(id) >= len(r.all) {
		return unknown
	}
	f := r.fns[id].Load()
	if f == nil {
		f = newFunction(r.all[id])
		if !r.fns[id].CompareAndSwap(nil, f) {
			f = r.fns[id].Load()
		}
	}
	if r.addressed == nil {
		return f
	}
	a, ok := r.addressed.Load(id)
	if !ok {
		a, _ = r.addressed.LoadOrStore(id, f.withAddresses())
	}
	return a.(*Function)
}

// Exits returns where calls end, by their enters' ids, in one scan; nil for those that have not ended.
func (r *Reader) Exits(ctx context.Context, enters []store.Row) (map[event.ID]*store.Row, error) {
	exits := make(map[event.ID]*store.Row, len(enters))
	if len(enters) == 0 {
		return exits, nil
	}
	f := store.Filter{FromID: enters[0].ID + 1, Kinds: 1 << event.FunctionExit, Funcs: &store.Bits{},
		Threads: &store.Bits{}}
	for i := range enters {
		e := &enters[i]
		exits[e.ID] = nil
		f.FromID = min(f.FromID, e.ID+1)
		f.Funcs.Set(uint32(e.Func))
		f.Threads.Set(uint32(e.Thread))
	}
	left := len(exits)
	err := r.sn.Scan(ctx, f, store.ScanOptions{Cold: true}, func(row *store.Row) bool {
		if exit, asked := exits[row.Enter]; !asked || exit != nil {
			return true
		}
		exit := *row
		exit.Payload = slices.Clone(row.Payload)
		exits[row.Enter] = &exit
		left--
		return left > 0
	})
	if err != nil {
		return nil, fmt.Errorf("find where %d calls from event %d on end: %w", len(enters), enters[0].ID, err)
	}
	return exits, nil
}
