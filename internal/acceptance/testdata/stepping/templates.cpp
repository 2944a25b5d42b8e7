#include <cstdio>
template <class T> T larger(T a, T b) {
  if (a < b)
    return b;
  return a;
}
template <int N> struct Power {
  static long of(long x) {
    return x * Power<N - 1>::of(x);
  }
};
template <> struct Power<0> {
  static long of(long) {
    return 1;
  }
};
template <class F> static int each(int n, F f) {
  int sum = 0;
  for (int i = 0; i < n; i++)
    sum += f(i);
  return sum;
}
#define CHECK(x)            \
  do {                      \
    if (!(x))               \
      std::puts(#x);        \
  } while (0)
static long fib(int n) {
  return n < 2 ? n : fib(n - 1) + fib(n - 2);
}
int main() {
  int a = larger(2, 3);
  double d = larger(2.5, 1.5);
  long p = Power<3>::of(2);
  int e = each(3, [](int i) { return i * i; });
  CHECK(a == 3);
  CHECK(p == 9);
  long f = fib(3);
  std::printf("%d %g %ld %d %ld\n", a, d, p, e, f);
  return 0;
}
