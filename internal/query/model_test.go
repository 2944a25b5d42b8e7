package query

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/store"
	"github.com/strobe-debug/strobe/internal/value"
)

// The functions of the model, one per way in which results and arguments are recorded.
const (
	fnAdd    = iota // int add(int a, int b)
	fnHash          // unsigned long hash(unsigned long n)
	fnOK            // bool ok(int a)
	fnColour        // enum colour colour(int a)
	fnMove          // double move(struct point *p)
	fnName          // int name(char *s)
	fnVoid          // void
	fnGone          // int, optimized out
	fnRaw           // no layout
	numFuncs
)

// colours are how the enumeration's numbers read: 3 is a combination of flags.
var colours = []string{"red", "green", "blue", "green|blue"}

var modelNames = [numFuncs]string{
	"app::add", "app::hash<unsigned long>", "app::ok", "ns::colour", "geo::move<T, 3>::run", "text::name", "app::nothing",
	"opt::gone", "raw_fn",
}

var modelFiles = [numFuncs]string{
	"/src/app/add.cc", "/src/app/hash.cc", "/src/app/add.cc", "/src/ns/colour.cc", "/src/geo/move.rs", "/src/text/name.c",
	"/src/app/nothing.cc", "/src/opt/gone.cc", "",
}

var (
	typeInt  = value.Type{Class: value.ClassInt, Name: "int", Size: 4, Elem: -1, Discr: value.TypeField{Type: -1}}
	typeLong = value.Type{Class: value.ClassUint, Name: "unsigned long", Size: 8, Elem: -1,
		Discr: value.TypeField{Type: -1}}
	typeBool = value.Type{Class: value.ClassBool, Name: "bool", Size: 1, Elem: -1, Discr: value.TypeField{Type: -1}}
	typeEnum = value.Type{Class: value.ClassEnum, Name: "colour", Size: 4, Elem: -1, Discr: value.TypeField{Type: -1},
		Enums: []value.Enumerator{{Name: "red", Value: 0}, {Name: "green", Value: 1}, {Name: "blue", Value: 2}}}
	typeF64    = value.Type{Class: value.ClassFloat, Name: "double", Size: 8, Elem: -1, Discr: value.TypeField{Type: -1}}
	typeString = value.Type{Class: value.ClassCString, Name: "char *", Size: 8, Elem: -1, Discr: value.TypeField{Type: -1}}
)

func word(off, size uint32) []value.Piece { return []value.Piece{{Chunk: 0, Off: off, Size: size}} }

const walkOfPoint = 5

func modelLayouts() [numFuncs]*value.Layout {
	ret := func(t value.Type) *value.Layout {
		return &value.Layout{OnExit: value.Shape{GPRs: 1}, Types: []value.Type{t, typeInt},
			Ret: &value.Field{Type: 0, Pieces: word(0, t.Size)}}
	}
	args := func(l *value.Layout, t int32, size uint32, names ...string) *value.Layout {
		l.OnEnter.GPRs = len(names)
		for i, n := range names {
			l.Args = append(l.Args, value.Field{Name: n, Type: t, Pieces: word(uint32(i)*8, size)})
		}
		return l
	}
	var ls [numFuncs]*value.Layout
	ls[fnAdd] = args(ret(typeInt), 1, 4, "a", "b")
	ls[fnHash] = args(ret(typeLong), 0, 8, "n")
	ls[fnOK] = args(ret(typeBool), 1, 4, "a")
	ls[fnColour] = args(ret(typeEnum), 1, 4, "a")
	noDiscr := value.TypeField{Type: -1}
	ls[fnMove] = &value.Layout{
		OnEnter: value.Shape{GPRs: 1, Nodes: true}, Depth: 1,
		OnExit: value.Shape{Parts: []value.Part{{Size: 8}}},
		Args:   []value.Field{{Name: "p", Type: 2, Pieces: word(0, 8)}},
		Ret:    &value.Field{Type: 1, Pieces: []value.Piece{{Chunk: 1, Size: 8}}},
		Types: []value.Type{
			typeInt, typeF64,
			{Class: value.ClassStructPtr, Name: "point *", Size: 8, Elem: 3, Walk: walkOfPoint, Discr: noDiscr},
			{Class: value.ClassStruct, Name: "point", Size: 16, Elem: -1, Discr: noDiscr,
				Fields: []value.TypeField{{Name: "x", Type: 0}, {Name: "v", Type: 4, Off: 4}}},
			{Class: value.ClassArray, Name: "int [3]", Size: 12, Elem: 0, Count: 3, Discr: noDiscr},
		},
	}
	ls[fnName] = &value.Layout{
		OnEnter: value.Shape{GPRs: 1, Nodes: true}, Depth: 1,
		OnExit: value.Shape{GPRs: 1},
		Args:   []value.Field{{Name: "s", Type: 1, Pieces: word(0, 8)}},
		Ret:    &value.Field{Type: 0, Pieces: word(0, 4)},
		Types:  []value.Type{typeInt, typeString},
	}
	ls[fnVoid] = &value.Layout{}
	ls[fnGone] = &value.Layout{Types: []value.Type{typeInt}, Ret: &value.Field{Type: 0, Missing: true}}
	return ls
}

// modelEvent is an event and what it means, known without any layout. A value is an int64, uint64, float64, bool or
// string; nil is a null pointer.
type modelEvent struct {
	event.Event
	id, enter, parent int64
	ns                int64
	args              map[string]any
	ret               any
	hasRet            bool
	text              string
}

// model is a session whose every event is known.
type model struct {
	st     *store.Store
	events []modelEvent
	open   map[event.ThreadID][]int // indexes of enters
	rng    *rand.Rand
	ts     int64
	put    int // events already in the store
}

var modelThreads = []event.Thread{{PID: 100, TID: 100, Name: "main"}, {PID: 100, TID: 101, Name: "worker-1"},
	{PID: 100, TID: 102, Name: "worker-2"}, {PID: 200, TID: 200, Name: "child"}}

func newStore(t testing.TB, o store.Options) *store.Store {
	t.Helper()
	st, err := store.Create(filepath.Join(t.TempDir(), "s.db"), store.Meta{SessionID: "s", PID: 100}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Errorf("close store: %v", err)
		}
	})
	return st
}

func newModel(t testing.TB, seed uint64, o store.Options) *model {
	t.Helper()
	m := &model{st: newStore(t, o), rng: rand.New(rand.NewPCG(seed, 1)), open: map[event.ThreadID][]int{}}
	for i, l := range modelLayouts() {
		f := event.Function{Name: modelNames[i], File: modelFiles[i], Line: 10 + i, Language: "c++"}
		if l != nil {
			f.Layout = l.Marshal()
		}
		if i == fnAdd {
			f.Raw = "_ZN3app3addEii"
		}
		m.st.Function(f)
	}
	for _, th := range modelThreads {
		m.st.Thread(th)
	}
	return m
}

func (m *model) add(e modelEvent) *modelEvent {
	m.ts += m.rng.Int64N(2000)
	e.TS, e.id = m.ts, int64(len(m.events)+1)
	if open := m.open[e.Thread]; e.Thread != event.NoThread && len(open) > 0 {
		e.parent = m.events[open[len(open)-1]].id
	}
	m.events = append(m.events, e)
	return &m.events[len(m.events)-1]
}

func le(words ...uint64) []byte {
	var b []byte
	for _, w := range words {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return b
}

func (m *model) enter(th event.ThreadID, fn event.FuncID) {
	e := modelEvent{Event: event.Event{Kind: event.FunctionEnter, Thread: th, Func: fn}, args: map[string]any{}}
	a, b := m.rng.Int32N(8)-2, m.rng.Int32N(4)
	junk := m.rng.Uint64() << 32 // upper halves of registers mean nothing
	switch fn {
	case fnAdd:
		e.args["a"], e.args["b"] = int64(a), int64(b)
		e.Payload = le(uint64(uint32(a))|junk, uint64(uint32(b))|junk)
	case fnHash:
		n := uint64(m.rng.IntN(4)) - 2 // near the top of the range, and 0 and 1
		e.args["n"] = n
		e.Payload = le(n)
	case fnOK, fnColour:
		e.args["a"] = int64(a)
		e.Payload = le(uint64(uint32(a)) | junk)
	case fnMove:
		if a < 0 {
			e.args["p"] = nil
			e.Payload = le(0)
			break
		}
		e.args["p.x"], e.args["p.v[1]"] = int64(a), int64(b)
		at := 0x7f00 + 8*uint64(a)
		e.Payload = le(at, at, 16|walkOfPoint<<32|1<<48, uint64(uint32(a))|7<<32, uint64(uint32(b))|9<<32)
	case fnName:
		s := []string{"alpha", "beta", `ga"mma`}[m.rng.IntN(3)]
		e.args["s"] = s
		e.Payload = le(0x8000, 0x8000, uint64(len(s))|value.WalkText<<32|1<<48)
		e.Payload = append(e.Payload, append([]byte(s), 0, 0, 0, 0, 0, 0, 0, 0)[:8]...)
	}
	idx := len(m.events)
	m.add(e)
	m.open[th] = append(m.open[th], idx)
}

func (m *model) exit(th event.ThreadID) {
	open := m.open[th]
	in := m.events[open[len(open)-1]]
	m.open[th] = open[:len(open)-1]
	e := modelEvent{Event: event.Event{Kind: event.FunctionExit, Thread: th, Func: in.Func, Flags: event.HasRet},
		enter: in.id, hasRet: true}
	n := m.rng.Int64N(8) - 2
	switch in.Func {
	case fnAdd, fnName:
		e.Ret, e.ret = n, n
	case fnHash:
		e.Ret, e.ret = n, uint64(n)
	case fnOK:
		e.Ret, e.ret = n&1, n&1 == 1
	case fnColour:
		e.Ret, e.ret = n&3, colours[n&3]
	case fnMove:
		x := float64(n) / 2
		e.Payload, e.ret, e.Flags = le(math.Float64bits(x)), x, 0
		if n == 5 {
			e.Payload, e.ret = le(math.Float64bits(math.NaN())), math.NaN()
		}
	case fnRaw:
		e.Ret, e.ret = n, n
	default:
		e.Flags, e.hasRet = 0, false
	}
	if m.rng.IntN(20) == 0 {
		e.Flags, e.Ret, e.Payload, e.ret, e.hasRet = event.Unwound, 0, nil, nil, false
	}
	p := m.add(e)
	p.ns, p.parent = p.TS-in.TS, in.parent
}

// grow adds n random events.
func (m *model) grow(n int) {
	for range n {
		th := event.ThreadID(m.rng.IntN(len(modelThreads)))
		switch r := m.rng.IntN(20); {
		case r == 0:
			kind := []event.Kind{event.Stdout, event.Stderr}[m.rng.IntN(2)]
			if m.rng.IntN(2) == 0 {
				th = event.NoThread
			}
			text := fmt.Sprintf("line %d of\x00 text\n", m.rng.IntN(30))
			m.add(modelEvent{Event: event.Event{Kind: kind, Thread: th, Payload: []byte(text)}, text: text})
		case r == 1:
			text := fmt.Sprintf(`{"message":"step %d","level":%d}`, m.rng.IntN(9), m.rng.IntN(3))
			m.add(modelEvent{Event: event.Event{Kind: event.Logpoint, Thread: th, Payload: []byte(text)}, text: text})
		case r < 11 && len(m.open[th]) < 12 || len(m.open[th]) == 0:
			m.enter(th, event.FuncID(m.rng.IntN(numFuncs)))
		default:
			m.exit(th)
		}
	}
}

// store puts what grew into the store.
func (m *model) store(t testing.TB) {
	t.Helper()
	for m.put < len(m.events) {
		n := min(len(m.events)-m.put, 1+m.rng.IntN(3000))
		batch := make([]event.Event, n)
		for i := range batch {
			batch[i] = m.events[m.put+i].Event
		}
		if err := m.st.Put(batch); err != nil {
			t.Fatal(err)
		}
		m.put += n
	}
}

// ask runs a request, which must succeed.
func ask1(t testing.TB, st *store.Store, req Request) *Result {
	t.Helper()
	res, err := Run(context.Background(), st, req, Env{})
	if err != nil {
		t.Fatalf("Run(%+v) = %v", req, err)
	}
	return res
}

// compareModel orders a model value against a number.
func compareModel(v any, n float64) (int, bool) {
	switch v := v.(type) {
	case int64:
		return cmp.Compare(float64(v), n), true
	case uint64:
		return cmp.Compare(float64(v), n), true
	case float64:
		return cmp.Compare(v, n), !math.IsNaN(v)
	case string: // an enumerator's number
		for i, name := range colours {
			if name == v {
				return cmp.Compare(float64(i), n), true
			}
		}
	}
	return 0, false
}
