// Package sigcorpus generates programs of functions with random signatures and random values, together
// with what a tracer must show for every argument and result. Test-only.
//
// Every function F is called once. Case.Func is its plain name; expected values are compact JSON in the form
// that package value renders. Same seed, same program.
package sigcorpus

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// Case is what one call must show.
type Case struct {
	Func      string // name without namespace, e.g. "f12"
	Signature string // for messages
	Args      []Arg
	Ret       string // JSON; "" for a function without result
}

// Arg is one argument.
type Arg struct {
	Name string
	JSON string
}

// sample is a value of a type: how it is written in the program, and what must be shown.
type sample struct {
	lit  string
	json string
}

// kind is a type of the generated program.
type kind struct {
	name  string // as written before a declarator
	array string // after the declarator
	gen   func() sample
	byRef bool // a C++ reference: name has no '&', the parameter gets one
	plain bool // a scalar that the program may declare const or volatile
}

type gen struct {
	*rand.Rand
	cpp   bool
	wide  bool
	live  bool
	decls strings.Builder // types
	data  strings.Builder // globals
	funcs strings.Builder
	calls strings.Builder
	cases []Case
	next  int // for unique names
	depth int
	owned bool // Rust: types that are moved, not copied
}

func (g *gen) id(prefix string) string {
	g.next++
	return fmt.Sprintf("%s%d", prefix, g.next)
}

func pick[T any](g *gen, list []T) T { return list[g.IntN(len(list))] }

// Options say what a C or C++ program has besides.
type Options struct {
	CPP  bool
	Wide bool // vectors of 32 bytes: needs -mavx
	// Live adds what only a whole engine shows: names of code addresses, and texts longer than a record takes.
	Live bool
}

// GenerateC returns a C program, or with cpp a C++ program, of n functions f1…fn.
func GenerateC(seed uint64, n int, cpp bool) (source string, cases []Case) {
	return Generate(seed, n, Options{CPP: cpp})
}

// Generate returns a C or C++ program of n functions f1…fn. In C++ some of them are members of classes.
func Generate(seed uint64, n int, o Options) (source string, cases []Case) {
	g := &gen{Rand: rand.New(rand.NewPCG(seed, 1)), cpp: o.CPP, wide: o.Wide, live: o.Live}
	for i := 1; i <= n; i++ {
		g.function(i)
	}
	var s strings.Builder
	if !g.cpp {
		s.WriteString("#include <stdbool.h>\n#include <stddef.h>\n#include <uchar.h>\n")
	}
	s.WriteString("#define NOINLINE __attribute__((noinline))\n")
	s.WriteString("NOINLINE void barrier(void) { __asm__ volatile(\"\" ::: \"memory\"); }\n")
	s.WriteString(g.decls.String())
	s.WriteString(g.data.String())
	s.WriteString(g.funcs.String())
	s.WriteString("int main(void) {\n" + g.calls.String() + "  return 0;\n}\n")
	return s.String(), g.cases
}

// member says whose member a function is.
type member struct {
	class, object string // "" for a function of no class
	keys, suffix  string // static, virtual; const
	call          string // what stands before the name in a call
}

// function writes one function, its data and its call.
func (g *gen) function(i int) {
	c := Case{Func: fmt.Sprintf("f%d", i)}
	var params, args, body []string
	style := g.IntN(4)
	of := member{}
	if g.cpp && g.IntN(4) == 0 {
		of = g.class(i, &c)
	}
	for k := 0; k < g.IntN(9)+g.IntN(4); k++ {
		t := g.parameter()
		v := t.gen()
		name := fmt.Sprintf("p%d", k)
		src, dst := fmt.Sprintf("in_%d_%d", i, k), fmt.Sprintf("out_%d_%d", i, k)
		fmt.Fprintf(&g.data, "%s %s%s = %s;\n", t.name, src, t.array, v.lit)
		params = append(params, g.parameterOf(&t, name, &src))
		args = append(args, src)
		c.Args = append(c.Args, Arg{name, v.json})
		if style == 0 || style == 1 && k%2 == 0 || style == 3 {
			if t.byRef {
				fmt.Fprintf(&g.data, "const volatile void *%s;\n", dst)
				body = append(body, fmt.Sprintf("%s = &%s;", dst, name))
			} else {
				fmt.Fprintf(&g.data, "%s %s%s;\n", t.name, dst, t.array)
				body = append(body, fmt.Sprintf("%s = %s;", dst, name))
			}
		}
	}
	if style == 3 {
		body = append([]string{"barrier();"}, body...)
	}
	ret := "void"
	if g.IntN(6) > 0 {
		t := g.result()
		v := t.gen()
		ret, c.Ret = t.name, v.json
		fmt.Fprintf(&g.data, "%s ret_%d = %s;\n", t.name, i, v.lit)
		if g.cpp && g.IntN(8) == 0 && !strings.HasSuffix(t.name, "*") { // a reference to a pointer ends at the pointer
			ret = t.name + " &"
		}
		body = append(body, fmt.Sprintf("return ret_%d;", i))
	}
	g.variadic(&params, &args)
	if len(params) == 0 && !g.cpp {
		params = []string{"void"}
	}
	head := fmt.Sprintf("f%d(%s)", i, strings.Join(params, ", "))
	text := strings.Join(body, " ")
	if of.class != "" {
		c.Signature = fmt.Sprintf("%s%s %s::%s%s", of.keys, ret, of.class, head, of.suffix)
		fmt.Fprintf(&g.data, "struct %s : %s_data { %s_data *self() { return this; } %sNOINLINE %s %s%s; };\n", of.class,
			of.class, of.class, of.keys, ret, head, of.suffix)
		fmt.Fprintf(&g.data, "%s %s;\n", of.class, of.object)
		fmt.Fprintf(&g.funcs, "%s %s::%s%s { %s }\n", ret, of.class, head, of.suffix, text)
	} else {
		c.Signature = fmt.Sprintf("%s%s %s", pick(g, []string{"", "", "static "}), ret, head)
		fmt.Fprintf(&g.funcs, "NOINLINE %s { %s }\n", c.Signature, text)
	}
	call := fmt.Sprintf("%sf%d(%s);", of.call, i, strings.Join(args, ", "))
	if c.Ret != "" && g.IntN(4) > 0 && !strings.HasSuffix(ret, "&") {
		fmt.Fprintf(&g.data, "%s res_%d;\n", ret, i)
		call = fmt.Sprintf("res_%d = %s", i, call)
	}
	fmt.Fprintf(&g.calls, "  %s\n", call)
	g.cases = append(g.cases, c)
}

func (g *gen) parameter() kind {
	switch g.IntN(20) {
	case 0, 1:
		return g.structPtr()
	case 2:
		return pick(g, []func() kind{g.cstring, g.text})()
	case 3, 4, 5, 6:
		return g.aggregate()
	case 7:
		if g.cpp {
			t := g.any()
			t.byRef = true
			return t
		}
	}
	return g.scalar()
}

func (g *gen) result() kind {
	switch g.IntN(12) {
	case 0:
		return g.structPtr()
	case 1:
		return g.cstring()
	case 2, 3, 4, 5:
		return g.aggregate()
	}
	return g.scalar()
}

func (g *gen) any() kind {
	if g.IntN(2) == 0 {
		return g.aggregate()
	}
	return g.scalar()
}

func quoteJSON(s string) string { return `"` + s + `"` }

func (g *gen) cstring() kind {
	return kind{name: pick(g, []string{"const char *", "char *"}), gen: func() sample {
		if g.IntN(8) == 0 {
			return sample{"0", "null"}
		}
		s := ""
		for i := g.IntN(30); i > 0; i-- {
			s += string(rune('a' + g.IntN(26)))
		}
		return sample{`(char *)"` + s + `"`, quoteJSON(s)}
	}}
}

func (g *gen) structPtr() kind {
	t := g.aggregate()
	return kind{name: t.name + " *", gen: func() sample {
		if g.IntN(10) == 0 {
			return sample{"0", "null"}
		}
		v := t.gen()
		name := g.id("obj")
		fmt.Fprintf(&g.data, "%s %s = %s;\n", t.name, name, v.lit)
		return sample{"&" + name, v.json}
	}}
}
