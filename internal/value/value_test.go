package value

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// words makes a payload of 8-byte words.
func words(w ...uint64) []byte {
	var b []byte
	for _, n := range w {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	return b
}

// nodeOf makes a node.
func nodeOf(addr uint64, walk uint16, status byte, data []byte, length uint64) []byte {
	b := binary.LittleEndian.AppendUint64(nil, addr)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(data)))
	b = binary.LittleEndian.AppendUint16(b, walk)
	b = append(b, 1, status)
	if status == statusCut {
		b = binary.LittleEndian.AppendUint64(b, length)
	}
	b = append(b, data...)
	for len(b)%8 != 0 {
		b = append(b, 0)
	}
	return b
}

func scalarLayout(t Type) *Layout {
	if t.Elem == 0 {
		t.Elem = -1
	}
	return &Layout{OnEnter: Shape{GPRs: 2}, Args: []Field{{Name: "a", Pieces: []Piece{{Size: t.Size}}}}, Types: []Type{t}}
}

func TestScalars(t *testing.T) {
	inf, nan := math.Float64bits(math.Inf(-1)), math.Float64bits(math.NaN())
	color := []Enumerator{{"Red", 0}, {"Green", 1}, {"Minus", -1}, {"Mask", 8}}
	for _, c := range []struct {
		name        string
		typ         Type
		lo, hi      uint64
		json, short string
	}{
		{"int8", Type{Class: ClassInt, Size: 1}, 0xff80, 0, "-128", "-128"},
		{"uint8", Type{Class: ClassUint, Size: 1}, 0xff80, 0, "128", "128"},
		{"int64", Type{Class: ClassInt, Size: 8}, 1 << 63, 0, "-9223372036854775808", "-9223372036854775808"},
		{"uint64", Type{Class: ClassUint, Size: 8}, math.MaxUint64, 0, "18446744073709551615", "18446744073709551615"},
		{"int128", Type{Class: ClassInt, Size: 16}, 0, 1 << 63, "-170141183460469231731687303715884105728",
			"-170141183460469231731687303715884105728"},
		{"uint128", Type{Class: ClassUint, Size: 16}, math.MaxUint64, math.MaxUint64,
			"340282366920938463463374607431768211455", "340282366920938463463374607431768211455"},
		{"bool", Type{Class: ClassBool, Size: 1}, 0xff01, 0, "true", "true"},
		{"char", Type{Class: ClassChar, Size: 1}, 'x', 0, `"x"`, `"x"`},
		{"char not text", Type{Class: ClassChar, Size: 1}, 0xe9, 0, `"\\xe9"`, `"\\xe9"`},
		{"char NUL", Type{Class: ClassChar, Size: 1}, 0, 0, `"\u0000"`, `"\u0000"`},
		{"char32", Type{Class: ClassChar, Size: 4}, 0x1f600, 0, `"😀"`, `"😀"`},
		{"char16 half", Type{Class: ClassChar, Size: 2}, 0xd800, 0, `"\\ud800"`, `"\\ud800"`},
		{"float", Type{Class: ClassFloat, Size: 4}, uint64(math.Float32bits(0.1)), 0, "0.1", "0.1"},
		{"double", Type{Class: ClassFloat, Size: 8}, math.Float64bits(1e300), 0, "1e+300", "1e+300"},
		{"infinity", Type{Class: ClassFloat, Size: 8}, inf, 0, `"-Infinity"`, "-Infinity"},
		{"nan", Type{Class: ClassFloat, Size: 8}, nan, 0, `"NaN"`, "NaN"},
		{"half", Type{Class: ClassFloat, Size: 2}, 0x3c00, 0, "1", "1"},
		{"long double", Type{Class: ClassX87, Size: 16}, 0xc90fdaa22168c235, 0x4000, "3.1415926535897932385",
			"3.1415926535897932385"},
		{"long double smallest", Type{Class: ClassX87, Size: 16}, 1, 0, "3.6451995318824746025e-4951",
			"3.6451995318824746025e-4951"},
		{"long double infinity", Type{Class: ClassX87, Size: 16}, 1 << 63, 0xffff, `"-Infinity"`, "-Infinity"},
		{"long double beyond double", Type{Class: ClassX87, Size: 16}, 1 << 63, 0x43ff, `"1.7976931348623159077e+308"`,
			"1.7976931348623159077e+308"},
		{"quad greatest", Type{Class: ClassQuad, Size: 16}, math.MaxUint64, math.MaxUint64>>1 - 1<<48,
			`"1.189731495357231765085759326628007e+4932"`, "1.189731495357231765085759326628007e+4932"},
		{"quad one", Type{Class: ClassQuad, Size: 16}, 0, 0x3fff << 48, "1", "1"},
		{"enum", Type{Class: ClassEnum, Size: 4, Enums: color}, 0xabcd_0000_0001, 0, `"Green"`, "Green"},
		{"enum negative", Type{Class: ClassEnum, Size: 4, Signed: true, Enums: color}, 0xffffffff, 0, `"Minus"`, "Minus"},
		{"enum flags", Type{Class: ClassEnum, Size: 4, Enums: color}, 9, 0, `"Green|Mask"`, "Green|Mask"},
		{"enum unknown", Type{Class: ClassEnum, Size: 4, Enums: color}, 77, 0, "77", "77"},
		{"pointer", Type{Class: ClassPointer, Size: 8}, 0xdeadbeef, 0, `"0xdeadbeef"`, "0xdeadbeef"},
		{"null", Type{Class: ClassPointer, Size: 8}, 0, 0, "null", "null"},
		{"null struct", Type{Class: ClassStructPtr, Size: 8}, 0, 0, "null", "null"},
		{"member pointer", Type{Class: ClassMemberPtr, Size: 8}, math.MaxUint64, 0, "null", "null"},
		{"unknown", Type{Class: ClassOpaque, Name: "T", Size: 8}, 1, 0, `"<T>"`, "<T>"},
	} {
		l := scalarLayout(c.typ)
		v, _ := l.Enter(words(c.lo, c.hi)).Get("a")
		if got := string(v.AppendJSON(nil)); got != c.json {
			t.Errorf("%s: JSON %s, want %s", c.name, got, c.json)
		}
		if got := v.String(); got != c.short {
			t.Errorf("%s: String %s, want %s", c.name, got, c.short)
		}
		if b, err := v.MarshalJSON(); err != nil || !json.Valid(b) {
			t.Errorf("%s: %s is no JSON (%v)", c.name, b, err)
		}
		if v, _ := l.Enter(words(c.lo)[:0]).Get("a"); c.typ.Size > 0 && string(v.AppendJSON(nil)) == c.json &&
			c.typ.Class != ClassOpaque {
			t.Errorf("%s: read from an empty payload", c.name)
		}
	}
}

// pointLayout is f(struct node *p, char *s) with struct node { int x; struct node *next; char name[4]; unsigned b:3; }.
func pointLayout() *Layout {
	return &Layout{
		OnEnter: Shape{GPRs: 2, Nodes: true}, Depth: 2,
		Args: []Field{{Name: "p", Type: 0, Pieces: []Piece{{Size: 8}}},
			{Name: "s", Type: 1, Pieces: []Piece{{Off: 8, Size: 8}}}},
		Types: []Type{
			{Class: ClassStructPtr, Size: 8, Elem: 2, Walk: walkOfNode},
			{Class: ClassCString, Size: 8, Elem: -1},
			{Class: ClassStruct, Name: "node", Size: 24, Elem: -1, Fields: []TypeField{
				{Name: "x", Type: 3}, {Name: "next", Type: 4, Off: 8}, {Name: "name", Type: 5, Off: 16},
				{Name: "b", Type: 6, BitOff: 161, BitSize: 3}}},
			{Class: ClassInt, Size: 4, Elem: -1},
			{Class: ClassStructPtr, Size: 8, Elem: 2, Walk: walkOfNode},
			{Class: ClassText, Size: 4, Elem: -1},
			{Class: ClassUint, Size: 4, Elem: -1},
		},
	}
}

func node(next uint64) []byte {
	return append(words(0xffffffff, next), 'a', 'b', 0, 'z', 0b1010, 0, 0, 0)
}

const walkOfNode = 7

func payload(parts ...[]byte) []byte { return slices.Concat(parts...) }

func TestFollowed(t *testing.T) {
	l := pointLayout()
	for _, c := range []struct {
		name, want string
		payload    []byte
	}{
		{"all", `{"p":{"x":-1,"next":{"x":-1,"next":"<max depth 2 reached>","name":"ab","b":5},"name":"ab","b":5},"s":"hi"}`,
			payload(words(0x10, 0x30), nodeOf(0x10, walkOfNode, statusOK, node(0x20), 0),
				nodeOf(0x30, WalkText, statusOK, []byte("hi"), 0),
				nodeOf(0x20, walkOfNode, statusOK, node(0x40), 0))},
		{"circular and cut", `{"p":{"x":-1,"next":"<circular ref to 0x10>","name":"ab","b":5},"s":"12345678…(+92 bytes)"}`,
			payload(words(0x10, 0x30), nodeOf(0x10, walkOfNode, statusOK, node(0x10), 0),
				nodeOf(0x30, WalkText, statusCut, []byte("12345678"), 100))},
		{"bad pointers", `{"p":"0x10 <unreadable>","s":"0x30 <unreadable>"}`,
			payload(words(0x10, 0x30), nodeOf(0x10, walkOfNode, 2, nil, 0), nodeOf(0x30, WalkText, 2, nil, 0))},
		{"null", `{"p":null,"s":null}`, words(0, 0)},
		{"no room", `{"p":"<node at 0x10>","s":"0x30"}`, words(0x10, 0x30)},
		{"bytes", `{"p":null,"s":"base64:/wE="}`, payload(words(0, 8), nodeOf(8, WalkText, statusOK, []byte{0xff, 1}, 0))},
		{"at least", `{"p":null,"s":"12345678…(+≥2 bytes)"}`,
			payload(words(0, 8), nodeOf(8, WalkText, statusCut, []byte("12345678"), 10|lengthAtLeast))},
	} {
		got := string(l.Enter(c.payload).AppendJSON(nil))
		if got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
	o := l.Enter(payload(words(0x10, 0x30), nodeOf(0x10, walkOfNode, statusOK, node(0), 0),
		nodeOf(0x30, WalkText, statusOK, []byte("hi"), 0)))
	for path, want := range map[string]string{"p.x": "-1", "p.name": `"ab"`, "s": `"hi"`} {
		if v, ok := o.Path(path); !ok || string(v.AppendJSON(nil)) != want {
			t.Errorf("Path(%s) = %v, %v; want %s", path, v, ok, want)
		}
	}
	if got, want := o.Short(60), `p={x: -1, next: null, name: "ab", b: 5}, s="hi"`; got != want {
		t.Errorf("Short = %s, want %s", got, want)
	}
	if i, rest, ok := l.ArgIndex("p.x"); i != 0 || rest != ".x" || !ok {
		t.Errorf("ArgIndex(p.x) = %d, %q, %v", i, rest, ok)
	}
	if _, _, ok := l.ArgIndex("q"); ok {
		t.Error("ArgIndex(q) found something")
	}
}

func TestMissing(t *testing.T) {
	l := &Layout{
		OnEnter: Shape{GPRs: 1},
		Args: []Field{{Name: "gone", Type: 0, Missing: true},
			{Name: "half", Type: 1, Pieces: []Piece{{Size: 4}, {Chunk: PieceMissing, Size: 4}}},
			{Name: "const", Type: 0, Pieces: []Piece{{Chunk: PieceConst, Size: 4, Const: []byte{7, 0, 0, 0}}}}},
		Ret: &Field{Type: 0, Missing: true},
		Types: []Type{{Class: ClassInt, Size: 4, Elem: -1},
			{Class: ClassStruct, Size: 8, Elem: -1, Fields: []TypeField{{Name: "a"}, {Name: "b", Off: 4}}}},
	}
	if got, want := string(l.Enter(words(5)).AppendJSON(nil)),
		`{"gone":"<optimized out>","half":{"a":5,"b":"<optimized out>"},"const":7}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if v, ok := l.Exit(nil, 0, false); !ok || v.Text() != "<optimized out>" {
		t.Errorf("Exit = %v, %v", v, ok)
	}
}

func TestExit(t *testing.T) {
	l := &Layout{OnExit: Shape{GPRs: 1}, Ret: &Field{Type: 0, Pieces: []Piece{{Size: 2}}},
		Types: []Type{{Class: ClassInt, Size: 2, Elem: -1}}}
	size, signed, ok := l.ScalarRet()
	if size != 2 || !signed || !ok {
		t.Fatalf("ScalarRet = %d, %v, %v", size, signed, ok)
	}
	if got := Normalize(0x1234ffff, size, signed); got != -1 {
		t.Errorf("Normalize = %d, want -1", got)
	}
	if got := Normalize(0x1234ffff, 2, false); got != 0xffff {
		t.Errorf("Normalize unsigned = %d", got)
	}
	if v, ok := l.Exit(nil, -5, true); !ok || v.String() != "-5" {
		t.Errorf("Exit = %v, %v", v, ok)
	}
	if _, ok := l.Exit(nil, 0, false); ok {
		t.Error("an exit without a record showed a value")
	}
	if _, ok := (&Layout{}).Exit(nil, 1, true); ok {
		t.Error("a void function showed a value")
	}
}

func TestFuncPtrs(t *testing.T) {
	l := scalarLayout(Type{Class: ClassFuncPtr, Size: 8})
	p := words(0x401000, 0)
	if got := l.CodeStep(); got != 8 {
		t.Errorf("CodeStep = %d", got)
	}
	if got := l.Enter(p)[0].Value.String(); got != "0x401000" {
		t.Errorf("unresolved = %s", got)
	}
	named := l.Annotate(p, func(a uint64) string {
		if a == 0x401000 {
			return "handler"
		}
		return ""
	})
	v := l.Enter(named)[0].Value
	if v.String() != "handler" {
		t.Errorf("resolved = %s", v)
	}
	if n, ok := v.Int64(); !ok || n != 0x401000 {
		t.Errorf("address = %x, %v", n, ok)
	}
	if same := l.Annotate(p, func(uint64) string { return "" }); len(same) != len(p) {
		t.Error("an unknown address was annotated")
	}
}

func TestRustEnum(t *testing.T) {
	// enum E { Num(i32), Pair(u8, u8), Named{x: i32}, Nil } with a 4-byte tag.
	l := &Layout{OnEnter: Shape{GPRs: 2}, Args: []Field{{Name: "e", Pieces: []Piece{{Size: 8}}}}, Types: []Type{
		{Class: ClassVariant, Name: "E", Size: 8, Elem: -1, Discr: TypeField{Type: 1}, Variants: []Variant{
			{Name: "Num", Values: []uint64{0}, Type: 2}, {Name: "Pair", Values: []uint64{1}, Type: 3},
			{Name: "Named", Values: []uint64{2}, Type: 5}, {Name: "Nil", Type: 6}}},
		{Class: ClassUint, Size: 4, Elem: -1},
		{Class: ClassTuple, Size: 8, Elem: -1, Fields: []TypeField{{Name: "__0", Type: 1, Off: 4}}},
		{Class: ClassTuple, Size: 8, Elem: -1, Fields: []TypeField{{Name: "__0", Type: 4, Off: 4},
			{Name: "__1", Type: 4, Off: 5}}},
		{Class: ClassUint, Size: 1, Elem: -1},
		{Class: ClassStruct, Size: 8, Elem: -1, Fields: []TypeField{{Name: "x", Type: 1, Off: 4}}},
		{Class: ClassStruct, Size: 8, Elem: -1},
	}}
	for in, want := range map[uint64]string{7 << 32: `{"Num":7}`, 0x0302<<32 | 1: `{"Pair":[2,3]}`,
		9<<32 | 2: `{"Named":{"x":9}}`, 77: `"Nil"`} {
		if got := string(l.Enter(words(in, 0))[0].Value.AppendJSON(nil)); got != want {
			t.Errorf("%#x = %s, want %s", in, got, want)
		}
	}
}

func TestContainers(t *testing.T) {
	l := &Layout{OnEnter: Shape{Parts: []Part{{Size: 200}}}, Types: []Type{
		{Class: ClassArray, Size: 1000, Elem: 1, Count: 1000}, {Class: ClassUint, Size: 1, Elem: -1},
		{Class: ClassStruct, Size: 1008, Elem: -1,
			Fields: []TypeField{{Name: "a", Type: 3}, {Name: "big", Type: 0, Off: 4}, {Name: "z", Type: 3, Off: 1004}}},
		{Class: ClassInt, Size: 4, Elem: -1},
		{Class: ClassStruct, Size: 8, Elem: -1, Fields: []TypeField{{Name: ":Base", Type: 5}, {Name: "x", Type: 3, Off: 4}}},
		{Class: ClassStruct, Size: 4, Elem: -1, Fields: []TypeField{{Name: "x", Type: 3}}},
	}, Args: []Field{{Name: "s", Type: 2, Pieces: []Piece{{Chunk: 1, Size: 1008}}},
		{Name: "d", Type: 4, Pieces: []Piece{{Chunk: 1, Size: 8}}}}}
	o := l.Enter(make([]byte, 200))
	got := string(o.AppendJSON(nil))
	for _, want := range []string{`"…(+900 elements)"]`, `"…":"+1 members"`, `"d":{"x":0,"x#2":0}`} {
		if !strings.Contains(got, want) {
			t.Errorf("%s lacks %s", got, want)
		}
	}
	if v, ok := o.Path("s.big[99]"); !ok || v.String() != "0" {
		t.Errorf("s.big[99] = %v, %v", v, ok)
	}
	if _, ok := o.Path("s.big[100]"); ok {
		t.Error("s.big[100] was found")
	}
}

// TestNumbersAsTheyAre: integers and floats are given out exactly or not at all.
func TestNumbersAsTheyAre(t *testing.T) {
	for _, c := range []struct {
		v      Value
		signed bool
		uint   bool
	}{{NewInt(-1), true, false}, {NewInt(7), true, true}, {NewUint(1 << 63), false, true}, {NewText("7"), false, false},
		{newInt128(1, 0, false), false, false}, {newAddress(1 << 63), false, true}, {NewFloat(7), false, false}} {
		_, signed := c.v.Int64()
		if n, ok := c.v.Uint64(); signed != c.signed || ok != c.uint || ok && string(c.v.AppendJSON(nil)) != strconv.FormatUint(n, 10) &&
			c.v.Kind() == Int {
			t.Errorf("%v: %v, %d %v", c.v, signed, n, ok)
		}
	}
	if f, ok := NewFloat(0.1).Float(); f != 0.1 || !ok {
		t.Errorf("0.1 is %v, %v", f, ok)
	}
	if _, ok := NewInt(1).Float(); ok {
		t.Error("an integer is a float")
	}
}
