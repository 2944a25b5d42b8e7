#include <stdio.h>
#include <stdlib.h>
struct entry { const char *name; int (*run)(int); };
static int twice(int n) { return n * 2; }
static int square(int n) {
  int r = n * n;
  return r;
}
static int negate(int n) {
  return -n;
}
static const struct entry table[] = {{"twice", twice}, {"square", square}, {"negate", negate}};
static int compose(int (*f)(int), int (*g)(int), int n) {
  int inner = g(n);
  return f(inner);
}
static int descending(const void *a, const void *b) {
  int x = *(const int *)a;
  int y = *(const int *)b;
  return (y > x) - (y < x);
}
static void each(const int *v, size_t n, void (*f)(int, void *), void *arg) {
  for (size_t i = 0; i < n; i++)
    f(v[i], arg);
}
static void add(int n, void *arg) {
  int *sum = arg;
  *sum += n;
}
static void at_end(void) {
  puts("end");
}
int main(void) {
  int r = 3;
  for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
    r = table[i].run(r);
  r += compose(square, negate, 2);
  int v[3] = {5, 9, 7}, sum = 0;
  qsort(v, 3, sizeof v[0], descending);
  int key = 7;
  int *found = bsearch(&key, v, 3, sizeof v[0], descending);
  each(v, 3, add, &sum);
  atexit(at_end);
  printf("%d %d %d\n", r, sum, found ? *found : -1);
  return 0;
}
