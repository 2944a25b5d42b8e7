package sigcorpus

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
)

// denormal is the double whose bits are n.
func denormal(n uint64) string {
	f := math.Float64frombits(n)
	if f == 0 {
		return "0"
	}
	return strconv.FormatFloat(f, 'e', -1, 64)
}

// GenerateRust returns a Rust program of n functions f1…fn.
func GenerateRust(seed uint64, n int) (source string, cases []Case) {
	return generateRust(&gen{Rand: rand.New(rand.NewPCG(seed, 2))}, n)
}

func generateRust(g *gen, n int) (source string, cases []Case) {
	for i := 1; i <= n; i++ {
		g.rustFunction(i)
	}
	return "#![allow(dead_code, unused, non_camel_case_types, non_snake_case, improper_ctypes_definitions)]\nuse " +
		"std::hint::black_box;\n" +
		g.decls.String() + g.funcs.String() + "fn main() {\n" + g.calls.String() + "}\n", g.cases
}

func (g *gen) rustFunction(i int) {
	c := Case{Func: fmt.Sprintf("f%d", i)}
	var params, args, body []string
	style := g.IntN(3)
	for k := 0; k < g.IntN(8); k++ {
		t := g.rustType()
		if g.IntN(5) == 0 {
			t = g.rustRef(t)
		}
		v := t.gen()
		params = append(params, fmt.Sprintf("p%d: %s", k, t.name))
		args = append(args, "black_box("+v.lit+")")
		c.Args = append(c.Args, Arg{fmt.Sprintf("p%d", k), v.json})
		if style == 0 || style == 1 && k%2 == 0 {
			body = append(body, fmt.Sprintf("black_box(&p%d);", k))
		}
	}
	ret := ""
	if g.IntN(6) > 0 {
		t := g.rustType()
		v := t.gen()
		ret, c.Ret = " -> "+t.name, v.json
		body = append(body, "black_box("+v.lit+")")
	}
	c.Signature = fmt.Sprintf("fn f%d(%s)%s", i, strings.Join(params, ", "), ret)
	extern := pick(g, []string{"", "", "", "", "extern \"C\" "})
	fmt.Fprintf(&g.funcs, "#[inline(never)] %s%s { %s }\n", extern, c.Signature, strings.Join(body, " "))
	fmt.Fprintf(&g.calls, "    black_box(f%d(%s));\n", i, strings.Join(args, ", "))
	g.cases = append(g.cases, c)
}

func (g *gen) rustInteger(name string, bits uint, signed bool) kind {
	return kind{name: name, gen: func() sample {
		n := g.bigInt(bits, signed)
		if n.Sign() < 0 && n.BitLen() == int(bits) { // the literal -MIN does not parse
			return sample{name + "::MIN", n.String()}
		}
		return sample{"(" + n.String() + name + ")", n.String()}
	}}
}

func (g *gen) rustScalar() kind {
	ints := []struct {
		name   string
		bits   uint
		signed bool
	}{{"u8", 8, false}, {"i8", 8, true}, {"u16", 16, false}, {"i16", 16, true}, {"u32", 32, false}, {"i32", 32, true},
		{"u64", 64, false}, {"i64", 64, true}, {"usize", 64, false}, {"isize", 64, true}, {"u128", 128, false},
		{"i128", 128, true}}
	switch g.IntN(8) {
	case 0:
		return kind{name: "f32", gen: func() sample { s := g.number(); return sample{"(" + s + "f32)", trimNumber(s)} }}
	case 1:
		return kind{name: "f64", gen: func() sample { s := g.number(); return sample{"(" + s + "f64)", trimNumber(s)} }}
	case 2:
		return g.boolean()
	case 3:
		return kind{name: "char", gen: func() sample {
			r := pick(g, []rune{'a', 'ß', '語', '😀', 'Z'})
			return sample{fmt.Sprintf("'%c'", r), quoteJSON(string(r))}
		}}
	}
	n := pick(g, ints)
	return g.rustInteger(n.name, n.bits, n.signed)
}

func (g *gen) rustType() kind {
	g.depth++
	defer func() { g.depth-- }()
	if g.depth > 3 {
		return g.rustScalar()
	}
	if g.owned && g.IntN(2) == 0 {
		return g.rustOwned()
	}
	switch g.IntN(14) {
	case 0, 1:
		return g.rustTuple()
	case 2, 3:
		return g.rustStruct()
	case 4:
		return g.rustArray()
	case 5:
		return g.rustOption()
	case 6:
		return g.rustResult()
	case 7:
		return g.rustEnum()
	case 8:
		return g.rustPlainEnum()
	}
	return g.rustScalar()
}

func (g *gen) rustTuple() kind {
	var ts []kind
	name := "("
	for i := 0; i < 2+g.IntN(3); i++ {
		t := g.rustType()
		ts = append(ts, t)
		name += t.name + ", "
	}
	return kind{name: name + ")", gen: func() sample {
		lit, json := "(", []string{}
		for _, t := range ts {
			v := t.gen()
			lit += v.lit + ", "
			json = append(json, v.json)
		}
		return sample{lit + ")", "[" + strings.Join(json, ",") + "]"}
	}}
}

func (g *gen) rustStruct() kind {
	name := g.id("S")
	var ts []kind
	decl := ""
	for i := 0; i < 1+g.IntN(4); i++ {
		t := g.rustType()
		ts = append(ts, t)
		decl += fmt.Sprintf(" pub m%d: %s,", i, t.name)
	}
	fmt.Fprintf(&g.decls, "%s%spub struct %s {%s }\n", pick(g, []string{"", "", "#[repr(C)] "}), g.copied(), name, decl)
	return kind{name: name, gen: func() sample {
		var lits, jsons []string
		for i, t := range ts {
			v := t.gen()
			lits = append(lits, fmt.Sprintf("m%d: %s", i, v.lit))
			jsons = append(jsons, fmt.Sprintf(`"m%d":%s`, i, v.json))
		}
		return sample{name + " { " + strings.Join(lits, ", ") + " }", "{" + strings.Join(jsons, ",") + "}"}
	}}
}

func (g *gen) rustArray() kind {
	t := g.rustScalar()
	n := 1 + g.IntN(5)
	return kind{name: fmt.Sprintf("[%s; %d]", t.name, n), gen: func() sample {
		var lits, jsons []string
		for i := 0; i < n; i++ {
			v := t.gen()
			lits, jsons = append(lits, v.lit), append(jsons, v.json)
		}
		return sample{"[" + strings.Join(lits, ", ") + "]", "[" + strings.Join(jsons, ",") + "]"}
	}}
}

func (g *gen) rustOption() kind {
	t := g.rustType()
	return kind{name: "Option<" + t.name + ">", gen: func() sample {
		if g.IntN(3) == 0 {
			return sample{"None::<" + t.name + ">", "null"}
		}
		v := t.gen()
		return sample{"Some::<" + t.name + ">(" + v.lit + ")", around("Some", v.json)}
	}}
}

// around is how what holds a value is shown: as the value, unless that is null.
func around(name, json string) string {
	if json == "null" {
		return `{"` + name + `":null}`
	}
	return json
}

func (g *gen) rustResult() kind {
	a, b := g.rustType(), g.rustScalar()
	return kind{name: "Result<" + a.name + ", " + b.name + ">", gen: func() sample {
		full := "::<" + a.name + ", " + b.name + ">("
		if g.IntN(2) == 0 {
			v := a.gen()
			return sample{"Ok" + full + v.lit + ")", `{"Ok":` + v.json + `}`}
		}
		v := b.gen()
		return sample{"Err" + full + v.lit + ")", `{"Err":` + v.json + `}`}
	}}
}

func (g *gen) rustPlainEnum() kind {
	name := g.id("C")
	fmt.Fprintf(&g.decls, "#[derive(Clone, Copy)] pub enum %s { A = %d, Bb = %d, Ccc = %d }\n", name, g.IntN(50)-50,
		g.IntN(50), 50+g.IntN(1000))
	return kind{name: name, gen: func() sample {
		v := pick(g, []string{"A", "Bb", "Ccc"})
		return sample{name + "::" + v, quoteJSON(v)}
	}}
}

func (g *gen) rustEnum() kind {
	name := g.id("E")
	a, b, c := g.rustType(), g.rustScalar(), g.rustScalar()
	fmt.Fprintf(&g.decls, g.copied()+"pub enum %s { One(%s), Two(%s, %s), Three { x: %s }, Nil }\n", name, a.name, b.name,
		c.name, b.name)
	return kind{name: name, gen: func() sample {
		switch g.IntN(4) {
		case 0:
			v := a.gen()
			return sample{name + "::One(" + v.lit + ")", `{"One":` + v.json + `}`}
		case 1:
			v, w := b.gen(), c.gen()
			return sample{name + "::Two(" + v.lit + ", " + w.lit + ")", `{"Two":[` + v.json + "," + w.json + `]}`}
		case 2:
			v := b.gen()
			return sample{name + "::Three { x: " + v.lit + " }", `{"Three":{"x":` + v.json + `}}`}
		}
		return sample{name + "::Nil", `"Nil"`}
	}}
}

// copied is the attribute of types that are copied.
func (g *gen) copied() string {
	if g.owned {
		return ""
	}
	return "#[derive(Clone, Copy)] "
}

// rustRef is a shared reference, shown as what it refers to.
func (g *gen) rustRef(t kind) kind {
	return kind{name: "&" + t.name, gen: func() sample {
		v := t.gen()
		return sample{"&" + v.lit, v.json}
	}}
}
