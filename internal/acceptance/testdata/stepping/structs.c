#include <stdio.h>
struct small { int a; char b; };
struct mixed { double d; long n; };
struct two { double x, y; };
struct large { long v[6]; struct small s; };
__attribute__((noinline)) static struct small make(int n) {
  struct small s = {n, (char)('a' + n)};
  return s;
}
__attribute__((noinline)) static struct mixed mix(struct mixed m, float f) {
  m.d += f;
  m.n *= 2;
  return m;
}
__attribute__((noinline)) static struct two turn(struct two t) {
  return (struct two){-t.y, t.x};
}
__attribute__((noinline)) static struct large grow(struct large l, int by) {
  for (int i = 0; i < 3; i++)
    l.v[i] += by;
  l.s = make(by);
  return l;
}
__attribute__((noinline)) static long many(int a, long b, char c, short d, unsigned e, int *f, int g, struct small h, double i) {
  long r = a + b + c + d + e + *f + g;
  return r + h.a + (long)i;
}
int main(void) {
  struct small s = make(2);
  struct mixed m = mix((struct mixed){1.5, 21}, 0.25f);
  struct two t = turn((struct two){1, 2});
  struct large l = {{1, 2, 3, 4, 5, 6}, {0, 'x'}};
  l = grow(l, 3);
  int f = 6;
  long n = many(1, 2, 3, 4, 5, &f, 7, s, 8.5);
  printf("%d %c %g %ld %g %g %ld %c %ld\n", s.a, s.b, m.d, m.n, t.x, t.y, l.v[2], l.s.b, n);
  return 0;
}
