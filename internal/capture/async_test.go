//go:build linux && amd64

package capture

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest/sigcorpus"
)

// asyncRust are the result types of generated async functions: an expression over n, which is 41, and how it is shown.
var asyncRust = [][3]string{
	{"bool", "n == 41", "true"}, {"u8", "n as u8", "41"}, {"i64", "-(n as i64) << 33", "-352187318272"},
	{"u128", "n as u128", "41"}, {"f32", "n as f32 + 0.5", "41.5"}, {"f64", "n as f64 + 0.25", "41.25"},
	{"char", "char::from_u32(n + 24).unwrap()", `"A"`}, {"String", `format!("v{}", n)`, `"v41"`},
	{"Vec<u32>", "vec![n, n + 1]", "[41,42]"}, {"Box<str>", `format!("b{}", n).into()`, `"b41"`},
	{"&'static str", `if n > 4 { "long" } else { "s" }`, `"long"`}, {"Option<u8>", "Some(n as u8)", "41"},
	{"Option<u64>", "if n > 50 { Some(1) } else { None }", "null"}, {"Option<String>", `Some(format!("o{}", n))`, `"o41"`},
	{"Option<Box<u32>>", "Some(Box::new(n))", "41"}, {"Result<u32, u32>", "Err(n)", `{"Err":41}`},
	{"Result<String, String>", `if n > 1 { Ok("k".into()) } else { Err("no".into()) }`, `{"Ok":"k"}`},
	{"Result<(), String>", `Err(format!("e{}", n))`, `{"Err":"e41"}`},
	{"Result<Vec<u8>, std::num::ParseIntError>", `Ok(vec![n as u8])`, `{"Ok":[41]}`},
	{"(u32, f64)", "(n, n as f64 + 0.5)", "[41,41.5]"}, {"(u8, String)", `(n as u8, format!("t{}", n))`, `[41,"t41"]`},
	{"(u64, u64, u64)", "(n as u64, 2, 3)", "[41,2,3]"},
	{"[u64; 4]", "[n as u64, 2, 3, 4]", "[41,2,3,4]"}, {"[u8; 3]", "[n as u8, 2, 3]", "[41,2,3]"},
	{"Plain", "Plain { a: n, b: 2 }", `{"a":41,"b":2}`},
	{"Wide", `Wide { a: n as u64, b: [1.5, 2.5, 3.5], c: "w".into() }`, `{"a":41,"b":[1.5,2.5,3.5],"c":"w"}`},
	{"Kind", `Kind::Named { name: format!("k{}", n) }`, `{"Named":{"name":"k41"}}`},
	{"Color", "if n > 4 { Color::Green } else { Color::Red }", `"Green"`},
}

// generateAsync makes a program of async functions that await a few times, ready each time: the runner looks at the
// first poll.
func generateAsync(seed uint64) (string, []sigcorpus.Case) {
	r := rand.New(rand.NewPCG(seed, 9))
	var b, main strings.Builder
	b.WriteString(`#![allow(dead_code)]
use std::future::Future; use std::pin::Pin; use std::sync::Arc; use std::task::*; use std::hint::black_box as bb;
struct Y(u32); impl Future for Y { type Output = u32; fn poll(mut self: Pin<&mut Self>, _: &mut Context) -> Poll<u32> { if self.0 == 0 { Poll::Ready(1) } else { self.0 -= 1; Poll::Pending } } }
struct Nop; impl Wake for Nop { fn wake(self: Arc<Self>) {} }
fn drive<T>(mut f: Pin<Box<dyn Future<Output = T>>>) -> T { let w = Waker::from(Arc::new(Nop)); let mut cx = Context::from_waker(&w); loop { if let Poll::Ready(x) = f.as_mut().poll(&mut cx) { return x } } }
#[derive(Debug)] pub struct Plain { a: u32, b: u8 } #[derive(Debug)] pub struct Wide { a: u64, b: [f64; 3], c: String } #[derive(Debug)] pub enum Kind { Unit, Named { name: String }, Pair(u8, u8) } #[derive(Debug)] pub enum Color { Red, Green }
`)
	cases := make([]sigcorpus.Case, 0, len(asyncRust))
	for i, k := range asyncRust {
		awaits := ""
		for range r.IntN(4) {
			awaits += "x += Y(0).await; "
		}
		if r.IntN(3) == 0 {
			awaits = fmt.Sprintf("let s = bb(String::from(\"held\")); if x < 100 { %s} drop(s); ", awaits)
		}
		fmt.Fprintf(&b, "pub async fn f%d(n: u32) -> %s { let mut x = n; %sbb(x); %s }\n", i, k[0], awaits, k[1])
		fmt.Fprintf(&main, "\tprintln!(\"{:?}\", drive(Box::pin(f%d(bb(41)))));\n", i)
		cases = append(cases, sigcorpus.Case{Func: fmt.Sprintf("f%d", i),
			Signature: fmt.Sprintf("seed %d, async f%d -> %s", seed, i, k[0]), Ret: `{"Ready":` + k[2] + "}"})
	}
	return b.String() + "fn main() {\n" + main.String() + "}\n", cases
}

// TestAsyncKinds compares the last result of the state machine of each async function with what the program knows.
func TestAsyncKinds(t *testing.T) {
	for i, command := range []string{"rustc --edition 2021", "rustc --edition 2021 -O",
		"rustc --edition 2021 -Copt-level=1"} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			source, cases := generateAsync(uint64(i))
			seen := traceBodies(t, build(t, "a.rs", source, append(strings.Fields(command), "-g")...), "::{{closure}}")
			var rets score
			for k := range cases {
				c := &cases[k]
				if o := seen[c.Func]; o == nil || !o.done {
					rets.uncalled++
				} else {
					rets.judge(t, c, "result", string(o.ret.AppendJSON(nil)), c.Ret, i > 0)
				}
			}
			t.Logf("results: right %d, partly %d, optimized out %d, wrong %d; not called %d", rets.right, rets.partial,
				rets.missing, rets.wrong, rets.uncalled)
			if i == 0 && rets.uncalled > 0 {
				t.Errorf("%d state machines were not seen", rets.uncalled)
			}
		})
	}
}
