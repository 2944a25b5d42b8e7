// Sequences, sets and maps.
#include "show.h"

using namespace std::literals;
using std::string;
using std::vector;

enum class Color { Red, Green, Blue };
template <> struct Show<Color> {
  static string of(Color c) { return c == Color::Red ? "\"Red\"" : c == Color::Green ? "\"Green\"" : "\"Blue\""; }
};
struct Point {
  int x, y;
  bool operator<(const Point& o) const { return std::tie(x, y) < std::tie(o.x, o.y); }
  bool operator==(const Point& o) const { return x == o.x && y == o.y; }
};
template <> struct Show<Point> {
  static string of(const Point& p) { return "{\"x\":" + show(p.x) + ",\"y\":" + show(p.y) + "}"; }
};
struct HashPoint {
  size_t operator()(const Point& p) const { return p.x * 31 + p.y; }
};
struct Odd { // 3 bytes
  char a, b, c;
};
template <> struct Show<Odd> {
  static string of(const Odd& o) { return "{\"a\":" + show(o.a) + ",\"b\":" + show(o.b) + ",\"c\":" + show(o.c) + "}"; }
};
const string long_text = "a text that is long enough to lie outside of the object";

template <class C> C numbers(int n) {
  C c;
  for (int i = 0; i < n; i++) c.insert(c.end(), typename C::value_type(i * 7 % 1000));
  return c;
}
template <class M> M numbered(int n) {
  M m;
  for (int i = 0; i < n; i++) m.emplace(i * 3, std::to_string(i) + (i % 5 ? "" : long_text));
  return m;
}

CASE(vector_int, (T_vector_int{1, 2, 3}), vector<int>)
CASE(vector_empty, {}, vector<int>)
CASE(vector_no_strings, {}, vector<string>)
CASE(vector_double, (T_vector_double{0.5, -1.25, 1e300}), vector<double>)
CASE(vector_color, (T_vector_color{Color::Blue, Color::Red}), vector<Color>)
CASE(vector_point, (T_vector_point{{1, 2}, {3, 4}}), vector<Point>)
CASE(vector_odd, (T_vector_odd{{'a', 'b', 'c'}, {'d', 'e', 'f'}}), vector<Odd>)
CASE(vector_bytes, (T_vector_bytes{0, 127, 255}), vector<uint8_t>)
CASE(vector_bool, (T_vector_bool{true, false, true, true}), vector<bool>)
CASE(vector_bool_none, {}, vector<bool>)
CASE(vector_bool_many, numbers<T_vector_bool_many>(150), vector<bool>)
CASE(vector_bool_words, numbers<T_vector_bool_words>(77), vector<bool>)
CASE(vector_string, (T_vector_string{"one", long_text, "", "four"}), vector<string>)
CASE(vector_vector, (T_vector_vector{{1, 2}, {}, {3}}), vector<vector<int>>)
CASE(vector_100, numbers<T_vector_100>(100), vector<int>)
CASE(vector_101, numbers<T_vector_101>(101), vector<long>)
CASE(vector_5000, numbers<T_vector_5000>(5000), vector<int>)
CASE(vector_strings_150, (T_vector_strings_150(150, long_text)), vector<string>)
CASE(vector_pair, (T_vector_pair{{1, "one"}, {2, long_text}}), vector<std::pair<int, string>>)
CASE(vector_deep, (T_vector_deep{{{{1, 2}, {3}}}, {}, {{{}, {4}}}}), vector<vector<vector<vector<int>>>>)
CASE(array_int, (T_array_int{1, 2, 3}), std::array<int, 3>)
CASE(array_string, (T_array_string{"a", long_text}), std::array<string, 2>)
CASE(array_none, {}, std::array<int, 0>)
CASE(array_200, (T_array_200{9, 8, 7}), std::array<int, 200>)
CASE(array_array, (T_array_array{std::array<short, 2>{1, 2}, std::array<short, 2>{3, 4}}), std::array<std::array<short, 2>, 2>)

template <class D> D both_ends(int n) {
  D d;
  for (int i = 0; i < n; i++) {
    d.push_back(i);
    d.push_front(-i);
  }
  d.pop_front();
  return d;
}
CASE(deque_int, (T_deque_int{1, 2, 3}), std::deque<int>)
CASE(deque_empty, {}, std::deque<int>)
CASE(deque_ends, both_ends<T_deque_ends>(40), std::deque<int>)
CASE(deque_blocks, both_ends<T_deque_blocks>(48), std::deque<long>)
CASE(deque_many, both_ends<T_deque_many>(700), std::deque<int>)
CASE(deque_strings, (T_deque_strings(40, long_text)), std::deque<string>)
struct Large {
  int n;
  char rest[1020];
};
template <> struct Show<Large> {
  static string of(const Large& l) { return "{\"n\":" + show(l.n) + ",\"rest\":" + quote(l.rest) + "}"; }
};
CASE(deque_large, (T_deque_large{{1, "x"}, {2, "y"}, {3, ""}}), std::deque<Large>)
CASE(list_int, (T_list_int{1, 2, 3}), std::list<int>)
CASE(list_empty, {}, std::list<string>)
CASE(list_strings, (T_list_strings{"a", long_text, "c"}), std::list<string>)
CASE(list_many, numbers<T_list_many>(130), std::list<int>)
CASE(forward_list, (T_forward_list{5, 6, 7}), std::forward_list<short>)
CASE(forward_empty, {}, std::forward_list<int>)
CASE(set_int, (T_set_int{3, 1, 2}), std::set<int>)
CASE(set_string, (T_set_string{"b", long_text, "a"}), std::set<string>)
CASE(set_empty, {}, std::set<int>)
CASE(set_many, numbers<T_set_many>(300), std::set<int>)
CASE(set_point, (T_set_point{{3, 4}, {1, 2}}), std::set<Point>)
CASE(multiset, (T_multiset{2, 1, 2}), std::multiset<int>)
CASE(unordered_set, (T_unordered_set{10, 20, 30}), std::unordered_set<int>)
CASE(unordered_strings, (T_unordered_strings{"x", long_text}), std::unordered_set<string>)
CASE(unordered_points, (T_unordered_points{{1, 2}, {3, 4}}), std::unordered_set<Point, HashPoint>)
CASE(unordered_empty, {}, std::unordered_set<int>)
CASE(unordered_many, numbers<T_unordered_many>(250), std::unordered_set<int>)
CASE(unordered_multiset, (T_unordered_multiset{1, 1, 2}), std::unordered_multiset<int>)

CASE(map_string, (T_map_string{{"one", 1}, {"two", 2}, {long_text, 3}}), std::map<string, int>)
CASE(map_int, (T_map_int{{-1, "minus"}, {2, long_text}}), std::map<int, string>)
CASE(map_empty, {}, std::map<string, int>)
CASE(map_color, (T_map_color{{Color::Blue, 1.5}, {Color::Red, 2.5}}), std::map<Color, double>)
CASE(map_bool, (T_map_bool{{true, 'y'}, {false, 'n'}}), std::map<bool, char>)
CASE(map_char, (T_map_char{{'b', 1}, {'a', 2}}), std::map<char, long>)
CASE(map_point, (T_map_point{{{1, 2}, "a"}, {{0, 5}, "b"}}), std::map<Point, string>)
CASE(map_many, numbered<T_map_many>(120), std::map<int, string>)
CASE(map_nested, (T_map_nested{{"a", {1, std::nullopt, 3}}, {"b", {}}, {long_text, {std::nullopt}}}),
     std::map<string, vector<std::optional<int>>>)
CASE(map_map, (T_map_map{{"outer", {{"inner", 1}, {"other", 2}}}, {"none", {}}}), std::map<string, std::map<string, int>>)
CASE(multimap, (T_multimap{{"a", 1}, {"b", 2}, {"a", 3}}), std::multimap<string, int>)
CASE(unordered_map, (T_unordered_map{{1, "one"}, {2, long_text}, {3, ""}}), std::unordered_map<int, string>)
CASE(unordered_map_string, (T_unordered_map_string{{"one", {1}}, {long_text, {2, 3}}}), std::unordered_map<string, vector<int>>)
CASE(unordered_map_empty, {}, std::unordered_map<int, string>)
CASE(unordered_map_many, numbered<T_unordered_map_many>(333), std::unordered_map<int, string>)
CASE(unordered_multimap, (T_unordered_multimap{{1, "a"}, {1, "b"}}), std::unordered_multimap<int, string>)
CASE(unordered_map_point, (T_unordered_map_point{{{1, 2}, 0.5}}), std::unordered_map<Point, double, HashPoint>)

#if __cplusplus >= 202002L
int some_numbers[] = {4, 5, 6};
CASE(span, (T_span(some_numbers)), std::span<int>)
CASE(span_fixed, (T_span_fixed(some_numbers)), std::span<const int, 3>)
CASE(span_empty, {}, std::span<int>)
CASE(span_strings, (T_span_strings(&long_text, 1)), std::span<const string>)

void spans() { RUN(span) RUN(span_fixed) RUN(span_empty) RUN(span_strings) }
#else
void spans() {}
#endif

ALONE void take_initializers(std::initializer_list<string> v) { KEEP(&v); }
ALONE void take_ints(std::initializer_list<int> v) { KEEP(&v); }

void initializers() {
  std::initializer_list<string> texts = {"a", long_text, "c"};
  expect("take_initializers", "v", show(texts));
  take_initializers(texts);
  std::initializer_list<int> ints = {7, 8};
  expect("take_ints", "v", show(ints));
  take_ints(ints);
}

void vectors() {
  RUN(vector_int) RUN(vector_empty) RUN(vector_no_strings) RUN(vector_double) RUN(vector_color) RUN(vector_point) RUN(vector_odd)
  RUN(vector_bytes) RUN(vector_bool) RUN(vector_bool_none) RUN(vector_bool_many) RUN(vector_bool_words) RUN(vector_string)
  RUN(vector_vector) RUN(vector_100) RUN(vector_101) RUN(vector_5000) RUN(vector_strings_150) RUN(vector_pair) RUN(vector_deep)
  RUN(array_int) RUN(array_string) RUN(array_none) RUN(array_200) RUN(array_array)
}

void lists() {
  RUN(deque_int) RUN(deque_empty) RUN(deque_ends) RUN(deque_blocks) RUN(deque_many) RUN(deque_strings) RUN(deque_large)
  RUN(list_int) RUN(list_empty) RUN(list_strings) RUN(list_many) RUN(forward_list) RUN(forward_empty)
}

void sets() {
  RUN(set_int) RUN(set_string) RUN(set_empty) RUN(set_many) RUN(set_point) RUN(multiset) RUN(unordered_set)
  RUN(unordered_strings) RUN(unordered_points) RUN(unordered_empty) RUN(unordered_many) RUN(unordered_multiset)
}

void maps() {
  RUN(map_string) RUN(map_int) RUN(map_empty) RUN(map_color) RUN(map_bool) RUN(map_char) RUN(map_point) RUN(map_many)
  RUN(map_nested) RUN(map_map) RUN(multimap) RUN(unordered_map) RUN(unordered_map_string) RUN(unordered_map_empty)
  RUN(unordered_map_many) RUN(unordered_multimap) RUN(unordered_map_point)
}

int main(int argc, char** argv) {
  begin(argc, argv);
  vectors();
  lists();
  spans();
  sets();
  maps();
  initializers();
  return end();
}
