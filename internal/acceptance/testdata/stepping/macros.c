#include <stdio.h>
#define SWAP(a, b)  \
  do {              \
    int tmp = (a);  \
    (a) = (b);      \
    (b) = tmp;      \
  } while (0)
#define CLAMP(x, lo, hi) ((x) < (lo) ? (lo) : (x) > (hi) ? (hi) : (x))
#define BUMP(x) x++; x += 2
#define DEFINE_GETTER(name, value) static int name(void) { return value; }
#define FOR_EACH(i, n) for (int i = 0; i < (n); i++)
DEFINE_GETTER(seven, 7)
DEFINE_GETTER(
  eight,
  8)
static int calls;
static int yes(void) { calls++; return 1; }
static int no(void) {
  calls++;
  return 0;
}
static int shorts(int n) {
  int r = 0;
  if (n > 1 && yes() && !no()) r += 1;
  if (n > 1 || no()) r += 2;
  if (no() ||
      yes())
    r += 4;
  r = no() && yes() ? r + 10 : r + 20;
  return r;
}
static int commas(int n) {
  int a = (n++, n * 2), b = a;
  return a += 1, b -= 1, a + b;
}
int main(void) {
  int a = 1, b = 2;
  SWAP(a, b);
  BUMP(a);
  int c = CLAMP(a, 0, 4);
  int d = shorts(2) + seven() + eight();
  FOR_EACH(i, 2) c += i;
  int e = c > 3
              ? commas(c)
              : commas(d);
  printf("%d %d %d %d %d %d\n", a, b, c, d, e, calls);
  return 0;
}
