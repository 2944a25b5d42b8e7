// What holds, or points to, another object.
#include "show.h"

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
struct Named {
  string name;
  vector<int> marks;
  std::optional<Point> at;
};
template <> struct Show<Named> {
  static string of(const Named& n) {
    return "{\"name\":" + show(n.name) + ",\"marks\":" + show(n.marks) + ",\"at\":" + show(n.at) + "}";
  }
};
enum class Color { Red, Green, Blue };
template <> struct Show<Color> {
  static string of(Color c) { return c == Color::Red ? "\"Red\"" : c == Color::Green ? "\"Green\"" : "\"Blue\""; }
};
struct Empty {};
template <> struct Show<Empty> {
  static string of(Empty) { return "{}"; }
};

CASE(pair, (T_pair{1, 2.5}), std::pair<int, double>)
CASE(pair_string, (T_pair_string{"key", long_text}), std::pair<const string, string>)
CASE(pair_small, (T_pair_small{'c', true}), std::pair<char, bool>)
CASE(pair_nested, (T_pair_nested{{1, 2}, {3, "x"}}), std::pair<std::pair<int, int>, std::pair<long, string>>)
CASE(tuple, (T_tuple{1, "two", 3.5}), std::tuple<int, string, double>)
CASE(tuple_one, T_tuple_one{7}, std::tuple<int>)
CASE(tuple_none, {}, std::tuple<>)
CASE(tuple_empty, (T_tuple_empty{1, Empty{}, 'x'}), std::tuple<int, Empty, char>)
CASE(tuple_color, (T_tuple_color{Color::Blue, Point{1, 2}, {1, 2, 3}}), std::tuple<Color, Point, vector<int>>)
CASE(tuple_four, (T_tuple_four{1, 2, 3, 4}), std::tuple<char16_t, short, int, long>)

CASE(optional, 5, std::optional<int>)
CASE(optional_none, {}, std::optional<int>)
CASE(optional_string, long_text, std::optional<string>)
CASE(optional_string_none, {}, std::optional<string>)
CASE(optional_point, (Point{1, 2}), std::optional<Point>)
CASE(optional_bool, false, std::optional<bool>)
CASE(optional_optional, T_optional_optional{std::optional<char>('c')}, std::optional<std::optional<char>>)
CASE(optional_vector, (vector<string>{"a", long_text}), std::optional<vector<string>>)

using Either = std::variant<int, string, Point>;
CASE(variant_int, 7, Either)
CASE(variant_string, long_text, Either)
CASE(variant_point, (Point{8, 9}), Either)
CASE(variant_small, 'v', std::variant<char, bool, short>)
CASE(variant_none, {}, std::variant<std::monostate, int>)
CASE(variant_vector, (vector<int>{1, 2, 3}), std::variant<std::monostate, vector<int>, double>)
struct Thrower {
  string name;
  Thrower(int n) : name(long_text) { if (n > 0) throw n; }
};
template <> struct Show<Thrower> {
  static string of(const Thrower& t) { return "{\"name\":" + show(t.name) + "}"; }
};
std::variant<string, Thrower> valueless() {
  std::variant<string, Thrower> v = "text";
  try {
    v.emplace<Thrower>(1);
  } catch (int) {
  }
  return v;
}
CASE(variant_valueless, valueless(), std::variant<string, Thrower>)
CASE(variant_thrower, Thrower(0), std::variant<string, Thrower>)
CASE(vector_variant, (T_vector_variant{1, "two"s, Point{3, 4}}), vector<Either>)

CASE(unique, std::make_unique<int>(5), std::unique_ptr<int>)
CASE(unique_none, {}, std::unique_ptr<int>)
CASE(unique_point, (std::make_unique<Point>(Point{1, 2})), std::unique_ptr<Point>)
CASE(unique_string, std::make_unique<string>(long_text), std::unique_ptr<string>)
CASE(unique_named, (std::make_unique<Named>(Named{long_text, {1, 2}, Point{3, 4}})), std::unique_ptr<Named>)
CASE(unique_unique, std::make_unique<std::unique_ptr<int>>(std::make_unique<int>(6)), std::unique_ptr<std::unique_ptr<int>>)
struct Deleter {
  int called = 3;
  void operator()(Point* p) { delete p; }
};
CASE(unique_deleter, (T_unique_deleter(new Point{5, 6})), std::unique_ptr<Point, Deleter>)
CASE(unique_function, (T_unique_function(new Point{7, 8}, [](Point* p) { delete p; })), std::unique_ptr<Point, void (*)(Point*)>)
vector<std::unique_ptr<string>> uniques() {
  vector<std::unique_ptr<string>> v;
  v.push_back(std::make_unique<string>("first"));
  v.push_back(nullptr);
  v.push_back(std::make_unique<string>(long_text));
  return v;
}
CASE(vector_unique, uniques(), vector<std::unique_ptr<string>>)

auto kept = std::make_shared<string>(long_text);
auto kept_twice = kept;
CASE(shared, std::make_shared<int>(5), std::shared_ptr<int>)
CASE(shared_none, {}, std::shared_ptr<int>)
CASE(shared_new, T_shared_new(new Point{1, 2}), std::shared_ptr<Point>)
CASE(shared_counted, kept, std::shared_ptr<string>)
CASE(shared_const, kept, std::shared_ptr<const string>)
CASE(shared_alias, (T_shared_alias(kept, &long_text)), std::shared_ptr<const string>)
CASE(shared_vector, (std::make_shared<vector<int>>(3, 4)), std::shared_ptr<vector<int>>)
CASE(weak, kept, std::weak_ptr<string>)
CASE(weak_expired, T_weak_expired(std::make_shared<int>(1)), std::weak_ptr<int>)
CASE(weak_none, {}, std::weak_ptr<int>)
CASE(vector_shared, (T_vector_shared{kept, nullptr, kept}), vector<std::shared_ptr<string>>)
CASE(map_shared, (T_map_shared{{"a", std::make_shared<Point>(Point{1, 2})}}), std::map<string, std::shared_ptr<Point>>)

int referred = 11;
string referred_text = long_text;
CASE(reference, std::ref(referred), std::reference_wrapper<int>)
CASE(reference_string, std::ref(referred_text), std::reference_wrapper<string>)
CASE(reference_const, std::cref(long_text), std::reference_wrapper<const string>)

CASE(named, (T_named{long_text, {1, 2, 3}, std::nullopt}), Named)
CASE(named_many, (T_named_many{{"a", {}, Point{1, 2}}, {"b", {5}, {}}}), vector<Named>)
CASE(tuple_of_all, (T_tuple_of_all{{{1, {"a", long_text}}}, 2, nullptr}),
     std::tuple<std::map<int, vector<string>>, std::optional<short>, std::shared_ptr<int>>)

void pairs() {
  RUN(pair) RUN(pair_string) RUN(pair_small) RUN(pair_nested) RUN(tuple) RUN(tuple_one) RUN(tuple_none) RUN(tuple_empty)
  RUN(tuple_color) RUN(tuple_four)
}

void options() {
  RUN(optional) RUN(optional_none) RUN(optional_string) RUN(optional_string_none) RUN(optional_point) RUN(optional_bool)
  RUN(optional_optional) RUN(optional_vector) RUN(variant_int) RUN(variant_string) RUN(variant_point) RUN(variant_small)
  RUN(variant_none) RUN(variant_vector) RUN(variant_valueless) RUN(variant_thrower) RUN(vector_variant)
}

void pointers() {
  RUN(unique) RUN(unique_none) RUN(unique_point) RUN(unique_string) RUN(unique_named) RUN(unique_unique) RUN(unique_deleter)
  RUN(unique_function) RUN(vector_unique) RUN(shared) RUN(shared_none) RUN(shared_new) RUN(shared_counted) RUN(shared_const)
  RUN(shared_alias) RUN(shared_vector) RUN(weak) RUN(weak_expired) RUN(weak_none) RUN(vector_shared) RUN(map_shared)
  RUN(reference) RUN(reference_string) RUN(reference_const)
}

int main(int argc, char** argv) {
  begin(argc, argv);
  pairs();
  options();
  pointers();
  RUN(named) RUN(named_many) RUN(tuple_of_all)
  return end();
}
