#include <cstdio>
#include <stdexcept>
#include <string>
struct Failure {
  int code;
};
__attribute__((noinline)) static int fails(int n) {
  if (n > 1)
    throw Failure{n};
  if (n == 1)
    throw 42;
  return n;
}
__attribute__((noinline)) static int passes(int n) {
  try {
    return fails(n);
  } catch (const Failure &f) {
    if (f.code > 2)
      throw;
    return f.code + 100;
  }
}
__attribute__((noinline)) static int catches(int n) {
  int r = 0;
  try {
    r = passes(n);
  } catch (int v) {
    r = v;
  } catch (...) {
    r = -1;
  }
  return r;
}
__attribute__((noinline)) static int wraps() {
  try {
    try {
      throw std::runtime_error("inner");
    } catch (const std::exception &e) {
      throw std::logic_error("outer");
    }
  } catch (const std::logic_error &e) {
    return e.what()[0];
  }
  return 0;
}
int main() {
  int a = catches(0);
  int b = catches(1);
  int c = catches(2);
  int d = catches(3);
  int e = wraps();
  std::printf("%d %d %d %d %d\n", a, b, c, d, e);
  return 0;
}
