#include <cstdio>
#include <functional>
template <class F> __attribute__((noinline)) static int call(F f, int n) {
  return f(n);
}
__attribute__((noinline)) static int run(const std::function<int(int)> &f, int n) {
  int r = f(n);
  return r;
}
static auto adder(int by) {
  return [by](int n) {
    return n + by;
  };
}
int main() {
  int base = 10, calls = 0;
  auto add = [&](int n) {
    calls++;
    return n + base;
  };
  int a = add(1);
  a += call(add, 2);
  auto count = [n = 0]() mutable {
    return ++n;
  };
  int b = count();
  b += count();
  std::function<int(int)> f = adder(5);
  int c = run(f, 3);
  auto fib = [](auto &&self, int n) -> int {
    if (n < 2)
      return n;
    return self(self, n - 1) + self(self, n - 2);
  };
  int d = fib(fib, 3);
  int e = [&] {
    int r = calls;
    return r * 2;
  }();
  int (*plain)(int) = [](int n) { return -n; };
  e += plain(4);
  std::printf("%d %d %d %d %d\n", a, b, c, d, e);
  return 0;
}

// What is on the stack below main is 0 for whoever looks: else it differs from run to run what lies in a variable that
// is not set yet.
__attribute__((constructor)) static void clear_stack(void) {
  volatile char below[65536];
  for (unsigned i = 0; i < sizeof below; i++) below[i] = 0;
}
