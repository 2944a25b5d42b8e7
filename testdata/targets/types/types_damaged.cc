// Objects of library types whose memory holds anything: nothing, ones, noise, and pointers that lead back, to other such memory, or
// nowhere. Nothing here reads them but who looks on. It prints how many there were.
#include "show.h"

using std::string;
using std::vector;

constexpr size_t arena_words = 4096;
alignas(64) uint64_t arena[arena_words];

// noise is a generator of pseudo-random numbers (xorshift64*).
uint64_t noise() {
  static uint64_t state = 0x9e3779b97f4a7c15;
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return state * 0x2545f4914f6cdd1d;
}

uint64_t word() {
  switch (noise() % 8) {
  case 0: return 0;
  case 1: return noise() % 300;
  case 2: return noise();
  case 3: return 0x10000 + noise() % 4096;      // not mapped
  case 4: return 0xdeadbeef00000000 | noise();  // no address
  case 5: return uint64_t(&arena[arena_words]) - noise() % 32;
  default: return uint64_t(&arena[noise() % arena_words]) + (noise() % 16 ? 0 : noise() % 8);
  }
}

long calls;

template <class T> ALONE void take_damaged(const T* v) { KEEP(v); }

template <class T> void damage() {
  alignas(T) static unsigned char object[sizeof(T)];
  auto call = [] {
    calls++;
    take_damaged(reinterpret_cast<const T*>(object));
  };
  std::memset(object, 0, sizeof object);
  call();
  std::memset(object, 0xff, sizeof object);
  call();
  for (int i = 0; i < 60; i++) {
    for (int j = 0; j < 200; j++) arena[noise() % arena_words] = word();
    for (size_t at = 0; at < sizeof object; at += 8) {
      uint64_t w = word();
      std::memcpy(object + at, &w, std::min<size_t>(8, sizeof object - at));
    }
    call();
  }
}

template <class... T> void damage_all() { (damage<T>(), ...); }

struct Node {
  string name;
  std::map<string, vector<Node>> children;
  std::shared_ptr<Node> next;
  Node* plain;
};
struct Shape {
  virtual ~Shape() = default;
  virtual void draw() {}
  int id;
};

int main(int argc, char** argv) {
  begin(argc, argv);
  for (auto& w : arena) w = word();
  using namespace std;
  damage_all<string, wstring, u16string, string_view, filesystem::path, vector<int>, vector<bool>, vector<string>,
             vector<vector<vector<string>>>, array<string, 3>, deque<int>, deque<string>, list<string>, forward_list<int>, map<int, string>,
             map<string, map<string, vector<int>>>, multimap<string, int>, set<string>, unordered_map<string, vector<string>>,
             unordered_set<int>, pair<string, vector<int>>, tuple<int, string, set<int>>, optional<string>, variant<int, string, vector<int>>,
             any, unique_ptr<string>, unique_ptr<map<int, int>>, shared_ptr<vector<string>>, weak_ptr<string>, function<int(int)>,
             chrono::milliseconds, chrono::system_clock::time_point, chrono::duration<double>, complex<float>, bitset<70>, atomic<long>,
             thread::id, reference_wrapper<string>, initializer_list<string>, Node, vector<Node>, Shape, vector<Shape*>, shared_ptr<Shape>>();
  fprintf(expectations, "%ld\n", calls);
  return end();
}
