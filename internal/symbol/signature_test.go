package symbol

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/fault"
)

// describe renders a signature as "ret(name type, …)".
func describe(s *Signature) string {
	var ps []string
	for _, p := range s.Params {
		ps = append(ps, p.Name+" "+p.Type.String())
	}
	if s.Variadic {
		ps = append(ps, "...")
	}
	return s.Return.String() + "(" + strings.Join(ps, ", ") + ")"
}

func TestSignatures(t *testing.T) {
	want := map[string]string{
		"geo::by_value": "int(p Point, b Bits, e Either, c Color)",
		"geo::by_ref":   "int(p const Point&, q Point&&, f int()*, m int ::*, arr char[4]&)",
		"geo::many": "double(a char, b short, c long, d float, e double, f long double, g __int128, h bool, i " +
			"wchar_t, s const char*)",
		"geo::Box<int>::get":   "int(this const Box<int>*, n int)",
		"geo::Box<double>::as": "",
		"geo::variadic":        "int(f const char*, ...)",
		"opaque":               "int(o Opaque*, v volatile int*, grid int[3]*)",
		"plain_c":              "int(a int, b int)",
	}
	for _, v := range variants {
		t.Run(v.name, func(t *testing.T) {
			m := open(t, build(t, "shapes.cc", v.compiler, v.flags...), Options{})
			for name, sig := range want {
				fs := byName(m, name)
				if sig == "" || len(fs) == 0 {
					continue
				}
				s, err := m.Signature(fs[0])
				if err != nil {
					t.Errorf("Signature(%s): %v", name, err)
					continue
				}
				got := describe(s)
				// Producers differ in the names of base types and in "this" being const.
				got = strings.NewReplacer("const const ", "const ", "short int", "short", "long int", "long", "Box<int> ",
					"Box<int> ").Replace(got)
				if v.name == "gcc3-O0" { // DWARF 3 has no rvalue references
					sig = strings.ReplaceAll(sig, "&&", "&")
				}
				if got != sig {
					t.Errorf("%s: %s, want %s", name, got, sig)
				}
				if strings.Contains(v.name, "O0") {
					for _, p := range s.Params {
						if p.Loc.Kind != LocExpr || len(p.Loc.Expr) == 0 {
							t.Errorf("%s at -O0: %s is at %+v", name, p.Name, p.Loc)
						}
					}
				}
				if len(s.FrameBase) == 0 {
					t.Errorf("%s has no frame base", name)
				}
			}
		})
	}
}

func TestLocationsAtEntry(t *testing.T) {
	for _, tt := range []struct {
		compiler string
		flags    []string
	}{{"gcc", []string{"-gdwarf-5", "-O2"}}, {"gcc", []string{"-gdwarf-4", "-O2"}},
		{"clang", []string{"-gdwarf-5", "-O2", "-Wno-deprecated-non-prototype"}},
		{"gcc", []string{"-gdwarf-5", "-gsplit-dwarf", "-O2"}}, {"gcc", []string{"-gdwarf-4", "-gsplit-dwarf", "-O2"}},
		{"clang", []string{"-gdwarf-5", "-gsplit-dwarf", "-O2", "-Wno-deprecated-non-prototype"}}} {
		m := open(t, build(t, "values.c", tt.compiler, tt.flags...), Options{})
		const regRDI, regRSI, regXMM0 = 0x55, 0x54, 0x61
		for name, regs := range map[string][]byte{"sum_list": {regRDI}, "vector": {regXMM0}, "die": {regRDI}, "sum": {regRDI},
			"main": {regRDI, regRSI}} {
			s, err := m.Signature(one(t, m, name))
			if err != nil {
				t.Fatal(err)
			}
			for i, r := range regs {
				p := s.Params[i]
				if (p.Loc.Kind != LocEntry && p.Loc.Kind != LocExpr) || len(p.Loc.Expr) != 1 || p.Loc.Expr[0] != r {
					t.Errorf("%s %v: %s.%s is at %+v, want register op %#x", tt.compiler, tt.flags, name, p.Name, p.Loc, r)
				}
				if p.Loc.Kind == LocEntry && p.Loc.Lo > one(t, m, name).Low {
					t.Errorf("%s.%s: range begins behind the entry", name, p.Name)
				}
			}
		}
		if tt.compiler == "gcc" {
			s, err := m.Signature(one(t, m, "partly"))
			if err != nil {
				t.Fatal(err)
			}
			if len(s.Params) != 3 || !s.Optimized {
				t.Fatalf("partly: %s", describe(s))
			}
			if k := s.Params[2].Loc; k.Kind == LocConst && k.Const[0] != 7 {
				t.Errorf("constant parameter = %v, want 7", k.Const)
			}
		}
	}
}

func TestPrototyped(t *testing.T) {
	m := open(t, build(t, "values.c", "gcc", "-g", "-O0"), Options{})
	for name, want := range map[string]bool{"old_style": false, "sum_list": true} {
		if s, err := m.Signature(one(t, m, name)); err != nil || s.Prototyped != want {
			t.Errorf("%s: Prototyped = %v, %v, want %v", name, s.Prototyped, err, want)
		}
	}
	f := one(t, m, "_start")
	if _, err := m.Signature(f); fault.CodeOf(err) != fault.NoDebugSymbols {
		t.Errorf("Signature(_start) = %v, want NO_DEBUG_SYMBOLS", err)
	}
}

func fieldNamed(t *testing.T, typ *Type, name string) Field {
	t.Helper()
	for _, f := range typ.Fields() {
		if f.Name == name {
			return f
		}
	}
	t.Fatalf("%s has no field %s: %+v", typ, name, typ.Fields())
	return Field{}
}

func param(t *testing.T, m *Module, fn, name string) *Type {
	t.Helper()
	s, err := m.Signature(one(t, m, fn))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range s.Params {
		if p.Name == name {
			return p.Type
		}
	}
	t.Fatalf("%s has no parameter %s: %s", fn, name, describe(s))
	return nil
}

func TestTypesCPP(t *testing.T) {
	for _, v := range variants {
		t.Run(v.name, func(t *testing.T) {
			m := open(t, build(t, "shapes.cc", v.compiler, v.flags...), Options{})
			if strings.Contains(v.name, "O2") || strings.Contains(v.name, "lto") {
				return // parameters may have moved to clones; TestSignatures looks at them
			}
			point := param(t, m, "geo::by_value", "p")
			if point.Kind != KindStruct || point.Tag != "struct" || point.Size != 8 || point.QualifiedName() != "geo::Point" {
				t.Errorf("Point: %+v %s", point.Kind, point.QualifiedName())
			}
			if f := fieldNamed(t, point, "y"); f.Off != 4 || f.Static || f.Type.Encoding != EncSigned {
				t.Errorf("Point.y: %+v", f)
			}
			if f := fieldNamed(t, point, "count"); !f.Static {
				t.Errorf("Point.count: %+v", f)
			}
			bits := param(t, m, "geo::by_value", "b")
			for name, want := range map[string][2]int64{"a": {0, 3}, "b": {3, 5}, "c": {8, 40}} {
				if f := fieldNamed(t, bits, name); f.BitOff != want[0] || f.BitSize != want[1] {
					t.Errorf("Bits.%s: bit %d size %d, want %v", name, f.BitOff, f.BitSize, want)
				}
			}
			either := param(t, m, "geo::by_value", "e")
			if c := fieldNamed(t, either, "c"); either.Kind != KindUnion || c.Type.Kind != KindArray || c.Type.Count != 8 ||
				c.Type.Size != 8 {
				t.Errorf("Either: %+v", c.Type)
			}
			color := param(t, m, "geo::by_value", "c")
			es := color.Enumerators()
			if color.Kind != KindEnum || !color.Scoped && v.name != "gcc3-O0" || color.Size != 1 || len(es) != 3 ||
				es[2].Name != "Blue" || es[2].Val&0xff != 250 {
				t.Errorf("Color: %+v %+v", color.Scoped, es)
			}
			box := param(t, m, "geo::Box<int>::get", "this").Strip().Elem().Strip()
			fs := box.Fields()
			if len(fs) < 3 || !fs[0].Base || fs[0].Name != "Base" || fs[0].Off != 0 {
				t.Fatalf("Box<int>: %+v", fs)
			}
			if p := fieldNamed(t, box, "next").Type; p.Kind != KindPointer || p.Elem().QualifiedName() != "geo::Point" ||
				p.Elem().Size != 8 {
				t.Errorf("Box.next: %s size %d", p, p.Elem().Size)
			}
			if id := fieldNamed(t, fs[0].Type, "id"); id.Off != 8 {
				t.Errorf("Base.id: %+v", id)
			}
			grid := param(t, m, "opaque", "grid")
			if g := grid.Elem(); g.Kind != KindArray || g.Count != 3 || g.Size != 12 {
				t.Errorf("grid: %+v", g)
			}
			if o := param(t, m, "opaque", "o").Elem(); !o.Declared || o.Size != -1 {
				t.Errorf("Opaque: %+v", o.Declared)
			}
			f := param(t, m, "geo::by_ref", "f").Elem()
			if ps, variadic := f.Params(); f.Kind != KindFunction || len(ps) != 1 || variadic || f.Elem().Encoding != EncSigned {
				t.Errorf("function pointer: %v", ps)
			}
			if mp := param(t, m, "geo::by_ref", "m"); mp.Kind != KindMemberPointer || mp.Size != 8 {
				t.Errorf("member pointer: %+v", mp.Size)
			}
			if str := param(t, m, "geo::text", "s").Strip().Elem().Strip(); str.Size != 32 &&
				!(v.compiler == "clang++" && str.Declared) ||
				!strings.HasPrefix(str.QualifiedName(), "std::__cxx11::basic_string<") {
				t.Errorf("string: %s size %d", str.QualifiedName(), str.Size)
			}
			if vec := param(t, m, "geo::text", "v").Strip(); vec.Kind == KindStruct && !vec.NonTrivial() {
				t.Errorf("std::vector is not passed by reference: %+v", vec.Passing)
			}
		})
	}
}

func TestTypesC(t *testing.T) {
	for _, flags := range [][]string{{"gcc", "-gdwarf-4"}, {"gcc", "-gdwarf-5"},
		{"clang", "-gdwarf-5", "-Wno-deprecated-non-prototype"}, {"gcc", "-gdwarf-2", "-gstrict-dwarf"}} {
		m := open(t, build(t, "values.c", flags[0], append(flags[1:], "-O0")...), Options{})
		name := fmt.Sprint(flags)
		packed := param(t, m, "pack", "p")
		for f, want := range map[string][2]int64{"a": {0, 4}, "b": {4, 9}} {
			if got := fieldNamed(t, packed, f); got.BitOff != want[0] || got.BitSize != want[1] {
				t.Errorf("%s: packed.%s: bit %d size %d, want %v", name, f, got.BitOff, got.BitSize, want)
			}
		}
		node := param(t, m, "sum_list", "n").Strip().Elem().Strip()
		if next := fieldNamed(t, node, "next").Type.Elem().Strip(); next != node {
			t.Errorf("%s: the list node does not refer to itself: %p %p", name, next, node)
		}
		if arr := fieldNamed(t, node, "name").Type; arr.Count != 12 || !arr.Elem().isChar() {
			t.Errorf("%s: node.name: %s", name, arr)
		}
		vec := param(t, m, "vector", "a").Strip()
		if !vec.Vector || vec.Size != 16 || vec.Count != 4 {
			t.Errorf("%s: vector: %+v", name, vec.Size)
		}
		if z := param(t, m, "turn", "z").Strip(); z.Encoding != EncComplex || z.Size != 16 {
			t.Errorf("%s: complex: %v %d", name, z.Encoding, z.Size)
		}
		if l := param(t, m, "turn", "l").Strip(); len(l.Enumerators()) != 3 || l.Enumerators()[1].Val != 10 {
			t.Errorf("%s: enum: %+v", name, l.Enumerators())
		}
	}
}

func (t *Type) isChar() bool { return t.Encoding == EncSignedChar || t.Encoding == EncUnsignedChar }

func TestNonTrivial(t *testing.T) {
	for _, compiler := range []string{"g++", "clang++"} {
		for _, flag := range []string{"-gdwarf-4", "-gdwarf-5"} {
			m := open(t, build(t, "copying.cc", compiler, flag), Options{})
			n := 0
			for i := range m.Functions() {
				f := &m.Functions()[i]
				want := strings.HasPrefix(f.Name, "y_")
				if !want && !strings.HasPrefix(f.Name, "n_") {
					continue
				}
				n++
				s, err := m.Signature(f)
				if err != nil {
					t.Fatal(err)
				}
				if got := s.Params[0].Type.NonTrivial(); got != want {
					t.Errorf("%s %s: %s: NonTrivial = %v", compiler, flag, f.Name, got)
				}
			}
			if n != 13 {
				t.Errorf("%d functions looked at, want 13", n)
			}
		}
	}
}

func TestTypesRust(t *testing.T) {
	for _, flags := range [][]string{{"-g"}, {"-g", "-Cdwarf-version=5"}, {"-g", "-Csplit-debuginfo=unpacked"},
		{"-g", "-Csymbol-mangling-version=v0"}} {
		m := open(t, build(t, "enums.rs", "rustc", flags...), Options{})
		var fs []*Function
		crate := strings.TrimSuffix(filepath.Base("enums.rs"), ".rs")
		area, err := ParsePattern(crate + "::Shape::area")
		if err != nil {
			t.Fatal(err)
		}
		for i := range m.Functions() {
			if f := &m.Functions()[i]; area.Match(f, "") {
				fs = append(fs, f)
			}
		}
		if len(fs) != 1 {
			t.Fatalf("%v: %d functions match %s", flags, len(fs), area)
		}
		s, err := m.Signature(fs[0])
		if err != nil {
			t.Fatal(err)
		}
		shape := s.Params[0].Type.Elem()
		vp := shape.Variants()
		if vp == nil || vp.Discr == nil || len(vp.Variants) != 4 || vp.Discr.Type.Size != 8 {
			t.Fatalf("%v: Shape: %+v", flags, vp)
		}
		var got []string
		for _, v := range vp.Variants {
			got = append(got, v.Name)
		}
		if fmt.Sprint(got) != "[Empty Circle Rect Named]" {
			t.Errorf("%v: variants %v", flags, got)
		}
		circle := vp.Variants[1]
		if len(circle.Fields) != 1 || len(circle.Discr) != 1 ||
			fieldNamed(t, circle.Fields[0].Type, "r").Type.Encoding != EncFloat {
			t.Errorf("%v: Circle: %+v", flags, circle)
		}
		g := one(t, m, crate+"::inner::go")
		sig, err := m.Signature(g)
		if err != nil {
			t.Fatal(err)
		}
		if d := describe(sig); d != "i64(a i32, s &str, v &[u16], o Option<u32>, b alloc::boxed::Box<i64, "+
			"alloc::alloc::Global>, w u128, c char)" &&
			d != "i64(a i32, s &str, v &[u16], o Option<u32>, b i64*, w u128, c char)" {
			t.Errorf("%v: %s", flags, d)
		}
		if filepath.Base(g.File) != "enums.rs" || g.Line != 18 {
			t.Errorf("%v: inner::go is at %s:%d", flags, g.File, g.Line)
		}
	}
}
