/* Names and types of C for the symbol tests. */
#include <complex.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#define NOINLINE __attribute__((noinline))

typedef struct node { struct node *next; int value; char name[12]; } node_t;
struct packed { unsigned a : 4, b : 9; unsigned char c; } __attribute__((packed));
typedef float v4 __attribute__((vector_size(16)));
enum level { LOW, MID = 10, HIGH };
union either { long n; double d; };

static NOINLINE int sum_list(const node_t *n) { int s = 0; for (; n; n = n->next) s += n->value; return s; }
static NOINLINE int old_style(a, b) int a; char b; { return a + b; }
NOINLINE v4 vector(v4 a, v4 b) { return a + b; }
NOINLINE double _Complex turn(double _Complex z, enum level l) { return z * l; }
NOINLINE int pack(struct packed p, union either e) { return p.a + p.b + (int)e.n; }
static inline __attribute__((always_inline)) int gone(int n) { return n * 3; }
static NOINLINE int partly(int a, int unused, int always) {
  if (a > 1000000) { puts("rare"); abort(); }
  return a * always;
}
NOINLINE int sum(int n, ...) {
  va_list ap; va_start(ap, n); int s = 0;
  while (n--) s += va_arg(ap, int);
  va_end(ap); return s;
}
__attribute__((noreturn)) NOINLINE void die(int code) { exit(code); }
int global_table[4] = {1, 2, 3, 4};

int main(int argc, char **argv) {
  node_t b = {NULL, 2, "b"}, a = {&b, argc, "a"};
  v4 x = {1, 2, 3, 4};
  struct packed p = {1, 2, 3};
  union either e = {7};
  int r = sum_list(&a) + old_style(argc, 'x') + (int)vector(x, x)[0] + (int)creal(turn(1.0 + I, MID)) + pack(p, e);
  r += gone(argc) + partly(argc, 1, 7) + partly(argc + 1, 2, 7) + sum(2, 3, 4) + global_table[argc & 3];
  printf("%d\n", r);
  if (argc > 100) die(argc);
  return 0;
}
