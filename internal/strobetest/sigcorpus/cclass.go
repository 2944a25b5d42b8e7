package sigcorpus

import "fmt"

// parameterOf declares a parameter and may change how it is passed.
func (g *gen) parameterOf(t *kind, name string, src *string) string {
	switch {
	case t.byRef && g.IntN(3) == 0:
		*src = fmt.Sprintf("static_cast<%s &&>(%s)", t.name, *src)
		return t.name + " &&" + name
	case t.byRef:
		return t.name + " &" + name
	case t.plain && g.IntN(8) == 0:
		return pick(g, []string{"const ", "volatile "}) + t.name + " " + name
	}
	return t.name + " " + name
}

// variadic gives a function with parameters an ellipsis, and its call more arguments.
func (g *gen) variadic(params, args *[]string) {
	if len(*params) == 0 || g.IntN(12) > 0 {
		return
	}
	*params = append(*params, "...")
	for range g.IntN(12) {
		*args = append(*args, pick(g, []string{"1", "2.5", `"three"`, "4ull", "5.5L"}))
	}
}

// class makes a function a member of a new class, with its object as the argument "this" where it has one.
func (g *gen) class(i int, c *Case) member {
	of := member{class: g.id("M")}
	of.object = fmt.Sprintf("self_%d", i)
	of.call = of.object + "."
	switch g.IntN(6) {
	case 0:
		of.keys, of.call = "static ", of.class+"::"
	case 1:
		of.keys = "virtual "
		fmt.Fprintf(&g.calls, "  %s *volatile via_%d = &%s;\n", of.class, i, of.object)
		of.call = fmt.Sprintf("via_%d->", i)
	case 2, 3:
		of.suffix = " const"
	}
	n, f := g.bigInt(31, false), g.number()
	fmt.Fprintf(&g.data, "struct %s_data { int a = %s; double b = %s; };\n", of.class, n, f)
	if of.keys != "static " {
		c.Args = append(c.Args, Arg{"this", fmt.Sprintf(`{"a":%s,"b":%s}`, n, trimNumber(f))})
	}
	return of
}
