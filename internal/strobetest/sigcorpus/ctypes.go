package sigcorpus

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// integer returns a kind of bits bits.
func (g *gen) integer(name string, bits uint, signed bool) kind {
	return kind{name: name, plain: true, gen: func() sample {
		n := g.bigInt(bits, signed)
		return sample{cInteger(name, n, bits), n.String()}
	}}
}

// bigInt returns a number of that width, often at its edges.
func (g *gen) bigInt(bits uint, signed bool) *big.Int {
	n := new(big.Int)
	switch g.IntN(6) {
	case 0:
		n.SetInt64(int64(g.IntN(3)))
	case 1:
		n.Lsh(big.NewInt(1), bits-1) // the sign bit alone
	case 2:
		n.Sub(n.Lsh(big.NewInt(1), bits), big.NewInt(1))
	default:
		for i := uint(0); i < bits; i += 32 {
			n.Or(n.Lsh(n, 32), big.NewInt(int64(g.Uint32())))
		}
	}
	n.And(n, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), bits), big.NewInt(1)))
	if signed && n.Bit(int(bits-1)) == 1 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), bits))
	}
	return n
}

func cInteger(name string, n *big.Int, bits uint) string {
	if bits <= 64 {
		u := new(big.Int).And(n, new(big.Int).SetUint64(1<<64-1))
		return fmt.Sprintf("(%s)%#xull", name, u)
	}
	u := new(big.Int).Add(n, new(big.Int).Lsh(big.NewInt(1), 128))
	hi := new(big.Int).And(new(big.Int).Rsh(u, 64), new(big.Int).SetUint64(1<<64-1))
	lo := new(big.Int).And(u, new(big.Int).SetUint64(1<<64-1))
	return fmt.Sprintf("("+name+")((unsigned __int128)%#xull << 64 | %#xull)", hi, lo)
}

// float returns a kind whose values every width holds exactly.
func (g *gen) float(name, suffix string) kind {
	return kind{name: name, gen: func() sample {
		s := g.number()
		return sample{s + suffix, trimNumber(s)}
	}}
}

func (g *gen) number() string {
	return strconv.FormatFloat(float64(g.IntN(2000001)-1000000)/8, 'f', 3, 64)
}

// trimNumber is the shortest form of a decimal.
func trimNumber(s string) string {
	f, _ := strconv.ParseFloat(s, 64)
	return strconv.FormatFloat(f, 'f', -1, 64)
}

func (g *gen) complex(name, suffix string) kind {
	return kind{name: name, gen: func() sample {
		a, b := g.number(), g.number()
		lit := fmt.Sprintf("__builtin_complex(%s%s, %s%s)", a, suffix, b, suffix)
		if g.cpp { // which has imaginary literals instead
			lit = fmt.Sprintf("(%s%s + %si%s)", a, suffix, b, suffix)
		}
		return sample{lit, fmt.Sprintf(`{"re":%s,"im":%s}`, trimNumber(a), trimNumber(b))}
	}}
}

func (g *gen) char() kind {
	return kind{name: "char", gen: func() sample {
		c := 'a' + g.IntN(26)
		return sample{fmt.Sprintf("'%c'", c), quoteJSON(string(rune(c)))}
	}}
}

func (g *gen) boolean() kind {
	return kind{name: "bool", gen: func() sample {
		if g.IntN(2) == 0 {
			return sample{"true", "true"}
		}
		return sample{"false", "false"}
	}}
}

func (g *gen) pointer() kind {
	name := pick(g, []string{"void *", "int *", "const double *", "void **"})
	return kind{name: name, gen: func() sample {
		if g.IntN(6) == 0 {
			return sample{"0", "null"}
		}
		a := g.Uint64N(1 << 47)
		return sample{fmt.Sprintf("(%s)%#x", name, a), quoteJSON(fmt.Sprintf("%#x", a))}
	}}
}

func (g *gen) enum() kind {
	name := g.id("E")
	key, scope := "enum ", ""
	if g.cpp && g.IntN(2) == 0 {
		key, scope = "enum class ", name+"::"
	}
	base := ""
	if g.cpp && g.IntN(2) == 0 {
		base = pick(g, []string{" : unsigned char", " : short", " : long", " : signed char"})
	}
	n := 1 + g.IntN(4)
	var names []string
	for i := 0; i < n; i++ {
		names = append(names, fmt.Sprintf("%s_%c", name, 'A'+i))
	}
	first := g.IntN(40) - 20
	if base == " : unsigned char" {
		first += 20
	}
	fmt.Fprintf(&g.decls, "%s%s%s { %s = %d%s };\n", key, name, base, names[0], first,
		strings.Join(append([]string{""}, names[1:]...), ", "))
	full := name
	if !g.cpp {
		full = "enum " + name
	}
	return kind{name: full, gen: func() sample {
		i := g.IntN(n)
		return sample{scope + names[i], quoteJSON(names[i])}
	}}
}

func (g *gen) scalar() kind {
	list := []func() kind{
		g.boolean, g.char, g.pointer, g.enum,
		func() kind { return g.integer("signed char", 8, true) },
		func() kind { return g.integer("unsigned char", 8, false) },
		func() kind { return g.integer("short", 16, true) },
		func() kind { return g.integer("unsigned short", 16, false) },
		func() kind { return g.integer("int", 32, true) },
		func() kind { return g.integer("unsigned", 32, false) },
		func() kind { return g.integer("long", 64, true) },
		func() kind { return g.integer("unsigned long", 64, false) },
		func() kind { return g.integer("__int128", 128, true) },
		func() kind { return g.integer("unsigned __int128", 128, false) },
		func() kind { return g.float("float", "f") },
		func() kind { return g.float("double", "") },
		func() kind { return g.float("float", "f") },
		func() kind { return g.float("double", "") },
		func() kind { return g.float("long double", "L") },
		func() kind { return g.complex("_Complex float", "f") },
		func() kind { return g.complex("_Complex double", "") },
		func() kind { return g.complex("_Complex long double", "L") },
		func() kind { return g.float("__float128", "q") },
		g.vector, g.smallVector, g.unicode, g.oddChar, g.flags, g.wideEnum,
		func() kind { return g.integer("long long", 64, true) },
		func() kind { return g.integer("unsigned long long", 64, false) },
	}
	if g.live {
		list = append(list, g.codePointer)
	}
	if g.wide {
		list = append(list, g.wideVector, g.wideVector)
	}
	if g.cpp {
		list = append(list, g.memberPointer)
	}
	return pick(g, list)()
}

// vector is a 16-byte SIMD value.
func (g *gen) vector() kind {
	name := g.id("V")
	fmt.Fprintf(&g.decls, "typedef float %s __attribute__((vector_size(16)));\n", name)
	return kind{name: name, gen: func() sample {
		var lits, jsons []string
		for i := 0; i < 4; i++ {
			s := g.number()
			lits, jsons = append(lits, s+"f"), append(jsons, trimNumber(s))
		}
		return sample{"{" + strings.Join(lits, ", ") + "}", "[" + strings.Join(jsons, ",") + "]"}
	}}
}

// field is a struct member for generated types: scalars, and nested aggregates to a small depth.
func (g *gen) field() kind {
	switch {
	case g.depth < 2 && g.IntN(6) == 0:
		return g.aggregate()
	case g.IntN(8) == 0:
		return g.array()
	case g.IntN(16) == 0:
		return pick(g, []func() kind{g.matrix, g.objects})()
	}
	for {
		t := g.scalar()
		if t.name != "_Complex long double" || g.IntN(4) == 0 {
			return t
		}
	}
}

func (g *gen) array() kind {
	t := g.element()
	n := 1 + g.IntN(4)
	return kind{name: t.name, array: fmt.Sprintf("[%d]", n), gen: func() sample { return g.elements(t, n) }}
}

// aggregate declares a struct, union or class.
func (g *gen) aggregate() kind {
	g.depth++
	defer func() { g.depth-- }()
	switch n := g.IntN(16); {
	case n == 0:
		return g.union()
	case n == 12:
		return g.unnamed()
	case n == 13:
		return g.mixedBits()
	case n >= 14 && g.cpp:
		return pick(g, []func() kind{g.polymorphic, g.destroyed, g.defaulted, g.twoBases})()
	case n == 1 && g.cpp:
		return g.nonTrivial()
	case n == 2 && g.cpp:
		return g.derived()
	case n == 3:
		return g.bitFields()
	}
	name := g.id("S")
	packed := ""
	if g.IntN(10) == 0 {
		packed = " __attribute__((packed))"
	}
	n := 1 + g.IntN(3)
	if g.IntN(3) == 0 {
		n += g.IntN(5)
	}
	if g.IntN(25) == 0 {
		n = 0
		packed = ""
	}
	var fields []kind
	decl := ""
	for i := 0; i < n; i++ {
		t := g.field()
		for packed != "" && t.name[0] == 'V' { // vectors in packed structs differ between compilers
			t = g.scalar()
		}
		fields = append(fields, t)
		decl += fmt.Sprintf(" %s m%d%s;", t.name, i, t.array)
	}
	fmt.Fprintf(&g.decls, "struct%s %s {%s };\n", packed, name, decl)
	return kind{name: g.tag("struct", name), gen: func() sample { return g.members(fields, "") }}
}

// tag is how a type is named after its declaration.
func (g *gen) tag(key, name string) string {
	if g.cpp {
		return name
	}
	return key + " " + name
}

func (g *gen) members(fields []kind, inherited string) sample {
	var lits, jsons []string
	for i, t := range fields {
		v := t.gen()
		lits = append(lits, v.lit)
		jsons = append(jsons, fmt.Sprintf(`"m%d":%s`, i, v.json))
	}
	return sample{"{" + inherited + strings.Join(lits, ", ") + "}", "{" + strings.Join(jsons, ",") + "}"}
}

func (g *gen) union() kind {
	name := g.id("U")
	fmt.Fprintf(&g.decls, "union %s { unsigned long a; unsigned b; double d; };\n", name)
	return kind{name: g.tag("union", name), gen: func() sample {
		n := uint64(g.IntN(1 << 30))
		return sample{fmt.Sprintf("{%d}", n), fmt.Sprintf(`{"a":%d,"b":%d,"d":%s}`, n, uint32(n), denormal(n))}
	}}
}

func (g *gen) bitFields() kind {
	name := g.id("B")
	type bf struct {
		w      uint
		signed bool
	}
	var list []bf
	decl := ""
	for i := 0; i < 1+g.IntN(5); i++ {
		b := bf{uint(1 + g.IntN(31)), g.IntN(2) == 0}
		list = append(list, b)
		base := "unsigned"
		if b.signed {
			base = "int"
		}
		decl += fmt.Sprintf(" %s m%d : %d;", base, i, b.w)
	}
	fmt.Fprintf(&g.decls, "struct %s {%s };\n", name, decl)
	return kind{name: g.tag("struct", name), gen: func() sample {
		var lits, jsons []string
		for i, b := range list {
			n := g.bigInt(b.w, b.signed)
			lits, jsons = append(lits, n.String()), append(jsons, fmt.Sprintf(`"m%d":%s`, i, n))
		}
		return sample{"{" + strings.Join(lits, ", ") + "}", "{" + strings.Join(jsons, ",") + "}"}
	}}
}

// nonTrivial is a class that C++ passes through a hidden pointer.
func (g *gen) nonTrivial() kind {
	name := g.id("NT")
	fmt.Fprintf(&g.decls, "struct %[1]s { int m0; double m1; %[1]s() : m0(0), m1(0) {} %[1]s(int a, double b) : m0(a), "+
		"m1(b) {} %[1]s(const %[1]s &o) : m0(o.m0), m1(o.m1) {}"+
		" %[1]s &operator=(const %[1]s &o) { m0 = o.m0; m1 = o.m1; return *this; } ~%[1]s() {} };\n", name)
	return kind{name: name, gen: func() sample {
		n, f := g.bigInt(31, false), g.number()
		return sample{fmt.Sprintf("{%s, %s}", n, f), fmt.Sprintf(`{"m0":%s,"m1":%s}`, n, trimNumber(f))}
	}}
}

func (g *gen) derived() kind {
	base, name := g.id("S"), g.id("D")
	t := g.scalar()
	for t.name[0] == 'V' {
		t = g.scalar()
	}
	fmt.Fprintf(&g.decls, "struct %s { %s b; };\nstruct %s : %s { int m0; };\n", base, t.name, name, base)
	return kind{name: name, gen: func() sample {
		v, n := t.gen(), g.bigInt(31, false)
		return sample{fmt.Sprintf("{{%s}, %s}", v.lit, n), fmt.Sprintf(`{"b":%s,"m0":%s}`, v.json, n)}
	}}
}
