package capture

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/strobe-debug/strobe/internal/symbol"
)

// fuzzTypes takes an object of most shapes that walks know.
const fuzzTypes = `
#include <any>
#include <array>
#include <chrono>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <variant>
#include <vector>
struct Tree { Tree *left, *right; std::string name; std::vector<Tree *> more; union { int i; Tree *t; } u; Tree *pair[2]; const char *text; };
void f_tree(Tree *t) {}
void f_text(const std::string &s, const char *c) {}
void f_vectors(const std::vector<std::vector<std::string>> &v, const std::vector<bool> &b) {}
void f_nodes(const std::list<std::string> &l, const std::map<std::string, std::vector<int>> &m, const std::set<int> &s) {}
void f_hash(const std::unordered_map<std::string, std::map<int, int>> &u) {}
void f_deque(const std::deque<std::deque<int>> &d) {}
void f_owners(const std::shared_ptr<Tree> &s, const std::unique_ptr<Tree> &u, const std::weak_ptr<Tree> &w) {}
void f_choice(const std::optional<std::string> &o, const std::variant<int, std::string, Tree *> &v, const std::any &a, const std::function<int(int)> &f) {}
void f_values(std::pair<Tree *, const char *> p, std::tuple<int, std::string> t, std::array<Tree *, 200> a) {}
int main() { Tree t{}; f_tree(&t); f_text("", ""); f_vectors({}, {}); f_nodes({}, {}, {}); f_hash({}); f_deque({}); f_owners({}, {}, {}); f_choice({}, {}, {}, {}); f_values({}, {}, {}); }
`

// FuzzWalks walks objects whose memory holds anything: walks end, keep to their limits, and what they copied is shown
// as JSON.
func FuzzWalks(f *testing.F) {
	path := build(f, "types.cc", fuzzTypes, "g++", "-g", "-O0", "-std=c++17")
	m, err := symbol.Open(path, symbol.Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { m.Close() })
	walks := NewWalks(nil, nil)
	var fns []*Function
	for depth := 1; depth <= 10; depth += 3 {
		for i, fn := range m.Functions() {
			if len(fn.Name) > 2 && fn.Name[:2] == "f_" {
				c, err := Compile(m, &m.Functions()[i], Options{Depth: depth, Walks: walks})
				if err != nil {
					f.Fatal(err)
				}
				fns = append(fns, c)
			}
		}
	}
	if len(fns) < 30 {
		f.Fatalf("%d functions", len(fns))
	}
	f.Add(uint64(1), []byte{0, 0, 0, 0, 0, 0, 0, 0})
	f.Add(uint64(2), []byte("\x10\x20\x30\x40\x50\x60\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00"))
	f.Add(uint64(3), binary.LittleEndian.AppendUint64([]byte("text and text and text"), 1<<63))
	f.Fuzz(func(t *testing.T, seed uint64, memory []byte) {
		rng := rand.New(rand.NewPCG(seed, uint64(len(memory))))
		walkAnything(t, rng, fns[rng.IntN(len(fns))], walks, memory)
	})
}
