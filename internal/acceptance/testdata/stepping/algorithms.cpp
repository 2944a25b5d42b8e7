#include <algorithm>
#include <cstdio>
#include <numeric>
static bool odd(int n) {
  return n % 2 != 0;
}
struct Sum {
  int total = 0;
  void operator()(int n) {
    total += n;
  }
};
static int weigh(int acc, int n) {
  return acc * 2 + n;
}
int main() {
  int v[3] = {3, 4, 1};
  long odds = std::count_if(v, v + 3, odd);
  Sum s = std::for_each(v, v + 3, Sum());
  int w = std::accumulate(v, v + 2, 1, weigh);
  int t[2] = {0, 0};
  std::transform(v, v + 2, t, [](int n) {
    return n + 1;
  });
  const int *m = std::max_element(v, v + 3);
  bool any = std::any_of(v, v + 3, [&](int n) { return n == w; });
  std::printf("%ld %d %d %d %d %d\n", odds, s.total, w, t[1], *m, any);
  return 0;
}
