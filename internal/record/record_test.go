package record

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/store"
	"github.com/strobe-debug/strobe/internal/value"
)

func newStore(t testing.TB) *store.Store {
	t.Helper()
	st, err := store.Create(filepath.Join(t.TempDir(), "s.db"), store.Meta{SessionID: "s"}, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return st
}

// snapshot commits what was put.
func snapshot(t testing.TB, st *store.Store, events []event.Event) *store.Snapshot {
	t.Helper()
	if err := errors.Join(st.Put(events), st.Flush(t.Context())); err != nil {
		t.Fatal(err)
	}
	sn, err := st.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(sn.Close)
	return sn
}

// layout is that of int f(int n, struct{int x} *p), with p's x at the exit and a watch at both ends.
func layout() *value.Layout {
	word := func(at uint32, size uint32) []value.Piece { return []value.Piece{{Off: at, Size: size}} }
	return &value.Layout{
		Depth:   1,
		OnEnter: value.Shape{GPRs: 3, Nodes: true}, OnExit: value.Shape{GPRs: 3},
		Args:         []value.Field{{Name: "n", Pieces: word(0, 4)}, {Name: "p", Type: 1, Pieces: word(8, 8)}},
		Ret:          &value.Field{Pieces: word(0, 4)},
		Out:          []value.Field{{Name: "p", Pieces: word(8, 4)}},
		EnterWatches: []value.Field{{Name: "w", Pieces: word(16, 4)}},
		ExitWatches:  []value.Field{{Name: "w", Pieces: word(16, 4)}},
		Types: []value.Type{
			{Class: value.ClassInt, Name: "int", Size: 4, Elem: -1, Discr: value.TypeField{Type: -1}},
			{Class: value.ClassStructPtr, Name: "S *", Size: 8, Elem: 2, Walk: value.WalkFirst,
				Discr: value.TypeField{Type: -1}},
			{Class: value.ClassStruct, Name: "S", Size: 4, Elem: -1, Fields: []value.TypeField{{Name: "x"}},
				Discr: value.TypeField{Type: -1}},
		},
	}
}

func words(w ...uint64) (out []byte) {
	for _, v := range w {
		out = binary.LittleEndian.AppendUint64(out, v)
	}
	return out
}

// node is an S at addr, behind the words of an enter.
func node(addr uint64, x uint32) []byte {
	b := binary.LittleEndian.AppendUint64(nil, addr)
	b = binary.LittleEndian.AppendUint32(b, 4)
	b = append(b, byte(value.WalkFirst), 0, 0, 0)
	return append(binary.LittleEndian.AppendUint32(b, x), 0, 0, 0, 0)
}

func shown(o value.Object) string { return value.NewObject(o).String() }

func TestValues(t *testing.T) {
	st := newStore(t)
	known := st.Function(event.Function{Name: "f", Layout: layout().Marshal()})
	broken := st.Function(event.Function{Name: "g", Layout: []byte{255, 1, 2}})
	th := st.Thread(event.Thread{PID: 1, TID: 1})
	sn := snapshot(t, st, []event.Event{
		{TS: 1, Kind: event.FunctionEnter, Func: known, Thread: th,
			Payload: append(words(7, 0x1000, 5), node(0x1000, 42)...)},
		{TS: 2, Kind: event.FunctionEnter, Func: broken, Thread: th, Payload: words(1)},
		{TS: 5, Kind: event.FunctionExit, Func: broken, Thread: th, Ret: -3, Flags: event.HasRet},
		{TS: 9, Kind: event.FunctionExit, Func: known, Thread: th, Ret: 11, Flags: event.HasRet, Payload: words(11, 43, 6)},
	})
	r := New(sn)
	var got []string
	for c, err := range r.Calls(t.Context(), Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		v, ok := c.Result()
		begin, end := c.Watches()
		got = append(got, fmt.Sprint(c.Function().Name, shown(c.Arguments()), " = ", v, ok, " out ", shown(c.Out()),
			" watches ", shown(begin), shown(end), " below ", c.BelowNs))
	}
	want := []string{
		"g{} = -3 true out {} watches {}{} below 0",
		"f{n: 7, p: {x: 42}} = 11 true out {p: 43} watches {w: 5}{w: 6} below 3",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%q, want\n%q", got, want)
	}
	f := r.Function(known)
	rows, err := sn.Rows(t.Context(), []event.ID{1, 4})
	if err != nil {
		t.Fatal(err)
	}
	if got := shown(r.WithAddresses().Function(known).Arguments(&rows[0])); got != "{n: 7, p: {$address: 0x1000, x: 42}}" {
		t.Errorf("with addresses: %s", got)
	}
	if got := shown(f.Arguments(&rows[0])); got != "{n: 7, p: {x: 42}}" {
		t.Errorf("beside a reader with addresses: %s", got)
	}
	for path, want := range map[string]string{"n": "7", "p.x": "42", "p.y": "", "q": ""} {
		got := ""
		if a, ok := f.Argument(path); ok {
			if v, ok := a.Value(&rows[0]); ok {
				got = v.String()
			}
		}
		if got != want {
			t.Errorf("argument %s is %q, want %q", path, got, want)
		}
	}
	a, _ := f.Argument("n")
	if n, ok := a.Int(&rows[0]); !ok || n != 7 {
		t.Errorf("n is %d, %v", n, ok)
	}
	if n, ok := a.Int(&store.Row{}); ok {
		t.Errorf("n of no payload is %d", n)
	}
	if v, ok := f.Result(&store.Row{Ret: 1, Flags: event.Unwound}); ok {
		t.Errorf("a frame that was left by an exception returned %v", v)
	}
	if r.Function(99).Name != "?" || r.Function(broken).Known() || !f.Known() || f.Ret != value.RetSigned {
		t.Errorf("functions: %+v, %+v, %+v", r.Function(99), r.Function(broken), f)
	}
	if got := fmt.Sprint(f.Parameters(), slices.Collect(f.TypeNames())); got != "[{n int} {p S *}] [int S * S]" {
		t.Errorf("parameters and types: %s", got)
	}
}

// TestTrees: values of an interpreter's calls read by the same methods.
func TestTrees(t *testing.T) {
	st := newStore(t)
	id := st.Function(event.Function{Name: "f", Layout: value.NewTree([]string{"n", "who"}, 2).Marshal()})
	th := st.Thread(event.Thread{PID: 1, TID: 1})
	sn := snapshot(t, st, []event.Event{
		{TS: 1, Kind: event.FunctionEnter, Func: id, Thread: th,
			Payload: []byte(`{"n":7,"who":{"$":"obj","t":"User","v":{"age":42}}}`)},
		{TS: 2, Kind: event.FunctionExit, Func: id, Thread: th, Payload: []byte(`[1,null]`)},
	})
	r := New(sn)
	for c, err := range r.Calls(t.Context(), Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		result, ok := c.Result()
		if got := shown(c.Arguments()); got != "{n: 7, who: User{age: 42}}" || !ok || result.String() != "[1, null]" {
			t.Errorf("f(%s) = %s, %v", got, result, ok)
		}
		for path, want := range map[string]string{"n": "7", "who.age": "42"} {
			a, ok := c.Function().Argument(path)
			if !ok {
				t.Fatalf("no argument %s", path)
			}
			if v, ok := a.Value(c.Enter); !ok || v.String() != want {
				t.Errorf("argument %s is %v, %v", path, v, ok)
			}
			if n, ok := a.Int(c.Enter); ok {
				t.Errorf("argument %s was read as the bytes of %d", path, n)
			}
		}
	}
	if f := r.Function(id); f.Ret != value.RetPayload || len(f.Parameters()) != 2 {
		t.Errorf("%+v, parameters %v", f, f.Parameters())
	}
}

// call is a call of the model.
type call struct {
	enter, exit event.ID
	below       int64
}

// TestPairs compares what is read of nested calls on several threads, all of it and ranges, with what was called.
func TestPairs(t *testing.T) {
	st := newStore(t)
	const threads, events = 3, 20_000 // more than two blocks
	fn := st.Function(event.Function{Name: "f"})
	for i := range threads {
		st.Thread(event.Thread{PID: 1, TID: int32(i + 1)})
	}
	rng := rand.New(rand.NewPCG(3, 4))
	type frame struct {
		call
		ts int64
	}
	var open [threads][]frame
	var ended []call
	var all []event.Event
	ts := int64(0)
	for i := range events {
		ts += 1 + rng.Int64N(9)
		th := rng.IntN(threads)
		e := event.Event{TS: ts, Func: fn, Thread: event.ThreadID(th), Kind: event.FunctionEnter}
		if s := open[th]; len(s) > 0 && (len(s) > 30 || rng.IntN(2) == 0) {
			e.Kind = event.FunctionExit
			top := s[len(s)-1]
			top.exit = event.ID(i + 1)
			ended = append(ended, top.call)
			if s = s[:len(s)-1]; len(s) > 0 {
				s[len(s)-1].below += ts - top.ts
			}
			open[th] = s
		} else {
			open[th] = append(s, frame{call: call{enter: event.ID(i + 1)}, ts: ts})
		}
		all = append(all, e)
	}
	sn := snapshot(t, st, all)
	left := 0
	for th := range open {
		for _, f := range open[th] {
			ended = append(ended, f.call)
			left++
		}
	}
	if left == 0 {
		t.Fatal("no call is open at the end")
	}
	for _, bare := range []bool{false, true} {
		got, err := read(t.Context(), New(sn), Filter{Bare: bare})
		if err != nil || !slices.Equal(got, ended) {
			t.Errorf("bare %v: %d calls, want %d, %v", bare, len(got), len(ended), err)
		}
		for range 20 {
			f := Filter{FromID: 1 + rng.Int64N(events), Bare: bare}
			f.ToID = f.FromID + rng.Int64N(events)
			got, err := read(t.Context(), New(sn), f)
			if err != nil {
				t.Fatal(err)
			}
			in := func(id event.ID) event.ID {
				if id < f.FromID || id > f.ToID {
					return 0
				}
				return id
			}
			want := map[[2]event.ID]bool{}
			for _, c := range ended {
				if enter, exit := in(c.enter), in(c.exit); enter+exit != 0 {
					want[[2]event.ID{enter, exit}] = true
				}
			}
			for _, c := range got {
				if !want[[2]event.ID{c.enter, c.exit}] {
					t.Fatalf("%+v: read %+v, which is no call", f, c)
				}
			}
			if len(got) != len(want) {
				t.Fatalf("%+v: %d calls, want %d", f, len(got), len(want))
			}
		}
	}
	n := 0
	for range New(sn).Calls(t.Context(), Filter{}) {
		if n++; n == 10 {
			break
		}
	}
	if n != 10 {
		t.Errorf("%d calls before the reader had enough, want 10", n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := read(ctx, New(sn), Filter{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %d calls, %v", len(got), err)
	}
	var enters []event.ID
	want := map[event.ID]event.ID{}
	for _, c := range ended[len(ended)-left-5:] {
		enters, want[c.enter] = append(enters, c.enter), c.exit
	}
	rows, err := sn.Rows(t.Context(), enters)
	if err != nil {
		t.Fatal(err)
	}
	exits, err := New(sn).Exits(t.Context(), rows)
	if err != nil || len(exits) != len(want) {
		t.Fatalf("%d exits, want %d, %v", len(exits), len(want), err)
	}
	for enter, exit := range want {
		if got := exits[enter]; (got == nil) != (exit == 0) || got != nil && got.ID != exit {
			t.Errorf("call %d ended at %+v, want %d", enter, got, exit)
		}
	}
}

func read(ctx context.Context, r *Reader, f Filter) (out []call, err error) {
	for c, err := range r.Calls(ctx, f) {
		if err != nil {
			return out, err
		}
		one := call{below: c.BelowNs}
		if c.Enter != nil {
			one.enter = c.Enter.ID
		}
		if c.Exit != nil {
			one.exit = c.Exit.ID
		}
		out = append(out, one)
	}
	return out, nil
}

// TestStack: calls that lost their end are given back when one around them ends.
func TestStack(t *testing.T) {
	var s Stack[string]
	for id, name := range []string{"a", "b", "c", "d"} {
		s.Begin(event.ID(id+1), name)
	}
	var lost []string
	if got := s.End(9, nil); got != nil || len(s.Open()) != 4 {
		t.Errorf("the end of what never began took off %v", got)
	}
	if got := s.End(2, func(name string) { lost = append(lost, name) }); got == nil || *got != "b" ||
		!slices.Equal(lost, []string{"d", "c"}) {
		t.Errorf("End = %v, lost %v", got, lost)
	}
	if got := s.Top(); got == nil || *got != "a" || !slices.Equal(s.Open(), []string{"a"}) {
		t.Errorf("Top = %v, open %v", got, s.Open())
	}
	s.Pop()
	if s.Pop() != nil || s.Top() != nil {
		t.Errorf("an empty stack has %v", s.Open())
	}
}

// TestFunctionsAdded: a reader of before goes on beside one that has the functions which came since.
func TestFunctionsAdded(t *testing.T) {
	st := newStore(t)
	first := st.Function(event.Function{Name: "first"})
	before := New(snapshot(t, st, nil))
	f := before.Function(first)
	last := first
	for i := range 100 {
		last = st.Function(event.Function{Name: fmt.Sprint("f", i)})
	}
	after := New(snapshot(t, st, nil))
	if after.Function(last).Name != "f99" || after.Function(first) != f || before.Function(last) != unknown {
		t.Errorf("%q, %p for %p, %q", after.Function(last).Name, after.Function(first), f, before.Function(last).Name)
	}
}
