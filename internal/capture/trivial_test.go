//go:build linux && amd64

package capture

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest/sigcorpus"
)

// trivialScalars are types with two constants each, and how those are shown.
var trivialScalars = [][5]string{
	{"u8", "200", "7", "200", "7"}, {"i8", "-3", "100", "-3", "100"}, {"u16", "60000", "9", "60000", "9"},
	{"u32", "4000000000", "41", "4000000000", "41"}, {"i32", "-5", "77", "-5", "77"},
	{"u64", "1 << 40", "5", "1099511627776", "5"}, {"f32", "1.5", "-0.25", "1.5", "-0.25"},
	{"f64", "2.5", "1e10", "2.5", "10000000000"}, {"bool", "true", "false", "true", "false"},
	{"char", "'x'", "'é'", `"x"`, `"é"`},
}

// trivialForms are results made of two scalars: the type, an expression over a and b, and how it is shown.
var trivialForms = [][3]string{
	{"(A, B)", "(a, b)", "[a,b]"}, {"(B, A)", "(b, a)", "[b,a]"}, {"Pair<A, B>", "Pair { x: a, y: b }", `{"x":a,"y":b}`},
	{"CPair<A, B>", "CPair { x: a, y: b }", `{"x":a,"y":b}`}, {"Option<A>", "Some(a)", "a"},
	{"Option<B>", "None", "null"}, {"Result<A, B>", "Ok(a)", `{"Ok":a}`}, {"Result<A, B>", "Err(b)", `{"Err":b}`},
	{"Result<B, A>", "Err(a)", `{"Err":a}`}, {"One<A>", "One(a)", "a"}, {"[A; 2]", "[a, a]", "[a,a]"}, {"A", "a", "a"},
	{"(A, A)", "(a, a)", "[a,a]"}, {"(A, B, A)", "(a, b, a)", "[a,b,a]"}, {"Result<A, ()>", "Ok(a)", `{"Ok":a}`},
}

// trivialSources say where a function has its two scalars from: the parameters, and what a and b are in the body. The
// last are the parameters as they are shown.
var trivialSources = [][4]string{
	{"a: A, b: B", "a, b", "", "a=a b=b"}, {"b: B, a: A", "b, a", "", "b=b a=a"},
	{"pa: &A, pb: &B", "&a, &b", "let (a, b) = (*pa, *pb); ", "pa=a pb=b"}, {"a: A, pb: &B", "a, &b", "let b = *pb; ", "a=a pb=b"},
	{"p: (A, B)", "(a, b)", "let (a, b) = p; ", "p=[a,b]"}, {"", "", "let (a, b): (A, B) = (VA, VB); ", ""},
	{"p: &(A, B)", "&(a, b)", "let (a, b) = *p; ", "p=[a,b]"},
	{"p: Pair<A, B>, b: B", "Pair { x: a, y: b }, b", "let a = p.x; ", `p={"x":a,"y":b} b=b`},
	{"p: CPair<A, B>, a: A", "CPair { x: a, y: b }, a", "let b = p.y; ", `p={"x":a,"y":b} a=a`},
	{"p: Option<A>, b: B", "Some(a), b", "let a = p.unwrap(); ", "p=a b=b"},
}

// trivialArgs are the arguments of a source.
func trivialArgs(shown string, r *strings.Replacer) (out []sigcorpus.Arg) {
	for _, one := range strings.Fields(shown) {
		name, form, _ := strings.Cut(one, "=")
		out = append(out, sigcorpus.Arg{Name: name, JSON: r.Replace(form)})
	}
	return out
}

// generateTrivial makes a program of functions that do no more than to give what they are given.
func generateTrivial(seed uint64, n int) (string, []sigcorpus.Case) {
	r := rand.New(rand.NewPCG(seed, 13))
	var b, main strings.Builder
	b.WriteString("#![allow(dead_code, unused, improper_ctypes_definitions)]\nuse std::hint::black_box as bb;\n" +
		"#[derive(Clone, Copy)] pub struct Pair<A, B> { x: A, y: B }\n#[derive(Clone, Copy)] pub struct One<A>(A);\n" +
		"#[repr(C)] #[derive(Clone, Copy)] pub struct CPair<A, B> { x: A, y: B }\n")
	cases := make([]sigcorpus.Case, 0, n)
	for i := range n {
		ta, tb := trivialScalars[r.IntN(len(trivialScalars))], trivialScalars[r.IntN(len(trivialScalars))]
		form, src := trivialForms[r.IntN(len(trivialForms))], trivialSources[r.IntN(len(trivialSources))]
		va, vb := r.IntN(2), r.IntN(2)
		types := strings.NewReplacer("VA", ta[1+va], "VB", tb[1+vb], "A", ta[0], "B", tb[0], "Pair", "Pair", "CPair", "CPair")
		abi := []string{"", "", `extern "C" `}[r.IntN(3)]
		def := fmt.Sprintf("pub %sfn f%d(%s) -> %s { %s%s }", abi, i, types.Replace(src[0]), types.Replace(form[0]),
			types.Replace(src[2]), form[1])
		if seed := r.IntN(2); seed == 1 && abi == "" {
			def = strings.Replace(def, "{ ", "{ let r = ", 1)
			def = strings.Replace(def, "let r = "+types.Replace(src[2]), types.Replace(src[2])+"let r = ", 1)
			def = strings.TrimSuffix(def, " }") + "; r }"
		}
		fmt.Fprintf(&b, "#[inline(never)] %s\n", def)
		fmt.Fprintf(&main, "\t{ let (a, b): (%s, %s) = (%s, %s); bb(f%d(%s)); }\n", ta[0], tb[0], ta[1+va], tb[1+vb], i, src[1])
		shown := strings.NewReplacer("Ok", "Ok", "a", ta[3+va], "b", tb[3+vb])
		cases = append(cases, sigcorpus.Case{Func: fmt.Sprintf("f%d", i), Ret: shown.Replace(form[2]),
			Args:      trivialArgs(src[3], shown),
			Signature: fmt.Sprintf("seed %d: %s", seed, def)})
	}
	return b.String() + "fn main() {\n" + main.String() + "}\n", cases
}

// trivialCPP are the scalars of C++, as trivialScalars.
var trivialCPP = [][5]string{
	{"unsigned char", "200", "7", "200", "7"}, {"short", "-3", "100", "-3", "100"}, {"unsigned", "4000000000u", "9", "4000000000", "9"},
	{"int", "-5", "77", "-5", "77"}, {"long", "1L << 40", "5", "1099511627776", "5"}, {"float", "1.5f", "-0.25f", "1.5", "-0.25"},
	{"double", "2.5", "1e10", "2.5", "10000000000"}, {"bool", "true", "false", "true", "false"},
}

// formsCPP are results made of two scalars, as trivialForms.
var formsCPP = [][3]string{
	{"Pair<A, B>", "Pair<A, B>{a, b}", `{"x":a,"y":b}`}, {"Pair<B, A>", "Pair<B, A>{b, a}", `{"x":b,"y":a}`},
	{"One<A>", "One<A>{a}", `{"x":a}`}, {"std::pair<A, B>", "std::pair<A, B>(a, b)", "[a,b]"}, {"A", "a", "a"}, {"B", "b", "b"},
	{"std::optional<A>", "std::optional<A>(a)", "a"}, {"std::optional<B>", "std::nullopt", "null"},
	{"std::array<A, 2>", "std::array<A, 2>{a, a}", "[a,a]"}, {"Trio<A, B>", "Trio<A, B>{a, b, a}", `{"x":a,"y":b,"z":a}`},
	{"Made<A, B>", "Made<A, B>(a, b)", `{"x":a,"y":b}`}, {"Kept<A>", "Kept<A>(a)", `{"x":a}`},
	{"std::unique_ptr<A>", "std::unique_ptr<A>(new A(a))", "a"},
}

// sourcesCPP are as trivialSources.
var sourcesCPP = [][4]string{
	{"A a, B b", "a, b", "", "a=a b=b"}, {"B b, A a", "b, a", "", "b=b a=a"},
	{"const A &pa, const B &pb", "a, b", "A a = pa; B b = pb; ", "pa=a pb=b"}, {"A a, B *pb", "a, &b", "B b = *pb; ", "a=a"},
	{"Pair<A, B> p", "{a, b}", "A a = p.x; B b = p.y; ", `p={"x":a,"y":b}`},
	{"Kept<A> p, B b", "Kept<A>(a), b", "A a = p.x; ", `p={"x":a} b=b`},
	{"std::optional<A> p, B b", "a, b", "A a = *p; ", "p=a b=b"}, {"Trio<A, B> *p", "&t", "A a = p->x; B b = p->y; ",
		`p={"x":a,"y":b,"z":a}`},
}

// generateTrivialCPP does so for C++.
func generateTrivialCPP(seed uint64, n int) (string, []sigcorpus.Case) {
	r := rand.New(rand.NewPCG(seed, 17))
	var b, main strings.Builder
	b.WriteString(`#include <array>
#include <memory>
#include <optional>
#include <utility>
template <class A, class B> struct Pair { A x; B y; }; template <class A> struct One { A x; };
template <class A, class B> struct Trio { A x; B y; A z; };
template <class A, class B> struct Made { A x; B y; Made(A a, B b) : x(a), y(b) {} };
template <class A> struct Kept { A x; Kept(A a) : x(a) {} Kept(const Kept &o) : x(o.x) {} ~Kept() {} };
template <class T> void use(T &&v) { asm volatile("" : : "r"(&v) : "memory"); }
`)
	cases := make([]sigcorpus.Case, 0, n)
	for i := range n {
		ta, tb := trivialCPP[r.IntN(len(trivialCPP))], trivialCPP[r.IntN(len(trivialCPP))]
		form, src := formsCPP[r.IntN(len(formsCPP))], sourcesCPP[r.IntN(len(sourcesCPP))]
		va, vb := r.IntN(2), r.IntN(2)
		types := strings.NewReplacer("A", ta[0], "B", tb[0])
		def := fmt.Sprintf("%s f%d(%s) { %sreturn %s; }", types.Replace(form[0]), i, types.Replace(src[0]),
			types.Replace(src[2]), types.Replace(form[1]))
		if r.IntN(2) == 0 {
			def = strings.Replace(def, "return "+types.Replace(form[1]), types.Replace(form[0])+" r = "+types.Replace(form[1])+"; return r", 1)
		}
		fmt.Fprintf(&b, "__attribute__((noinline)) %s\n", def)
		fmt.Fprintf(&main, "\t{ %s a = %s; %s b = %s; Trio<%s, %s> t{a, b, a}; use(t); use(f%d(%s)); }\n", ta[0], ta[1+va],
			tb[0], tb[1+vb], ta[0], tb[0], i, types.Replace(src[1]))
		shown := strings.NewReplacer("a", ta[3+va], "b", tb[3+vb])
		cases = append(cases, sigcorpus.Case{Func: fmt.Sprintf("f%d", i), Ret: shown.Replace(form[2]),
			Args:      trivialArgs(src[3], shown),
			Signature: fmt.Sprintf("seed %d: %s", seed, def)})
	}
	return b.String() + "int main() {\n" + main.String() + "}\n", cases
}

func checkTrivial(t *testing.T, seed uint64, n int, command string) {
	t.Helper()
	source, cases := generateTrivial(seed, n)
	optimised, file := rustOptimised(command), "a.rs"
	if strings.Contains(command, "++") {
		source, cases = generateTrivialCPP(seed, n)
		optimised, file = !strings.Contains(command, "-O0"), "a.cc"
	}
	seen := traceBodies(t, build(t, file, source, append(strings.Fields(command), "-g")...), "")
	judgeCalls(t, fmt.Sprintf("%s, seed %d", command, seed), cases, seen, optimised)
}

var trivialBuilds = append([]string{"g++ -std=c++17 -O0", "g++ -std=c++17 -O2", "clang++ -std=c++17 -O0",
	"clang++ -std=c++17 -O1", "clang++ -std=c++17 -O2"}, closureBuilds...)

// TestTrivial compares arguments and results of functions so short that their code says little of where the result is.
func TestTrivial(t *testing.T) {
	for i, command := range trivialBuilds {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			checkTrivial(t, uint64(i), 150, command)
		})
	}
}

// TestSoakTrivial does so with other programs, for as long as STROBE_SOAK says.
func TestSoakTrivial(t *testing.T) {
	soakSeeds(t, trivialBuilds, func(t *testing.T, seed uint64, command string) { checkTrivial(t, seed, 300, command) })
}
