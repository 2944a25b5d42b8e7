package acceptance

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

const shopHeader = `#pragma once
#include <vector>
namespace shop {
template <class T> T sum(const std::vector<T> &v) { T s = 0; for (auto x : v) s += x; return s; }
struct Cart {
  std::vector<int> items;
  void add(int n);
  virtual int total() const;
  virtual ~Cart() {}
};
int price(const std::vector<int> &items, int discount);
}
`

const shopSource = `#include "shop.h"
namespace shop {
static int half(int n) { return n / 2; }
void Cart::add(int n) { items.push_back(n); }
int Cart::total() const { return price(items, 0); }
int price(const std::vector<int> &items, int discount) { return sum(items) - half(discount); }
}
`

// suggested are projects with failures whose patterns are tried.
var suggested = map[string]struct {
	needs   []string
	files   map[string]string
	build   [][]string
	request args
	want    map[string][]string // of a test: what must be among its patterns, the first being the first
}{
	"cargo": {needs: []string{"cargo"}, request: args{"framework": "cargo"},
		files: map[string]string{"Cargo.toml": "[package]\nname = \"shop\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
			"src/lib.rs": "pub mod cart;\n#[cfg(test)]\nmod tests {\n    use crate::cart::*;\n    #[test]\n    fn " +
				"discounted() {\n        assert_eq!(price(&[10, 20], 5), 24);\n    }\n    #[test]\n    fn empty() {\n        " +
				"Cart::new().first();\n    }\n}\n",
			"src/cart.rs": `pub trait Total { fn total(&self) -> i32; }
pub struct Cart { items: Vec<i32> }
impl Cart {
    pub fn new() -> Cart { Cart { items: Vec::new() } }
    pub fn add(&mut self, n: i32) { self.items.push(n); }
    pub fn first(&self) -> i32 {
        if self.items.is_empty() { panic!("nothing in it") }
        self.items[0]
    }
}
impl Total for Cart {
    fn total(&self) -> i32 { price(&self.items, 0) }
}
pub fn sum(items: &[i32]) -> i32 { items.iter().sum() }
pub fn price(items: &[i32], discount: i32) -> i32 {
    let all = sum(items);
    all - discount
}
`, "tests/api.rs": "use shop::cart::*;\n#[test]\nfn outside() {\n    let mut cart = Cart::new();\n    cart.add(10);\n    let total = cart.total();\n    assert_eq!(total, 11);\n}\n"},
		want: map[string][]string{"tests::discounted": {"shop::cart::price", "file:src/cart.rs"},
			"tests::empty": {"shop::cart::Cart::first", "file:src/cart.rs"},
			"outside":      {"api::outside", "<shop::cart::Cart as shop::cart::Total>::total", "file:src/cart.rs"}}},
	"gtest": {needs: []string{"g++"}, request: args{"command": "./shop_test"},
		files: map[string]string{"shop.h": shopHeader, "shop.cpp": shopSource,
			"shop_test.cpp": "#include <gtest/gtest.h>\n#include \"shop.h\"\nTEST(Shop, Price) { EXPECT_EQ(shop::price({10, " +
				"20}, 5), 24); }\nTEST(Shop, Total) {\n  shop::Cart cart;\n  cart.add(10);\n  int total = cart.total();\n  " +
				"EXPECT_EQ(total, 11);\n}\n"},
		build: [][]string{{"g++", "-g", "-O0", "-o", "shop_test", "shop_test.cpp", "shop.cpp", "-lgtest", "-lgtest_main",
			"-lpthread"}},
		want: map[string][]string{"Price": {"shop::price", "file:shop.cpp"},
			"Total": {"Shop_Total_Test::TestBody", "shop::Cart::add", "file:shop.cpp"}}},
	"catch2": {needs: []string{"g++"}, request: args{"command": "./shop_test"},
		files: map[string]string{"shop.h": shopHeader, "shop.cpp": shopSource,
			"shop_test.cpp": "#define CATCH_CONFIG_MAIN\n#include <catch2/catch.hpp>\n#include " +
				"\"shop.h\"\nTEST_CASE(\"price\") { REQUIRE(shop::price({10, 20}, 5) == 24); }\n"},
		build: [][]string{{"g++", "-g", "-O0", "-o", "shop_test", "shop_test.cpp", "shop.cpp"}},
		want:  map[string][]string{"price": {"shop::price", "shop::sum", "file:shop.cpp"}}},
	"ctest": {needs: []string{"cmake", "g++"}, request: args{"framework": "ctest"},
		files: map[string]string{"shop.h": shopHeader, "shop.cpp": shopSource,
			"one.cpp": "#include <cassert>\n#include \"shop.h\"\nint main() {\n  int got = shop::price({10, 20}, 4);\n  " +
				"assert(got == 26);\n}\n",
			"two.cpp": "#include <cassert>\n#include \"shop.h\"\nint main() {\n  assert(shop::price({1}, 0) == 2);\n}\n",
			"CMakeLists.txt": `cmake_minimum_required(VERSION 3.10)
project(shop CXX)
set(CMAKE_BUILD_TYPE Debug)
add_library(shop STATIC shop.cpp)
enable_testing()
foreach(t one two)
  add_executable(${t} ${t}.cpp)
  target_link_libraries(${t} shop)
  add_test(NAME ${t} COMMAND ${t})
endforeach()
`},
		build: [][]string{{"cmake", "-S", ".", "-B", "build"}},
		want: map[string][]string{"one": {"main", "shop::price", "file:shop.cpp"},
			"two": {"shop::price", "main", "file:shop.cpp"}}},
}

// withoutArguments is a function's name without what stands between < and >.
func withoutArguments(name string) string {
	for inner := regexp.MustCompile(`<[^<>]*>`); ; {
		next := inner.ReplaceAllString(name, "")
		if next == name {
			return name
		}
		name = next
	}
}

// TestSuggestedTraces: each pattern that a failure suggests, given to a run of that one test, selects functions of the
// project, and calls of them are recorded.
func TestSuggestedTraces(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	all := maps.Clone(suggested)
	shared := all["ctest"] // the same with a shared library, whose functions are called through a table
	shared.files = maps.Clone(shared.files)
	shared.files["CMakeLists.txt"] = strings.Replace(shared.files["CMakeLists.txt"], "STATIC", "SHARED", 1)
	shared.want = map[string][]string{"one": {"main", "shop::price", "file:shop.cpp"},
		"two": {"main", "shop::price", "file:shop.cpp"}}
	all["ctest-shared"] = shared
	if !strobetest.Soaks(t, "catch2, and ctest without a shared library") {
		delete(all, "catch2")
		delete(all, "ctest")
	}
	for name, c := range all {
		t.Run(name, func(t *testing.T) {
			strobetest.NeedCommand(t, c.needs...)
			dir := project(t, c.files)
			for _, argv := range c.build {
				runIn(t, dir, argv[0], argv[1:]...)
			}
			request := args{"projectRoot": dir, "waitMs": 60000}
			maps.Copy(request, c.request)
			r := runTests(t, s, request)
			if r.Status != "completed" || len(r.Result.Failures) != len(c.want) {
				t.Fatalf("%+v %+v", r, r.Result)
			}
			for _, f := range r.Result.Failures {
				want := c.want[f.Name]
				if len(f.SuggestedTraces) == 0 || len(f.SuggestedTraces) > 5 || f.SuggestedTraces[0] != want[0] ||
					slices.ContainsFunc(want, func(p string) bool { return !slices.Contains(f.SuggestedTraces, p) }) {
					t.Errorf("%s suggests %q, want %q first, and all of %q", f.Name, f.SuggestedTraces, want[0], want)
				}
				request["test"], request["tracePatterns"] = f.Rerun.Test, f.SuggestedTraces
				again := runTests(t, s, request)
				if again.SessionID == "" || again.Result.Summary.Failed != 1 || again.Result.Summary.Passed != 0 {
					t.Errorf("%s again: %+v %+v", f.Name, again, again.Result)
					continue
				}
				var page struct {
					Events []struct{ Function, SourceFile string }
				}
				s.Call(t, "debug_query", args{"sessionId": again.SessionID, "eventType": "function_enter", "limit": 500}, &page)
				for _, p := range f.SuggestedTraces {
					if !slices.ContainsFunc(page.Events, func(e struct{ Function, SourceFile string }) bool {
						file, byFile := strings.CutPrefix(p, "file:")
						return byFile && e.SourceFile == dir+"/"+file || e.Function == p ||
							withoutArguments(e.Function) == withoutArguments(p)
					}) {
						t.Errorf("%s: pattern %s gives no call of %+v", f.Name, p, page.Events)
					}
				}
			}
		})
	}
}

// TestSuggestedOfGo: the program of Go's tests is gone, so that all of the project's own is suggested, and gives calls
// with their values.
func TestSuggestedOfGo(t *testing.T) {
	t.Parallel()
	strobetest.NeedCommand(t, "go")
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	dir := project(t, map[string]string{"go.mod": "module example.com/sums\n\ngo 1.21\n", "sums_test.go": goTests})
	request := args{"projectRoot": dir, "waitMs": 60000}
	r := runTests(t, s, request)
	if len(r.Result.Failures) == 0 || !slices.Equal(r.Result.Failures[0].SuggestedTraces, []string{"@usercode"}) {
		t.Fatalf("%+v", r.Result)
	}
	f := r.Result.Failures[0]
	request["test"], request["tracePatterns"] = f.Rerun.Test, f.SuggestedTraces
	again := runTests(t, s, request)
	var page struct {
		Events []struct {
			Function  string
			Arguments map[string]any
		}
	}
	s.Call(t, "debug_query", args{"sessionId": again.SessionID, "eventType": "function_enter", "verbose": true}, &page)
	if again.Result.Summary.Failed != 1 || len(page.Events) == 0 || page.Events[0].Arguments["t"] == nil {
		t.Errorf("traced again: %+v, and its calls %+v", again.Result, page.Events)
	}
}

// TestNothingToSuggest: a program without debug information has a note instead.
func TestNothingToSuggest(t *testing.T) {
	t.Parallel()
	strobetest.NeedCommand(t, "g++")
	s := strobetest.Start(t, nil)
	dir := project(t, map[string]string{"shop_test.cpp": "#include <gtest/gtest.h>\nTEST(A, B) { EXPECT_EQ(1, 2); }\n"})
	runIn(t, dir, "g++", "-s", "-o", "shop_test", "shop_test.cpp", "-lgtest", "-lgtest_main", "-lpthread")
	r := runTests(t, s, args{"projectRoot": dir, "command": "./shop_test", "waitMs": 60000})
	if len(r.Result.Failures) != 1 || len(r.Result.Failures[0].SuggestedTraces) > 0 || len(r.Result.Notes) != 1 ||
		!strings.Contains(r.Result.Notes[0], "shop_test has no debug information") {
		t.Errorf("stripped: %+v", r.Result)
	}
}
