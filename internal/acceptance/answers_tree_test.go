package acceptance

import (
	"strings"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// traced builds a program, runs it to its end with everything that pattern selects traced, and returns its session.
func traced(t *testing.T, s *strobetest.Strobe, lang, name, source string, patterns ...string) string {
	t.Helper()
	path := strobetest.BuildSource(t, lang, "gcc-O0", name, source)
	l := s.Launch(t, path, strobetest.Root(t), nil, args{"trace": patterns})
	t.Cleanup(func() { s.Stop(t, l.SessionID) })
	s.WaitEnd(t, l.SessionID, 30*time.Second)
	return l.SessionID
}

// foldSource has 60 calls of which one fails, and 60 that are alike but for a callee of one.
const foldSource = `#include <stdio.h>
int price(int id, int qty){ return id==37 ? -1 : id*qty; }
int check(int id){ return id%10; }
void order(int id){ price(id, 2); check(id); }
int main(){ for(int i=0;i<60;i++) price(i, 3); for(int i=0;i<60;i++) order(i); return 0; }
`

// TestFoldShowsTheOddCall: the one call of sixty that failed was behind "×59 more like this", and so was the call with
// a callee that did.
func TestFoldShowsTheOddCall(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	id := traced(t, s, "c", "fold", foldSource, "price", "check", "order", "main")
	tree := s.Query(t, id, args{"view": "tree"})
	for _, want := range []string{
		"price(id=37, qty=3) → -1", "order(id=37)", "price(id=37, qty=2) → -1", // each in a line of its own
		"×57 more like #4 (total ", "id=2..59, results 6..177)", // what the others have in common, and their ranges
		"below: price → ",
	} {
		if !strings.Contains(tree.Tree, want) {
			t.Errorf("the tree is without %q:\n%s", want, tree.Tree)
		}
	}
	if n := strings.Count(tree.Tree, "\n"); n > 22 {
		t.Errorf("the tree of 181 calls has %d lines:\n%s", n, tree.Tree)
	}
	if !strings.Contains(tree.Hint, "unfold") {
		t.Errorf("hint %q does not say how to unfold", tree.Hint)
	}
	failed := s.Query(t, id, args{"view": "tree", "function": args{"equals": "price"}, "returnValue": args{"lessThan": 0}})
	if strings.Contains(failed.Tree, "×") || strings.Count(failed.Tree, "→ -1") != 2 {
		t.Errorf("a filter found two calls:\n%s", failed.Tree)
	}
	whole := s.Query(t, id, args{"view": "tree", "unfold": true, "limit": 500})
	if n := strings.Count(whole.Tree, "price("); n != 120 || strings.Contains(whole.Tree, "×") {
		t.Errorf("unfolded there are %d lines of price, want 120", n)
	}
}

// wideSource has a large argument before those that matter, in loops that fail rarely, throw, or differ in what they
// call.
const wideSource = `#include <stdexcept>
#include <string>
#include <vector>
struct Config { std::string host, user, path; std::vector<int> ports; double ratio; long limit; };
enum Kind { READ, WRITE, DROP };
bool permitted(const Config &c, Kind kind, int user) { return !(kind == DROP && user == 7); }
int handle(const Config &c, Kind kind, const std::string &text, int user) {
  if (user == 11) throw std::runtime_error("eleven");
  return permitted(c, kind, user) ? 200 : 403;
}
Kind kindOf(int n) { return n == 9 ? DROP : n % 2 ? WRITE : READ; }
const char *nameOf(int n) { return n == 5 ? nullptr : "x"; }
int main() {
  Config c{std::string(90, 'h'), std::string(90, 'u'), std::string(90, 'p'), std::vector<int>(50, 8080), 0.5, 1000};
  for (int i = 0; i < 20; i++) try { handle(c, i == 7 ? DROP : WRITE, std::string(200, 't'), i); } catch (std::exception &) {}
  for (int i = 0; i < 20; i++) kindOf(i);
  for (int i = 0; i < 20; i++) nameOf(i);
}
`

// TestTreeShowsEveryArgument: a long argument pushed the others out of the line, the one in question among them.
func TestTreeShowsEveryArgument(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	id := traced(t, s, "cpp", "wide", wideSource, "handle", "permitted", "kindOf", "nameOf")
	tree := s.Query(t, id, args{"view": "tree", "limit": 100}).Tree
	for _, want := range []string{
		"kind=WRITE, text=\"ttt", "user=0) → 200", "user=7) → false", "user=7) → 403", "user=11) ✗ unwound",
		"kindOf(n=9) → DROP", "nameOf(n=5) → null",
	} {
		if !strings.Contains(tree, want) {
			t.Errorf("the tree is without %q:\n%s", want, tree)
		}
	}
	for line := range strings.Lines(tree) {
		if len(line) > 300 {
			t.Errorf("a line of %d bytes: %s", len(line), line)
		}
	}
}
