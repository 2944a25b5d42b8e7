package sigcorpus

import (
	"encoding/json"
	"fmt"
	"strings"
)

// codePointer is a pointer to a function, shown by name.
func (g *gen) codePointer() kind {
	name := g.id("FP")
	fmt.Fprintf(&g.decls, "typedef int (*%s)(int, double);\n", name)
	return kind{name: name, gen: func() sample {
		if g.IntN(6) == 0 {
			return sample{"0", "null"}
		}
		to := g.id("callee")
		fmt.Fprintf(&g.decls, "%sint %s(int a, double b) { return a + (int)b + %d; }\n", pick(g, []string{"", "static "}), to,
			g.next)
		return sample{to, quoteJSON(to)}
	}}
}

// unicode is a character type of C++ or <uchar.h>.
func (g *gen) unicode() kind {
	name := pick(g, []string{"char16_t", "char32_t", "wchar_t"})
	prefix := map[string]string{"char16_t": "u", "char32_t": "U", "wchar_t": "L"}[name]
	return kind{name: name, gen: func() sample {
		r := pick(g, []rune{'a', 'Z', 'ß', '語', '~'})
		if name != "char16_t" && g.IntN(4) == 0 {
			r = '😀'
		}
		return sample{prefix + "'" + string(r) + "'", quoteJSON(string(r))}
	}}
}

// oddChar is a char that is no printable ASCII.
func (g *gen) oddChar() kind {
	return kind{name: "char", gen: func() sample {
		if g.IntN(2) == 0 {
			n := 128 + g.IntN(128)
			return sample{fmt.Sprintf(`'\x%02x'`, n), fmt.Sprintf(`"\\x%02x"`, n)}
		}
		return pick(g, []sample{{`'\n'`, `"\n"`}, {`'\\'`, `"\\"`}, {`'"'`, `"\""`}, {`' '`, `" "`}})
	}}
}

// flags is an enum of single bits; combinations show as A|B, other numbers as such.
func (g *gen) flags() kind {
	name := g.id("F")
	fmt.Fprintf(&g.decls, "enum %[1]s { %[1]s_A = 1, %[1]s_B = 2, %[1]s_C = 64, %[1]s_D = 0x40000000 };\n", name)
	return kind{name: g.tag("enum", name), plain: true, gen: func() sample {
		s := pick(g, []sample{{"3", `"%s_A|%[1]s_B"`}, {"66", `"%s_B|%[1]s_C"`}, {"0x40000040", `"%s_C|%[1]s_D"`},
			{"64", `"%s_C"`}, {"12", "12"}, {"0", "0"}})
		if strings.Contains(s.json, "%") {
			s.json = fmt.Sprintf(s.json, name)
		}
		return sample{fmt.Sprintf("(%s)%s", g.tag("enum", name), s.lit), s.json}
	}}
}

// wideEnum needs more than 32 bits.
func (g *gen) wideEnum() kind {
	name := g.id("W")
	fmt.Fprintf(&g.decls, "enum %[1]s { %[1]s_A = 5, %[1]s_B = 0x123456789abcll };\n", name)
	return kind{name: g.tag("enum", name), plain: true, gen: func() sample {
		v := name + pick(g, []string{"_A", "_B"})
		return sample{v, quoteJSON(v)}
	}}
}

// text is a C string with more than letters, or longer than what is shown.
func (g *gen) text() kind {
	return kind{name: "const char *", gen: func() sample {
		if g.live && g.IntN(3) == 0 {
			n := 1020 + g.IntN(900)
			shown := strings.Repeat("x", min(n, 1024))
			if n > 1024 {
				shown += fmt.Sprintf("…(+%d bytes)", n-1024)
			}
			return sample{`"` + strings.Repeat("x", n) + `"`, quoteJSON(shown)}
		}
		s := pick(g, []string{"", "tab\tquote\"back\\", "größe 語 😀", "two\nlines", "a/b<c>&d", "\x01\x1f"})
		b := new(strings.Builder)
		enc := json.NewEncoder(b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(s); err != nil {
			panic(err) // a string always encodes
		}
		lit := ""
		for _, c := range []byte(s) {
			lit += fmt.Sprintf(`\%03o`, c)
		}
		return sample{`"` + lit + `"`, strings.TrimSpace(b.String())}
	}}
}

// smallVector and wideVector are SIMD values of 8 and 32 bytes.
func (g *gen) smallVector() kind {
	return g.vectorOf("short", 4, 8, func() sample { n := g.bigInt(16, true); return sample{n.String(), n.String()} })
}

func (g *gen) wideVector() kind {
	return g.vectorOf("double", 4, 32, func() sample { s := g.number(); return sample{s, trimNumber(s)} })
}

func (g *gen) vectorOf(elem string, n, size int, one func() sample) kind {
	name := g.id("V")
	fmt.Fprintf(&g.decls, "typedef %s %s __attribute__((vector_size(%d)));\n", elem, name, size)
	return kind{name: name, gen: func() sample {
		var lits, jsons []string
		for range n {
			s := one()
			lits, jsons = append(lits, s.lit), append(jsons, s.json)
		}
		return sample{"{" + strings.Join(lits, ", ") + "}", "[" + strings.Join(jsons, ",") + "]"}
	}}
}

// matrix is an array of arrays, a member of structs.
func (g *gen) matrix() kind {
	t := g.element()
	n, m := 1+g.IntN(3), 1+g.IntN(3)
	return kind{name: t.name, array: fmt.Sprintf("[%d][%d]", n, m), gen: func() sample {
		var lits, jsons []string
		for range n {
			s := g.elements(t, m)
			lits, jsons = append(lits, s.lit), append(jsons, s.json)
		}
		return sample{"{" + strings.Join(lits, ", ") + "}", "[" + strings.Join(jsons, ",") + "]"}
	}}
}

// element is a scalar for arrays. Arrays of char are text: they have letters only.
func (g *gen) element() kind {
	if t := g.scalar(); t.name != "char" {
		return t
	}
	return g.char()
}

// elements are n values of one type, as an array shows them.
func (g *gen) elements(t kind, n int) sample {
	var lits, jsons []string
	for range n {
		v := t.gen()
		lits, jsons = append(lits, v.lit), append(jsons, v.json)
	}
	s := sample{"{" + strings.Join(lits, ", ") + "}", "[" + strings.Join(jsons, ",") + "]"}
	if t.name == "char" { // text
		s.json = `"` + strings.ReplaceAll(strings.Join(jsons, ""), `"`, "") + `"`
	}
	return s
}

// objects is an array of structs, a member of structs.
func (g *gen) objects() kind {
	t := g.plainStruct()
	n := 1 + g.IntN(3)
	return kind{name: t.name, array: fmt.Sprintf("[%d]", n), gen: func() sample { return g.elements(t, n) }}
}

// plainStruct is a struct of integers and doubles.
func (g *gen) plainStruct() kind {
	name := g.id("S")
	fields := []kind{g.integer("int", 32, true), g.float("double", ""), g.integer("unsigned char", 8, false)}[g.IntN(2):]
	decl := ""
	for i, f := range fields {
		decl += fmt.Sprintf(" %s m%d;", f.name, i)
	}
	fmt.Fprintf(&g.decls, "struct %s {%s };\n", name, decl)
	return kind{name: g.tag("struct", name), gen: func() sample { return g.members(fields, "") }}
}

// unnamed is a struct with members of no name, whose own members count as its own.
func (g *gen) unnamed() kind {
	name := g.id("A")
	fmt.Fprintf(&g.decls, "struct %s { int m0; union { unsigned m1; unsigned char m2; }; struct { short m3; long m4; "+
		"}; };\n", name)
	return kind{name: g.tag("struct", name), gen: func() sample {
		a, u, s, l := g.bigInt(31, false), g.Uint32(), g.bigInt(15, false), g.bigInt(63, false)
		return sample{fmt.Sprintf("{%s, {%du}, {%s, %s}}", a, u, s, l),
			fmt.Sprintf(`{"m0":%s,"m1":%d,"m2":%d,"m3":%s,"m4":%s}`, a, u, u&255, s, l)}
	}}
}

// mixedBits has bit-fields of several types, next to other members and across units.
func (g *gen) mixedBits() kind {
	name := g.id("B")
	e := g.enumOf(" : unsigned char")
	boolean := "bool"
	enum, ebits := e.name, 8
	if !g.cpp {
		ebits = 32
	}
	fmt.Fprintf(&g.decls, "struct %s { unsigned char m0 : 3; %s m1 : 1; long long m2 : 41; short m3; unsigned long m4 : "+
		"60; int : 0; %s m5 : %d; int m6; };\n",
		name, boolean, enum, ebits)
	return kind{name: g.tag("struct", name), gen: func() sample {
		a, b, c, d, f, h := g.bigInt(3, false), g.boolean().gen(), g.bigInt(41, true), g.bigInt(16, true),
			g.bigInt(60, false), g.bigInt(32, true)
		v := e.gen()
		return sample{fmt.Sprintf("{%s, %s, %sll, (short)%s, %sul, %s, (int)%sll}", a, b.lit, c, d, f, v.lit, h),
			fmt.Sprintf(`{"m0":%s,"m1":%s,"m2":%s,"m3":%s,"m4":%s,"m5":%s,"m6":%s}`, a, b.json, c, d, f, v.json, h)}
	}}
}

// enumOf is an enum whose names all fit eight bits.
func (g *gen) enumOf(base string) kind {
	name := g.id("E")
	if !g.cpp {
		base = ""
	}
	fmt.Fprintf(&g.decls, "enum %[1]s%[2]s { %[1]s_A = 3, %[1]s_B = 9, %[1]s_C = 200 };\n", name, base)
	return kind{name: g.tag("enum", name), plain: true, gen: func() sample {
		v := name + pick(g, []string{"_A", "_B", "_C"})
		return sample{v, quoteJSON(v)}
	}}
}

// memberPointer is a C++ pointer to data member: its offset, or null.
func (g *gen) memberPointer() kind {
	name, class := g.id("MP"), g.id("S")
	fmt.Fprintf(&g.decls, "struct %[2]s { int a; int b; int c; };\ntypedef int %[2]s::*%[1]s;\n", name, class)
	return kind{name: name, gen: func() sample {
		switch k := g.IntN(4); k {
		case 3:
			return sample{"nullptr", "null"}
		default:
			return sample{fmt.Sprintf("&%s::%c", class, 'a'+k), fmt.Sprint(4 * k)}
		}
	}}
}

// polymorphic has a virtual function, so that it is passed by a hidden pointer; its vtable pointer is not shown.
func (g *gen) polymorphic() kind {
	name := g.id("P")
	fmt.Fprintf(&g.decls, "struct %[1]s { virtual int v() { return m0; } int m0; double m1; %[1]s(int a = 0, double b = "+
		"0) : m0(a), m1(b) {} };\n", name)
	return g.intAndDouble(name)
}

// destroyed has a destructor, and nothing else that makes it non-trivial.
func (g *gen) destroyed() kind {
	name := g.id("X")
	fmt.Fprintf(&g.decls, "struct %[1]s { int m0; double m1; ~%[1]s() { m0 = -1; } };\n", name)
	return g.intAndDouble(name)
}

// defaulted says that its copy constructor is the compiler's own, so that it is passed in registers.
func (g *gen) defaulted() kind {
	name := g.id("Y")
	fmt.Fprintf(&g.decls, "class %[1]s { int m0; double m1; public: %[1]s(int a = 0, double b = 0) : m0(a), m1(b) {} "+
		"%[1]s(const %[1]s &) = default; %[1]s &operator=(const %[1]s &) = default; };\n", name)
	return g.intAndDouble(name)
}

func (g *gen) intAndDouble(name string) kind {
	return kind{name: name, gen: func() sample {
		n, f := g.bigInt(31, false), g.number()
		return sample{fmt.Sprintf("{%s, %s}", n, f), fmt.Sprintf(`{"m0":%s,"m1":%s}`, n, trimNumber(f))}
	}}
}

// twoBases inherits from two classes.
func (g *gen) twoBases() kind {
	a, b, name := g.id("S"), g.id("S"), g.id("D")
	fmt.Fprintf(&g.decls, "struct %s { int m0; };\nstruct %s { double m1; char m2; };\nstruct %s : %s, %s { short "+
		"m3; };\n", a, b, name, a, b)
	return kind{name: name, gen: func() sample {
		n, f, s := g.bigInt(31, false), g.number(), g.bigInt(15, false)
		return sample{fmt.Sprintf("{{%s}, {%s, 'q'}, %s}", n, f, s),
			fmt.Sprintf(`{"m0":%s,"m1":%s,"m2":"q","m3":%s}`, n, trimNumber(f), s)}
	}}
}
