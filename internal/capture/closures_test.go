//go:build linux && amd64

package capture

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/strobetest"
	"github.com/strobe-debug/strobe/internal/strobetest/sigcorpus"
)

// closurePatterns are parameters that take their argument apart: a pattern with its type, and the argument. They only
// stand between others.
var closurePatterns = [][2]string{
	{"(_, _): (u32, String)", `(n, "p".into())`}, {"Wide { a: _, c: _, .. }: Wide", `Wide { a: 1, b: [0.5; 3], c: "q".into() }`},
	{"&_: &u64", "&7"}, {"_: [u64; 4]", "[1, 2, 3, 4]"}, {"_: String", `"r".into()`}, {"[_, _]: [u8; 2]", "[1, 2]"},
}

// closureCaptures are what a closure has of its function: none is a parameter, but all are passed as one, by a pointer
// or by value.
var closureCaptures = []string{"", "bb(k); ", "bb(&s); ", "bb(k); bb(&s); ", "bb(&w); ", "bb(k); bb(&s); bb(&w); "}

// closureBodies are what it does with a parameter.
var closureBodies = []string{"", "bb(&%s); ", "bb(%s); ", "let x = %s; bb(&x); ", "let f = || { bb(&%s); }; f(); "}

// generateClosures makes a program of closures: fN has one, which is called with what the cases say.
func generateClosures(seed uint64, n int) (string, []sigcorpus.Case) {
	r := rand.New(rand.NewPCG(seed, 11))
	pick := func(from []string) string { return from[r.IntN(len(from))] }
	var b, main strings.Builder
	b.WriteString(`#![allow(dead_code, unused)]
use std::hint::black_box as bb;
#[derive(Debug)] pub struct Plain { a: u32, b: u8 } #[derive(Debug)] pub struct Wide { a: u64, b: [f64; 3], c: String } #[derive(Debug)] pub enum Kind { Unit, Named { name: String }, Pair(u8, u8) } #[derive(Debug)] pub enum Color { Red, Green }
`)
	cases := make([]sigcorpus.Case, 0, n)
	for i := range n {
		c := sigcorpus.Case{Func: fmt.Sprintf("f%d", i), Signature: fmt.Sprintf("seed %d, closure of f%d:", seed, i)}
		var params, types, values []string
		body := pick(closureCaptures)
		for k := range r.IntN(5) {
			if r.IntN(5) == 0 {
				p := closurePatterns[r.IntN(len(closurePatterns))]
				typ := p[0][strings.LastIndex(p[0], ": ")+2:]
				params, types, values = append(params, p[0]), append(types, typ), append(values, p[1])
				continue
			}
			v, name := asyncRust[r.IntN(len(asyncRust))], fmt.Sprintf("p%d", k)
			params, types, values = append(params, name+": "+v[0]), append(types, v[0]), append(values, v[1])
			c.Args = append(c.Args, sigcorpus.Arg{Name: name, JSON: v[2]})
			if use := pick(closureBodies); use != "" {
				body += fmt.Sprintf(use, name)
			}
		}
		result := asyncRust[r.IntN(len(asyncRust))]
		c.Ret = result[2]
		list, given := strings.Join(types, ", "), strings.Join(values, ", ")
		closure := fmt.Sprintf("|%s| -> %s { %s%s }", strings.Join(params, ", "), result[0], body, result[1])
		if r.IntN(2) == 0 {
			closure = "move " + closure
		}
		fmt.Fprintf(&b, "#[inline(never)] pub fn f%d(n: u32) -> %s { let (k, s, w) = (n, String::from(\"held\"), "+
			"Wide { a: 5, b: [0.5; 3], c: \"kept\".into() }); ", i, result[0])
		switch r.IntN(3) {
		case 0:
			fmt.Fprintf(&b, "let f = %s; f(%s) }\n", closure, given)
		case 1:
			fmt.Fprintf(&b, "let f = %s; bb(&f as &dyn Fn(%s) -> %s)(%s) }\n", closure, list, result[0], given)
		default:
			fmt.Fprintf(&b, "#[inline(never)] fn call(f: impl FnOnce(%s) -> %s, n: u32) -> %s { f(%s) } call(%s, n) }\n", list, result[0], result[0],
				given, closure)
		}
		fmt.Fprintf(&main, "\tbb(f%d(bb(41)));\n", i)
		c.Signature += " " + closure
		cases = append(cases, c)
	}
	return b.String() + "fn main() {\n" + main.String() + "}\n", cases
}

// checkClosures compares what closures are called with and give with what the program knows.
func checkClosures(t *testing.T, seed uint64, n int, command string) {
	t.Helper()
	source, cases := generateClosures(seed, n)
	seen := traceBodies(t, build(t, "a.rs", source, append(strings.Fields(command), "-g")...), "::{{closure}}")
	uncalled := judgeCalls(t, fmt.Sprintf("%s, seed %d", command, seed), cases, seen, rustOptimised(command))
	if !rustOptimised(command) && uncalled > 0 {
		t.Errorf("%d closures were not seen", uncalled)
	}
}

func rustOptimised(command string) bool {
	return strings.Contains(command, "-O") || strings.Contains(command, "opt-level")
}

// judgeCalls compares one call of each case with what was seen of it, and returns how many were not.
func judgeCalls(t *testing.T, what string, cases []sigcorpus.Case, seen map[string]*observed, optimised bool) int {
	t.Helper()
	var args, rets score
	for k := range cases {
		c := &cases[k]
		o := seen[c.Func]
		if o == nil || !o.done {
			args.uncalled++
			continue
		}
		args.functions++
		for _, a := range c.Args {
			if v, ok := o.args.Get(a.Name); ok { // where what is never used lies, only neighbours tell
				unused := strings.Contains(c.Signature, "closure") && strings.Count(c.Signature, a.Name) == 1
				args.judge(t, c, a.Name, string(v.AppendJSON(nil)), a.JSON, optimised || unused)
			} else {
				args.absent++
			}
		}
		rets.judge(t, c, "result", string(o.ret.AppendJSON(nil)), c.Ret, optimised)
	}
	t.Logf("%s: functions %d (not called %d); arguments: right %d, partly %d, optimized out %d, not described %d, wrong "+
		"%d; results: right %d, partly %d, optimized out %d, wrong %d", what, args.functions, args.uncalled, args.right,
		args.partial, args.missing, args.absent, args.wrong, rets.right, rets.partial, rets.missing, rets.wrong)
	return args.uncalled
}

var closureBuilds = []string{"rustc --edition 2021", "rustc --edition 2021 -O", "rustc --edition 2021 -Copt-level=1"}

// TestClosures compares arguments and results of closures: what they capture is passed before the arguments, and is no
// parameter in the debug information.
func TestClosures(t *testing.T) {
	for i, command := range closureBuilds {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			checkClosures(t, uint64(i), 40, command)
		})
	}
}

// TestSoakClosures does so with other programs, for as long as STROBE_SOAK says.
func TestSoakClosures(t *testing.T) {
	soakSeeds(t, closureBuilds, func(t *testing.T, seed uint64, command string) { checkClosures(t, seed, 100, command) })
}

// soakSeeds checks programs of other seeds, from STROBE_CORPUS_SEED on, each built in all ways, for as long as
// STROBE_SOAK says or until one is wrong.
func soakSeeds(t *testing.T, builds []string, check func(t *testing.T, seed uint64, command string)) {
	until := time.Now().Add(strobetest.Soak(t))
	seed, _ := strconv.ParseUint(os.Getenv("STROBE_CORPUS_SEED"), 10, 64)
	for ; time.Now().Before(until) && !t.Failed(); seed++ {
		for _, command := range builds {
			t.Run(command, func(t *testing.T) { check(t, 1000+seed, command) })
		}
	}
}
