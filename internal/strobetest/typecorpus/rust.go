package typecorpus

import (
	"fmt"
	"strings"
)

// GenerateRust is GenerateCPP in Rust: functions take_I, pass_I and make_I.
func GenerateRust(seed uint64, n, cases int) string {
	g := newGraph(seed, n, true)
	cases = min(cases, n)
	for i := range n {
		g.expr(kStruct, i, nil)
	}
	all := g.all()
	var b strings.Builder
	b.WriteString(rustHead)
	for i := range g.templates {
		fmt.Fprintf(&b, "pub struct Rose%d<T> { at: i32, kids: Vec<Rose%d<T>>, leaves: Vec<T> }\n", i, i)
	}
	for _, s := range g.structs {
		shape := func(i int, m *texpr) string {
			switch {
			case !s.isEnum:
				return fmt.Sprintf("m%d: %s, ", i, g.rustName(m))
			case i%2 == 0:
				return fmt.Sprintf("V%d(%s), ", i, g.rustName(m))
			}
			return fmt.Sprintf("V%d { a: i32, m: %s }, ", i, g.rustName(m))
		}
		if s.isEnum {
			fmt.Fprintf(&b, "pub enum %s { None, %s}\n", s.name, lines(s.members, shape))
		} else {
			fmt.Fprintf(&b, "pub struct %s { %s}\n", s.name, lines(s.members, shape))
		}
	}
	for _, e := range all {
		fmt.Fprintf(&b, "fn show%d(o: &mut String, v: &%s, d: usize) {\n%s}\n", e.id, g.rustName(e), g.showRust(e))
		fmt.Fprintf(&b, "fn build%d(s: &mut Source, fuel: i32) -> %s {\n%s}\n", e.id, g.rustName(e), g.buildRust(e))
	}
	b.WriteString("fn main() {\n")
	var funcs strings.Builder
	for i := range cases {
		id := g.expr(kStruct, i, nil).id
		fmt.Fprintf(&funcs, "#[inline(never)] pub fn take_%d(v: &T%d) { black_box(v); }\n#[inline(never)] pub fn "+
			"pass_%d(v: T%d) { black_box(&v); }\n"+
			"#[inline(never)] pub fn make_%d(s: &mut Source) -> T%d { black_box(build%d(s, 5)) }\n", i, i, i, i, i, i, id)
		fmt.Fprintf(&b,
			`  { let v = build%d(&mut Source::new(%d), 6); expect("take_%d", "v", &|o| show%d(o, &v, 1)); take_%d(&v);
    expect("pass_%d", "v", &|o| show%d(o, &v, 0)); pass_%d(v);
    let r = make_%d(&mut Source::new(%d)); expect("make_%d", "return", &|o| show%d(o, &r, 0)); }
`, id, i, i, id, i, i, id, i, i, i+2000, i, id)
	}
	b.WriteString("}\n" + funcs.String())
	return b.String()
}

const rustHead = `#![allow(dead_code, unused)]
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hint::black_box;
use std::rc::Rc;
fn arg(i: usize) -> Option<String> { std::env::args().nth(i) }
fn depth() -> usize { arg(1).and_then(|a| a.parse().ok()).unwrap_or(3) }
fn deep() -> String { format!("\"<max depth {} reached>\"", depth()) }
fn expect(name: &str, at: &str, show: &dyn Fn(&mut String)) {
    let mut o = String::new();
    show(&mut o);
    println!("{{\"case\":\"{}\",\"arg\":\"{}\",\"want\":{}}}", name, at, o);
}
pub struct Source { state: u64, objects: i32 }
impl Source {
    fn new(seed: u64) -> Source { Source { state: seed.wrapping_mul(0x9E3779B97F4A7C15).wrapping_add(1), objects: 22 } }
    fn pick(&mut self, n: u32) -> u32 {
        self.state = self.state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.state >> 33) as u32 % n
    }
    fn some(&mut self, fuel: i32) -> i32 {
        if fuel <= 0 || self.objects <= 0 { return 0; }
        let n = self.pick(3) as i32;
        self.objects -= n;
        n
    }
    fn word(&mut self) -> String { (0..self.pick(24)).map(|_| (b'a' + self.pick(26) as u8) as char).collect() }
}
`

func (g *graph) rustName(e *texpr) string {
	of := ""
	if e.elem != nil {
		of = g.rustName(e.elem)
	}
	switch e.kind {
	case kInt:
		return "i32"
	case kText:
		return "String"
	case kStruct:
		return fmt.Sprintf("T%d", e.n)
	case kTemplate:
		return fmt.Sprintf("Rose%d<%s>", e.n, of)
	case kMap:
		return "BTreeMap<String, " + of + ">"
	case kHash:
		return "HashMap<String, " + of + ">"
	case kPair:
		return "(i32, " + of + ")"
	case kArray:
		return "[" + of + "; 2]"
	case kSlice:
		return "Box<[" + of + "]>"
	case kUnique:
		return "Option<Box<" + of + ">>"
	case kShared:
		return "Option<Rc<" + of + ">>"
	}
	return map[kind]string{kVector: "Vec", kDeque: "VecDeque", kOptional: "Option"}[e.kind] + "<" + of + ">"
}

func (g *graph) showRust(e *texpr) string {
	inner, deeper := 0, 0
	if e.elem != nil {
		inner = e.elem.id
	}
	cut := ""
	if e.kind.container() && g.recursive(e) {
		deeper, cut = 1, "  if !v.is_empty() && d >= depth() { o.push_str(&deep()); return; }\n"
	}
	list := func(each string) string {
		return cut + fmt.Sprintf("  let mut first = true;\n  for x in v.iter() { if !first { o.push(','); } first = false; "+
			each+" }\n", inner, deeper)
	}
	switch e.kind {
	case kInt:
		return "  o.push_str(&v.to_string());\n"
	case kText:
		return "  o.push('\"'); o.push_str(v); o.push('\"');\n"
	case kStruct:
		return g.showStruct(g.structs[e.n])
	case kTemplate:
		p := g.parts(e)
		return fmt.Sprintf("  o.push_str(&format!(\"{{\\\"at\\\":{},\\\"kids\\\":\", v.at)); show%d(o, &v.kids, d); "+
			"o.push_str(\",\\\"leaves\\\":\"); show%d(o, &v.leaves, d); o.push('}');\n", p[0].id, p[1].id)
	case kMap, kHash:
		body := list("o.push_str(&format!(\"\\\"{}\\\":\", x.0)); show%d(o, x.1, d + %d);")
		return strings.Replace(body, "  let mut first", "  o.push('{'); let mut first", 1) + "  o.push('}');\n"
	case kOptional:
		return fmt.Sprintf("  match v { Some(x) => "+some+", None => o.push_str(\"null\") }\n", inner, "d")
	case kPair:
		return fmt.Sprintf("  o.push_str(&format!(\"[{},\", v.0)); show%d(o, &v.1, d); o.push(']');\n", inner)
	case kUnique:
		return fmt.Sprintf("  match v { None => o.push_str(\"null\"), Some(_) if d >= depth() => o.push_str(&deep()), "+
			"Some(x) => "+some+" }\n", inner, "d + 1")
	case kShared:
		return fmt.Sprintf("  let Some(x) = v else { o.push_str(\"null\"); return };\n  o.push_str(\"{\\\"value\\\":\"); "+
			"if d >= depth() { o.push_str(&deep()) } else { show%d(o, x, d + 1) }\n"+
			"  o.push_str(&format!(\",\\\"strong\\\":{},\\\"weak\\\":{}}}\", Rc::strong_count(x), Rc::weak_count(x)));\n", inner)
	}
	return strings.Replace(list("show%d(o, x, d + %d);"), "  let mut first", "  o.push('['); let mut first", 1) +
		"  o.push(']');\n"
}

func (g *graph) showStruct(s *structure) string {
	if s.isEnum {
		return "  match v { " + s.name + "::None => o.push_str(\"\\\"None\\\"\"),\n" +
			lines(s.members, func(i int, m *texpr) string {
				if i%2 == 0 {
					return fmt.Sprintf("    %s::V%d(x) => { o.push_str(\"{\\\"V%d\\\":\"); show%d(o, x, d); o.push('}'); }\n", s.name,
						i, i, m.id)
				}
				return fmt.Sprintf("    %s::V%d { a, m } => { o.push_str(&format!(\"{{\\\"V%d\\\":{{\\\"a\\\":{},\\\"m\\\":\", "+
					"a)); show%d(o, m, d); o.push_str(\"}}\"); }\n", s.name, i, i, m.id)
			}) + "  }\n"
	}
	return "  o.push('{');\n" + lines(s.members, func(i int, m *texpr) string {
		comma := ""
		if i > 0 {
			comma = ","
		}
		return fmt.Sprintf("  o.push_str(\"%s\\\"m%d\\\":\"); show%d(o, &v.m%d, d);\n", comma, i, m.id, i)
	}) + "  o.push('}');\n"
}

func (g *graph) buildRust(e *texpr) string {
	inner := 0
	if e.elem != nil {
		inner = e.elem.id
	}
	switch e.kind {
	case kInt:
		return "  s.pick(2000000) as i32 - 1000000\n"
	case kText:
		return "  s.word()\n"
	case kStruct:
		st := g.structs[e.n]
		if !st.isEnum {
			return "  " + st.name + " { " + lines(st.members,
				func(i int, m *texpr) string { return fmt.Sprintf("m%d: build%d(s, fuel - 1), ", i, m.id) }) + "}\n"
		}
		return fmt.Sprintf("  if fuel < 0 { return %s::None; }\n  match s.pick(%d) {\n", st.name, len(st.members)+1) +
			lines(st.members, func(i int, m *texpr) string {
				if i%2 == 0 {
					return fmt.Sprintf("    %d => %s::V%d(build%d(s, fuel - 1)),\n", i, st.name, i, m.id)
				}
				return fmt.Sprintf("    %d => %s::V%d { a: s.pick(100) as i32, m: build%d(s, fuel - 1) },\n", i, st.name, i, m.id)
			}) + "    _ => " + st.name + "::None,\n  }\n"
	case kTemplate:
		p := g.parts(e)
		return fmt.Sprintf("  Rose%d { at: s.pick(100) as i32, kids: build%d(s, fuel - 1), leaves: build%d(s, fuel - 1) }\n",
			e.n, p[0].id, p[1].id)
	case kMap, kHash:
		return fmt.Sprintf("  (0..s.some(fuel)).map(|n| (format!(\"{}{}\", s.word(), n), build%d(s, fuel - 1))).collect()\n",
			inner)
	case kOptional:
		return fmt.Sprintf("  if s.pick(2) == 0 { None } else { Some(build%d(s, fuel)) }\n", inner)
	case kPair:
		return fmt.Sprintf("  (s.pick(100) as i32, build%d(s, fuel))\n", inner)
	case kArray:
		return fmt.Sprintf("  [build%d(s, fuel), build%d(s, fuel)]\n", inner, inner)
	case kUnique:
		return fmt.Sprintf("  if s.some(fuel) > 0 { Some(Box::new(build%d(s, fuel - 1))) } else { None }\n", inner)
	case kShared:
		return fmt.Sprintf("  if s.some(fuel) > 0 { Some(Rc::new(build%d(s, fuel - 1))) } else { None }\n", inner)
	}
	return fmt.Sprintf("  (0..s.some(fuel)).map(|_| build%d(s, fuel - 1)).collect()\n", inner)
}

// some shows what an option holds: by its variant where it is shown as null.
const some = "{ let mut s = String::new(); show%d(&mut s, x, %s); " +
	"o.push_str(if s == \"null\" { \"{\\\"Some\\\":null}\" } else { &s }) }"
