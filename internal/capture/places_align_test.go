package capture

import "testing"

// TestRustAlignedResults keeps out what generated programs showed: structs that are packed, or repr(C) with one float,
// are no scalars to rustc, and come in rax or in memory; a struct behind a value that takes the last registers and the
// stack is where its own register says.
func TestRustAlignedResults(t *testing.T) {
	checkPlaces(t, &placeCase{name: "aligned", file: "a.rs", commands: []string{"rustc"}, source: `
use std::hint::black_box as bb;
#[repr(C, packed(2))] pub struct P { a: f32, b: f32 }
pub struct N(P);
#[repr(C, packed)] pub struct O { a: bool, b: i32, c: bool, d: bool }
#[repr(C)] pub struct W { a: f32 }
pub struct S { a: bool, b: u16, c: u8, d: Option<Result<i32, u32>> }
pub struct T { a: i128, b: isize }
#[inline(never)] pub fn f1(s: String) -> N { bb(&s); bb(N(P { a: 1.5, b: 2.5 })) }
#[inline(never)] pub fn f2(s: &Option<Box<str>>) -> O { bb(&s); bb(O { a: false, b: i32::MIN, c: true, d: false }) }
#[inline(never)] pub fn f3(a: Option<Box<i32>>, d: f64, s: String) -> W { bb(&a); bb(&s); bb(W { a: 3.5 }) }
#[inline(never)] pub fn f4(a: &u8, x: f64, b: &u8, s: S, t: T) -> (char, bool, u64, isize) { bb(('a', true, 4, 5)) }
#[inline(never)] pub fn f5(w: W) -> f32 { bb(&w); bb(5.5) }
fn main() {
	bb(f1(bb(String::from("x")))); bb(f2(bb(&None))); bb(f3(bb(None), bb(1.0), bb(String::new()))); bb(f5(bb(W { a: 6.5 })));
	bb(f4(bb(&1), bb(2.0), bb(&3), bb(S { a: true, b: 53342, c: 255, d: Some(Err(9)) }), bb(T { a: -1, b: 7 })));
}`, want: map[string]string{
		"f1": `* -> {"a":1.5,"b":2.5}`, "f2": `* -> {"a":false,"b":-2147483648,"c":true,"d":false}`, "f3": `* -> {"a":3.5}`,
		"f4": `a=1 x=2 b=3 s={"a":true,"b":53342,"c":255,"d":{"Err":9}} t={"a":-1,"b":7} -> ["a",true,4,5]`,
		"f5": `w={"a":6.5} -> 5.5`,
	}})
}
