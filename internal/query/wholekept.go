package query

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/klauspost/compress/s2"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/store"
)

// prepareFrom events take longer to draw than somebody who opens a page wants to wait.
const prepareFrom = 500_000

// wholeForm is the first byte of a picture in a file; others are not read.
const wholeForm = 1

// maxWholeBytes bounds what is decompressed of a file, which may be a stranger's.
const maxWholeBytes = 64 << 20

// Prepare draws the picture of a session that has ended, if there is much in it, and keeps it in the session's file.
func Prepare(ctx context.Context, st *store.Store) error { return prepare(ctx, st, prepareFrom) }

func prepare(ctx context.Context, st *store.Store, from event.ID) error {
	sn, err := st.Snapshot(ctx)
	if err != nil {
		return fmt.Errorf("take snapshot: %w", err)
	}
	defer sn.Close()
	if sn.LastID() < from {
		return nil
	}
	w, err := wholeOf(ctx, st, sn)
	if err != nil || w.width == 0 {
		return err
	}
	st.SetPicture(w.marshal())
	return nil
}

// readWhole returns what a session's file has kept, nil where that is nothing or no picture of these events: then it is
// drawn as if there were none.
func readWhole(ctx context.Context, st *store.Store, sn *store.Snapshot) *whole {
	data, err := st.Picture(ctx)
	if err != nil || len(data) == 0 {
		return nil
	}
	w, err := unmarshalWhole(data, len(sn.Threads()), len(sn.Functions()))
	if err != nil || w.lastID > sn.LastID() {
		return nil
	}
	return w
}

// marshal writes numbers by column, each as a difference to the one before.
func (w *whole) marshal() []byte {
	b := binary.AppendUvarint(nil, uint64(w.lastID))
	b = binary.AppendUvarint(b, uint64(w.first))
	b = binary.AppendUvarint(b, math.Float64bits(w.width))
	b = binary.AppendUvarint(b, uint64(len(w.deepest)))
	for i := range w.deepest {
		b = binary.AppendUvarint(b, uint64(w.deepest[i]))
		b = binary.AppendUvarint(b, uint64(w.hidden[i]))
	}
	b = binary.AppendUvarint(b, uint64(len(w.cells)))
	for _, col := range cellColumns {
		before := int64(0)
		for i := range w.cells {
			v := col.get(&w.cells[i])
			b = binary.AppendVarint(b, v-before)
			before = v
		}
	}
	b = binary.AppendUvarint(b, uint64(len(w.marks)))
	for i := range w.marks {
		m := &w.marks[i]
		for _, v := range []int64{m.TimestampNs, m.Lane, int64(m.kind), m.ID, m.Count} {
			b = binary.AppendVarint(b, v)
		}
	}
	return append([]byte{wholeForm}, s2.EncodeBetter(nil, b)...)
}

// cellColumns are the numbers of a cell.
var cellColumns = []struct {
	get func(c *cell) int64
	set func(c *cell, v int64)
}{
	{func(c *cell) int64 { return int64(c.lane) }, func(c *cell, v int64) { c.lane = event.ThreadID(v) }},
	{func(c *cell) int64 { return int64(c.depth) }, func(c *cell, v int64) { c.depth = uint16(v) }},
	{func(c *cell) int64 { return int64(c.fn) }, func(c *cell, v int64) { c.fn = event.FuncID(v) }},
	{func(c *cell) int64 { return c.from }, func(c *cell, v int64) { c.from = v }},
	{func(c *cell) int64 { return c.to - c.from }, func(c *cell, v int64) { c.to = c.from + v }},
	{func(c *cell) int64 { return int64(c.id) }, func(c *cell, v int64) { c.id = event.ID(v) }},
	{func(c *cell) int64 { return int64(c.count) }, func(c *cell, v int64) { c.count = uint32(v) }},
	{func(c *cell) int64 { return c.longest }, func(c *cell, v int64) { c.longest = v }},
	{func(c *cell) int64 { return c.busy }, func(c *cell, v int64) { c.busy = v }},
}

var errNoPicture = errors.New("no picture of a session")

// unmarshalWhole reads a picture of a session of so many lanes and functions.
func unmarshalWhole(data []byte, lanes, functions int) (*whole, error) {
	if data[0] != wholeForm {
		return nil, errNoPicture
	}
	if n, err := s2.DecodedLen(data[1:]); err != nil || n > maxWholeBytes {
		return nil, errNoPicture
	}
	b, err := s2.Decode(nil, data[1:])
	if err != nil {
		return nil, fmt.Errorf("unpack a picture: %w", err)
	}
	r := &numbers{b: b}
	w := &whole{lastID: event.ID(r.count(math.MaxInt64)), first: event.ID(r.count(math.MaxInt64))}
	w.width = math.Float64frombits(r.next())
	for range r.count(uint64(lanes)) {
		w.deepest = append(w.deepest, int(r.count(math.MaxInt32)))
		w.hidden = append(w.hidden, int64(r.count(math.MaxInt64)))
	}
	w.cells = make([]cell, r.count(maxWhole))
	for _, col := range cellColumns {
		v := int64(0)
		for i := range w.cells {
			v += r.signed()
			col.set(&w.cells[i], v)
		}
	}
	for i := range w.cells {
		c := &w.cells[i]
		if int(c.lane) >= len(w.deepest) || c.depth >= MaxLevels || int(c.fn) >= functions || c.from < 0 || c.to < c.from {
			return nil, errNoPicture
		}
	}
	w.marks = make([]kindMark, r.count(maxWhole))
	for i := range w.marks {
		m := &w.marks[i]
		m.TimestampNs, m.Lane = r.signed(), r.signed()
		if kind := r.signed(); kind >= 0 && kind < int64(event.NumKinds) {
			m.kind = event.Kind(kind)
		}
		m.ID, m.Count = r.signed(), r.signed()
		m.EventType = m.kind.String()
		if m.Lane >= int64(lanes) {
			return nil, errNoPicture
		}
	}
	if r.bad || len(r.b) > 0 || !(w.width >= 1) {
		return nil, errNoPicture
	}
	return w, nil
}

// numbers reads numbers; bad: there was none where one was wanted, or one too large.
type numbers struct {
	b   []byte
	bad bool
}

func (r *numbers) next() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.b, r.bad = nil, true
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *numbers) signed() int64 {
	v := r.next()
	return int64(v>>1) ^ -int64(v&1)
}

// count reads a number of at most so much.
func (r *numbers) count(most uint64) uint64 {
	v := r.next()
	if v > most {
		r.b, r.bad = nil, true
		return 0
	}
	return v
}
