//go:build linux && amd64

package capture

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest/sigcorpus"
)

// lostKind is a result type of the generated functions, with two values of it.
type lostKind struct {
	name   string
	expr   [2]string // constants
	json   [2]string
	varied string // an expression that the compiler cannot know, equal to the first constant
}

var lostC = []lostKind{
	{"int", [2]string{"41", "-7"}, [2]string{"41", "-7"}, "v41"},
	{"unsigned char", [2]string{"41", "9"}, [2]string{"41", "9"}, "(unsigned char)v41"},
	{"long", [2]string{"41L << 33", "3"}, [2]string{"352187318272", "3"}, "(long)v41 << 33"},
	{"_Bool", [2]string{"1", "0"}, [2]string{"true", "false"}, "v41 == 41"},
	{"double", [2]string{"41.5", "-2.25"}, [2]string{"41.5", "-2.25"}, "v41 + 0.5"},
	{"float", [2]string{"41.5f", "-2.25f"}, [2]string{"41.5", "-2.25"}, "v41 + 0.5f"},
	{"enum color", [2]string{"GREEN", "BLUE"}, [2]string{`"GREEN"`, `"BLUE"`}, "(enum color)(v41 - 40)"},
	{"struct ll", [2]string{"(struct ll){41, 42}", "(struct ll){1, 2}"}, [2]string{`{"a":41,"b":42}`, `{"a":1,"b":2}`}, "(struct ll){v41, 42}"},
	{"struct ii", [2]string{"(struct ii){41, 42}", "(struct ii){1, 2}"}, [2]string{`{"a":41,"b":42}`, `{"a":1,"b":2}`}, "(struct ii){v41, 42}"},
	{"struct dd", [2]string{"(struct dd){41.5, 42.5}", "(struct dd){1.5, 2.5}"}, [2]string{`{"a":41.5,"b":42.5}`, `{"a":1.5,"b":2.5}`}, "(struct dd){v41 + 0.5, 42.5}"},
	{"struct ld", [2]string{"(struct ld){41, 42.5}", "(struct ld){1, 2.5}"}, [2]string{`{"a":41,"b":42.5}`, `{"a":1,"b":2.5}`}, "(struct ld){v41, 42.5}"},
	{"struct lll", [2]string{"(struct lll){41, 42, 43}", "(struct lll){1, 2, 3}"}, [2]string{`{"a":41,"b":42,"c":43}`, `{"a":1,"b":2,"c":3}`}, "(struct lll){v41, 42, 43}"},
}

const lostHeadC = `
struct ll { long a, b; }; struct ii { int a, b; }; struct dd { double a, b; }; struct ld { long a; double b; }; struct lll { long a, b, c; };
enum color { RED, GREEN, BLUE };
volatile int v41 = 41, v5 = 5, sink; volatile double dsink = 3.5; volatile long lsink; int plain; long table[8];
#define NI __attribute__((noinline))
NI void evoid(void) { sink = v5; }
NI int eint(int a) { sink = a; return v5 + 772; }
NI long elong(long a) { lsink = a; return (long)v5 + 7720000000; }
NI double edouble(double a) { dsink = a; return v5 + 0.125; }
NI float efloat(float a) { dsink = a; return v5 + 0.125f; }
NI struct ll ell(int a) { struct ll r = {v5 + 100, v5 + 200}; sink = a; return r; }
NI struct dd edd(int a) { struct dd r = {v5 + 100, v5 + 200}; sink = a; return r; }
static NI int sint(int a) { sink = a; return v5 + 881; }
static NI unsigned char sbyte(int a) { sink = a; return v5 + 81; }
static NI int sconst(int a) { sink = a; if (v5 > 9) eint(a); return 63; }
static NI void svoid(int a) { sink = a + 3; }
int (*pointer)(int) = eint;
NI void use(const void *p, int n) { const volatile unsigned char *b = (const volatile unsigned char *)p; for (int i = 0; i < n; i++) sink = b[i]; }
`

// lostStatements are what functions do beside their result: they leave things in the result registers.
var lostStatementsC = []string{
	"sink = a + 3;", "sink = a * b;", "plain += a;", "table[a & 7] += b;", "evoid();", "eint(a);", "elong(b);", "edouble(1.5);", "efloat(2.5f);",
	"ell(a);", "edd(b);", "sint(a);", "sbyte(b);", "sconst(a);", "svoid(a);", "pointer(b);", "dsink = dsink * 1.5;", "lsink = elong(a) + 1;",
	"for (int i = 0; i < v5; i++) sink = i * a;", "for (int i = v5; i > 0; i--) plain ^= i;", "for (int i = 0; i < v5; i++) table[i & 7] = table[(i + a) & 7] + b;",
	"{ int s = 0; for (int i = 0; i < v5; i++) s += v41 ^ i; sink = s; }", "{ double s = 0; for (int i = 0; i < v5; i++) s += dsink; dsink = s; }",
	"while (plain > v5) plain -= 3;", "do { sink = plain++; } while (plain & 3);", "sink = a / (b | 1);", "__sync_fetch_and_add(&plain, a);",
	"__sync_bool_compare_and_swap(&plain, a, b);", "if (__sync_fetch_and_add(&plain, 1) > 100000) evoid();", "table[1] = table[2] * 7 + (table[3] >> a);",
	"if (v5 == 5) sink = table[b & 7]; else evoid();", "if (v5 != 5) { eint(3); sink = 4; }", "switch (v5) { case 3: sint(1); break; case 5: sink = 6; break; case 7: plain = 9; break; default: elong(1); }",
	"if (eint(a) > 3) sink = 1;", "sink = sint(a) & 7 ? a : b;", "lsink = plain ? table[1] : 0;",
}

// generateLost makes n functions; the result of most is a constant that callers know.
func generateLost(seed uint64, n int, cpp bool) (string, []sigcorpus.Case) {
	r := rand.New(rand.NewPCG(seed, 77))
	var b, main strings.Builder
	b.WriteString(lostHeadC)
	cases := make([]sigcorpus.Case, 0, n)
	pick := func(of []string) string { return of[r.IntN(len(of))] }
	for i := range n {
		k := lostC[r.IntN(len(lostC))]
		name := k.name
		if cpp && name == "_Bool" {
			name = "bool"
		}
		value := k.expr[0]
		if r.IntN(4) == 0 {
			value = k.varied
		}
		fix := func(s string) string {
			if cpp && strings.HasPrefix(s, "(struct") { // a braced list of the type
				s = strings.Replace(strings.Replace(strings.TrimPrefix(s, "(struct "), ")", "", 1), "struct ", "", 1)
			}
			return s
		}
		storage := "static NI"
		if r.IntN(5) == 0 {
			storage = "NI"
		}
		fmt.Fprintf(&b, "%s %s f%d(int a, int b) {\n", storage, name, i)
		for range r.IntN(4) {
			fmt.Fprintf(&b, "\t%s\n", pick(lostStatementsC))
		}
		switch r.IntN(4) {
		case 0:
			fmt.Fprintf(&b, "\tif (v5 > 2) { %s return %s; }\n", pick(lostStatementsC), fix(value))
		case 1:
			fmt.Fprintf(&b, "\tif (v5 < 2) { %s return %s; }\n", pick(lostStatementsC), fix(k.expr[0]))
		case 2:
			fmt.Fprintf(&b, "\tfor (int k = 0; k < 9; k++) { %s if (k == v5) return %s; }\n", pick(lostStatementsC), fix(value))
		}
		for range r.IntN(3) {
			fmt.Fprintf(&b, "\t%s\n", pick(lostStatementsC))
		}
		fmt.Fprintf(&b, "\treturn %s;\n}\n", fix(value))
		switch r.IntN(3) {
		case 0:
			fmt.Fprintf(&main, "\tf%d(v5, v41);\n", i)
		case 1:
			fmt.Fprintf(&main, "\t{ %s r = f%d(3, v41); use(&r, sizeof r); }\n", name, i)
		default:
			fmt.Fprintf(&main, "\t{ %s r = f%d(v5, v41); use(&r, sizeof r); r = f%d(v41, 3); use(&r, sizeof r); }\n", name, i, i)
		}
		cases = append(cases, sigcorpus.Case{Func: "f" + strconv.Itoa(i), Signature: fmt.Sprintf("%s f%d", k.name, i), Ret: k.json[0]})
	}
	fmt.Fprintf(&b, "int main(void) {\n%s\treturn 0;\n}\n", main.String())
	return b.String(), cases
}

// TestLostResults runs functions whose constant results compilers propagate to the callers and then leave away: their result is
// right or <optimized out>, never what their code left in the register.
func TestLostResults(t *testing.T) {
	offset, _ := strconv.ParseUint(os.Getenv("STROBE_CORPUS_SEED"), 10, 64)
	for i, command := range []string{"clang -O1", "clang -O2", "clang -O3", "clang -Os", "clang++ -O2 -Wno-narrowing", "clang -O2 -flto", "gcc -O1", "gcc -O2", "gcc -O3", "g++ -O2 -Wno-narrowing", "gcc -O2 -flto", "gcc -O2 -fwhole-program"} {
		t.Run(command, func(t *testing.T) {
			words := strings.Fields(command)
			file, cpp := "a.c", strings.Contains(words[0], "++")
			if cpp {
				file = "a.cc"
			}
			source, cases := generateLost(uint64(i)+offset*100, 150, cpp)
			checkResults(t, build(t, file, source, append(words, "-g", "-w")...), cases)
		})
	}
}

// checkResults compares results only.
func checkResults(t *testing.T, bin string, cases []sigcorpus.Case) {
	t.Helper()
	seen := trace(t, bin)
	var rets score
	for i := range cases {
		c := &cases[i]
		if o := seen[c.Func]; o == nil || !o.done {
			rets.uncalled++
		} else if o.hasRet {
			rets.judge(t, c, "result", string(o.ret.AppendJSON(nil)), c.Ret, true)
		} else {
			rets.absent++
		}
	}
	t.Logf("results: right %d, partly %d, optimized out %d, wrong %d; none %d, not called %d", rets.right, rets.partial, rets.missing, rets.wrong, rets.absent, rets.uncalled)
}
