package value

import (
	"encoding/json"
	"testing"
)

// apartLayout is of a function with a map whose keys and values lie apart, and a pointer to an object that tells its
// type.
func apartLayout() *Layout {
	number := func(class Class, size uint32) Type {
		return Type{Class: class, Size: size, Elem: -1, Discr: TypeField{Type: -1}}
	}
	pairs, object := number(ClassPairs, 24), number(ClassDynamic, 16)
	pairs.Name, pairs.Walk, pairs.Elem, pairs.ElemWalk, pairs.Fields, pairs.Num = "Map", 4, 2, 5, []TypeField{{Type: 3}}, 6
	object.Name, object.Walk = "dyn Trait", 8
	object.Variants = []Variant{{Name: "u16", Type: 4}, {Name: "Named", Type: -1}}
	to := Type{Class: ClassStructPtr, Size: 8, Elem: 3, Walk: 6, Discr: TypeField{Type: -1}}
	return &Layout{Depth: 3, OnEnter: Shape{GPRs: 2, Nodes: true},
		Args: []Field{{Name: "m", Type: 0, Indirect: true, Walk: 3, Pieces: []Piece{{Size: 8}}},
			{Name: "d", Type: 1, Indirect: true, Walk: 7, Pieces: []Piece{{Off: 8, Size: 8}}}},
		Types: []Type{pairs, object, number(ClassInt, 4), number(ClassUint, 2), to}}
}

// made is one node.
func made(addr uint64, walk uint16, data []byte) []byte { return nodeOf(addr, walk, statusOK, data, 0) }

func TestApart(t *testing.T) {
	const m, d = 0x1000, 0x2000
	head := payload(words(m, d), made(m, 3, make([]byte, 24)), made(d, 7, make([]byte, 16)))
	entries := payload(made(0x10, 5, []byte{7, 0, 0, 0}), made(0x20, 6, []byte{1, 1}),
		made(0x14, 5, []byte{255, 255, 255, 255}), made(0x22, 6, []byte{2, 0}))
	for _, c := range []struct {
		name, want string
		bytes      []byte
	}{
		{"shown", `{"m":{"7":257,"-1":2,"…":"+1 elements"},"d":{"type":"u16","value":257}}`,
			payload(head, made(m, 4, words(3, 0x10, 0x20, 0x14, 0x22)), made(d, 8, words(1, 0x20)), entries)},
		{"empty, by name", `{"m":{},"d":{"type":"Named","value":"<Named at 0x20>"}}`,
			payload(head, made(m, 4, words(0)), made(d, 8, words(2, 0x20)))},
		{"half a pair, unknown type", `{"m":{"7":257,"…":"+1 elements"},"d":"<dyn Trait at 0x20>"}`,
			payload(head, made(m, 4, words(2, 0x10, 0x20, 0x14)), made(d, 8, words(3, 0x20)), entries)},
		{"the same key twice, null", `{"m":[[7,257],[7,2]],"d":null}`,
			payload(head, made(m, 4, words(2, 0x10, 0x20, 0x10, 0x22)), made(d, 8, words(0, 0)), entries)},
		{"nothing walked", `{"m":"<Map at 0x1000>","d":"<dyn Trait at 0x2000>"}`, head},
		{"no room for the objects", `{"m":"<Map at 0x1000>","d":"<dyn Trait at 0x2000>"}`, words(m, d)},
		{"no room, from registers", `{"m":"<Map>","d":"<unreadable>"}`, words(GatherAddr(1), 0)},
	} {
		l, err := Unmarshal(apartLayout().Marshal())
		if err != nil {
			t.Fatal(err)
		}
		if got := string(l.Enter(c.bytes).AppendJSON(nil)); got != c.want {
			t.Errorf("%s: Enter = %s, want %s", c.name, got, c.want)
		}
	}
}

func FuzzApart(f *testing.F) {
	head := payload(words(0x1000, 0x2000), made(0x1000, 3, make([]byte, 24)), made(0x2000, 7, make([]byte, 16)))
	f.Add(payload(head, made(0x1000, 4, words(3, 0x10, 0x20)), made(0x2000, 8, words(1, 0x20)),
		made(0x10, 5, []byte{1, 2, 3, 4}), made(0x20, 6, []byte{1, 1})))
	f.Add(payload(head, made(0x1000, 4, words(1<<63, 0x1000, 0x1000)), made(0x2000, 8, words(1<<40, 1))))
	f.Fuzz(func(t *testing.T, b []byte) {
		if out := apartLayout().Enter(b).AppendJSON(nil); !json.Valid(out) {
			t.Fatalf("no JSON: %s", out)
		}
	})
}
