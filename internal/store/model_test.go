package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/strobe-debug/strobe/internal/event"
)

// model is the brute-force twin of a store: it keeps every row and filters by looking at each.
type model struct {
	rows   []Row
	stacks map[event.ThreadID][]Row
}

// put places events the plain way. It trusts that they are properly nested.
func (m *model) put(batch []event.Event) {
	if m.stacks == nil {
		m.stacks = map[event.ThreadID][]Row{}
	}
	for _, e := range batch {
		st := m.stacks[e.Thread]
		r := Row{ID: int64(len(m.rows)) + 1, TS: e.TS, Ret: e.Ret, Payload: bytes.Clone(e.Payload), Thread: e.Thread,
			Kind: e.Kind, Flags: e.Flags}
		if e.Kind.IsCall() {
			r.Func = e.Func
		}
		r.Stream, _ = e.Kind.OfStream(e.Stream)
		if e.Kind == event.FunctionExit {
			r.Enter, r.Duration = st[len(st)-1].ID, e.TS-st[len(st)-1].TS
			st = st[:len(st)-1]
			if e.Flags&event.HasRet == 0 {
				r.Ret = 0
			}
		} else {
			r.Ret = 0
		}
		r.Depth = int32(len(st))
		if len(st) > 0 {
			r.Parent = st[len(st)-1].ID
		}
		if e.Kind == event.FunctionEnter {
			st = append(st, r)
		}
		m.stacks[e.Thread] = st
		m.rows = append(m.rows, r)
	}
}

func (m *model) matches(f Filter, r *Row) bool {
	exit := r.Kind == event.FunctionExit
	switch {
	case f.FromID != 0 && r.ID < f.FromID, f.ToID != 0 && r.ID > f.ToID:
	case f.FromTS != 0 && r.TS < f.FromTS, f.ToTS != 0 && r.TS > f.ToTS:
	case f.Kinds != 0 && f.Kinds>>r.Kind&1 == 0:
	case f.Funcs != nil && (!r.Kind.IsCall() || !f.Funcs.Has(uint32(r.Func))):
	case f.Threads != nil && !f.Threads.Has(uint32(r.Thread)):
	case f.MinDur > 0 && (!exit || r.Duration < f.MinDur), f.MaxDur > 0 && (!exit || r.Duration > f.MaxDur):
	case (f.RetEq != nil || f.RetMin != nil || f.RetMax != nil) && (!exit || r.Flags&event.HasRet == 0):
	case f.RetEq != nil && r.Ret != *f.RetEq, f.RetMin != nil && r.Ret < *f.RetMin, f.RetMax != nil && r.Ret > *f.RetMax:
	default:
		return true
	}
	return false
}

// source makes random, properly nested events.
type source struct {
	rnd     *rand.Rand
	ts      int64
	funcs   int
	threads int
	stacks  [][]event.FuncID
	outputs int // one in so many events is not a call; 0: none
	maxPay  int
}

// sourceStreams are a source's beside those that every session has.
const sourceStreams = 2

func newSource(seed uint64, funcs, threads int) *source {
	return &source{rnd: rand.New(rand.NewPCG(seed, 1)), funcs: funcs, threads: threads,
		stacks: make([][]event.FuncID, threads), outputs: 20, maxPay: 40}
}

func (s *source) register(st *Store) {
	for i := range s.funcs {
		st.Function(event.Function{Name: fmt.Sprintf("f%d", i), File: fmt.Sprintf("/src/%d.c", i%7), Line: i,
			Layout: []byte{byte(i % 3)}})
	}
	for i := range s.threads {
		st.Thread(event.Thread{PID: 100, TID: int32(100 + i), Name: fmt.Sprintf("t%d", i)})
	}
	for i := range sourceStreams {
		if _, err := st.Stream(event.Stream{Channel: "test", Name: fmt.Sprint(i), Media: "bytes",
			Direction: event.In}); err != nil {
			panic(err)
		}
	}
}

func (s *source) next() event.Event {
	s.ts += int64(s.rnd.IntN(400))
	t := s.rnd.IntN(s.threads)
	e := event.Event{TS: s.ts, Thread: event.ThreadID(t)}
	if s.outputs > 0 && s.rnd.IntN(s.outputs) == 0 {
		e.Kind = event.Stdout + event.Kind(s.rnd.IntN(int(event.NumKinds-event.Stdout)))
		if e.Kind.IsStreamed() {
			e.Stream = event.StreamID(2 + s.rnd.IntN(sourceStreams))
		}
		e.Payload = s.bytes(s.rnd.IntN(200))
		if s.rnd.IntN(5) == 0 {
			e.Thread = event.NoThread
		}
		return e
	}
	st := s.stacks[t]
	if len(st) > 0 && (len(st) > 30 || s.rnd.IntN(2) == 0) {
		e.Kind, e.Func = event.FunctionExit, st[len(st)-1]
		s.stacks[t] = st[:len(st)-1]
		switch s.rnd.IntN(8) {
		case 0:
			if e.Flags = event.Unwound; len(st)%3 == 0 {
				e.Flags |= event.AtEnd
			}
		case 1:
			if len(st)%4 == 0 {
				e.Flags = event.Lost
			}
		case 2:
			e.Flags, e.Ret = event.HasRet, int64(s.rnd.Uint64())
		default:
			e.Flags, e.Ret = event.HasRet, int64(s.rnd.IntN(100)-10)
		}
		if s.rnd.IntN(10) == 0 {
			e.Payload = s.words(s.rnd.IntN(3))
		}
		return e
	}
	e.Kind, e.Func = event.FunctionEnter, event.FuncID(min(s.rnd.IntN(s.funcs), s.rnd.IntN(s.funcs)))
	s.stacks[t] = append(st, e.Func)
	if s.rnd.IntN(50) == 0 {
		e.Payload = s.bytes(s.rnd.IntN(s.maxPay + 1))
	} else {
		e.Payload = s.words(int(e.Func) % 4)
	}
	return e
}

func (s *source) bytes(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(s.rnd.Uint32())
	}
	return b
}

func (s *source) words(n int) []byte {
	var b []byte
	for i := range n {
		v := uint64(s.rnd.IntN(1000))
		switch s.rnd.IntN(10) {
		case 0:
			v = s.rnd.Uint64()
		case 1, 2, 3:
			v = 0x7f3a_0000_1000 + uint64(s.rnd.IntN(1<<20))*16 + uint64(i)
		}
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return b
}

func (s *source) batch(n int) []event.Event {
	b := make([]event.Event, n)
	for i := range b {
		b[i] = s.next()
	}
	return b
}

// filter makes a random filter over what m has.
func (s *source) filter(m *model) Filter {
	var f Filter
	some := func() *Row { return &m.rows[s.rnd.IntN(len(m.rows))] }
	one := func(n int) bool { return s.rnd.IntN(n) == 0 }
	if one(3) {
		f.FromID = some().ID
	}
	if one(3) {
		f.ToID = some().ID
	}
	if one(3) {
		f.FromTS = some().TS
	}
	if one(3) {
		f.ToTS = some().TS
	}
	if one(3) {
		f.Kinds = s.rnd.Uint32()
	}
	if one(3) {
		f.Funcs = new(Bits)
		for range s.rnd.IntN(4) {
			f.Funcs.Set(s.rnd.Uint32N(uint32(s.funcs)))
		}
		if one(3) {
			for i := range s.funcs / 2 {
				f.Funcs.Set(uint32(i))
			}
		}
	}
	if one(3) {
		f.Threads = new(Bits)
		for range s.rnd.IntN(3) {
			f.Threads.Set(s.rnd.Uint32N(uint32(s.threads)))
		}
	}
	if one(5) {
		f.MinDur = int64(s.rnd.IntN(5000))
	}
	if one(5) {
		f.MaxDur = int64(s.rnd.IntN(50000))
	}
	ret := func() *int64 { v := some().Ret; return &v }
	switch s.rnd.IntN(9) {
	case 0:
		f.RetEq = ret()
	case 1:
		f.RetMin = ret()
	case 2:
		f.RetMax = ret()
	case 3:
		f.RetMin, f.RetMax = ret(), ret()
	}
	return f
}

func testStore(t *testing.T, o Options) (*Store, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s.db")
	st, err := Create(path, Meta{SessionID: "s", Command: "/bin/x", StartedAt: 5}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Errorf("Close() = %v", err)
		}
		if left := openFiles(path); len(left) > 0 {
			t.Errorf("open after Close(): %q", left)
		}
	})
	return st, path
}

// openFiles returns the descriptors of this process that are of the database, where the system
// lists them. database/sql once left connections open whose statements were not closed.
func openFiles(path string) (left []string) {
	fds, _ := os.ReadDir("/proc/self/fd") // empty on other systems
	for _, f := range fds {
		if l, _ := os.Readlink("/proc/self/fd/" + f.Name()); strings.HasPrefix(l, path) {
			left = append(left, l)
		}
	}
	return left
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func snapshot(t testing.TB, st *Store) *Snapshot {
	t.Helper()
	must(t, st.Flush(context.Background()))
	sn, err := st.Snapshot(context.Background())
	must(t, err)
	t.Cleanup(sn.Close)
	return sn
}

func collect(t testing.TB, sn *Snapshot, f Filter, opt ScanOptions) []Row {
	t.Helper()
	var out []Row
	must(t, sn.Scan(context.Background(), f, opt, func(r *Row) bool {
		c := *r
		c.Payload = bytes.Clone(r.Payload)
		out = append(out, c)
		return true
	}))
	return out
}

// sameRow compares two rows; payloads nil and empty are the same.
func sameRow(a, b *Row, cold bool) bool {
	hot := a.ID == b.ID && a.TS == b.TS && a.Duration == b.Duration && a.Ret == b.Ret && a.Func == b.Func &&
		a.Thread == b.Thread && a.Kind == b.Kind && a.Flags == b.Flags
	return hot && (!cold || a.Parent == b.Parent && a.Enter == b.Enter && a.Depth == b.Depth && a.Stream == b.Stream &&
		bytes.Equal(a.Payload, b.Payload))
}

// compare checks Count, Scan in both directions and Rows of f against the model, of which gone
// says what was evicted.
func compare(t testing.TB, sn *Snapshot, m *model, f Filter, gone func(*Row) bool) {
	t.Helper()
	var want []Row
	for i := range m.rows {
		if m.matches(f, &m.rows[i]) && (gone == nil || !gone(&m.rows[i])) {
			want = append(want, m.rows[i])
		}
	}
	n, err := sn.Count(context.Background(), f)
	must(t, err)
	if n != int64(len(want)) {
		t.Fatalf("Count(%s) = %d, want %d", show(f), n, len(want))
	}
	for _, opt := range []ScanOptions{{}, {Cold: true}, {Reverse: true}, {Reverse: true, Cold: true}, {Args: true},
		{Reverse: true, Args: true}} {
		if opt.Args && f.Funcs == nil {
			continue
		}
		got := collect(t, sn, f, opt)
		if len(got) != len(want) {
			t.Fatalf("Scan(%s, %+v) gave %d rows, want %d", show(f), opt, len(got), len(want))
		}
		for i := range got {
			w := &want[i]
			if opt.Reverse {
				w = &want[len(want)-1-i]
			}
			if opt.Args {
				w = &Row{ID: w.ID, Kind: w.Kind, Flags: w.Flags, Func: w.Func, Payload: w.Payload}
			}
			if !sameRow(&got[i], w, opt.Cold || opt.Args) {
				t.Fatalf("Scan(%s, %+v) row %d: %s", show(f), opt, i, cmp.Diff(*w, got[i]))
			}
		}
	}
	var ids []event.ID
	for i := 0; i < len(want); i += 1 + len(want)/50 {
		ids = append(ids, want[len(want)-1-i].ID)
	}
	rows, err := sn.Rows(context.Background(), ids)
	must(t, err)
	for i := range ids {
		if w := &m.rows[ids[i]-1]; len(rows) != len(ids) || !sameRow(&rows[i], w, true) {
			t.Fatalf("Rows(%v)[%d]: %d rows; %s", ids, i, len(rows), cmp.Diff(*w, rows[i]))
		}
	}
}

func show(f Filter) string {
	s := fmt.Sprintf("id %d-%d ts %d-%d kinds %x dur %d-%d", f.FromID, f.ToID, f.FromTS, f.ToTS, f.Kinds, f.MinDur,
		f.MaxDur)
	if f.Funcs != nil {
		s += fmt.Sprintf(" funcs %x", f.Funcs.words)
	}
	if f.Threads != nil {
		s += fmt.Sprintf(" threads %x", f.Threads.words)
	}
	for _, p := range []*int64{f.RetEq, f.RetMin, f.RetMax} {
		if p != nil {
			s += fmt.Sprintf(" ret %d", *p)
		}
	}
	return s
}
