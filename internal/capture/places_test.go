//go:build linux && amd64

package capture

import (
	"maps"
	"strings"
	"testing"
)

// placeCase is a program and what each of its functions f<n> must show: arguments, and the result behind an arrow.
type placeCase struct {
	name, file, source string
	commands           []string
	want               map[string]string
}

// checkPlaces builds a program by each command and compares its calls.
func checkPlaces(t *testing.T, c *placeCase) {
	t.Helper()
	for _, command := range c.commands {
		t.Run(c.name+"/"+command, func(t *testing.T) {
			t.Parallel()
			words := append(strings.Fields(command), "-g")
			if words[0] != "rustc" {
				words = append(words, "-w")
			}
			seen := trace(t, build(t, c.file, c.source, words...))
			for name, want := range c.want {
				o := seen[name]
				if o == nil || !o.done {
					t.Errorf("%s was not seen", name)
					continue
				}
				got := ""
				for _, a := range o.args {
					got += a.Name + "=" + string(a.Value.AppendJSON(nil)) + " "
				}
				if want[0] == '*' || want[0] == '?' { // the arguments do not matter; ?: the result may be optimized out
					got = want[:1] + " "
				}
				if ret := string(o.ret.AppendJSON(nil)); want[0] == '?' && ret == `"<optimized out>"` {
					continue
				} else if o.hasRet {
					got += "-> " + ret
				}
				if strings.TrimSpace(got) != want {
					t.Errorf("%s: %s\n\twant %s", name, got, want)
				}
			}
		})
	}
}

// TestRegisterParameters keeps out values of whatever the register that DWARF names for a parameter's whole life had at
// the entry: gcc names it where it does not track variables.
func TestRegisterParameters(t *testing.T) {
	c := placeCase{name: "register", file: "a.c", commands: []string{"gcc -O0", "gcc -Og", "clang -O0"}, source: `
#define NI __attribute__((noinline, noipa))
#ifdef __clang__
#undef NI
#define NI __attribute__((noinline))
#endif
volatile long sink; volatile double fsink;
NI int f1(register int a, int b) { return a + b; }
NI char *f2(void *c, register char *b, double x) { char *s = b; fsink = x; sink = (long)c; return s; }
NI long f3(register char a, register short b, register long c, register double d, register float e) { fsink = d + e; return a + b + c; }
struct s { int a, b; };
NI long f4(register struct s a, register struct s *b) { sink = b->a; return a.a * 10 + a.b; }
NI int f5(int a, int b, int c, int d, int e, int f, register int g, register long h, register char i) { sink = a + b + c + d + e + f; return g + h + i; }
NI int f6(register int a, register int b, register int c, register int d, register int e, register int f, register int g, register int h) { return a+b*2+c*3+d*4+e*5+f*6+g*7+h*8; }
NI int f7(register unsigned char a, unsigned char b, register short c) { if (a > 3) sink = b; return a + b + c; }
struct s x = {1, 2}; char text[] = "text";
int main(void) {
	sink = f1(7, 8); f2(0, text, 1.5); f3('x', 3, 1L << 40, 1.25, 2.5f); f4(x, &x); f5(1, 2, 3, 4, 5, 6, 7, 8, 'i'); f6(1, 2, 3, 4, 5, 6, 7, 8); f7(9, 10, 11);
	return 0;
}`, want: map[string]string{
		"f1": "a=7 b=8 -> 15", "f2": `c=null b="text" x=1.5 -> "text"`,
		"f3": `a="x" b=3 c=1099511627776 d=1.25 e=2.5 -> 1099511627899`,
		"f4": `a={"a":1,"b":2} b={"a":1,"b":2} -> 12`, "f5": `a=1 b=2 c=3 d=4 e=5 f=6 g=7 h=8 i="i" -> 120`,
		"f6": "a=1 b=2 c=3 d=4 e=5 f=6 g=7 h=8 -> 204", "f7": "a=9 b=10 c=11 -> 30",
	}}
	checkPlaces(t, &c)
	untracked := c
	untracked.commands, untracked.want = []string{"gcc -O1 -fno-var-tracking"}, maps.Clone(c.want)
	delete(untracked.want, "f6") // some of its parameters have no register of their own
	checkPlaces(t, &untracked)
}

// TestPromotedParameters keeps out the low half of a double: a float parameter of a function without a prototype is
// passed as one.
func TestPromotedParameters(t *testing.T) {
	checkPlaces(t, &placeCase{name: "promoted", file: "a.c",
		commands: []string{"gcc -O0", "gcc -O1", "gcc -O2", "gcc -Og", "clang -O0"}, source: `
#define NI __attribute__((noinline, noipa))
#ifdef __clang__
#undef NI
#define NI __attribute__((noinline))
#endif
volatile long sink; volatile double fsink;
NI int f1(a, b, c) float a; char b; short c; { fsink = a; return b + c; }
NI int f2(a, b, c) register float a; register char b; register double c; { fsink = a + c; return b; }
NI float f3(a) float a; { return a * 2; }
NI double f4(a, b, c, d, e, f, g, h, i, j) float a, b, c, d, e, f, g, h, i, j; { return a + b + c + d + e + f + g + h + i + j; }
NI float f5(float a, const float b) { return a + b; }
int main(void) { f1(1.5, 7, 9); f2(0.1f, 'a', 2.5); f3(0.1); f4(1., 2., 3., 4., 5., 6., 7., 8., 9., 10.); f5(0.1, 3); return 0; }`, want: map[string]string{
			"f1": `a=1.5 b="\u0007" c=9 -> 16`, "f2": `a=0.1 b="a" c=2.5 -> 97`, "f3": "a=0.1 -> 0.2",
			"f4": "a=1 b=2 c=3 d=4 e=5 f=6 g=7 h=8 i=9 j=10 -> 55", "f5": "a=0.1 b=3 -> 3.1",
		}})
}

// TestConventionParameters keeps out <optimized out> for what gcc's callers pass: parameters that are described only
// behind the entry, or never used, and objects on the stack. Their results, by two registers, are no addresses.
func TestConventionParameters(t *testing.T) {
	checkPlaces(t, &placeCase{name: "convention", file: "a.cc",
		commands: []string{"g++ -O0", "g++ -O1", "g++ -O2", "g++ -O3", "g++ -O2 -gdwarf-4", "g++ -Os", "g++ -Og"}, source: `
struct Node { int id; Node *next; }; struct Pt { int x; double y; };
struct A { int a; double b; A(int x = 0, double y = 0) : a(x), b(y) {} A(const A &) = default; };
struct E { int *p; long n; }; struct F { int *p; }; struct G { int a; double b; ~G() = default; };
struct P { unsigned a, b, c, d, e, f; int s; };
volatile int sink;
#define NI extern "C" __attribute__((noinline, noclone))
#define K asm volatile("" : : "r"(&v) : "memory"); sink = sink + 1
NI Node f1(Node v) { K; return v; }
NI Pt f2(Pt v) { K; return v; }
NI Pt f3(Pt v) { K; return Pt{v.x + 1, v.y}; }
NI A f4(A v) { K; return v; }
NI int f5(E v) { K; *v.p = 1; return 1; }
NI int f6(F v) { K; return 2; }
NI G f7(G v) { K; return v; }
NI int f8(int x, const char *dst, const char *src, int lvl, P cp) { return x + lvl; }
NI int f9(int x, const char *dst, const char *src, int lvl, P cp) { P *p = &cp; asm volatile("" : "+r"(p) : : "memory", "rbx", "r12"); return x + p->c; }
struct V { int v; V(int a) : v(a) {} }; struct W : virtual V { int w; __attribute__((noinline, noclone)) W(int unused, int b, int c); };
W::W(int unused, int b, int c) : V(b) { w = c; }
NI int f11(int w, int k) { return w + k; }
NI int f10(int unused, double also, long a, long b, long c, long d, long e, long last) { return 5; }
volatile int one = 1;
int main() {
	int q = 0; P c = {1, 2, 3, 4, 5, 6, -7};
	Node n = f1(Node{one, 0}); Pt p = f2(Pt{one, .25}); p = f3(p); A a = f4(A(one, 2)); sink = f5(E{&q, 8}) + f6(F{0}); G g = f7(G{9, 10});
	sink = f8(one, "dst", "src", 3, c) + f9(one, "dst", "src", 3, c) + f10(one, .5, 3, 4, 5, 6, 7, 8);
	W w(one, 2, 3); sink = f11(w.w, one);
	return n.id + p.x + a.a + g.a - 13;
}`, want: map[string]string{
			"f1": `v={"id":1,"next":null} -> {"id":1,"next":null}`, "f2": `v={"x":1,"y":0.25} -> {"x":1,"y":0.25}`,
			"f3": `v={"x":1,"y":0.25} -> {"x":2,"y":0.25}`,
			"f4": `v={"a":1,"b":2} -> {"a":1,"b":2}`, "f6": `v={"p":null} -> 2`, "f7": `v={"a":9,"b":10} -> {"a":9,"b":10}`,
			"f8":  `x=1 dst="dst" src="src" lvl=3 cp={"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"s":-7} -> 4`,
			"f9":  `x=1 dst="dst" src="src" lvl=3 cp={"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"s":-7} -> 4`,
			"f11": `w=3 k=1 -> 4`,
			"f10": "unused=1 also=0.5 a=3 b=4 c=5 d=6 e=7 last=8 -> 5",
		}})
}

// TestCloneResults keeps out <optimized out> for results that callers of gcc's clones read.
func TestCloneResults(t *testing.T) {
	checkPlaces(t, &placeCase{name: "clone", file: "a.c",
		commands: []string{"gcc -O2", "gcc -O3", "clang -O2", "clang -O3"}, source: `
typedef struct { void *p; long n[12]; const char *name; } R; typedef struct { int a; double b; } S;
volatile int sink, one = 1;
__attribute__((noinline)) static int f1(R r, int k) { sink = k; return r.n[3] + one; }
__attribute__((noinline)) int over(int x) { R r = {0}; r.n[3] = x; return f1(r, x); }
__attribute__((noinline)) static S f2(R *r, int k) { S s = {k + r->n[3], one + .5}; sink = k; return s; }
int main(void) { R r = {0}; r.n[3] = one; S s = f2(&r, 3); r.n[4] = s.a + (int)s.b; return over(1) + r.n[4] - 7; }`, want: map[string]string{
			"f1": "* -> 2", "f2": `* -> {"a":4,"b":1.5}`,
		}})
}

// TestCoroutineParts keeps out results of a coroutine's resumption and destruction: clang describes them like the
// coroutine itself, and they return nothing. The last part that runs is the one that destroys it.
func TestCoroutineParts(t *testing.T) {
	checkPlaces(t, &placeCase{name: "coroutine", file: "a.cc",
		commands: []string{"clang++ -std=c++20 -fcoroutines-ts -O0"}, source: `
#include <coroutine>
struct Gen {
  struct promise_type { int v = 0; Gen get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() { return {}; } std::suspend_always final_suspend() noexcept { return {}; }
    std::suspend_always yield_value(int x) { v = x; return {}; } void return_void() {} void unhandled_exception() {} };
  std::coroutine_handle<promise_type> h;
};
Gen f1(int from, const char *name) { for (int i = from;; i++) co_yield i; }
int main() { Gen g = f1(5, "g"); for (int i = 0; i < 3; i++) g.h.resume(); g.h.destroy(); return 0; }`, want: map[string]string{
			"f1": `from=5 name="g"`,
		}})
}
