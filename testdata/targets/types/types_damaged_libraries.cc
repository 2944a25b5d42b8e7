// Objects of described libraries whose memory holds anything, as types_damaged.cc.
#include "show.h"

#include <boost/circular_buffer.hpp>
#include <boost/container/deque.hpp>
#include <boost/container/flat_map.hpp>
#include <boost/container/list.hpp>
#include <boost/container/map.hpp>
#include <boost/container/small_vector.hpp>
#include <boost/container/stable_vector.hpp>
#include <boost/container/string.hpp>
#include <boost/optional.hpp>
#include <boost/shared_ptr.hpp>
#include <boost/unordered_map.hpp>
#include <boost/variant.hpp>
#include <boost/weak_ptr.hpp>
#include <eigen3/Eigen/Dense>
#include <nlohmann/json.hpp>

using std::string;
namespace bc = boost::container;

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

int main(int argc, char** argv) {
  begin(argc, argv);
  damage_all<boost::optional<string>, boost::variant<int, string, std::vector<string>>, bc::small_vector<string, 3>, bc::stable_vector<int>,
             bc::list<string>, bc::deque<int>, bc::map<string, int>, bc::flat_map<string, int>, bc::string, boost::circular_buffer<string>,
             boost::unordered_map<string, int>, boost::shared_ptr<string>, boost::weak_ptr<string>, nlohmann::json, Eigen::MatrixXd>();
  std::fprintf(expectations, "%ld\n", calls);
  return end();
}
