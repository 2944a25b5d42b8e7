// Objects of abseil.
#include "show.h"

#include <absl/container/btree_map.h>
#include <absl/container/btree_set.h>
#include <absl/container/fixed_array.h>
#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>
#include <absl/container/inlined_vector.h>
#include <absl/container/node_hash_map.h>
#include <absl/container/node_hash_set.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/cord.h>
#include <absl/strings/string_view.h>
#include <absl/time/time.h>
#include <absl/types/span.h>

using std::string;
const string long_text = "a text that is long enough to lie outside of the object";

struct Point {
  int x, y;
};
template <> struct Show<Point> {
  static string of(const Point& p) { return "{\"x\":" + show(p.x) + ",\"y\":" + show(p.y) + "}"; }
};
#define COMMA ,
#define RANGE_OF(head, type)                                                                             \
  template <head> struct Show<type> {                                                                    \
    static string of(const type& v) { return show_range(v.begin(), std::distance(v.begin(), v.end())); } \
  };
RANGE_OF(class T COMMA size_t n COMMA class A, absl::InlinedVector<T COMMA n COMMA A>)
RANGE_OF(class T COMMA size_t n COMMA class A, absl::FixedArray<T COMMA n COMMA A>)
RANGE_OF(class... A, absl::flat_hash_set<A...>)
RANGE_OF(class... A, absl::node_hash_set<A...>)
template <class T> struct Show<absl::Span<T>> {
  static string of(absl::Span<T> v) { return show_range(v.begin(), v.size()); }
};
template <class... A> struct Show<absl::flat_hash_map<A...>> {
  static string of(const absl::flat_hash_map<A...>& v) { return show_map(v, false); }
};
template <class... A> struct Show<absl::node_hash_map<A...>> {
  static string of(const absl::node_hash_map<A...>& v) { return show_map(v, false); }
};
#ifndef ABSL_USES_STD_STRING_VIEW
template <> struct Show<absl::string_view> {
  static string of(absl::string_view v) { return show_text(std::string_view(v.data(), v.size())); }
};
#endif
template <> struct Show<absl::Cord> {
  static string of(const absl::Cord& v) { return show_text(string(v)); }
};
template <> struct Show<absl::Status> {
  static string of(const absl::Status& v) {
    if (v.ok()) return "\"OK\"";
    if (v.message().empty()) return "{\"code\":" + quote(code(v.code())) + "}";
    return "{\"code\":" + quote(code(v.code())) + ",\"message\":" + show_text(std::string_view(v.message().data(), v.message().size())) + "}";
  }
  static string code(absl::StatusCode c) { return c == absl::StatusCode::kNotFound ? "kNotFound" : c == absl::StatusCode::kInternal ? "kInternal" : "kCancelled"; }
};
template <class T> struct Show<absl::StatusOr<T>> {
  static string of(const absl::StatusOr<T>& v) { return v.ok() ? show(*v) : show(v.status()); }
};

template <class C> C numbers(int n) {
  C c;
  for (int i = 0; i < n; i++) c.insert(c.end(), i * 7 - 3);
  return c;
}
template <class C> C set_of(int n) {
  C c;
  for (int i = 0; i < n; i++) c.insert(i * 7 - 3);
  return c;
}
template <class C> C texts(int n) {
  C c;
  for (int i = 0; i < n; i++) c.insert(c.end(), i % 2 ? long_text + std::to_string(i) : std::to_string(i));
  return c;
}
template <class C> C keyed(int n) {
  C c;
  for (int i = 0; i < n; i++) c.insert({i % 2 ? "key" + std::to_string(i) : long_text + std::to_string(i), i});
  return c;
}

const int some[] = {1, 2, 3, 4};
CASE(inlined, numbers<T_inlined>(3), absl::InlinedVector<int, 4>)
CASE(inlined_out, numbers<T_inlined_out>(9), absl::InlinedVector<int, 4>)
CASE(inlined_text, texts<T_inlined_text>(2), absl::InlinedVector<string, 2>)
CASE(inlined_text_out, texts<T_inlined_text_out>(5), absl::InlinedVector<string, 2>)
CASE(inlined_none, {}, absl::InlinedVector<string, 2>)
CASE(flat_map, keyed<T_flat_map>(6), absl::flat_hash_map<string, int>)
CASE(flat_map_none, {}, absl::flat_hash_map<string, int>)
CASE(flat_map_many, keyed<T_flat_map_many>(60), absl::flat_hash_map<string, int>)
CASE(flat_set, set_of<T_flat_set>(20), absl::flat_hash_set<int>)
CASE(flat_set_text, texts<T_flat_set_text>(5), absl::flat_hash_set<string>)
CASE(node_map, keyed<T_node_map>(6), absl::node_hash_map<string, int>)
CASE(node_set, set_of<T_node_set>(9), absl::node_hash_set<int>)
CASE(cord_none, absl::Cord(), absl::Cord)
CASE(cord_short, absl::Cord("short"), absl::Cord)
CASE(cord, absl::Cord(long_text), absl::Cord)
CASE(status, {}, absl::Status)
CASE(status_code, absl::CancelledError(), absl::Status)
CASE(status_text, absl::NotFoundError("no such thing"), absl::Status)
CASE(or_value, 42, absl::StatusOr<int>)
CASE(or_text, long_text, absl::StatusOr<string>)
CASE(or_error, absl::InternalError("broken"), absl::StatusOr<string>)
CASE(span, T_span(some), absl::Span<const int>)
CASE(view, long_text, absl::string_view)

int main(int argc, char** argv) {
  begin(argc, argv);
  RUN(inlined) RUN(inlined_out) RUN(inlined_text) RUN(inlined_text_out) RUN(inlined_none)
  RUN(flat_map) RUN(flat_map_none) RUN(flat_map_many) RUN(flat_set) RUN(flat_set_text) RUN(node_map) RUN(node_set)
  RUN(cord_none) RUN(cord_short) RUN(cord)
  RUN(status) RUN(status_code) RUN(status_text) RUN(or_value) RUN(or_text) RUN(or_error) RUN(span) RUN(view)
  return end();
}
