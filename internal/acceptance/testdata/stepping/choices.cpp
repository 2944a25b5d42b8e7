#include <cstdio>
#include <optional>
#include <tuple>
#include <variant>
struct Circle {
  double r;
};
struct Rect {
  int w, h;
};
using Shape = std::variant<Circle, Rect>;
struct Area {
  double operator()(const Circle &c) const { return 3 * c.r * c.r; }
  double operator()(const Rect &r) const {
    return r.w * r.h;
  }
};
static std::optional<int> half(int n) {
  if (n % 2)
    return std::nullopt;
  return n / 2;
}
enum class Level : unsigned char { low, mid = 5, high };
static Level level(int n) {
  return n > 5 ? Level::high : n > 2 ? Level::mid : Level::low;
}
int main() {
  Shape s = Rect{2, 3};
  double a = std::visit(Area(), s);
  s = Circle{2};
  a += std::visit(Area(), s);
  std::optional<int> h = half(6), none = half(3);
  int b = h.value_or(0) + none.value_or(-1);
  std::tuple<int, char> t(1, 'x');
  b += std::get<0>(t);
  Level l = level(3);
  std::printf("%g %d %d\n", a, b, static_cast<int>(l));
  return 0;
}
