package acceptance

import (
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

const nestedSource = `#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
void parse(int n) { throw std::invalid_argument("bad digit " + std::to_string(n)); } // first
void load(int n) { try { parse(n); } catch (...) { std::throw_with_nested(std::runtime_error("load failed")); } } // second
void again(int n) { try { load(n); } catch (std::exception &) { throw; } } // again
void run(int n) { try { again(n); } catch (...) { std::throw_with_nested(std::logic_error("run failed")); } } // third
int main() { try { run(1); } catch (std::exception &e) { puts(e.what()); } run(2); }
`

// TestNestedAndThrownAgain: of nested exceptions only the next was told, in the tree and in the short crash none, and
// what was caught after a rethrow was told as thrown there.
func TestNestedAndThrownAgain(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	id := traced(t, s, "cpp", "nested", nestedSource, "@exceptions", "run")
	tree := s.Query(t, id, args{"view": "tree"}).Tree
	for _, want := range []string{
		"throw std::_Nested_exception<std::logic_error>: run failed at run (nested.cpp:8); caused by " +
			"std::_Nested_exception<std::runtime_error>: load failed; caused by std::invalid_argument: bad digit 1",
		"at again (nested.cpp:7), first thrown at load (nested.cpp:6)",
		"in run (nested.cpp:8), thrown at load (nested.cpp:6), thrown again at again (nested.cpp:7)",
	} {
		if !strings.Contains(tree, want) {
			t.Errorf("the tree is without %q:\n%s", want, tree)
		}
	}
	status := answered(t, s, "debug_session", args{"action": "status", "sessionId": id})
	if !strings.Contains(status,
		`"nestedExceptions":["std::_Nested_exception<std::runtime_error>: load failed","std::invalid_argument: `+
			`bad digit 2"]`) {
		t.Errorf("the short crash is without its causes: %s", status)
	}
}
