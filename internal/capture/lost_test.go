//go:build linux && amd64

package capture

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
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
	{"struct ll", [2]string{"(struct ll){41, 42}", "(struct ll){1, 2}"}, [2]string{`{"a":41,"b":42}`, `{"a":1,"b":2}`},
		"(struct ll){v41, 42}"},
	{"struct ii", [2]string{"(struct ii){41, 42}", "(struct ii){1, 2}"}, [2]string{`{"a":41,"b":42}`, `{"a":1,"b":2}`},
		"(struct ii){v41, 42}"},
	{"struct dd", [2]string{"(struct dd){41.5, 42.5}", "(struct dd){1.5, 2.5}"},
		[2]string{`{"a":41.5,"b":42.5}`, `{"a":1.5,"b":2.5}`}, "(struct dd){v41 + 0.5, 42.5}"},
	{"struct ld", [2]string{"(struct ld){41, 42.5}", "(struct ld){1, 2.5}"},
		[2]string{`{"a":41,"b":42.5}`, `{"a":1,"b":2.5}`}, "(struct ld){v41, 42.5}"},
	{"struct lll", [2]string{"(struct lll){41, 42, 43}", "(struct lll){1, 2, 3}"},
		[2]string{`{"a":41,"b":42,"c":43}`, `{"a":1,"b":2,"c":3}`}, "(struct lll){v41, 42, 43}"},
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
	"sink = a + 3;", "sink = a * b;", "plain += a;", "table[a & 7] += b;", "evoid();", "eint(a);", "elong(b);",
	"edouble(1.5);", "efloat(2.5f);",
	"ell(a);", "edd(b);", "sint(a);", "sbyte(b);", "sconst(a);", "svoid(a);", "pointer(b);", "dsink = dsink * 1.5;",
	"lsink = elong(a) + 1;",
	"for (int i = 0; i < v5; i++) sink = i * a;", "for (int i = v5; i > 0; i--) plain ^= i;",
	"for (int i = 0; i < v5; i++) table[i & 7] = table[(i + a) & 7] + b;",
	"{ int s = 0; for (int i = 0; i < v5; i++) s += v41 ^ i; sink = s; }",
	"{ double s = 0; for (int i = 0; i < v5; i++) s += dsink; dsink = s; }",
	"while (plain > v5) plain -= 3;", "do { sink = plain++; } while (plain & 3);", "sink = a / (b | 1);",
	"__sync_fetch_and_add(&plain, a);",
	"__sync_bool_compare_and_swap(&plain, a, b);", "if (__sync_fetch_and_add(&plain, 1) > 100000) evoid();",
	"table[1] = table[2] * 7 + (table[3] >> a);",
	"if (v5 == 5) sink = table[b & 7]; else evoid();", "if (v5 != 5) { eint(3); sink = 4; }",
	"switch (v5) { case 3: sint(1); break; case 5: sink = 6; break; case 7: plain = 9; break; default: elong(1); }",
	`__asm__ volatile("" : : "r"(a * 3) : "memory");`, `__asm__ volatile("" : : "r"((long)v5 * 3) : "memory");`,
	`__asm__ volatile("" : : "x"(dsink + 1));`, "{ volatile int local = b; (void)local; }",
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
		switch r.IntN(6) {
		case 0:
			fmt.Fprintf(&main, "\tf%d(v5, v41);\n", i)
		case 1:
			fmt.Fprintf(&main, "\t{ %s r = f%d(3, v41); use(&r, sizeof r); }\n", name, i)
		case 2: // through a pointer
			fmt.Fprintf(&b, "%s (*volatile p%d)(int, int) = f%d;\n", name, i, i)
			fmt.Fprintf(&main, "\t{ %s r = p%d(3, v41); use(&r, sizeof r); }\n", name, i)
		case 3: // behind a tail call
			fmt.Fprintf(&b, "%s NI %s t%d(int a, int b) { sink = a; return f%d(b, a); }\n", []string{"", "static"}[r.IntN(2)],
				name, i, i)
			fmt.Fprintf(&main, "\t{ %s r = t%d(3, v41); use(&r, sizeof r); }\n", name, i)
		case 4: // of which a part is used
			part := map[bool]string{true: "r." + string("ab"[r.IntN(2)]), false: "r"}[strings.HasPrefix(name, "struct")]
			fmt.Fprintf(&main, "\t{ %s r = f%d(3, v41); dsink = %s; }\n", name, i, part)
		default:
			fmt.Fprintf(&main, "\t{ %s r = f%d(v5, v41); use(&r, sizeof r); r = f%d(v41, 3); use(&r, sizeof r); }\n", name, i, i)
		}
		cases = append(cases, sigcorpus.Case{Func: "f" + strconv.Itoa(i), Signature: fmt.Sprintf("%s f%d", k.name, i),
			Ret: k.json[0]})
	}
	fmt.Fprintf(&b, "int main(void) {\n%s\treturn 0;\n}\n", main.String())
	return b.String(), cases
}

// TestLostResults runs functions whose constant results compilers propagate to the callers and then leave away: their
// result is right or <optimized out>, never what their code left in the register.
func TestLostResults(t *testing.T) {
	offset, _ := strconv.ParseUint(os.Getenv("STROBE_CORPUS_SEED"), 10, 64)
	for i, command := range []string{"clang -O1", "clang -O2", "clang -O3", "clang -Os", "clang++ -O2 -Wno-narrowing",
		"clang -O2 -flto", "gcc -O1", "gcc -O2", "gcc -O3", "g++ -O2 -Wno-narrowing", "gcc -O2 -flto",
		"gcc -O2 -fwhole-program"} {
		if (strings.Contains(command, "-O3") || strings.Contains(command, "-Os")) && !strobetest.Soaks(t, command) {
			continue
		}
		t.Run(command, func(t *testing.T) {
			t.Parallel()
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
	t.Logf("results: right %d, partly %d, optimized out %d, wrong %d; none %d, not called %d", rets.right, rets.partial,
		rets.missing, rets.wrong, rets.absent, rets.uncalled)
}

// lostRust are the result types of generated Rust functions.
var lostRust = []lostKind{
	{"i32", [2]string{"41", "-7"}, [2]string{"41", "-7"}, "v41()"},
	{"u8", [2]string{"41", "9"}, [2]string{"41", "9"}, "v41() as u8"},
	{"u64", [2]string{"41 << 33", "9"}, [2]string{"352187318272", "9"}, "(v41() as u64) << 33"},
	{"bool", [2]string{"true", "false"}, [2]string{"true", "false"}, "v41() == 41"},
	{"f64", [2]string{"41.5", "-2.25"}, [2]string{"41.5", "-2.25"}, "v41() as f64 + 0.5"},
	{"f32", [2]string{"41.5", "-2.25"}, [2]string{"41.5", "-2.25"}, "v41() as f32 + 0.5"},
	{"Color", [2]string{"Color::Green", "Color::Blue"}, [2]string{`"Green"`, `"Blue"`},
		"if v41() > 40 { Color::Green } else { Color::Red }"},
	{"Option<u32>", [2]string{"Some(41)", "None"}, [2]string{`41`, `"None"`},
		"if v41() > 40 { Some(v41() as u32) } else { None }"},
	{"Option<u64>", [2]string{"Some(41)", "None"}, [2]string{`41`, `"None"`},
		"if v41() > 40 { Some(v41() as u64) } else { None }"},
	{"Result<u32, u32>", [2]string{"Err(41)", "Ok(2)"}, [2]string{`{"Err":41}`, `{"Ok":2}`},
		"if v41() > 40 { Err(v41() as u32) } else { Ok(7) }"},
	{"(u64, u64)", [2]string{"(41, 42)", "(1, 2)"}, [2]string{`[41,42]`, `[1,2]`}, "(v41() as u64, 42)"},
	{"(u32, u32)", [2]string{"(41, 42)", "(1, 2)"}, [2]string{`[41,42]`, `[1,2]`}, "(v41() as u32, 1 + v41() as u32)"},
	{"(u64, f64)", [2]string{"(41, 42.5)", "(1, 2.5)"}, [2]string{`[41,42.5]`, `[1,2.5]`}, "(v41() as u64, 42.5)"},
	{"(u16, bool)", [2]string{"(41, true)", "(1, false)"}, [2]string{`[41,true]`, `[1,false]`},
		"(v41() as u16, v41() > 3)"},
	{"CPair", [2]string{"CPair { a: 41, b: 42 }", "CPair { a: 1, b: 2 }"}, [2]string{`{"a":41,"b":42}`, `{"a":1,"b":2}`},
		"CPair { a: v41() as u32, b: 1 + v41() as u32 }"},
	{"Pair", [2]string{"Pair { a: 41, b: 42 }", "Pair { a: 1, b: 2 }"}, [2]string{`{"a":41,"b":42}`, `{"a":1,"b":2}`},
		"Pair { a: v41() as u32, b: 1 + v41() as u32 }"},
	{"[u8; 4]", [2]string{"[41, 42, 43, 44]", "[1, 2, 3, 4]"}, [2]string{`[41,42,43,44]`, `[1,2,3,4]`},
		"[v41() as u8, 42, 43, 44]"},
	{"(u64, u64, u64)", [2]string{"(41, 42, 43)", "(1, 2, 3)"}, [2]string{`[41,42,43]`, `[1,2,3]`},
		"(v41() as u64, 42, 43)"},
	{"&'static str", [2]string{`"forty"`, `"x"`}, [2]string{`"forty"`, `"x"`},
		`if v41() > 40 { "forty" } else { "nothing" }`},
}

// lostUses read parts of the results that have parts, so that compilers may take the others away.
var lostUses = map[string][]string{
	"Option<u32>":      {"r.is_some() as i32", "r.unwrap_or(3) as i32"},
	"Option<u64>":      {"r.is_some() as i32", "r.unwrap_or(3) as i32"},
	"Result<u32, u32>": {"r.is_ok() as i32", "match r { Ok(a) | Err(a) => a as i32 }"},
	"(u64, u64)":       {"r.0 as i32", "r.1 as i32"},
	"(u32, u32)":       {"r.0 as i32", "r.1 as i32"}, "(u64, f64)": {"r.0 as i32", "r.1 as i32"},
	"(u16, bool)": {"r.0 as i32", "r.1 as i32"},
	"CPair":       {"r.a as i32", "r.b as i32"}, "Pair": {"r.a as i32", "r.b as i32"},
	"[u8; 4]":      {"r[0] as i32", "r[3] as i32"},
	"&'static str": {"r.len() as i32", "r.as_ptr() as usize as i32"}, "(u64, u64, u64)": {"r.0 as i32", "r.2 as i32"},
}

const lostHeadRust = `#![allow(dead_code, unused, static_mut_refs)]
use std::hint::black_box;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering::*};
#[derive(Clone, Copy, PartialEq)] enum Color { Red, Green, Blue }
#[repr(C)] #[derive(Clone, Copy)] struct CPair { a: u32, b: u32 }
#[derive(Clone, Copy)] struct Pair { a: u32, b: u32 }
static V41: AtomicI32 = AtomicI32::new(41); static V5: AtomicI32 = AtomicI32::new(5); static SINK: AtomicI32 = AtomicI32::new(0);
static LSINK: AtomicU64 = AtomicU64::new(0); static mut TABLE: [i64; 8] = [0; 8]; static mut PLAIN: i32 = 0; static mut DSINK: f64 = 3.5;
#[inline(always)] fn v41() -> i32 { V41.load(Relaxed) }
#[inline(always)] fn v5() -> i32 { V5.load(Relaxed) }
#[inline(always)] fn sink(a: i32) { SINK.store(a, Relaxed) }
#[inline(always)] fn table(a: i32) -> &'static mut i64 { unsafe { &mut TABLE[(a & 7) as usize] } }
#[inline(always)] fn dsink() -> f64 { unsafe { std::ptr::read_volatile(&raw const DSINK) } }
#[inline(never)] fn evoid() { sink(v5()) }
#[inline(never)] fn eint(a: i32) -> i32 { sink(a); v5() + 772 }
#[inline(never)] fn elong(a: i64) -> i64 { LSINK.store(a as u64, Relaxed); v5() as i64 + 7720000000 }
#[inline(never)] fn edouble(a: f64) -> f64 { unsafe { std::ptr::write_volatile(&raw mut DSINK, a) }; v5() as f64 + 0.125 }
#[inline(never)] fn epair(a: i32) -> (u64, u64) { sink(a); (v5() as u64 + 100, v5() as u64 + 200) }
#[inline(never)] fn eoption(a: i32) -> Option<u32> { sink(a); if v5() > 3 { Some(v5() as u32 + 300) } else { None } }
#[inline(never)] fn sconst(a: i32) -> i32 { sink(a); if v5() > 9 { eint(a); } 63 }
#[inline(never)] fn text(a: i32) -> String { format!("{a}") }
`

var lostStatementsRust = []string{
	"sink(a + 3);", "sink(a * b);", "unsafe { PLAIN += a; }", "*table(a) += b as i64;", "evoid();", "eint(a);",
	"elong(b as i64);", "edouble(1.5);",
	"epair(a);", "eoption(b);", "sconst(a);", "let _ = v41();", "let _ = v5();", "let _ = dsink();",
	"let _ = LSINK.load(SeqCst);", "SINK.fetch_add(a, Relaxed);",
	"let _ = SINK.swap(b, Relaxed);", "if SINK.fetch_add(1, Relaxed) > 1000000 { evoid(); }",
	"let _ = SINK.compare_exchange(a, b, Relaxed, Relaxed);",
	"for i in 0..v5() { sink(i * a); }", "{ let mut s = 0; for i in 0..v5() { s += v41() ^ i; } sink(s); }",
	"*table(1) = *table(2) * 7 + (*table(3) >> (a & 7));",
	"if v5() == 5 { sink(*table(b) as i32); } else { evoid(); }", "if eint(a) > 3 { sink(1); }",
	"LSINK.store(elong(3) as u64, Relaxed);", "drop(text(a));",
	"match v5() { 3 => { eint(1); } 5 => sink(6), 7 => sink(9), _ => { elong(1); } }", "black_box(a);", "black_box(&b);",
	"let _ = black_box(eint(a));",
	"{ let c = AtomicI32::new(a); let _ = c.load(Relaxed); }",
	"{ let mut s = dsink(); for _ in 0..v5() { s += dsink(); } edouble(s); }", "sink(a / (b | 1));",
}

// generateLostRust is generateLost for Rust.
func generateLostRust(seed uint64, n int) (string, []sigcorpus.Case) {
	r := rand.New(rand.NewPCG(seed, 78))
	var b, main strings.Builder
	b.WriteString(lostHeadRust)
	cases := make([]sigcorpus.Case, 0, n)
	pick := func(of []string) string { return of[r.IntN(len(of))] }
	for i := range n {
		k := lostRust[r.IntN(len(lostRust))]
		value := k.expr[0]
		if r.IntN(3) == 0 {
			value = k.varied
		}
		fmt.Fprintf(&b, "#[inline(never)] %sfn f%d(a: i32, b: i32) -> %s {\n",
			pick([]string{"", "", "", "pub ", "#[unsafe(no_mangle)] pub "}), i, k.name)
		for range r.IntN(4) {
			fmt.Fprintf(&b, "    %s\n", pick(lostStatementsRust))
		}
		switch r.IntN(4) {
		case 0:
			fmt.Fprintf(&b, "    if v5() > 2 { %s return %s; }\n", pick(lostStatementsRust), value)
		case 1:
			fmt.Fprintf(&b, "    if v5() < 2 { %s return %s; }\n", pick(lostStatementsRust), k.expr[r.IntN(2)])
		case 2:
			fmt.Fprintf(&b, "    for k in 0..9 { %s if k == v5() { return %s; } }\n", pick(lostStatementsRust), value)
		}
		for range r.IntN(3) {
			fmt.Fprintf(&b, "    %s\n", pick(lostStatementsRust))
		}
		fmt.Fprintf(&b, "    %s\n}\n", value)
		use := "black_box(&r);"
		if of := lostUses[k.name]; of != nil && r.IntN(2) == 0 {
			use = "sink(" + pick(of) + ");"
		}
		switch r.IntN(5) {
		case 0:
			fmt.Fprintf(&main, "    f%d(v5(), v41());\n", i)
		case 2: // through a pointer
			fmt.Fprintf(&main, "    { let r = black_box(f%d as fn(i32, i32) -> %s)(3, v41()); %s }\n", i, k.name, use)
		case 3: // behind a tail call
			fmt.Fprintf(&b, "#[inline(never)] fn t%d(a: i32, b: i32) -> %s { sink(a); f%d(b, a) }\n", i, k.name, i)
			fmt.Fprintf(&main, "    { let r = t%d(3, v41()); %s }\n", i, use)
		case 1:
			fmt.Fprintf(&main, "    { let r = f%d(3, v41()); %s }\n", i, use)
		default:
			fmt.Fprintf(&main, "    { let r = f%d(v5(), v41()); %s let r = f%d(v41(), 3); %s }\n", i, use, i, use)
		}
		cases = append(cases, sigcorpus.Case{Func: "f" + strconv.Itoa(i), Signature: fmt.Sprintf("%s f%d", k.name, i),
			Ret: k.json[0]})
	}
	fmt.Fprintf(&b, "fn main() {\n%s}\n", main.String())
	return b.String(), cases
}

// TestLostResultsRust is TestLostResults for rustc.
func TestLostResultsRust(t *testing.T) {
	offset, _ := strconv.ParseUint(os.Getenv("STROBE_CORPUS_SEED"), 10, 64)
	for i, flags := range []string{"opt-level=1", "opt-level=2", "opt-level=3", "opt-level=s",
		"opt-level=3 codegen-units=1", "opt-level=3 lto=fat"} {
		if i > 2 && !strobetest.Soaks(t, "rustc with "+flags) {
			continue
		}
		t.Run(flags, func(t *testing.T) {
			t.Parallel()
			command := []string{"rustc", "-g", "-A", "warnings"}
			for _, f := range strings.Fields(flags) {
				command = append(command, "-C", f)
			}
			source, cases := generateLostRust(uint64(i)+offset*100, 150)
			checkResults(t, build(t, "a.rs", source, command...), cases)
		})
	}
}
