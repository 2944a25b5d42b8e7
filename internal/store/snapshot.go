package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/strobe-debug/strobe/internal/event"
)

// Snapshot is a consistent view of everything that was committed when it was taken. It holds
// back the file's write-ahead log: close it soon. Safe for concurrent use until Close, which
// must not run beside other calls.
type Snapshot struct {
	s           *Store
	segs        []segment
	functions   []event.Function
	threads     []event.Thread
	streams     []event.Stream
	threadNames map[event.ThreadID][]ThreadName
	lastID      event.ID
	lastTS      int64
	firstCall   event.ID
	hasCode     bool                 // values point to functions that have names
	memo        atomic.Pointer[memo] // of the last Count

	mu sync.Mutex // guards r, over SQL: one connection has one transaction
	r  *dbReader
}

// segment is a run of events in ID order: a sealed block, or a view of columns in memory.
type segment struct {
	b    *block   // nil: cols
	cols *columns // nil: b
}

func (g *segment) first() event.ID {
	if g.b != nil {
		return g.b.h.first
	}
	return g.cols.id(0)
}

func (g *segment) last() event.ID {
	if g.b != nil {
		return g.b.h.last
	}
	return g.cols.last()
}

// Snapshot takes a snapshot of what is committed. It does not flush.
func (s *Store) Snapshot(ctx context.Context) (*Snapshot, error) {
	r, err := s.readers.get(ctx, s.readDB)
	if err != nil {
		return nil, fmt.Errorf("take snapshot: %w", err)
	}
	s.commitMu.Lock()
	err = r.begin(ctx)
	p := s.pub
	if p.openOwner != nil {
		p.openOwner.shared, p.oldOwner.shared = true, true
	}
	s.commitMu.Unlock()
	if err != nil {
		s.readers.put(r)
		return nil, fmt.Errorf("take snapshot: %w", err)
	}
	sn := &Snapshot{s: s, r: r, lastID: p.lastID, lastTS: p.lastTS, firstCall: p.firstCall()}
	for _, b := range p.sparse {
		sn.segs = append(sn.segs, segment{b: b})
	}
	if p.old.n > 0 {
		sn.segs = append(sn.segs, segment{cols: &p.old})
	}
	for _, b := range p.dense {
		sn.segs = append(sn.segs, segment{b: b})
	}
	if p.open.n > 0 {
		sn.segs = append(sn.segs, segment{cols: &p.open})
	}
	s.namesMu.RLock()
	sn.functions = s.functions[:len(s.functions):len(s.functions)]
	sn.streams = s.streams[:len(s.streams):len(s.streams)]
	sn.threads, sn.threadNames, sn.hasCode = slices.Clone(s.threads), s.formerNames, len(s.code.at) > 0
	s.namesMu.RUnlock()
	return sn, nil
}

// Close releases the snapshot. Idempotent.
func (sn *Snapshot) Close() {
	sn.mu.Lock()
	r := sn.r
	sn.r = nil
	sn.mu.Unlock()
	if r != nil {
		sn.s.readers.put(r)
	}
}

// Store returns the store that this is a view of.
func (sn *Snapshot) Store() *Store { return sn.s }

// Functions returns the functions by FuncID. Read only.
func (sn *Snapshot) Functions() []event.Function { return sn.functions }

// Streams returns the streams by StreamID. Read only.
func (sn *Snapshot) Streams() []event.Stream { return sn.streams }

// Threads returns the threads by ThreadID. Read only.
func (sn *Snapshot) Threads() []event.Thread { return sn.threads }

// LastTS returns the newest timestamp, in nanoseconds since the session's start.
func (sn *Snapshot) LastTS() int64 { return sn.lastTS }

// LastID returns the newest event's ID, 0 if there is none.
func (sn *Snapshot) LastID() event.ID { return sn.lastID }

// FirstCallID returns the oldest kept call's ID, 0 if there is none.
func (sn *Snapshot) FirstCallID() event.ID { return sn.firstCall }

// hotBlob returns the filter columns of b.
func (sn *Snapshot) hotBlob(b *block) ([]byte, error) {
	if data := sn.s.cache.get(b); data != nil {
		return data, nil
	}
	data, err := sn.read(func(r *dbReader) *sql.Stmt { return r.hot }, b.h.first)
	if err != nil {
		return nil, fmt.Errorf("read block %d: %w", b.h.first, err)
	}
	sn.s.cache.admit(b, data)
	return data, nil
}

func (sn *Snapshot) read(st func(*dbReader) *sql.Stmt, id event.ID) ([]byte, error) {
	sn.mu.Lock()
	defer sn.mu.Unlock()
	if sn.r == nil {
		return nil, ErrClosed
	}
	return blob(st(sn.r), id)
}

// decoders are kept between queries: each has room for a block.
var decoders = sync.Pool{New: func() any { return new(decoder) }}

// load returns the columns of a segment with kind, flags, ids and what nd says. They are valid
// until d is used again.
func (sn *Snapshot) load(d *decoder, g *segment, nd need) (*columns, error) {
	if g.b == nil {
		return g.cols, nil
	}
	data, err := sn.hotBlob(g.b)
	if err != nil {
		return nil, err
	}
	if err = d.begin(g.b.h, data); err == nil {
		err = d.want(nd)
	}
	if err != nil {
		return nil, fmt.Errorf("decode block %d: %w", g.b.h.first, err)
	}
	return &d.c, nil
}

// loadRest decodes the other filter columns of the block that d holds at the events of sel, with cold the cold ones.
func (sn *Snapshot) loadRest(d *decoder, g *segment, sel []int32, cold bool) error {
	err := d.wantAt(sel)
	if err == nil && cold {
		err = d.want(needThread) // of all: parents and depths go by threads
	}
	if err != nil {
		return fmt.Errorf("decode block %d: %w", g.b.h.first, err)
	}
	if !cold || len(sel) == 0 {
		return nil
	}
	data, err := sn.read(func(r *dbReader) *sql.Stmt { return r.cold }, g.b.h.first)
	if err != nil {
		return fmt.Errorf("read block %d: %w", g.b.h.first, err)
	}
	if err := d.cold(data, sel); err != nil {
		return fmt.Errorf("decode block %d: %w", g.b.h.first, err)
	}
	return nil
}

// loadArgs decodes the payloads of the calls that d has selected.
func (sn *Snapshot) loadArgs(d *decoder, g *segment) error {
	data, err := sn.read(func(r *dbReader) *sql.Stmt { return r.cold }, g.b.h.first)
	if err != nil {
		return fmt.Errorf("read block %d: %w", g.b.h.first, err)
	}
	if err = d.want(needLocal); err == nil {
		err = d.args(data)
	}
	if err != nil {
		return fmt.Errorf("decode block %d: %w", g.b.h.first, err)
	}
	return nil
}

// outputData fills in the payload and the stream of an event that is not a call.
func (sn *Snapshot) outputData(row *Row) error {
	sn.mu.Lock()
	defer sn.mu.Unlock()
	if sn.r == nil {
		return ErrClosed
	}
	var stored int64
	switch err := sn.r.out.QueryRow(row.ID).Scan(&row.Payload, &stored); {
	case errors.Is(err, sql.ErrNoRows):
		return fmt.Errorf("read output %d: %w", row.ID, errDamaged)
	case err != nil:
		return fmt.Errorf("read output %d: %w", row.ID, err)
	}
	row.Stream, _ = row.Kind.OfStream(event.StreamID(stored))
	return nil
}

// Rows returns the events of these ids that exist, with payloads, in the order asked.
func (sn *Snapshot) Rows(ctx context.Context, ids []event.ID) ([]Row, error) {
	order := make([]int, len(ids))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return int(min(max(ids[a]-ids[b], -1), 1)) })
	found := make([]Row, len(ids))
	var parts []rowsPart
	for len(order) > 0 {
		g := sn.segmentFrom(ids[order[0]])
		if g == nil {
			break
		}
		n := 0
		for n < len(order) && ids[order[n]] <= g.last() {
			n++
		}
		parts = append(parts, rowsPart{g, order[:n]})
		order = order[n:]
	}
	if err := sn.rowsOfAll(ctx, parts, ids, found); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(found, func(r Row) bool { return r.ID == 0 }), nil
}

// rowsPart are the events wanted of one segment, as their places among the ids.
type rowsPart struct {
	g     *segment
	order []int
}

// rowsOfAll fills found, on several CPUs where the events lie in several blocks: each has to be decoded.
func (sn *Snapshot) rowsOfAll(ctx context.Context, parts []rowsPart, ids []event.ID, found []Row) error {
	var next atomic.Int64
	work := func() error {
		d := decoders.Get().(*decoder)
		defer decoders.Put(d)
		for {
			i := int(next.Add(1)) - 1
			if i >= len(parts) {
				return nil
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := sn.rowsOf(d, parts[i].g, ids, parts[i].order, found); err != nil {
				return err
			}
		}
	}
	errs := make([]error, max(1, min(runtime.GOMAXPROCS(0), len(parts))))
	var all sync.WaitGroup
	for i := range errs[1:] {
		all.Go(func() { errs[i+1] = work() })
	}
	errs[0] = work()
	all.Wait()
	return errors.Join(errs...)
}

// segmentFrom returns the first segment that ends at id or later, nil if there is none.
func (sn *Snapshot) segmentFrom(id event.ID) *segment {
	i, _ := slices.BinarySearchFunc(sn.segs, id, func(g segment, id event.ID) int {
		if g.last() < id {
			return -1
		}
		return 1
	})
	if i == len(sn.segs) {
		return nil
	}
	return &sn.segs[i]
}

// rowsOf fills found for the ids at order, which are ascending and not after segment g.
func (sn *Snapshot) rowsOf(d *decoder, g *segment, ids []event.ID, order []int, found []Row) error {
	newest := ids[order[len(order)-1]]
	if newest < g.first() {
		return nil
	}
	c, err := sn.load(d, g, 0)
	if err != nil {
		return err
	}
	if g.b != nil {
		d.sel = d.sel[:0]
		for _, at := range order {
			if i := c.search(ids[at]); i < c.n && c.id(i) == ids[at] {
				d.sel = append(d.sel, int32(i))
			}
		}
		d.sel = slices.Compact(d.sel)
		if err := sn.loadRest(d, g, d.sel, true); err != nil {
			return err
		}
	}
	for _, at := range order {
		i := c.search(ids[at])
		if i == c.n || c.id(i) != ids[at] {
			continue
		}
		r := &found[at]
		c.hotRow(i, r)
		c.coldRow(i, r)
		if r.Kind.IsCall() {
			r.Payload = slices.Clone(r.Payload)
			sn.nameCode(r)
		} else if err := sn.outputData(r); err != nil {
			return err
		}
	}
	return nil
}
