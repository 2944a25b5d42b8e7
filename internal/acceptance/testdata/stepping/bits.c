#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
enum color { RED, GREEN = 3, BLUE };
enum flag { READ = 1, WRITE = 2, EXEC = 4 };
struct packed {
  unsigned a : 3;
  int b : 5;
  unsigned long c : 40;
  bool d : 1;
  enum color e : 4;
};
union number {
  uint32_t u;
  float f;
  unsigned char bytes[4];
};
struct tagged {
  enum { INTEGER, REAL } kind;
  union {
    int64_t i;
    double r;
  };
};
static struct packed pack(int n) {
  struct packed p = {0};
  p.a = (unsigned)n & 7;
  p.b = -n;
  p.c = 1UL << 35 | (unsigned)n;
  p.d = n > 2;
  p.e = BLUE;
  return p;
}
static unsigned mantissa(float f) {
  union number n = {0};
  n.f = f;
  return n.u & 0x7fffff;
}
static double of(const struct tagged *t) {
  if (t->kind == INTEGER)
    return (double)t->i;
  return t->r;
}
static uint8_t rotate(uint8_t v, int n) {
  return (uint8_t)(v << n | v >> (8 - n));
}
int main(void) {
  struct packed p = pack(5);
  unsigned m = mantissa(1.5f);
  struct tagged t[2] = {{INTEGER, .i = -3}, {REAL, .r = 2.5}};
  double d = of(&t[0]) + of(&t[1]);
  enum flag mode = READ | EXEC;
  uint8_t r = rotate(0x81, 1);
  bool both = (mode & READ) && p.d;
  printf("%u %d %lu %u %g %u %d %d\n", p.a, p.b, (unsigned long)p.c, m, d, r, both, p.e);
  return 0;
}
