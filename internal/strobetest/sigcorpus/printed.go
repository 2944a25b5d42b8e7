package sigcorpus

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// GeneratePrinted returns a C or C++ program of n functions f1…fn that prints the arguments and the result of every
// call itself: lines "f12 p0 JSON" and "f12 = JSON". Its values come from a volatile variable, so that no compiler
// knows them. Parameters are declared in every way: register, K&R, behind an ellipsis's head, more than there are
// registers, objects of 1 to 64 bytes.
func GeneratePrinted(seed uint64, n int, cpp bool) string {
	g := &printed{Rand: rand.New(rand.NewPCG(seed, 3)), cpp: cpp}
	g.head()
	for i := 1; i <= n; i++ {
		g.function(i)
	}
	return g.decls.String() + g.funcs.String() + "int main(void) {\n" + g.calls.String() + "  return 0;\n}\n"
}

type printed struct {
	*rand.Rand
	cpp                 bool
	decls, funcs, calls strings.Builder
	scalars, objects    []ptype
	next                int
}

// ptype is a type of such a program. put and show are statements over an lvalue %s: it gets a value made from n, and is
// printed.
type ptype struct {
	name, put, show string
	size, align     int
}

var pscalars = []ptype{
	{name: "signed char", put: "%s = n %% 100;", show: `printf("%%d", (int)%s);`, size: 1},
	{name: "unsigned char", put: "%s = n %% 250;", show: `printf("%%d", (int)%s);`, size: 1},
	{name: "short", put: "%s = n %% 30000;", show: `printf("%%d", (int)%s);`, size: 2},
	{name: "unsigned short", put: "%s = n %% 60000;", show: `printf("%%d", (int)%s);`, size: 2},
	{name: "int", put: "%s = -n;", show: `printf("%%d", %s);`, size: 4},
	{name: "unsigned", put: "%s = n * 4001u;", show: `printf("%%u", %s);`, size: 4},
	{name: "long", put: "%s = n * -1000000007L;", show: `printf("%%ld", %s);`, size: 8},
	{name: "unsigned long long", put: "%s = n * 10000000019ull;", show: `printf("%%llu", %s);`, size: 8},
	{name: "__int128", put: "%s = n * (__int128)1000003;", show: `printf("%%lld", (long long)%s);`, size: 16},
	{name: "BOOL", put: "%s = n & 1;", show: `printf(%s ? "true" : "false");`, size: 1},
	{name: "float", put: "%s = n %% 64 * 0.25f;", show: `printf("%%g", %s);`, size: 4},
	{name: "double", put: "%s = n %% 1000 * 0.25;", show: `printf("%%g", %s);`, size: 8},
	{name: "long double", put: "%s = n %% 1000 * 0.125L;", show: `printf("%%Lg", %s);`, size: 16},
	{name: "float _Complex", put: "{ float *c = (float *)&%s; c[0] = n %% 64 * 0.5f; c[1] = n %% 7; }",
		show: `{ float *c = (float *)&%s; printf("{\"re\":%%g,\"im\":%%g}", c[0], c[1]); }`, size: 8, align: 4},
	{name: "double _Complex", put: "{ double *c = (double *)&%s; c[0] = n %% 64 * 0.5; c[1] = n %% 9; }",
		show: `{ double *c = (double *)&%s; printf("{\"re\":%%g,\"im\":%%g}", c[0], c[1]); }`, size: 16, align: 8},
	{name: "void *", put: "%s = (void *)(n * 16L + 16);", show: `printf("\"%%p\"", %s);`, size: 8},
	{name: "enum color", put: "%s = (enum color)(n %% 3);", show: `printf("\"%%s\"", colors[%s]);`, size: 4},
	{name: "v4sf", put: "for (int v = 0; v < 4; v++) %s[v] = n %% 50 + v;",
		show: `{ v4sf c = %s; printf("[%%g,%%g,%%g,%%g]", c[0], c[1], c[2], c[3]); }`, size: 16},
	{name: "v2di", put: "for (int v = 0; v < 2; v++) %s[v] = n %% 50 - v;",
		show: `{ v2di c = %s; printf("[%%lld,%%lld]", c[0], c[1]); }`, size: 16},
}

func (g *printed) head() {
	g.decls.WriteString(`
#include <stdio.h>
#include <string.h>
#include <stdarg.h>
#define NI __attribute__((noinline))
enum color { RED, GREEN, BLUE };
static const char *colors[] = {"RED", "GREEN", "BLUE"};
typedef float v4sf __attribute__((vector_size(16)));
typedef long long v2di __attribute__((vector_size(16)));
`)
	if g.cpp {
		g.decls.WriteString("#define BOOL bool\n")
	} else {
		g.decls.WriteString("#define BOOL _Bool\n")
	}
	g.decls.WriteString("volatile int base = 3; volatile long sink; volatile double fsink;\n")
	g.scalars = slices.Clone(pscalars)
	for i := range g.scalars {
		t := &g.scalars[i]
		if t.align == 0 {
			t.align = t.size
		}
		g.accessors(t, fmt.Sprintf(t.put, "(*p)"), fmt.Sprintf(t.show, "(*p)"), i)
	}
}

// accessors writes the functions that give an object its value and print it, and makes them those of the type.
func (g *printed) accessors(t *ptype, put, show string, k int) {
	fmt.Fprintf(&g.decls, "NI static void put_%d(%s *p, int n) { %s }\nNI static void show_%d(%s *p) { %s }\n", k, t.name,
		put, k, t.name, show)
	t.put, t.show = fmt.Sprintf("put_%d(&%%s, n);", k), fmt.Sprintf("show_%d(&%%s);", k)
}

func (g *printed) scalar() ptype { return g.scalars[g.IntN(len(g.scalars))] }

func (g *printed) any() ptype {
	switch k := g.IntN(10); {
	case k < 5:
		return g.scalar()
	case k < 7 && len(g.objects) > 0:
		return g.objects[g.IntN(len(g.objects))]
	}
	return g.object(1 + g.IntN(64))
}

// object makes a struct, union or class of about size bytes.
func (g *printed) object(size int) ptype {
	g.next++
	k := g.next + 1000
	t := ptype{name: fmt.Sprintf("S%d", g.next), align: 1}
	var decl, put, show strings.Builder
	packed := g.IntN(8) == 0
	member := func(i int, m ptype, array int, bits int) {
		at := func(format, what string) string { return fmt.Sprintf(format, what) }
		name := fmt.Sprintf("m%d", i)
		if show.Len() > 0 {
			show.WriteString(`printf(",");`)
		}
		fmt.Fprintf(&show, `printf("\"%s\":");`, name)
		switch {
		case bits > 0:
			fmt.Fprintf(&decl, "%s %s : %d; ", m.name, name, bits)
			fmt.Fprintf(&put, "p->%s = (n + %d) %% %d; ", name, i, 1<<(bits-1))
			fmt.Fprintf(&show, `printf("%%d", (int)p->%s); `, name)
		case array > 0:
			fmt.Fprintf(&decl, "%s %s[%d]; ", m.name, name, array)
			fmt.Fprintf(&put, "for (int i = 0; i < %d; i++, n += 3) { %s c; %s; memcpy(&p->%s[i], &c, sizeof c); } ", array,
				m.name, at(m.put, "c"), name)
			fmt.Fprintf(&show,
				`printf("["); for (int i = 0; i < %d; i++) { if (i) printf(","); %s c; memcpy(&c, &p->%s[i], sizeof c); %s } `+
					`printf("]"); `, array, m.name, name, at(m.show, "c"))
		default:
			fmt.Fprintf(&decl, "%s %s; ", m.name, name)
			fmt.Fprintf(&put, "{ %s c; %s; memcpy((void *)&p->%s, (void *)&c, sizeof c); n += 5; } ", m.name, at(m.put, "c"),
				name)
			fmt.Fprintf(&show, `{ %s c; memcpy((void *)&c, (void *)&p->%s, sizeof c); %s } `, m.name, name, at(m.show, "c"))
		}
	}
	key := "struct"
	switch {
	case g.IntN(12) == 0:
		key, t.size = "union", 8
		decl.WriteString("double d; long l; ")
		put.WriteString("p->d = n % 64 * 0.5; ")
		show.WriteString(`printf("\"d\":%g,\"l\":%ld", p->d, p->l); `)
	default:
		for i := 0; t.size < size && i < 16; i++ {
			m, array, bits := g.scalar(), 0, 0
			switch r := g.IntN(8); {
			case r == 0 && len(g.objects) > 0:
				if o := g.objects[g.IntN(len(g.objects))]; o.size <= size-t.size {
					m = o
				}
			case r == 1 && m.size >= 2 && m.size <= 8:
				array = 1 + g.IntN(3)
			case r == 2:
				m, bits = g.scalars[4+g.IntN(2)], 2+g.IntN(20)
			}
			if m.size > size-t.size && m.size > 8 {
				continue
			}
			member(i, m, array, bits)
			t.size += m.size * max(array, 1)
		}
		if decl.Len() == 0 {
			member(0, g.scalars[0], 0, 0)
			t.size = 1
		}
	}
	suffix, special := "", ""
	if packed && key == "struct" {
		suffix = " __attribute__((packed))"
	}
	if g.cpp && key == "struct" && g.IntN(4) == 0 {
		special = fmt.Sprintf([]string{"%[1]s() {} %[1]s(const %[1]s &o) { memcpy((void *)this, (void *)&o, sizeof o); } ",
			"~%[1]s() { sink = sink + 1; } ", "%[1]s() = default; %[1]s(const %[1]s &) = default; "}[g.IntN(3)], t.name)
	}
	fmt.Fprintf(&g.decls, "typedef %s %s { %s%s}%s %s;\n", key, t.name, decl.String(), special, suffix, t.name)
	g.accessors(&t, put.String(), `printf("{"); `+show.String()+`printf("}");`, k)
	// a nested packed or non-trivial one says nothing new, and its parts may not be referred to
	if special == "" && !packed {
		g.objects = append(g.objects, t)
	}
	return t
}

func say(i int, what, show string) string {
	return fmt.Sprintf(`printf("f%d %s "); %s printf("\n"); `, i, what, show)
}

func (g *printed) function(i int) {
	var params, names, decls, args []string
	var body, call strings.Builder
	inside := g.IntN(3) == 0 // the function prints its arguments itself
	read := g.IntN(3) == 0
	old := !g.cpp && g.IntN(6) == 0
	for k := range g.IntN(8) + g.IntN(4) {
		t := g.any()
		key, p := "", fmt.Sprintf("p%d", k)
		if !g.cpp && g.IntN(4) == 0 {
			key = "register "
		}
		params = append(params, key+t.name+" "+p)
		names, decls = append(names, p), append(decls, key+t.name+" "+p+";")
		arg := fmt.Sprintf("a%d", k)
		args = append(args, arg)
		fmt.Fprintf(&call, "%s %s; memset((void *)&%s, 0, sizeof %s); { int n = base * %d; %s } ", t.name, arg, arg, arg,
			1+g.IntN(900), fmt.Sprintf(t.put, arg))
		switch {
		case inside:
			fmt.Fprintf(&body, "{ %s c = p%d; %s} ", t.name, k, say(i, p, fmt.Sprintf(t.show, "c")))
		default:
			call.WriteString(say(i, p, fmt.Sprintf(t.show, arg)))
			if read && g.IntN(4) > 0 {
				fmt.Fprintf(&body, "{ %s c = p%d; sink = ((unsigned char *)&c)[sizeof c - 1]; } ", t.name, k)
			}
		}
	}
	ret := "void"
	if g.IntN(6) > 0 {
		t := g.any()
		ret = t.name
		fmt.Fprintf(&body, "%s r; memset((void *)&r, 0, sizeof r); { int n = base * %d; %s } ", ret, 1+g.IntN(900),
			fmt.Sprintf(t.put, "r"))
		if used := g.IntN(5) > 0; used {
			fmt.Fprintf(&call, "%s r = %%s; %s", ret, say(i, "=", fmt.Sprintf(t.show, "r")))
		} else {
			body.WriteString(say(i, "=", fmt.Sprintf(t.show, "r")))
			call.WriteString("%s; ")
		}
		body.WriteString("return r;")
	} else {
		call.WriteString("%s; ")
	}
	g.define(i, ret, params, names, decls, args, body.String(), call.String(), old)
}

// define writes the function in one of the ways to declare one, and its call.
func (g *printed) define(i int, ret string, params, names, decls, args []string, body, call string, old bool) {
	storage := []string{"NI", "NI static"}[g.IntN(2)]
	list := strings.Join(params, ", ")
	switch {
	case old:
		fmt.Fprintf(&g.funcs, "%s %s f%d(%s) %s { %s }\n", storage, ret, i, strings.Join(names, ", "),
			strings.Join(decls, " "), body)
	default:
		if len(params) > 0 && g.IntN(10) == 0 {
			list += ", ..."
			for range g.IntN(10) {
				args = append(args, []string{"1", "2.5", "3L"}[g.IntN(3)])
			}
		} else if len(params) == 0 {
			list = "void"
		}
		fmt.Fprintf(&g.funcs, "%s %s f%d(%s) { %s }\n", storage, ret, i, list, body)
	}
	callee := fmt.Sprintf("f%d", i)
	if g.IntN(5) == 0 && !old {
		fmt.Fprintf(&g.funcs, "%s (*volatile via%d)(%s) = f%d;\n", ret, i, strings.ReplaceAll(list, "register ", ""), i)
		callee = fmt.Sprintf("via%d", i)
	}
	fmt.Fprintf(&g.calls, "  { %s }\n", strings.Replace(call, "%s", callee+"("+strings.Join(args, ", ")+")", 1))
}
