package tracediff

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/store"
	"github.com/strobe-debug/strobe/internal/value"
)

// layout is that of int f(int n, void *p).
func layout() []byte {
	l := &value.Layout{
		OnEnter: value.Shape{GPRs: 2}, OnExit: value.Shape{GPRs: 1},
		Types: []value.Type{
			{Class: value.ClassInt, Signed: true, Name: "int", Size: 4, Elem: -1, Discr: value.TypeField{Type: -1}},
			{Class: value.ClassPointer, Name: "void *", Size: 8, Elem: -1, Discr: value.TypeField{Type: -1}},
		},
		Args: []value.Field{{Name: "n", Type: 0, Pieces: []value.Piece{{Size: 4}}},
			{Name: "p", Type: 1, Pieces: []value.Piece{{Off: 8, Size: 8}}}},
		Ret: &value.Field{Type: 0, Pieces: []value.Piece{{Size: 4}}},
	}
	return l.Marshal()
}

// session records a script: a letter enters the function of that name, with the digit behind it as its argument; >
// leaves the innermost call with the digit behind it as its result, ! by an exception; a capital letter goes on in the
// thread of that name; ~ is a loss. All of a session's pointers are base and what follows it.
func session(t testing.TB, script string, base uint64) Side {
	t.Helper()
	st, err := store.Create(filepath.Join(t.TempDir(), "s.db"), store.Meta{SessionID: "s"}, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	functions, threads := map[byte]event.FuncID{}, map[byte]event.ThreadID{}
	open := map[event.ThreadID][]byte{}
	var batch []event.Event
	thread := st.Thread(event.Thread{PID: 7, TID: 7, Name: "main"})
	for i := range len(script) {
		c, n := script[i], uint64(0)
		if i+1 < len(script) && script[i+1] >= '0' && script[i+1] <= '9' {
			n = uint64(script[i+1] - '0')
		}
		e := event.Event{TS: int64(i + 1), Thread: thread}
		switch {
		case c >= 'a' && c <= 'z':
			if _, ok := functions[c]; !ok {
				functions[c] = st.Function(event.Function{Name: string(c), File: "/src/x.cc", Line: 1, Layout: layout()})
			}
			e.Kind, e.Func = event.FunctionEnter, functions[c]
			e.Payload = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, n), base+uint64(i)*64)
			open[thread] = append(open[thread], c)
		case c == '>' || c == '!':
			calls := open[thread]
			if len(calls) == 0 {
				continue
			}
			e.Kind, e.Func, e.Ret, e.Flags = event.FunctionExit, functions[calls[len(calls)-1]], int64(n), event.HasRet
			if c == '!' {
				e.Flags = event.Unwound
			}
			open[thread] = calls[:len(calls)-1]
		case c >= 'A' && c <= 'Z':
			if _, ok := threads[c]; !ok {
				threads[c] = st.Thread(event.Thread{PID: 7, TID: 10 + int32(len(threads)), Name: role(c)})
			}
			thread = threads[c]
			continue
		case c == '~':
			e.Kind, e.Payload = event.Dropped, []byte(`{"count":5}`)
		default:
			continue
		}
		batch = append(batch, e)
	}
	if err := st.Put(batch); err != nil {
		t.Fatal(err)
	}
	if err := st.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
	return Side{Store: st, SessionID: "s"}
}

// role is a thread's name: those from P on are of one pool.
func role(c byte) string {
	if c >= 'P' {
		return "pool"
	}
	return string(c)
}

func TestDiff(t *testing.T) {
	for _, c := range []struct {
		name, a, b string
		what, path string // "": the same
		differs    string
		counts     []string
		aligned    int64
	}{
		{name: "same", a: "m b1> c2>3 >", b: "m b1> c2>3 >", aligned: 3},
		{name: "argument", a: "m b1> c2> >", b: "m b1> c3> >", what: WhatArgument, path: "m > c", differs: "n: 2 | 3",
			aligned: 3},
		{name: "the callee's result comes first", a: "m b1 c1>4 >5 >6", b: "m b1 c1>7 >8 >9", what: WhatResult,
			path: "m > b > c", differs: "result: 4 | 7", aligned: 3},
		{name: "result before a later argument", a: "m b1>4 c1> >", b: "m b1>5 c2> >", what: WhatResult, path: "m > b",
			differs: "result: 4 | 5", aligned: 3},
		{name: "early return", a: "m b1> >", b: "m b1> c1> d1> >", what: WhatOnlyB, path: "m > c",
			counts: []string{"c: 0 in a, 1 in b", "d: 0 in a, 1 in b"}, aligned: 2},
		{name: "one call more", a: "m b1> b1> b1> >", b: "m b1> b1> >", what: WhatOnlyA, path: "m > b",
			counts: []string{"b: 3 in a, 2 in b"}, aligned: 3},
		{name: "another callee", a: "m x1> c1> d1> >", b: "m x1> e1> d1> >", what: WhatOtherCall, path: "m > (see a, b)",
			counts: []string{"c: 1 in a, 0 in b", "e: 0 in a, 1 in b"}, aligned: 3},
		{name: "exception", a: "m b1 c1! !>", b: "m b1 c1> >>", what: WhatException, path: "m > b > c", aligned: 3},
		{name: "no return", a: "m b1 c1", b: "m b1 c1>>>", what: WhatNoReturn, path: "m > b > c", aligned: 3},
		{name: "interleaving", a: "Am b1> Bm b2> A>B>", b: "Bm Am b1>> Bb2>>", aligned: 4},
		{name: "recursion", a: "f1f1f1f1>1>1>1>1", b: "f1f1f1f1>2>1>1>1", what: WhatResult, path: "f ×4",
			differs: "result: 1 | 2", aligned: 4},
		{name: "work shared another way", a: "Pw b1> b2> > Qw b3> >", b: "Pw b1> > Qw b3> b2> >", aligned: 5},
		{name: "and one task differs", a: "Pw b1>5 b2> > Qw b3> >", b: "Pw b2> > Qw b3> b1>6 >", what: WhatResult,
			path: "w > b", differs: "result: 5 | 6", aligned: 5},
		{name: "tasks without a loop", a: "Pa1> b2> Qc3>", b: "Qb2> c3> Pa1>", aligned: 3},
		{name: "loops with other arguments", a: "Pw1 b1> > Qw2 b3> >", b: "Pw1 b1> > Qw3 b3> >", what: WhatArgument,
			path: "w", differs: "n: 2 | 3", aligned: 4},
		{name: "thread", a: "Am> Bx>", b: "Am>", what: WhatThreadA, path: "x", counts: []string{"x: 1 in a, 0 in b"},
			aligned: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Diff(t.Context(), session(t, c.a, 0x5555_0000_0000), session(t, c.b, 0x5612_3400_0000), Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got.Same != (c.what == "") || got.Compared.Aligned != c.aligned || !slices.Equal(got.Counts, c.counts) ||
				len(got.Incomplete) > 0 {
				t.Errorf("Diff(%q, %q) = %+v %+v", c.a, c.b, got, got.First)
			}
			if f := got.First; c.what != "" && (f == nil || f.What != c.what || f.Path != c.path || c.differs != "" &&
				!slices.Equal(f.Differs, []string{c.differs})) {
				t.Errorf("first %+v, want %s at %s", f, c.what, c.path)
			}
		})
	}
}

// TestDiffSameArguments: where the tests' inputs differ, the first call that did something else with the same ones is
// shown, too.
func TestDiffSameArguments(t *testing.T) {
	got, err := Diff(t.Context(), session(t, "m1 b1> c2>3 >", 0), session(t, "m2 b1> c2>4 >", 0), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got.First.What != WhatArgument || got.First.Path != "m" || got.SameArguments == nil ||
		got.SameArguments.Path != "m > c" || got.SameArguments.A.Result != "3" {
		t.Errorf("%+v %+v", got.First, got.SameArguments)
	}
}

// TestDiffIncomplete: what was lost is told, with numbers, also where the rest is the same.
func TestDiffIncomplete(t *testing.T) {
	a, b := session(t, "m b1> ~>", 0), session(t, "m b1> >", 0)
	a.Store.AddCalls(1, 40)
	got, err := Diff(t.Context(), a, b, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"a: 40 calls of hot functions were not recorded (sampling)",
		"a: 5 events were dropped (buffers full)"}; !got.Same || !slices.Equal(got.Incomplete, want) {
		t.Errorf("%+v", got)
	}
	if _, err := Diff(t.Context(), session(t, "", 0), session(t, "~", 0), Options{}); err == nil {
		t.Error("two sessions without calls are compared")
	}
}

// TestNoise: what differs between two runs that ended alike explains no other end, and is shown only where there is
// nothing else.
func TestNoise(t *testing.T) {
	passed := session(t, "m r1>3 b1>1 p> >", 0)
	n, err := FindNoise(t.Context(), passed, session(t, "m r1>5 b1>1 p> p> >", 0))
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"p: how often it is called", "r: result"}; !slices.Equal(n.Names(), want) {
		t.Fatalf("noise %q, want %q", n.Names(), want)
	}
	got, err := Diff(t.Context(), session(t, "m r1>7 b1>2 p> p> p> >", 0), passed, Options{Noise: n})
	if err != nil || got.First == nil || got.First.Path != "m > b" ||
		!slices.Equal(got.First.Differs, []string{"result: 2 | 1"}) {
		t.Errorf("%+v %+v %v", got, got.First, err)
	}
	got, err = Diff(t.Context(), session(t, "m r1>7 b1>1 p> >", 0), passed, Options{Noise: n})
	if err != nil || got.Same || got.First == nil || got.First.Path != "m > r" || len(got.Notes) != 1 {
		t.Errorf("only noise: %+v %+v %v", got, got.First, err)
	}
}

// TestAnswerIsSmall: names without end, and differences everywhere.
func TestAnswerIsSmall(t *testing.T) {
	var sides [2]Side
	for i := range sides {
		st, err := store.Create(filepath.Join(t.TempDir(), "s.db"), store.Meta{SessionID: "s"}, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		var batch []event.Event
		thread := st.Thread(event.Thread{PID: 7, TID: 7, Name: strings.Repeat("t", 15)})
		const deep = 40
		for d := range deep {
			id := st.Function(event.Function{Name: fmt.Sprintf("%s::with<%s>::f%d", strings.Repeat("deep::", 50),
				strings.Repeat("int, ", 100), d), File: "/" + strings.Repeat("x", 200) + "/y.cc", Line: 1, Layout: layout()})
			batch = append(batch, event.Event{TS: int64(d + 1), Thread: thread, Kind: event.FunctionEnter, Func: id,
				Payload: binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, uint64(i)), 0)})
		}
		for d := range deep {
			batch = append(batch, event.Event{TS: int64(deep + d + 1), Thread: thread, Kind: event.FunctionExit,
				Func: event.FuncID(deep - 1 - d), Ret: int64(i), Flags: event.HasRet})
		}
		if err := st.Put(batch); err != nil {
			t.Fatal(err)
		}
		if err := st.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		sides[i] = Side{Store: st, SessionID: strings.Repeat("long-session-name", 4)}
	}
	got, err := Diff(t.Context(), sides[0], sides[1], Options{})
	if err != nil {
		t.Fatal(err)
	}
	if b, err := json.Marshal(got); err != nil || len(b) > MaxBytes || got.First == nil || len(got.First.Differs) != 1 ||
		len(got.Next) == 0 {
		t.Errorf("%d bytes: %s", len(b), b)
	}
}

// lanesOf makes a side of a script such as session's, without a store: what is walked through.
func lanesOf(script string, n *names) *side {
	s := &side{names: n}
	all := map[byte]*laneBuilder{}
	lane := func(c byte) *laneBuilder {
		if all[c] == nil {
			all[c] = &laneBuilder{lane: &lane{thread: event.Thread{PID: 7, TID: 7 + int32(c), Name: role(c)}, role: role(c),
				nodes: []node{{name: n.id(""), size: 1}}}}
			s.lanes = append(s.lanes, all[c].lane)
		}
		return all[c]
	}
	l := lane('M')
	for i := range len(script) {
		c := script[i]
		var digit uint64
		if i+1 < len(script) && script[i+1] >= '0' && script[i+1] <= '9' {
			digit = uint64(script[i+1])
		}
		id := event.ID(i + 1)
		switch {
		case c >= 'a' && c <= 'z':
			l.open.Begin(id, int32(len(l.nodes)))
			l.nodes = append(l.nodes, node{name: n.id(string(c)), in: digit, enter: id, call: true})
		case (c == '>' || c == '!') && l.open.Top() != nil:
			top := *l.open.Pop()
			at := &l.nodes[top]
			at.exit, at.out = id, returned+digit
			if c == '!' {
				at.flags, at.out = event.Unwound, unwound
			}
			l.close(s, top)
		case c == '*':
			l.nodes = append(l.nodes, node{name: n.id("exception"), in: digit, enter: id, exit: id, size: 1, sub: mix(digit, 9)})
		case c >= 'A' && c <= 'Z':
			l = lane(c)
		}
	}
	for _, l := range all {
		l.end(s)
		s.calls += int64(l.nodes[0].calls)
	}
	return s
}

func walked(x, y string) *diff {
	n := &names{ids: map[string]int32{}}
	d := &diff{names: n, counts: map[group]int{}, a: lanesOf(x, n), b: lanesOf(y, n)}
	d.walk()
	return d
}

// FuzzWalk: whatever two sides did, going through it never panics, both orders find as much, differences are found
// where there are any, each is counted, and a side is the same as itself.
func FuzzWalk(f *testing.F) {
	f.Add("m b1> c2>3 >", "m b1> c2>4 >")
	f.Add("Am b1> Bm b2> A>B>", "Bm Am b1>> Bb2>!")
	f.Add("f1f2f3f4>1>1>1>1", "f1f2*3f4>1>2>")
	f.Add("Pw b1> b2> > Qw b3> >", "Pw b1> > Qw b3> b2>1 >")
	f.Add("ab>b>c>>", "*a*b>>c>")
	f.Add("a>a!a0", "*a00!a") // kept out: an alignment that depended on which side's names were read first
	f.Fuzz(func(t *testing.T, x, y string) {
		if len(x) > 500 || len(y) > 500 {
			return
		}
		d, turned := walked(x, y), walked(y, x)
		if d.aligned != turned.aligned || (len(d.found) == 0) != (len(turned.found) == 0) ||
			d.aligned > min(d.a.calls, d.b.calls) {
			t.Fatalf("%q, %q: %d aligned and %d found, turned %d and %d", x, y, d.aligned, len(d.found), turned.aligned,
				len(turned.found))
		}
		counted := 0
		for _, n := range d.counts {
			counted += n
		}
		if counted < len(d.found) {
			t.Fatalf("%q, %q: %d found, %d counted", x, y, len(d.found), counted)
		}
		if d.a.calls != d.b.calls && len(d.found) == 0 {
			t.Fatalf("%q, %q: %d and %d calls, and no difference", x, y, d.a.calls, d.b.calls)
		}
		for i, f := range d.found {
			if f.a == nil && f.b == nil || i > 0 && f.at < d.found[i-1].at {
				t.Fatalf("%q, %q: found %+v", x, y, f)
			}
		}
		if same := walked(x, x); len(same.found) > 0 || same.aligned != same.a.calls {
			t.Fatalf("%q, itself: %+v, %d of %d aligned", x, same.found, same.aligned, same.a.calls)
		}
	})
}
