// Names and types of C++ for the symbol tests. Keep line numbers: the tests name some.
#include <cstdio>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>
#define NOINLINE __attribute__((noinline))

namespace geo {
enum class Color : uint8_t { Red = 1, Green = 2, Blue = 250 };
enum Plain { A = -1, B = 5 };
struct Base { int id; virtual ~Base() {} virtual int area() const { return id; } };
struct Bits { unsigned a : 3; signed b : 5; unsigned long long c : 40; };
union Either { int i; float f; char c[8]; };
struct Point { int x, y; static int count; };
int Point::count = 3;
template <typename T> struct Box : Base {
  T value;
  Point *next;
  NOINLINE explicit Box(T v) : value(v), next(nullptr) {}
  NOINLINE T get(int n) const { return value + T(n); }
  template <typename U> NOINLINE U as(U u) { return U(value) + u; }
  NOINLINE bool operator<(const Box &o) const { return value < o.value; }
  NOINLINE Box operator*(int n) { return Box(value * n); }
  NOINLINE operator bool() const { return value != 0; }
  NOINLINE T operator()(T v) { return v + value; }
};
NOINLINE int by_value(Point p, Bits b, Either e, Color c) { return p.x + b.a + e.i + int(c); }
NOINLINE int by_ref(const Point &p, Point &&q, int (*f)(int), int Point::*m, char (&arr)[4]) {
  return p.*m + q.x + f(arr[0]);
}
NOINLINE double many(char a, short b, long c, float d, double e, long double f, __int128 g, bool h, wchar_t i, const char *s) {
  return a + b + c + d + e + (double)f + (double)g + h + i + s[0];
}
NOINLINE std::string text(const std::string &s, std::vector<int> v) { return s + std::to_string(v.size()); }
namespace {
NOINLINE int hidden(int n) { return n * 3; }
}
inline int squash(int a) { return a * 7 + 1; }
NOINLINE int variadic(const char *f, ...) { return f[0]; }
}  // namespace geo
struct Opaque;
NOINLINE int opaque(Opaque *o, volatile int *v, int grid[2][3]) { return o != nullptr && *v && grid[1][2]; }
extern "C" NOINLINE int plain_c(int a, int b) { return a - b; }
static int twice(int n) { return 2 * n; }

int main(int argc, char **argv) {
  geo::Box<int> b(argc);
  geo::Box<double> d(1.5);
  geo::Point p{1, 2};
  geo::Bits bits{1, -2, 3};
  geo::Either e{4};
  char arr[4] = {1, 2, 3, 4};
  volatile int v = 1;
  int grid[2][3] = {{1, 2, 3}, {4, 5, 6}};
  auto lambda = [&](int n) NOINLINE { return n + p.x; };
  std::function<int(int)> fn = lambda;
  int r = b.get(3) + (int)d.get(2) + (int)b.as(2.5) + (b < b) + (b * 3).value + bool(b) + b(4);
  r += geo::by_value(p, bits, e, geo::Color::Blue) + geo::by_ref(p, geo::Point{5, 6}, twice, &geo::Point::y, arr);
  r += (int)geo::many('a', 2, 3, 4, 5, 6, 7, true, L'x', argv[0]) + geo::hidden(4) + geo::squash(argc);
  r += geo::variadic("x", 1, 2) + opaque(nullptr, &v, grid) + plain_c(5, 3) + fn(4) + lambda(2);
  std::printf("%d %s\n", r, geo::text("n", {1, 2, 3}).c_str());
  return 0;
}
