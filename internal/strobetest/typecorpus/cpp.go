package typecorpus

import (
	"fmt"
	"strings"
)

// GenerateCPP returns a C++ program of n types. Its arguments: the depth of traced calls, that of other values, a file
// for what must be shown, and "crash" to end with a null pointer. It has functions take_I, pass_I and make_I and
// globals g_I for each type I below cases.
func GenerateCPP(seed uint64, n, cases int) string {
	g := newGraph(seed, n, false)
	cases = min(cases, n)
	for i := range n {
		g.expr(kStruct, i, nil)
	}
	all := g.all()
	var b strings.Builder
	b.WriteString(cppHead)
	b.WriteString(lines(g.structs, func(_ int, s *structure) string { return "struct " + s.name + ";\n" }))
	for i := range g.templates {
		fmt.Fprintf(&b, "template <class T> struct Rose%d { int at; std::vector<Rose%d<T>> kids; std::vector<T> leaves; "+
			"MOVED(Rose%d) };\n", i, i, i)
	}
	for _, s := range g.structs {
		fmt.Fprintf(&b, "struct %s {\n  MOVED(%s)\n%s};\n", s.name, s.name,
			lines(s.members, func(i int, m *texpr) string { return fmt.Sprintf("  %s m%d{};\n", g.cpp(m), i) }))
	}
	for _, e := range all {
		fmt.Fprintf(&b, "static void show%d(std::string& o, %s const& v, int d);\nstatic void build%d(%s& v, int fuel);\n",
			e.id, g.cpp(e), e.id, g.cpp(e))
	}
	for _, e := range all {
		fmt.Fprintf(&b, "static void show%d(std::string& o, %s const& v, int d) { (void)d;\n%s}\n", e.id, g.cpp(e),
			g.showCPP(e))
		fmt.Fprintf(&b, "static void build%d(%s& v, int fuel) { (void)fuel;\n%s}\n", e.id, g.cpp(e), g.buildCPP(e))
	}
	var calls strings.Builder
	for i := range cases {
		e := g.expr(kStruct, i, nil)
		fmt.Fprintf(&b, `T%d g_%d;
ALONE int take_%d(const T%d& v, int* p) { KEEP(&v); return *p; }
ALONE void pass_%d(T%d v) { KEEP(&v); }
ALONE T%d make_%d() { KEEP(0); T%d v; build%d(v, fuel_of_results); return v; }
`, i, i, i, i, i, i, i, i, i, e.id)
		fmt.Fprintf(&calls, `  { begin_objects(%d); T%d v; build%d(v, 6); begin_objects(%d); build%d(g_%d, 5);
    std::string o; show%d(o, v, 1); expect("take_%d", "v", o); o.clear(); show%d(o, v, 0); expect("pass_%d", "v", o);
    { Other other; o.clear(); show%d(o, g_%d, 0); expect("g_%d", "global", o);
      o.clear(); show%d(o, v, 1); expect("take_%d", "crash", o); }
    take_%d(v, &zero); begin_objects(%d); T%d r = make_%d(); o.clear(); show%d(o, r, 0); expect("make_%d", "return", o);
    if (crash == %d) { std::fflush(out); take_%d(v, nullptr); }
    pass_%d(std::move(v));
  }
`, i, i, e.id, i+1000, e.id, i, e.id, i, e.id, i, e.id, i, i, e.id, i, i, i+2000, i, i, e.id, i, i, i, i)
	}
	fmt.Fprintf(&b, cppMain, calls.String())
	return b.String()
}

const cppHead = `#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>
#define MOVED(T) T() = default; T(T&&) = default; T& operator=(T&&) = default;
#define ALONE __attribute__((noinline, noclone))
#define KEEP(x) asm volatile("" : : "g"(x) : "memory")
#ifdef _LIBCPP_VERSION  // its deque wants to know the size of its elements
#define DEQUE std::list
#else
#define DEQUE std::deque
#endif
static int depth = 3, other_depth = 3, crash = -1, zero;
static FILE* out;
static unsigned long long state;
static int objects;
static void begin_objects(unsigned long long seed) { state = seed * 0x9E3779B97F4A7C15ull + 1; objects = 22; }
static unsigned pick(unsigned n) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return unsigned(state >> 33) % n; }
static int some(int fuel) { if (fuel <= 0 || objects <= 0) return 0; int n = int(pick(3)); objects -= n; return n; }
struct Other { int was = depth; Other() { depth = other_depth; } ~Other() { depth = was; } };
static std::string deep() { return "\"<max depth " + std::to_string(depth) + " reached>\""; }
static std::string word() {
    std::string s;
    for (unsigned n = pick(24); n > 0; n--) s += char('a' + pick(26)); return s; }
static void expect(const char* name, const char* arg, const std::string& want) {
  std::fprintf(out, "{\"case\":\"%s\",\"arg\":\"%s\",\"want\":%s}\n", name, arg, want.c_str());
}
static const int fuel_of_results = 5;
`

const cppMain = `int main(int argc, char** argv) {
  if (argc > 1) depth = atoi(argv[1]);
  if (argc > 2) other_depth = atoi(argv[2]);
  out = argc > 3 ? std::fopen(argv[3], "w") : stdout;
  if (argc > 4) crash = atoi(argv[4]);
  if (!out) return 2;
%s  return std::fclose(out) != 0;
}
`

// cpp is a type's name.
func (g *graph) cpp(e *texpr) string {
	of := ""
	if e.elem != nil {
		of = g.cpp(e.elem)
	}
	switch e.kind {
	case kInt:
		return "int"
	case kText:
		return "std::string"
	case kStruct:
		return fmt.Sprintf("T%d", e.n)
	case kTemplate:
		return fmt.Sprintf("Rose%d<%s>", e.n, of)
	case kMap:
		return "std::map<std::string, " + of + ">"
	case kVariant:
		return "std::variant<int, " + of + ">"
	case kPair:
		return "std::pair<int, " + of + ">"
	case kArray:
		return "std::array<" + of + ", 2>"
	case kRaw:
		return of + "*"
	}
	return map[kind]string{kVector: "std::vector", kList: "std::list", kDeque: "DEQUE", kOptional: "std::optional",
		kUnique: "std::unique_ptr", kShared: "std::shared_ptr"}[e.kind] + "<" + of + ">"
}

// showCPP is the body of a function that appends what must be shown of v, behind d pointers.
func (g *graph) showCPP(e *texpr) string {
	inner, deeper := 0, 0
	if e.elem != nil {
		inner = e.elem.id
	}
	cut := ""
	if e.kind.container() && g.recursive(e) {
		deeper, cut = 1, "  if (!v.empty() && d >= depth) { o += deep(); return; }\n"
	}
	switch e.kind {
	case kInt:
		return "  o += std::to_string(v);\n"
	case kText:
		return "  o += '\"' + v + '\"';\n"
	case kStruct:
		return showMembers(g.structs[e.n].members)
	case kTemplate:
		p := g.parts(e)
		return fmt.Sprintf("  o += \"{\\\"at\\\":\" + std::to_string(v.at) + \",\\\"kids\\\":\"; show%d(o, v.kids, d); o "+
			"+= \",\\\"leaves\\\":\"; show%d(o, v.leaves, d); o += '}';\n", p[0].id, p[1].id)
	case kMap:
		return cut + fmt.Sprintf("  o += '{'; for (auto& x : v) { if (o.back() != '{') o += ','; o += '\"' + x.first + "+
			"\"\\\":\"; show%d(o, x.second, d + %d); } o += '}';\n", inner, deeper)
	case kOptional:
		return fmt.Sprintf("  if (!v) o += \"null\"; else { std::string s; show%d(s, *v, d); o += s == \"null\" ? "+
			"\"{\\\"value\\\":null}\" : s; }\n", inner)
	case kVariant:
		return fmt.Sprintf("  if (v.index() == 0) o += std::to_string(std::get<0>(v)); else show%d(o, std::get<1>(v), d);\n",
			inner)
	case kPair:
		return fmt.Sprintf("  o += '[' + std::to_string(v.first) + ','; show%d(o, v.second, d); o += ']';\n", inner)
	case kUnique, kRaw:
		return fmt.Sprintf("  if (!v) o += \"null\"; else if (d >= depth) o += deep(); else { std::string s; show%d(s, *v, "+
			"d + 1); o += s == \"null\" ? \"{\\\"*\\\":null}\" : s; }\n", inner)
	case kShared:
		return fmt.Sprintf("  if (!v) { o += \"null\"; return; }\n  o += \"{\\\"value\\\":\"; if (d >= depth) o += deep(); "+
			"else show%d(o, *v, d + 1); o += \",\\\"useCount\\\":\" + std::to_string(v.use_count()) + '}';\n", inner)
	}
	return cut + fmt.Sprintf("  o += '['; for (auto& x : v) { if (o.back() != '[') o += ','; show%d(o, x, d + %d); } o "+
		"+= ']';\n", inner, deeper)
}

func showMembers(members []*texpr) string {
	return "  o += '{';\n" + lines(members, func(i int, m *texpr) string {
		comma := ""
		if i > 0 {
			comma = ","
		}
		return fmt.Sprintf("  o += \"%s\\\"m%d\\\":\"; show%d(o, v.m%d, d);\n", comma, i, m.id, i)
	}) + "  o += '}';\n"
}

// buildCPP is the body of a function that fills v with random contents.
func (g *graph) buildCPP(e *texpr) string {
	inner := 0
	if e.elem != nil {
		inner = e.elem.id
	}
	of := ""
	if e.elem != nil {
		of = g.cpp(e.elem)
	}
	switch e.kind {
	case kInt:
		return "  v = int(pick(2000000)) - 1000000;\n"
	case kText:
		return "  v = word();\n"
	case kStruct:
		return lines(g.structs[e.n].members, func(i int,
			m *texpr) string {
			return fmt.Sprintf("  build%d(v.m%d, fuel - 1);\n", m.id, i)
		})
	case kTemplate:
		p := g.parts(e)
		return fmt.Sprintf("  v.at = int(pick(100)); build%d(v.kids, fuel - 1); build%d(v.leaves, fuel - 1);\n", p[0].id,
			p[1].id)
	case kMap:
		return fmt.Sprintf("  for (int n = some(fuel); n > 0; n--) build%d(v[word() + char('0' + n)], fuel - 1);\n", inner)
	case kOptional:
		return fmt.Sprintf("  if (pick(2)) { v.emplace(); build%d(*v, fuel); }\n", inner)
	case kVariant:
		return fmt.Sprintf("  if (pick(2)) v = int(pick(100)); else { v.template emplace<1>(); build%d(std::get<1>(v), "+
			"fuel); }\n", inner)
	case kPair:
		return fmt.Sprintf("  v.first = int(pick(100)); build%d(v.second, fuel);\n", inner)
	case kArray:
		return fmt.Sprintf("  for (auto& x : v) build%d(x, fuel);\n", inner)
	case kUnique, kShared, kRaw:
		return fmt.Sprintf("  if (some(fuel)) { auto p = new %s(); build%d(*p, fuel - 1); v = %s(p); }\n", of, inner,
			strings.Replace(g.cpp(e), of+"*", "", 1))
	}
	return fmt.Sprintf("  for (int n = some(fuel); n > 0; n--) { v.emplace_back(); build%d(v.back(), fuel - 1); }\n",
		inner)
}
