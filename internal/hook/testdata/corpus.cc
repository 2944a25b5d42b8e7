// C++ exceptions through hooked frames.
#include <cstdio>
#include <execinfo.h>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#define T __attribute__((noinline))
static int destroyed;
struct Guard { ~Guard() { destroyed++; } };

T int t_throw(int n) { if (n % 3 == 0) throw std::runtime_error("boom " + std::to_string(n)); return n; }
template <int N> T int t_level(int n) { Guard g; int r = t_level<N - 1>(n); asm volatile(""); return r + 1; }
template <> T int t_level<0>(int n) { Guard g; int r = t_throw(n); asm volatile(""); return r; }
T int t_rethrow(int n) { try { return t_level<9>(n); } catch (std::exception &e) { destroyed += 100; throw; } }
T int t_try(int n) try { return t_rethrow(n); } catch (std::runtime_error &e) { return -(int)std::string(e.what()).size(); }
struct Base { virtual int t_method(int x) { return x; } virtual ~Base() {} };
struct Derived : Base { int k = 5; T int t_method(int x) override { return x * k; } };
T int t_dispatch(Base *b, int x) { return b->t_method(x); }
T std::string t_string(const std::string &s, int n) { std::string r; for (int i = 0; i < n; i++) r += s; return r; }
T int t_backtrace() { void *b[64]; int n = backtrace(b, 64); return n > 2; }

extern "C" void run_corpus_cc(void) {
  for (int i = 0; i < 12; i++) printf("try %d\n", t_try(i));
  printf("destroyed %d\n", destroyed);
  Derived d;
  printf("method %d string %s\n", t_dispatch(&d, 8), t_string("ab", 5).c_str());
  printf("backtrace %d\n", t_backtrace());
  std::function<int(int)> f = [](int x) { return t_throw(x); };
  try { f(9); } catch (...) { printf("caught\n"); }
}
