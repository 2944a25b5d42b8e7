// Objects of boost's containers and pointers, header-only ones.
#include "show.h"

#include <boost/array.hpp>
#include <boost/circular_buffer.hpp>
#include <boost/container/deque.hpp>
#include <boost/container/flat_map.hpp>
#include <boost/container/flat_set.hpp>
#include <boost/container/list.hpp>
#include <boost/container/map.hpp>
#include <boost/container/set.hpp>
#include <boost/container/slist.hpp>
#include <boost/container/small_vector.hpp>
#include <boost/container/stable_vector.hpp>
#include <boost/container/static_vector.hpp>
#include <boost/container/string.hpp>
#include <boost/container/vector.hpp>
#include <boost/dynamic_bitset.hpp>
#include <boost/intrusive_ptr.hpp>
#include <boost/make_shared.hpp>
#include <boost/optional.hpp>
#include <boost/scoped_ptr.hpp>
#include <boost/shared_ptr.hpp>
#include <boost/smart_ptr/scoped_array.hpp>
#include <boost/tuple/tuple.hpp>
#include <boost/unordered_map.hpp>
#include <boost/unordered_set.hpp>
#include <boost/utility/string_view.hpp>
#include <boost/uuid/uuid.hpp>
#include <boost/variant.hpp>
#include <boost/weak_ptr.hpp>

using std::string;
namespace bc = boost::container;

const string long_text = "a text that is long enough to lie outside of the object";

struct Point {
  int x, y;
};
template <> struct Show<Point> {
  static string of(const Point& p) { return "{\"x\":" + show(p.x) + ",\"y\":" + show(p.y) + "}"; }
};

struct Counted {
  int uses = 0, v = 0;
};
inline void intrusive_ptr_add_ref(Counted* c) { c->uses++; }
inline void intrusive_ptr_release(Counted* c) {
  if (--c->uses == 0) delete c;
}

template <class T> struct Show<boost::optional<T>> {
  static string of(const boost::optional<T>& v) { return v ? show(*v) : "null"; }
};
struct Shower : boost::static_visitor<string> {
  template <class T> string operator()(const T& v) const { return show(v); }
};
template <class... A> struct Show<boost::variant<A...>> {
  static string of(const boost::variant<A...>& v) { return boost::apply_visitor(Shower(), v); }
};
#define RANGE_OF(head, type)                                                                                 \
  template <head> struct Show<type> {                                                                        \
    static string of(const type& v) { return show_range(v.begin(), std::distance(v.begin(), v.end())); }     \
  };
#define COMMA ,
RANGE_OF(class T COMMA class A COMMA class O, bc::vector<T COMMA A COMMA O>)
RANGE_OF(class T COMMA size_t n COMMA class A COMMA class O, bc::small_vector<T COMMA n COMMA A COMMA O>)
RANGE_OF(class T COMMA size_t n COMMA class O, bc::static_vector<T COMMA n COMMA O>)
RANGE_OF(class T COMMA class A, bc::stable_vector<T COMMA A>)
RANGE_OF(class T COMMA class A, bc::list<T COMMA A>)
RANGE_OF(class T COMMA class A, bc::slist<T COMMA A>)
RANGE_OF(class T COMMA class A COMMA class O, bc::deque<T COMMA A COMMA O>)
RANGE_OF(class T COMMA class C COMMA class A COMMA class O, bc::set<T COMMA C COMMA A COMMA O>)
RANGE_OF(class T COMMA class C COMMA class A, bc::flat_set<T COMMA C COMMA A>)
RANGE_OF(class T COMMA class A, boost::circular_buffer<T COMMA A>)
RANGE_OF(class T COMMA class H COMMA class P COMMA class A, boost::unordered_set<T COMMA H COMMA P COMMA A>)
RANGE_OF(class T COMMA size_t n, boost::array<T COMMA n>)
template <class K, class V, class C, class A> struct Show<bc::flat_map<K, V, C, A>> {
  static string of(const bc::flat_map<K, V, C, A>& v) { return show_map(v, false); }
};
template <class K, class V, class C, class A> struct Show<bc::flat_multimap<K, V, C, A>> {
  static string of(const bc::flat_multimap<K, V, C, A>& v) { return show_map(v, true); }
};
template <class K, class V, class C, class A, class O> struct Show<bc::map<K, V, C, A, O>> {
  static string of(const bc::map<K, V, C, A, O>& v) { return show_map(v, false); }
};
template <class K, class V, class H, class P, class A> struct Show<boost::unordered_map<K, V, H, P, A>> {
  static string of(const boost::unordered_map<K, V, H, P, A>& v) { return show_map(v, false); }
};
template <> struct Show<bc::string> {
  static string of(const bc::string& v) { return show_text(std::string_view(v.data(), v.size())); }
};
template <> struct Show<boost::string_view> {
  static string of(boost::string_view v) { return show_text(std::string_view(v.data(), v.size())); }
};
template <class T> struct Show<boost::shared_ptr<T>> {
  static string of(const boost::shared_ptr<T>& v) { return v ? show(*v) : "null"; }
};
template <class T> struct Show<boost::weak_ptr<T>> {
  static string of(const boost::weak_ptr<T>& v) { return v.expired() ? "null" : show(*v.lock()); }
};
template <class T> struct Show<boost::scoped_ptr<T>> {
  static string of(const boost::scoped_ptr<T>& v) { return v ? show(*v) : "null"; }
};
template <> struct Show<boost::intrusive_ptr<Counted>> {
  static string of(const boost::intrusive_ptr<Counted>& v) {
    return v ? "{\"uses\":" + show(v->uses) + ",\"v\":" + show(v->v) + "}" : "null";
  }
};
template <class A, class B, class C> struct Show<boost::tuple<A, B, C>> {
  static string of(const boost::tuple<A, B, C>& v) {
    return "[" + show(v.template get<0>()) + "," + show(v.template get<1>()) + "," + show(v.template get<2>()) + "]";
  }
};

template <class C> C numbers(int n) {
  C c;
  for (int i = 0; i < n; i++) c.insert(c.end(), i * 7 - 3);
  return c;
}
template <class C> C texts(int n) {
  C c;
  for (int i = 0; i < n; i++) c.insert(c.end(), i % 2 ? long_text + std::to_string(i) : std::to_string(i));
  return c;
}
template <class C> C keyed(int n) {
  C c;
  for (int i = 0; i < n; i++) c.insert(typename C::value_type{i % 2 ? "key" + std::to_string(i) : long_text + std::to_string(i), i});
  return c;
}
template <class C> C counted(int n) {
  C c;
  for (int i = 0; i < n; i++) c.insert(typename C::value_type{i * 31 % 1009, long_text.substr(0, i)});
  return c;
}
template <class C> C ring(int n) {
  C c(8);
  for (int i = 0; i < n; i++) c.push_back(i * 3);
  return c;
}

CASE(optional, 5, boost::optional<int>)
CASE(optional_none, boost::none, boost::optional<int>)
CASE(optional_text, long_text, boost::optional<string>)
CASE(optional_text_none, boost::none, boost::optional<string>)
CASE(optional_point, (Point{3, 4}), boost::optional<Point>)
CASE(optional_vector, (std::vector<string>{"a", long_text}), boost::optional<std::vector<string>>)
using Either = boost::variant<int, string, Point, double>;
CASE(variant_int, 42, Either)
CASE(variant_text, long_text, Either)
CASE(variant_point, (Point{1, 2}), Either)
CASE(variant_double, 2.5, Either)
CASE(vector, numbers<T_vector>(5), bc::vector<int>)
CASE(vector_none, {}, bc::vector<string>)
CASE(vector_many, numbers<T_vector_many>(150), bc::vector<int>)
CASE(small_inside, texts<T_small_inside>(3), bc::small_vector<string, 4>)
CASE(small_outside, numbers<T_small_outside>(9), bc::small_vector<int, 4>)
CASE(static_vector, texts<T_static_vector>(3), bc::static_vector<string, 8>)
CASE(stable_vector, numbers<T_stable_vector>(6), bc::stable_vector<int>)
CASE(list, texts<T_list>(4), bc::list<string>)
CASE(list_none, {}, bc::list<string>)
CASE(list_many, numbers<T_list_many>(130), bc::list<int>)
CASE(slist, texts<T_slist>(3), bc::slist<string>)
CASE(deque, numbers<T_deque>(300), bc::deque<int>)
CASE(set, numbers<T_set>(40), bc::set<int>)
CASE(set_none, {}, bc::set<int>)
CASE(map, keyed<T_map>(20), bc::map<string, int>)
CASE(flat_map, keyed<T_flat_map>(5), bc::flat_map<string, int>)
CASE(flat_map_none, {}, bc::flat_map<string, int>)
CASE(flat_map_numbers, counted<T_flat_map_numbers>(4), bc::flat_map<int, string>)
CASE(flat_multimap, keyed<T_flat_multimap>(3), bc::flat_multimap<string, int>)
CASE(flat_set, texts<T_flat_set>(4), bc::flat_set<string>)
CASE(circular, ring<T_circular>(5), boost::circular_buffer<int>)
CASE(circular_round, ring<T_circular_round>(13), boost::circular_buffer<int>)
CASE(circular_none, ring<T_circular_none>(0), boost::circular_buffer<int>)
CASE(unordered_map, keyed<T_unordered_map>(7), boost::unordered_map<string, int>)
CASE(unordered_map_none, {}, boost::unordered_map<string, int>)
CASE(unordered_map_many, counted<T_unordered_map_many>(40), boost::unordered_map<int, string>)
CASE(unordered_set, texts<T_unordered_set>(9), boost::unordered_set<string>)
CASE(array, (T_array{1, 2, 3}), boost::array<int, 3>)
CASE(string_short, "short", bc::string)
CASE(string_long, long_text.c_str(), bc::string)
CASE(string_none, "", bc::string)
CASE(string_view, long_text.c_str(), boost::string_view)
CASE(shared, boost::make_shared<Point>(Point{5, 6}), boost::shared_ptr<Point>)
CASE(shared_text, boost::make_shared<string>(long_text), boost::shared_ptr<string>)
CASE(shared_none, {}, boost::shared_ptr<Point>)
CASE(intrusive, new Counted, boost::intrusive_ptr<Counted>)
CASE(intrusive_none, {}, boost::intrusive_ptr<Counted>)
CASE(tuple, (T_tuple{1, "two", 3.5}), boost::tuple<int, string, double>)
CASE(nested, (T_nested{{"a", {1, 2}}, {long_text, {}}}), bc::flat_map<string, bc::small_vector<int, 2>>)
ALONE void take_scoped(const boost::scoped_ptr<Point>& v) { KEEP(&v); }
ALONE void take_weak(const boost::weak_ptr<Point>& v) { KEEP(&v); }

int main(int argc, char** argv) {
  begin(argc, argv);
  RUN(optional) RUN(optional_none) RUN(optional_text) RUN(optional_text_none) RUN(optional_point) RUN(optional_vector)
  RUN(variant_int) RUN(variant_text) RUN(variant_point) RUN(variant_double)
  RUN(vector) RUN(vector_none) RUN(vector_many) RUN(small_inside) RUN(small_outside) RUN(static_vector) RUN(stable_vector)
  RUN(list) RUN(list_none) RUN(list_many) RUN(slist) RUN(deque) RUN(set) RUN(set_none) RUN(map)
  RUN(flat_map) RUN(flat_map_none) RUN(flat_map_numbers) RUN(flat_multimap) RUN(flat_set)
  RUN(circular) RUN(circular_round) RUN(circular_none)
  RUN(unordered_map) RUN(unordered_map_none) RUN(unordered_map_many) RUN(unordered_set)
  RUN(array) RUN(string_short) RUN(string_long) RUN(string_none) RUN(string_view)
  RUN(shared) RUN(shared_text) RUN(shared_none) RUN(intrusive) RUN(intrusive_none) RUN(tuple) RUN(nested)
  boost::scoped_ptr<Point> scoped(new Point{7, 8});
  expect("take_scoped", "v", show(scoped));
  take_scoped(scoped);
  auto strong = boost::make_shared<Point>(Point{9, 10});
  boost::weak_ptr<Point> weak(strong);
  expect("take_weak", "v", show(weak));
  take_weak(weak);
  strong.reset();
  expect("take_weak", "v", show(weak));
  take_weak(weak);
  return end();
}
