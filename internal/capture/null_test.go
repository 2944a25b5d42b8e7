//go:build linux && amd64

package capture

import "testing"

// TestNullWithin tells a null pointer, or an empty option, from one that leads to what is shown as null.
func TestNullWithin(t *testing.T) {
	checkPlaces(t, &placeCase{name: "null within, C++", file: "a.cc",
		commands: []string{"g++ -std=c++17 -O0", "clang++ -std=c++17 -O0"}, source: `
#include <memory>
#include <optional>
typedef std::optional<int> Opt; typedef std::unique_ptr<int> Own;
__attribute__((noinline)) int f1(Opt *p) { return p != nullptr; }
__attribute__((noinline)) int f2(Own *p) { return p != nullptr; }
__attribute__((noinline)) int f3(const Opt &p) { return p.has_value(); }
__attribute__((noinline)) int f4(std::optional<Opt> p) { return p.has_value(); }
__attribute__((noinline)) int f5(std::unique_ptr<Opt> *p) { return p != nullptr; }
__attribute__((noinline)) int f6(Opt *p) { return p != nullptr; }
__attribute__((noinline)) int f7(std::optional<Opt> p) { return p.has_value(); }
int main() { Opt a; Own b; auto c = std::make_unique<Opt>(); int n = f1(&a) + f2(&b) + f3(a) + f4(Opt()) + f5(&c) + f6(nullptr) + f7(std::nullopt); return n == 0; }`,
		want: map[string]string{"f1": `p={"*":null} -> 1`, "f2": `p={"*":null} -> 1`, "f3": "p=null -> 0",
			"f4": `p={"value":null} -> 1`, "f5": `p="<max depth 1 reached>" -> 1`, "f6": "p=null -> 0", "f7": "p=null -> 0"}})
	checkPlaces(t, &placeCase{name: "null within, Rust", file: "a.rs", commands: []string{"rustc"}, source: `
use std::hint::black_box as bb;
#[inline(never)] pub fn f1(p: &Option<u64>) -> bool { bb(p).is_some() }
#[inline(never)] pub fn f2(p: Option<Option<u64>>) -> bool { bb(p).is_some() }
#[inline(never)] pub fn f3(p: Option<Box<Option<u64>>>) -> bool { bb(&p).is_some() }
#[inline(never)] pub fn f4(p: Option<Option<u64>>) -> bool { bb(p).is_some() }
fn main() { bb(f1(&None)); bb(f2(Some(None))); bb(f3(Some(Box::new(None)))); bb(f4(None)); }`,
		want: map[string]string{"f1": "p=null -> false", "f2": `p={"Some":null} -> true`, "f3": `p={"Some":null} -> true`,
			"f4": "p=null -> false"}})
}
