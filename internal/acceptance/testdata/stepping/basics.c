#include <stdio.h>
#include <stdlib.h>
static int depth(int n) {
  if (n == 0)
    return 0;
  return depth(n - 1) + 1;
}
static int sum(const int *v, int n) {
  int s = 0;
  for (int i = 0; i < n; i++)
    s += v[i];
  return s;
}
static int by(const void *a, const void *b) {
  int x = *(const int *)a, y = *(const int *)b;
  return x - y;
}
#define TWICE(x) ((x) + (x))
static int pick(int n) {
  switch (n % 3) {
  case 0: return TWICE(n);
  case 1:
    n++;
    goto out;
  default:
    n--;
  }
  while (n > 4) n--;
out:
  return n;
}
int main(void) {
  int v[4] = {4, 1, 3, 2};
  int a = sum(v, 3);
  int b = depth(2) + sum(v, 2);
  qsort(v, 4, sizeof v[0], by);
  for (int i = 0; i < 3; i++) a += pick(i * 4);
  printf("%d %d\n", a, b);
  return 0;
}
