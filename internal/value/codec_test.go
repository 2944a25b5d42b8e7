package value

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestCodec(t *testing.T) {
	l := pointLayout()
	l.Ret = &Field{Name: "return", Type: 3, Pieces: []Piece{{Chunk: PieceConst, Size: 4, Const: []byte{1, 2, 3, 4}}}}
	l.OnExit = Shape{GPRs: 2, Parts: []Part{{Size: 16}, {Eval: true, Size: 9}}}
	l.Out = []Field{{Name: "o", Indirect: true, Off: -8, Walk: 9, Gather: 3}}
	l.ExitWatches = []Field{{Name: "w", Missing: true}}
	l.Types = append(l.Types, Type{Class: ClassVariant, Elem: -1, Discr: TypeField{Type: 3},
		Variants: []Variant{{Name: "A", Values: []uint64{1, 1 << 63}, Type: 2, Off: 8}}, Plain: true},
		Type{Class: ClassDuration, Elem: -1, Num: 1, Den: 1000},
		Type{Class: ClassSpan, Elem: 1, Walk: 5, ElemWalk: 6, Deeper: true},
		Type{Class: ClassEnum, Signed: true, Name: "E", Size: 2, Elem: -1, Enums: []Enumerator{{"x", -3}}})
	for i := range l.Types {
		if l.Types[i].Class != ClassVariant {
			l.Types[i].Discr.Type = -1
		}
	}
	b := l.Marshal()
	back, err := Unmarshal(b)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(l, back, cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(Layout{})); d != "" {
		t.Errorf("read back differs: %s", d)
	}
	for i := range b { // cut anywhere it is an error, never a panic
		if _, err := Unmarshal(b[:i]); err == nil {
			t.Errorf("a layout of %d of %d bytes was read", i, len(b))
		}
	}
}

func FuzzLayout(f *testing.F) {
	f.Add(pointLayout().Marshal(), words(1, 2, 3, 4))
	f.Add(scalarLayout(Type{Class: ClassX87, Size: 16}).Marshal(), words(1, 2))
	f.Add(scalarLayout(Type{Class: ClassFuncPtr, Size: 8}).Marshal(), append(words(1, 2), "FNM1........."...))
	f.Fuzz(func(t *testing.T, layout, payload []byte) {
		l, err := Unmarshal(layout)
		if err != nil {
			return
		}
		o := l.Enter(payload)
		if b := o.AppendJSON(nil); !json.Valid(b) {
			t.Fatalf("no JSON: %s", b)
		}
		_ = o.Short(80)
		if v, ok := l.Exit(payload, 7, true); ok {
			_ = v.String()
		}
		l.Annotate(payload, func(uint64) string { return "f" })
		l.ScalarRet()
		if _, err := Unmarshal(l.Marshal()); err != nil {
			t.Fatalf("does not read back: %v", err)
		}
	})
}

func BenchmarkEnter(b *testing.B) {
	l := &Layout{OnEnter: Shape{GPRs: 2}, Args: []Field{{Name: "a", Pieces: []Piece{{Size: 4}}},
		{Name: "b", Pieces: []Piece{{Off: 8, Size: 4}}}},
		Types: []Type{{Class: ClassInt, Size: 4, Elem: -1}}}
	p := words(1, 2)
	b.ReportAllocs()
	for b.Loop() {
		l.Enter(p)
	}
}
