// Library types inside of a program's own, derived from, and in each other.
#include "show.h"
#include <queue>
#include <stack>

using namespace std::literals;
using std::string;
using std::vector;

const string long_text = "a text that is long enough to lie outside of the object";
struct Point {
  int x, y;
};
template <> struct Show<Point> {
  static string of(const Point& p) { return "{\"x\":" + show(p.x) + ",\"y\":" + show(p.y) + "}"; }
};
template <class T> struct Show<T*> {
  static string of(T* p) {
    if (!p) return "null";
    if constexpr (std::is_same_v<std::remove_cv_t<T>, char>) return show(string(p));
    else return show(*p);
  }
};

using object_part = std::pair<const char*, string>;
string object(std::initializer_list<object_part> parts) {
  string out = "{";
  for (auto& p : parts) out += (out.size() > 1 ? ",\"" : "\"") + string(p.first) + "\":" + p.second;
  return out + "}";
}

struct Record {
  std::array<string, 2> names;
  string more[2];
  const vector<int>* shared;
  vector<const char*> words;
  vector<Point*> points;
  std::chrono::milliseconds took;
  std::optional<std::chrono::system_clock::time_point> at;
  std::pair<const string, vector<bool>> flags;
  const std::map<string, int>& index;
};
template <> struct Show<Record> {
  static string of(const Record& r) {
    return object({{"names", show(r.names)}, {"more", show(r.more)}, {"shared", show(r.shared)}, {"words", show(r.words)},
                   {"points", show(r.points)}, {"took", show(r.took)}, {"at", show(r.at)}, {"flags", show(r.flags)},
                   {"index", show(r.index)}});
  }
};

vector<int> numbers = {7, 8, 9};
std::map<string, int> numbered = {{"seven", 7}, {"eight \"8\"", 8}};
Point here = {1, 2};
Record make() {
  return {{"first", long_text}, {long_text, "second"}, &numbers, {"one", nullptr, "three"}, {&here, nullptr}, 250ms,
          std::chrono::system_clock::time_point(1704164645s), {"bits", {true, false}}, numbered};
}
CASE(record, make(), Record)
CASE(records, (T_records{make(), make()}), vector<Record>)

CASE(stack, (std::stack<int>({1, 2, 3})), std::stack<int>)
CASE(queue, (std::queue<string>({"a", long_text})), std::queue<string>)
template <> struct Show<std::stack<int>> {
  static string of(std::stack<int> s) {
    vector<int> v;
    for (; !s.empty(); s.pop()) v.insert(v.begin(), s.top());
    return show(v);
  }
};
template <> struct Show<std::queue<string>> {
  static string of(std::queue<string> q) {
    vector<string> v;
    for (; !q.empty(); q.pop()) v.push_back(q.front());
    return show(v);
  }
};

CASE(map_double, (T_map_double{{1.5, 1}, {-0.25, 2}}), std::map<double, int>)
CASE(map_optional, (T_map_optional{{1, std::nullopt}, {2, long_text}}), std::unordered_map<unsigned char, std::optional<string>>)
CASE(map_tuple, (T_map_tuple{{{1, "a"}, {2}}, {{2, long_text}, {}}}), std::map<std::tuple<int, string>, vector<int>>)
CASE(list_list, (T_list_list{{1}, {}, {2, 3}}), std::list<std::forward_list<int>>)
CASE(deque_map, (T_deque_map{{{1, "x"}}, {}}), std::deque<std::map<int, string>>)
CASE(set_set, (T_set_set{{1, 2}, {}, {3}}), std::set<std::set<int>>)
CASE(optional_variant, (T_optional_variant{std::variant<int, string>{long_text}}), std::optional<std::variant<int, string>>)
CASE(variant_tree, (T_variant_tree{std::map<string, vector<int>>{{"a", {1, 2}}}}), std::variant<int, std::map<string, vector<int>>>)
CASE(shared_map, (std::make_shared<std::map<int, string>>(std::map<int, string>{{1, long_text}})), std::shared_ptr<std::map<int, string>>)
CASE(vector_duration, (T_vector_duration{1ms, 20ms}), vector<std::chrono::milliseconds>)
CASE(vector_bits, (T_vector_bits{5, 3}), vector<std::bitset<3>>)
CASE(vector_empty_arrays, (T_vector_empty_arrays(3)), vector<std::array<int, 0>>)
CASE(pair_path, (T_pair_path{"/a/b", nullptr}), std::pair<std::filesystem::path, std::unique_ptr<int>>)

ALONE void take_void(const std::shared_ptr<void>& v) { KEEP(&v); }
ALONE void take_unique_array(const std::unique_ptr<int[]>& v) { KEEP(&v); }

int main(int argc, char** argv) {
  begin(argc, argv);
  RUN(record) RUN(records) RUN(stack) RUN(queue) RUN(map_double) RUN(map_optional) RUN(map_tuple) RUN(list_list) RUN(deque_map)
  RUN(set_set) RUN(optional_variant) RUN(variant_tree) RUN(shared_map) RUN(vector_duration) RUN(vector_bits) RUN(vector_empty_arrays)
  RUN(pair_path)
  char address[64];
  auto nothing = std::static_pointer_cast<void>(std::make_shared<int>(1));
  std::snprintf(address, sizeof address, "{\"value\":\"%p\",\"useCount\":1}", nothing.get());
  expect("take_void", "v", address);
  take_void(nothing);
  auto ints = std::make_unique<int[]>(3);
  std::snprintf(address, sizeof address, "\"%p\"", (void*)ints.get());
  expect("take_unique_array", "v", address);
  take_unique_array(ints);
  return end();
}
