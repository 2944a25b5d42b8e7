//go:build linux && amd64

package capture

import "testing"

// TestRustPairs keeps out results by two registers that are read through the first as if it were an address, and pairs
// of which a parameter is the second.
func TestRustPairs(t *testing.T) {
	checkPlaces(t, &placeCase{name: "pairs", file: "a.rs",
		commands: []string{"rustc", "rustc -O", "rustc -Copt-level=1", "rustc -Copt-level=3", "rustc -Copt-level=s"},
		source: `
use std::cell::RefCell; use std::hint::black_box as bb;
pub struct Node { pub next: Option<Box<Node>>, pub id: i32 }
#[inline(never)] pub fn f1(v: Box<str>) -> Box<str> { bb(1); v }
#[inline(never)] pub fn f2(v: Node) -> Node { bb(&v); v }
#[inline(never)] pub fn f3(v: &str) -> &str { bb(&v); &v[..v.len() - 1] }
#[inline(never)] pub fn f4(mut v: Node, id: i32) -> Node { v.id = id; bb(4); v }
#[inline(never)] pub fn f5(v: (Box<i32>, u32)) -> (Box<i32>, u32) { bb(&v); v }
#[inline(never)] pub fn f6(v: RefCell<i32>) -> RefCell<i32> { bb(&v); v }
#[inline(never)] pub fn f7(a: u32, b: u32, c: u32) -> (u32, u32) { bb(b); (a, c) }
#[inline(never)] pub fn f8(a: &mut Node, b: u32, c: u32) -> (&mut Node, u32) { bb(b); a.id = 5; (a, c) }
#[inline(never)] pub fn f9(a: f64, b: f64) -> (f64, f64) { bb(&a); (a, b) }
#[inline(never)] pub fn f10(a: u64, b: f32) -> (u64, f32) { bb(&a); (a, b) }
#[inline(never)] pub fn f11(v: (f32, f32)) -> (f32, f32) { bb(&v); v }
#[inline(never)] pub fn f12(v: f32) -> f32 { bb(&v); v }
#[inline(never)] pub fn f13(a: f32, b: u32) -> f32 { bb(&b); a }
#[inline(never)] pub fn g1(a: f32) -> (f32, f32) { bb(a); (a + 1.0, bb(2.5)) }
#[inline(never)] pub fn f14(a: f32) -> (f32, f32) { let r = g1(a); bb(&a); r }
fn main() {
	println!("{:?}", bb(f14 as fn(f32) -> (f32, f32))(0.5));
	println!("{:?} {} {}", bb(f11 as fn((f32, f32)) -> (f32, f32))((1.5, 2.5)), bb(f12 as fn(f32) -> f32)(3.5), bb(f13 as fn(f32, u32) -> f32)(4.5, 9));
	println!("{}", bb(f1 as fn(Box<str>) -> Box<str>)("boxed".into()));
	let n = bb(f2 as fn(Node) -> Node)(Node { id: 1, next: Some(Box::new(Node { id: 2, next: None })) }); println!("{} {}", n.id, n.next.is_some());
	println!("{}", bb(f3 as fn(&str) -> &str)("hello!"));
	let mut m = bb(f4 as fn(Node, i32) -> Node)(n, 77); println!("{} {}", m.id, m.next.as_ref().unwrap().id);
	println!("{:?}", bb(f5 as fn((Box<i32>, u32)) -> (Box<i32>, u32))((Box::new(3), 9)));
	println!("{:?}", bb(f6 as fn(RefCell<i32>) -> RefCell<i32>)(RefCell::new(8)));
	println!("{:?}", bb(f7 as fn(u32, u32, u32) -> (u32, u32))(1, 2, 3));
	println!("{:?}", bb(f8 as fn(&mut Node, u32, u32) -> (&mut Node, u32))(&mut m, 2, 3).1);
	println!("{:?} {:?}", bb(f9 as fn(f64, f64) -> (f64, f64))(1.5, 2.5), bb(f10 as fn(u64, f32) -> (u64, f32))(1, 2.5));
}`, want: map[string]string{
			"f1": `* -> "boxed"`, "f2": `* -> {"next":{"next":null,"id":2},"id":1}`, "f3": `v="hello!" -> "hello"`,
			"f4": `* -> {"next":{"next":null,"id":2},"id":77}`,
			"f5": "v=[3,9] -> [3,9]", "f6": "* -> 8", "f7": "? -> [1,3]",
			"f8": `* -> [{"next":"<max depth 1 reached>","id":5},3]`,
			"f9": "* -> [1.5,2.5]", "f11": "? -> [1.5,2.5]", "f12": "* -> 3.5", "f14": "? -> [1.5,2.5]", "f13": "* -> 4.5",
			"f10": "* -> [1,2.5]",
		}})
}

// TestRustPackedPairs keeps out the registers of Rust's own pairs for results of C's convention, where the function has
// had a part in such a register on its way: extern "C" is nowhere in the debug information. f1's second member was
// shown as a number.
func TestRustPackedPairs(t *testing.T) {
	c := placeCase{name: "packed", file: "a.rs", commands: []string{"rustc -O", "rustc -Copt-level=1"}, source: `
use std::hint::black_box as bb;
#[derive(Clone, Copy, Debug)] pub enum C { A = -33, B = 31, D = 482 }
#[derive(Clone, Copy, Debug)] pub struct S { a: f32, b: C }
#[derive(Clone, Copy, Debug)] pub struct W { s: S }
#[derive(Clone, Copy, Debug)] #[repr(C)] pub struct P { a: u16, b: f32 }
#[derive(Clone, Copy, Debug)] pub struct Q { a: f32, b: u8 }
#[derive(Clone, Copy, Debug)] #[repr(C)] pub struct R { a: f32, b: u32, c: f64 }
#[inline(never)] pub extern "C" fn f1(n: u32) -> W { bb(n); bb(W { s: S { a: 1.5, b: C::B } }) }
#[inline(never)] pub fn f2(n: u32) -> W { bb(n); bb(W { s: S { a: 2.5, b: C::D } }) }
#[inline(never)] pub extern "C" fn f3(n: f32) -> P { bb(P { a: 3, b: n }) }
#[inline(never)] pub fn f4(n: f32) -> P { bb(P { a: 4, b: n }) }
#[inline(never)] pub extern "C" fn f5(v: Q) -> Q { bb(&v); v }
#[inline(never)] pub fn f6(v: Q) -> Q { bb(&v); v }
#[inline(never)] pub extern "C" fn f7(v: Option<Q>) -> Q { match v { Some(q) => q, None => f5(Q { a: 7.5, b: 7 }) } }
#[inline(never)] pub extern "C" fn f8(a: f32, b: f32) -> R { bb(R { a: a + 0.5, b: 8, c: b as f64 }) }
#[derive(Clone, Copy, Debug)] pub struct F { a: f32, b: f32 }
#[derive(Clone, Copy, Debug)] pub struct U { a: u32, b: u32 }
#[derive(Clone, Copy, Debug)] pub struct T { a: u8, b: u8 }
#[inline(never)] pub extern "C" fn f10(n: f32) -> F { bb(n); let r = F { a: n, b: 10.5 }; bb((n, n)); r }
#[inline(never)] pub fn f11(n: f32) -> F { bb(n); let r = F { a: n, b: 11.5 }; bb((n, n)); r }
#[inline(never)] pub extern "C" fn f12(n: u32) -> U { let r = U { a: n, b: 12 }; bb((n, n)); r }
#[inline(never)] pub fn f13(n: u32) -> U { let r = U { a: n, b: 13 }; bb((n, n)); r }
#[inline(never)] pub extern "C" fn f14(n: u8) -> T { let r = T { a: n, b: 14 }; bb((n, n)); r }
#[inline(never)] pub fn f15(n: u8) -> T { let r = T { a: n, b: 15 }; bb((n, n)); r }
#[inline(never)] pub extern "C" fn f16(n: u32, m: u32, o: u32) -> U { bb(m); if n > 2 { f12(o) } else { U { a: n, b: bb(o) } } }
#[inline(never)] pub fn f9(a: f32, b: f32) -> R { bb(R { a: a + 0.5, b: 9, c: b as f64 }) }
fn main() {
	println!("{:?} {:?}", bb(f1 as extern "C" fn(u32) -> W)(1), bb(f2 as fn(u32) -> W)(2));
	println!("{:?} {:?}", bb(f3 as extern "C" fn(f32) -> P)(0.5), bb(f4 as fn(f32) -> P)(1.5));
	println!("{:?} {:?}", bb(f5 as extern "C" fn(Q) -> Q)(Q { a: 5.5, b: 5 }), bb(f6 as fn(Q) -> Q)(Q { a: 6.5, b: 6 }));
	println!("{:?}", bb(f7 as extern "C" fn(Option<Q>) -> Q)(None));
	println!("{:?} {:?}", bb(f10 as extern "C" fn(f32) -> F)(0.5), bb(f11 as fn(f32) -> F)(1.5));
	println!("{:?} {:?}", bb(f12 as extern "C" fn(u32) -> U)(3), bb(f13 as fn(u32) -> U)(4));
	println!("{:?} {:?} {:?}", bb(f14 as extern "C" fn(u8) -> T)(3), bb(f15 as fn(u8) -> T)(4), bb(f16 as extern "C" fn(u32, u32, u32) -> U)(1, 2, 3));
	println!("{:?} {:?}", bb(f8 as extern "C" fn(f32, f32) -> R)(0.5, 2.5), bb(f9 as fn(f32, f32) -> R)(0.5, 3.5));
}`, want: map[string]string{
		"f1": `? -> {"s":{"a":1.5,"b":"B"}}`, "f2": `? -> {"s":{"a":2.5,"b":"D"}}`, "f3": `? -> {"a":3,"b":0.5}`,
		"f4": `? -> {"a":4,"b":1.5}`,
		"f5": `? -> {"a":5.5,"b":5}`, "f6": `? -> {"a":6.5,"b":6}`, "f7": `? -> {"a":7.5,"b":7}`,
		"f8": `? -> {"a":1,"b":8,"c":2.5}`, "f10": `? -> {"a":0.5,"b":10.5}`, "f12": `? -> {"a":3,"b":12}`,
		"f11": `? -> {"a":1.5,"b":11.5}`,
		"f13": `? -> {"a":4,"b":13}`, "f14": `? -> {"a":3,"b":14}`, "f15": `? -> {"a":4,"b":15}`, "f16": `? -> {"a":1,"b":3}`,
		"f9": `? -> {"a":1,"b":9,"c":3.5}`,
	}}
	checkPlaces(t, &c)
	plain := c
	plain.commands, plain.want = []string{"rustc"}, map[string]string{}
	for name, want := range c.want {
		plain.want[name] = "*" + want[1:] // nothing is optimized out
	}
	checkPlaces(t, &plain)
}

// TestAsyncResults keeps out <optimized out> for what a state machine gives through a place in memory: its jump by a
// table does not leave the function.
func TestAsyncResults(t *testing.T) {
	checkPlaces(t, &placeCase{name: "async", file: "a.rs", commands: []string{"rustc --edition 2021"}, source: `
use std::future::Future; use std::pin::Pin; use std::task::*;
mod f1 { pub async fn run(n: u32) -> String { super::Y(false).await; format!("v{}", n) } }
struct Y(bool);
impl Future for Y { type Output = (); fn poll(mut self: Pin<&mut Self>, _: &mut Context) -> Poll<()> { if self.0 { Poll::Ready(()) } else { self.0 = true; Poll::Pending } } }
struct Nop; impl Wake for Nop { fn wake(self: std::sync::Arc<Self>) {} }
#[inline(never)] pub fn f2<F: Future<Output = String>>(mut f: Pin<Box<F>>, n: u32) -> Poll<String> { let w = Waker::from(std::sync::Arc::new(Nop)); let mut cx = Context::from_waker(&w); for _ in 1..n { let _ = f.as_mut().poll(&mut cx); } f.as_mut().poll(&mut cx) }
#[inline(never)] pub fn f3(n: u32) -> Result<String, Vec<u8>> { match n { 0 => Ok("zero".into()), 1 => Err(vec![1]), 2 => Ok("two".into()), 3 => Err(vec![3]), 4 => Ok("four".into()), _ => panic!() } }
fn main() { println!("{:?}", f2(Box::pin(f1::run(1)), 2)); println!("{:?}", f3(2)); }`, want: map[string]string{
		"f2": `* -> {"Ready":"v1"}`, "f3": `n=2 -> {"Ok":"two"}`,
	}})
}
