package acceptance

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// compareAnswer is an answer of debug_test, action compare.
type compareAnswer struct {
	TestRunID, Status, Framework, Error, Hint string
	A, B                                      *struct{ Test, Status, SessionID string }
	Runs                                      int
	Notes                                     []string
	Progress                                  any
	Comparison                                *comparison
}

type comparison struct {
	Same                                   bool
	SessionIDs                             []string
	Compared                               struct{ A, B, Aligned int64 }
	First, SameArguments                   *callDifference
	Next, Counts, Noise, Incomplete, Notes []string
	Hint                                   string
}

type callDifference struct {
	What, Path, Thread, After string
	Differs                   []string
	A, B                      *struct {
		Function, Arguments, Result, At, Text string
		EventID                               int64
	}
}

// maxCompareBytes is 800 tokens, at 3.5 bytes each.
const maxCompareBytes = 2900

// compareOf asks for a comparison and waits for its end.
func compareOf(t *testing.T, s *strobetest.Strobe, a args) compareAnswer {
	t.Helper()
	var raw json.RawMessage
	a["action"] = "compare"
	s.Call(t, "debug_test", a, &raw)
	var r compareAnswer
	for tries := 0; ; tries++ {
		r = compareAnswer{}
		if err := json.Unmarshal(raw, &r); err != nil {
			t.Fatal(err)
		}
		if r.Status != "running" {
			break
		}
		if tries > 20 {
			t.Fatalf("the comparison does not end: %s", raw)
		}
		s.Call(t, "debug_test", args{"action": "status", "testRunId": r.TestRunID, "waitMs": 20000}, &raw)
	}
	if len(raw) > maxCompareBytes {
		t.Errorf("the answer has %d bytes, want at most %d: %s", len(raw), maxCompareBytes, raw)
	}
	if testing.Verbose() {
		t.Logf("%d bytes: %s", len(raw), raw)
	}
	return r
}

// ranTraced runs a program traced, and returns its session.
func ranTraced(t *testing.T, s *strobetest.Strobe, path string, argv []string, extra map[string]any) string {
	t.Helper()
	id := s.Launch(t, path, filepath.Dir(path), argv, extra).SessionID
	s.WaitEnd(t, id, endLimit)
	return id
}

// TestCompareSessions compares runs of a program that differ in one thing, or in nothing.
func TestCompareSessions(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	path := strobetest.BuildSource(t, "cpp", "gcc-O0", "compare", readTestdata(t, "compare.cpp"), "-pthread")
	s := strobetest.Start(t, nil)
	for _, c := range []struct {
		name  string
		check func(t *testing.T, c *comparison)
	}{
		{"argument", func(t *testing.T, c *comparison) {
			f := wantFirst(t, c, "argument", "main > shop::total")
			if !slices.Equal(f.Differs, []string{"items[23].price: 12 | 10"}) {
				t.Errorf("differs %q", f.Differs)
			}
			if c.Compared.A != c.Compared.B || c.Compared.Aligned != c.Compared.A || len(c.Counts) > 0 {
				t.Errorf("compared %+v, counts %q", c.Compared, c.Counts)
			}
			if !slices.ContainsFunc(c.Next, func(l string) bool { return strings.HasPrefix(l, "shop::price_of: argument") }) {
				t.Errorf("next %q", c.Next)
			}
		}},
		{"state", func(t *testing.T, c *comparison) {
			f := wantFirst(t, c, "result", "main > shop::total > shop::price_of > shop::taxed")
			if f.A.Arguments != "price=5" || f.A.Result != "40" || f.B.Result != "35" ||
				!strings.Contains(c.Hint, "Same arguments") ||
				!strings.HasSuffix(f.A.At, fmt.Sprintf("%d", lineOf(readTestdata(t, "compare.cpp"), "int taxed"))) {
				t.Errorf("%+v %+v, hint %q", f.A, f.B, c.Hint)
			}
		}},
		{"missing", func(t *testing.T, c *comparison) {
			f := wantFirst(t, c, "call only in b", "main > shop::save > shop::store")
			if f.A != nil || f.B.Arguments != "n=3" || f.After != "shop::valid" ||
				!slices.Equal(c.Counts, []string{"shop::store: 4 in a, 5 in b"}) ||
				!slices.Contains(c.Next, "shop::save: result") || !strings.Contains(c.Hint, f.owner(c)) {
				t.Errorf("%+v, next %q, counts %q, hint %q", f, c.Next, c.Counts, c.Hint)
			}
		}},
		{"recursion", func(t *testing.T, c *comparison) {
			f := wantFirst(t, c, "result", "main > shop::fib ×10")
			if f.A.Arguments != f.B.Arguments || f.A.Result == f.B.Result {
				t.Errorf("%+v %+v", f.A, f.B)
			}
		}},
		{"threads", func(t *testing.T, c *comparison) {
			f := wantFirst(t, c, "argument", "work > shop::handle")
			if !slices.Equal(f.Differs, []string{"n: 1000 | 150"}) || c.Compared.A != 403 || c.Compared.Aligned != 403 {
				t.Errorf("%+v, compared %+v", f, c.Compared)
			}
		}},
		{"pool", func(t *testing.T, c *comparison) {
			f := wantFirst(t, c, "argument", "shop::serve > shop::handle")
			if !slices.Equal(f.Differs, []string{"n: -1 | 321"}) || f.Thread != "4 threads" || c.Compared.Aligned != 405 {
				t.Errorf("%+v, compared %+v", f, c.Compared)
			}
		}},
		{"exception", func(t *testing.T, c *comparison) {
			f := wantFirst(t, c, "exception", "main > shop::read_all > shop::parse")
			if f.A.Result != "(left by an exception)" || f.B.Result != "4" || f.A.Arguments != `text="four"` ||
				!slices.Contains(c.Next, "shop::read_all: result") {
				t.Errorf("%+v %+v, next %q", f.A, f.B, c.Next)
			}
		}},
		{"wide", func(t *testing.T, c *comparison) {
			f := wantFirst(t, c, "argument", "main > shop::wide")
			if len(f.Differs) != 2 || !strings.Contains(f.Differs[0], "w.text") || !strings.Contains(f.Differs[0], "xyx") ||
				f.Differs[1] != "w.numbers[77]: 1 | 77000231" {
				t.Errorf("differs %q", f.Differs)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			trace := map[string]any{"trace": []string{"shop::**", "main", "work"}}
			a, b := ranTraced(t, s, path, []string{c.name, "odd"}, trace), ranTraced(t, s, path, []string{c.name, "even"}, trace)
			r := compareOf(t, s, args{"sessions": []string{a, b}})
			if r.Status != "completed" || r.Comparison == nil || !slices.Equal(r.Comparison.SessionIDs, []string{a, b}) {
				t.Fatalf("%+v", r)
			}
			c.check(t, r.Comparison)
			again := ranTraced(t, s, path, []string{c.name, "odd"}, trace)
			if same := compareOf(t, s, args{"sessions": []string{a, again}}); !same.Comparison.Same ||
				same.Comparison.First != nil || same.Comparison.Compared.Aligned != r.Comparison.Compared.A {
				t.Errorf("two runs that do the same: %+v %+v", same.Comparison, same.Comparison.First)
			}
		})
	}
}

// wantFirst checks what the first difference is about and where it is.
func wantFirst(t *testing.T, c *comparison, what, path string) *callDifference {
	t.Helper()
	if c.Same || c.First == nil || c.First.What != what || c.First.Path != path || c.First.A == nil && c.First.B == nil ||
		c.Hint == "" {
		t.Fatalf("same %v, first %+v, want %s at %s", c.Same, c.First, what, path)
	}
	return c.First
}

// owner is the session that the hint's question is put to.
func (d *callDifference) owner(c *comparison) string {
	if d.A == nil {
		return c.SessionIDs[1]
	}
	return c.SessionIDs[0]
}

// TestComparePointers: addresses, ids, times and temporary names differ everywhere, and nothing else does.
func TestComparePointers(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	path := strobetest.BuildSource(t, "cpp", "gcc-O0", "compare", readTestdata(t, "compare.cpp"), "-pthread")
	s := strobetest.Start(t, nil)
	trace := map[string]any{"trace": []string{"shop::**"}}
	a, b := ranTraced(t, s, path, []string{"pointers"}, trace), ranTraced(t, s, path, []string{"pointers"}, trace)
	r := compareOf(t, s, args{"sessions": []string{a, b}})
	if c := r.Comparison; !c.Same || c.Compared.Aligned != 41 || len(c.Incomplete) > 0 {
		t.Errorf("%+v %+v", c, c.First)
	}
	refused(t, s, "debug_test", args{"action": "compare", "sessions": []string{a, a}}, "VALIDATION_ERROR", "one twice")
	refused(t, s, "debug_test", args{"action": "compare", "sessions": []string{a, "none"}}, "SESSION_NOT_FOUND", "none")
	refused(t, s, "debug_test", args{"action": "compare", "sessions": []string{a, b}, "test": "x"}, "VALIDATION_ERROR",
		"no test is run")
	refused(t, s, "debug_test", args{"action": "compare", "projectRoot": filepath.Dir(path)}, "VALIDATION_ERROR",
		"needs a test")
	refused(t, s, "debug_test", args{"projectRoot": filepath.Dir(path), "against": "x"}, "VALIDATION_ERROR",
		"action compare")
	third := ranTraced(t, s, path, []string{"pointers"}, trace)
	if c := compareOf(t, s, args{"sessions": []string{a, b, third}}).Comparison; !c.Same || len(c.Noise) > 0 {
		t.Errorf("with a third: %+v", c)
	}
	silent := ranTraced(t, s, path, []string{"pointers"}, nil)
	mute := ranTraced(t, s, path, []string{"pointers"}, nil)
	refused(t, s, "debug_test", args{"action": "compare", "sessions": []string{silent, mute}}, "VALIDATION_ERROR",
		"recorded a call")
}

// TestCompareMany: the 99,991st of 100,000 calls differs. More events than are kept, or sampled calls, are told.
func TestCompareMany(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	path := strobetest.BuildSource(t, "cpp", "gcc-O0", "compare", readTestdata(t, "compare.cpp"), "-pthread")
	s := strobetest.Start(t, map[string]any{"events.maxPerSession": 1_000_000, "trace.onFullBuffer": "block"})
	trace := map[string]any{"trace": []string{"shop::**", "main"}}
	a, b := ranTraced(t, s, path, []string{"many", "odd"}, trace), ranTraced(t, s, path, []string{"many", "even"}, trace)
	c := compareOf(t, s, args{"sessions": []string{a, b}}).Comparison
	if f := wantFirst(t, c, "argument", "main > shop::step"); !slices.Equal(f.Differs, []string{"i: 5 | 99990"}) ||
		c.Compared.Aligned != 100_001 || len(c.Incomplete) > 0 {
		t.Errorf("%+v %+v", f, c)
	}
	small := strobetest.Start(t, map[string]any{"events.maxPerSession": 50_000, "trace.onFullBuffer": "block"})
	a, b = ranTraced(t, small, path, []string{"many", "odd"}, trace),
		ranTraced(t, small, path, []string{"many", "even"}, trace)
	c = compareOf(t, small, args{"sessions": []string{a, b}}).Comparison
	if f := wantFirst(t, c, "argument", "shop::step"); !slices.Equal(f.Differs, []string{"i: 5 | 99990"}) ||
		len(c.Incomplete) != 2 || !strings.Contains(c.Incomplete[0], "evicted") {
		t.Errorf("%+v %+v", f, c)
	}
}

const compareCargo = `use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};

static BASE: AtomicI64 = AtomicI64::new(100);

#[derive(Debug, Clone)]
pub struct Item { pub name: String, pub price: i64, pub tags: Vec<String> }

#[inline(never)] pub fn fee(price: i64) -> i64 { price + BASE.load(Ordering::SeqCst) }
#[inline(never)] pub fn line(item: &Item, discount: i64) -> i64 { fee(item.price) - discount }
#[inline(never)] pub fn total(items: &[Item], discount: i64) -> i64 { items.iter().map(|i| line(i, discount)).sum() }
#[inline(never)] pub fn index(words: &[&str]) -> HashMap<String, usize> { words.iter().enumerate().map(|(i, w)| (w.to_string(), i)).collect() }
#[inline(never)] pub fn ticket() -> u64 { std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().subsec_nanos() as u64 % 100_003 }
#[inline(never)] pub fn stamp(n: u64) -> u64 { n }
#[inline(never)] pub fn attempt(n: usize) -> bool { n % 3 != 0 }
#[inline(never)] pub fn configured() -> i64 { std::env::var("BASE").ok().and_then(|b| b.parse().ok()).unwrap_or(1) }

pub fn items(last: i64) -> Vec<Item> {
    (0..12).map(|i| Item { name: format!("item {i}"), price: if i == 9 { last } else { 10 }, tags: vec!["x".repeat(300); 20] }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test] fn cheap() { assert_eq!(total(&items(10), 1), 12 * 109); }
    #[test] fn dear() { assert_eq!(total(&items(12), 1), 12 * 109); }
    #[test] fn fickle() {
        stamp(ticket());
        index(&["one", "two", "three", "four"]);
        let file = std::env::var("COUNT").unwrap();
        let n = std::fs::read(&file).unwrap_or_default().len() + 1;
        std::fs::write(&file, vec![b'x'; n]).unwrap();
        assert!(attempt(n), "round {n}");
    }
    #[test] fn set() { stamp(1); if configured() > 50 { BASE.store(7, Ordering::SeqCst); } assert_eq!(fee(1), 101); }
    #[test] fn steady() { stamp(3); }
}
`

// TestCompareTests compares a failing test with a passing one, one test with itself, and a test under two environments.
func TestCompareTests(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	strobetest.NeedCommand(t, "cargo")
	s := strobetest.Start(t, nil)
	dir := project(t, map[string]string{"Cargo.toml": "[package]\nname = \"till\"\nversion = \"0.1.0\"\nedition = " +
		"\"2021\"\n", "src/lib.rs": compareCargo})
	sessions := func() int {
		var l struct{ Sessions []struct{ SessionID string } }
		s.Call(t, "debug_session", args{"action": "list"}, &l)
		return len(l.Sessions)
	}

	r := compareOf(t, s, args{"projectRoot": dir, "test": "tests::dear", "against": "tests::cheap"})
	if r.Status != "completed" || r.A.Status != "failed" || r.B.Status != "passed" || r.Runs != 3 || sessions() != 2 {
		t.Fatalf("%+v, %d sessions", r, sessions())
	}
	const own = "till::(test)::{{closure}} > till::(test) > " // the tests' own functions are each other's counterpart
	f := wantFirst(t, r.Comparison, "argument", own+"till::items")
	if !slices.Equal(f.Differs, []string{"last: 12 | 10"}) || r.Comparison.Compared.Aligned != r.Comparison.Compared.A {
		t.Errorf("%+v %+v", r.Comparison, f)
	}
	r = compareOf(t, s, args{"projectRoot": dir, "test": "tests::dear", "against": "tests::cheap",
		"tracePatterns": []string{"till::total", "till::line", "till::fee"}})
	f = wantFirst(t, r.Comparison, "argument", "till::total")
	if !slices.Equal(f.Differs, []string{"items[9].price: 12 | 10"}) || r.Comparison.Compared.A != 25 || sessions() != 4 {
		t.Errorf("%+v %+v", r.Comparison, f)
	}

	count := filepath.Join(t.TempDir(), "count")
	r = compareOf(t, s, args{"projectRoot": dir, "test": "tests::fickle", "env": map[string]string{"COUNT": count}})
	if r.Status != "completed" || r.A.Status != "failed" || r.B.Status != "passed" || r.Runs != 3 || sessions() != 6 {
		t.Fatalf("%+v", r)
	}
	f = wantFirst(t, r.Comparison, "result", own+"till::attempt")
	if !slices.Equal(f.Differs, []string{"result: false | true",
		"argument n: 3 | 1 (so between runs that end alike, too)"}) ||
		!slices.Contains(r.Comparison.Noise, "till::ticket: result") {
		t.Errorf("%+v %+v", r.Comparison, f)
	}

	r = compareOf(t, s, args{"projectRoot": dir, "test": "tests::set", "env": map[string]string{"BASE": "60"},
		"againstEnv": map[string]string{"BASE": "3"}})
	f = wantFirst(t, r.Comparison, "argument", own+"till::configured > till::configured::{{closure}}")
	if r.A.Status != "failed" || r.B.Status != "passed" || f.A.Result != "60" || f.B.Result != "3" {
		t.Errorf("%+v %+v", r, f)
	}
	if f = r.Comparison.SameArguments; f == nil || f.Path != own+"till::fee" || f.A.Arguments != "price=1" ||
		f.A.Result != "8" || f.B.Result != "101" {
		t.Errorf("same arguments, other result: %+v", f)
	}

	r = compareOf(t, s, args{"projectRoot": dir, "test": "tests::steady", "repeat": 2})
	if r.Status != "completed" || r.Comparison != nil || r.Runs != 2 || r.Hint == "" || len(r.Notes) != 1 ||
		!strings.Contains(r.Notes[0], "passed in each of 2 runs") || sessions() != 8 {
		t.Errorf("%+v, %d sessions", r, sessions())
	}
	r = compareOf(t, s, args{"projectRoot": dir, "test": "tests::none"})
	if r.Status != "failed" || !strings.Contains(r.Error, "VALIDATION_ERROR") {
		t.Errorf("%+v", r)
	}
}

const compareGTest = `#include <gtest/gtest.h>
#include <string>
#include <vector>
struct Order { std::vector<int> prices; std::string customer; };
static int discount_for(const std::string &customer) { return customer == "old" ? 2 : 0; }
static int sum(const Order &o) {
  int s = -discount_for(o.customer);
  for (int p : o.prices) s += p;
  return s;
}
struct Shop : ::testing::Test {
  Order make(const char *who) { return Order{{10, 20, 30}, who}; }
};
TEST_F(Shop, New) { EXPECT_EQ(sum(make("new")), 60); }
TEST_F(Shop, Old) { EXPECT_EQ(sum(make("old")), 60); }
`

// TestCompareGTest compares two tests of a GoogleTest program with default patterns, over the command line, and two
// sessions by it.
func TestCompareGTest(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	path := strobetest.BuildSource(t, "cpp", "gcc-O0", "gtests", compareGTest, "-lgtest", "-lgtest_main", "-pthread")
	dir := filepath.Dir(filepath.Dir(path)) // the sources are there, too
	s := strobetest.Start(t, nil)
	r := compareOf(t, s, args{"projectRoot": dir, "command": path, "test": "Shop.Old", "against": "Shop.New"})
	if r.Status != "completed" || r.Framework != "gtest" || r.A.Status != "failed" || r.B.Status != "passed" {
		t.Fatalf("%+v", r)
	}
	f := wantFirst(t, r.Comparison, "argument", "(test)::TestBody > Shop::make")
	if !slices.Equal(f.Differs, []string{`who: "old" | "new"`}) ||
		r.Comparison.Compared.Aligned != r.Comparison.Compared.A {
		t.Errorf("%+v %+v", f, r.Comparison)
	}
	out, code := strobeCommand(t, s, "test", "-C", dir, "--command", path, "--test", "Shop.Old", "--against", "Shop.New",
		"--trace", "sum", "--trace", "discount_for")
	if code != 1 || !strings.Contains(out, `first difference: argument at sum`) ||
		!strings.Contains(out, `o.customer: "old" | "new"`) || !strings.Contains(out, "b: Shop.New, passed (") {
		t.Errorf("strobe test --against: %d\n%s", code, out)
	}
	out, code = strobeCommand(t, s, "diff", r.A.SessionID, r.B.SessionID)
	if code != 1 || !strings.Contains(out, `a: Shop::make(`) || !strings.Contains(out, `who="old"`) {
		t.Errorf("strobe diff: %d\n%s", code, out)
	}
	if out, code = strobeCommand(t, s, "diff", "none", r.B.SessionID); code != 2 {
		t.Errorf("strobe diff of no session: %d\n%s", code, out)
	}
}

// strobeCommand runs a command of the command line, and returns what it prints and its exit code.
func strobeCommand(t *testing.T, s *strobetest.Strobe, argv ...string) (string, int) {
	t.Helper()
	cmd := exec.Command(s.Bin, argv...)
	cmd.Env = append(os.Environ(), "STROBE_HOME="+s.Home, "NO_COLOR=1")
	out, err := cmd.Output()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

const compareStuck = `#include <unistd.h>
int wait_for(int n) { if (n) for (;;) pause(); return n; }
int main(int argc, char **argv) { return wait_for(argc - 1); }
`

// TestCompareIsCanceled: a comparison is a run like others, which ends when it is told to, and leaves no process and no
// session.
func TestCompareIsCanceled(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	path := strobetest.BuildSource(t, "cpp", "gcc-O0", "waiting", compareStuck)
	s := strobetest.Start(t, nil)
	var r compareAnswer
	s.Call(t, "debug_test", args{"action": "compare", "projectRoot": filepath.Dir(path), "command": path + " 1",
		"framework": "generic", "test": "waiting"}, &r)
	if r.Status != "running" || r.Progress == nil || r.Hint == "" {
		t.Fatalf("%+v", r)
	}
	var l struct {
		Sessions []struct{ SessionID, Status string }
	}
	strobetest.Eventually(t, endLimit, "its session", func() bool {
		s.Call(t, "debug_session", args{"action": "list"}, &l)
		return len(l.Sessions) == 1
	})
	s.Call(t, "debug_test", args{"action": "cancel", "testRunId": r.TestRunID}, &r)
	if r.Status != "canceled" || r.Error == "" || r.Comparison != nil {
		t.Errorf("canceled: %+v", r)
	}
	s.Call(t, "debug_session", args{"action": "list"}, &l)
	if len(l.Sessions) != 0 {
		t.Errorf("sessions are left: %+v", l)
	}
}

// TestCompareGo: of two tests of Go, the first call that differs.
func TestCompareGo(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	strobetest.NeedCommand(t, "go")
	s := strobetest.Start(t, nil)
	dir := project(t, map[string]string{"go.mod": "module example.com/sums\n\ngo 1.21\n", "sums_test.go": goTests})
	r := compareOf(t, s, args{"projectRoot": dir, "test": "TestWrong", "against": "TestGood"})
	if r.Status != "completed" || r.Comparison == nil || r.Comparison.Same || r.Comparison.First == nil {
		t.Errorf("go test: %+v %+v", r, r.Comparison)
	}
}

// TestComparePython: of two unittest cases, the first call that differs.
func TestComparePython(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	strobetest.NeedCommand(t, "python3")
	s := strobetest.Start(t, nil)
	dir := project(t, map[string]string{"sums.py": "def double(n):\n    return n * 2 if n < 10 else n\n",
		"test_sums.py": `import unittest
from sums import double

class Sums(unittest.TestCase):
    def test_good(self):
        self.assertEqual(double(4), 8)
    def test_bad(self):
        self.assertEqual(double(40), 80)
`})
	r := compareOf(t, s, args{"projectRoot": dir, "framework": "unittest", "test": "test_bad", "against": "test_good"})
	if r.Status != "completed" || r.Comparison == nil {
		t.Fatalf("unittest: %+v", r)
	}
	if !slices.Contains(r.Comparison.Next, "sums.double: result") {
		t.Errorf("comparison %+v", *r.Comparison)
	}
}
