// Undefined behaviour: one line of UndefinedBehaviorSanitizer each.
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

struct Base { virtual ~Base() {} virtual int f() { return 1; } };
struct Other { virtual ~Other() {} virtual int g() { return 2; } };
enum Color { Red, Green };

static volatile int zero;

int add(int a, int b) { return a + b; }
int shift(int a, int n) { return a << n; }
int divide(int a, int b) { return a / b; }
int at(int i) { static int v[4] = {1, 2, 3, 4}; return v[i]; }
int *null() { return zero ? (int *)1 : nullptr; }
int missing(int a) { if (a) return 1; __builtin_unreachable(); }
int load(const char *p) { return *(const int *)(p + 1); }
int toInt(double d) { return (int)d; }
bool boolean(const unsigned char *p) { return *(const bool *)p; }

int main(int argc, char **argv) {
  for (int i = 0; i < 2; i++) printf("%d\n", add(INT_MAX, 1 + zero));
  printf("%d\n", shift(1, 40 + zero));
  printf("%d\n", at(5 + zero));
  alignas(8) char bytes[16] = {};
  printf("%d\n", load(bytes));
  printf("%d\n", toInt(1e20 + zero));
  unsigned char three = 3;
  printf("%d\n", boolean(&three));
  Other *o = new Other;
  Base *b = reinterpret_cast<Base *>(o);
  printf("%d\n", b->f());
  delete o;
  int *p = null();
  if (argc > 1) printf("%d\n", *p);
  if (argc > 2) printf("%d\n", divide(1, zero));
  return 0;
}
