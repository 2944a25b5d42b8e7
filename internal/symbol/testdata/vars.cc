// Variables of C++ for the symbol tests: namespaces, classes, templates, functions and threads.
#include <cstdint>
#include <cstdio>

namespace ns {
int x = 3;
namespace {
long hidden = 4;
}
inline namespace v1 {
int inlined = 8;
}
struct C {
  static int n;
  static const int k = 42;
  static constexpr double d = 1.5;
  static inline long own = 9;
  struct In {
    static int deep;
  };
};
int C::n = 5;
int C::In::deep = 6;
template <class T> struct Tm {
  static T v;
  static inline unsigned long q = 1;
};
template <class T> T Tm<T>::v = T(1);
template <class T> T vt = T(3);
template <class A, class B = unsigned long> struct Two {
  A a;
  B b;
};
} // namespace ns
struct Opaque;
Opaque *opaque;
ns::Two<int> two = {1, 2};
thread_local int tls_first = 1;
static thread_local long tls_static = 2;
alignas(64) thread_local char tls_wide[100];
static int stat = 7;
const int kconst = -99;
int x = 1;
enum class Color : uint8_t { Red, Green };
Color col = Color::Green;
int *ptr = &stat;
int &refers = ns::x;
int table[3][4];
__attribute__((noinline)) long use(const volatile void *p) {
  asm volatile("" : : "r"(p) : "memory");
  return *(const char *)p;
}
inline int bump(int by) {
  static int calls = 0;
  calls += by;
  {
    static int nested = 4;
    nested += calls;
    use(&nested);
  }
  use(&calls);
  return calls;
}
struct M {
  int f();
  static int g() {
    static int in_static = 4;
    use(&in_static);
    return in_static++;
  }
};
int M::f() {
  static int in_method = 3;
  thread_local int tls_method = 2;
  use(&in_method);
  use(&tls_method);
  return ++in_method + ++tls_method;
}
static long places() {
  return use(&ns::x) + use(&ns::hidden) + use(&ns::inlined) + use(&ns::C::n) + use(&ns::C::own) + use(&ns::C::In::deep) +
         use(&ns::Tm<int>::v) + use(&ns::Tm<double>::v) + use(&ns::Tm<char>::q) + use(&ns::vt<int>) + use(&tls_first) +
         use(&tls_static) + use(tls_wide) + use(&stat) + use(&x) + use(&col) + use(ptr) + use(&refers) + use(table) + use(&two) +
         use(&opaque);
}
int main(int argc, char **argv) {
  auto lambda = [](int z) {
    static int in_lambda = 0;
    use(&in_lambda);
    return in_lambda += z;
  };
  M m;
  char *tp;
  asm("mov %%fs:0, %0" : "=r"(tp));
  // Offsets from the thread pointer, and addresses from main.
  std::printf("tls_first %ld\ntls_static %ld\ntls_wide %ld\n", (long)((char *)&tls_first - tp), (long)((char *)&tls_static - tp),
              (long)(tls_wide - tp));
  std::printf("ns::x %ld\nstat %ld\nns::C::n %ld\n", (long)((char *)&ns::x - (char *)&main), (long)((char *)&stat - (char *)&main),
              (long)((char *)&ns::C::n - (char *)&main));
  return (int)(bump(argc) + lambda(3) + m.f() + M::g() + places() + kconst + ns::C::k) == 123456;
}
