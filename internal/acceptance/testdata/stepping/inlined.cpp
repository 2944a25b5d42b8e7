#include <cstdio>
struct Vec {
  double x, y;
  Vec operator+(Vec o) const {
    return {x + o.x, y + o.y};
  }
  double dot(Vec o) const {
    return x * o.x + y * o.y;
  }
  double square() const { return dot(*this); }
};
static inline int limit(int v, int lo, int hi) {
  if (v < lo)
    return lo;
  if (v > hi)
    return hi;
  return v;
}
struct Grid {
  int cells[4];
  int &at(int i) {
    return cells[limit(i, 0, 3)];
  }
  void fill(int v) {
    for (int i = 0; i < 4; i++)
      at(i) = v + i;
  }
};
__attribute__((noinline)) static int grid(int n) {
  Grid g;
  g.fill(n);
  g.at(9) += g.at(-1);
  return g.at(3);
}
__attribute__((noinline)) static double length(double a, double b) {
  Vec v = Vec{a, b} + Vec{1, 1};
  double s = v.square();
  return s > 10 ? s : 10;
}
volatile int input = 2;
int main() {
  int a = grid(input);
  double b = length(input, 3);
  int c = limit(a, 0, input);
  std::printf("%d %g %d\n", a, b, c);
  return 0;
}
