package sigcorpus

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// GenerateRustOwned is GenerateRust with types that are moved: boxes, text, vectors, what has a niche in a pointer or
// in a number, structs that are newtypes, packed, generic, or of up to 64 bytes of members of every size, and pairs of
// all of them.
func GenerateRustOwned(seed uint64, n int) (source string, cases []Case) {
	return generateRust(&gen{Rand: rand.New(rand.NewPCG(seed, 3)), owned: true}, n)
}

func (g *gen) rustOwned() kind {
	switch g.IntN(14) {
	case 0:
		return g.rustBox()
	case 1, 2:
		return g.rustNone(g.rustBox())
	case 3:
		return g.rustText()
	case 4:
		return g.rustNone(g.rustText())
	case 5:
		return g.rustVec()
	case 6:
		return g.rustNonZero()
	case 7, 8:
		return g.rustNone(g.rustNonZero())
	case 9:
		return g.rustNewtype()
	case 10:
		return g.rustWide()
	case 11:
		return g.rustPair()
	case 12:
		return g.rustNiches()
	}
	return g.rustPacked()
}

func (g *gen) rustBox() kind {
	t := g.rustType()
	return kind{name: "Box<" + t.name + ">", gen: func() sample {
		v := t.gen()
		return sample{"Box::<" + t.name + ">::new(" + v.lit + ")", v.json}
	}}
}

// rustNone is an Option.
func (g *gen) rustNone(t kind) kind {
	return kind{name: "Option<" + t.name + ">", gen: func() sample {
		if g.IntN(3) == 0 {
			return sample{"None::<" + t.name + ">", "null"}
		}
		v := t.gen()
		return sample{"Some::<" + t.name + ">(" + v.lit + ")", around("Some", v.json)}
	}}
}

func (g *gen) rustText() kind {
	form := pick(g, [][2]string{{"String", "String::from(%s)"}, {"&'static str", "%s"},
		{"Box<str>", "Box::<str>::from(%s)"}})
	return kind{name: form[0], gen: func() sample {
		s := quoteJSON(pick(g, []string{"", "a", "text", "größe", "twenty-four letters long"}))
		return sample{fmt.Sprintf(form[1], s), s}
	}}
}

func (g *gen) rustVec() kind {
	t := g.rustType()
	box := g.IntN(3) == 0
	return kind{name: map[bool]string{false: "Vec<" + t.name + ">", true: "Box<[" + t.name + "]>"}[box],
		gen: func() sample {
			var lits, jsons []string
			for range g.IntN(4) {
				v := t.gen()
				lits, jsons = append(lits, v.lit), append(jsons, v.json)
			}
			lit := "Vec::<" + t.name + ">::from([" + strings.Join(lits, ", ") + "])"
			if box {
				lit += ".into_boxed_slice()"
			}
			return sample{lit, "[" + strings.Join(jsons, ",") + "]"}
		}}
}

func (g *gen) rustNonZero() kind {
	bits := pick(g, []uint{8, 16, 32, 64})
	of := fmt.Sprintf("u%d", bits)
	return kind{name: "std::num::NonZero<" + of + ">", gen: func() sample {
		n := g.Uint64()>>(64-bits) | 1
		return sample{fmt.Sprintf("std::num::NonZero::<%s>::new(%d).unwrap()", of, n), fmt.Sprint(n)}
	}}
}

// rustNewtype is a struct of one member without a name, shown as that member.
func (g *gen) rustNewtype() kind {
	t, name := g.rustType(), g.id("N")
	fmt.Fprintf(&g.decls, "%spub struct %s(pub %s);\n", pick(g, []string{"", "#[repr(transparent)] "}), name, t.name)
	return kind{name: name, gen: func() sample {
		v := t.gen()
		return sample{name + "(" + v.lit + ")", v.json}
	}}
}

// rustWide is a struct of 1 to 64 bytes of small members.
func (g *gen) rustWide() kind {
	name, decl := g.id("W"), ""
	var ts []kind
	for range 1 + g.IntN(8) {
		t := g.rustScalar()
		decl += fmt.Sprintf(" pub m%d: %s,", len(ts), t.name)
		ts = append(ts, t)
	}
	fmt.Fprintf(&g.decls, "%spub struct %s {%s }\n", pick(g, []string{"", "", "#[repr(C)] "}), name, decl)
	return kind{name: name, gen: func() sample { return members(name, ts) }}
}

func members(name string, ts []kind) sample {
	var lits, jsons []string
	for i, t := range ts {
		v := t.gen()
		lits = append(lits, fmt.Sprintf("m%d: %s", i, v.lit))
		jsons = append(jsons, fmt.Sprintf(`"m%d":%s`, i, v.json))
	}
	return sample{name + " { " + strings.Join(lits, ", ") + " }", "{" + strings.Join(jsons, ",") + "}"}
}

// rustPair is a generic struct of two, which the ABI passes in two registers where both are scalars.
func (g *gen) rustPair() kind {
	a, b := g.rustType(), g.rustType()
	if !strings.Contains(g.decls.String(), "pub struct Both<") {
		g.decls.WriteString("pub struct Both<A, B> { pub m0: A, pub m1: B }\n")
	}
	full := "Both<" + a.name + ", " + b.name + ">"
	return kind{name: full, gen: func() sample { return members("Both::<"+a.name+", "+b.name+">", []kind{a, b}) }}
}

// rustNiches is an enum whose variants without members have the values that a member's type has not.
func (g *gen) rustNiches() kind {
	name := g.id("M")
	t := pick(g, []func() kind{g.boolean, g.rustNonZero, g.rustText, g.rustPlainEnum, g.rustBox})()
	more := g.rustScalar()
	fmt.Fprintf(&g.decls, "pub enum %s { Empty, Full(%s), More { a: %s }, Last }\n", name, t.name, more.name)
	return kind{name: name, gen: func() sample {
		switch g.IntN(4) {
		case 0:
			return sample{name + "::Empty", `"Empty"`}
		case 1:
			v := more.gen()
			return sample{name + "::More { a: " + v.lit + " }", `{"More":{"a":` + v.json + `}}`}
		case 2:
			return sample{name + "::Last", `"Last"`}
		}
		v := t.gen()
		return sample{name + "::Full(" + v.lit + ")", `{"Full":` + v.json + `}`}
	}}
}

func (g *gen) rustPacked() kind {
	name, decl := g.id("P"), ""
	var ts []kind
	for range 2 + g.IntN(3) {
		t := g.rustScalar()
		decl += fmt.Sprintf(" pub m%d: %s,", len(ts), t.name)
		ts = append(ts, t)
	}
	fmt.Fprintf(&g.decls, "#[repr(C, packed%s)] pub struct %s {%s }\n", pick(g, []string{"", "(2)", "(4)"}), name, decl)
	return kind{name: name, gen: func() sample { return members(name, ts) }}
}
