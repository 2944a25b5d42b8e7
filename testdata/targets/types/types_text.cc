// Texts, and small objects of the library that show as one number or text.
#include "show.h"

using namespace std::literals;
using std::chrono::duration;

CASE(string_short, "hello"s, std::string)
CASE(string_empty, ""s, std::string)
CASE(string_limit, "fifteen letters"s, std::string)
CASE(string_long, "sixteen letters!"s + std::string(100, 'x'), std::string)
CASE(string_zero, "nul\0inside"s, std::string)
CASE(string_zero_long, "nul\0inside of a text that lies outside of the object"s, std::string)
CASE(string_accents, "naïve – 日本語 🦀"s, std::string)
CASE(string_quotes, "a \"quoted\" \\ text\n\ttab"s, std::string)
CASE(string_1024, std::string(1024, 'k'), std::string)
CASE(string_huge, std::string(5000, 'h'), std::string)
CASE(string_huge_accents, std::string(1023, 'a') + "日本語" + std::string(50, 'z'), std::string)

std::string leave_moved() {
  std::string from = "a text that is long enough to be moved", to = std::move(from);
  KEEP(&to);
  return from;
}
CASE(string_moved, leave_moved(), std::string)

std::string reserve() {
  std::string s;
  s.reserve(1000);
  return s += "short";
}
CASE(string_reserved, reserve(), std::string)

std::string global_text = "a text that is somewhere else";
CASE(view, (T_view(global_text).substr(2, 4)), std::string_view)
CASE(view_empty, {}, std::string_view)
CASE(view_huge, "a view of a literal"sv, std::string_view)
// Before C++20 clang leaves the description of std::wstring to the library, and libstdc++ comes without one.
#if !defined(__clang__) || !defined(__GLIBCXX__) || defined(__OPTIMIZE__) || __cplusplus >= 202002L
CASE(wide, L"wide ü 🦀"s, std::wstring)
CASE(wide_long, L"a wide text that is not in the object itself"s, std::wstring)
void wides() { RUN(wide) RUN(wide_long) }
#else
void wides() {}
#endif
CASE(u16, u"sixteen ü 🦀"s, std::u16string)
CASE(u16_short, u"u16"s, std::u16string)
CASE(u32, U"thirty-two ü 🦀"s, std::u32string)
CASE(u32_short, U"u32"s, std::u32string)
CASE(wide_view, L"view"sv, std::wstring_view)
CASE(path, "/usr/lib/../share/a file.txt", std::filesystem::path)
CASE(path_empty, {}, std::filesystem::path)

CASE(nanoseconds, 3ns, std::chrono::nanoseconds)
CASE(microseconds, -250us, std::chrono::microseconds)
CASE(milliseconds, 1500ms, std::chrono::milliseconds)
CASE(seconds, 2s, std::chrono::seconds)
CASE(minutes, 90min, std::chrono::minutes)
CASE(hours, 36h, std::chrono::hours)
using frames = std::ratio<1, 30>;
using weeks = std::ratio<604800>;
CASE(frames, T_frames(7), duration<int, frames>)
CASE(weeks, T_weeks(2), duration<int, weeks>)
CASE(float_seconds, T_float_seconds(1.5), duration<double>)
CASE(float_millis, T_float_millis(0.25), duration<float, std::milli>)

using std::chrono::system_clock;
using std::chrono::steady_clock;
using system_nanos = std::chrono::time_point<system_clock, std::chrono::nanoseconds>;
CASE(system_time, system_nanos(1704164645123456789ns), system_nanos)
CASE(system_whole, system_clock::time_point(1704164645s), system_clock::time_point)
CASE(system_tenth, system_clock::time_point(951782400100ms), system_clock::time_point)
CASE(system_early, system_nanos(-1ns), system_nanos)
CASE(system_millis, T_system_millis(1704164645123ms), std::chrono::time_point<system_clock, std::chrono::milliseconds>)
CASE(steady_time, steady_clock::time_point(123456789ns), steady_clock::time_point)
CASE(steady_seconds, T_steady_seconds(77s), std::chrono::time_point<steady_clock, std::chrono::seconds>)

CASE(complex_double, (T_complex_double(1.5, -2)), std::complex<double>)
CASE(complex_float, (T_complex_float(0.25f, 8)), std::complex<float>)
CASE(complex_int, (T_complex_int(3, 4)), std::complex<int>)
CASE(bits4, 5, std::bitset<4>)
CASE(bits64, 0x8000000000000001, std::bitset<64>)
CASE(bits70, (T_bits70(9) << 64 | T_bits70(6)), std::bitset<70>)
CASE(bits0, {}, std::bitset<0>)
CASE_FIXED(atomic_int, T_atomic_int(42), std::atomic<int>)
CASE_FIXED(atomic_bool, T_atomic_bool(true), std::atomic<bool>)
CASE_FIXED(atomic_long, T_atomic_long(-5), std::atomic<long>)
enum class Color : short { Red = -1, Green, Blue };
template <> struct Show<Color> {
  static std::string of(Color c) { return c == Color::Red ? "\"Red\"" : c == Color::Green ? "\"Green\"" : "\"Blue\""; }
};
CASE_FIXED(atomic_color, T_atomic_color(Color::Blue), std::atomic<Color>)
struct alignas(8) Point { // a size and alignment that is atomic without a lock
  int x, y;
};
template <> struct Show<Point> {
  static std::string of(const Point& p) { return "{\"x\":" + show(p.x) + ",\"y\":" + show(p.y) + "}"; }
};
CASE_FIXED(atomic_point, (T_atomic_point(Point{3, -4})), std::atomic<Point>)
CASE_FIXED(atomic_double, T_atomic_double(0.5), std::atomic<double>)
CASE(thread_none, {}, std::thread::id)
CASE(thread_this, std::this_thread::get_id(), std::thread::id)

CASE(any_int, 5, std::any)
CASE(any_double, 5.5, std::any)
CASE(any_point, (Point{1, 2}), std::any)
CASE(any_string, "text"s, std::any)
CASE(any_vector, (std::vector<int>{1, 2}), std::any)
CASE(any_none, {}, std::any)

ALONE int twice(int n) { return 2 * n; }
namespace inner {
struct Adder {
  int by;
  ALONE int operator()(int n) const { return n + by; }
};
ALONE int thrice(int n) { return 3 * n; }
}
auto make_lambda(int a, int b, int c) {
  return [=](int n) { return a * n * n + b * n + c; };
}
using Function = std::function<int(int)>;
CASE(function_pointer, twice, Function)
CASE(function_inner, inner::thrice, Function)
CASE(function_none, {}, Function)
CASE(function_lambda, [](int n) { return n + 1; }, Function)
CASE(function_big_lambda, (make_lambda(1, 2, 3)), Function)
CASE(function_object, inner::Adder{4}, Function)
CASE(function_bound, (std::bind(twice, std::placeholders::_1)), Function)

#define RUN_FUNCTION(name, want, how)               \
  {                                                 \
    Function f = make_##name();                     \
    expect("make_" #name, "return", want, how);     \
    expect("take_" #name, "v", want, how);          \
    take_##name(f);                                 \
    expect("point_" #name, "v", want, how);         \
    point_##name(&f);                               \
    expect("pass_" #name, "v", want, how);          \
    pass_##name(std::move(f));                      \
  }

void texts() {
  RUN(string_short) RUN(string_empty) RUN(string_limit) RUN(string_long) RUN(string_zero) RUN(string_zero_long)
  RUN(string_accents) RUN(string_quotes) RUN(string_1024) RUN(string_huge) RUN(string_huge_accents) RUN(string_moved)
  RUN(string_reserved) RUN(view) RUN(view_empty) RUN(view_huge) RUN(u16) RUN(u16_short) RUN(u32)
  RUN(u32_short) RUN(wide_view) RUN(path) RUN(path_empty)
}

void times() {
  RUN(nanoseconds) RUN(microseconds) RUN(milliseconds) RUN(seconds) RUN(minutes) RUN(hours) RUN(frames) RUN(weeks)
  RUN(float_seconds) RUN(float_millis) RUN(system_time) RUN(system_whole) RUN(system_tenth) RUN(system_early)
  RUN(system_millis) RUN(steady_time) RUN(steady_seconds)
}

void small() {
  RUN(complex_double) RUN(complex_float) RUN(complex_int) RUN(bits4) RUN(bits64) RUN(bits70) RUN(bits0)
  { RUN_FIXED(atomic_int) RUN_FIXED(atomic_bool) RUN_FIXED(atomic_long) RUN_FIXED(atomic_color) RUN_FIXED(atomic_point)
    RUN_FIXED(atomic_double) }
  RUN(thread_none) RUN(thread_this)
  RUN(any_int) RUN(any_double) RUN(any_point) RUN(any_string) RUN(any_vector) RUN(any_none)
}

int main(int argc, char** argv) {
  begin(argc, argv);
  texts();
  wides();
  times();
  small();
  RUN_FUNCTION(function_pointer, "\"twice\"", "like")
  RUN_FUNCTION(function_inner, "\"inner::thrice\"", "like")
  RUN_FUNCTION(function_none, "null", "want")
  RUN_FUNCTION(function_lambda, "\"lambda\"", "like")
  RUN_FUNCTION(function_big_lambda, "\"lambda\"", "like")
  RUN_FUNCTION(function_object, "\"inner::Adder\"", "like")
  RUN_FUNCTION(function_bound, "\"ind<\"", "like")
  return end();
}
